//! The mount table as this process sees it.

use crate::Root;

/// One line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// `major:minor` of files on it.
    pub(crate) device: String,
    /// Directory of the file system that is the root of this mount.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) point: String,
    /// Type, e.g. `ext4`.
    pub(crate) kind: String,
    /// What is mounted, e.g. `/dev/vda1`.
    pub(crate) source: String,
    /// Options of the mount and of the file system, comma-separated.
    pub(crate) options: String,
}

/// All mounts, in mount order; empty when the table can't be read.
pub(crate) fn read(root: &Root) -> Vec<Mount> {
    root.contents("/proc/self/mountinfo").unwrap_or_default().lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (device, root, point, options) = (before.next()?, before.next()?, before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, source, more) = (after.next()?, after.next()?, after.next().unwrap_or(""));
    let options = format!("{options},{more}");
    Some(Mount {
        device: device.to_owned(),
        root: unescape(root),
        point: unescape(point),
        kind: kind.to_owned(),
        source: unescape(source),
        options: options.trim_end_matches(',').to_owned(),
    })
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// The mount that holds the absolute path `path`: the longest mount point that is a prefix, the last one mounted there.
pub(crate) fn holding<'m>(mounts: &'m [Mount], path: &std::path::Path) -> Option<&'m Mount> {
    let inside = |mount: &&Mount| path.starts_with(&mount.point);
    mounts.iter().filter(inside).max_by_key(|mount| std::path::Path::new(&mount.point).components().count())
}
