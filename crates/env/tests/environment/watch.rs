//! Kernel messages, counters and taint between two moments.

use std::fs::OpenOptions;
use std::io::Write;

use crate::fixture::Fixture;
use environment::{KernelReport, KernelWatch, Root};

fn say(machine: &Fixture, text: &str) {
    let path = machine.root().path("/dev/kmsg");
    let mut log = OpenOptions::new().append(true).open(path).expect("the log");
    log.write_all(text.as_bytes()).expect("a message");
}

#[test]
fn only_messages_behind_the_mark_count() {
    let machine = Fixture::plain();
    machine
        .file("/dev/kmsg", "4,1,1,-;WARNING: CPU: 0 PID: 1 at old.c:1 old\n")
        .file("/proc/sys/kernel/tainted", "1");
    let watch = KernelWatch::start(&machine.root());
    say(&machine, "6,2,5,-;usb 1-1: new device\n12,3,6,-;some daemon says BUG: not the kernel\n");
    assert_eq!(watch.finish(), KernelReport::default());
}

#[test]
fn a_warning_an_oops_and_new_taint_void_the_run() {
    let machine = Fixture::plain();
    machine.file("/dev/kmsg", "").file("/proc/sys/kernel/tainted", "1").file("/sys/kernel/warn_count", "3");
    let watch = KernelWatch::start(&machine.root());
    say(
        &machine,
        "4,7,9,-;WARNING: CPU: 1 PID: 9 at mm/x.c:7 f+0x1/0x2\n SUBSYSTEM=x BUG: continuation\n4,8,9,-;perf: interrupt took too long (2504 > 2500)\n",
    );
    machine.file("/proc/sys/kernel/tainted", "513").file("/sys/kernel/warn_count", "4");
    let report = watch.finish();
    assert_eq!(report.new_taint, ["warning"]);
    assert_eq!(report.counters, ["kernel warning (1 new)"]);
    assert_eq!(report.grave, ["WARNING: CPU: 1 PID: 9 at mm/x.c:7 f+0x1/0x2"]);
    assert_eq!(report.mild.len(), 1);
    let reason = report.void_reason().expect("void");
    assert!(reason.contains("new taint: warning") && reason.contains("mm/x.c:7"), "{reason}");
}

#[test]
fn a_log_that_can_not_be_read_is_said_and_counters_still_tell() {
    let machine = Fixture::plain();
    machine.file("/sys/kernel/oops_count", "0");
    let watch = KernelWatch::start(&machine.root());
    machine.file("/sys/kernel/oops_count", "1");
    let report = watch.finish();
    assert!(report.log_unreadable.as_ref().is_some_and(|reason| reason.contains("/dev/kmsg")));
    assert!(report.void_reason().is_some_and(|reason| reason.contains("kernel oops (1 new)")));
}

#[test]
fn a_flood_of_messages_is_bounded() {
    let machine = Fixture::plain();
    machine.file("/dev/kmsg", "");
    let watch = KernelWatch::start(&machine.root());
    say(&machine, &"4,8,9,-;BUG: again and again\n".repeat(50_000));
    assert_eq!(watch.finish().grave.len(), 20);
}

#[test]
fn this_machine_can_be_watched() {
    let report = KernelWatch::start(&Root::host()).finish();
    assert!(report.new_taint.is_empty(), "{report:?}");
}
