//! Addresses to functions: the kernel's list, and the symbol tables of ELF files.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use environment::Root;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// Files larger than this are not searched for symbols.
const MOST_BYTES: u64 = 512 << 20;

/// Functions by first address; their size, where the table says it, else 0.
type Table = Vec<(u64, u64, String)>;

/// What is known of the kernel and of the files seen so far.
pub struct Symbols {
    kernel: Table,
    files: HashMap<String, Image>,
}

/// A file's functions and where its segments lie: offset, bytes, address.
#[derive(Default)]
struct Image {
    functions: Table,
    segments: Vec<(u64, u64, u64)>,
}

impl Symbols {
    /// Reads the kernel's list; it is all zeros where `kptr_restrict` hides it.
    pub fn read() -> Self {
        let list = Root::host().contents("/proc/kallsyms").unwrap_or_default();
        let mut kernel: Table = list.lines().filter_map(kernel_symbol).collect();
        kernel.sort();
        Symbols { kernel, files: HashMap::new() }
    }

    /// The kernel function at an address.
    pub fn kernel(&self, address: u64) -> String {
        match at(&self.kernel, address) {
            Some(name) => format!("[kernel] {name}"),
            None => "[kernel]".into(),
        }
    }

    /// The function at an offset of a mapped file.
    pub fn user(&mut self, path: &str, offset: u64) -> String {
        let short = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        if !path.starts_with('/') || path.starts_with("//") {
            return short.into_owned();
        }
        let image =
            self.files.entry(path.to_owned()).or_insert_with(|| Image::read(path).unwrap_or_default());
        match image.function(offset) {
            Some(name) => format!("{short} {name}"),
            None => short.into_owned(),
        }
    }
}

/// `ffffffff81000000 T _text`: text symbols only.
fn kernel_symbol(line: &str) -> Option<(u64, u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address > 0)?;
    let text = matches!(words.next()?, "t" | "T" | "w" | "W");
    text.then_some((address, 0, words.next()?.to_owned()))
}

/// The name of the last entry at or below an address, unless it ends before.
fn at(table: &Table, address: u64) -> Option<&str> {
    let after = table.partition_point(|(start, ..)| *start <= address);
    let (start, size, name) = table.get(after.checked_sub(1)?)?;
    (*size == 0 || address - start < *size).then_some(name.as_str())
}

impl Image {
    fn read(path: &str) -> Option<Self> {
        let file = File::open(path).ok()?;
        // A path may have become a pipe or a device since it was mapped.
        if !file.metadata().ok()?.is_file() || file.metadata().ok()?.len() > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        let elf = object::File::parse(&*bytes).ok()?;
        let named = |symbol: object::Symbol<'_, '_>| {
            let function = symbol.kind() == SymbolKind::Text && symbol.address() > 0;
            function
                .then(|| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
                .flatten()
        };
        let mut functions: Table = elf.symbols().filter_map(named).collect();
        functions.extend(elf.dynamic_symbols().filter_map(named));
        functions.sort();
        functions.dedup_by_key(|(address, ..)| *address);
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        };
        Some(Image { functions, segments: elf.segments().map(segment).collect() })
    }

    fn function(&self, offset: u64) -> Option<&str> {
        let (start, _, address) =
            self.segments.iter().find(|(start, size, _)| offset >= *start && offset - start < *size)?;
        at(&self.functions, address.checked_add(offset - start)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernels_list_and_look_up() {
        let list = [
            "ffffffff81000000 T first",
            "ffffffff81000100 t second",
            "0000000000000000 T hidden",
            "ffffffff82000000 D data",
            "x",
        ];
        let kernel: Table = list.iter().filter_map(|line| kernel_symbol(line)).collect();
        let symbols = Symbols { kernel, files: HashMap::new() };
        assert_eq!(symbols.kernel(0xffff_ffff_8100_00ff), "[kernel] first");
        assert_eq!(symbols.kernel(0xffff_ffff_8100_0100), "[kernel] second");
        assert_eq!(symbols.kernel(0), "[kernel]");
    }

    #[test]
    fn this_very_program_has_functions() {
        let own = std::env::current_exe().unwrap();
        let image = Image::read(own.to_str().unwrap()).unwrap();
        let of = |address: u64| {
            image.segments.iter().find(|(_, size, start)| address >= *start && address - start < *size)
        };
        let (known, _, name) = image.functions.iter().find(|(address, ..)| of(*address).is_some()).unwrap();
        let (offset, _, start) = of(*known).unwrap();
        assert_eq!(image.function(offset + known - start), Some(name.as_str()));
        assert!(Image::read("/dev/null").is_none());
    }
}
