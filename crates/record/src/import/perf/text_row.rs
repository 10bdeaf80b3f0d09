//! One row of perf's text output, before the block's decimal sign is known.

use super::locale::looks_numeric;

/// A row with its numbers still as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub line: usize,
    pub place: Option<String>,
    pub aggregated: Option<u64>,
    pub slice: Option<String>,
    /// The number, or the words in angle brackets.
    pub reading: String,
    pub unit: String,
    pub event: String,
    /// What follows the event: derived figures, `( +- x% )`, `(y%)`; grows when the row is folded.
    pub tail: String,
}

/// Reads `[place] [slice] number [unit] event ...`; `sliced` says that a time stamp comes first.
pub(super) fn read(line: &str, number: usize, sliced: bool) -> Option<Row> {
    let split = line.find(['#']).or_else(|| line.find("( +-")).unwrap_or(line.len());
    let (left, tail) = line.split_at(split);
    let mut words = left.split_whitespace().peekable();
    let mut row = Row { line: number, ..Row::default() };
    if sliced {
        row.slice = Some(words.next().filter(|w| looks_numeric(w))?.to_owned());
    }
    if words.peek().is_some_and(|word| is_place(word)) {
        row.place = words.next().map(str::to_owned);
    }
    let first = words.next()?;
    row.reading = if first == "<not" {
        format!("{first} {}", words.next().filter(|w| w.ends_with('>'))?)
    } else {
        first.to_owned()
    };
    if !row.reading.starts_with('<') && !looks_numeric(&row.reading) {
        return None;
    }
    let mut rest: Vec<&str> = words.collect();
    // per core and per socket: the number of CPUs comes before the count
    if row.place.is_some() && rest.len() > 1 && (looks_numeric(rest[0]) || rest[0] == "<not") {
        row.aggregated = Some(row.reading.parse().ok()?);
        row.reading = rest.remove(0).to_owned();
        if row.reading == "<not" {
            row.reading = format!("<not {}", rest.remove(0));
        }
    }
    let mut trailing = String::new();
    while let Some(share) = rest.last().filter(|w| w.starts_with('(') && w.ends_with("%)")) {
        trailing = format!(" {share}{trailing}");
        rest.pop();
    }
    match rest[..] {
        [event] => row.event = event.to_owned(),
        // before 4.x: `cpu-clock (msec)`
        [event, unit] if unit.starts_with('(') && unit.ends_with(')') => {
            row.event = event.to_owned();
            row.unit = unit.trim_matches(['(', ')']).to_owned();
        }
        [unit, event] => {
            row.unit = unit.to_owned();
            row.event = event.to_owned();
        }
        _ => return None,
    }
    if !row.event.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{') || row.event.ends_with(':') {
        return None;
    }
    row.tail = format!("{tail}{trailing}");
    Some(row)
}

/// `CPU0`, `S0`, `S0-D0-C1`, `N0`, `D0`.
pub(super) fn is_place(word: &str) -> bool {
    let digits = word.strip_prefix("CPU").or_else(|| word.strip_prefix(['S', 'N', 'D']));
    digits.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | 'D' | 'C' | 'L'))
    })
}

impl Row {
    /// The text of the relative standard error: what stands before `% )` after `( +-`.
    pub fn rel_se(&self) -> Option<&str> {
        let after = &self.tail[self.tail.find("( +-")? + 4..];
        Some(after[..after.find('%')?].trim())
    }

    /// The share of time the event was counted: `(49.98%)`.
    pub fn running(&self) -> Option<&str> {
        self.tail
            .split_whitespace()
            .filter_map(|w| w.strip_prefix('(').and_then(|w| w.strip_suffix("%)")))
            .find(|w| looks_numeric(w))
    }

    /// The number before `CPUs utilized`.
    pub fn cpus(&self) -> Option<&str> {
        let before = &self.tail[..self.tail.find("CPUs utilized")?];
        before.split_whitespace().next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_age() {
        let row = |line: &str| read(line, 1, false).unwrap();
        let modern = row("   3.44 msec task-clock      #    0.368 CPUs utilized            ( +-  3.57% )");
        assert_eq!((&*modern.reading, &*modern.unit, &*modern.event), ("3.44", "msec", "task-clock"));
        assert_eq!((modern.rel_se(), modern.cpus()), (Some("3.57"), Some("0.368")));
        let old = row("        4491.971466      cpu-clock (msec)");
        assert_eq!((&*old.unit, &*old.event), ("msec", "cpu-clock"));
        let scaled = row(" 2,088,138,001      branch-misses:u   #  20.8 %  ( +-  0.00% )  (49.98%)");
        assert_eq!((scaled.running(), &*scaled.event), (Some("49.98"), "branch-misses:u"));
        assert_eq!(row("   123  cycles      (12.5%)").running(), Some("12.5"));
        assert_eq!(row("   <not supported>      cycles").reading, "<not supported>");
        let core = row("S0-D0-C0   1   218.57 msec cpu-clock  # 1.0 CPUs utilized");
        assert_eq!((core.aggregated, &*core.reading), (Some(1), "218.57"));
        for prose in
            ["128+0 records in the log", "we saw 5 of them", "12 monkeys and more words", "3 apples:"]
        {
            assert_eq!(read(prose, 1, false), None, "{prose}");
        }
    }
}
