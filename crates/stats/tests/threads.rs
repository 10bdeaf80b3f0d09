//! The old threads: every verdict, ratio, interval and p value worked out from their printed numbers.

mod long_csv;

use long_csv::Record;
use stats::{Flag, Options, Row, Table, Verdict, compare};

/// Metric names that are unambiguous: some stand in two sections.
fn name(row: &Record) -> String {
    format!("{}/{}", row["section"], row["metric"])
}

fn seed000() -> Option<(Table, Vec<Record>)> {
    let verdicts = long_csv::rows("seed000_verdicts.csv")?;
    let wanted: Vec<String> = verdicts.iter().map(name).collect();
    let rows = long_csv::rows("seed000_lmbench2.csv")?;
    let known =
        |row: &Record| Some(name(row)).filter(|name| wanted.contains(name) && !row["value"].is_empty());
    let mut table = long_csv::table(&rows, known);
    table.configurations.iter_mut().for_each(|c| c.one_boot = true);
    Some((table, verdicts))
}

#[test]
fn the_2002_table_in_all_three_pairs() {
    let Some((table, verdicts)) = seed000() else { return };
    assert_eq!(table.metrics.len(), 40);
    let pair = |base, other| (long_csv::configuration(&table, base), long_csv::configuration(&table, other));
    let names = [("nopintlb", "1pintlb"), ("nopintlb", "2pintlb"), ("1pintlb", "2pintlb")];
    let report = compare(&table, &names.map(|(base, other)| pair(base, other)), &Options::default());
    let mut compared = 0;
    for ((base, other), comparison) in names.into_iter().zip(&report.comparisons) {
        for expected in verdicts.iter().filter(|v| v["base"] == base && v["other"] == other) {
            let row = comparison.rows.iter().find(|row| row.metric == name(expected)).unwrap();
            check(row, expected, &format!("{base} {other} {}", row.metric));
            compared += 1;
        }
    }
    assert_eq!(compared, 120);
    let counts: Vec<[usize; 4]> = report
        .comparisons
        .iter()
        .map(|c| [c.counts.better, c.counts.worse, c.counts.equivalent, c.counts.inconclusive])
        .collect();
    assert_eq!(counts, [[18, 0, 9, 13], [17, 0, 9, 14], [0, 1, 20, 19]]);
    assert_eq!(report.exit_code, 4, "order unknown");
    let accepted = Options { accept_uncontrolled: true, ..Options::default() };
    let codes: Vec<u8> =
        names.iter().map(|(b, o)| compare(&table, &[pair(b, o)], &accepted).exit_code).collect();
    assert_eq!(codes, [3, 3, 1]);
}

fn check(row: &Row, expected: &Record, what: &str) {
    let number = |column: &str| -> f64 { expected[column].parse().unwrap() };
    let near = |value: f64, column: &str, tolerance: f64| {
        assert!(
            (value - number(column)).abs() <= tolerance,
            "{what} {column}: {value} against {}",
            expected[column]
        );
    };
    let ci = row.ci95.unwrap();
    near(row.ratio.unwrap(), "ratio_geomean", 0.001);
    near(ci.lo, "ci95_low", 0.002);
    near(ci.hi, "ci95_high", 0.002);
    near(row.p.unwrap(), "p_pooled", 0.05 * number("p_pooled"));
    near(row.p_adjusted.unwrap(), "p_pooled_holm", 0.05 * number("p_pooled_holm"));
    near(row.p_watch.unwrap(), "p_pooled_bh", 0.05 * number("p_pooled_bh"));
    assert_eq!(row.verdict.word(), expected["verdict_2pct"], "{what}");
    let tightest = row.tightest_pct.map(|pct| format!("+-{pct}%")).unwrap_or_default();
    assert_eq!(tightest, expected["tightest_equivalence"], "{what}");
    assert!(row.has(Flag::OneBoot));
}

#[test]
fn the_2002_table_beside_its_verdicts() {
    let Some((table, _)) = seed000() else { return };
    let [none, one, two] = ["nopintlb", "1pintlb", "2pintlb"].map(|c| long_csv::configuration(&table, c));
    let report = compare(&table, &[(none, one), (none, two), (one, two)], &Options::default());
    let row =
        |c: usize, metric: &str| report.comparisons[c].rows.iter().find(|row| row.metric == metric).unwrap();
    for c in 0..2 {
        assert!(row(c, "local comm bandwidth/TCP").has(Flag::TwoModes));
        assert_eq!(row(c, "processor/fork proc").verdict, Verdict::Better);
    }
    assert!(row(0, "processor/sig inst").has(Flag::RealButSmall));
    assert!(row(2, "file & VM/page fault").has(Flag::Rounding));
    // the large rows survive any plausible boot effect, two pins' +5 % on stat hardly
    let fork = row(0, "processor/fork proc").survives_boot_sd_pct.unwrap();
    let stat = row(2, "processor/stat").survives_boot_sd_pct.unwrap();
    println!("fork survives {fork:.2} %, stat {stat:.2} %");
    assert!(fork > 1.0 && stat < 1.0 && stat > 0.0);
    assert!(row(2, "processor/fork proc").survives_boot_sd_pct.is_none());
    for flagged in report.comparisons.iter().flat_map(|c| &c.rows).filter(|row| row.has(Flag::TwoModes)) {
        println!("two modes: {}", flagged.metric);
    }
}

#[test]
fn the_2017_exec_loop_in_all_24_rows() {
    let (Some(rows), Some(deltas)) =
        (long_csv::rows("seed002_perfstat.csv"), long_csv::rows("seed002_deltas.csv"))
    else {
        return;
    };
    let table = long_csv::table(&rows, |row| Some(row["metric"].clone()));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let pair = |delta: &Record| {
        let configuration =
            |column: &str| long_csv::configuration(&table, &format!("{}/{}", delta["board"], delta[column]));
        (configuration("base"), configuration("other"))
    };
    for delta in &deltas {
        if !pairs.contains(&pair(delta)) {
            pairs.push(pair(delta));
        }
    }
    let report = compare(&table, &pairs, &Options::default());
    let mut compared = 0;
    for delta in &deltas {
        let comparison = &report.comparisons[pairs.iter().position(|p| *p == pair(delta)).unwrap()];
        let row = comparison.rows.iter().find(|row| row.metric == delta["metric"]).unwrap();
        let number = |column: &str| -> f64 { delta[column].parse().unwrap() };
        let near = |value: f64, column: &str, tolerance: f64| {
            assert!((value - number(column)).abs() <= tolerance, "{column} {delta:?}: {value}");
        };
        let (contrast, ci) = (row.contrast.unwrap(), row.ci95.unwrap());
        near(row.change_pct().unwrap(), "delta_pct", 1e-4);
        near(100.0 * (ci.lo - 1.0), "ci95_low_pct", 1e-4);
        near(100.0 * (ci.hi - 1.0), "ci95_high_pct", 1e-4);
        near(contrast.df, "df", 1e-2);
        near(row.p.unwrap(), "p", 0.01 * number("p") + 1e-8);
        near(row.p_adjusted.unwrap(), "p_holm24", 0.05 * number("p_holm24") + 1e-8);
        compared += 1;
    }
    assert_eq!(compared, 24);
    let word = |base: &str, other: &str, metric: &str| {
        let wanted = (long_csv::configuration(&table, base), long_csv::configuration(&table, other));
        let comparison = report.comparisons.iter().find(|c| (c.base, c.other) == wanted).unwrap();
        let row = comparison.rows.iter().find(|row| row.metric == metric).unwrap();
        (row.verdict, row.has(Flag::RealButSmall))
    };
    use Verdict::{Better, Equivalent};
    for (base, other, metric, verdict) in [
        ("MPC8321/before", "MPC8321/after", "faults", (Better, false)),
        ("MPC8321/before", "MPC8321/after", "cpu-clock", (Better, false)),
        ("MPC8321/before", "MPC8321/after", "elapsed", (Better, false)),
        ("MPC8321/after", "MPC8321/is_write", "cpu-clock", (Equivalent, true)),
        ("MPC8321/after", "MPC8321/is_write", "elapsed", (Equivalent, false)),
        ("MPC8321/after", "MPC8321/is_write", "faults", (Equivalent, false)),
        ("MPC885/before", "MPC885/after", "cpu-cycles", (Better, false)),
        ("MPC885/before", "MPC885/after", "elapsed", (Better, false)),
        ("MPC885/before", "MPC885/after", "dTLB-load-misses", (Better, false)),
        ("MPC885/before", "MPC885/after", "faults", (Better, false)),
        ("MPC885/before", "MPC885/after", "iTLB-load-misses", (Equivalent, false)),
        ("MPC885/after", "MPC885/is_write", "dTLB-load-misses", (Better, false)),
        ("MPC885/after", "MPC885/is_write", "cpu-cycles", (Equivalent, false)),
        ("MPC885/after", "MPC885/is_write", "elapsed", (Equivalent, false)),
    ] {
        assert_eq!(word(base, other, metric), verdict, "{base} {other} {metric}");
    }
}

/// User-space arithmetic, which no kernel patch can move.
fn is_control(metric: &str) -> bool {
    let (section, name) = metric.split_once('/').unwrap();
    section.ends_with(" ops") || name == "L1"
}

#[test]
fn the_2011_table_decides_nothing() {
    let (Some(rows), Some(verdicts)) =
        (long_csv::rows("seed003_lmbench3.csv"), long_csv::rows("seed003_verdicts.csv"))
    else {
        return;
    };
    let wanted: Vec<String> = verdicts.iter().map(name).collect();
    let mut table = long_csv::table(&rows, |row| {
        Some(name(row)).filter(|n| wanted.contains(n) && !row["value"].is_empty())
    });
    for metric in table.metrics.iter_mut().filter(|metric| is_control(&metric.name)) {
        *metric = metric.clone().control();
    }
    let pair = (long_csv::configuration(&table, "baseline"), long_csv::configuration(&table, "patched"));
    let report = compare(&table, &[pair], &Options { accept_uncontrolled: true, ..Options::default() });
    let comparison = &report.comparisons[0];
    assert_eq!((comparison.rows.len(), comparison.counts.inconclusive), (60, 60));
    for row in &comparison.rows {
        let reason = row.reason.as_deref().unwrap();
        println!("{}: {:?} {} {:?}", row.metric, row.ratio, reason, row.more_runs);
        assert!(row.has(Flag::OneRun));
        assert_eq!(row.has(Flag::Extreme), row.metric == "file & VM/prot fault", "{}", row.metric);
        let expected = verdicts.iter().find(|v| name(v) == row.metric).unwrap();
        assert!(
            (row.ratio.unwrap() - expected["ratio"].parse::<f64>().unwrap()).abs() < 1e-3,
            "{}",
            row.metric
        );
    }
    let reason = |metric: &str| {
        comparison.rows.iter().find(|row| row.metric == metric).and_then(|row| row.reason.clone()).unwrap()
    };
    assert!(reason("file & VM/10K create").contains("touch"));
    for metric in ["file & VM/10K delete", "file & VM/page fault", "processor/sig hndl"] {
        assert!(reason(metric).contains("worth a rerun"), "{metric}");
    }
    for metric in ["processor/null I/O", "processor/stat", "memory latency/main mem"] {
        assert!(!reason(metric).contains("worth a rerun"), "{metric}");
    }
}
