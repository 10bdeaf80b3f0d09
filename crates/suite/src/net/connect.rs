//! `net.tcp_connect`, `net.unix_connect` (and `net.remote.tcp_connect`): making a connection and closing it.
//!
//! Timed: `socket`, `connect` and `close` of the client. Per connection. The server accepts each connection, reads to its
//! end and closes it before the next one is begun, outside the time, so its queue never holds more than one: no
//! connection waits for another, and none is refused or retried. It closes a TCP connection by a reset, which frees the
//! client's port at once.
//! Proof: the server reports each connection's end; for TCP the network's counters of overflowed queues, dropped
//! connections and repeated SYNs must not move while it runs, or the number is refused.

use std::os::unix::net::{UnixListener, UnixStream};

use harness::prelude::*;

use super::control::Control;
use super::far_side::{FarSide, PATIENCE, Place};
use super::netstat::Netstat;
use super::service;
use super::socket::{self, Address, Socket};

/// Bytes of `sun_path` (unix(7)): a path must be shorter.
const LONGEST_PATH: usize = 108;

/// Over TCP.
pub fn tcp(place: Place) -> Benchmark {
    super::benchmark(place, "tcp_connect", "connection", "socket, connect and close over TCP", run_tcp)
}

/// Over AF_UNIX.
pub fn unix() -> Benchmark {
    Benchmark::new("net.unix_connect", run_unix).metric(
        time(
            "net.unix_connect",
            "connection",
            "socket, connect and close of an AF_UNIX stream socket with a path, both sides on one CPU.",
        )
        .blocking(),
    )
}

fn run_tcp(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let address = Address::internet(far.start("tcp accept")?.address);
    let before = Netstat::read();
    bench.measure(metric, |iterations, timer| {
        (0..iterations).try_for_each(|_| {
            let connected = connect(timer, &address, far.control());
            connected.map_err(|e| far.failed("the connection", &e))
        })
    })?;
    match (before, Netstat::read()) {
        (Some(before), Some(after)) => {
            if let Some(trouble) = after.trouble_since(&before) {
                return Err(Stop::fail(format!("the number would be one of waiting: {trouble}")));
            }
            bench.note(metric, "repeated_syns", 0);
        }
        _ => bench.note(metric, "netstat", "unreadable"),
    }
    Ok(())
}

fn run_unix(bench: &mut Bench) -> Result<(), Stop> {
    let mut path = bench.job().scratch.join("connect.socket");
    if path.as_os_str().len() >= LONGEST_PATH {
        // The worker's working directory is the test directory.
        path = "connect.socket".into();
    }
    let listener =
        UnixListener::bind(&path).map_err(|e| Stop::unavailable("a socket in the test directory", &e))?;
    let address = Address::unix(&path).map_err(|e| Stop::fail(e.to_string()))?;
    let mut ends = Some(UnixStream::pair().map_err(|e| Stop::unavailable("socketpair(AF_UNIX)", &e))?);
    let _server = Peer::spawn(bench.peer_cpu(), || match ends.take() {
        Some((_, theirs)) => {
            service::accept_unix(Control::Unix(theirs), &listener).map_err(|e| Stop::fail(e.to_string()))
        }
        None => Ok(()),
    })?;
    let Some((mine, _)) = ends else { return Err(Stop::fail("the control connection is gone")) };
    let mut control = Control::Unix(mine);
    bench.measure("net.unix_connect", |iterations, timer| {
        (0..iterations).try_for_each(|_| {
            connect(timer, &address, &mut control).map_err(|e| Stop::fail(format!("the connection: {e}")))
        })
    })
}

/// One connection, and the server's word that it is over.
fn connect(timer: &mut Timer, address: &Address, control: &mut Control) -> std::io::Result<()> {
    let client = timer.time(|| Socket::stream(address))?;
    socket::set_patience(&client, PATIENCE)?;
    timer.time(|| {
        client.connect(address)?;
        drop(client);
        Ok::<(), std::io::Error>(())
    })?;
    control.send_byte(b'a')?;
    control.receive_byte(PATIENCE).map(drop)
}
