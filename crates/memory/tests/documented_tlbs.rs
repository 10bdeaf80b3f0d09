//! The analysis finds the documented entries of known processors from simulated, noisy measurements.

mod simulated;

use std::collections::HashMap;

use memory::analyse::{Level, levels};
use memory::curve::Curve;
use memory::survey::Survey;
use simulated::{Machine, Policy, Shape, Simulated};

/// Repetitions of each row.
const REPETITIONS: u64 = 200;
/// At least this share of them must be right.
const RIGHT: f64 = 0.95;

const INTEL: [f64; 4] = [5.0, 7.0, 22.0, 10.0];
const AMD: [f64; 4] = [4.0, 7.0, 15.0, 14.0];

const fn row(name: &'static str, first: Shape, second: Shape, cycles: [f64; 4], alias: f64) -> Machine {
    Machine { name, first, second, cycles, alias }
}

/// Every core of the table of documented TLBs (processor manuals, CPUID dumps) that has both levels. Where the policy
/// is not documented, the rows differ so that all of them occur.
const MACHINES: &[Machine] = &[
    row("Sandy Bridge", Shape::new(16, 4), Shape::new(128, 4), INTEL, 0.0),
    row("Haswell", Shape::new(16, 4), Shape::new(128, 8).policy(Policy::TreePlru), INTEL, 0.0),
    row("Broadwell", Shape::new(16, 4), Shape::new(256, 6), INTEL, 0.0),
    row("Skylake", Shape::new(16, 4), Shape::new(128, 12).xor(), INTEL, 0.0),
    row("Ice Lake", Shape::new(16, 4), Shape::new(128, 8).xor().halves(), INTEL, 0.0),
    row(
        "Tiger Lake",
        Shape::new(16, 4).policy(Policy::TreePlru),
        Shape::new(128, 8).xor().halves(),
        INTEL,
        0.0,
    ),
    row("Alder Lake P", Shape::new(16, 6), Shape::new(128, 8).halves(), INTEL, 0.0),
    row("Granite Rapids", Shape::new(16, 6), Shape::new(128, 16).xor(), INTEL, 0.0),
    row("Lunar Lake", Shape::new(16, 8).policy(Policy::TreePlru), Shape::new(128, 16), INTEL, 0.0),
    row("Panther Lake", Shape::new(16, 8), Shape::new(256, 12), INTEL, 0.0),
    row("Gracemont", Shape::new(1, 48), Shape::new(512, 4), INTEL, 0.0),
    row("Goldmont", Shape::new(1, 32), Shape::new(128, 4), INTEL, 0.0),
    row("Knights Landing", Shape::new(8, 8), Shape::new(32, 8), INTEL, 0.0),
    row("K8", Shape::new(1, 32), Shape::new(128, 4).policy(Policy::TreePlru), AMD, 0.0),
    row("Zen", Shape::new(1, 64), Shape::new(128, 12), AMD, 16.0),
    row("Zen 2", Shape::new(1, 64).policy(Policy::TreePlru), Shape::new(256, 8), AMD, 16.0),
    row("Zen 3", Shape::new(1, 64), Shape::new(256, 8).policy(Policy::RoundRobin), AMD, 16.0),
    row("Zen 4", Shape::new(1, 72), Shape::new(256, 12), AMD, 16.0),
    row("Zen 5", Shape::new(1, 96), Shape::new(256, 16), AMD, 16.0),
    row("Cortex-A76", Shape::new(1, 48), Shape::new(256, 5).policy(Policy::Random), INTEL, 0.0),
    row(
        "round robin",
        Shape::new(16, 4).policy(Policy::RoundRobin),
        Shape::new(128, 12).policy(Policy::RoundRobin),
        INTEL,
        0.0,
    ),
    row(
        "random victims",
        Shape::new(16, 6).policy(Policy::Random),
        Shape::new(128, 16).policy(Policy::Random),
        INTEL,
        0.0,
    ),
];

fn noise() -> Vec<Vec<f64>> {
    serde_json::from_str(include_str!("data/noise.json")).unwrap()
}

fn survey(machine: Machine, noise: &[Vec<f64>], means: &mut Means, factor: f64, seed: u64) -> Vec<Level> {
    let mut probe = Simulated::new(machine, noise, means, seed);
    probe.noise_factor = factor;
    let mut survey = Survey::new(&mut probe, 4096, 384, seed);
    survey.loads(16_384);
    levels(&Curve::loads(&survey.recording, 1), 2)
}

type Means = HashMap<(memory::recording::Request, u32), f64>;

fn first_is_right(machine: &Machine, level: &Level) -> bool {
    let entries = machine.first.entries() as i64;
    // Exact, or within one page per set: a group of one way.
    level.entries.is_some_and(|found| (i64::from(found) - entries).abs() <= machine.first.sets as i64)
}

fn second_is_right(machine: &Machine, level: Option<&Level>) -> bool {
    let entries = machine.second.entries() as f64;
    level.and_then(|l| l.entries).is_some_and(|found| (f64::from(found) / entries - 1.0).abs() <= 0.05)
}

fn check(machines: &[Machine]) {
    let noise = noise();
    let mut wrong = Vec::new();
    for machine in machines {
        let mut means = Means::new();
        let (mut first, mut exact, mut second) = (0, 0, 0);
        let mut missed = Vec::new();
        for seed in 0..REPETITIONS {
            let found = survey(*machine, &noise, &mut means, 1.0, seed);
            first += u64::from(first_is_right(machine, &found[0]));
            exact += u64::from(found[0].entries == Some(machine.first.entries() as u32));
            second += u64::from(second_is_right(machine, found.get(1)));
            if !first_is_right(machine, &found[0]) || !second_is_right(machine, found.get(1)) {
                missed.push(found.iter().map(|l| (l.entries, l.reason.clone())).collect::<Vec<_>>());
            }
        }
        println!(
            "{:16} L1 {:4}: {first} of {REPETITIONS} right, {exact} exact   L2 {:5}: {second} right   {:?}",
            machine.name,
            machine.first.entries(),
            machine.second.entries(),
            missed.first(),
        );
        let needed = |share: f64| (share * REPETITIONS as f64).ceil() as u64;
        if first < needed(RIGHT) || second < needed(RIGHT) {
            wrong.push(machine.name);
        }
    }
    assert!(wrong.is_empty(), "not recovered: {wrong:?}");
}

#[test]
fn intel_before_2021() {
    check(&MACHINES[..6]);
}

#[test]
fn intel_since_2021() {
    check(&MACHINES[6..13]);
}

#[test]
fn amd_and_arm_and_other_policies() {
    check(&MACHINES[13..]);
}

/// With fifty times the noise nothing may be stated that is wrong.
#[test]
fn too_much_noise_is_not_resolved_rather_than_wrong() {
    let noise = noise();
    for machine in [MACHINES[3], MACHINES[7], MACHINES[16]] {
        let mut means = Means::new();
        let (mut unresolved, mut wrong) = (0, 0);
        for seed in 0..REPETITIONS {
            let found = survey(machine, &noise, &mut means, 50.0, seed);
            for (at, level) in found.iter().enumerate() {
                match level.entries {
                    None => unresolved += 1,
                    Some(_) if at == 0 => wrong += u64::from(!first_is_right(&machine, level)),
                    Some(_) => wrong += u64::from(!second_is_right(&machine, Some(level))),
                }
            }
        }
        println!("{:16} {unresolved} not resolved, {wrong} wrong", machine.name);
        assert!(
            unresolved > REPETITIONS / 2,
            "{}: the noise was not large enough to test anything",
            machine.name
        );
        assert!(wrong <= REPETITIONS / 20, "{}: {wrong} wrong levels stated", machine.name);
    }
}

/// A neighbour on the core that is there seven tenths of the time, in stretches: the quiet rounds show the tables.
#[test]
fn a_neighbour_that_comes_and_goes_is_seen_through() {
    let noise = noise();
    for machine in [MACHINES[3], MACHINES[7], MACHINES[16]] {
        let mut means = Means::new();
        let (mut first, mut second) = (0, 0);
        for seed in 0..NEIGHBOURS {
            let found = beside(machine, &noise, &mut means, 0.7, seed);
            first += u64::from(first_is_right(&machine, &found[0]));
            second += u64::from(second_is_right(&machine, found.get(1)));
            if !first_is_right(&machine, &found[0]) || !second_is_right(&machine, found.get(1)) {
                println!("{:16} {found:?}", machine.name);
            }
        }
        println!("{:16} {first} and {second} of {NEIGHBOURS} right beside a neighbour", machine.name);
        assert!(first.min(second) * 10 >= NEIGHBOURS * 9, "{}: {first}, {second}", machine.name);
    }
}

/// Repetitions beside a neighbour: one that stays throughout the first seconds can't be told from a smaller table.
const NEIGHBOURS: u64 = 30;

/// Levels found beside a neighbour.
fn beside(machine: Machine, noise: &[Vec<f64>], means: &mut Means, share: f64, seed: u64) -> Vec<Level> {
    let mut probe = Simulated::new(machine, noise, means, seed);
    probe.neighbour = share;
    let mut survey = Survey::new(&mut probe, 4096, 384, seed);
    survey.loads(16_384);
    while survey.again() {}
    levels(&Curve::loads(&survey.recording, 1), 2)
}
