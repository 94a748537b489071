//! The runs of a folder by what they are runs of.

use std::collections::BTreeMap;

use super::Grid;
use crate::data::statistics::mean_of;
use crate::data::table::{Table, TableError};

/// Values in the columns that tell a run from the others but for its seed; of numbers their bits.
type Same<'a> = (Vec<&'a str>, Vec<u64>);

/// The metrics of all runs, and which rows of the table are runs of the same.
pub struct Runs<'a> {
    /// Those that failed, with the reason.
    pub(super) failed: Vec<String>,
    rows: BTreeMap<Same<'a>, Vec<usize>>,
    metrics: BTreeMap<&'static str, Vec<Option<f64>>>,
}

impl<'a> Runs<'a> {
    pub(super) fn read<G: Grid>(table: &'a Table, policy: &str) -> Result<Self, TableError> {
        let texts = G::TEXTS.iter().map(|name| table.texts(name)).collect::<Result<Vec<_>, _>>()?;
        let numbers = G::NUMBERS.iter().map(|name| table.numbers(name)).collect::<Result<Vec<_>, _>>()?;
        let mut rows: BTreeMap<Same<'a>, Vec<usize>> = BTreeMap::new();
        for row in 0..table.rows() {
            let texts: Option<Vec<&str>> = texts.iter().map(|column| column[row]).collect();
            let numbers: Option<Vec<u64>> =
                numbers.iter().map(|column| Some(column[row]?.to_bits())).collect();
            if let Some(key) = texts.zip(numbers) {
                rows.entry(key).or_default().push(row);
            }
        }
        let metrics = G::METRICS.iter().map(|name| Ok((*name, table.numbers(name)?)));
        Ok(Runs {
            failed: failed(table, policy, G::TEXTS[0])?,
            rows,
            metrics: metrics.collect::<Result<_, TableError>>()?,
        })
    }

    /// A metric of the runs of the same, one value for each; none of a run: it had none, or failed.
    pub(super) fn values<'b>(
        &'b self,
        texts: &[&'b str],
        numbers: &[f64],
        metric: &str,
    ) -> impl Iterator<Item = Option<f64>> + use<'b> {
        let key: Same<'b> = (texts.to_vec(), numbers.iter().map(|number| number.to_bits()).collect());
        let rows = self.rows.get(&key).into_iter().flatten();
        let values = self.metrics.get(metric);
        rows.filter_map(move |row| values.map(|values| values[*row]))
    }

    /// Its mean over those that have one.
    pub(super) fn mean(&self, texts: &[&str], numbers: &[f64], metric: &str) -> Option<f64> {
        mean_of(self.values(texts, numbers, metric).flatten())
    }
}

/// Runs that failed: which policy over which links, by the names of their columns, and why.
fn failed(table: &Table, policy: &str, links: &str) -> Result<Vec<String>, TableError> {
    let (policies, links) = (table.texts(policy)?, table.texts(links)?);
    let messages = table.texts("message")?.into_iter().enumerate();
    let of = |(row, message): (usize, Option<&str>)| {
        Some(format!("{} over {}: {}", policies[row]?, links[row]?, message?))
    };
    Ok(messages.filter_map(of).collect())
}
