//! Speed of the simulator beside simple ones and beside cachegrind, all in one run so that ratios mean something on any
//! machine.
//!
//! Times are CPU time, so that they mean something on a busy machine too.
//!
//! The stream is what `sort` does under lackey, the same program that cachegrind is timed with; a trace that
//! `MMU_BENCH_TRACE` names; or, without either, a made-up one with the locality of real programs.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmu::curve::{LruCurve, References};
use mmu::event::{Event, Kind};
use mmu::machine::Machine;
use mmu::policy::SplitMix64;
use mmu::reader::{Format, TraceReader, from_read};
use mmu::sim::{Options, Simulation};

/// CPU time of this thread.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }
    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        static WALL: WallTime = WallTime;
        WALL.formatter()
    }
}

/// CPU time of the children waited for; the kernel counts it in hundredths of a second.
fn children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    // Fields 16 and 17 of proc(5), the first after the name being field 3.
    let ticks: u64 = fields.skip(13).take(2).map(|f| f.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// Records of the stream that are simulated.
const MOST: usize = 4_000_000;

fn machine(entries: u32, policy: &str) -> Machine {
    let text =
        format!(r#"{{"tlbs":[{{"name":"u","serves":"IRW","entries":{entries},"policy":"{policy}"}}]}}"#);
    Machine::from_json(&text, "bench").unwrap()
}

/// Records of a trace, at most [`MOST`].
fn read(reader: &mut dyn TraceReader) -> Vec<Event> {
    let (mut events, mut chunk) = (Vec::new(), Vec::new());
    while events.len() < MOST && reader.read(&mut chunk).unwrap() {
        events.extend_from_slice(&chunk);
    }
    events
}

/// The command that lackey traces and cachegrind is timed with: `sort` of 8000 lines, 30 M references.
fn sort(tool: &[&str], folder: &Path) -> Command {
    let numbers = folder.join("numbers");
    let lines: String = (1..=8000).map(|x| format!("{} {x}\n", x * 7919 % 60013)).collect();
    std::fs::write(&numbers, lines).unwrap();
    let mut command = Command::new("valgrind");
    command.args(tool).arg("sort").arg(numbers).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The stream, made once.
fn stream() -> &'static [Event] {
    static STREAM: OnceLock<Vec<Event>> = OnceLock::new();
    STREAM.get_or_init(trace)
}

fn trace() -> Vec<Event> {
    if let Ok(path) = std::env::var("MMU_BENCH_TRACE") {
        return read(mmu::reader::open(&path, None).unwrap().as_mut());
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("lackey");
    let option = format!("--log-file={}", log.display());
    let status = sort(&["-q", "--tool=lackey", "--trace-mem=yes", &option], folder.path()).status();
    if status.is_ok_and(|s| s.success()) {
        return read(
            from_read(Box::new(File::open(log).unwrap()), "sort", Some(Format::Lackey)).unwrap().as_mut(),
        );
    }
    eprintln!("no valgrind: a made-up stream, and no cachegrind");
    made_up()
}

/// Six references per pair of pages on average; 400 pages, Zipf-like popularity.
fn made_up() -> Vec<Event> {
    let mut random = SplitMix64::new(7);
    let mut events = Vec::new();
    let page = |random: &mut SplitMix64, most: u64| {
        most * random.below(1 << 20) / (1 << 20) * random.below(1 << 20) / (1 << 20)
    };
    let (mut code, mut data) = (0, 0);
    while events.len() < MOST / 2 {
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
    simulate_with(Options::default(), machines, events)
}

fn simulate_with(options: Options, machines: &[Machine], events: &[Event]) -> u64 {
    let named = machines.iter().map(|m| (String::new(), m.clone())).collect();
    let mut simulation = Simulation::new(named, options).unwrap();
    for chunk in events.chunks(1 << 14) {
        simulation.feed(chunk).unwrap();
    }
    simulation.finish().unwrap().iter().map(|o| o.walks.total()).sum()
}

/// Pages that a record looks up.
fn pages(event: &Event) -> impl Iterator<Item = u64> {
    let (first, last) = (event.addr >> 12, (event.addr + u64::from(event.size) - 1) >> 12);
    (0..event.references()).flat_map(move |_| first..=last)
}

/// What one writes first, with the collections and the hasher (SipHash) of the standard library: the pages inside, and
/// the order in which they came.
fn plain_fifo(entries: usize, events: &[Event]) -> u64 {
    let (mut inside, mut order) = (HashSet::new(), VecDeque::new());
    let mut misses = 0;
    for page in events.iter().flat_map(pages) {
        if inside.contains(&page) {
            continue;
        }
        misses += 1;
        if order.len() == entries
            && let Some(oldest) = order.pop_front()
        {
            inside.remove(&oldest);
        }
        inside.insert(page);
        order.push_back(page);
    }
    misses
}

/// The same for LRU: a hash map from page to the time of its last use, searched for the oldest on a miss.
fn plain_lru(entries: usize, events: &[Event]) -> u64 {
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut misses = 0;
    for (time, page) in events.iter().flat_map(pages).enumerate() {
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

const SETS: &str = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":64,"ways":4,"policy":"lru"}]}"#;
const SPLIT_LRU: &str = r#"{"tlbs":[{"name":"i","serves":"I","entries":64,"ways":4,"policy":"lru"},
    {"name":"d","serves":"RW","entries":64,"ways":4,"policy":"lru"},
    {"name":"l2","serves":"IRW","level":2,"entries":1024,"ways":8,"policy":"tree-plru"}]}"#;
const SPLIT: &str = r#"{"tlbs":[{"name":"i","serves":"I","entries":64,"ways":8,"policy":"tree-plru"},
    {"name":"d","serves":"RW","entries":64,"policy":"lru"},
    {"name":"l2","serves":"IRW","level":2,"entries":1024,"ways":8,"policy":"tree-plru"}]}"#;

fn simulators(c: &mut Criterion<CpuTime>) {
    let events = stream();
    assert_eq!(plain_fifo(64, events), simulate(&[machine(64, "fifo")], events));
    assert_eq!(plain_lru(64, events), simulate(&[machine(64, "lru")], events));
    let mut group = c.benchmark_group("references");
    group.throughput(Throughput::Elements(events.iter().map(Event::references).sum()));
    group.bench_function("plain hash map, fifo 64", |b| b.iter(|| plain_fifo(64, black_box(events))));
    group.bench_function("plain hash map, lru 64", |b| b.iter(|| plain_lru(64, black_box(events))));
    for policy in ["fifo", "lru", "random", "tree-plru", "nru", "bit-plru"] {
        let one = [machine(64, policy)];
        group.bench_function(format!("one configuration, {policy} 64"), |b| {
            b.iter(|| simulate(&one, black_box(events)));
        });
    }
    // As `tlbench sim` does it, which looks for conflicts, with a first level of real machines and a second one.
    for (name, tlbs) in [
        ("lru 64, 4 ways", SETS),
        ("split lru 64, 4 ways, and tree-plru 1024", SPLIT_LRU),
        ("split tree-plru 64, 8 ways, and lru 64", SPLIT),
    ] {
        let one = [Machine::from_json(tlbs, "bench").unwrap()];
        group.bench_function(format!("conflicts, {name}"), |b| {
            let options = Options { conflicts: true, ..Options::default() };
            b.iter(|| simulate_with(options.clone(), &one, black_box(events)));
        });
    }
    let twenty: Vec<_> = (1..=10).flat_map(|i| [machine(i * 16, "fifo"), machine(i * 16, "lru")]).collect();
    group.bench_function("20 configurations together", |b| b.iter(|| simulate(&twenty, black_box(events))));
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

fn readers(c: &mut Criterion<CpuTime>) {
    let mut text = Vec::new();
    let events: Vec<_> = stream().iter().copied().filter(|e| e.references() > 0).take(2_000_000).collect();
    for event in &events {
        let head = ["I ", " L", " S", " M"][event.kind as usize];
        text.extend_from_slice(format!("{head} {:08x},{}\n", event.addr, event.size).as_bytes());
    }
    let text: &'static [u8] = Vec::leak(text);
    let mut group = c.benchmark_group("lackey lines");
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("counted with memchr_iter().count()", |b| {
        b.iter(|| memchr::memchr_iter(b'\n', black_box(text)).count())
    });
    group.bench_function("found with memchr, one after the other", |b| {
        b.iter(|| {
            let (mut rest, mut lines) = (black_box(text), 0);
            while let Some(end) = memchr::memchr(b'\n', rest) {
                rest = &rest[end + 1..];
                lines += 1;
            }
            lines
        });
    });
    group.bench_function("parsed", |b| {
        b.iter(|| {
            let mut reader = from_read(Box::new(black_box(text)), "bench", Some(Format::Lackey)).unwrap();
            let mut chunk = Vec::new();
            let mut n = 0;
            while reader.read(&mut chunk).unwrap() {
                n += chunk.len();
            }
            n + chunk.len()
        });
    });
    group.finish();
}

/// The references that cachegrind's summary counts: instructions and data.
fn references(summary: &str) -> u64 {
    let count = |what: &str| {
        let line = summary.lines().find(|l| l.contains(what) && l.contains("refs:"))?;
        let number = line.split_once("refs:")?.1.split('(').next()?.trim().replace(',', "");
        number.parse::<u64>().ok()
    };
    count(" I ").zip(count(" D ")).map_or(0, |(i, d)| i + d)
}

/// cachegrind itself, from start to end, per reference it says it simulated.
fn cachegrind(c: &mut Criterion<CpuTime>) {
    let folder = tempfile::tempdir().unwrap();
    let tool = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
    let Ok(output) = sort(&tool, folder.path()).output() else { return };
    let references = references(&String::from_utf8_lossy(&output.stderr));
    assert!(references > 1_000_000, "cachegrind's summary is not understood");
    let mut group = c.benchmark_group("references");
    group.throughput(Throughput::Elements(references));
    group.bench_function("cachegrind", |b| {
        b.iter_custom(|n| {
            let before = children();
            for _ in 0..n {
                assert!(sort(&tool, folder.path()).stderr(Stdio::null()).status().unwrap().success());
            }
            children() - before
        });
    });
    group.finish();
}

/// Rounds of [`ratios`].
const ROUNDS: usize = 9;

/// How many times the rate of others ours is, each measured right after the other, as neighbours on a shared machine come
/// and go between the groups above: the median over rounds, and the smallest and the largest.
fn ratios(_: &mut Criterion<CpuTime>) {
    let events = stream();
    let count = events.iter().map(Event::references).sum::<u64>() as f64;
    let rate = |job: &dyn Fn() -> u64| {
        let start = CpuTime.start();
        black_box(job());
        count / CpuTime.end(start).as_secs_f64()
    };
    let folder = tempfile::tempdir().unwrap();
    let tool = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
    let cachegrind = || {
        let before = children();
        let output = sort(&tool, folder.path()).output().ok()?;
        let spent = (children() - before).as_secs_f64();
        Some(references(&String::from_utf8_lossy(&output.stderr)) as f64 / spent)
    };
    let ours = ["fifo", "lru"].map(|policy| [machine(64, policy)]);
    let mut rounds: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let peers = [rate(&|| plain_fifo(64, events)), rate(&|| plain_lru(64, events))];
        let [fifo, lru] = ours.each_ref().map(|one| rate(&|| simulate(one, events)));
        rounds[0].push(fifo / peers[0]);
        rounds[1].push(lru / peers[1]);
        if let Some(peer) = cachegrind() {
            rounds[2].push(fifo / peer);
            rounds[3].push(lru / peer);
        }
    }
    let names = ["fifo to plain", "lru to plain", "fifo to cachegrind", "lru to cachegrind"];
    for (name, mut all) in names.into_iter().zip(rounds) {
        all.sort_by(f64::total_cmp);
        if let (Some(least), Some(median), Some(most)) = (all.first(), all.get(all.len() / 2), all.last()) {
            println!("ratio, {name}: {median:.1} ({least:.1} to {most:.1})");
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime).sample_size(10).measurement_time(Duration::from_secs(3));
    targets = simulators, cachegrind, readers, ratios
}
criterion_main!(benches);
