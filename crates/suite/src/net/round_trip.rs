//! `net.udp`, `net.tcp` (and `net.remote.`): a few bytes to the far side and back.
//!
//! Timed: send and receive. UDP carries 4 bytes in a datagram each way, TCP 1 byte with Nagle's delay off, as in LMbench.
//! Per round trip. Over UDP a request is repeated after a second without a reply, and that wait is part of its sample;
//! how many were is in the record.
//! Proof: every reply is its request with the first byte inverted.

use std::io::{Read, Write};

use harness::prelude::*;

use super::far_side::{Datagrams, FarSide, Place};

const UDP: &str = "4 bytes to another process and back in UDP datagrams";
const TCP: &str = "1 byte to another process and back over a TCP connection without Nagle's delay";

/// Over loopback, on one CPU and across CPUs.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all =
        crate::placed::round_trip("net.udp", false, &format!("{UDP} over loopback"), |bench, metric| {
            udp(bench, Place::Loopback, metric)
        });
    all.extend(crate::placed::round_trip(
        "net.tcp",
        false,
        &format!("{TCP} over loopback"),
        |bench, metric| tcp(bench, Place::Loopback, metric),
    ));
    all
}

/// Against another host, with tails: there the slow replies are the news.
pub fn remote_benchmarks() -> Vec<Benchmark> {
    let mut both = vec![
        super::benchmark(Place::Remote, "udp", "round trip", UDP, udp),
        super::benchmark(Place::Remote, "tcp", "round trip", TCP, tcp),
    ];
    both.iter_mut().flat_map(|benchmark| &mut benchmark.declared).for_each(|metric| metric.tails = true);
    both
}

fn udp(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let mut datagrams = Datagrams::begin(&mut far, "udp echo")?;
    let mut number = 0u32;
    bench.measure(metric, |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                number = number.wrapping_add(1);
                let request = number.to_le_bytes();
                let expected = [!request[0], request[1], request[2], request[3]];
                datagrams.exchange(&request, |reply| reply == expected)
            })
        })
    })?;
    bench.note(metric, "repeated", datagrams.end());
    Ok(())
}

fn tcp(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let mut stream = far.connect("tcp echo")?;
    stream.set_nodelay(true).map_err(|e| far.failed("TCP_NODELAY", &e))?;
    let mut sent = 0u8;
    bench.measure(metric, |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                sent = sent.wrapping_add(1);
                let mut reply = [0];
                stream
                    .write_all(&[sent])
                    .and_then(|()| stream.read_exact(&mut reply))
                    .map_err(|e| far.failed("the round trip", &e))?;
                check(reply[0] == !sent, "a reply is not that of its request")
            })
        })
    })
}
