//! Where benchmarks put their files.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A private directory of one run.
#[derive(Clone, Debug)]
pub struct Scratch {
    path: PathBuf,
}

/// Directories that may hold the scratch directory, in order of preference: the one asked for, or else `TMPDIR`,
/// `/tmp`, `/var/tmp`, `/dev/shm` and the current directory.
fn parents(asked: Option<&Path>) -> Vec<PathBuf> {
    match asked {
        Some(directory) => vec![directory.to_owned()],
        None => std::env::var_os("TMPDIR")
            .map(PathBuf::from)
            .into_iter()
            .chain(["/tmp", "/var/tmp", "/dev/shm", "."].map(PathBuf::from))
            .collect(),
    }
}

impl Scratch {
    /// Makes the directory in the first parent that can be written. `announce` hears each path before it is made, so
    /// that whoever removes it knows of it in time.
    pub(crate) fn create(asked: Option<&Path>, mut announce: impl FnMut(&Path)) -> io::Result<Scratch> {
        // The time makes the name unlike any left by an earlier process of the same id.
        let age =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let name = format!("tlbench-{}-{age:x}", std::process::id());
        let mut refused = String::new();
        for parent in parents(asked) {
            let made = parent.canonicalize().and_then(|parent| {
                let path = parent.join(&name);
                announce(&path);
                std::fs::DirBuilder::new().mode(0o700).create(&path)?;
                Ok(path)
            });
            match made {
                Ok(path) => return Ok(Scratch { path }),
                Err(error) => refused = format!("{}: {error}", parent.display()),
            }
        }
        Err(io::Error::other(format!(
            "no directory for test files ({refused}); name one that can be written with --dir"
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
