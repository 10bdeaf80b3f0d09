//! What this process inherited: limits, priority, libraries, variables that change how programs run.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::{Map, Value, json};

use crate::section::{Section, unknown};
use crate::{Missing, Root};

/// Variables that change what a C library or allocator does; their values are kept.
const TUNABLES: [&str; 8] = [
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_TOP_PAD_",
    "MALLOC_CONF",
    "LD_BIND_NOW",
    "MALLOC_PERTURB_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_THRESHOLD_",
];

/// `ADDR_NO_RANDOMIZE` of `linux/personality.h`.
const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;

pub(crate) fn section(root: &Root) -> Value {
    let mut section = Section::default();
    section.set("limits", limits(root));
    let stat = root.contents("/proc/self/stat");
    section.put("nice", stat.as_deref().map_err(Clone::clone).and_then(|stat| stat_field(stat, 19)));
    section.put(
        "policy",
        stat.as_deref().map_err(Clone::clone).and_then(|stat| stat_field(stat, 41)).map(policy),
    );
    section.put("oom_score_adj", root.number("/proc/self/oom_score_adj"));
    section.put("thp_enabled", root.keyed("/proc/self/status", "THP_enabled").map(|flag| flag == "1"));
    section.put("personality", personality(root));
    section.put("libc", libc(root));
    let variables = root.contents("/proc/self/environ");
    section.put(
        "preloaded_library",
        variables.as_deref().map_err(Clone::clone).map(|text| variable(text, "LD_PRELOAD").is_some()),
    );
    section.put("tunables", variables.as_deref().map_err(Clone::clone).map(tunables));
    section.into()
}

/// The soft limits that decide which benchmarks can run.
fn limits(root: &Root) -> Value {
    let text = match root.text("/proc/self/limits") {
        Ok(text) => text,
        Err(missing) => return unknown(&missing.reason),
    };
    let mut section = Section::default();
    for (name, title) in [
        ("open_files", "Max open files"),
        ("locked_bytes", "Max locked memory"),
        ("processes", "Max processes"),
        ("stack_bytes", "Max stack size"),
        ("realtime_priority", "Max realtime priority"),
        ("message_queue_bytes", "Max msgqueue size"),
        ("address_space_bytes", "Max address space"),
        ("file_bytes", "Max file size"),
    ] {
        let soft = text.lines().find_map(|line| line.strip_prefix(title)?.split_whitespace().next());
        let value = soft.map(|soft| soft.parse::<u64>().map_or_else(|_| Value::from(soft), Value::from));
        section
            .put(name, value.ok_or_else(|| Missing::because(format!("no \"{title}\" in /proc/self/limits"))));
    }
    section.into()
}

/// Field `number` (as in `proc_pid_stat(5)`, from 1) of `/proc/self/stat`, behind the program's name in parentheses.
fn stat_field(stat: &str, number: usize) -> Result<i64, Missing> {
    let behind = stat.rsplit_once(')').map(|(_, behind)| behind);
    let field = behind
        .and_then(|behind| behind.split_whitespace().nth(number - 3))
        .and_then(|field| field.parse().ok());
    field.ok_or_else(|| Missing::because(format!("no field {number} in /proc/self/stat")))
}

fn policy(number: i64) -> Value {
    let names = ["other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext"];
    usize::try_from(number)
        .ok()
        .and_then(|at| names.get(at))
        .map_or_else(|| number.into(), |name| (*name).into())
}

fn personality(root: &Root) -> Result<Value, Missing> {
    let text = root.text("/proc/self/personality")?;
    let bits = u64::from_str_radix(text.trim(), 16)
        .map_err(|_| Missing::because("/proc/self/personality is not hexadecimal"))?;
    Ok(json!({"mask": text.trim(), "layout_randomized": bits & ADDR_NO_RANDOMIZE == 0}))
}

fn variable<'t>(environ: &'t str, name: &str) -> Option<&'t str> {
    environ.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))
}

fn tunables(environ: &str) -> Value {
    let set =
        TUNABLES.iter().filter_map(|name| Some(((*name).to_owned(), Value::from(variable(environ, name)?))));
    Value::Object(set.collect::<Map<_, _>>())
}

/// The C library mapped into this process and its version, by the banner in the file.
fn libc(root: &Root) -> Result<String, Missing> {
    static BANNER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"GNU C Library"));
    let maps = root.contents("/proc/self/maps")?;
    let path = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl")
    });
    let Some(path) = path else { return Ok("static".to_owned()) };
    if path.contains("ld-musl") {
        return Ok("musl".to_owned());
    }
    let bytes = root.bytes(path)?;
    let start =
        BANNER.find(&bytes).ok_or_else(|| Missing::because(format!("{path} does not say its version")))?;
    let banner = bytes[start..].iter().take(120).take_while(|byte| byte.is_ascii_graphic() || **byte == b' ');
    let banner: String = banner.map(|&byte| char::from(byte)).collect();
    Ok(banner.trim_end_matches('.').to_owned())
}
