//! Records become a table of configurations by metrics.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::{Direction, Invocation, Record, Status, Unit};
use serde_json::Value;
use stats::{Cell, Configuration, Measured, Observation, Share, Table, Tau};

use super::layout;

/// A record and the name of the file it came from.
#[derive(Clone, Debug)]
pub struct Named {
    /// File name, for telling equal labels apart.
    pub file: String,
    /// The record.
    pub record: Record,
}

type Matches<'a> = Box<dyn Fn(&str) -> bool + 'a>;
/// Margin (fraction) and floor (in the metric's unit) of a metric, where not the table's.
type Margins<'a> = Box<dyn Fn(&str) -> (Option<f64>, Option<f64>) + 'a>;

/// What the user said about metrics.
pub struct Rules<'a> {
    /// Metrics to compare.
    pub only: Matches<'a>,
    /// Further controls.
    pub control: Matches<'a>,
    /// Metrics that the change is declared to move although they are controls or differently defined.
    pub expect: Matches<'a>,
    /// Metrics that count for the exit code; all that are no controls when `None`.
    pub gate: Option<Matches<'a>>,
    /// Margin (fraction) and floor (in the metric's unit) of a metric, where not the table's.
    pub margin: Margins<'a>,
    /// Between-sitting deviation by metric, from this machine's history.
    pub history: BTreeMap<String, Tau>,
}

/// Everything a comparison and its printing need.
pub struct Gathered {
    /// The numbers.
    pub table: Table,
    /// Unit and *per what* of each metric of the table.
    pub units: Vec<(Unit, Option<String>)>,
    /// Environment of each configuration, in the table's order.
    pub environments: Vec<Value>,
    /// Why the table can't be compared, whatever the numbers say.
    pub not_comparable: Vec<String>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One configuration's lines.
struct Collected<'r> {
    name: String,
    lines: Vec<(u32, &'r Invocation)>,
    environment: Value,
    boots: BTreeSet<String>,
    foreign_kernel: bool,
}

/// Gathers records into a table. Configurations are told apart by label, or by file name where different files of our
/// own carry one label; several records of one configuration are its sittings.
pub fn gather(records: &[Named], rules: &Rules<'_>) -> Gathered {
    let collected = collect(records);
    let measured_at_all = |line: &Invocation| line.value.is_some() || line.summary.is_some();
    let lines = || collected.iter().flat_map(|c| &c.lines).map(|(_, line)| *line);
    let known: BTreeSet<&str> =
        lines().filter(|line| measured_at_all(line)).map(|line| line.metric.as_str()).collect();
    // The plan's order is the table's; in the lines it is drawn.
    let planned = records.iter().flat_map(|n| &n.record.header.plan.benchmarks).flat_map(|b| &b.metrics);
    let mut order: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for name in planned.map(|metric| metric.name.as_str()).chain(lines().map(|line| line.metric.as_str())) {
        if known.contains(name) && (rules.only)(name) && seen.insert(name) {
            order.push(name);
        }
    }
    let mut by_metric: Vec<BTreeMap<&str, Vec<(u32, &Invocation)>>> = Vec::new();
    for configuration in &collected {
        let mut map: BTreeMap<&str, Vec<(u32, &Invocation)>> = BTreeMap::new();
        for &(sitting, line) in &configuration.lines {
            map.entry(&line.metric).or_default().push((sitting, line));
        }
        by_metric.push(map);
    }
    let mut metrics = Vec::new();
    let mut units = Vec::new();
    let mut not_comparable = Vec::new();
    for name in order {
        let lines: Vec<&[(u32, &Invocation)]> =
            by_metric.iter().map(|map| map.get(name).map_or(&[][..], Vec::as_slice)).collect();
        if let Some(why) = different_definitions(&lines)
            && !(rules.expect)(name)
        {
            not_comparable.push(format!("{name}: {why}"));
        }
        let (measured, unit) = measured(name, &lines, rules);
        metrics.push(measured);
        units.push(unit);
    }
    not_comparable.extend(layout::different_machines(&collected_environments(&collected)));
    let several_boots = collected.iter().flat_map(|c| &c.boots).collect::<BTreeSet<_>>().len() > 1;
    let configurations = collected
        .iter()
        .map(|c| Configuration {
            name: c.name.clone(),
            one_boot: c.foreign_kernel || (several_boots && c.boots.len() == 1),
            one_build: false,
            others_running: others_running(&c.lines),
        })
        .collect();
    let layout = layout::of(records, &metrics);
    Gathered {
        table: Table { configurations, metrics, layout },
        units,
        environments: collected.into_iter().map(|c| c.environment).collect(),
        not_comparable,
        notes: Vec::new(),
    }
}

/// Median of what the invocations' witnesses say of other tasks: a few benchmarks have tasks of their own then.
fn others_running(lines: &[(u32, &Invocation)]) -> Option<f64> {
    let seen: Vec<f64> =
        lines.iter().filter_map(|(_, line)| line.witness.get("others_running")?.as_f64()).collect();
    stats::estimate::median(&seen)
}

fn collected_environments(collected: &[Collected<'_>]) -> Vec<(String, bool, Value)> {
    collected.iter().map(|c| (c.name.clone(), c.foreign_kernel, c.environment.clone())).collect()
}

/// Lines by configuration, with a sitting number each.
fn collect(records: &[Named]) -> Vec<Collected<'_>> {
    let own: Vec<&Named> = records.iter().filter(|named| named.record.header.plan.kind != "import").collect();
    let one_label = own.len() > 1 && own.iter().all(|n| n.record.header.label == own[0].record.header.label);
    let mut collected: Vec<Collected<'_>> = Vec::new();
    let mut sittings: Vec<HashMap<&str, u32>> = Vec::new();
    for named in records {
        let record = &named.record;
        let import = record.header.plan.kind == "import";
        let boot = boot_of(record);
        let fallback = if one_label && !import { named.file.clone() } else { record.header.label.clone() };
        for line in &record.invocations {
            let name = match &line.configuration {
                Some(configuration) if !(one_label && *configuration == record.header.label) => configuration,
                _ => &fallback,
            };
            let at = collected.iter().position(|c| c.name == *name).unwrap_or_else(|| {
                sittings.push(HashMap::new());
                collected.push(Collected {
                    name: name.clone(),
                    lines: Vec::new(),
                    environment: environment_of(record, name),
                    boots: BTreeSet::new(),
                    foreign_kernel: import && names_a_kernel(line),
                });
                collected.len() - 1
            });
            if let Some(boot) = &boot
                && !collected[at].boots.contains(boot)
            {
                collected[at].boots.insert(boot.clone());
            }
            let own = line.sitting.as_deref().unwrap_or(&named.file);
            let next = sittings[at].len() as u32;
            let sitting = *sittings[at].entry(own).or_insert(next);
            collected[at].lines.push((sitting, line));
        }
    }
    in_planned_order(collected, records)
}

/// In a record of ours, which state came first is drawn; the order is the plan's.
fn in_planned_order<'r>(mut collected: Vec<Collected<'r>>, records: &[Named]) -> Vec<Collected<'r>> {
    if let [one] = records {
        let planned = &one.record.header.plan.configurations;
        collected.sort_by_key(|c| planned.iter().position(|name| *name == c.name).unwrap_or(usize::MAX));
    }
    collected
}

fn environment_of(record: &Record, configuration: &str) -> Value {
    let environment = &record.header.environment;
    environment.get("configurations").and_then(|c| c.get(configuration)).unwrap_or(environment).clone()
}

/// Tables of suites and counters that describe a kernel seen in one boot.
fn names_a_kernel(line: &Invocation) -> bool {
    line.metric.starts_with("lmbench/") || line.metric.starts_with("perf/")
}

fn boot_of(record: &Record) -> Option<String> {
    environment::known(&record.header.environment, "sitting.boot").and_then(Value::as_str).map(str::to_owned)
}

fn different_definitions(lines: &[&[(u32, &Invocation)]]) -> Option<String> {
    let versions: BTreeSet<(u32, &str)> =
        lines.iter().flat_map(|l| l.iter()).map(|(_, l)| (l.definition, l.unit.0.as_ref())).collect();
    let text: Vec<String> =
        versions.iter().map(|(version, unit)| format!("version {version} in {unit}")).collect();
    (versions.len() > 1).then(|| format!("defined differently ({})", text.join(", ")))
}

fn measured(
    name: &str,
    lines: &[&[(u32, &Invocation)]],
    rules: &Rules<'_>,
) -> (Measured, (Unit, Option<String>)) {
    let all = || lines.iter().flat_map(|l| l.iter()).map(|(_, line)| *line);
    let first = all().next();
    let direction = match first.map_or(Direction::None, |line| line.direction) {
        Direction::Smaller => stats::Direction::Smaller,
        Direction::Bigger => stats::Direction::Bigger,
        Direction::None => stats::Direction::None,
    };
    let zeros = all().filter(|line| line.extra.get("counted").and_then(Value::as_f64) == Some(0.0)).count();
    let values = all().filter(|line| line.value.is_some()).count();
    let no_ratio = (zeros > 0 && values > 0 && !all().any(|line| line.exact)).then(|| {
        format!("0 in {zeros} of {} runs: no ratio can be formed, only means compared", zeros + values)
    });
    // The others alone would be a choice.
    let of = |lines: &&[(u32, &Invocation)]| if no_ratio.is_some() { Cell::default() } else { cell(lines) };
    let mut measured = Measured::new(name, direction, lines.iter().map(of).collect());
    measured.no_ratio = no_ratio;
    measured.control = all().any(|line| line.control) || is_arithmetic_or_l1(name) || (rules.control)(name);
    measured.expected = (rules.expect)(name);
    measured.gated = match &rules.gate {
        Some(gate) => gate(name),
        None => !measured.control,
    };
    measured.exact = first.is_some() && all().all(|line| line.exact);
    let counts = first.is_some_and(|line| line.unit == Unit::COUNT || line.exact);
    let whole = all().filter_map(|line| line.value).all(|value| value.fract() == 0.0);
    measured.quantum = (counts && whole).then_some(1.0);
    measured.scaled_counter = all().any(|line| {
        line.extra.get("running_pct").and_then(Value::as_f64).is_some_and(|running| running < 99.5)
    });
    measured.below_resolution =
        all().any(|line| line.reason.as_deref().is_some_and(|why| why.starts_with("below resolution")));
    measured.screened = all().any(|line| line.set_aside > 0 || line.extra.contains_key("disturbed"));
    (measured.margin, measured.margin_floor) = (rules.margin)(name);
    measured.tau = rules.history.get(name).copied();
    let unit = first.map_or((Unit::RATIO, None), |line| (line.unit.clone(), line.per.clone()));
    (measured, unit)
}

fn cell(lines: &[(u32, &Invocation)]) -> Cell {
    let summary = lines.iter().find_map(|(_, line)| line.summary).map(|summary| stats::Summary {
        mean: summary.mean,
        rel_se_pct: summary.rel_se_pct,
        rel_se_half_digit_pct: summary.rel_se_half_digit_pct,
        n: summary.n_runs,
    });
    let observations = lines
        .iter()
        .filter(|(_, line)| line.status == Status::Ok)
        .filter_map(|(s, line)| observation(*s, line));
    Cell { observations: observations.collect(), summary }
}

fn observation(sitting: u32, line: &Invocation) -> Option<Observation> {
    let samples = line.samples.as_deref().unwrap_or(&[]);
    let disturbed = line.witness.get("disturbed_samples").and_then(Value::as_u64);
    Some(Observation {
        value: line.value?,
        block: line.block,
        slot: line.slot,
        sitting: Some(sitting),
        printed: line.printed.map(|printed| (printed.lo, printed.hi)),
        tail: (samples.len() > 1).then(|| stats::estimate::tail(samples)),
        set_aside: (samples.len() > 1).then(|| Share {
            count: match line.extra.contains_key("disturbed") {
                true => disturbed.unwrap_or(0),
                false => u64::from(line.set_aside),
            },
            total: samples.len() as u64,
        }),
    })
}

/// Imported names of user-space arithmetic and L1 latency, which no kernel change can move.
fn is_arithmetic_or_l1(name: &str) -> bool {
    const KINDS: [&str; 7] = ["alu", "integer", "int64", "uint64", "float", "double", "intgr"];
    const OPERATIONS: [&str; 6] = ["bit", "add", "mul", "div", "mod", "bogomflops"];
    let Some(own) = name.strip_prefix("lmbench/") else { return false };
    let own = own.to_ascii_lowercase();
    let mut words = own.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let operation =
        words.next().is_none_or(|word| OPERATIONS.iter().any(|o| o.starts_with(word) || word.starts_with(o)));
    (KINDS.contains(&first) && operation && own.len() > first.len())
        || matches!(own.as_str(), "l1" | "l1 $" | "bogomflops")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_0_in_some_runs_form_no_ratio() {
        let metric = record::Metric {
            name: "perf/major-faults".into(),
            unit: Unit::COUNT,
            direction: Direction::Smaller,
            per: "run".into(),
            estimator: record::Estimator::Single,
            control: false,
            definition: 1,
            doc: String::new(),
        };
        let some = Invocation::of(&metric).with_value(3.0);
        let mut none = Invocation::of(&metric).without_value(Status::Skipped, "counted 0");
        none.extra.insert("counted".into(), 0.into());
        let no: fn(&str) -> bool = |_| false;
        let rules = Rules {
            only: Box::new(|_| true),
            control: Box::new(no),
            expect: Box::new(no),
            gate: None,
            margin: Box::new(|_| (None, None)),
            history: BTreeMap::new(),
        };
        let (base, other) = ([(0, &some), (0, &some)], [(0, &some), (0, &none)]);
        let (found, _) = measured("perf/major-faults", &[&base, &other], &rules);
        assert!(found.no_ratio.is_some_and(|why| why.contains("0 in 1 of 4 runs")));
        assert!(found.cells.iter().all(|cell| cell.observations.is_empty()));
        let (found, _) = measured("perf/major-faults", &[&base, &base], &rules);
        assert!(found.no_ratio.is_none() && found.cells[1].observations.len() == 2);
    }

    #[test]
    fn controls_are_known_by_name() {
        for name in [
            "lmbench/integer add",
            "lmbench/int64 bit",
            "lmbench/double bogo",
            "lmbench/float div",
            "lmbench/L1",
        ] {
            assert!(is_arithmetic_or_l1(name), "{name}");
        }
        for name in ["lmbench/null call", "lmbench/L2", "lmbench/main mem", "perf/integer add"] {
            assert!(!is_arithmetic_or_l1(name), "{name}");
        }
    }
}
