//! Speed of the simulator beside simple ones, all in one run so that ratios mean something on any machine.
//!
//! The stream is a trace of a real program when `MMU_BENCH_TRACE` names one, else a made-up one with the locality of
//! real programs: runs of a few references to one instruction and one data page.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmu::curve::{LruCurve, References};
use mmu::event::{Event, Kind};
use mmu::machine::Machine;
use mmu::policy::SplitMix64;
use mmu::reader::{Format, from_read, read_all};
use mmu::sim::{Options, Simulation};

fn machine(entries: u32, policy: &str) -> Machine {
    let text =
        format!(r#"{{"tlbs":[{{"name":"u","serves":"IRW","entries":{entries},"policy":"{policy}"}}]}}"#);
    Machine::from_json(&text, "bench").unwrap()
}

/// Six references per pair of pages on average; 400 pages, Zipf-like popularity.
fn stream() -> Vec<Event> {
    if let Ok(path) = std::env::var("MMU_BENCH_TRACE") {
        let mut events = read_all(mmu::reader::open(&path, None).unwrap().as_mut()).unwrap();
        events.truncate(4_000_000);
        return events;
    }
    let mut random = SplitMix64::new(7);
    let mut events = Vec::new();
    let page = |random: &mut SplitMix64, most: u64| {
        most * random.below(1 << 20) / (1 << 20) * random.below(1 << 20) / (1 << 20)
    };
    let (mut code, mut data) = (0, 0);
    while events.len() < 2_000_000 {
        if random.below(3) == 0 {
            code = page(&mut random, 100);
        } else {
            data = page(&mut random, 300);
        }
        for i in 0..random.below(9) + 2 {
            events.push(Event::access(Kind::Fetch, 0x40_0000 + code * 4096 + 4 * i, 4));
            if random.below(2) == 0 {
                events.push(Event::access(Kind::Read, 0x1000_0000 + data * 4096 + 64 * i, 8));
            }
        }
    }
    events
}

fn simulate(machines: &[Machine], events: &[Event]) -> u64 {
    let named = machines.iter().map(|m| (String::new(), m.clone())).collect();
    let mut simulation = Simulation::new(named, Options::default()).unwrap();
    for chunk in events.chunks(1 << 14) {
        simulation.feed(chunk).unwrap();
    }
    simulation.finish().unwrap().iter().map(|o| o.walks.total()).sum()
}

/// What one writes first: a hash map from page to slot and a round-robin pointer.
fn plain_fifo(entries: usize, events: &[Event]) -> u64 {
    let mut slots: Vec<Option<u64>> = vec![None; entries];
    let mut place: HashMap<u64, usize> = HashMap::new();
    let (mut next, mut misses) = (0, 0);
    for event in events {
        let page = event.addr >> 12;
        if !place.contains_key(&page) {
            misses += 1;
            if let Some(old) = slots[next].replace(page) {
                place.remove(&old);
            }
            place.insert(page, next);
            next = (next + 1) % entries;
        }
    }
    misses
}

/// The same for LRU: a hash map from page to the time of its last use, searched for the oldest on a miss.
fn plain_lru(entries: usize, events: &[Event]) -> u64 {
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut misses = 0;
    for (time, event) in events.iter().enumerate() {
        let page = event.addr >> 12;
        if let Some(last) = used.get_mut(&page) {
            *last = time as u64;
            continue;
        }
        misses += 1;
        if used.len() == entries
            && let Some((&oldest, _)) = used.iter().min_by_key(|(_, t)| **t)
        {
            used.remove(&oldest);
        }
        used.insert(page, time as u64);
    }
    misses
}

fn simulators(c: &mut Criterion) {
    let events = stream();
    assert_eq!(plain_fifo(64, &events), simulate(&[machine(64, "fifo")], &events));
    assert_eq!(plain_lru(64, &events), simulate(&[machine(64, "lru")], &events));
    let mut group = c.benchmark_group("references");
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("plain hash map, fifo 64", |b| b.iter(|| plain_fifo(64, black_box(&events))));
    group.bench_function("plain hash map, lru 64", |b| b.iter(|| plain_lru(64, black_box(&events))));
    for policy in ["fifo", "lru", "random", "tree-plru"] {
        let one = [machine(64, policy)];
        group.bench_function(format!("one configuration, {policy} 64"), |b| {
            b.iter(|| simulate(&one, black_box(&events)));
        });
    }
    let twenty: Vec<_> = (1..=10).flat_map(|i| [machine(i * 16, "fifo"), machine(i * 16, "lru")]).collect();
    group.bench_function("20 configurations together", |b| b.iter(|| simulate(&twenty, black_box(&events))));
    group.bench_function("lru curve, all sizes", |b| {
        b.iter(|| {
            let mut curve = LruCurve::new(&twenty[0], References::All, &Options::default());
            for chunk in events.chunks(1 << 14) {
                curve.feed(chunk).unwrap();
            }
            curve.curve().misses(64)
        });
    });
    group.finish();
}

fn readers(c: &mut Criterion) {
    let mut text = Vec::new();
    let events: Vec<_> = stream().into_iter().take(1_000_000).collect();
    for event in &events {
        let letter = if event.kind == Kind::Fetch { "I " } else { " L" };
        text.extend_from_slice(format!("{letter} {:08x},{}\n", event.addr, event.size).as_bytes());
    }
    let mut group = c.benchmark_group("lackey lines");
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("counted with memchr", |b| {
        b.iter(|| memchr::memchr_iter(b'\n', black_box(&text)).count())
    });
    group.bench_function("parsed", |b| {
        b.iter_batched(
            || Box::new(std::io::Cursor::new(text.clone())),
            |source| {
                let mut reader = from_read(source, "bench", Some(Format::Lackey)).unwrap();
                let mut chunk = Vec::new();
                let mut n = 0;
                while reader.read(&mut chunk).unwrap() {
                    n += chunk.len();
                }
                n + chunk.len()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3));
    targets = simulators, readers
}
criterion_main!(benches);
