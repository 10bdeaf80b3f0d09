//! The classic columns name metrics that exist.

#[test]
fn every_column_of_the_classic_layout_is_measured() {
    let sections = suite::sections();
    let known: Vec<String> =
        sections.iter().flat_map(|s| &s.benchmarks).flat_map(|b| b.metrics()).map(|m| m.name).collect();
    let unknown: Vec<&str> =
        report::classic_metrics().filter(|name| !known.iter().any(|k| k == name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
