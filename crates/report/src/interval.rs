//! The interval `run` prints: for this sitting and boot only.

/// Geometric mean of invocation values and its 95 % t interval on the log scale. The interval needs two values.
pub fn center_and_interval(values: &[f64]) -> (Option<f64>, Option<[f64; 2]>) {
    let n = values.len();
    if n == 0 {
        return (None, None);
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n as f64;
    if n < 2 {
        return (Some(mean.exp()), None);
    }
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    const T: [f64; 12] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];
    let t = T.get(n - 2).copied().unwrap_or(1.96 + 2.4 / (n - 1) as f64);
    let half = t * (variance / n as f64).sqrt();
    (Some(mean.exp()), Some([(mean - half).exp(), (mean + half).exp()]))
}
