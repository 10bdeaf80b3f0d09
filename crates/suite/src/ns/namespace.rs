//! `ns.*`: a process in new namespaces, made and ended; `.full`: until the kernel has taken the namespaces apart.
//!
//! Timed: `clone3` with the flag of one kind of namespace (`ns.container`: mount, PID, network, IPC, UTS and cgroup
//! together; `ns.none`: none, to compare), a child that exits at once, and `waitpid`. Per child.
//! The kernel takes most kinds apart later, in workers and after RCU grace periods. `.full` waits for that: the worker
//! is in a user namespace of its own whose limit for the kind is 1 (`/proc/sys/user/max_*_namespaces`), so that the
//! next can only be made once the last is gone. Per child, destruction included: it is a delay more than work.
//! Proof: every child exits with status 0; under the limit a second namespace is refused while the first lives.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use harness::prelude::*;

use super::child::{CloneError, come_and_go};

/// Longest wait for one namespace to go, and time between two looks.
const LONGEST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_micros(20);
/// `CLONE_NEWTIME` (linux/sched.h), which the libc crate types as an int that clone can't take.
const NEWTIME: u64 = 0x80;

/// One kind: its name here, its clone flags, and its limit's name under `/proc/sys/user`.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    flags: u64,
    limit: Option<&'static str>,
}

const fn kind(name: &'static str, flags: u64, limit: &'static str) -> Kind {
    Kind { name, flags, limit: Some(limit) }
}

const KINDS: [Kind; 10] = [
    Kind { name: "none", flags: 0, limit: None },
    kind("user", libc::CLONE_NEWUSER as u64, "max_user_namespaces"),
    kind("mount", libc::CLONE_NEWNS as u64, "max_mnt_namespaces"),
    kind("pid", libc::CLONE_NEWPID as u64, "max_pid_namespaces"),
    kind("net", libc::CLONE_NEWNET as u64, "max_net_namespaces"),
    kind("ipc", libc::CLONE_NEWIPC as u64, "max_ipc_namespaces"),
    kind("uts", libc::CLONE_NEWUTS as u64, "max_uts_namespaces"),
    kind("cgroup", libc::CLONE_NEWCGROUP as u64, "max_cgroup_namespaces"),
    kind("time", NEWTIME, "max_time_namespaces"),
    Kind {
        name: "container",
        flags: (libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP) as u64,
        // The network namespace is the last to go.
        limit: Some("max_net_namespaces"),
    },
];

/// The family.
pub fn benchmarks() -> Vec<Benchmark> {
    KINDS.into_iter().map(benchmark).collect()
}

fn benchmark(kind: Kind) -> Benchmark {
    let name = format!("ns.{}", kind.name);
    let what = match kind.name {
        "none" => "no new namespace".to_owned(),
        "container" => "new mount, PID, network, IPC, UTS and cgroup namespaces".to_owned(),
        one => format!("a new {one} namespace"),
    };
    let doc = format!("A clone3 child in {what} that exits at once, and its reaping.");
    let made = time(&name, "child", doc).blocking();
    let benchmark = Benchmark::new(&name, move |bench| run(bench, kind)).metric(made).weight(0.5);
    if kind.limit.is_none() {
        return benchmark;
    }
    let doc = format!("As {name}, until the kernel has taken the namespace apart and lets another be made.");
    benchmark.metric(time(format!("{name}.full"), "child", doc).blocking()).parts(2).weight(1.0)
}

fn run(bench: &mut Bench, kind: Kind) -> Result<(), Stop> {
    enter_user_namespace()?;
    let name = format!("ns.{}", kind.name);
    bench.measure(&name, |children, timer| timer.time(|| (0..children).try_for_each(|_| one(kind))))?;
    let Some(limit) = kind.limit else { return Ok(()) };
    fs::write(format!("/proc/sys/user/{limit}"), "1")
        .map_err(|e| Stop::unavailable("limiting the namespaces of the worker's user namespace", &e))?;
    // The first is untimed, so that each timed one waits for exactly one to go.
    when_allowed(kind)?;
    let name = format!("{name}.full");
    let mut refused = 0u64;
    let made = super::one_by_one(bench, &name, || when_allowed(kind).map(|looks| refused += looks))?;
    bench.note(&name, "refusals_per_child", refused as f64 / made as f64);
    Ok(())
}

fn one(kind: Kind) -> Result<(), Stop> {
    Ok(come_and_go(kind.flags, 0)?)
}

/// Makes one as soon as the limit allows; yields how often it was refused.
fn when_allowed(kind: Kind) -> Result<u64, Stop> {
    let mut since = None;
    for refused in 0.. {
        match come_and_go(kind.flags, 0) {
            Err(CloneError::Refused(error)) if error.raw_os_error() == Some(libc::ENOSPC) => {
                let since = *since.get_or_insert_with(Instant::now);
                check(since.elapsed() < LONGEST, "a namespace was not taken apart in 5 s")?;
                thread::sleep(LOOK);
            }
            other => return Ok(other.map(|()| refused)?),
        }
    }
    Ok(0)
}

/// Puts this worker into a user namespace of its own, in which it is root.
fn enter_user_namespace() -> Result<(), Stop> {
    // SAFETY: no arguments.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no pointers; the worker is single-threaded.
    let entered = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
    cvt("a user namespace", entered).map_err(|stop| match stop {
        Stop::Fail(reason) => Stop::skip(reason),
        skip => skip,
    })?;
    let write =
        |file: &str, text: String| -> io::Result<()> { fs::write(format!("/proc/self/{file}"), text) };
    write("setgroups", "deny".into())
        .and_then(|()| write("uid_map", format!("0 {user} 1")))
        .and_then(|()| write("gid_map", format!("0 {group} 1")))
        .map_err(|e| Stop::unavailable("mapping the user into a user namespace", &e))
}
