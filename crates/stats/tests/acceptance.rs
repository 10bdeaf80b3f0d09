//! Every acceptance file gives its expected words and none of the must-nots.

mod long_csv;

use stats::{Flag, MoreRuns, Options, Report, Row, Table, Verdict, compare};

fn read(file: &str) -> Option<Table> {
    let rows = long_csv::rows(file)?;
    Some(long_csv::table(&rows, |row| Some(row["metric"].clone())))
}

/// The file's table and its comparison of B against A.
fn a_b(file: &str) -> Option<(Table, Report)> {
    let table = read(file)?;
    let pair = (long_csv::configuration(&table, "A"), long_csv::configuration(&table, "B"));
    let report = compare(&table, &[pair], &Options::default());
    for row in &report.comparisons[0].rows {
        println!("{file} {}: {} {:?}", row.metric, row.words(), row.flags);
    }
    Some((table, report))
}

fn row<'a>(report: &'a Report, metric: &str) -> &'a Row {
    report.comparisons[0].rows.iter().find(|row| row.metric == metric).unwrap()
}

#[test]
fn every_acceptance_file_is_covered_here() {
    let Some(listed) = long_csv::rows("acceptance.csv") else { return };
    let source = include_str!("acceptance.rs");
    for row in listed {
        assert!(source.matches(&row["file"]).count() >= 1, "{} has no test", row["file"]);
        assert_eq!(row["delta"], "0.02", "the margin of {} is not the default", row["file"]);
    }
}

#[test]
fn acc01_same_tight_is_equivalent() {
    let Some((_, report)) = a_b("acc01_same_tight.csv") else { return };
    assert_eq!(row(&report, "m").verdict, Verdict::Equivalent);
    assert_eq!(report.exit_code, 0);
}

#[test]
fn acc02_five_per_cent_slower_is_worse() {
    let Some((_, report)) = a_b("acc02_5pct_slower.csv") else { return };
    let row = row(&report, "m");
    let ci = row.ci95.unwrap();
    assert_eq!(row.verdict, Verdict::Worse);
    assert!(ci.lo < 1.05 && 1.05 < ci.hi, "{ci:?}");
    assert_eq!(report.exit_code, 1);
}

#[test]
fn acc03_real_but_small_is_equivalent() {
    let Some((_, report)) = a_b("acc03_real_but_small.csv") else { return };
    let row = row(&report, "m");
    assert_eq!(row.verdict, Verdict::Equivalent);
    assert!(row.has(Flag::RealButSmall) && row.words().starts_with("worse"), "{}", row.words());
    assert!(row.words().contains("inside the margin"));
}

#[test]
fn acc04_underpowered_asks_for_runs() {
    let Some((_, report)) = a_b("acc04_underpowered.csv") else { return };
    let row = row(&report, "m");
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert!(row.more_runs.number().is_some_and(|n| n > 3), "{:?}", row.more_runs);
}

#[test]
fn acc05_drift_in_sequence_is_never_worse() {
    let Some((table, report)) = a_b("acc05_drift_sequential.csv") else { return };
    let row = row(&report, "m");
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert!(row.reason.as_deref().unwrap().contains("uncontrolled order"));
    assert!(!report.controlled_order && report.exit_code == 4);
    assert!(report.comparisons[0].notes.iter().any(|note| note.contains("uncontrolled order")));
    let accepted = Options { accept_uncontrolled: true, ..Options::default() };
    assert_ne!(compare(&table, &[(0, 1)], &accepted).exit_code, 4);
}

#[test]
fn acc07_two_modes_are_named_with_their_shares() {
    let Some((_, report)) = a_b("acc07_two_modes.csv") else { return };
    let row = row(&report, "m");
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert!(row.has(Flag::TwoModes) && row.more_runs == MoreRuns::FindTheCause);
    let modes = row.modes.unwrap();
    assert!((modes.low - 30.5).abs() < 0.5 && (modes.high - 63.0).abs() < 0.5, "{modes:?}");
    assert_eq!((modes.base_high.count, modes.base_high.total), (5, 12));
    assert_eq!((modes.other_high.count, modes.other_high.total), (8, 12));
}

#[test]
fn acc09_identical_cells_are_no_proof() {
    let Some((_, report)) = a_b("acc09_rounded_cells.csv") else { return };
    assert_eq!(row(&report, "sh proc").verdict, Verdict::Better);
    assert_eq!(row(&report, "page fault").verdict, Verdict::Inconclusive);
    assert!(row(&report, "page fault").has(Flag::Rounding));
    assert_eq!(row(&report, "main mem").verdict, Verdict::Equivalent);
}

#[test]
fn acc10_one_count_apart_is_inconclusive() {
    let Some((_, report)) = a_b("acc10_one_count_apart.csv") else { return };
    let row = row(&report, "10K create");
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert!(row.has(Flag::Rounding));
}

#[test]
fn acc11_counts_are_compared_as_counts() {
    let Some((_, report)) = a_b("acc11_counts.csv") else { return };
    assert_eq!(row(&report, "syscalls").words(), "exact: +3");
    assert!((row(&report, "syscalls").change_pct().unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(row(&report, "faults").words(), "exact: same");
    assert_eq!(row(&report, "faults jitter").verdict, Verdict::Equivalent);
}

#[test]
fn acc12_sixty_equal_metrics_stay_silent() {
    let Some((_, report)) = a_b("acc12_family_null.csv") else { return };
    let comparison = &report.comparisons[0];
    assert_eq!(comparison.rows.len(), 60);
    assert_eq!(comparison.counts.equivalent + comparison.counts.inconclusive, 60);
    assert!(comparison.rows.iter().any(|row| row.p.unwrap() < 0.05), "uncorrected, some would alarm");
}

#[test]
fn acc14_more_bandwidth_is_better() {
    let Some((_, report)) = a_b("acc14_bigger_is_better.csv") else { return };
    assert_eq!(row(&report, "m").verdict, Verdict::Better);
    assert!(row(&report, "m").ratio.unwrap() > 1.0);
}

#[test]
fn acc15_two_processes_are_two() {
    let Some((_, report)) = a_b("acc15_pseudo_replication.csv") else { return };
    let row = row(&report, "m");
    assert_eq!((row.verdict, row.base.n, row.other.n), (Verdict::Inconclusive, 2, 2));
}

#[test]
fn acc16_zero_spread_is_better() {
    let Some((_, report)) = a_b("acc16_zero_spread.csv") else { return };
    let row = row(&report, "m");
    assert_eq!(row.verdict, Verdict::Better);
    assert!(row.p_adjusted.unwrap() > 0.0 && row.ci95.unwrap().hi < 0.7);
}

#[test]
fn acc18_one_run_before_is_no_verdict() {
    let Some((_, report)) = a_b("acc18_n1_baseline.csv") else { return };
    assert_eq!(report.comparisons[0].counts.inconclusive, 3);
    for row in &report.comparisons[0].rows {
        assert!(row.has(Flag::OneRun));
        assert_eq!(row.has(Flag::Extreme), row.metric == "prot fault", "{}", row.metric);
    }
    assert!((row(&report, "prot fault").ratio.unwrap() - 0.349).abs() < 1e-3);
}

#[test]
fn acc19_summaries_give_the_published_verdicts() {
    let Some(table) = read("acc19_summaries_only.csv") else { return };
    let [before, after, is_write] =
        ["before", "after", "is_write"].map(|c| long_csv::configuration(&table, c));
    let report = compare(&table, &[(before, after), (after, is_write)], &Options::default());
    let row =
        |c: usize, metric: &str| report.comparisons[c].rows.iter().find(|row| row.metric == metric).unwrap();
    for metric in ["cpu-cycles", "elapsed s", "dTLB-load-misses"] {
        assert_eq!(row(0, metric).verdict, Verdict::Better, "{metric}");
    }
    let inside = |row: &Row, pct: f64| {
        let ci = row.contrast.unwrap().interval(0.90);
        row.verdict == Verdict::Equivalent && ci.lo > 1.0 - pct / 100.0 && ci.hi < 1.0 + pct / 100.0
    };
    assert!(inside(row(0, "iTLB-load-misses"), 0.1));
    assert_eq!(row(1, "dTLB-load-misses").verdict, Verdict::Better);
    assert!((row(1, "dTLB-load-misses").change_pct().unwrap() + 3.476).abs() < 0.01);
    for metric in ["cpu-cycles", "elapsed s", "iTLB-load-misses"] {
        assert!(inside(row(1, metric), 0.5), "{metric}");
    }
}
