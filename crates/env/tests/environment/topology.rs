//! CPU placement on machines the tests describe.

use crate::fixture::Fixture;
use environment::{Placement, Topology};

/// Two NUMA nodes, each one package with two last-level caches, each of two cores with two threads.
/// Thread siblings are numbered apart by 8, as Linux does.
fn server(allowed: &str) -> Fixture {
    let machine = Fixture::empty();
    machine
        .file("/sys/devices/system/cpu/online", "0-15")
        .file("/proc/self/status", &format!("Cpus_allowed_list:\t{allowed}\n"));
    for core in 0..8 {
        let llc = core / 2 * 2;
        let cache = format!("{llc}-{},{}-{}", llc + 1, llc + 8, llc + 9);
        for cpu in [core, core + 8] {
            machine.cpu(cpu, core / 4, &format!("{core},{}", core + 8), &cache);
        }
    }
    for node in 0..2 {
        let base = format!("/sys/devices/system/node/node{node}");
        machine
            .file(
                &format!("{base}/cpulist"),
                &format!("{}-{},{}-{}", node * 4, node * 4 + 3, node * 4 + 8, node * 4 + 11),
            )
            .file(
                &format!("{base}/meminfo"),
                &format!("Node {node} MemTotal:       33554432 kB\nNode {node} MemFree: 1 kB\n"),
            )
            .file(&format!("{base}/distance"), if node == 0 { "10 21" } else { "21 10" });
    }
    machine.file("/sys/devices/system/node/online", "0-1");
    machine
}

#[test]
fn every_class_of_pair_is_found_on_a_two_node_server() {
    let topology = Topology::read(&server("0-15").root());
    assert_eq!((topology.cpus.len(), topology.cores(), topology.nodes.len()), (16, 8, 2));
    assert_eq!(topology.llc_groups().len(), 4);
    assert_eq!(topology.nodes[1].distances, [21, 10]);
    assert_eq!(topology.cache_bytes(3), Some(16 << 20));
    assert_eq!(topology.placement(0, 8), Some(Placement::Smt));
    assert_eq!(topology.placement(0, 1), Some(Placement::Core));
    assert_eq!(topology.placement(0, 2), Some(Placement::CrossLlc));
    assert_eq!(topology.placement(0, 4), Some(Placement::Node));
    assert_eq!(topology.placement(3, 3), None);
    assert_eq!(topology.placement(3, 16), None);
    for placement in Placement::ALL {
        let (a, b) = topology.pair(placement).expect("a pair of each class");
        assert_eq!(topology.placement(a, b), Some(placement));
        assert!(a != 0 && b != 0, "CPU 0 takes interrupts and is not needed for {placement}");
    }
}

#[test]
fn a_restricted_cpuset_limits_the_pairs_and_says_so() {
    let topology = Topology::read(&server("1,3").root());
    assert_eq!(topology.allowed, [1, 3]);
    assert_eq!(topology.pair(Placement::CrossLlc), Ok((1, 3)));
    for placement in [Placement::Smt, Placement::Core, Placement::Node] {
        let reason = topology.pair(placement).expect_err("not among CPUs 1 and 3").reason;
        assert!(reason.contains("allowed CPUs 1,3"), "{reason}");
    }
}

#[test]
fn offline_siblings_are_no_siblings() {
    let machine = server("0-15");
    machine.file("/sys/devices/system/cpu/online", "0-7");
    let topology = Topology::read(&machine.root());
    assert_eq!(topology.cores(), 8);
    assert_eq!(topology.allowed, (0..8).collect::<Vec<_>>());
    assert!(topology.pair(Placement::Smt).is_err());
}

#[test]
fn big_cores_are_preferred_and_not_mixed_with_small_ones() {
    let machine = Fixture::empty();
    machine.file("/sys/devices/system/cpu/online", "0-5");
    for cpu in 0..6 {
        let capacity = if cpu < 4 { "400" } else { "1024" };
        machine
            .cpu(cpu, 0, &cpu.to_string(), "0-5")
            .file(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    let topology = Topology::read(&machine.root());
    assert_eq!(topology.pair(Placement::Core), Ok((4, 5)));
    let kinds = &machine.collect()["topology"]["core_kinds"];
    assert_eq!(kinds, &serde_json::json!({"capacities": [400, 1024]}));
}

#[test]
fn without_sys_the_cpus_come_from_cpuinfo() {
    let machine = Fixture::empty();
    machine.file("/proc/cpuinfo", "processor : 0\n\nprocessor : 1\n\nprocessor : 2\n");
    let topology = Topology::read(&machine.root());
    assert_eq!(topology.allowed, [0, 1, 2]);
    assert_eq!(
        topology.placement(0, 2),
        Some(Placement::Core),
        "no cache is described, and all are of one unknown package"
    );
    assert!(topology.caches.is_empty() && topology.nodes.is_empty());
    let section = &machine.collect()["topology"];
    assert!(section["caches"]["value"].is_null() && section["caches"]["reason"].is_string());
    assert!(section["packages"]["reason"].is_string());
}

#[test]
fn packages_stand_for_caches_that_are_not_described() {
    let machine = Fixture::empty();
    machine.file("/sys/devices/system/cpu/online", "0-3");
    for cpu in 0..4 {
        machine.file(
            &format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
            &(cpu / 2).to_string(),
        );
    }
    let topology = Topology::read(&machine.root());
    assert_eq!(topology.placement(0, 1), Some(Placement::Core));
    assert_eq!(topology.placement(1, 2), Some(Placement::CrossLlc));
}
