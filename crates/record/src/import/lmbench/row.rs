//! One row of a summary table: which cell stands in which column.

use super::cell;
use super::columns::{Column, Meaning, Section};
use crate::import::number::{decimal, text, words};

/// Columns of the host, the blank, the OS: data begins after these characters.
const PREFIX: usize = 23;
/// Width of the description in the table of basic parameters.
const DESCRIPTION: usize = 23;

/// A word and where it ends, in characters from the ruler's left edge.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    word: &'a [u8],
    end: usize,
}

/// A row split into its prefix and its cells.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub host: String,
    pub os: String,
    pub description: Option<String>,
    cells: Vec<Token<'a>>,
    /// How far the data stand to the right of the ruler, `None` when blanks were lost and places mean nothing.
    shift: Option<usize>,
    /// Right edges of the ruler's data groups.
    edges: Vec<usize>,
    /// Number of the ruler's data groups.
    pub ruled: usize,
}

/// Bounds of the groups of dashes.
pub(super) fn groups(ruler: &[u8]) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let mut start = None;
    for (at, &byte) in ruler.iter().chain(b" ").enumerate() {
        match (byte, start) {
            (b'-', None) => start = Some(at),
            (b'-', Some(_)) => {}
            (_, Some(from)) => {
                groups.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    groups
}

fn tokens(row: &[u8], from: usize) -> Vec<Token<'_>> {
    words(&row[from.min(row.len())..])
        .map(|word| Token { word, end: word.as_ptr() as usize - row.as_ptr() as usize + word.len() })
        .collect()
}

/// What can stand in a cell: a number, a dash for a failed one, or the broken format of values below 0.001.
fn is_cell(word: &[u8]) -> bool {
    let number = word.strip_suffix(b"K").or(word.strip_suffix(b"M")).unwrap_or(word);
    decimal(number).is_some() || word == b"-" || word.starts_with(b"%4.")
}

impl<'a> Row<'a> {
    /// The row in `line`, or `None` when the line is none.
    pub fn of(line: &'a [u8], ruler: &[u8], described: bool) -> Option<Row<'a>> {
        let groups = groups(ruler);
        let indent = groups.first()?.0;
        let line = line.get(indent..)?;
        if line.first()?.is_ascii_whitespace() {
            return None;
        }
        let skipped = if described { 3 } else { 2 };
        let edges: Vec<usize> = groups.iter().skip(skipped).map(|g| g.1 - indent).collect();
        let (host, os, data, shift) = prefix(line)?;
        let mut cells = tokens(line, data);
        let mut description = None;
        if described && cells.first().is_some_and(|token| !is_cell(token.word)) {
            description = Some(text(cells.remove(0).word));
        }
        let numbers = cells.iter().take_while(|token| is_cell(token.word)).count();
        // only the memory table ends in words ("No L2 cache?")
        let trailing = cells.get(numbers).map(|token| token.word);
        if numbers < cells.len() && !trailing.is_some_and(|w| w == b"No" || w == b"Bad") {
            return None;
        }
        cells.truncate(numbers);
        Some(Row { host, os, description, cells, shift, ruled: edges.len(), edges })
    }

    /// Every cell with its column, or why it has none.
    pub fn place(&self, section: Section, columns: &[Column]) -> Vec<Result<(&'a [u8], Column), String>> {
        let (cells, n) = (&self.cells, columns.len());
        let in_order = |columns: &[Column]| -> Vec<_> {
            cells.iter().zip(columns).map(|(cell, &column)| Ok((cell.word, column))).collect()
        };
        if cells.len() == n {
            return in_order(columns);
        }
        if cells.len() > n {
            return vec![Err(format!("{} fields for {n} columns", cells.len()))];
        }
        let printed: Vec<Column> =
            columns.iter().copied().filter(|c| c.meaning != Meaning::NeverPrinted).collect();
        let mut fixed: Vec<usize> = Vec::new();
        if let Some(shift) = self.shift {
            let mut candidates = vec![self.edges.clone(), edges(section, columns)];
            if section == Section::Memory {
                candidates.push(narrow_memory(columns));
            }
            for edges in candidates.iter().filter(|edges| edges.len() == n) {
                let aligned = aligned(cells, edges, shift);
                if aligned.len() == cells.len() {
                    let place = |(cell, &at): (&Token<'a>, &usize)| Ok((cell.word, columns[at]));
                    return cells.iter().zip(&aligned).map(place).collect();
                }
                if aligned.len() > fixed.len() {
                    fixed = aligned;
                }
            }
        } else if cells.len() == printed.len() {
            return in_order(&printed);
        }
        self.by_digits(columns, &fixed)
    }

    /// Places cells by the width their digits need; a cell that could stand in several columns is not read.
    fn by_digits(&self, columns: &[Column], fixed: &[usize]) -> Vec<Result<(&'a [u8], Column), String>> {
        let mut possible = vec![vec![false; columns.len()]; self.cells.len()];
        let mut chosen = Vec::with_capacity(self.cells.len());
        self.search(columns, fixed, &mut chosen, &mut possible);
        let place = |(cell, possible): (&Token<'a>, &Vec<bool>)| {
            let mut names = columns.iter().zip(possible).filter(|(_, p)| **p).map(|(c, _)| c);
            let shown = text(cell.word);
            match (names.next(), names.next()) {
                (Some(&column), None) => Ok((cell.word, column)),
                (None, _) => Err(format!("`{shown}` lines up with no column")),
                (Some(first), Some(second)) => {
                    let names: Vec<&str> = [first, second].into_iter().chain(names).map(|c| c.name).collect();
                    Err(format!("`{shown}`: blanks were lost, it may be any of {}", names.join(", ")))
                }
            }
        };
        self.cells.iter().zip(&possible).map(place).collect()
    }

    /// Visits every way to put the cells into columns in order.
    fn search(
        &self,
        columns: &[Column],
        fixed: &[usize],
        chosen: &mut Vec<usize>,
        possible: &mut [Vec<bool>],
    ) {
        let at = chosen.len();
        if at == self.cells.len() {
            for (cell, &column) in chosen.iter().enumerate() {
                possible[cell][column] = true;
            }
            return;
        }
        let first = chosen.last().map_or(0, |last| last + 1);
        let last = columns.len() - (self.cells.len() - at);
        let range = fixed.get(at).map_or(first..=last, |&column| column..=column);
        for column in range {
            let Column { width, meaning, .. } = columns[column];
            let free = at >= fixed.len();
            if free && meaning == Meaning::NeverPrinted {
                continue;
            }
            if !free || cell::fits(self.cells[at].word, width, meaning) {
                chosen.push(column);
                self.search(columns, fixed, chosen, possible);
                chosen.pop();
            }
        }
    }
}

/// Host, OS, where the data begin, and how far they are shifted.
fn prefix(line: &[u8]) -> Option<(String, String, usize, Option<usize>)> {
    let field = |from: usize, to: usize| line.get(from..to.min(line.len()).max(from));
    if let (Some(host), Some(os)) = (field(0, 9), field(10, PREFIX)) {
        let host_end = host.iter().position(|&b| b == b' ').unwrap_or(host.len());
        let regular = host[host_end..].iter().all(|&b| b == b' ')
            && line.get(9) == Some(&b' ')
            && os.len() == 13
            && os[12] != b' '
            && line.get(PREFIX).is_none_or(|&b| b == b' ')
            && is_system(os);
        if regular {
            return Some((text(&host[..host_end]), text(os.trim_ascii()), PREFIX, Some(0)));
        }
    }
    let mut parts = tokens(line, 0).into_iter();
    let (host, system, release) = (parts.next()?, parts.next()?, parts.next()?);
    let start = system.end - system.word.len();
    if !is_system(&line[start..release.end]) {
        return None;
    }
    // a host or OS that is too long moves the data to the right; blanks that are gone leave places without meaning
    let wide = host.word.len() > 9 || release.end - start > 13;
    let shift = (wide && release.end > PREFIX).then(|| release.end - PREFIX);
    Some((text(host.word), text(&line[start..release.end]), release.end, shift))
}

/// `Linux 2.4.19-`, `SunOS 5.8`: a name and a release.
fn is_system(os: &[u8]) -> bool {
    let mut parts = words(os);
    let (Some(name), Some(release)) = (parts.next(), parts.next()) else { return false };
    name[0].is_ascii_alphabetic()
        && release.iter().any(u8::is_ascii_digit)
        && decimal(name).is_none()
        && release.iter().any(|&b| b == b'.' || b == b'-')
}

/// The columns the cells touch with their right edges, as far as all cells do.
fn aligned(cells: &[Token], edges: &[usize], shift: usize) -> Vec<usize> {
    let place = |cell: &Token| edges.iter().position(|&edge| edge + shift == cell.end);
    cells.iter().map_while(place).collect()
}

/// Right edges by the widths of the formats.
fn edges(section: Section, columns: &[Column]) -> Vec<usize> {
    let mut at = match section {
        Section::Basic => PREFIX + 1 + DESCRIPTION,
        Section::Memory => PREFIX + 1,
        _ => PREFIX,
    };
    let edge = |column: &Column| {
        at += 1 + column.width;
        at
    };
    columns.iter().map(edge).collect()
}

/// The memory table of 3.0-a4, whose main memory column is 6 wide.
fn narrow_memory(columns: &[Column]) -> Vec<usize> {
    let narrow: Vec<Column> = columns
        .iter()
        .map(|&c| Column { width: if c.name == "main mem" { 6 } else { c.width }, ..c })
        .collect();
    edges(Section::Memory, &narrow)
}
