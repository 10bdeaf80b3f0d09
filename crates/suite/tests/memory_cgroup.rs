//! The memory cgroup benchmark, in a test program of its own since it moves the whole process.

mod brief;

use brief::{measured, run};

#[test]
fn charges_are_measured_and_no_cgroup_is_left() {
    measured(&run("vm.memcg"));
    let own = environment::memory_cgroup(&environment::Root::host());
    let made = own.map(|own| harness::memory_cgroup_below(&own, 0));
    assert!(made.as_ref().is_none_or(|cgroup| !cgroup.exists()), "{made:?} is left");
}
