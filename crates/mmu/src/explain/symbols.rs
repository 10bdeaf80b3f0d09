//! Symbol tables as `nm` and System.map print them: `ADDRESS TYPE NAME`.

use thiserror::Error;

/// A symbol table that cannot be used.
#[derive(Debug, Error)]
pub enum SymbolError {
    /// The file cannot be read.
    #[error("cannot read symbols from {path}: {source}")]
    Io {
        /// Path as given.
        path: String,
        /// System error.
        source: std::io::Error,
    },
    /// A line makes no sense.
    #[error("{path}: line {line}: not ADDRESS TYPE NAME; make the file with nm or take System.map")]
    Line {
        /// Path as given.
        path: String,
        /// Line, from 1.
        line: usize,
    },
}

/// Symbols sorted by address.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    list: Vec<(u64, String)>,
}

impl Symbols {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or is no symbol table.
    pub fn load(path: &str) -> Result<Self, SymbolError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| SymbolError::Io { path: path.into(), source })?;
        Self::parse(&text, path)
    }

    /// Parses a table; `path` stands in errors. Undefined symbols (no address) are passed over.
    ///
    /// # Errors
    /// A line makes no sense.
    pub fn parse(text: &str, path: &str) -> Result<Self, SymbolError> {
        let mut list = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let words: Vec<_> = line.split_whitespace().collect();
            match words.as_slice() {
                [] | ["U" | "w" | "v", ..] => {}
                [address, kind, name, ..] if kind.len() == 1 => match u64::from_str_radix(address, 16) {
                    Ok(a) => list.push((a, (*name).to_string())),
                    Err(_) => return Err(SymbolError::Line { path: path.into(), line: i + 1 }),
                },
                _ => return Err(SymbolError::Line { path: path.into(), line: i + 1 }),
            }
        }
        list.sort();
        Ok(Symbols { list })
    }

    /// Names in `first..=last`: the one that covers `first`, then those that begin inside; at most `most`, and
    /// how many were left out.
    pub fn within(&self, first: u64, last: u64, most: usize) -> (Vec<&str>, usize) {
        let from = self.list.partition_point(|s| s.0 <= first).saturating_sub(1);
        let to = self.list.partition_point(|s| s.0 <= last);
        let inside = self.list.get(from..to).unwrap_or_default();
        let shown = inside.iter().take(most).map(|s| s.1.as_str()).collect();
        (shown, inside.len().saturating_sub(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_page() {
        let table =
            "0000000000001000 T start\n00001800 t middle\n                 U undefined\n2000 D data\n";
        let symbols = Symbols::parse(table, "test").unwrap();
        assert_eq!(symbols.within(0x1100, 0x1fff, 8), (vec!["start", "middle"], 0));
        assert_eq!(symbols.within(0x1100, 0x2fff, 1), (vec!["start"], 2));
        assert_eq!(symbols.within(0, 0xfff, 8), (vec![], 0));
        let error = Symbols::parse("no table", "f").unwrap_err();
        assert!(error.to_string().contains("line 1"));
    }
}
