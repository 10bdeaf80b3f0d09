//! Plots made of characters.

use super::LinePlot;
use super::scale::label;

const MARKS: [char; 8] = ['*', 'o', '+', 'x', '#', '@', '%', '&'];

pub(super) fn draw(plot: &LinePlot, width: usize, height: usize) -> Vec<String> {
    let (xs, ys) = plot.scales();
    let y_ticks: Vec<(usize, String)> =
        ys.ticks(height / 3).into_iter().map(|t| (row(ys.place(t), height), label(t, false))).collect();
    let gutter = y_ticks.iter().map(|t| t.1.len()).max().unwrap_or(1) + 1;
    let columns = width.saturating_sub(gutter + 1).max(10);
    let mut cells = vec![vec![' '; columns]; height];
    for (series, mark) in plot.series.iter().zip(MARKS.into_iter().cycle()) {
        let places: Vec<(f64, f64)> =
            plot.visible_of(series).map(|(x, y)| (xs.place(x) * (columns - 1) as f64, ys.place(y))).collect();
        for pair in places.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let (from, to) = (x0.round() as usize, x1.round() as usize);
            let y_at = |column: usize| y0 + ((column as f64 - x0) / (x1 - x0)).clamp(0.0, 1.0) * (y1 - y0);
            (from..to).for_each(|column| cells[row(y_at(column), height)][column] = mark);
        }
        if let Some(&(x, y)) = places.last() {
            cells[row(y, height)][x.round() as usize] = mark;
        }
    }
    let mut lines = vec![cut(format!("{} ({})", plot.title, plot.y_label), width)];
    for (r, cells) in cells.iter().enumerate() {
        let tick = y_ticks.iter().find(|t| t.0 == r).map_or("", |t| t.1.as_str());
        let line: String = cells.iter().collect();
        lines.push(format!("{tick:>gutter$}|{line}").trim_end().to_string());
    }
    lines.push(format!("{:gutter$}+{}", "", "-".repeat(columns)));
    lines.push(x_labels(plot, gutter + 1, columns));
    lines.push(cut(format!("{:gutter$} {}", "", plot.x_label), width));
    for (series, mark) in plot.series.iter().zip(MARKS.into_iter().cycle()) {
        lines.push(cut(format!("{:gutter$} {mark} {}", "", series.name), width));
    }
    lines
}

fn x_labels(plot: &LinePlot, from: usize, columns: usize) -> String {
    let (xs, _) = plot.scales();
    let mut line = vec![' '; from + columns];
    let mut free = 0;
    for tick in xs.ticks(columns / 10) {
        let text = label(tick, plot.log_x);
        let at = from + (xs.place(tick) * (columns - 1) as f64).round() as usize;
        let start =
            (at + 1).saturating_sub(text.len().div_ceil(2)).min((from + columns).saturating_sub(text.len()));
        if start >= free && start + text.len() <= line.len() {
            line.splice(start..start + text.len(), text.chars());
            free = start + text.len() + 1;
        }
    }
    line.into_iter().collect::<String>().trim_end().to_string()
}

fn row(place: f64, height: usize) -> usize {
    ((1.0 - place.clamp(0.0, 1.0)) * (height - 1) as f64).round() as usize
}

fn cut(line: String, width: usize) -> String {
    if line.chars().count() <= width { line } else { line.chars().take(width).collect() }
}
