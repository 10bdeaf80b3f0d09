//! Two one-sided tests: is the difference provably inside a margin?

use crate::contrast::{Contrast, Scale};
use crate::student;

/// Margins, per cent, of which the tightest that holds is named beside every row.
pub const TIGHTEST_PCT: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 5.0];

/// A margin of δ allows ratios from 1/(1+δ) to 1+δ; these are its ends on the contrast's scale.
fn limits(scale: Scale, margin: f64) -> (f64, f64) {
    match scale {
        Scale::Log => (-margin.ln_1p(), margin.ln_1p()),
        Scale::Linear => (1.0 / (1.0 + margin) - 1.0, margin),
    }
}

/// p value of the two one-sided tests: the larger of the two. Equivalent at level `alpha` when it is below `alpha`,
/// which is the same as the 1 - 2·alpha interval lying inside the margin.
pub fn tost_p(contrast: &Contrast, margin: f64) -> f64 {
    let (lower, upper) = limits(contrast.scale, margin);
    let room = (contrast.effect - lower).min(upper - contrast.effect) - contrast.widening;
    if room <= 0.0 {
        return 1.0;
    }
    student::upper_p(room / contrast.se, contrast.df)
}

/// Tightest margin, per cent, inside which the difference lies at one-sided level `alpha`: one of [`TIGHTEST_PCT`] or
/// the row's own margin.
pub fn tightest_pct(contrast: &Contrast, own_margin: f64, alpha: f64) -> Option<f64> {
    let half = contrast.half_width(1.0 - 2.0 * alpha);
    let holds = |margin: f64| {
        let (lower, upper) = limits(contrast.scale, margin);
        contrast.effect - half > lower && contrast.effect + half < upper
    };
    let own = Some(own_margin * 100.0).filter(|_| holds(own_margin));
    TIGHTEST_PCT.iter().copied().filter(|pct| holds(pct / 100.0)).chain(own).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::sample_contrast;

    #[test]
    fn p_and_interval_agree_at_the_edge() {
        let margin: f64 = 0.02;
        let df = 9.0;
        let se = 0.004;
        // placed so that the upper end of the 90 % interval is exactly the margin
        let edge = margin.ln_1p() - student::t_upper(0.05, df) * se;
        assert!((tost_p(&sample_contrast(edge, se, df), margin) - 0.05).abs() < 1e-9);
        assert!(tost_p(&sample_contrast(edge - 1e-4, se, df), margin) < 0.05);
        assert!(tost_p(&sample_contrast(edge + 1e-4, se, df), margin) > 0.05);
        assert_eq!(tightest_pct(&sample_contrast(edge - 1e-4, se, df), margin, 0.05), Some(2.0));
        assert_eq!(tightest_pct(&sample_contrast(edge + 1e-4, se, df), margin, 0.05), Some(5.0));
    }

    #[test]
    fn rounding_counts_against_equivalence() {
        let narrow = sample_contrast(0.0, 0.001, 9.0);
        assert_eq!(tightest_pct(&narrow, 0.02, 0.05), Some(0.25));
        let rounded = Contrast { widening: 0.0278, ..narrow };
        assert_eq!(tightest_pct(&rounded, 0.02, 0.05), Some(5.0));
        assert_eq!(tost_p(&rounded, 0.02), 1.0);
    }

    #[test]
    fn own_margin_is_named_when_no_round_one_is_tighter() {
        let contrast = sample_contrast(0.0, 0.03, 9.0);
        assert_eq!(tightest_pct(&contrast, 0.02, 0.05), None);
        assert_eq!(tightest_pct(&contrast, 0.08, 0.05), Some(8.0));
    }
}
