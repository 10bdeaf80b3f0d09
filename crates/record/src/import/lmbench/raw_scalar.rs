//! The `label: number unit` lines of raw result files.

use super::US;
use crate::import::number::{Decimal, decimal, text, words};
use crate::{Direction, Unit};

/// A scalar line understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    /// A result under the name the summary table gives it, or its own label.
    Result { name: String, unit: Unit, direction: Direction, shown: Decimal },
    /// `tlb: 48 pages`.
    TlbPages(f64),
    /// The benchmark ran and gave no usable number.
    Failed { name: String, unit: Unit, direction: Direction, why: String },
}

/// Reads a scalar line; `None` when its label is none of LMbench's.
pub(super) fn read(line: &[u8]) -> Option<Scalar> {
    // most lines of any text end here: no number or unit at the end, or no label
    let last = *line.last()?;
    if !(matches!(last, b's' | b'c' | b')') || last.is_ascii_digit()) {
        return None;
    }
    let colon = memchr::memmem::rfind(line, b": ")?;
    let (label, rest) = (&line[..colon], &line[colon + 2..]);
    if label == b"Avg xfer" {
        return transfer(rest);
    }
    let name = name(label)?;
    let mut parts = words(rest);
    let (number, unit) = (parts.next()?, parts.next());
    if unit == Some(b"pages") && label == b"tlb" {
        return decimal(number).map(|shown| Scalar::TlbPages(shown.value));
    }
    let (unit, direction) = match unit {
        Some(b"microseconds" | b"usecs" | b"microsecs") => (US, Direction::Smaller),
        Some(b"nanoseconds") => (Unit::NS, Direction::Smaller),
        Some(b"MB/sec") => (Unit::MB_PER_S, Direction::Bigger),
        Some(b"KB/sec") => (Unit("KB/s".into()), Direction::Bigger),
        None if name.ends_with(" parallelism") => (Unit::RATIO, Direction::Bigger),
        // `Context switch of 8 4k processes: 64.17 (60.02 overhead)` of LMbench 1
        Some(with) if label.starts_with(b"Context switch of ") && with.starts_with(b"(") => {
            (US, Direction::Smaller)
        }
        None if number == b"-1" => (US, Direction::Smaller),
        _ => return None,
    };
    let why = match decimal(number) {
        // the overflow of STREAM beyond 2 GiB prints inf and 0.00
        Some(shown) if shown.value > 0.0 => {
            return Some(Scalar::Result { name, unit, direction, shown });
        }
        Some(shown) => format!("printed {}", shown.value),
        None if number.eq_ignore_ascii_case(b"inf") => "printed inf".to_owned(),
        None => return None,
    };
    Some(Scalar::Failed { name, unit, direction, why })
}

/// `Avg xfer: 3.2KB, 41.8KB in 2.5240 millisecs, 16.55 MB/sec`.
fn transfer(rest: &[u8]) -> Option<Scalar> {
    let mut parts = words(rest).collect::<Vec<_>>().into_iter().rev();
    let (unit, number) = (parts.next()?, parts.next()?);
    (unit == b"MB/sec").then_some(())?;
    Some(Scalar::Result {
        name: "Avg xfer".to_owned(),
        unit: Unit::MB_PER_S,
        direction: Direction::Bigger,
        shown: decimal(number)?,
    })
}

/// The name of a metric: the summary's words where a cell shows it, else the label itself.
fn name(label: &[u8]) -> Option<String> {
    let fixed = match label {
        b"Simple syscall" | b"Null syscall" => "null call",
        b"Simple stat" => "stat",
        b"Simple open/close" => "open clos",
        b"Select on 100 tcp fd's" => "slct TCP",
        b"Select on 100 fd's" => "100fd select",
        b"Signal handler installation" => "sig inst",
        b"Signal handler overhead" => "sig hndl",
        b"Protection fault" => "prot fault",
        b"AF_UNIX sock stream latency" => "AF UNIX latency",
        b"AF_UNIX sock stream bandwidth" => "AF UNIX bandwidth",
        b"Process fork+exit" => "fork proc",
        b"Process fork+execve" => "exec proc",
        b"Process fork+/bin/sh -c" => "sh proc",
        b"uint64 add" => "int64 add",
        b"Simple read"
        | b"Simple write"
        | b"Simple fstat"
        | b"Pipe latency"
        | b"Pipe bandwidth"
        | b"Fifo latency"
        | b"Semaphore latency"
        | b"Fcntl lock latency"
        | b"UNIX connection cost"
        | b"Procedure call"
        | b"lat_cmd"
        | b"tlb"
        | b"drand48 latency"
        | b"lrand48 latency"
        | b"rand latency"
        | b"random latency" => std::str::from_utf8(label).ok()?,
        _ => return patterned(label),
    };
    Some(fixed.to_owned())
}

/// Labels that hold a number, a file or a host.
fn patterned(label: &[u8]) -> Option<String> {
    let host = |at: &[u8], name: &str| {
        let remote = label[at.len()..] != *b"localhost" && label[at.len()..] != *b"127.0.0.1";
        Some(if remote { format!("remote {name}") } else { name.to_owned() })
    };
    const HOSTS: [(&[u8], &str); 6] = [
        (b"UDP latency using ", "UDP latency"),
        (b"TCP latency using ", "TCP latency"),
        (b"RPC/udp latency using ", "RPC/UDP latency"),
        (b"RPC/tcp latency using ", "RPC/TCP latency"),
        (b"TCP/IP connection cost to ", "TCP conn"),
        (b"Socket bandwidth using ", "TCP bandwidth"),
    ];
    if let Some((at, name)) = HOSTS.iter().find(|(at, _)| label.starts_with(at)) {
        return host(at, name);
    }
    if label.starts_with(b"Pagefaults on ") {
        return Some("page fault".to_owned());
    }
    if label.starts_with(b"File ") && label.ends_with(b" write bandwidth") {
        return Some("File write bandwidth".to_owned());
    }
    if label.starts_with(b"Select on ") && label.ends_with(b" fd's") {
        return Some(text(label));
    }
    if let Some(rest) = label.strip_prefix(b"Context switch of ") {
        let mut parts = words(rest);
        let (processes, size) = (parts.next()?, parts.next()?);
        decimal(processes)?;
        return Some(format!("{}p/{}", text(processes), text(size).to_ascii_uppercase()));
    }
    let mut parts = words(label);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    let known = match first {
        b"integer" | b"int64" | b"uint64" => {
            matches!(second, b"bit" | b"add" | b"mul" | b"div" | b"mod")
        }
        b"float" | b"double" => matches!(second, b"add" | b"mul" | b"div" | b"bogomflops"),
        b"STREAM" | b"STREAM2" => third.is_some_and(|w| w == b"latency" || w == b"bandwidth"),
        b"usleep" | b"nanosleep" | b"select" | b"pselect" | b"itimer" => {
            decimal(second).is_some() && third == Some(b"microseconds")
        }
        _ => false,
    };
    let ends = match third {
        None => true,
        Some(word) => word == b"parallelism" || known && parts.next().is_none(),
    };
    (known && ends).then(|| text(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(line: &str) -> (String, String, f64) {
        match read(line.as_bytes()) {
            Some(Scalar::Result { name, unit, shown, .. }) => (name, unit.to_string(), shown.value),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn labels_get_the_summary_words() {
        assert_eq!(result("Simple syscall: 0.15 microseconds"), ("null call".into(), "us".into(), 0.15));
        assert_eq!(result("TCP latency using localhost: 25.0 microseconds").0, "TCP latency");
        assert_eq!(result("TCP latency using box: 25.0 microseconds").0, "remote TCP latency");
        assert_eq!(result("Pagefaults on /tmp/a: b: 3 usecs"), ("page fault".into(), "us".into(), 3.0));
        assert_eq!(result("uint64 add: 0.24 nanoseconds").0, "int64 add");
        assert_eq!(result("int64 mod parallelism: 2.40").1, "ratio");
        assert_eq!(result("Context switch of 8 4k processes: 64.17 (60.02 overhead)").0, "8p/4K");
        assert_eq!(result("Avg xfer: 3.2KB, 41.8KB in 2.5 millisecs, 16.55 MB/sec").2, 16.55);
    }

    #[test]
    fn impossible_numbers_are_failures_and_prose_is_nothing() {
        for line in
            ["STREAM copy latency: inf nanoseconds", "STREAM copy bandwidth: 0.00 MB/sec", "Simple read: -1"]
        {
            assert!(matches!(read(line.as_bytes()), Some(Scalar::Failed { .. })), "{line}");
        }
        for line in [
            "Note: it took 5 microseconds",
            "Simple syscall: fast",
            "Subject: 12",
            "float pi: 3.1 nanoseconds",
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }
}
