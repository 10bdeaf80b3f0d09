//! Counts that can be worked out by hand.

use mmu::cost::{Scale, Verdict, break_even, cycles};
use mmu::curve::{LruCurve, References};
use mmu::event::{Event, Kind};
use mmu::generate::Generator;
use mmu::machine::{Machine, Variation};
use mmu::reader::read_all;
use mmu::sim::{Cause, Options, Outcome, Simulation};

fn tlb(entries: u32, policy: &str, more: &str) -> Machine {
    let text = format!(
        r#"{{"tlbs":[{{"name":"u","serves":"IRW","entries":{entries},"policy":"{policy}"{more}}}]}}"#
    );
    Machine::from_json(&text, "test").unwrap()
}

fn pages(numbers: &[u64]) -> Vec<Event> {
    numbers.iter().map(|n| Event::access(Kind::Read, n * 4096, 4)).collect()
}

fn run(machine: Machine, events: &[Event]) -> Outcome {
    let mut s = Simulation::new(vec![("x".into(), machine)], Options::default()).unwrap();
    s.feed(events).unwrap();
    s.finish().unwrap().remove(0)
}

fn misses(machine: Machine, events: &[Event]) -> u64 {
    run(machine, events).walks.total()
}

#[test]
fn belady() {
    let stream = pages(&[1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]);
    assert_eq!(misses(tlb(3, "fifo", ""), &stream), 9);
    assert_eq!(misses(tlb(4, "fifo", ""), &stream), 10);
    assert_eq!(misses(tlb(3, "lru", ""), &stream), 10);
    assert_eq!(misses(tlb(4, "lru", ""), &stream), 8);
    assert_eq!(misses(tlb(3, "opt", ""), &stream), 7);
    assert_eq!(misses(tlb(4, "opt", ""), &stream), 6);
}

#[test]
fn policies_by_hand() {
    // NRU, 3 ways: 1 2 3 fill ways 0 1 2 with all bits set; 4: all cleared, hand at 0 -> way 0.
    // 2 is hit (bit set); 5: hand at 1, way 1 referenced, way 2 clear -> 3 leaves; 1 comes back, 2 still in.
    let stream = pages(&[1, 2, 3, 4, 2, 5, 2, 3]);
    assert_eq!(misses(tlb(3, "nru", ""), &stream), 6);
    // Bit-PLRU, 3 ways: after 1 2 3 only way 2 has its bit; 4 takes way 0; then 1 takes way 1 (bits of 0 and 2
    // are set), which clears the others; 3 in way 2 is hit.
    assert_eq!(misses(tlb(3, "bit-plru", ""), &pages(&[1, 2, 3, 4, 1, 3])), 5);
    // LFU, 2 ways: 1 is used three times, so 2 and then 3 leave.
    assert_eq!(misses(tlb(2, "lfu", ""), &pages(&[1, 1, 1, 2, 3, 1, 2])), 4);
    // Round robin over 2 sets of 2 ways: even and odd pages do not disturb each other.
    let sets = r#","ways":2"#;
    assert_eq!(misses(tlb(4, "fifo", sets), &pages(&[0, 2, 1, 3, 5, 0, 2])), 5);
    // With one pointer for both sets the fills of 1, 3 and 5 move it on to way 1: 4 replaces 2.
    let shared = r#","ways":2,"pointer":"global""#;
    assert_eq!(misses(tlb(4, "fifo", shared), &pages(&[0, 2, 1, 3, 5, 4, 0, 2])), 7);
}

#[test]
fn a_cycle_falls_off_the_cliff_one_entry_too_early() {
    let trace =
        |pages: u32| read_all(&mut Generator::parse(&format!("cycle:pages={pages}")).unwrap()).unwrap();
    for entries in [62, 63, 64u32] {
        for policy in ["fifo", "lru"] {
            assert_eq!(misses(tlb(entries, policy, ""), &trace(entries)), u64::from(entries));
            assert_eq!(misses(tlb(entries, policy, ""), &trace(entries + 1)), u64::from(entries + 1) * 10);
        }
    }
}

#[test]
fn memory_latency_misses_once_per_page_with_62_63_and_64_entries() {
    let stream = read_all(&mut Generator::parse("lmbench:len=8M,stride=128,rounds=3").unwrap()).unwrap();
    for entries in [62, 63, 64] {
        assert_eq!(misses(tlb(entries, "fifo", ""), &stream), 3 * 65536 / 32);
    }
    // One more cycle per miss at 199.5 MHz, spread over 32 loads: the +0.1 ns of the 2002 table.
    let added_ns = 1.0 / 199.5e-3 / 32.0;
    assert!((added_ns - 0.157f64).abs() < 0.001);
}

#[test]
fn large_pages_help_and_pinning_costs_an_entry() {
    // 59 user pages and 6 kernel pages in turn.
    let user = (0..59u64).map(|i| Event::access(Kind::Read, 0x1000_0000 + i * 4096, 4));
    let kernel = (0..6u64).map(|i| Event::access(Kind::Fetch, 0xc000_0000 + i * 4096, 4));
    let round: Vec<_> = user.chain(kernel).collect();
    let stream: Vec<_> = std::iter::repeat_n(round, 5).flatten().collect();
    let mut m = Machine::load("ppc405gp").unwrap();
    m.tlbs.retain(|t| t.name == "utlb");
    let run_preset = |m: &Machine, preset: &str| run(m.with_preset(preset).unwrap(), &stream);
    assert_eq!(run_preset(&m, "4k").walks.total(), 65 * 5);
    assert_eq!(run_preset(&m, "large-on-demand").walks.total(), 60);
    assert_eq!(run_preset(&m, "pin=1").walks.total(), 59);
    let bat = run_preset(&m, "bat");
    assert_eq!((bat.walks.total(), bat.outside), (59, 30));
    let small = Variation::cross(&m, &[Variation::parse("entries=60").unwrap()]).unwrap().remove(0).1;
    assert_eq!(run_preset(&small, "pin=1").walks.total(), 59);
    assert_eq!(run_preset(&small, "pin=2").walks.total(), 59 * 5);

    let gain = break_even(&run_preset(&m, "4k"), &run_preset(&m, "pin=1")).unwrap();
    assert_eq!(gain.verdict, Verdict::Wins);
    assert_eq!((gain.kernel_removed, gain.user_added), (30, 59 - 59 * 5));
    let loss = break_even(&run_preset(&small, "large-on-demand"), &run_preset(&small, "pin=2")).unwrap();
    assert_eq!(loss.verdict, Verdict::Loses);
}

#[test]
fn costs_follow_the_machine_file() {
    let mut m = Machine::load("ppc405gp").unwrap();
    // Shadow arrays of one entry: page 1 is found in the second level when it comes again.
    for shadow in m.tlbs.iter_mut().filter(|t| t.level == 1) {
        shadow.entries = 1;
    }
    let stream = pages(&[1, 2, 3, 0xc0000, 1]);
    let outcome = run(m.clone(), &stream);
    let got = cycles(&outcome, Scale::default(), false).unwrap();
    assert_eq!(got.walks, 3.0 * 96.0 + 102.0);
    assert_eq!(got.later_hits, 3.0);
    assert_eq!(got.share, None);
    // Without a level before it a hit of the second is no later hit: what it costs beyond a first-level hit is not known.
    let mut alone = m.clone();
    alone.tlbs.retain(|t| t.name == "utlb");
    assert_eq!(cycles(&run(alone, &stream), Scale::default(), false).unwrap().later_hits, 0.0);
    m.handler = None;
    assert!(cycles(&run(m, &stream), Scale::default(), false).unwrap_err().contains("[handler]"));
}

#[test]
fn synchronisation_empties_marked_arrays_only() {
    let text = r#"{"tlbs":[{"name":"shadow","serves":"IRW","entries":4,"policy":"fifo","sync_flush":true},
        {"name":"utlb","serves":"IRW","level":2,"entries":64,"policy":"fifo"}]}"#;
    let mut stream = pages(&[1, 2]);
    stream.push(Event::control(Kind::Sync, 0));
    stream.extend(pages(&[1, 2]));
    let outcome = run(Machine::from_json(text, "test").unwrap(), &stream);
    assert_eq!((outcome.tlbs[0].misses, outcome.tlbs[1].misses, outcome.synchronisations), (4, 2, 1));
}

#[test]
fn untagged_machines_flush_on_switch() {
    let text = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":8,"policy":"lru"}],"flush_on_switch":true,
        "global_from":"c0000000"}"#;
    let mut stream = pages(&[1, 0xc0000]);
    stream.push(Event::control(Kind::AddressSpace, 1));
    stream.push(Event::control(Kind::AddressSpace, 0));
    stream.extend(pages(&[1, 0xc0000]));
    let outcome = run(Machine::from_json(text, "test").unwrap(), &stream);
    assert_eq!((outcome.walks.total(), outcome.walks.of_cause(Cause::Flush)), (3, 1));
}

#[test]
fn reserved_entries_are_lost_to_all() {
    let reserved = tlb(32, "fifo", r#","reserved":4"#);
    let stream = read_all(&mut Generator::parse("cycle:pages=29").unwrap()).unwrap();
    assert_eq!(misses(reserved, &stream), 290);
    assert_eq!(misses(tlb(32, "fifo", ""), &stream), 29);
}

/// What one TLB will be asked for is no business of another one beside it.
#[test]
fn opt_looks_into_the_future_of_its_own_tlb() {
    let split = r#"{"tlbs":[{"name":"i","serves":"I","entries":2,"policy":"lru"},
        {"name":"d","serves":"RW","entries":2,"policy":"opt"}]}"#;
    let record = |kind, page: u64| Event::access(kind, page << 12, 1);
    let stream = [
        record(Kind::Read, 1),
        record(Kind::Fetch, 1),
        record(Kind::Read, 2),
        record(Kind::Read, 3),
        record(Kind::Read, 2),
    ];
    assert_eq!(run(Machine::from_json(split, "test").unwrap(), &stream).tlbs[1].misses, 3);
    let apart = r#"{"tlbs":[{"name":"l","serves":"IR","entries":1,"policy":"opt"},
        {"name":"s","serves":"W","entries":1,"policy":"opt"}]}"#;
    let stream = [(Kind::Read, 1), (Kind::Read, 2), (Kind::Read, 1), (Kind::Write, 9), (Kind::Write, 10)];
    let outcome =
        run(Machine::from_json(apart, "test").unwrap(), &stream.map(|(kind, page)| record(kind, page)));
    let of = |i: usize| (outcome.tlbs[i].lookups, outcome.tlbs[i].misses);
    assert_eq!((of(0), of(1)), ((3, 3), (2, 2)));
}

/// Every touch counts with `lfu`, also beside a TLB whose future is kept.
#[test]
fn lfu_counts_touches_beside_opt() {
    let of = |policy: &str| {
        let text = format!(
            r#"{{"tlbs":[{{"name":"i","serves":"I","entries":4,"policy":"{policy}"}},
            {{"name":"d","serves":"RW","entries":2,"policy":"lfu"}}]}}"#
        );
        let stream = pages(&[1, 1, 1, 2, 3, 1, 3, 3, 3, 3, 2, 1]);
        run(Machine::from_json(&text, "test").unwrap(), &stream).tlbs[1].misses
    };
    assert_eq!(of("opt"), of("lru"));
}

#[test]
fn opt_has_a_limit() {
    let stream = read_all(&mut Generator::parse("random:pages=1000,refs=5000").unwrap()).unwrap();
    let options = Options { opt_limit: 100, ..Options::default() };
    let mut s = Simulation::new(vec![("x".into(), tlb(8, "opt", ""))], options).unwrap();
    assert!(s.feed(&stream).unwrap_err().to_string().contains("longer than 100 lookups"));
    let options = Options { page_limit: 100, ..Options::default() };
    let mut s = Simulation::new(vec![("x".into(), tlb(8, "lru", ""))], options).unwrap();
    assert!(s.feed(&stream).unwrap_err().to_string().contains("more than 100 different pages"));
}

/// Long enough for the curve's time line to be renumbered many times, with invalidations in between.
#[test]
fn the_curve_survives_renumbering() {
    let mut stream = read_all(&mut Generator::parse("zipf:pages=3000,refs=60000,s=0.6").unwrap()).unwrap();
    for at in (100..60_000).step_by(37) {
        stream.insert(at, Event::control(Kind::FlushPage, stream[at - 1].addr));
    }
    let machine = tlb(1, "lru", "");
    let mut curve = LruCurve::new(&machine, References::All, &Options::default());
    curve.feed(&stream).unwrap();
    let sizes = [1, 2, 15, 16, 17, 64, 100, 1000, 2500, 2999, 3000];
    let configurations = sizes.map(|n| (n.to_string(), tlb(n, "lru", "")));
    let mut simulation = Simulation::new(configurations.to_vec(), Options::default()).unwrap();
    simulation.feed(&stream).unwrap();
    for (n, outcome) in sizes.iter().zip(simulation.finish().unwrap()) {
        assert_eq!(curve.curve().misses(*n as usize), outcome.walks.total(), "{n} entries");
    }
    let all = curve.curve().all();
    assert_eq!((all[0], all[63]), (curve.curve().misses(1), curve.curve().misses(64)));
}
