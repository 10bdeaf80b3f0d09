//! What no older suite measures, run for real and briefly: layers, rings, namespaces, futexes, load.

mod brief;

use brief::{measured, run_tidily as run, value};
use record::Status;

#[test]
fn filters_and_probes_cost_something_where_they_are_permitted() {
    for name in ["seccomp", "seccomp_bitmap", "tracepoint", "kprobe"] {
        let metric = format!("syscall.null.{name}");
        // In a thread of its own: a filter stays for the thread's life.
        let lines = run(&metric);
        let line = lines.iter().find(|line| line.metric == metric).expect("a line");
        assert!(matches!(line.status, Status::Ok | Status::Skipped), "{metric}: {:?}", line.reason);
        if line.status == Status::Ok {
            let (with, bare) = (value(&lines, &metric), line.extra["bare_ns"].as_f64().expect("a number"));
            assert!(bare > 0.0 && with > 0.5 * bare, "{metric}: {with} ns with, {bare} ns without");
        }
    }
}

#[test]
fn a_system_call_costs_more_than_the_vdso() {
    let gettime = run("clock.gettime");
    let by_call = run("clock.gettime_syscall");
    // Equal where the vDSO falls back to the call; never clearly dearer.
    let (vdso, call) = (value(&gettime, "clock.gettime"), value(&by_call, "clock.gettime_syscall"));
    assert!(vdso < 2.0 * call, "{vdso} {call}");
    measured(&run("syscall.getrandom"));
    measured(&run("syscall.sched_yield"));
}

#[test]
fn every_way_to_switch_and_to_sleep_works() {
    for name in
        ["ctx.pipe.2t.0k", "ctx.yield.2p", "ctx.yield.2t", "ctx.pipe.2p.0k.vector", "sig.catch.vector"]
    {
        measured(&run(name));
    }
    for length in ["1us", "50us", "1ms"] {
        measured(&run(&format!("timer.sleep.{length}")));
        measured(&run(&format!("timer.sleep.{length}.noslack")));
    }
}

#[test]
fn rings_and_epoll_pass_the_same_bytes() {
    for name in ["uring.nop", "uring.nop.defer", "uring.nop.batch8", "uring.read", "uring.read.defer"] {
        measured(&run(name));
    }
    value(&run("uring.read.epoll"), "uring.read.epoll");
}

#[test]
fn futexes_are_looked_up_alone_and_in_a_crowd() {
    for name in ["futex.hash.private", "futex.hash.shared", "futex.waitv"] {
        measured(&run(&format!("{name}.1t")));
        measured(&run(&format!("{name}.nt")));
    }
}

#[test]
fn more_load_is_really_there() {
    let used = |percent: u32| {
        let lines = run(&format!("sched.wake.load{percent}"));
        let metric = format!("sched.wake.load{percent}");
        value(&lines, &metric);
        let line = lines.iter().find(|line| line.metric == metric).expect("a line");
        let cpus = harness::allowed_cpus().expect("a mask").len() as f64;
        (
            line.extra["load_threads"].as_u64().expect("a count") as f64 / cpus,
            line.extra["load_cpus_used"].clone(),
        )
    };
    assert_eq!(used(50).0, 1.0);
    assert_eq!(used(100).0, 1.0);
    let (threads, cpus) = used(150);
    assert!(threads >= 1.5 && cpus.as_f64().expect("a number") > 0.0);
}
