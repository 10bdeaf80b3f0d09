//! Containers, control groups, sandboxes, hypervisors, counters and file systems around this process.

use crate::fixture::Fixture;
use environment::{doctor, known, reason_of};
use serde_json::{Value, json};

fn has(environment: &Value, field: &str) -> bool {
    doctor(environment).iter().any(|finding| finding.field == field)
}

#[test]
fn the_tightest_limit_on_the_way_up_counts_in_the_unified_hierarchy() {
    let machine = Fixture::plain();
    let base = "/sys/fs/cgroup";
    machine
        .file("/proc/self/cgroup", "0::/slice/job/step\n")
        .file("/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n")
        .file(&format!("{base}/slice/cpu.max"), "150000 100000")
        .file(&format!("{base}/slice/job/cpu.max"), "max 100000")
        .file(&format!("{base}/slice/job/memory.max"), "67108864")
        .file(&format!("{base}/slice/job/step/memory.max"), "max")
        .file(&format!("{base}/slice/job/step/cpuset.cpus.effective"), "1")
        .file(
            &format!("{base}/slice/job/step/cpu.stat"),
            "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 700\n",
        );
    let environment = machine.collect();
    let cgroup = &environment["cgroup"];
    assert_eq!(environment["sitting"]["cgroup"], "/slice/job/step");
    assert_eq!((&cgroup["version"], &cgroup["cpu_quota_cpus"]), (&json!(2), &json!(1.5)));
    assert_eq!((&cgroup["memory_max_bytes"], &cgroup["cpuset"]), (&json!(67_108_864), &json!("1")));
    assert_eq!(cgroup["pids_max"], "unlimited");
    assert_eq!(environment["now"]["throttled_by_quota"], json!({"times": 3, "us": 700}));
    assert!(has(&environment, "cgroup.cpu_quota_cpus") && has(&environment, "now.throttled_by_quota"));
}

#[test]
fn limits_of_the_old_hierarchies_are_read_inside_a_container() {
    let machine = Fixture::plain();
    let mounts = ["memory", "cpu,cpuacct", "cpuset"]
        .map(|name| format!("30 1 0:26 /docker/abc /sys/fs/cgroup/{name} ro - cgroup cgroup rw,{name}\n"));
    machine
        .file("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpuset:/docker/abc\n2:cpu,cpuacct:/docker/abc\n")
        .file("/proc/self/mountinfo", &mounts.concat())
        .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912")
        .file("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "9223372036854771712")
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000")
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000")
        .file("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0");
    let environment = machine.collect();
    let cgroup = &environment["cgroup"];
    assert_eq!((&cgroup["version"], &cgroup["cpu_quota_cpus"]), (&json!(1), &json!(0.5)));
    assert_eq!(
        (&cgroup["memory_max_bytes"], &cgroup["swap_max_bytes"]),
        (&json!(536_870_912), &json!("unlimited"))
    );
    assert!(reason_of(&cgroup["pids_max"]).is_some());
    assert_eq!(environment["machine"]["container"]["kind"], "docker");
}

#[test]
fn containers_and_sandboxes_show_by_their_signs() {
    let machine = Fixture::plain();
    let kind = |machine: &Fixture| machine.collect()["machine"]["container"]["kind"].clone();
    assert_eq!(kind(&machine), "none");
    machine.file(
        "/proc/self/mountinfo",
        "1 1 0:30 / / rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,workdir=/d\n",
    );
    assert_eq!(kind(&machine), "unnamed");
    assert!(!machine.collect()["filesystem"]["options"].as_str().expect("known").contains("/a"));
    machine.file("/proc/self/cgroup", "0::/kubepods.slice/pod1/x\n");
    assert_eq!(kind(&machine), "kubernetes");

    assert_eq!(machine.collect()["machine"]["sandbox"], "none");
    machine.file("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016");
    let environment = machine.collect();
    assert_eq!(environment["machine"]["sandbox"], "gvisor");
    assert!(has(&environment, "machine.sandbox"));
}

#[test]
fn a_missing_pmu_is_the_hypervisors_when_there_is_one() {
    let machine = Fixture::plain();
    machine.file("/sys/bus/event_source/devices/software/type", "1");
    let core = |machine: &Fixture| machine.collect()["pmu"]["core"].clone();
    assert!(reason_of(&core(&machine)).is_some_and(|reason| reason.contains("no driver")));
    machine.file("/sys/class/dmi/id/sys_vendor", "QEMU");
    assert_eq!(reason_of(&core(&machine)), Some("no PMU exposed by the hypervisor (qemu)"));
    assert!(has(&machine.collect(), "pmu.core"));
    machine.file("/sys/bus/event_source/devices/armv8_pmuv3_0/type", "8");
    assert_eq!(core(&machine), json!(["armv8_pmuv3_0"]));
    assert!(!has(&machine.collect(), "pmu.core"));
}

#[test]
fn bare_metal_of_a_cloud_is_no_virtual_machine() {
    let machine = Fixture::plain();
    machine
        .file("/sys/class/dmi/id/sys_vendor", "Amazon EC2")
        .file("/sys/class/dmi/id/product_name", "m7i.metal-24xl");
    assert_eq!(machine.collect()["machine"]["hypervisor"], "none");
    machine.file("/sys/class/dmi/id/product_name", "m7i.large");
    assert_eq!(machine.collect()["machine"]["hypervisor"], "nitro");
}

#[test]
fn filters_limits_and_speculation_of_this_process_are_seen() {
    let machine = Fixture::plain();
    machine
        .file(
            "/proc/self/status",
            "Uid:\t0\t0\t0\t0\nCapEff:\t0000004000804000\nSeccomp:\t2\nSeccomp_filters:\t1\nNoNewPrivs:\t1\n\
             Speculation_Store_Bypass:\tthread force mitigated\nCpus_allowed_list:\t1\n",
        )
        .file("/proc/self/limits", "Limit  Soft Limit  Hard Limit  Units\nMax open files            64        4096      files\n")
        .file("/proc/self/stat", "42 (a ) b) R 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 -5 1 0 99 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 1 0 1 0 0 0");
    let environment = machine.collect();
    assert_eq!(environment["security"]["seccomp"], "filter");
    assert_eq!(environment["security"]["no_new_privs"], true);
    let held = |name: &str| environment["security"]["capabilities"][name] == true;
    assert!(held("ipc_lock") && held("sys_nice") && held("perfmon") && !held("sys_admin"));
    assert_eq!(environment["process"]["limits"]["open_files"], 64);
    assert!(reason_of(&environment["process"]["limits"]["stack_bytes"]).is_some());
    assert_eq!(
        (&environment["process"]["nice"], &environment["process"]["policy"]),
        (&json!(-5), &json!("fifo"))
    );
    for field in [
        "security.seccomp",
        "security.speculation_store_bypass",
        "process.limits.open_files",
        "process.policy",
        "topology.allowed",
    ] {
        assert!(has(&environment, field), "{field}");
    }
}

#[test]
fn the_disk_below_the_test_directory_is_described() {
    let machine = Fixture::plain();
    machine
        .file(
            "/proc/self/mountinfo",
            "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /data/my\\040disk rw,noatime - btrfs /dev/nvme0n1 rw,compress=zstd\n",
        )
        .file("/sys/class/block/nvme0n1/queue/scheduler", "[none] mq-deadline kyber")
        .file("/sys/class/block/nvme0n1/queue/rotational", "0");
    let options =
        environment::Options { directory: Some("/data/my disk/tmp".into()), ..crate::fixture::options() };
    let environment = environment::collect(&machine.root(), &options);
    let file_system = &environment["filesystem"];
    assert_eq!(
        (&file_system["type"], &file_system["mount_point"]),
        (&json!("btrfs"), &json!("/data/my disk"))
    );
    assert_eq!(file_system["options"], "rw,noatime,compress=zstd");
    assert_eq!(
        (&file_system["device"]["scheduler"], &file_system["device"]["rotational"]),
        (&json!("none"), &json!(false))
    );
    assert!(
        reason_of(&machine.collect()["filesystem"]["device"]).is_some(),
        "the disk of / is not described"
    );
}

#[test]
fn watchers_of_the_kernel_are_noise() {
    let machine = Fixture::plain();
    machine
        .file("/sys/kernel/debug/tracing/current_tracer", "nop\n")
        .file("/proc/vmallocinfo", "0x1-0x2 8192 bpf_prog_alloc_no_stats+0x5\n0x3 x\n");
    let environment = machine.collect();
    assert_eq!(known(&environment, "observers.bpf_programs"), Some(&json!(1)));
    assert!(!has(&environment, "observers.tracer"));
    machine
        .file("/sys/kernel/tracing/current_tracer", "function\n")
        .file("/sys/kernel/debug/kprobes/list", "ffff k do_sys_open+0x0\n");
    let environment = machine.collect();
    assert!(has(&environment, "observers.tracer") && has(&environment, "observers.kprobes"));
    let findings = doctor(&environment);
    assert!(findings.is_sorted_by_key(|finding| finding.severity));
    assert!(findings.iter().all(|finding| !finding.why.is_empty() && !finding.todo.is_empty()));
    machine.file("/proc/vmallocinfo", &"0x3-0x4 4096 bpf_prog_alloc_no_stats+0x5\n".repeat(20_000));
    let programs = &machine.collect()["observers"]["bpf_programs"];
    assert!(reason_of(programs).is_some_and(|reason| reason.contains("too long")), "{programs}");
}
