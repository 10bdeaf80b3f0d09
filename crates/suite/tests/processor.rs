//! The benchmarks of the processor itself, run for real and briefly.

mod brief;

use brief::{line, measured, run, value};
use record::Status;

#[test]
fn arithmetic_is_measured_and_every_row_is_a_control() {
    for kind in ["i32", "i64", "f32", "f64"] {
        let lines = run(&format!("ops.{kind}"));
        assert!(measured(&lines));
        assert!(value(&lines, &format!("ops.{kind}.div")) > value(&lines, &format!("ops.{kind}.add")));
        assert!(lines.iter().all(|line| line.control), "{kind}");
    }
    measured(&run("ops.f64.bogomflops"));
}

#[test]
fn bandwidth_falls_from_the_first_cache_to_memory() {
    let (near, far) = (run("bw.mem.cache"), run("bw.mem"));
    measured(&far);
    if measured(&near) && line(&far, "bw.mem.read").status == Status::Ok {
        assert!(value(&near, "bw.mem.read.l1") > value(&far, "bw.mem.read"));
    }
    measured(&run("bw.stream"));
    measured(&run("bw.mem.all"));
}

#[test]
fn the_clock_and_the_load_it_bears_are_plausible() {
    let clock = run("sys.clock_mhz");
    if measured(&clock) {
        assert!((10.0..10_000.0).contains(&value(&clock, "sys.clock_mhz")));
    }
    assert!(measured(&run("sys.load_scaling")));
}
