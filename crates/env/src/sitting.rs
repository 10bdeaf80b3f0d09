//! What tells one sitting from another without saying anything about the machine's state: host, boot, cgroup path.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Root;
use crate::cgroup::memory_path;
use crate::section::Section;

pub(crate) fn section(root: &Root, hash_host_name: bool) -> Value {
    let mut section = Section::default();
    let host = root.text("/proc/sys/kernel/hostname");
    section.put("host", host.map(|name| if hash_host_name { short_hash(&name) } else { name }));
    let boot = root.text("/proc/sys/kernel/random/boot_id");
    section.put("boot", boot.map(|id| short_hash(&id)));
    section.set("cgroup", memory_path(root));
    section.into()
}

/// `hash:` and 16 hexadecimal digits of SHA-256: tells values apart without showing them.
fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(format!("tlbench:{}", text.trim()).as_bytes());
    digest.iter().take(8).fold("hash:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
