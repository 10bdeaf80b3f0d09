//! The benchmarks of files and of the memory map, run for real and briefly: their numbers and their proofs.

mod brief;

use brief::{line, measured, run, value};
use harness::allowed_cpus;
use record::Invocation;

fn note(lines: &[Invocation], metric: &str, key: &str) -> f64 {
    line(lines, metric).extra[key].as_f64().expect("a number")
}

/// One test, since huge pages are kept out of the whole process after the first.
#[test]
fn faults_are_as_many_as_expected_and_map_what_they_say() {
    let huge = run("vm.fault.huge");
    if measured(&huge) {
        let pages = value(&huge, "vm.fault.huge") / value(&huge, "vm.fault.huge.page");
        assert!(pages >= 64.0, "a huge fault maps many base pages, not {pages}");
        let touched = note(&huge, "vm.fault.huge", "huge_faults");
        assert!(note(&huge, "vm.fault.huge", "thp_fault_alloc_rise") >= touched);
    }
    let write = run("vm.fault.anon_write");
    assert_eq!(note(&write, "vm.fault.anon_write", "pages_per_fault"), 1.0);
    let witness = &line(&write, "vm.fault.anon_write").witness;
    assert!(witness["minor_faults"].as_f64() >= witness["work_done"].as_f64(), "{witness:?}");
    assert!(value(&write, "vm.fault.anon_write") > value(&run("vm.fault.anon_read"), "vm.fault.anon_read"));
    let file = run("vm.fault.file");
    let around = value(&file, "vm.fault.file") / value(&file, "vm.fault.file.page");
    assert!((note(&file, "vm.fault.file", "pages_per_fault") / around - 1.0).abs() < 0.2);
    for name in ["vm.fault.cow_copy", "vm.fault.cow_reuse"] {
        assert!(value(&run(name), name) > 0.0);
    }
}

#[test]
fn a_larger_mapping_takes_longer_to_touch() {
    assert!(value(&run("vm.mmap.8m"), "vm.mmap.8m") > 2.0 * value(&run("vm.mmap.1m"), "vm.mmap.1m"));
}

#[test]
fn flushes_are_measured_alone_and_beside_a_running_thread() {
    for operation in ["mprotect", "dontneed", "munmap"] {
        let alone = run(&format!("vm.flush.{operation}.0t"));
        assert!(measured(&alone));
        let beside = run(&format!("vm.flush.{operation}.1t"));
        if measured(&beside) {
            let metric = format!("vm.flush.{operation}.64p.1t");
            assert_eq!(note(&beside, &metric, "threads_beside"), 1.0);
        }
        measured(&run(&format!("vm.flush.{operation}.nt")));
    }
}

#[test]
fn files_come_and_go_and_their_place_is_noted() {
    for name in ["fs.create.0k", "fs.create.10k", "fs.create.10k.fsync"] {
        let lines = run(name);
        assert!(value(&lines, name) > 0.0 && value(&lines, &name.replace("create", "delete")) > 0.0);
        assert!(line(&lines, name).extra["file_system"].is_string());
    }
}

/// Skips only for a stated reason; the ones that every Linux of this century offers must be measured.
#[test]
fn calls_on_memory_do_what_they_say() {
    for name in ["vm.mremap", "bw.splice", "bw.sendfile"] {
        assert!(measured(&run(name)), "{name}");
    }
    let advice = run("vm.madvise");
    value(&advice, "vm.madvise.dontneed");
    value(&advice, "vm.madvise.free");
    measured(&advice);
    for name in ["vm.brk", "vm.userfault.missing", "vm.userfault.wp", "vm.swapin.zram"] {
        measured(&run(name));
    }
}

#[test]
fn threads_of_one_memory_are_measured_up_to_all_cpus() {
    let cpus = allowed_cpus().expect("a CPU mask").len();
    for task in ["fault_anon", "fault_file", "mmap", "mprotect"] {
        let lines = run(&format!("vm.mt.{task}"));
        assert!(measured(&lines));
        let all = format!("vm.mt.{task}.{cpus}t");
        assert_eq!(note(&lines, &all, "threads"), cpus as f64);
        assert_eq!(lines.iter().any(|line| line.metric.ends_with(".writer")), cpus > 1);
    }
}

#[test]
fn folios_are_of_the_size_that_the_row_says() {
    for (label, bytes) in [("4k", 4096.0), ("64k", 65536.0), ("2m", 2097152.0)] {
        let lines = run(&format!("vm.folio.{label}"));
        if measured(&lines) {
            assert_eq!(note(&lines, &format!("vm.folio.read.{label}"), "folio_bytes"), bytes);
        }
    }
}
