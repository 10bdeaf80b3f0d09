//! Where benchmarks put their files.

use std::io;
use std::path::{Path, PathBuf};

/// A private directory of one run.
#[derive(Clone, Debug)]
pub struct Scratch {
    path: PathBuf,
}

/// Candidates for the directory that holds the scratch directory: the one asked for, or else `TMPDIR`, `/tmp`,
/// `/var/tmp`, `/dev/shm` and the current directory, the first that can be written.
pub fn scratch_parent(asked: Option<&Path>) -> io::Result<Scratch> {
    if let Some(dir) = asked {
        return Scratch::create_in(dir).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("{}: {e}; give --dir a directory that can be written", dir.display()),
            )
        });
    }
    let from_env = std::env::var_os("TMPDIR").map(PathBuf::from);
    let fixed = ["/tmp", "/var/tmp", "/dev/shm", "."].map(PathBuf::from);
    let mut last = io::Error::other("no candidate");
    for dir in from_env.into_iter().chain(fixed) {
        match Scratch::create_in(&dir) {
            Ok(scratch) => return Ok(scratch),
            Err(error) => last = error,
        }
    }
    Err(io::Error::new(
        last.kind(),
        format!("no directory for test files can be written ({last}); give one with --dir"),
    ))
}

impl Scratch {
    fn create_in(parent: &Path) -> io::Result<Scratch> {
        let parent = parent.canonicalize()?;
        for attempt in 0..100u32 {
            let path = parent.join(format!("tlbench-{}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().create(&path) {
                Ok(()) => {
                    use std::os::unix::fs::PermissionsExt;
                    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
                    return Ok(Scratch { path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "{}: a hundred scratch directories of this process exist",
            parent.display()
        )))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in it, keeps the directory.
    pub fn empty(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}
