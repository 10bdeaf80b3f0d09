//! The sections of the summary tables: titles, columns, widths.
//!
//! Widths are those of the summary script's print formats; fields are separated by one blank.

use super::{US, Version};
use crate::{Direction, Unit};

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Meaning {
    /// A result.
    Result,
    /// A fact about the machine or the run.
    Environment,
    /// A result derived from an integer number per second (files created or deleted).
    InverseRate,
    /// A result the benchmark prints in whole units; the table shows decimals that were never measured.
    Whole,
    /// A result the benchmark prints with two decimals, whatever the table shows.
    TwoDecimals,
    /// A result printed for one more character than the column has, so that its last one is lost.
    CutByOne,
    /// A column the summary script looks up under a name that is never written, so it is always blank.
    NeverPrinted,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Column {
    pub name: &'static str,
    pub width: usize,
    pub meaning: Meaning,
}

/// One table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Section {
    Basic,
    Processor,
    Integer,
    Uint64,
    Float,
    Double,
    Context,
    Local,
    Remote,
    File,
    Bandwidth,
    Memory,
}

/// The section a title line opens.
pub(in super::super) fn section_of(title: &[u8]) -> Option<Section> {
    const TITLES: [(&[u8], Section); 12] = [
        (b"Basic system parameters", Section::Basic),
        (b"Processor, Processes - times in", Section::Processor),
        (b"Basic integer operations - times", Section::Integer),
        (b"Basic uint64 operations - times", Section::Uint64),
        (b"Basic float operations - times", Section::Float),
        (b"Basic double operations - times", Section::Double),
        (b"Context switching - times in", Section::Context),
        (b"*Local* Communication latencies in", Section::Local),
        (b"*Remote* Communication latencies in", Section::Remote),
        (b"File & VM system latencies in", Section::File),
        (b"*Local* Communication bandwidths in", Section::Bandwidth),
        (b"Memory latencies in nanoseconds", Section::Memory),
    ];
    TITLES.iter().find(|(words, _)| title.starts_with(words)).map(|&(_, section)| section)
}

impl Section {
    /// Short name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Section::Basic => "Basic system parameters",
            Section::Processor => "Processor, Processes",
            Section::Integer => "Basic integer operations",
            Section::Uint64 => "Basic uint64 operations",
            Section::Float => "Basic float operations",
            Section::Double => "Basic double operations",
            Section::Context => "Context switching",
            Section::Local => "*Local* Communication latencies",
            Section::Remote => "*Remote* Communication latencies",
            Section::File => "File & VM system latencies",
            Section::Bandwidth => "*Local* Communication bandwidths",
            Section::Memory => "Memory latencies",
        }
    }

    /// Unit and direction of the results.
    pub fn unit(self) -> (Unit, Direction) {
        match self {
            Section::Bandwidth => (Unit::MB_PER_S, Direction::Bigger),
            Section::Integer | Section::Uint64 | Section::Float | Section::Double | Section::Memory => {
                (Unit::NS, Direction::Smaller)
            }
            _ => (US, Direction::Smaller),
        }
    }

    /// The data columns; `random` says whether the memory table has the "Rand mem" column.
    pub fn columns(self, version: Version, random: bool) -> Vec<Column> {
        use Meaning::{CutByOne, Environment, InverseRate, NeverPrinted, Result, TwoDecimals, Whole};
        let two = version == Version::V2;
        let columns: &[(&'static str, usize, Meaning)] = match self {
            Section::Basic => &[
                ("Mhz", 4, Environment),
                ("tlb pages", 5, Environment),
                ("cache line bytes", 5, Environment),
                ("mem par", 6, Environment),
                ("scal load", 4, Environment),
            ],
            Section::Processor => &[
                ("Mhz", 4, Environment),
                ("null call", 4, Result),
                ("null I/O", 4, Result),
                ("stat", 4, Result),
                ("open clos", 4, Result),
                ("slct TCP", if two { 5 } else { 4 }, Result),
                ("sig inst", 4, Result),
                ("sig hndl", 4, Result),
                ("fork proc", 4, Result),
                ("exec proc", 4, Result),
                ("sh proc", 4, Result),
            ],
            Section::Integer => &[
                ("integer bit", 6, Result),
                ("integer add", 6, Result),
                ("integer mul", 6, Result),
                ("integer div", 6, Result),
                ("integer mod", 6, Result),
            ],
            Section::Uint64 => &[
                ("int64 bit", 6, CutByOne),
                ("int64 add", 6, NeverPrinted),
                ("int64 mul", 6, Result),
                ("int64 div", 6, Result),
                ("int64 mod", 6, Result),
            ],
            Section::Float => &[
                ("float add", 6, Result),
                ("float mul", 6, Result),
                ("float div", 6, Result),
                ("float bogomflops", 6, Result),
            ],
            Section::Double => &[
                ("double add", 6, Result),
                ("double mul", 6, Result),
                ("double div", 6, Result),
                ("double bogomflops", 6, Result),
            ],
            Section::Context => &[
                ("2p/0K", if two { 5 } else { 6 }, TwoDecimals),
                ("2p/16K", 6, TwoDecimals),
                ("2p/64K", 6, TwoDecimals),
                ("8p/16K", 6, TwoDecimals),
                ("8p/64K", 6, TwoDecimals),
                ("16p/16K", 7, TwoDecimals),
                ("16p/64K", 7, TwoDecimals),
            ],
            Section::Local => &[
                ("2p/0K", 5, TwoDecimals),
                ("Pipe latency", 5, Result),
                ("AF UNIX latency", 4, Result),
                ("UDP latency", 5, Result),
                ("RPC/UDP latency", 5, Result),
                ("TCP latency", 5, Result),
                ("RPC/TCP latency", 5, Result),
                ("TCP conn", 4, CutByOne),
            ],
            Section::Remote => &[
                ("remote UDP latency", 5, Result),
                ("remote RPC/UDP latency", 5, Result),
                ("remote TCP latency", 5, Result),
                ("remote RPC/TCP latency", 5, Result),
                ("remote TCP conn", 4, CutByOne),
            ],
            Section::File => &[
                ("0K create", 6, InverseRate),
                ("0K delete", 6, InverseRate),
                ("10K create", 6, InverseRate),
                ("10K delete", 6, InverseRate),
                ("mmap latency", if two { 8 } else { 7 }, Whole),
                ("prot fault", 5, Result),
                ("page fault", 7, if two { Whole } else { Result }),
                ("100fd select", 5, Result),
            ],
            Section::Bandwidth => &[
                ("Pipe bandwidth", 4, Result),
                ("AF UNIX bandwidth", 4, Result),
                ("TCP bandwidth", 4, Result),
                ("file reread", 6, Result),
                ("mmap reread", 6, Result),
                ("bcopy (libc)", 6, Result),
                ("bcopy (hand)", 6, Result),
                ("mem read", 4, Result),
                ("mem write", 5, Result),
            ],
            Section::Memory => &[
                ("Mhz", 4, Environment),
                ("L1", if two { 5 } else { 6 }, Result),
                ("L2", 6, Result),
                ("main mem", if two { 6 } else { 11 }, Result),
                ("rand mem", 11, Result),
            ],
        };
        let kept = match self {
            Section::Basic if two => 1,
            Section::File if two => 7,
            Section::Memory if !random => 4,
            _ => columns.len(),
        };
        let column =
            |&(name, width, meaning): &(&'static str, usize, Meaning)| Column { name, width, meaning };
        columns[..kept].iter().map(column).collect()
    }
}
