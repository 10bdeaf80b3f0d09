//! Ways, sets and index function from the capacities at page strides 1, 2, 4, 8 …

use serde::Serialize;

/// A table's organisation, as far as the stride series shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Organisation {
    /// Ways per set.
    pub ways: u32,
    /// Sets.
    pub sets: u32,
    /// `linear`, `xor of 7+7 bits`, `fully associative`.
    pub index: String,
}

/// Reads a series of (stride, capacity). A linear index halves the capacity with each doubling of the stride until one
/// set is left, whose size is the ways; the number of halvings is the logarithm of the sets. An index that XORs in
/// higher address bits keeps the capacity for as many strides as it folds bits, then halves. A capacity that never
/// changes is a fully associative table. The error says why the series is not clean.
pub fn organisation(series: &[(u32, f64)]) -> Result<Organisation, String> {
    let Some(&(_, whole)) = series.first() else { return Err("no stride series was measured".into()) };
    if series.len() < 4 {
        return Err(format!("the stride series has {} strides only", series.len()));
    }
    let mut flats = 0u32;
    let mut halvings = 0u32;
    let mut floor: Vec<f64> = Vec::new();
    let mut last = whole;
    for &(stride, capacity) in &series[1..] {
        let ratio = capacity / last;
        // Small capacities are whole numbers of ways: allow one page either way.
        let halves = (ratio - 0.5).abs() < 0.12 || (capacity - last / 2.0).abs() <= 1.0;
        let same = (0.82..1.2).contains(&ratio) || (capacity - last).abs() <= 1.0;
        match (halvings, floor.is_empty()) {
            (0, true) if same => flats += 1,
            (_, true) if halves => halvings += 1,
            (1.., _) if same => floor.push(capacity),
            _ => {
                return Err(format!(
                    "the capacity goes from {last:.0} to {capacity:.0} at stride {stride}, neither kept nor halved"
                ));
            }
        }
        last = capacity;
    }
    if halvings == 0 {
        // Flat as far as it was measured.
        let strides = series.last().map_or(1, |s| s.0);
        return if strides >= 32 && strides as f64 >= whole / 4.0 {
            Ok(Organisation { ways: whole.round() as u32, sets: 1, index: "fully associative".into() })
        } else {
            Err(format!("the capacity is the same up to stride {strides}: fully associative or a wide hash"))
        };
    }
    if floor.len() < 2 {
        return Err("the capacity still falls at the widest stride".into());
    }
    floor.sort_by(f64::total_cmp);
    let ways = floor[floor.len() / 2].round().max(1.0);
    let sets = 1u32 << halvings.min(20);
    let product = ways * f64::from(sets);
    if !(0.75..1.3).contains(&(product / whole)) {
        return Err(format!("{ways:.0} ways x {sets} sets is not the {whole:.0} entries at stride 1"));
    }
    let index =
        if flats == 0 { "linear".to_owned() } else { format!("XOR of {flats} low page bits with the next") };
    Ok(Organisation { ways: ways as u32, sets, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(capacities: &[f64]) -> Vec<(u32, f64)> {
        capacities.iter().enumerate().map(|(i, &c)| (1 << i, c)).collect()
    }

    #[test]
    fn halving_series_are_ways_and_sets() {
        let found = organisation(&series(&[98.0, 50.0, 25.0, 12.0, 6.0, 6.0, 6.0, 6.0])).unwrap();
        assert_eq!((found.ways, found.sets, found.index.as_str()), (6, 16, "linear"));
        let hashed = [1700.0, 1700.0, 1690.0, 1710.0, 1700.0, 1700.0, 1700.0, 1700.0];
        let tail = [806.0, 415.0, 211.0, 106.0, 54.0, 27.0, 13.0, 13.0, 13.0];
        let both: Vec<f64> = hashed.iter().chain(&tail).copied().collect();
        let found = organisation(&series(&both)).unwrap();
        assert_eq!((found.ways, found.sets), (13, 128));
        assert!(found.index.contains("XOR of 7"), "{}", found.index);
        let full = organisation(&series(&[64.0; 8])).unwrap();
        assert_eq!((full.ways, full.sets), (64, 1));
    }

    #[test]
    fn an_unclean_series_says_why() {
        assert!(
            organisation(&series(&[64.0, 40.0, 20.0, 10.0, 10.0, 10.0])).unwrap_err().contains("neither")
        );
        assert!(organisation(&series(&[512.0, 256.0, 128.0, 64.0])).unwrap_err().contains("still falls"));
        assert!(organisation(&[]).is_err());
    }
}
