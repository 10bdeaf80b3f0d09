//! The file system of the directory that file benchmarks use.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command_line::publishable_word;
use crate::mounts::{Mount, holding};
use crate::section::{Section, unknown};
use crate::{Missing, Root};

/// Mount options that carry paths, names and addresses instead of behaviour.
const PRIVATE: [&str; 10] = [
    "lowerdir",
    "upperdir",
    "workdir",
    "addr",
    "clientaddr",
    "mountaddr",
    "username",
    "user",
    "domain",
    "fsuuid",
];

pub(crate) fn section(root: &Root, mounts: &[Mount], directory: Option<&Path>) -> Value {
    let directory = directory.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let directory = if root.is_host() { directory.canonicalize().unwrap_or(directory) } else { directory };
    let Some(mount) = holding(mounts, &absolute(&directory)) else {
        return unknown("the mount table /proc/self/mountinfo can't be read or does not hold the directory");
    };
    let mut section = Section::default();
    section.set("type", mount.kind.clone());
    section.set("options", options(&mount.options));
    section.set("mount_point", mount.point.clone());
    let source = mount.source.starts_with("/dev/").then(|| publishable_word(&format!("x={}", mount.source)));
    let source = source.and_then(|word| word.strip_prefix("x=").map(str::to_owned));
    section.put("source", source.ok_or_else(|| Missing::because("not a local block device")));
    match queue(root, mount) {
        Err(missing) => section.set("device", unknown(&missing.reason)),
        Ok(queue) => {
            let mut device = Section::default();
            device.words(
                root,
                &[
                    ("scheduler", &format!("{queue}/scheduler")),
                    ("write_cache", &format!("{queue}/write_cache")),
                ],
            );
            device.put("rotational", root.number(&format!("{queue}/rotational")).map(|flag| flag != 0));
            device.put("read_ahead_kb", root.number(&format!("{queue}/read_ahead_kb")));
            device.put("logical_block_bytes", root.number(&format!("{queue}/logical_block_size")));
            section.set("device", device);
        }
    }
    section.into()
}

/// Type of the file system that holds `path`, as the mount table spells it (`ext4`, `tmpfs`).
pub fn filesystem_type(root: &Root, path: &Path) -> Result<String, Missing> {
    let mounts = crate::mounts::read(root);
    let mount = holding(&mounts, &absolute(path));
    mount
        .map(|mount| mount.kind.clone())
        .ok_or_else(|| Missing::because(format!("no mount in /proc/self/mountinfo holds {}", path.display())))
}

fn absolute(directory: &Path) -> PathBuf {
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf())
}

fn options(text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    for option in text.split(',') {
        let name = option.split('=').next().unwrap_or(option);
        let word =
            if PRIVATE.contains(&name) { format!("{name}=<hidden>") } else { publishable_word(option) };
        if !kept.contains(&word) {
            kept.push(word);
        }
    }
    kept.join(",")
}

/// The request queue of the block device below a mount: of the device itself or of the disk it is a part of.
fn queue(root: &Root, mount: &Mount) -> Result<String, Missing> {
    let mut places = vec![format!("/sys/dev/block/{}", mount.device)];
    if let Some(name) = mount.source.strip_prefix("/dev/") {
        // File systems such as btrfs show an anonymous device number; the source names the real one.
        places.push(format!("/sys/class/block/{name}"));
    }
    for place in &places {
        // `..` behind a symbolic link is the parent of its target: the disk of a partition.
        for queue in [format!("{place}/queue"), format!("{place}/../queue")] {
            if root.exists(&queue) {
                return Ok(queue);
            }
        }
    }
    Err(Missing::because(format!("no block device behind a {} file system", mount.kind)))
}
