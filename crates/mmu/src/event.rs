//! What a trace is made of.

/// What one record of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Instruction fetch.
    Fetch,
    /// Load.
    Read,
    /// Store.
    Write,
    /// Load then store of the same bytes: two lookups.
    Modify,
    /// The current address-space number becomes `addr`.
    AddressSpace,
    /// Invalidate every entry that is not pinned.
    FlushAll,
    /// Invalidate the page of `addr`.
    FlushPage,
    /// Context synchronisation: empties the structures marked `sync_flush`.
    Sync,
    /// Phase number `addr` begins.
    Phase,
    /// The following records belong to process `addr >> 32`, thread `addr & 0xffff_ffff`.
    Task,
}

/// One record of a trace: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Virtual address, or the number that `kind` speaks of.
    pub addr: u64,
    /// Bytes of an access; 0 for everything else.
    pub size: u32,
    /// What happened.
    pub kind: Kind,
}

impl Event {
    /// An access.
    pub fn access(kind: Kind, addr: u64, size: u32) -> Self {
        Event { addr, size, kind }
    }
    /// An event that is not an access.
    pub fn control(kind: Kind, addr: u64) -> Self {
        Event { addr, size: 0, kind }
    }
    /// References this record stands for: 2 for a modify, 1 for other accesses, else 0.
    pub fn references(&self) -> u64 {
        match self.kind {
            Kind::Fetch | Kind::Read | Kind::Write => 1,
            Kind::Modify => 2,
            _ => 0,
        }
    }
}
