//! Plain tables: first columns to the left, numbers to the right.

use comfy_table::{CellAlignment, Table, presets};

/// Lines of a table; the first `left` columns are aligned left, all others right.
pub fn grid(header: &[&str], rows: &[Vec<String>], left: usize) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row.clone());
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if i < left { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|line| line.trim_end().to_string()).collect()
}
