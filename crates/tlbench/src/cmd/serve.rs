//! `tlbench serve`: the far side of the network benchmarks, for `tlbench run --remote` on another host.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use harness::Signals;
use suite::net::{Limits, PeerServer, ServerEnd};

use super::run::parse_duration;
use crate::exit::Outcome;

/// Serve the network benchmarks to `tlbench run --remote` on another host
#[derive(clap::Args)]
pub struct Args {
    /// Address of this host to listen on; a free port without one
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    bind: SocketAddr,
    /// Sessions at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=64))]
    sessions: usize,
    /// End after this time without a session
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    idle: Duration,
    /// Print address and token as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    let signals = Signals::install().context("installing signal handlers")?;
    let limits = Limits { sessions: args.sessions, idle: args.idle };
    let server = PeerServer::bind(args.bind, limits)
        .with_context(|| format!("{}: can't listen there; give --bind an address of this host", args.bind))?;
    announce(&server, args)?;
    let log = |line: &str| {
        let _ = writeln!(io::stderr(), "{line}");
    };
    let interrupted = || {
        signals.drain();
        signals.interrupted().is_some()
    };
    let end = server.serve(signals.wake_fd(), interrupted, log)?;
    Ok(match signals.interrupted() {
        Some(interrupt) if end == ServerEnd::Interrupted => ExitCode::from(interrupt.exit_code()),
        _ => {
            writeln!(io::stderr(), "no session for {:?}; ended", args.idle)?;
            ExitCode::SUCCESS
        }
    })
}

fn announce(server: &PeerServer, args: &Args) -> anyhow::Result<()> {
    let (address, token) = (server.address()?, server.token());
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::json!({"address": address.to_string(), "token": token}))?;
    } else {
        writeln!(out, "listening on {address}; on the other host:")?;
        writeln!(out, "  tlbench run --remote {address} --token {token}")?;
    }
    Ok(out.flush()?)
}

/// `192.0.2.1`, `192.0.2.1:7000`, `2001:db8::1` or `[2001:db8::1]:7000`.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse::<SocketAddr>()
        .or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0)))
        .map_err(|_| format!("{text}: not an address of this host; write e.g. 192.0.2.1 or 192.0.2.1:7000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_port() {
        assert_eq!(parse_address("192.0.2.1").unwrap().port(), 0);
        assert_eq!(parse_address("[2001:db8::1]:7000").unwrap().port(), 7000);
        assert!(parse_address("2001:db8::1").unwrap().is_ipv6());
        assert!(parse_address("host").unwrap_err().contains("write e.g."));
    }
}
