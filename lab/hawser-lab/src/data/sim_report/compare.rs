//! Values of a factor against its first one.

use std::collections::BTreeMap;

use super::sweep_data::{Comparison, Metric, Sample, Variant};
use crate::data::statistics::{Difference, paired_difference, welch_difference};

/// Compares every value of every factor with the first one, everything else being the same.
pub(super) fn compare(variants: &[Variant], factors: &[(String, Vec<String>)]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (index, (factor, values)) in factors.iter().enumerate() {
        let Some(baseline) = values.first() else { continue };
        for first in variants.iter().filter(|variant| variant.values.get(index) == Some(baseline)) {
            for value in &values[1..] {
                let mut wanted = first.values.clone();
                wanted[index].clone_from(value);
                let Some(second) = variants.iter().find(|variant| variant.values == wanted) else { continue };
                let others = factors.iter().zip(&first.values).enumerate();
                let others = others.filter(|(other, _)| *other != index);
                let differences = Metric::ALL.map(|metric| (metric, difference(first, second, metric)));
                comparisons.push(Comparison {
                    factor: factor.clone(),
                    baseline: baseline.clone(),
                    value: value.clone(),
                    others: others.map(|(_, ((key, _), value))| (key.clone(), value.clone())).collect(),
                    differences: differences.into(),
                });
            }
        }
    }
    comparisons
}

/// From pairs where all replicates that both have had the same seed.
fn difference(first: &Variant, second: &Variant, metric: Metric) -> Option<Difference> {
    let by_replicate: BTreeMap<u64, &Sample> =
        second.samples.iter().map(|sample| (sample.replicate, sample)).collect();
    let both: Vec<(&Sample, &Sample)> = first
        .samples
        .iter()
        .filter_map(|sample| Some((sample, *by_replicate.get(&sample.replicate)?)))
        .collect();
    if both.iter().any(|(a, b)| a.seed != b.seed) {
        return welch_difference(&first.values_of(metric), &second.values_of(metric));
    }
    let value = |sample: &Sample| sample.values[metric as usize];
    let pairs: Vec<[f64; 2]> = both.iter().filter_map(|(a, b)| Some([value(a)?, value(b)?])).collect();
    paired_difference(&pairs)
}
