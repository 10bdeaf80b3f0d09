//! Programs to execute.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use harness::TinyProgram;
use harness::prelude::*;

use super::child;

/// A program with its arguments and an empty environment.
pub struct Program {
    path: CString,
    arguments: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
    _image: Option<OwnedFd>,
}

impl Program {
    /// `path` called with `arguments` after its own name.
    pub fn new(path: CString, arguments: Vec<CString>) -> Self {
        let mut program = Program { path, arguments, pointers: Vec::new(), _image: None };
        program.point();
        program
    }

    /// The tiny static program in the test directory, or in memory where that directory forbids execution. Where it
    /// is, is noted at `metric`.
    pub fn tiny(bench: &mut Bench, metric: &str, argument: Option<&str>) -> Result<Self, Stop> {
        let arguments = argument.map(c_string).transpose()?.into_iter().collect::<Vec<_>>();
        let tiny = TinyProgram::write_to(&bench.job().scratch)
            .map_err(|e| Stop::skip(format!("the tiny program: {e}")))?;
        let path = tiny.c_path().map_err(|e| Stop::fail(e.to_string()))?;
        let mut program = Program::new(path, arguments);
        let mut place = "test directory";
        if program.try_once()? == EXEC_FAILED {
            program = program.in_memory(tiny.path())?;
            place = "memfd";
            if program.try_once()? == EXEC_FAILED {
                return Err(Stop::skip("neither the test directory nor a memfd may be executed from"));
            }
        }
        bench.note(metric, "program", place);
        Ok(program)
    }

    /// The same program from a memfd.
    fn in_memory(self, file: &Path) -> Result<Self, Stop> {
        let mut bytes = Vec::new();
        File::open(file)
            .and_then(|mut f| f.read_to_end(&mut bytes))
            .map_err(|e| Stop::unavailable("reading the tiny program", &e))?;
        // SAFETY: the name is a C string; a non-negative return is a new descriptor that nothing else owns. It stays
        // open across execve, which reads the program through its path below.
        let image = unsafe {
            OwnedFd::from_raw_fd(cvt("memfd_create", libc::memfd_create(c"tlbench-tiny".as_ptr(), 0))?)
        };
        let mut writer = File::from(image.try_clone().map_err(|e| Stop::unavailable("memfd", &e))?);
        writer.write_all(&bytes).map_err(|e| Stop::unavailable("writing to a memfd", &e))?;
        drop(writer);
        // Execution is refused while a descriptor is open for writing, so the path leads to a read-only one.
        let read_only = File::open(format!("/proc/self/fd/{}", image.as_raw_fd()))
            .map_err(|e| Stop::unavailable("reopening a memfd", &e))?;
        drop(image);
        let fd = OwnedFd::from(read_only);
        let mut program =
            Program::new(c_string(&format!("/proc/self/fd/{}", fd.as_raw_fd()))?, self.arguments);
        program._image = Some(fd);
        Ok(program)
    }

    fn point(&mut self) {
        self.pointers = std::iter::once(self.path.as_ptr())
            .chain(self.arguments.iter().map(|a| a.as_ptr()))
            .chain(std::iter::once(std::ptr::null()))
            .collect();
    }

    /// The program's file.
    pub fn file(&self) -> &CStr {
        &self.path
    }

    /// The path for `execve` and `posix_spawn`.
    pub fn path(&self) -> *const libc::c_char {
        self.path.as_ptr()
    }

    /// The argument vector, null-terminated.
    pub fn arguments(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }

    /// Replaces the calling process; exits with [`EXEC_FAILED`] where that fails.
    #[inline]
    pub fn execute(&self) -> ! {
        let environment = [std::ptr::null::<libc::c_char>()];
        // SAFETY: path is a C string, both vectors are null-terminated, and all outlive the call.
        unsafe {
            libc::syscall(libc::SYS_execve, self.path(), self.arguments(), environment.as_ptr());
        }
        child::exit(EXEC_FAILED)
    }

    /// Runs it once and returns its exit status.
    pub fn try_once(&self) -> Result<i32, Stop> {
        let pid = child::fork()?;
        if pid == 0 {
            self.execute();
        }
        let (status, _) = child::wait(pid)?;
        Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
    }
}

/// Exit status of a child whose `execve` failed.
pub const EXEC_FAILED: i32 = 126;

/// A path as a C string.
pub fn c_path(path: &Path) -> Result<CString, Stop> {
    CString::new(path.as_os_str().as_bytes()).map_err(|e| Stop::fail(e.to_string()))
}

/// A text as a C string.
pub fn c_string(text: &str) -> Result<CString, Stop> {
    CString::new(text).map_err(|e| Stop::fail(e.to_string()))
}
