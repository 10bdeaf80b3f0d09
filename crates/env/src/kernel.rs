//! The kernel: version, configuration, command line, taint, mitigations.

use serde_json::{Map, Value, json};

use crate::command_line::publishable;
use crate::config::{Config, DEBUG, NOTABLE};
use crate::section::{Section, unknown};
use crate::{Missing, Root, taint};

pub(crate) fn section(root: &Root, config: &Result<Config, Missing>, full_config: bool) -> Value {
    let mut section = Section::default();
    section.put("name", root.text("/proc/sys/kernel/ostype"));
    section.put("release", root.text("/proc/sys/kernel/osrelease"));
    section.put("version", root.text("/proc/sys/kernel/version"));
    section.put("compiler", compiler(root));
    section.put("command_line", root.contents("/proc/cmdline").map(|line| publishable(&line)));
    section.put("rcu_nocbs", parameter(root, "rcu_nocbs"));
    section.put("irq_affinity", root.text("/proc/irq/default_smp_affinity"));
    section.put("taint", root.number("/proc/sys/kernel/tainted").map(taint_words));
    section.put("livepatches", root.list("/sys/kernel/livepatch").map(Value::from).or_else(absent_is_none));
    section.set("config", configuration(config, full_config));
    section.numbers(
        root,
        &[
            ("watchdog", "/proc/sys/kernel/watchdog"),
            ("nmi_watchdog", "/proc/sys/kernel/nmi_watchdog"),
            ("timer_migration", "/proc/sys/kernel/timer_migration"),
            ("rcu_expedited", "/sys/kernel/rcu_expedited"),
            ("rcu_normal", "/sys/kernel/rcu_normal"),
        ],
    );
    section.put("hz", option(config, "HZ"));
    section.put("lockdown", root.chosen("/sys/kernel/security/lockdown"));
    section.into()
}

/// Value of a boot parameter; `"not given"` when the command line lacks it.
fn parameter(root: &Root, name: &str) -> Result<String, Missing> {
    let line = root.contents("/proc/cmdline")?;
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let value =
        words.filter_map(|word| word.strip_prefix(name)).find_map(|rest| match rest.strip_prefix('=') {
            Some(value) => Some(value.to_owned()),
            None => rest.is_empty().then(|| "all".to_owned()),
        });
    Ok(value.unwrap_or_else(|| "not given".to_owned()))
}

/// A kernel without the live-patching directory has no live patch; one that hides it is unknown.
fn absent_is_none(missing: Missing) -> Result<Value, Missing> {
    if missing.reason.starts_with("no /") { Ok(json!([])) } else { Err(missing) }
}

/// The compiler in the second pair of parentheses of `/proc/version`.
fn compiler(root: &Root) -> Result<String, Missing> {
    let version = root.text("/proc/version")?;
    let inner = version.split_once(") (").map(|(_, rest)| rest).and_then(|rest| rest.rsplit_once(") #"));
    inner
        .map(|(compiler, _)| compiler.to_owned())
        .ok_or_else(|| Missing::because("/proc/version does not name a compiler"))
}

fn taint_words(mask: i64) -> Value {
    let mask = mask.cast_unsigned();
    json!({"mask": mask, "letters": taint::letters(mask), "flags": taint::decode(mask)})
}

/// A numeric option of the configuration.
fn option(config: &Result<Config, Missing>, name: &str) -> Result<i64, Missing> {
    let config = config.as_ref().map_err(|missing| missing.clone())?;
    let value = config.options.get(name).and_then(|value| value.parse().ok());
    value.ok_or_else(|| Missing::because(format!("CONFIG_{name} is not set")))
}

fn configuration(config: &Result<Config, Missing>, full: bool) -> Value {
    let config = match config {
        Ok(config) => config,
        Err(missing) => return unknown(&missing.reason),
    };
    let pick = |names: &[&str]| -> Map<String, Value> {
        let found = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), config.options.get(*name)?.clone().into())));
        found.collect()
    };
    let mut object = json!({
        "source": config.source,
        "sha256": config.sha256,
        "options_set": config.options.len(),
        "notable": pick(&NOTABLE),
        "debug": pick(&DEBUG),
    });
    if full && let Some(object) = object.as_object_mut() {
        let all: Map<String, Value> =
            config.options.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        object.insert("all".to_owned(), all.into());
    }
    object
}

/// The `mitigations` section: one field per known vulnerability, the kernel's words.
pub(crate) fn mitigations(root: &Root) -> Value {
    let base = "/sys/devices/system/cpu/vulnerabilities";
    match root.list(base) {
        Err(missing) => unknown(&missing.reason),
        Ok(names) => {
            let mut section = Section::default();
            for name in names {
                section.put(&name, root.text(&format!("{base}/{name}")));
            }
            section.into()
        }
    }
}
