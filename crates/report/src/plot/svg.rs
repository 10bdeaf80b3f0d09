//! Plots as SVG.

use std::fmt::Write;

use super::LinePlot;
use super::scale::label;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;

/// Okabe and Ito's colours, distinguishable with colour-blind eyes; each with its own dashes for grey printing.
const STYLES: [(&str, &str); 8] = [
    ("#000000", "none"),
    ("#0072b2", "8 3"),
    ("#d55e00", "3 3"),
    ("#009e73", "12 3 3 3"),
    ("#cc79a7", "6 6"),
    ("#56b4e9", "2 5"),
    ("#e69f00", "14 4"),
    ("#7f7f7f", "1 3"),
];

pub(super) fn draw(plot: &LinePlot) -> String {
    let (xs, ys) = plot.scales();
    let x = |v: f64| LEFT + xs.place(v) * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - ys.place(v) * (HEIGHT - TOP - BOTTOM);
    let legend = 18.0 * plot.series.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        HEIGHT + legend
    );
    let text = |px: f64, py: f64, anchor: &str, size: u32, words: &str| {
        let words = escaped(words);
        format!(
            "<text x=\"{px:.1}\" y=\"{py:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{words}</text>\n"
        )
    };
    out += &text(LEFT, 24.0, "start", 15, &plot.title);
    for tick in ys.ticks(6) {
        let at = y(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>",
            WIDTH - RIGHT
        );
        out += &text(LEFT - 6.0, at + 4.0, "end", 12, &label(tick, false));
    }
    for tick in xs.ticks(10) {
        out += &text(x(tick), HEIGHT - BOTTOM + 18.0, "middle", 12, &label(tick, plot.log_x));
    }
    let _ = writeln!(
        out,
        "<path d=\"M{LEFT} {TOP}V{0}H{1}\" fill=\"none\" stroke=\"#000000\"/>",
        HEIGHT - BOTTOM,
        WIDTH - RIGHT
    );
    out += &text(0.5 * (LEFT + WIDTH - RIGHT), HEIGHT - 22.0, "middle", 12, &plot.x_label);
    out += &text(LEFT - 60.0, TOP - 6.0, "start", 12, &plot.y_label);
    for (i, (series, (colour, dashes))) in plot.series.iter().zip(STYLES.into_iter().cycle()).enumerate() {
        let points: Vec<String> =
            plot.visible_of(series).map(|(px, py)| format!("{:.1},{:.1}", x(px), y(py))).collect();
        let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
        let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" {stroke}/>", points.join(" "));
        let row = HEIGHT + 18.0 * i as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" {stroke}/>",
            row - 4.0,
            LEFT + 40.0
        );
        out += &text(LEFT + 48.0, row, "start", 12, &series.name);
    }
    out + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
