//! What is counted: an event as asked for, and what the kernel is told to count.

/// What the kernel is told: type and configuration of `perf_event_attr`, and which modes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// `type`: one of `PERF_TYPE_*`, or a number from `/sys/bus/event_source/devices/*/type`.
    pub kind: u32,
    /// `config`.
    pub config: u64,
    /// `config1`.
    pub config1: u64,
    /// `config2`.
    pub config2: u64,
    /// Don't count in user mode.
    pub exclude_user: bool,
    /// Don't count in the kernel (and the hypervisor).
    pub exclude_kernel: bool,
}

/// How an event can be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// By the kernel.
    Perf(Attribute),
    /// Not at all: why.
    Unknown(String),
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name as `perf stat` prints it.
    pub name: String,
    /// How it is counted.
    pub spec: Spec,
    /// Filter of a tracepoint, in the kernel's language, e.g. `id == 0`.
    pub filter: Option<String>,
}

/// Events that are counted together or not at all; a single event is a group of one.
pub type Group = Vec<Event>;

impl Event {
    /// An event the kernel is asked for by `kind` and `config`.
    pub fn new(name: impl Into<String>, kind: u32, config: u64) -> Self {
        let attribute = Attribute { kind, config, ..Attribute::default() };
        Event { name: name.into(), spec: Spec::Perf(attribute), filter: None }
    }

    /// An event that can't be counted.
    pub fn unknown(name: impl Into<String>, why: impl Into<String>) -> Self {
        Event { name: name.into(), spec: Spec::Unknown(why.into()), filter: None }
    }
}
