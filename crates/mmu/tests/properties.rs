//! What must hold for every stream.

use mmu::curve::{LruCurve, References, SetCurves};
use mmu::event::{Event, Kind};
use mmu::machine::{Machine, PolicyName};
use mmu::sim::{Cause, Options, Outcome, Simulation};
use mmu::thin::Thinner;
use proptest::prelude::*;

fn machine(text: &str) -> Machine {
    Machine::from_json(&format!("{{{text}}}"), "test").unwrap()
}

fn unified(entries: u32, policy: &str) -> Machine {
    machine(&format!(
        r#""tlbs":[{{"name":"u","serves":"IRW","entries":{entries},"policy":"{policy}"}}],"asid":true,"global_from":"80000000""#
    ))
}

fn run_chunks(machines: Vec<Machine>, events: &[Event], chunk: usize) -> Vec<Outcome> {
    let named = machines.into_iter().enumerate().map(|(i, m)| (i.to_string(), m)).collect();
    let mut simulation = Simulation::new(named, Options::default()).unwrap();
    for part in events.chunks(chunk.max(1)) {
        simulation.feed(part).unwrap();
    }
    simulation.finish().unwrap()
}

fn run(machines: Vec<Machine>, events: &[Event]) -> Vec<Outcome> {
    run_chunks(machines, events, usize::MAX)
}

fn misses(machines: Vec<Machine>, events: &[Event]) -> Vec<u64> {
    run(machines, events).iter().map(|o| o.walks.total()).collect()
}

/// Streams with locality: 12 instruction pages, 24 data pages of which some are the same or the kernel's.
fn stream(controls: bool) -> impl Strategy<Value = Vec<Event>> {
    let access = (0u64..12, 0u64..24, 0u32..10, any::<bool>()).prop_map(|(i, d, kind, kernel)| {
        let base = if kernel { 0x8000_0000 } else { 0x1_0000 };
        match kind {
            0..5 => Event::access(Kind::Fetch, base + i * 4096 / 2, 4),
            5..7 => Event::access(Kind::Read, base + d * 4096, 8),
            7 => Event::access(Kind::Read, base + d * 4096 + 4092, 8),
            8 => Event::access(Kind::Write, base + d * 4096, 8),
            _ => Event::access(Kind::Modify, base + d * 4096, 4),
        }
    });
    let control = (0u64..24, 0u32..4).prop_map(|(n, kind)| match kind {
        0 => Event::control(Kind::FlushAll, 0),
        1 | 2 => Event::control(Kind::FlushPage, 0x1_0000 + n * 4096),
        _ => Event::control(Kind::AddressSpace, n % 3),
    });
    let weight = u32::from(controls);
    let one = prop_oneof![40 => access.prop_map(Some), weight => control.prop_map(Some), 1 => Just(None)];
    prop::collection::vec(one, 1..600).prop_map(|list| {
        // `None` repeats the last two records, as loops do.
        let mut out: Vec<Event> = Vec::new();
        for event in list {
            match event {
                Some(e) => out.push(e),
                None if out.len() >= 2 => out.extend_from_within(out.len() - 2..),
                None => {}
            }
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Fed one record at a time, nothing can be compressed: the compression changes no count.
    #[test]
    fn compression_is_lossless(events in stream(true), entries in 1u32..9, ways in 1u32..5) {
        let mut all: Vec<Machine> = PolicyName::ALL.iter().map(|p| unified(entries, p.word())).collect();
        for policy in ["lru", "tree-plru", "bit-plru", "nru", "random", "lfu"] {
            all.push(machine(&format!(
                r#""tlbs":[{{"name":"i","serves":"I","entries":2,"policy":"{policy}"}},
                    {{"name":"d","serves":"RW","entries":{},"ways":{ways},"policy":"{policy}"}},
                    {{"name":"l2","serves":"IRW","level":2,"entries":8,"ways":2,"policy":"{policy}"}}]"#,
                2 * ways
            )));
        }
        all.push(machine(
            r#""tlbs":[{"name":"i","serves":"I","entries":3,"policy":"lru"},{"name":"r","serves":"R","entries":3,
                "policy":"lru"},{"name":"w","serves":"W","entries":2,"policy":"fifo"}]"#,
        ));
        let whole = run(all.clone(), &events);
        let single = run_chunks(all, &events, 1);
        for (a, b) in whole.iter().zip(&single) {
            prop_assert_eq!(&a.tlbs, &b.tlbs, "{}", a.machine.tlbs[0].policy.word());
            prop_assert_eq!(&a.walks, &b.walks);
        }
    }

    /// A configuration by itself takes a shorter way, and looks for conflicts change no count of misses.
    #[test]
    fn alone_as_in_company(
        events in stream(true),
        ways in 1u32..5,
        fetch in 0usize..7,
        data in 0usize..7,
        apart in any::<bool>(),
    ) {
        let [fetch, data] = [fetch, data].map(|at| PolicyName::ALL[at].word());
        let make = |fetch: &str, data: &str| {
            let pins = r#","pinned":[{"base":"80000000","size":8192}]"#;
            let data = if apart {
                format!(
                    r#"{{"name":"r","serves":"R","entries":{ways},"policy":"{data}"}},
                    {{"name":"w","serves":"W","entries":{},"ways":{ways},"policy":"{fetch}"}}"#,
                    4 * ways
                )
            } else {
                format!(r#"{{"name":"d","serves":"RW","entries":{ways},"policy":"{data}"{pins}}}"#)
            };
            machine(&format!(
                r#""tlbs":[{{"name":"i","serves":"I","entries":{},"ways":{ways},"policy":"{fetch}"}},{data},
                    {{"name":"l2","serves":"IRW","level":2,"entries":8,"ways":4,"policy":"{fetch}"}}],
                    "asid":true,"global_from":"80000000""#,
                2 * ways
            ))
        };
        let machine = make(fetch, data);
        let watched = Options { conflicts: true, ..Options::default() };
        let mut simulation = Simulation::new(vec![("watched".into(), machine.clone())], watched).unwrap();
        simulation.feed(&events).unwrap();
        let watched = simulation.finish().unwrap().remove(0);
        let together = run_chunks(vec![machine.clone(), make("lfu", "lfu")], &events, 1).remove(0);
        let alone = run(vec![machine.clone()], &events).remove(0);
        for outcome in [&alone, &watched] {
            prop_assert_eq!(&outcome.tlbs, &together.tlbs, "{} {}", fetch, data);
            prop_assert_eq!(outcome.references, together.references);
            prop_assert_eq!(outcome.walks.total(), together.walks.total());
        }
        prop_assert_eq!(&alone.walks, &together.walks);
        let again = Options { conflicts: true, ..Options::default() };
        let mut simulation = Simulation::new(vec![("watched".into(), machine)], again).unwrap();
        events.chunks(1).for_each(|e| simulation.feed(e).unwrap());
        prop_assert_eq!(&watched.walks, &simulation.finish().unwrap().remove(0).walks);
    }

    /// What the first simulator one would write counts.
    #[test]
    fn fifo_and_lru_equal_a_list(events in stream(false), n in 1usize..30) {
        let mut wanted = [0u64; 2];
        for (lru, misses) in [false, true].into_iter().zip(&mut wanted) {
            let mut inside: Vec<u64> = Vec::new();
            let pieces = events.iter().flat_map(|e| {
                let (first, last) = (e.addr >> 12, (e.addr + u64::from(e.size) - 1) >> 12);
                (0..e.references()).flat_map(move |_| first..=last)
            });
            for page in pieces {
                match inside.iter().position(|&p| p == page) {
                    Some(at) if lru => {
                        inside.remove(at);
                    }
                    Some(_) => continue,
                    None => {
                        *misses += 1;
                        if inside.len() == n {
                            inside.remove(0);
                        }
                    }
                }
                inside.push(page);
            }
        }
        for (policy, want) in ["fifo", "lru"].into_iter().zip(wanted) {
            prop_assert_eq!(misses(vec![unified(n as u32, policy)], &events)[0], want, "{}", policy);
        }
    }

    #[test]
    fn one_pass_curve_equals_single_lru_runs(events in stream(true)) {
        let base = unified(1, "lru");
        let mut curve = LruCurve::new(&base, References::All, &Options::default());
        for part in events.chunks(97) {
            curve.feed(part).unwrap();
        }
        let sizes: Vec<u32> = (1..80).collect();
        let single = misses(sizes.iter().map(|&n| unified(n, "lru")).collect(), &events);
        for (&n, want) in sizes.iter().zip(single) {
            prop_assert_eq!(curve.curve().misses(n as usize), want, "{} entries", n);
        }
    }

    #[test]
    fn curves_of_one_side_equal_split_tlbs(events in stream(true), n in 1usize..12) {
        let split = machine(&format!(
            r#""tlbs":[{{"name":"i","serves":"I","entries":{n},"policy":"lru"}},
                {{"name":"d","serves":"RW","entries":{n},"policy":"lru"}}],"asid":true,"global_from":"80000000""#
        ));
        let outcome = run(vec![split.clone()], &events).remove(0);
        for (references, tlb) in [(References::Instruction, 0), (References::Data, 1)] {
            let mut curve = LruCurve::new(&split, references, &Options::default());
            curve.feed(&events).unwrap();
            prop_assert_eq!(curve.curve().misses(n), outcome.tlbs[tlb].misses);
            prop_assert_eq!(curve.curve().lookups(), outcome.tlbs[tlb].lookups);
        }
    }

    #[test]
    fn set_curves_equal_single_runs(events in stream(true)) {
        let base = unified(1, "lru");
        let mut curves = SetCurves::new(&base, &[1, 2, 4, 8], 6, &Options::default());
        curves.feed(&events).unwrap();
        for sets in [1u32, 2, 4, 8] {
            for ways in 1..=6u32 {
                let m = machine(&format!(
                    r#""tlbs":[{{"name":"u","serves":"IRW","entries":{},"ways":{ways},"policy":"lru"}}],
                        "asid":true,"global_from":"80000000""#,
                    sets * ways
                ));
                let want = misses(vec![m], &events)[0];
                prop_assert_eq!(curves.curve(sets).unwrap().misses(ways as usize), want, "{} x {}", sets, ways);
            }
        }
    }

    #[test]
    fn enough_entries_leave_compulsory_misses_only(events in stream(false)) {
        let outcome = run(vec![unified(512, "fifo")], &events).remove(0);
        prop_assert_eq!(outcome.walks.total(), outcome.walks.of_cause(Cause::Compulsory));
        let mut pages: Vec<u64> = events
            .iter()
            .flat_map(|e| [e.addr >> 12, (e.addr + u64::from(e.size) - 1) >> 12])
            .collect();
        pages.sort_unstable();
        pages.dedup();
        prop_assert_eq!(outcome.walks.total(), pages.len() as u64);
    }

    /// To user pages, a TLB with one pinned entry is a TLB with one entry less.
    #[test]
    fn a_pinned_entry_is_a_smaller_tlb(events in stream(true), n in 2u32..20, at in 0usize..6) {
        let policy = ["fifo", "lru", "random", "tree-plru", "bit-plru", "nru"][at];
        let user: Vec<_> = events.into_iter().filter(|e| e.addr < 0x8000_0000).collect();
        let pinned = machine(&format!(
            r#""tlbs":[{{"name":"u","serves":"IRW","entries":{n},"policy":"{policy}",
                "pinned":[{{"base":"80000000","size":16777216}}]}}],"asid":true,"global_from":"80000000""#
        ));
        let got = misses(vec![pinned, unified(n - 1, policy)], &user);
        prop_assert_eq!(got[0], got[1]);
    }

    #[test]
    fn opt_is_never_above_any_policy(events in stream(true), n in 1u32..24) {
        let all = PolicyName::ALL.iter().map(|p| unified(n, p.word())).collect();
        let got = misses(all, &events);
        let opt = got[PolicyName::ALL.iter().position(|&p| p == PolicyName::Opt).unwrap()];
        prop_assert!(got.iter().all(|&m| m >= opt), "{:?}", got);
    }

    /// Each half of a split TLB does what it would do alone with its own references.
    #[test]
    fn split_tlbs_are_independent(events in stream(true), n in 1u32..9, at in 0usize..7) {
        let policy = PolicyName::ALL[at].word();
        let split = machine(&format!(
            r#""tlbs":[{{"name":"i","serves":"I","entries":{n},"policy":"{policy}"}},
                {{"name":"d","serves":"RW","entries":{n},"policy":"{policy}"}}],"asid":true,"global_from":"80000000""#
        ));
        let both = run(vec![split], &events).remove(0);
        for (side, fetch) in [(0, true), (1, false)] {
            let own: Vec<_> = events
                .iter()
                .copied()
                .filter(|e| e.references() == 0 || (e.kind == Kind::Fetch) == fetch)
                .collect();
            let alone = run(vec![unified(n, policy)], &own).remove(0);
            prop_assert_eq!(both.tlbs[side].misses, alone.tlbs[0].misses);
            prop_assert_eq!(both.tlbs[side].lookups, alone.tlbs[0].lookups);
        }
    }

    /// Dropping repeats within one stream that nothing interrupts loses no miss.
    #[test]
    fn thinning_one_stream_is_exact(events in stream(true), n in 1u32..12) {
        let data: Vec<_> = events.into_iter().filter(|e| e.kind != Kind::Fetch).collect();
        let mut thinned = data.clone();
        Thinner::new(4096).thin(&mut thinned);
        for policy in ["fifo", "lru", "random", "tree-plru"] {
            prop_assert_eq!(
                misses(vec![unified(n, policy)], &data),
                misses(vec![unified(n, policy)], &thinned)
            );
        }
    }

    /// Causes add up, and only sets can conflict.
    #[test]
    fn causes_add_up(events in stream(true), ways in 1u32..4) {
        let m = machine(&format!(
            r#""tlbs":[{{"name":"u","serves":"IRW","entries":{},"ways":{ways},"policy":"lru"}}]"#, 4 * ways
        ));
        let options = Options { explain: true, conflicts: true, ..Options::default() };
        let mut simulation = Simulation::new(vec![("a".into(), m), ("b".into(), unified(8, "lru"))], options).unwrap();
        simulation.feed(&events).unwrap();
        for outcome in simulation.finish().unwrap() {
            let sum: u64 = mmu::sim::CAUSES.iter().map(|c| outcome.walks.of_cause(c.0)).sum();
            prop_assert_eq!(sum, outcome.walks.total());
            let explanation = outcome.explanation.unwrap();
            prop_assert_eq!(explanation.pages.iter().map(|p| p.misses).sum::<u64>(), sum);
            prop_assert_eq!(explanation.per_flush.iter().sum::<u64>(), outcome.walks.of_cause(Cause::Flush));
            if outcome.name == "b" {
                prop_assert_eq!(outcome.walks.of_cause(Cause::Conflict), 0);
            }
        }
    }
}
