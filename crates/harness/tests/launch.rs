//! Commands under the launcher. Signal handlers and the reaping of orphans belong to a whole process, so one test does
//! all in turn.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use harness::{Clock, Finished, Held, Launcher, Order, Redirection, RunEnd, Signals, Watch, find_program};

struct Bench {
    launcher: Launcher,
    clock: Clock,
    signals: Signals,
}

impl Bench {
    fn hold(&mut self, program: &Path, arguments: &[OsString]) -> std::io::Result<Held> {
        self.launcher.hold(Order {
            program,
            arguments,
            environment: &[("ADDED".into(), "yes".into())],
            directory: Some(Path::new("/")),
            stdin: Redirection::Null,
            stdout: Redirection::Pipe,
            stderr: Redirection::Pipe,
            own_group: true,
        })
    }

    fn try_hold(&mut self, program: &Path, words: &[&str]) -> std::io::Result<Held> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        self.hold(program, &words)
    }

    fn run(&mut self, words: &[&str], limit: Option<Duration>) -> (Finished, Vec<u8>) {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let program = find_program(&arguments[0], None).unwrap_or_else(|_| words[0].into());
        self.execute(&program, &arguments, limit)
    }

    fn execute(
        &mut self,
        program: &Path,
        arguments: &[OsString],
        limit: Option<Duration>,
    ) -> (Finished, Vec<u8>) {
        let held = self.hold(program, arguments).unwrap();
        assert!(held.pid() > 0 && held.group().is_some());
        let watch =
            Watch { clock: &self.clock, signals: &self.signals, heed_interrupts: true, limit, keep: &[] };
        let mut output = Vec::new();
        let finished = held.run(&watch, &mut |piece| output.extend_from_slice(piece)).unwrap();
        (finished, output)
    }
}

/// Name of the test below.
const BOMB: &str = "fork_without_end";
/// A user whose processes can be limited: the limit is none for root.
const NOBODY: libc::uid_t = 65534;

/// No test, but what [`commands_are_held_released_waited_for_and_cleaned_up_after`] runs as a command.
#[test]
#[ignore = "a fork bomb"]
fn fork_without_end() {
    if std::env::var_os("ADDED").is_none() {
        return;
    }
    let limit = libc::rlimit { rlim_cur: 60, rlim_max: 60 };
    // SAFETY: sets limits and the user of this thread, no pointer outlives its call; the children only fork.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit), 0);
        // By the bare call: the library's would change the user of all threads.
        assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
        loop {
            if libc::fork() == 0 {
                libc::setsid();
            }
        }
    }
}

#[test]
fn commands_are_held_released_waited_for_and_cleaned_up_after() {
    let scratch = tempfile::tempdir().unwrap();
    // SAFETY: prctl with an integer argument: orphans are handed to this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let mut bench = Bench {
        launcher: Launcher::new(scratch.path()).unwrap(),
        clock: Clock::calibrate(None),
        signals: Signals::install().unwrap(),
    };

    let (finished, output) = bench.run(&["sh", "-c", "echo $ADDED; pwd; echo oops >&2; exit 3"], None);
    assert_eq!((finished.end, finished.left_behind), (RunEnd::Exited(3), 0));
    assert_eq!(String::from_utf8_lossy(&output), "yes\n/\n");
    assert_eq!(finished.complaint, b"oops\n");
    assert!(finished.wall_ns > 0.0 && finished.usage.minor_faults > 0);

    // A test process is larger than `true`; its size must not be handed on.
    let ballast = vec![1u8; 64 << 20];
    let (finished, _) = bench.run(&["true"], None);
    assert!(finished.usage.max_rss_bytes < 16 << 20, "{}", finished.usage.max_rss_bytes);
    assert!(ballast.iter().all(|byte| *byte == 1));

    let (finished, _) = bench.run(&["sh", "-c", "kill -KILL $$"], None);
    assert_eq!(finished.end, RunEnd::Killed(libc::SIGKILL));
    let (finished, _) = bench.run(&["sleep", "1000"], Some(Duration::from_millis(50)));
    assert_eq!(finished.end, RunEnd::TimedOut);
    let (finished, _) = bench.run(&["sh", "-c", "setsid sleep 1000 & sleep 1000 & sleep 0.2"], None);
    assert_eq!(finished.end, RunEnd::Exited(0));
    assert!(finished.left_behind >= 1, "{}", finished.left_behind);
    // SAFETY: asks only whether a child has ended.
    assert_eq!(unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) }, 0, "all are reaped");

    // Sixty processes, each in a session of its own, that fork as soon as one of them dies.
    // SAFETY: asks only for a number.
    if unsafe { libc::geteuid() } == 0 {
        let program = std::env::current_exe().unwrap();
        let words = ["bomb", "--exact", BOMB, "--ignored"].map(OsString::from);
        let (finished, _) = bench.execute(&program, &words, Some(Duration::from_millis(500)));
        assert_eq!(finished.end, RunEnd::TimedOut);
        assert!(finished.left_behind > 20, "{}", finished.left_behind);
        // SAFETY: asks only whether a child has ended.
        assert_eq!(unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) }, 0, "all are reaped");
    }

    let text = scratch.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    std::fs::set_permissions(&text, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (finished, _) = bench.execute(&text, &["text".into()], None);
    assert_eq!(finished.end, RunEnd::NotExecuted(libc::ENOEXEC));
    // Exit status 127 of the command itself is no failed exec.
    let (finished, _) = bench.run(&["sh", "-c", "exit 127"], None);
    assert_eq!(finished.end, RunEnd::Exited(127));

    // A command whose words filled the launcher's memory must not be seen in the next one's peak.
    let long = "x".repeat(100_000);
    let words: Vec<&str> = std::iter::once("true").chain(std::iter::repeat_n(long.as_str(), 19)).collect();
    let (before, _) = bench.run(&["true"], None);
    let (finished, _) = bench.run(&words, None);
    assert_eq!(finished.end, RunEnd::Exited(0));
    let (finished, _) = bench.run(&["true"], None);
    let (before, after) = (before.usage.max_rss_bytes, finished.usage.max_rss_bytes);
    assert!(after < before + (512 << 10), "{before} {after}");
    let words: Vec<&str> = std::iter::repeat_n(long.as_str(), 200).collect();
    let mut bare = |program: &Path, words: &[&str]| bench.try_hold(program, words).map(drop).unwrap_err();
    assert_eq!(bare(Path::new("/bin/true"), &words).raw_os_error(), Some(libc::E2BIG));
    assert_eq!(bare(Path::new("/bin/true"), &["a\0b"]).kind(), std::io::ErrorKind::InvalidInput);

    // A launcher that is killed is told, and replaced.
    bench.run(&["true"], None);
    // SAFETY: the pid is that of the launcher, our own child.
    unsafe { libc::kill(bench.launcher.pid().unwrap(), libc::SIGKILL) };
    let said = bench.try_hold(Path::new("/bin/true"), &["true"]).map(drop).unwrap_err();
    assert!(said.to_string().contains("killed") && said.kind() == std::io::ErrorKind::Other, "{said}");
    let (finished, _) = bench.run(&["true"], None);
    assert_eq!(finished.end, RunEnd::Exited(0));
    assert!(find_program("/".as_ref(), None).is_err());
    assert!(find_program("no-such-command-here".as_ref(), None).is_err());
    drop(bench);
    // SAFETY: asks only whether there are children.
    assert_eq!(unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) }, -1, "no child is left");
}
