//! The staircase as a stand-alone SVG file.

use std::fmt::Write;

use super::Staircase;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 60.0;
const COLOURS: [&str; 4] = ["#1f5fa8", "#b3541e", "#2e7d4f", "#7a3e9d"];

/// The picture as SVG text.
pub fn svg(staircase: &Staircase) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    text(&mut out, WIDTH / 2.0, 24.0, "middle", &staircase.title);
    let Some(frame) = staircase.frame() else {
        text(&mut out, WIDTH / 2.0, HEIGHT / 2.0, "middle", "too few points for a picture");
        out.push_str("</svg>\n");
        return out;
    };
    let x = |value: f64| LEFT + frame.across(value) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - frame.up(value) * (HEIGHT - TOP - BOTTOM);
    for tick in frame.x_ticks(12) {
        line(&mut out, (x(tick), TOP), (x(tick), HEIGHT - BOTTOM), "#dddddd", false);
        text(&mut out, x(tick), HEIGHT - BOTTOM + 18.0, "middle", &staircase.label(tick));
    }
    for i in 0..=6 {
        let value = frame.at(f64::from(i) / 6.0);
        line(&mut out, (LEFT, y(value)), (WIDTH - RIGHT, y(value)), "#dddddd", false);
        let shown = if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
        text(&mut out, LEFT - 8.0, y(value) + 4.0, "end", &shown);
    }
    text(&mut out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16.0, "middle", &staircase.x_label);
    text(&mut out, LEFT, TOP - 24.0, "start", &staircase.y_label);
    for (of, colour) in staircase.lines.iter().zip(COLOURS) {
        if of.band.len() == of.points.len() && !of.band.is_empty() {
            let lower = of.points.iter().zip(&of.band).map(|(p, b)| (x(p.0), y(b.0)));
            let upper = of.points.iter().zip(&of.band).rev().map(|(p, b)| (x(p.0), y(b.1)));
            let corners: String = lower.chain(upper).map(|(a, b)| format!("{a:.1},{b:.1} ")).collect();
            let _ = writeln!(out, "<polygon points=\"{corners}\" fill=\"{colour}\" fill-opacity=\"0.15\"/>");
        }
        let corners: String =
            of.points.iter().filter(|p| p.1 > 0.0).map(|p| format!("{:.1},{:.1} ", x(p.0), y(p.1))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{corners}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }
    for (i, (of, colour)) in
        staircase.lines.iter().zip(COLOURS).enumerate().filter(|_| staircase.lines.len() > 1)
    {
        let at = TOP + 16.0 * i as f64 + 12.0;
        line(&mut out, (LEFT + 12.0, at - 4.0), (LEFT + 36.0, at - 4.0), colour, false);
        text(&mut out, LEFT + 42.0, at, "start", &of.name);
    }
    for mark in &staircase.marks {
        if (0.0..=1.0).contains(&frame.across(mark.x)) {
            let colour = if mark.claim { "#888888" } else { "#c02020" };
            line(&mut out, (x(mark.x), TOP), (x(mark.x), HEIGHT - BOTTOM), colour, mark.claim);
            text(&mut out, x(mark.x), TOP - if mark.claim { 20.0 } else { 6.0 }, "middle", &mark.label);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, dashed: bool) {
    let dash = if dashed { " stroke-dasharray=\"5,4\"" } else { "" };
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"{dash}/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, what: &str) {
    let escaped = what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#222222\">{escaped}</text>"
    );
}
