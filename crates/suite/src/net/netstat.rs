//! The network's counters of connections that had to wait (`/proc/net/netstat`, line TcpExt).

use environment::Root;

/// Counters that must not move while connections are timed; see `Documentation/networking/snmp_counter.rst` in Linux.
const WATCHED: [&str; 3] = ["ListenOverflows", "ListenDrops", "TCPSynRetrans"];

/// Their values; a counter this kernel does not have is `None`.
#[derive(Debug, PartialEq)]
pub struct Netstat([Option<u64>; WATCHED.len()]);

impl Netstat {
    /// The counters of this network namespace; `None` where they can't be read.
    pub fn read() -> Option<Self> {
        Netstat::parse(&Root::host().contents("/proc/net/netstat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
        let names: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
        let values: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
        Some(Netstat(WATCHED.map(|watched| {
            let at = names.iter().position(|name| *name == watched)?;
            values.get(at)?.parse().ok()
        })))
    }

    /// What moved since `before`, in words; `None` when nothing did.
    pub fn trouble_since(&self, before: &Netstat) -> Option<String> {
        let moved: Vec<String> = WATCHED
            .iter()
            .zip(self.0.iter().zip(&before.0))
            .filter_map(|(name, (after, before))| {
                let more = after.as_ref()?.saturating_sub((*before)?);
                (more > 0).then(|| format!("{name} +{more}"))
            })
            .collect();
        (!moved.is_empty())
            .then(|| format!("{} in /proc/net/netstat of this network namespace", moved.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_syn_is_trouble_and_a_missing_counter_is_not() {
        let text = |syn: u32| {
            format!(
                "TcpExt: SyncookiesSent ListenOverflows TCPSynRetrans\nTcpExt: 9 3 {syn}\n\
                 IpExt: InNoRoutes\nIpExt: 0\n"
            )
        };
        let (before, after) = (Netstat::parse(&text(5)).unwrap(), Netstat::parse(&text(7)).unwrap());
        assert_eq!(before, Netstat([Some(3), None, Some(5)]));
        assert_eq!(
            after.trouble_since(&before).unwrap(),
            "TCPSynRetrans +2 in /proc/net/netstat of this network namespace"
        );
        assert_eq!(before.trouble_since(&before), None);
        assert_eq!(Netstat::parse("IpExt: a\nIpExt: 1\n"), None);
        assert!(Netstat::parse("TcpExt: ListenDrops\nTcpExt:\n").is_some());
    }
}
