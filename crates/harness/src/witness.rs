//! What the kernel saw while a sample ran.

use std::fs::File;
use std::os::unix::fs::FileExt;

use environment::Root;
use serde_json::{Map, Value, json};

use crate::affinity::current_cpu;

/// Counts of the calling thread at one moment; differences belong to a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Witness {
    /// Times the thread gave up its CPU by itself.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Nanoseconds spent runnable but waiting for a CPU; 0 where the kernel keeps no schedstat.
    pub run_delay_ns: u64,
    /// CPU at the moment of reading.
    pub cpu: i32,
}

impl Witness {
    /// Changes since `earlier`, with `cpu` kept from this reading.
    pub fn since(&self, earlier: &Witness) -> Witness {
        Witness {
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            run_delay_ns: self.run_delay_ns.saturating_sub(earlier.run_delay_ns),
            cpu: self.cpu,
        }
    }
}

/// Reads [`Witness`]es of the calling thread; keeps `/proc/thread-self/schedstat` open so that a reading is cheap.
pub struct WitnessReader {
    schedstat: Option<File>,
}

impl WitnessReader {
    /// Opens what can be opened.
    pub fn open() -> Self {
        WitnessReader { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// The thread's counts now.
    pub fn read(&self) -> Witness {
        // SAFETY: an all-zero rusage is valid, and the call fills it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        Witness {
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            run_delay_ns: self.run_delay_ns().unwrap_or(0),
            cpu: current_cpu(),
        }
    }

    fn run_delay_ns(&self) -> Option<u64> {
        let mut text = [0u8; 96];
        let n = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..n]).ok()?.split(' ').nth(1)?.parse().ok()
    }
}

/// Sums over the samples of one metric in one invocation.
#[derive(Clone, Debug, Default)]
pub struct WitnessSum {
    total: Witness,
    migrations: u64,
    disturbed_samples: u64,
}

impl WitnessSum {
    /// Adds one sample; `cpu_before` is where it began. Returns whether an involuntary switch or a migration hit it.
    pub fn add(&mut self, sample: &Witness, cpu_before: i32) -> bool {
        let migrated = sample.cpu != cpu_before;
        self.total.voluntary_switches += sample.voluntary_switches;
        self.total.involuntary_switches += sample.involuntary_switches;
        self.total.minor_faults += sample.minor_faults;
        self.total.major_faults += sample.major_faults;
        self.total.run_delay_ns += sample.run_delay_ns;
        self.migrations += u64::from(migrated);
        let disturbed = migrated || sample.involuntary_switches > 0;
        self.disturbed_samples += u64::from(disturbed);
        disturbed
    }

    /// As the `witness` object of a record line.
    pub fn to_json(&self) -> Map<String, Value> {
        let object = json!({
            "voluntary_switches": self.total.voluntary_switches,
            "involuntary_switches": self.total.involuntary_switches,
            "migrations": self.migrations,
            "minor_faults": self.total.minor_faults,
            "major_faults": self.total.major_faults,
            "run_delay_ns": self.total.run_delay_ns,
            "disturbed_samples": self.disturbed_samples,
        });
        match object {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// Counts of the whole machine from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineCounts {
    /// Hardware interrupts served.
    pub interrupts: u64,
    /// Soft interrupts served.
    pub softirqs: u64,
    /// Time the hypervisor ran something else, ms (USER_HZ resolution).
    pub steal_ms: u64,
    /// Time all CPUs spent on tasks and interrupts, ms (USER_HZ resolution).
    pub busy_ms: u64,
    /// Tasks on a CPU or waiting for one at that moment, the reader among them.
    pub running: u64,
    /// CPUs online.
    pub cpus: u64,
}

impl MachineCounts {
    /// Reads `/proc/stat` under `root`; `None` where it can't be read.
    pub fn read(root: &Root) -> Option<Self> {
        let text = root.contents("/proc/stat").ok()?;
        let mut counts = MachineCounts::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("cpu") => {
                    // user nice system idle iowait irq softirq steal, in ticks of 1/USER_HZ = 10 ms (proc(5))
                    let ticks: Vec<u64> = words.map_while(|w| w.parse().ok()).collect();
                    let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
                    counts.busy_ms = 10 * (at(0) + at(1) + at(2) + at(5) + at(6));
                    counts.steal_ms = 10 * at(7);
                }
                Some("intr") => counts.interrupts = words.next()?.parse().ok()?,
                Some("softirq") => counts.softirqs = words.next()?.parse().ok()?,
                Some("procs_running") => counts.running = words.next()?.parse().ok()?,
                Some(name) if name.starts_with("cpu") => counts.cpus += 1,
                _ => {}
            }
        }
        Some(counts)
    }

    /// Tasks besides the reader that wanted a CPU, per CPU.
    pub fn others_running(&self) -> f64 {
        self.running.saturating_sub(1) as f64 / self.cpus.max(1) as f64
    }

    /// Changes since `earlier`; what was running is kept as it was then.
    pub fn since(&self, earlier: &MachineCounts) -> MachineCounts {
        MachineCounts {
            interrupts: self.interrupts.saturating_sub(earlier.interrupts),
            softirqs: self.softirqs.saturating_sub(earlier.softirqs),
            steal_ms: self.steal_ms.saturating_sub(earlier.steal_ms),
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            running: earlier.running,
            cpus: earlier.cpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_faults_and_switches_are_seen() {
        let reader = WitnessReader::open();
        let before = reader.read();
        let mut touched = vec![0u8; 4 << 20];
        for page in touched.chunks_mut(4096) {
            page[0] = 1;
        }
        std::hint::black_box(&touched);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let seen = reader.read().since(&before);
        assert!(seen.minor_faults > 0 && seen.voluntary_switches > 0, "{seen:?}");
    }

    #[test]
    fn proc_stat_is_summed_without_idle() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        std::fs::write(
            dir.path().join("proc/stat"),
            "cpu  1 2 3 400 50 6 7 8 0 0\nintr 99 1 2\nsoftirq 55 1\n",
        )
        .unwrap();
        let counts = MachineCounts::read(&Root::at(dir.path())).unwrap();
        assert_eq!((counts.busy_ms, counts.steal_ms), (190, 80));
        assert_eq!((counts.interrupts, counts.softirqs), (99, 55));
    }
}
