//! Networking: round trips, connections, procedure calls and HTTP, over loopback and against a peer on another host.
//!
//! Both work alike. A **far side** attends to one session: over a control connection it is told which service to offer,
//! opens a socket on an ephemeral port and says which. On loopback the far side is a second process of the benchmark; on
//! another host it is `tlbench serve`, which attends only to clients that show its token. The same loops time both.

mod connect;
pub(crate) mod control;
pub(crate) mod far_side;
mod http;
mod netstat;
mod peer_server;
mod round_trip;
mod rpc;
mod service;
pub(crate) mod socket;

use harness::prelude::*;

pub(crate) use far_side::PATIENCE;
use far_side::Place;
pub use far_side::reach;
pub use peer_server::{Limits, PeerServer, ServerEnd};
pub(crate) use service::{pattern as service_pattern, send_on_request};

/// The section of loopback and AF_UNIX.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = round_trip::benchmarks();
    all.extend([connect::tcp(Place::Loopback), connect::unix()]);
    all.extend(rpc::benchmarks(Place::Loopback));
    all.push(http::benchmark(Place::Loopback));
    all
}

/// The section against `tlbench serve`.
pub fn remote_benchmarks() -> Vec<Benchmark> {
    let mut all = round_trip::remote_benchmarks();
    all.push(connect::tcp(Place::Remote));
    all.extend(rpc::benchmarks(Place::Remote));
    all.push(http::benchmark(Place::Remote));
    all
}

/// A benchmark named `net.{what}` or `net.remote.{what}`, with one metric of that name.
fn benchmark(
    place: Place,
    what: &str,
    per: &str,
    doc: &str,
    run: impl Fn(&mut Bench, Place, &str) -> Result<(), Stop> + Send + Sync + 'static,
) -> Benchmark {
    let name = format!("net.{}{what}", place.infix());
    let doc = format!("{doc}, {}.", place.words());
    let metric = time(name.clone(), per, doc).blocking();
    let benchmark = Benchmark::new(name.clone(), move |bench| run(bench, place, &name)).metric(metric);
    if place == Place::Remote { benchmark.remote() } else { benchmark }
}
