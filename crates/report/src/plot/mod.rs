//! Line plots, for the terminal and as SVG.
//!
//! Own code rather than a plotting library: both outputs share one scale and one set of ticks, the SVG must be
//! small enough to paste into a page, and 200 lines do it.

mod scale;
mod svg;
mod text;

use scale::Scale;

/// A named sequence of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points by rising x.
    pub points: Vec<(f64, f64)>,
}

/// A plot of several series over one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// Title.
    pub title: String,
    /// What x is, with its unit.
    pub x_label: String,
    /// What y is, with its unit.
    pub y_label: String,
    /// Whether x is logarithmic (base 2); points at 0 or below are then left out.
    pub log_x: bool,
    /// The lines.
    pub series: Vec<Series>,
}

impl LinePlot {
    /// Lines of text, `width` columns wide (at least 40) and `height` rows of plot (at least 5).
    pub fn text(&self, width: usize, height: usize) -> Vec<String> {
        text::draw(self, width.max(40), height.max(5))
    }

    /// A stand-alone SVG document. Colours differ in lightness too, and every series has its own dash pattern.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    fn visible(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(|s| self.visible_of(s))
    }

    fn visible_of<'a>(&self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let log = self.log_x;
        series
            .points
            .iter()
            .copied()
            .filter(move |&(x, y)| x.is_finite() && y.is_finite() && (!log || x > 0.0))
    }

    fn scales(&self) -> (Scale, Scale) {
        let x = Scale::new(self.visible().map(|p| p.0), self.log_x);
        let y = Scale::new(self.visible().map(|p| p.1).chain([0.0]), false);
        (x, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> LinePlot {
        let line = |name: &str, k: f64| Series {
            name: name.into(),
            points: (1..=64).map(|n| (f64::from(n), k / f64::from(n))).collect(),
        };
        LinePlot {
            title: "misses <by size>".into(),
            x_label: "entries".into(),
            y_label: "misses".into(),
            log_x: true,
            series: vec![line("lru", 100.0), line("fifo & co", 130.0)],
        }
    }

    #[test]
    fn text_has_axes_and_a_mark_per_series() {
        let lines = plot().text(60, 10);
        assert!(lines.iter().all(|l| l.chars().count() <= 60), "{lines:#?}");
        let all = lines.join("\n");
        for part in ["misses <by size>", "entries", "* lru", "o fifo & co", "64"] {
            assert!(all.contains(part), "{part} is missing in\n{all}");
        }
        // 130 misses at one entry lie in the top row, at the left.
        assert!(lines[1].contains('o'), "{all}");
    }

    #[test]
    fn svg_is_escaped_and_complete() {
        let svg = plot().svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("misses &lt;by size&gt;") && svg.contains("fifo &amp; co"));
    }

    #[test]
    fn nothing_to_draw_is_no_panic() {
        let empty = LinePlot { series: vec![], ..plot() };
        assert!(!empty.text(60, 10).is_empty());
        assert!(empty.svg().contains("</svg>"));
        let point = Series { name: "p".into(), points: vec![(f64::NAN, 1.0), (0.0, 1.0), (8.0, 0.0)] };
        assert!(LinePlot { series: vec![point], ..plot() }.svg().contains("</svg>"));
    }
}
