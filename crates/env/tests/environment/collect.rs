//! What is collected from machines the tests describe, and what is not.

use std::io::Write;

use crate::fixture::{Fixture, options};
use environment::{Options, Root, collect, diff, doctor, identity, known, reason_of};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

/// Every null in the object has a reason beside it.
fn nulls_have_reasons(value: &Value, path: &str) {
    match value {
        Value::Null => panic!("{path} is null without a reason"),
        Value::Object(_) if reason_of(value).is_some_and(|reason| !reason.is_empty()) => {}
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| nulls_have_reasons(value, &format!("{path}.{key}")))
        }
        Value::Array(array) => array.iter().for_each(|value| nulls_have_reasons(value, path)),
        _ => {}
    }
}

#[test]
fn an_empty_machine_is_unknown_with_reasons() {
    let environment = Fixture::empty().collect();
    nulls_have_reasons(&environment, "");
    for field in [
        "kernel.release",
        "memory.thp.enabled",
        "clock.source",
        "security.seccomp",
        "filesystem",
        "sitting.host",
    ] {
        assert_eq!(known(&environment, field), None, "{field}");
    }
    // The program's own build is known everywhere, and a development build is a finding.
    assert!(doctor(&environment).iter().all(|finding| finding.field.starts_with("tool")));
}

#[test]
fn this_machine_is_read_and_is_itself() {
    let once = collect(&Root::host(), &Options::default());
    let again = collect(&Root::host(), &Options::default());
    nulls_have_reasons(&once, "");
    assert!(known(&once, "kernel.release").is_some());
    assert!(
        known(&once, "memory.page_bytes")
            .and_then(Value::as_u64)
            .is_some_and(|bytes| bytes.is_power_of_two())
    );
    assert_eq!(diff(&identity(&once), &identity(&again)), []);
}

#[test]
fn files_full_of_rubbish_do_no_harm() {
    let machine = Fixture::plain();
    let rubbish: Vec<u8> = (0..4096u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for path in [
        "/proc/cpuinfo",
        "/proc/self/status",
        "/proc/self/stat",
        "/proc/self/cgroup",
        "/proc/self/mountinfo",
        "/proc/self/auxv",
        "/proc/self/limits",
        "/proc/self/maps",
        "/proc/self/environ",
        "/proc/stat",
        "/proc/loadavg",
        "/proc/meminfo",
        "/proc/cmdline",
        "/proc/config.gz",
        "/proc/version",
        "/proc/vmallocinfo",
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/node/online",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
        "/sys/devices/system/cpu/cpu0/cache/index2/size",
        "/sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    ] {
        machine.bytes(path, &rubbish);
    }
    nulls_have_reasons(&machine.collect(), "");
    machine
        .file("/sys/devices/system/cpu/online", "0-4294967295,7-3")
        .file("/proc/self/cgroup", &"0::/a\n".repeat(9999));
    machine
        .file("/sys/devices/system/cpu/cpu0/cache/index2/size", "99999999999999999999K")
        .file("/proc/self/stat", "1 (x");
    nulls_have_reasons(&machine.collect(), "");
}

#[test]
fn a_governor_that_is_not_shown_is_unknown_and_no_warning() {
    let machine = Fixture::plain();
    let environment = machine.collect();
    assert_eq!(known(&environment, "frequency.governor"), None);
    assert!(
        reason_of(&environment["frequency"]["governor"]).is_some_and(|reason| reason.contains("cpufreq"))
    );
    assert!(!doctor(&environment).iter().any(|finding| finding.field.starts_with("frequency")));

    machine.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "");
    assert_eq!(known(&machine.collect(), "frequency.governor"), None, "an empty file is not a governor");

    machine.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
    machine.file("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
    let environment = machine.collect();
    assert_eq!(environment["frequency"]["governor"], "powersave,performance");
    assert!(doctor(&environment).iter().any(|finding| finding.field == "frequency.governor"));
}

#[test]
fn the_preemption_mode_is_the_one_in_force() {
    let machine = Fixture::plain();
    let mode = |machine: &Fixture| machine.collect()["scheduler"]["preempt"].clone();
    assert!(reason_of(&mode(&machine)).is_some(), "uname's PREEMPT_DYNAMIC is no mode");

    machine
        .file("/boot/config-6.18.0", "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250\n");
    assert_eq!(mode(&machine), "voluntary");
    machine.file("/proc/cmdline", "quiet preempt=full -- preempt=none");
    assert_eq!(mode(&machine), "full");
    machine.file("/sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
    assert_eq!(mode(&machine), "lazy");
    machine.file("/sys/kernel/realtime", "1\n");
    assert_eq!(mode(&machine), "rt");
}

#[test]
fn two_machines_that_differ_in_preemption_differ_in_nothing_else() {
    let (one, two) = (Fixture::plain(), Fixture::plain());
    one.file("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
    two.file("/sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
    // What changes by the minute is not a difference.
    two.file("/proc/loadavg", "7.50 3.00 1.00 9/90 4242");
    let differences = diff(&one.collect(), &two.collect());
    assert_eq!(
        serde_json::to_value(&differences).expect("plain data"),
        json!([{"field": "scheduler.preempt", "a": "full", "b": "lazy"}])
    );
}

#[test]
fn unknown_against_known_is_a_difference_and_unknown_twice_is_not() {
    let (one, two) = (Fixture::plain(), Fixture::plain());
    two.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    let differences = diff(&one.collect(), &two.collect());
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].field, "clock.source");
    assert!(reason_of(&differences[0].a).is_some());
    let (a, b) = (
        json!({"x": {"value": null, "reason": "no permission"}}),
        json!({"x": {"value": null, "reason": "no file"}}),
    );
    assert_eq!(diff(&a, &b), []);
    assert_eq!(diff(&a, &json!({})), [], "not recorded is unknown too");
}

#[test]
fn host_and_boot_do_not_belong_to_the_identity() {
    let (one, two) = (Fixture::plain(), Fixture::plain());
    two.file("/proc/sys/kernel/hostname", "bench-08")
        .file("/proc/sys/kernel/random/boot_id", "11111111-0d7c-4a53-9d3c-3f3f1f0a9b11");
    let (one, two) = (one.collect(), two.collect());
    let fields: Vec<String> = diff(&one, &two).into_iter().map(|difference| difference.field).collect();
    assert_eq!(fields, ["sitting.host", "sitting.boot"]);
    assert_eq!(diff(&identity(&one), &identity(&two)), []);
}

#[test]
fn multi_size_huge_pages_are_listed_by_size() {
    let machine = Fixture::plain();
    let base = "/sys/kernel/mm/transparent_hugepage";
    machine
        .file(&format!("{base}/enabled"), "always [madvise] never")
        .file(&format!("{base}/hugepages-64kB/enabled"), "[always] inherit madvise never")
        .file(&format!("{base}/hugepages-2048kB/enabled"), "always [inherit] madvise never")
        .file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "12");
    let memory = &machine.collect()["memory"];
    assert_eq!(memory["thp"]["enabled"], "madvise");
    let sizes: Vec<&String> = memory["thp"]["mthp"].as_object().expect("an object").keys().collect();
    assert_eq!(sizes, ["64kB", "2048kB"]);
    assert_eq!(memory["thp"]["mthp"]["64kB"]["enabled"], "always");
    assert_eq!(memory["hugetlb"]["2048kB"]["pages"], 12);
    assert!(reason_of(&memory["hugetlb"]["2048kB"]["overcommit"]).is_some());
}

#[test]
fn the_configuration_hash_ignores_title_and_comments() {
    let (packed, plain) = (Fixture::plain(), Fixture::plain());
    let body = "CONFIG_HZ=1000\nCONFIG_KASAN=y\nCONFIG_CC_VERSION_TEXT=\"gcc 15\"\n";
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(format!("# Linux/x86 6.18.0\n{body}# CONFIG_KCSAN is not set\n").as_bytes())
        .expect("memory");
    packed.bytes("/proc/config.gz", &gz.finish().expect("memory"));
    plain.file("/boot/config-6.18.0", body);
    let (packed, plain) = (packed.collect(), plain.collect());
    assert_eq!(diff(&packed, &plain), [], "the place it was read from is no difference");
    assert_eq!(packed["kernel"]["hz"], 1000);
    assert_eq!(packed["kernel"]["config"]["notable"]["CC_VERSION_TEXT"], "gcc 15");
    assert_eq!(packed["kernel"]["config"]["debug"], json!({"KASAN": "y"}));
    assert!(
        doctor(&packed)
            .iter()
            .any(|finding| finding.field == "kernel.config.debug" && finding.what.contains("KASAN"))
    );
}

#[test]
fn every_option_is_kept_on_request() {
    let machine = Fixture::plain();
    machine.file("/boot/config-6.18.0", "CONFIG_HZ=100\nCONFIG_FOO=m\n");
    let all = |full_config| {
        collect(&machine.root(), &Options { full_config, ..options() })["kernel"]["config"]["all"].clone()
    };
    assert_eq!(all(true), json!({"FOO": "m", "HZ": "100"}));
    assert_eq!(all(false), Value::Null);
}

#[test]
fn taint_is_spelled_out() {
    let machine = Fixture::plain();
    machine.file("/proc/sys/kernel/tainted", "4609");
    let environment = machine.collect();
    let flags = json!(["proprietary_module", "warning", "out_of_tree_module"]);
    assert_eq!(environment["kernel"]["taint"], json!({"mask": 4609, "letters": "PWO", "flags": flags}));
    assert!(
        doctor(&environment)
            .iter()
            .any(|finding| finding.field == "kernel.taint" && finding.what.ends_with("warning"))
    );
}

#[test]
fn identities_of_machine_and_owner_are_not_collected() {
    let machine = Fixture::plain();
    let secrets = [
        "SN-0042-SECRET",
        "0b7f4f2e-3c7e-4d3b-8d5c-a2f5a7d1c9e0",
        "52:54:00:12:34:56",
        "hunter2",
        "bench-07",
    ];
    machine
        .file("/sys/class/dmi/id/product_name", "Model 1")
        .file("/sys/class/dmi/id/product_serial", secrets[0])
        .file("/sys/class/dmi/id/product_uuid", secrets[1])
        .file("/etc/machine-id", secrets[1])
        .file("/sys/class/net/eth0/address", secrets[2])
        .file(
            "/proc/cmdline",
            &format!("root=UUID={} api_key=hunter2 net={} -- hunter2", secrets[1], secrets[2]),
        )
        .file(
            "/proc/self/environ",
            "PASSWORD=hunter2\0LD_PRELOAD=/hunter2.so\0GLIBC_TUNABLES=glibc.malloc.hugetlb=1\0",
        )
        .file("/proc/self/mountinfo", "1 1 8:1 / / rw - cifs //hunter2/share rw,username=hunter2,vers=3.0\n");
    let environment = collect(&machine.root(), &Options { hash_host_name: true, ..options() });
    let text = environment.to_string();
    for secret in secrets.iter().chain(&["6f1c7e22"]) {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert_eq!(environment["machine"]["product"], "Model 1");
    assert_eq!(environment["process"]["preloaded_library"], true);
    assert_eq!(environment["process"]["tunables"], json!({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}));
    assert!(
        environment["filesystem"]["options"].as_str().is_some_and(|options| options.contains("vers=3.0"))
    );
    let again = collect(&machine.root(), &Options { hash_host_name: true, ..options() });
    assert_eq!(environment["sitting"]["host"], again["sitting"]["host"]);
}
