//! What sittings of one configuration differ by, from earlier records.

use std::collections::BTreeMap;

use record::Status;
use stats::Tau;

use super::Named;

/// Between-sitting deviation of each metric: the standard deviation of the logarithms of the records' mean values, where
/// two or more records have the metric.
pub fn history(records: &[Named]) -> BTreeMap<String, Tau> {
    let mut means: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for named in records {
        let mut logs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for line in named.record.invocations.iter().filter(|line| line.status == Status::Ok) {
            if let Some(value) = line.value {
                logs.entry(&line.metric).or_default().push(value.ln());
            }
        }
        for (metric, logs) in logs {
            means.entry(metric).or_default().push(logs.iter().sum::<f64>() / logs.len() as f64);
        }
    }
    means
        .into_iter()
        .filter(|(_, means)| means.len() > 1)
        .map(|(metric, means)| {
            let (_, variance) = stats::trimmed::mean_and_variance(&means);
            (metric.to_owned(), Tau { sd: variance.sqrt(), sittings: means.len() as u32 })
        })
        .collect()
}
