//! The staircase in characters.

use super::Staircase;

/// Columns left of the picture: the vertical axis.
const LEFT: usize = 8;

/// The picture as lines of at most `width` columns: `o` the first line's points, `.` the claim and `|` the knee marks.
pub fn terminal(staircase: &Staircase, width: usize, height: usize) -> Vec<String> {
    let Some(frame) = staircase.frame() else {
        return vec![format!("{}: too few points for a picture", staircase.title)];
    };
    let (columns, rows) = (width.saturating_sub(LEFT + 1).max(10), height.max(4));
    let mut cells = vec![vec![' '; columns]; rows];
    let column = |x: f64| {
        let share = frame.across(x);
        (0.0..=1.0).contains(&share).then(|| (share * (columns - 1) as f64).round() as usize)
    };
    let mut labels = vec![' '; columns];
    for mark in &staircase.marks {
        let Some(at) = column(mark.x) else { continue };
        for row in &mut cells {
            row[at] = if mark.claim { '.' } else { '|' };
        }
        let text: Vec<char> = mark.label.chars().collect();
        let start = at.saturating_sub(text.len() / 2).min(columns.saturating_sub(text.len()));
        // A label that would run into another one is left out; the mark stays.
        let room = start.saturating_sub(1)..(start + text.len() + 1).min(columns);
        if labels[room].iter().all(|c| *c == ' ') && start + text.len() <= columns {
            labels[start..start + text.len()].copy_from_slice(&text);
        }
    }
    for (line, sign) in staircase.lines.iter().zip(['o', 'x', '+', '*']).rev() {
        for &(x, y) in &line.points {
            if let (Some(at), true) = (column(x), y > 0.0) {
                let up = (frame.up(y).clamp(0.0, 1.0) * (rows - 1) as f64).round() as usize;
                cells[rows - 1 - up][at] = sign;
            }
        }
    }
    let mut lines = vec![format!("{}  ({})", staircase.title, staircase.y_label)];
    if labels.iter().any(|c| *c != ' ') {
        lines.push(format!("{:LEFT$} {}", "", labels.iter().collect::<String>().trim_end()));
    }
    for (i, row) in cells.iter().enumerate() {
        let value = if i % 3 == 0 || i == rows - 1 {
            let y = frame.at((rows - 1 - i) as f64 / (rows - 1) as f64);
            if y < 10.0 { format!("{y:.2}") } else { format!("{y:.1}") }
        } else {
            String::new()
        };
        lines.push(format!("{value:>LEFT$}|{}", row.iter().collect::<String>().trim_end()));
    }
    let mut axis = vec![' '; columns];
    for tick in frame.x_ticks(columns / 8) {
        let Some(at) = column(tick) else { continue };
        let text: Vec<char> = staircase.label(tick).chars().collect();
        let start = at.min(columns.saturating_sub(text.len()));
        axis[start..start + text.len()].copy_from_slice(&text);
    }
    lines.push(format!("{:LEFT$}+{}", "", "-".repeat(columns)));
    lines.push(format!("{:LEFT$} {}", "", axis.iter().collect::<String>().trim_end()));
    lines.push(format!("{:LEFT$} {}", "", legend(staircase)));
    lines
}

fn legend(staircase: &Staircase) -> String {
    let mut text = staircase.x_label.clone();
    if staircase.lines.len() > 1 {
        for (line, sign) in staircase.lines.iter().zip(['o', 'x', '+', '*']) {
            text.push_str(&format!("   {sign} {}", line.name));
        }
    }
    text
}
