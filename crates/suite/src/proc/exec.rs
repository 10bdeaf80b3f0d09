//! `proc.exec`, `proc.exec_dynamic`, `proc.sh`: a process made to run another program.
//!
//! Timed: a raw fork of a small process, `execve` in the child, the program until it exits, and the wait for it, on one
//! CPU. Per process. `proc.exec` runs the tiny static program (no C library, one page); `proc.exec_dynamic` the system's
//! `true`, with its dynamic linker; `proc.sh` the tiny program through `/bin/sh -c`. The environment is empty. Which
//! files these are is in the record: their C library and shell are part of the number.
//! Proof: every child is reaped with status 0.

use std::io::Read;
use std::path::Path;

use harness::prelude::*;

use super::child;
use super::program::{EXEC_FAILED, Program, c_path, c_string};

/// Where `true` may be; taken is the first that is dynamically linked.
const TRUE: [&str; 3] = ["/bin/true", "/usr/bin/true", "/run/current-system/sw/bin/true"];
const SHELL: &str = "/bin/sh";

/// The three benchmarks.
pub fn benchmarks() -> [Benchmark; 3] {
    let metric = |name: &str, doc: &str| time(name, "fork, exec, exit and wait", doc).blocking();
    [
        Benchmark::new("proc.exec", run_static)
            .metric(metric("proc.exec", "fork and execve of a tiny static program, until it is reaped.")),
        Benchmark::new("proc.exec_dynamic", run_dynamic)
            .metric(metric("proc.exec_dynamic", "fork and execve of the system's dynamically linked true.")),
        Benchmark::new("proc.sh", run_shell).metric(metric(
            "proc.sh",
            "fork and /bin/sh -c of the tiny static program, until the shell is reaped.",
        )),
    ]
}

fn run_static(bench: &mut Bench) -> Result<(), Stop> {
    let program = Program::tiny(bench, "proc.exec", None)?;
    time_runs(bench, "proc.exec", &program)
}

fn run_dynamic(bench: &mut Bench) -> Result<(), Stop> {
    let path = TRUE.into_iter().map(Path::new).find(|path| is_dynamic(path));
    let path =
        path.ok_or_else(|| Stop::skip(format!("no dynamically linked program at {}", TRUE.join(", "))))?;
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    bench.note("proc.exec_dynamic", "program", real.display().to_string());
    let program = Program::new(c_path(path)?, vec![]);
    runnable(&program, path)?;
    time_runs(bench, "proc.exec_dynamic", &program)
}

fn run_shell(bench: &mut Bench) -> Result<(), Stop> {
    let shell = Path::new(SHELL);
    let real = shell.canonicalize().map_err(|e| Stop::skip(format!("{SHELL}: {e}")))?;
    let tiny = Program::tiny(bench, "proc.sh", None)?;
    bench.note("proc.sh", "shell", real.display().to_string());
    // The script names the program by $0, so that no character of its path means anything to the shell.
    let arguments = vec![c_string("-c")?, c_string("\"$0\"")?, tiny.file().to_owned()];
    let program = Program::new(c_path(shell)?, arguments);
    runnable(&program, shell)?;
    time_runs(bench, "proc.sh", &program)
}

fn time_runs(bench: &mut Bench, metric: &str, program: &Program) -> Result<(), Stop> {
    bench.measure(metric, |iterations, timer| {
        timer.time(|| {
            (0..iterations).try_for_each(|_| {
                let pid = child::fork()?;
                if pid == 0 {
                    program.execute();
                }
                child::reap(pid).map(drop)
            })
        })
    })
}

/// Runs a program of the system once; one that this user may not execute is a reason to skip.
fn runnable(program: &Program, path: &Path) -> Result<(), Stop> {
    match program.try_once()? {
        0 => Ok(()),
        EXEC_FAILED => Err(Stop::skip(format!("{} can't be executed here", path.display()))),
        status => Err(Stop::skip(format!("{} exits with {status} here", path.display()))),
    }
}

/// Whether `path` is an ELF64 file that names a dynamic linker (a program header of type PT_INTERP = 3).
fn is_dynamic(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut bytes));
    if read.is_err() || bytes.len() < 64 || bytes[..5] != *b"\x7fELF\x02" {
        return false;
    }
    let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]) as usize;
    let headers = bytes[32..40].try_into().map_or(0, u64::from_ne_bytes) as usize;
    let (size, count) = (half(54), half(56));
    (0..count).any(|i| {
        let at = headers.saturating_add(i * size);
        bytes.get(at..at.saturating_add(4)) == Some(&3u32.to_ne_bytes()[..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_linker_is_found_in_the_headers() {
        let dir = tempfile::tempdir().unwrap();
        let tiny = harness::TinyProgram::write_to(dir.path()).unwrap();
        assert!(!is_dynamic(tiny.path()));
        assert!(!is_dynamic(Path::new("/proc/self/stat")));
        let mut bytes = std::fs::read(tiny.path()).unwrap();
        bytes[64 + 56] = 3;
        bytes[64 + 57..64 + 60].fill(0);
        let changed = dir.path().join("changed");
        std::fs::write(&changed, bytes).unwrap();
        assert!(is_dynamic(&changed));
    }
}
