//! Curves as pictures: a staircase in the terminal, the same as SVG.

mod svg;
mod terminal;

pub use svg::svg;
pub use terminal::terminal;

/// A curve over a logarithmic axis.
#[derive(Clone, Debug, Default)]
pub struct Staircase {
    /// Title above the picture.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// Lines, the first one being the main one.
    pub lines: Vec<Line>,
    /// Positions marked by a vertical line, such as knees.
    pub marks: Vec<Mark>,
    /// Whether x values are bytes, shown as KiB, MiB, GiB.
    pub bytes: bool,
}

/// One line of a picture.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Name, shown where there are several.
    pub name: String,
    /// (x, y) by ascending x.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper edge of a band around it, by the same x; may be empty.
    pub band: Vec<(f64, f64)>,
}

/// A vertical line.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What it says.
    pub label: String,
    /// Dashed: a claim, not a measurement.
    pub claim: bool,
}

/// The ranges a picture covers.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Staircase {
    /// `None` without two finite points. The vertical axis is logarithmic where values span more than a decade.
    fn frame(&self) -> Option<Frame> {
        let points = || self.lines.iter().flat_map(|l| &l.points).filter(|p| p.0 > 0.0 && p.1 > 0.0);
        let range = |pick: fn(&(f64, f64)) -> f64| {
            points().map(pick).fold((f64::MAX, f64::MIN), |r, v| (r.0.min(v), r.1.max(v)))
        };
        if points().count() < 2 {
            return None;
        }
        let (x, y) = (range(|p| p.0), range(|p| p.1));
        (x.1 > x.0).then_some(Frame { x, y: (y.0 * 0.9, (y.1 * 1.1).max(y.0 * 1.2)) })
    }

    fn label(&self, value: f64) -> String {
        if !self.bytes {
            return format!("{value:.0}");
        }
        match value {
            v if v >= f64::from(1 << 30) => format!("{:.0}G", v / f64::from(1 << 30)),
            v if v >= f64::from(1 << 20) => format!("{:.0}M", v / f64::from(1 << 20)),
            v if v >= 1024.0 => format!("{:.0}K", v / 1024.0),
            v => format!("{v:.0}"),
        }
    }
}

impl Frame {
    /// Share of the width.
    fn across(&self, x: f64) -> f64 {
        (x / self.x.0).ln() / (self.x.1 / self.x.0).ln()
    }

    /// Share of the height from below; logarithmic.
    fn up(&self, y: f64) -> f64 {
        (y.max(self.y.0) / self.y.0).ln() / (self.y.1 / self.y.0).ln()
    }

    /// The value at a share of the height.
    fn at(&self, share: f64) -> f64 {
        self.y.0 * (self.y.1 / self.y.0).powf(share)
    }

    /// Powers of two (of four, of sixteen) in the horizontal range, at most `most`.
    fn x_ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = (self.x.0.log2().ceil() as i32, self.x.1.log2().floor() as i32);
        let step = ((high - low) as usize / most.max(1) + 1) as i32;
        (low..=high).filter(|e| (e - low) % step == 0).map(|e| 2f64.powi(e)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staircase() -> Staircase {
        let points = (2..14).map(|e| (2f64.powi(e), if e < 7 { 4.0 } else { 11.0 })).collect();
        Staircase {
            title: "loads <1>".into(),
            x_label: "pages".into(),
            y_label: "cycles".into(),
            lines: vec![Line { name: "p10".into(), points, band: vec![] }],
            marks: vec![Mark { x: 64.0, label: "L1 64".into(), claim: false }],
            bytes: false,
        }
    }

    #[test]
    fn the_terminal_picture_shows_the_step_and_its_mark() {
        let lines = terminal(&staircase(), 72, 14);
        let text = lines.join("\n");
        assert!(text.contains("L1 64") && text.contains("pages"), "{text}");
        assert!(lines.iter().all(|l| l.chars().count() <= 72), "{text}");
        let rows_with_points = lines.iter().filter(|l| l.contains('|') && l.contains('o')).count();
        assert_eq!(rows_with_points, 2, "two plateaus are two rows:\n{text}");
    }

    #[test]
    fn the_svg_is_closed_and_escaped() {
        let picture = svg(&staircase());
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        assert!(picture.contains("loads &lt;1&gt;") && picture.contains("polyline"));
        assert!(!svg(&Staircase::default()).contains("NaN"));
    }
}
