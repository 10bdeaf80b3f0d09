//! Why an event can't be counted: no PMU, no permission, a seccomp filter, or an event this CPU does not have.

use std::io;

use environment::Root;
use perf_event_open_sys::bindings as sys;
use serde_json::Value;

use crate::event::Attribute;

/// CAP_SYS_ADMIN and CAP_PERFMON, either of which lifts `perf_event_paranoid`.
const PRIVILEGED: u64 = 1 << 21 | 1 << 38;

/// What decides over events on this machine.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Core PMUs with their `type` numbers; more than one on hybrid CPUs.
    pub core_pmus: Vec<(String, u32)>,
    /// Why there is none.
    pub no_pmu: Option<String>,
    /// `/proc/sys/kernel/perf_event_paranoid`.
    pub paranoid: Option<i64>,
    /// Whether a seccomp filter sits on this process.
    pub seccomp: bool,
    /// Whether this process holds CAP_PERFMON or CAP_SYS_ADMIN.
    pub privileged: bool,
}

impl Surroundings {
    /// Reads them. `environment` is what [`environment::collect`] gave.
    pub fn read(root: &Root, environment: &Value) -> Self {
        let known = |field: &str| environment::known(environment, field);
        let names = known("pmu.core").and_then(|names| names.as_array()).cloned().unwrap_or_default();
        let kind = |name: &str| {
            let path = format!("/sys/bus/event_source/devices/{name}/type");
            Some((name.to_owned(), root.contents(&path).ok()?.trim().parse().ok()?))
        };
        let status = root.contents("/proc/self/status").unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let capabilities = field("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
        Surroundings {
            core_pmus: names.iter().filter_map(|name| kind(name.as_str()?)).collect(),
            no_pmu: environment.pointer("/pmu/core").and_then(environment::reason_of).map(str::to_owned),
            paranoid: known("pmu.perf_event_paranoid").and_then(|value| value.as_i64()),
            seccomp: field("Seccomp:") == Some("2"),
            privileged: capabilities & PRIVILEGED != 0,
        }
    }

    /// The reason behind the kernel's refusal to open an event.
    pub fn reason(&self, attribute: &Attribute, error: &io::Error) -> String {
        let hardware = !matches!(attribute.kind, sys::PERF_TYPE_SOFTWARE | sys::PERF_TYPE_TRACEPOINT);
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => self.forbidden(attribute, error),
            Some(libc::ENOSYS) if self.seccomp => {
                "a seccomp filter hides perf_event_open (container profile)".into()
            }
            Some(libc::ENOSYS) => "the kernel is built without perf events".into(),
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO | libc::EOPNOTSUPP | libc::EINVAL)
                if hardware && self.core_pmus.is_empty() =>
            {
                self.no_pmu.clone().unwrap_or_else(|| "no PMU".into())
            }
            Some(libc::ENOENT | libc::EOPNOTSUPP) if hardware => "this CPU's PMU has no such event".into(),
            Some(libc::ENODEV | libc::ENXIO) => "the PMU of this event is not on this machine".into(),
            Some(libc::ENOENT) => "this kernel has no such event".into(),
            Some(libc::EINVAL) => {
                "the kernel refuses this configuration (EINVAL): not on this CPU, or not in this combination"
                    .into()
            }
            Some(libc::EMFILE) => "too many open files: raise `ulimit -n` or ask for fewer events".into(),
            Some(libc::EBUSY) => "another user holds the PMU exclusively".into(),
            Some(libc::ENOSPC) => "the group needs more counters than the PMU has".into(),
            _ => format!("perf_event_open: {error}"),
        }
    }

    fn forbidden(&self, attribute: &Attribute, error: &io::Error) -> String {
        let level = self.paranoid.map_or("unknown".into(), |level| level.to_string());
        let most = match attribute.kind {
            sys::PERF_TYPE_TRACEPOINT => -1,
            _ if attribute.exclude_kernel => 2,
            _ => 1,
        };
        let allowed = self.privileged || self.paranoid.is_some_and(|level| level <= most);
        match error.raw_os_error() {
            _ if self.seccomp && allowed => {
                "a seccomp filter refuses perf_event_open (container profile)".into()
            }
            _ if !allowed => format!(
                "perf_event_paranoid is {level}: needs at most {most}, root or CAP_PERFMON{}",
                if self.seccomp { " (and a seccomp filter may refuse it as well)" } else { "" }
            ),
            _ => format!("refused ({error}) although perf_event_paranoid is {level}: a security module?"),
        }
    }
}
