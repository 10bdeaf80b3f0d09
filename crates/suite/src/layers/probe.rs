//! `syscall.null.tracepoint`, `syscall.null.kprobe`: a null call with a probe attached.
//!
//! Timed: raw `getppid` calls while a perf event of this process counts the tracepoint `raw_syscalls:sys_enter`, or a
//! kprobe on `sys_getppid`. Per call; `.added` is the difference to the bare call of the same process. A tracepoint
//! on system call entry moves the thread to the kernel's slow entry path, which is part of the number.
//! The probe belongs to a descriptor of this process, so the kernel detaches it however the process ends.
//! Proof: the event has counted at least as many hits as there were calls.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

use environment::Root;
use harness::prelude::*;
use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, PERF_TYPE_TRACEPOINT, perf_event_attr};

use super::{bare_ns, layered, measure};

const TRACEPOINT: [&str; 2] = ["syscall.null.tracepoint", "syscall.null.tracepoint.added"];
const KPROBE: [&str; 2] = ["syscall.null.kprobe", "syscall.null.kprobe.added"];

/// Both benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    vec![
        layered(
            TRACEPOINT[0],
            TRACEPOINT[1],
            "while a perf event of this process counts the tracepoint raw_syscalls:sys_enter",
            |bench| {
                let mut attributes = perf_event_attr::default();
                attributes.type_ = PERF_TYPE_TRACEPOINT;
                attributes.config = tracepoint_id()?;
                run(bench, TRACEPOINT, attributes)
            },
        ),
        layered(
            KPROBE[0],
            KPROBE[1],
            "while a perf event of this process counts a kprobe on sys_getppid",
            |bench| {
                let function = CString::new(function_name()).map_err(|e| Stop::fail(e.to_string()))?;
                let mut attributes = perf_event_attr::default();
                attributes.type_ = kprobe_type()?;
                attributes.__bindgen_anon_3.kprobe_func = function.as_ptr() as u64;
                run(bench, KPROBE, attributes)
            },
        ),
    ]
}

fn run(bench: &mut Bench, [name, added]: [&'static str; 2], attributes: perf_event_attr) -> Result<(), Stop> {
    let bare = bare_ns(bench);
    let mut event = attach(attributes)?;
    let calls = measure(bench, name, added, bare)?;
    let mut hits = [0u8; 8];
    event.read_exact(&mut hits).map_err(|e| Stop::fail(format!("reading the probe's count: {e}")))?;
    let hits = u64::from_ne_bytes(hits);
    check(hits >= calls, &format!("{calls} calls hit the probe {hits} times"))
}

/// Opens the event for this thread; it counts at once.
fn attach(mut attributes: perf_event_attr) -> Result<File, Stop> {
    attributes.size = size_of::<perf_event_attr>() as u32;
    // SAFETY: attributes live through the call, and so does the name they may point to.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw mut attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)
    };
    let fd = cvt("perf_event_open of the probe", fd)?;
    // SAFETY: the descriptor was just returned and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

/// The number of `raw_syscalls:sys_enter`, from tracefs where it is mounted.
fn tracepoint_id() -> Result<u64, Stop> {
    let root = Root::host();
    let paths = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let ids = paths.map(|path| root.number(&format!("{path}/events/raw_syscalls/sys_enter/id")));
    match ids {
        [Ok(id), _] | [_, Ok(id)] => Ok(id as u64),
        [Err(missing), _] => Err(Stop::skip(format!("the tracepoint can't be named: {missing}"))),
    }
}

fn kprobe_type() -> Result<u32, Stop> {
    Root::host()
        .number("/sys/bus/event_source/devices/kprobe/type")
        .map(|number| number as u32)
        .map_err(|missing| Stop::skip(format!("no kprobes through perf here: {missing}")))
}

/// The kernel's name of the entry of getppid (syscall wrappers, `arch/*/include/asm/syscall_wrapper.h`).
fn function_name() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "__x64_sys_getppid",
        "aarch64" => "__arm64_sys_getppid",
        "riscv64" => "__riscv_sys_getppid",
        "s390x" => "__s390x_sys_getppid",
        _ => "sys_getppid",
    }
}
