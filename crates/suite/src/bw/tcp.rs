//! `bw.tcp.1`, `.64`, `.1437`, `.64k`, `.10m` (and `bw.remote.tcp.`): bytes over a TCP connection in messages of that size.
//!
//! Timed: see `transfer`. `k` and `m` are binary. Buffers are sized by the kernel and Nagle's algorithm is on, as a program
//! that asks for nothing has it. Over loopback both processes are on one CPU, and for 64 KiB also across CPUs.

use std::io::{Read, Write};

use harness::prelude::*;

use super::transfer;
use crate::net::far_side::{FarSide, Place};

/// Names and bytes of the messages.
const SIZES: [(&str, usize); 5] =
    [("1", 1), ("64", 64), ("1437", 1437), ("64k", 64 << 10), ("10m", 10 << 20)];

/// Over loopback.
pub fn benchmarks() -> Vec<Benchmark> {
    SIZES.into_iter().flat_map(|(size, bytes)| loopback(size, bytes)).collect()
}

fn loopback(size: &str, bytes: usize) -> Vec<Benchmark> {
    let name = format!("bw.tcp.{size}");
    let doc = format!("Bytes from another process over loopback TCP in messages of {bytes} bytes");
    let run = move |bench: &mut Bench, metric: &str| run(bench, Place::Loopback, metric, bytes);
    let mut family = crate::placed::bandwidths(&name, &doc, run);
    if size != "64k" {
        family.truncate(1);
    }
    family.into_iter().map(|benchmark| benchmark.memory((32 << 20) + 4 * bytes as u64)).collect()
}

/// Against another host.
pub fn remote_benchmarks() -> Vec<Benchmark> {
    SIZES
        .into_iter()
        .map(|(size, bytes)| {
            let name = format!("bw.remote.tcp.{size}");
            let doc =
                format!("Bytes from tlbench serve on another host over TCP in messages of {bytes} bytes.");
            let metric = transfer::declared(&name, doc);
            Benchmark::new(name.clone(), move |bench| run(bench, Place::Remote, &name, bytes))
                .metric(metric)
                .memory((32 << 20) + 2 * bytes as u64)
                .remote()
        })
        .collect()
}

fn run(bench: &mut Bench, place: Place, metric: &str, message: usize) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let mut data = far.connect("tcp stream")?;
    let mut requests = data.try_clone().map_err(|e| far.failed("a descriptor", &e))?;
    transfer::measure(
        bench,
        metric,
        message,
        |request| requests.write_all(request),
        |buffer| data.read(buffer),
    )
}
