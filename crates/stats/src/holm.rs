//! Corrections for many tests: Holm, Bonferroni, Benjamini-Hochberg.

/// Holm's step-down adjusted p values, in the order given (Holm 1979). The family is everything in `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![1.0; m];
    let mut largest = 0.0_f64;
    for (rank, &index) in ascending(p).iter().enumerate() {
        largest = largest.max(((m - rank) as f64 * p[index]).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// Bonferroni's: each p times the size of the family.
pub fn bonferroni(p: &[f64]) -> Vec<f64> {
    let m = p.len() as f64;
    p.iter().map(|&one| (one * m).min(1.0)).collect()
}

/// Benjamini-Hochberg adjusted p values (1995): bounds the share of false findings, not the chance of any.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![1.0; m];
    let mut smallest = 1.0_f64;
    for (rank, &index) in ascending(p).iter().enumerate().rev() {
        smallest = smallest.min(p[index] * m as f64 / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
    }

    /// The values R's `p.adjust` gives for this vector.
    #[test]
    fn adjusted_values_match_r() {
        let p = [0.01, 0.04, 0.03, 0.005];
        close(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        close(&bonferroni(&p), &[0.04, 0.16, 0.12, 0.02]);
        close(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
    }

    #[test]
    fn nothing_exceeds_one_and_empty_is_empty() {
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(bonferroni(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }
}
