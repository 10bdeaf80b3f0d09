//! The rules that scripts rely on, on small tables made here. The printed cells and the expected figures of the 2002
//! rows are facts from its posted tables (`../shared/data/compare/seed000_verdicts.csv`); no file is needed.

use stats::simulate::{Noise, Scenario};
use stats::{
    Cell, Comparison, Configuration, Direction, Flag, Layout, Measured, MoreRuns, Observation, Options, Plan,
    Report, Share, Summary, Table, Tau, Verdict, compare, explain, stopping,
};

fn blocks(values: &[f64]) -> Cell {
    let observations = values
        .iter()
        .enumerate()
        .map(|(b, &v)| Observation::in_block(v, b as u32 + 1, 2 * b as u32))
        .collect();
    Cell { observations, summary: None }
}

/// A quiet series of `n` values around `level`, deterministic.
fn quiet(level: f64, n: usize, phase: f64) -> Vec<f64> {
    (0..n).map(|i| level * (1.0 + 0.002 * (i as f64 * 2.1 + phase).sin())).collect()
}

fn metric(name: &str, direction: Direction, change: f64) -> Measured {
    let cells = vec![blocks(&quiet(100.0, 12, 0.0)), blocks(&quiet(100.0 * change, 12, 1.0))];
    Measured::new(name, direction, cells)
}

fn table(metrics: Vec<Measured>) -> Table {
    Table {
        configurations: vec![Configuration::named("A"), Configuration::named("B")],
        metrics,
        layout: Layout::Blocks(Plan::fixed()),
    }
}

fn run(table: &Table, options: &Options) -> Report {
    compare(table, &[(0, 1)], options)
}

fn only(table: &Table) -> Comparison {
    run(table, &Options::default()).comparisons.remove(0)
}

#[test]
fn words_follow_the_direction() {
    let words = |direction, change| only(&table(vec![metric("m", direction, change)])).rows[0].verdict;
    assert_eq!(words(Direction::Smaller, 1.05), Verdict::Worse);
    assert_eq!(words(Direction::Smaller, 0.95), Verdict::Better);
    assert_eq!(words(Direction::Bigger, 1.05), Verdict::Better);
    assert_eq!(words(Direction::Bigger, 0.95), Verdict::Worse);
    assert_eq!(words(Direction::None, 1.05), Verdict::Differs);
    assert_eq!(words(Direction::Smaller, 1.0), Verdict::Equivalent);
}

#[test]
fn exit_codes() {
    let code = |metrics: Vec<Measured>, options: &Options| run(&table(metrics), options).exit_code;
    let plain = Options::default();
    let same = || metric("same", Direction::Smaller, 1.0);
    let worse = || metric("worse", Direction::Smaller, 1.05);
    let open = || {
        Measured::new(
            "open",
            Direction::Smaller,
            vec![blocks(&[100.0, 150.0, 120.0]), blocks(&[150.0, 100.0, 140.0])],
        )
    };
    assert_eq!(code(vec![same()], &plain), 0);
    assert_eq!(code(vec![same(), worse(), open()], &plain), 1);
    assert_eq!(code(vec![same(), open()], &plain), 3);
    assert_eq!(code(vec![same(), open()], &Options { allow_inconclusive: true, ..plain.clone() }), 0);
    assert_eq!(code(vec![metric("d", Direction::None, 1.05)], &plain), 3);
    assert_eq!(code(vec![same(), Measured { gated: false, ..worse() }], &plain), 0);
    assert_eq!(
        code(vec![same()], &Options { not_comparable: vec!["other method".into()], ..plain.clone() }),
        4
    );
    // a proven small change, though for the worse, is inside the margin
    assert_eq!(code(vec![metric("small", Direction::Smaller, 1.01)], &plain), 0);
}

#[test]
fn a_control_that_moves_voids_the_table_unless_expected() {
    let moved = || metric("ops.i64.mul", Direction::Smaller, 1.05).control();
    let comparison = only(&table(vec![metric("m", Direction::Smaller, 1.0), moved()]));
    assert!(!comparison.comparable && comparison.exit_code == 4);
    assert!(comparison.rows[1].has(Flag::ControlsMoved) && !comparison.rows[0].has(Flag::ControlsMoved));
    assert!(comparison.notes[0].contains("ops.i64.mul"));
    let expected = Measured { expected: true, ..moved() };
    let comparison = only(&table(vec![metric("m", Direction::Smaller, 1.0), expected]));
    assert!(comparison.comparable && comparison.exit_code == 0);
    // inside the margin is no movement
    assert!(only(&table(vec![metric("c", Direction::Smaller, 1.01).control()])).comparable);
}

#[test]
fn margins_per_metric_and_in_the_metrics_unit() {
    let small = metric("m", Direction::Smaller, 1.03);
    assert_eq!(only(&table(vec![small.clone()])).rows[0].verdict, Verdict::Worse);
    let wide = Measured { margin: Some(0.05), ..small.clone() };
    assert_eq!(only(&table(vec![wide])).rows[0].verdict, Verdict::Equivalent);
    let floor = Measured { margin_floor: Some(5.0), ..small.clone() };
    let row = only(&table(vec![floor])).rows.remove(0);
    assert_eq!(row.verdict, Verdict::Equivalent);
    assert!((row.margin_pct - 5.0).abs() < 0.05, "5 units of 100: {}", row.margin_pct);
    assert!(row.words().contains("inside the margin"), "{}", row.words());
    let options = Options { margin: 0.05, ..Options::default() };
    assert_eq!(run(&table(vec![small]), &options).comparisons[0].rows[0].verdict, Verdict::Equivalent);
}

#[test]
fn exact_counts() {
    let exact = |base: f64, other: f64| Measured {
        exact: true,
        ..Measured::new("n", Direction::Smaller, vec![Cell::of(&[base; 3]), Cell::of(&[other; 3])])
    };
    let verdict = |m: Measured| {
        let comparison = only(&table(vec![m]));
        (comparison.rows[0].words(), comparison.exit_code)
    };
    assert_eq!(verdict(exact(1000.0, 1003.0)), ("exact: +3".to_owned(), 0));
    assert_eq!(verdict(exact(1000.0, 1100.0)), ("exact: +100".to_owned(), 1));
    assert_eq!(verdict(exact(0.0, 1.0)), ("exact: +1".to_owned(), 1));
    assert_eq!(verdict(exact(0.0, 0.0)), ("exact: same".to_owned(), 0));
    let mut broken = exact(1000.0, 1003.0);
    broken.cells[1].observations[1].value = 1004.0;
    let comparison = only(&Table { layout: Layout::Unknown, ..table(vec![broken]) });
    assert!(comparison.rows[0].broken_exact && comparison.rows[0].exact.is_none());
    assert!(comparison.notes.iter().any(|note| note.contains("declared exact")));
}

#[test]
fn no_value_is_a_reason_and_no_panic() {
    let none = Measured::new("none", Direction::Smaller, vec![Cell::default(), blocks(&[1.0])]);
    let zero = Measured::new("zero", Direction::Smaller, vec![blocks(&[0.0; 4]), blocks(&[1.0; 4])]);
    let bad = Measured::new(
        "bad",
        Direction::Smaller,
        vec![blocks(&[f64::NAN, f64::INFINITY]), blocks(&[-1.0, 1e308])],
    );
    let one = Measured::new("one", Direction::Smaller, vec![blocks(&[5.0]), blocks(&[6.0])]);
    for layout in [
        Layout::Blocks(Plan::fixed()),
        Layout::Blocks(Plan::looks()),
        Layout::Unknown,
        Layout::Sittings,
        Layout::Sequential,
    ] {
        let table = Table { layout, ..table(vec![none.clone(), zero.clone(), bad.clone(), one.clone()]) };
        let comparison = only(&table);
        assert_eq!(comparison.counts.inconclusive, 4);
        for (m, row) in comparison.rows.iter().enumerate() {
            assert!(row.reason.is_some() && row.p_adjusted.is_none(), "{row:?}");
            assert!(!explain(&table, &comparison, m).is_empty());
        }
        assert!(comparison.rows[3].has(Flag::OneRun) && comparison.rows[3].ratio.is_some());
    }
    let empty = only(&table(Vec::new()));
    assert_eq!((empty.rows.len(), empty.exit_code), (0, 0));
}

#[test]
fn looks_give_one_verdict_however_far_the_record_goes() {
    let scenario = Scenario { plan: Plan::looks(), noise: Noise::Typical, ..Scenario::aa(32, 17) }
        .with_changes(10, 0.05);
    let whole = scenario.table();
    let upto = |blocks: u32| {
        let mut table = whole.clone();
        for cell in table.metrics.iter_mut().flat_map(|m| &mut m.cells) {
            cell.observations.retain(|o| o.block.unwrap() <= blocks);
        }
        table
    };
    let last = only(&whole);
    let mut early = 0;
    for look in [8, 12, 16, 24] {
        let then = run(&upto(look), &Options::default());
        let decided = stopping::decided(&then.comparisons);
        for (m, row) in then.comparisons[0].rows.iter().enumerate().filter(|(_, row)| row.look.is_some()) {
            assert_eq!(
                (row.verdict, row.ratio),
                (last.rows[m].verdict, last.rows[m].ratio),
                "{}",
                row.metric
            );
            assert!(decided[m]);
            early += 1;
        }
    }
    assert!(early > 50, "{early}");
    // stopping those metrics changes nothing for the others
    let mut stopped = whole.clone();
    for (metric, row) in stopped.metrics.iter_mut().zip(&last.rows) {
        if let Some(look) = row.look {
            metric.cells.iter_mut().for_each(|cell| cell.observations.retain(|o| o.block.unwrap() <= look));
        }
    }
    let words = |c: &Comparison| c.rows.iter().map(|row| row.verdict).collect::<Vec<_>>();
    assert_eq!(words(&only(&stopped)), words(&last));
}

#[test]
fn strict_and_exact_are_harder() {
    let table = Scenario { noise: Noise::Typical, ..Scenario::aa(10, 5) }.table();
    let plain = run(&table, &Options::default()).comparisons.remove(0);
    let strict = run(&table, &Options { strict: true, ..Options::default() }).comparisons.remove(0);
    assert!(strict.counts.equivalent < plain.counts.equivalent, "{:?} {:?}", strict.counts, plain.counts);
    let changed = Scenario { noise: Noise::Quiet, ..Scenario::aa(10, 5) }.with_changes(10, 0.05).table();
    let exact = run(&changed, &Options { exact: true, ..Options::default() }).comparisons.remove(0);
    let found = exact.rows.iter().take(10).filter(|row| row.verdict != Verdict::Inconclusive).count();
    assert!(found >= 4 && exact.rows[0].p_exact.is_some(), "{found}");
    assert!(exact.rows.iter().all(|row| row.p_exact.unwrap() >= 1.0 / 512.0));
}

#[test]
fn stored_records_carry_a_between_sitting_deviation() {
    let stored = |change: f64, n: usize| {
        let cell = |level: f64| Cell::of(&quiet(level, n, level));
        let metric = Measured::new("m", Direction::Smaller, vec![cell(100.0), cell(100.0 * change)]);
        Table { layout: Layout::Sittings, ..table(vec![metric]) }
    };
    let comparison = only(&stored(1.02, 10));
    assert_eq!((comparison.rows[0].verdict, comparison.exit_code), (Verdict::Inconclusive, 4));
    assert!(comparison.notes.iter().any(|note| note.contains("1 %") && note.contains("uncontrolled order")));
    let accepted = Options { accept_uncontrolled: true, ..Options::default() };
    assert_eq!(run(&stored(1.10, 10), &accepted).exit_code, 1);
    assert_eq!(run(&stored(1.10, 2), &accepted).comparisons[0].rows[0].flags, [Flag::Suggestive]);
    let mut known = stored(1.02, 10);
    known.metrics[0].tau = Some(Tau { sd: 0.001, sittings: 12 });
    let comparison = only(&known);
    assert_eq!((comparison.rows[0].verdict, comparison.exit_code), (Verdict::Worse, 1));
}

#[test]
fn findings_are_flagged() {
    let mut tail = metric("tail", Direction::Smaller, 1.0);
    let mut aside = metric("aside", Direction::Smaller, 1.0);
    for (c, count) in [(0, 1), (1, 9)] {
        tail.cells[c].observations.iter_mut().for_each(|o| o.tail = Some(Share { count, total: 100 }));
        let share = Share { count: 4 * count, total: 100 };
        aside.cells[c].observations.iter_mut().for_each(|o| o.set_aside = Some(share));
    }
    let rising: Vec<f64> =
        quiet(100.0, 12, 0.0).iter().enumerate().map(|(i, v)| v * (1.0 + 0.01 * i as f64)).collect();
    let drift = Measured::new("drift", Direction::Smaller, vec![blocks(&rising), blocks(&rising)]);
    let other = Measured { screened: false, ..aside.clone() };
    let scaled = Measured {
        scaled_counter: true,
        below_resolution: true,
        ..metric("scaled", Direction::Smaller, 1.0)
    };
    let comparison = only(&table(vec![tail, aside, drift, other, scaled]));
    let flags: Vec<&[Flag]> = comparison.rows.iter().map(|row| row.flags.as_slice()).collect();
    assert_eq!(
        flags,
        [
            &[Flag::Tail][..],
            &[Flag::Disturbed],
            &[Flag::Drift],
            &[],
            &[Flag::ScaledCounter, Flag::BelowResolution]
        ]
    );
    assert!(
        comparison.notes.iter().any(|note| note.starts_with("aside: shares of set-aside samples differ"))
    );
}

#[test]
fn sixty_equal_rows_carry_hardly_any_flag() {
    let mut flagged = 0;
    for seed in 0..50 {
        let scenario =
            Scenario { samples: 20, two_modes: false, drift: false, ..Scenario::aa(10, 1000 + seed) };
        let comparison = only(&scenario.table());
        flagged += usize::from(comparison.rows.iter().any(|row| row.has(Flag::Tail) || row.has(Flag::Drift)));
    }
    assert!(flagged <= 3, "{flagged} of 50 tables");
}

#[test]
fn two_modes_need_more_than_a_shift_of_shares() {
    // eleven of twelve against one of twelve in the upper mode: significant, and still no slower mode
    let modes = |upper: usize| -> Vec<f64> {
        quiet(30.0, 12, 0.3).iter().enumerate().map(|(i, v)| if i < upper { 2.0 * v } else { *v }).collect()
    };
    let row = only(&table(vec![Measured::new(
        "m",
        Direction::Bigger,
        vec![blocks(&modes(1)), blocks(&modes(11))],
    )]))
    .rows
    .remove(0);
    assert!(row.p.unwrap() < 0.001 && row.has(Flag::TwoModes));
    assert_eq!((row.verdict, row.more_runs), (Verdict::Inconclusive, MoreRuns::FindTheCause));
    assert!(row.decided, "more blocks can't help");
}

#[test]
fn the_mean_of_the_table_counts_costs() {
    let comparison = only(&table(vec![
        metric("time", Direction::Smaller, 1.10),
        metric("bandwidth", Direction::Bigger, 1.0 / 1.10),
        metric("control", Direction::Smaller, 1.0).control(),
    ]));
    let mean = comparison.mean_cost.unwrap();
    assert!((mean.mean.exp() - 1.10).abs() < 0.01);
    let (lo, hi) = mean.interval(0.95);
    assert!(lo.exp() > 1.09 && hi.exp() < 1.11);
}

/// Printed cells of four 2002 rows (none, one pin, two pins) and what they must give: ratio, interval and unadjusted p of
/// one pin against none.
#[test]
fn four_rows_of_2002() {
    let printed = |half: f64, cells: [[f64; 3]; 3]| -> Vec<Cell> {
        let cell = |values: [f64; 3]| Cell {
            observations: values.iter().map(|&v| Observation::printed(v, v - half, v + half)).collect(),
            summary: None,
        };
        cells.map(cell).to_vec()
    };
    let rows = [
        (
            "null call",
            0.005,
            [[1.46, 1.46, 1.46], [1.44, 1.44, 1.44], [1.44, 1.44, 1.44]],
            0.9863,
            [0.9756, 0.9971],
            5.48e-3,
        ),
        (
            "stat",
            0.05,
            [[17.2, 17.0, 17.2], [16.0, 16.1, 16.1], [16.8, 17.0, 16.8]],
            0.9378,
            [0.9267, 0.9489],
            1.12e-5,
        ),
        (
            "8p/16K",
            0.05,
            [[101.5, 100.0, 99.2], [96.1, 95.9, 95.1], [95.3, 95.0, 93.5]],
            0.9548,
            [0.9369, 0.9731],
            9.93e-4,
        ),
        (
            "page fault",
            0.5,
            [[21.0, 21.0, 21.0], [18.0, 18.0, 18.0], [18.0, 18.0, 18.0]],
            0.8571,
            [0.7895, 0.9306],
            1.77e-4,
        ),
    ];
    let metrics = rows.iter().map(|r| Measured::new(r.0, Direction::Smaller, printed(r.1, r.2))).collect();
    let kernels =
        ["none", "one", "two"].map(|name| Configuration { one_boot: true, ..Configuration::named(name) });
    let table = Table { configurations: kernels.to_vec(), metrics, layout: Layout::Unknown };
    let comparison = only(&table);
    for (row, expected) in comparison.rows.iter().zip(&rows) {
        println!("{} {:?} {:?} {:?}", row.metric, row.ratio, row.ci95, row.p);
        let ci = row.ci95.unwrap();
        assert!((row.ratio.unwrap() - expected.3).abs() < 1e-3, "{}", row.metric);
        assert!(
            (ci.lo - expected.4[0]).abs() < 2e-3 && (ci.hi - expected.4[1]).abs() < 2e-3,
            "{}",
            row.metric
        );
        assert!((row.p.unwrap() / expected.5 - 1.0).abs() < 0.05, "{}: {:?}", row.metric, row.p);
    }
    let lines = explain(&table, &comparison, 3);
    for word in
        ["pooled SD", "rounding alone could explain", "adjusted", "margin", "verdict: better", "one-boot"]
    {
        assert!(lines.iter().any(|line| line.contains(word)), "{word} is missing in {lines:#?}");
    }
}

#[test]
fn summaries_alone() {
    let cell = |mean: f64| Cell {
        summary: Some(Summary { mean, rel_se_pct: 0.03, rel_se_half_digit_pct: 0.005, n: 10 }),
        ..Cell::default()
    };
    let metric =
        |mean: f64| Measured::new(format!("m{mean}"), Direction::Smaller, vec![cell(1000.0), cell(mean)]);
    let table = Table { layout: Layout::Unknown, ..table(vec![metric(950.0), metric(1000.3)]) };
    let comparison = only(&table);
    let words: Vec<Verdict> = comparison.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(words, [Verdict::Better, Verdict::Equivalent]);
    assert_eq!((comparison.rows[0].base.n, comparison.rows[0].base.value), (10, Some(1000.0)));
    assert!((comparison.rows[0].base.spread_pct.unwrap() - 0.03 * 10f64.sqrt()).abs() < 1e-9);
    assert!(explain(&table, &comparison, 0).iter().any(|line| line.contains("Welch")));
}

#[test]
fn single_records_of_a_busy_machine_get_no_word() {
    let cell = |level: f64| Cell::of(&[level, level * 1.001, level * 0.999, level]);
    let table = |load: [f64; 2]| Table {
        configurations: ["A", "B"]
            .into_iter()
            .zip(load)
            .map(|(name, load)| Configuration { others_running: Some(load), ..Configuration::named(name) })
            .collect(),
        metrics: vec![Measured::new("m", Direction::Smaller, vec![cell(100.0), cell(150.0)])],
        layout: Layout::Sittings,
    };
    let pair = |load, accept_uncontrolled| {
        let options = Options { accept_uncontrolled, ..Options::default() };
        compare(&table(load), &[(0, 1)], &options).comparisons[0].clone()
    };
    let row = |load, accept_uncontrolled| pair(load, accept_uncontrolled).rows[0].clone();
    assert_eq!(row([0.1, 0.2], false).verdict, Verdict::Worse);
    let busy = pair([0.1, 6.0], false);
    assert_eq!(busy.rows[0].verdict, Verdict::Inconclusive);
    assert_eq!(busy.rows[0].reason.as_deref(), Some("measured on a busy machine"));
    assert!(busy.notes.iter().any(|note| note.contains("0.1 under A, 6.0 under B")), "{:?}", busy.notes);
    assert_eq!(row([5.0, 6.0], false).verdict, Verdict::Inconclusive);
    assert_eq!(row([0.1, 6.0], true).verdict, Verdict::Worse);
}
