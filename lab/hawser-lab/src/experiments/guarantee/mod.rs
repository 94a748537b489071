//! "Never worse than the best single link", as an experiment.
//!
//! Each scenario of a [`Plan`] is simulated with every link alone and with all of them, with the same seeds, twice:
//!
//! * with a **download** that takes all it can get: goodput;
//! * with a **conversation**, requests and answers one after the other with pauses: the time from a request to the end of its
//!   answer, of which the 99th percentile over all seeds counts. Unlike the delay of a bulk transfer, which is that of the queue
//!   it fills itself, it tells what somebody who waits would notice.
//!
//! Either is compared with the link that is best at it over all seeds, and with what all links give a scheduler that knows
//! their future. Recorded drives are scenarios, too ([`recorded_pairs`]). What else the scenario has running stays as it is.

mod plan;
mod recorded;
mod runs;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::Registry;
use serde::Serialize;

pub use plan::{Marks, Plan};
pub use recorded::recorded_pairs;
pub use text::table;

use crate::data::statistics::{mean, paired_difference};
use crate::experiments::ExperimentError;
use runs::{Results, Variant};

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is transferred.
    pub plan: Arc<Plan>,
    /// The scenarios: those of the plan, or others.
    pub cases: Vec<Case>,
    /// Fields set otherwise in all of them, as `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Simulated time of each run, at most the scenario's own.
    pub duration: Duration,
    /// Threads; what is printed does not depend on them.
    pub threads: usize,
}

/// A scenario: a file, and what is set otherwise in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The file.
    pub file: PathBuf,
    /// Fields, as `KEY=VALUE`.
    pub set: Vec<String>,
}

impl From<PathBuf> for Case {
    fn from(file: PathBuf) -> Self {
        Case { file, set: Vec::new() }
    }
}

/// One scenario against its best single links.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the scenario.
    pub scenario: String,
    /// Seeds.
    pub seeds: u64,
    /// Its scenes that play recordings, another one for each seed; all others are generated.
    pub recorded: Vec<String>,
    /// Mean goodput over all links, bit/s.
    pub goodput_bps: f64,
    /// The link with the highest mean goodput.
    pub best_goodput_link: String,
    /// Its mean goodput, bit/s.
    pub best_goodput_bps: f64,
    /// All over best; 1 or more keeps the promise. None: no link alone carried anything.
    pub goodput_ratio: Option<f64>,
    /// Its 95 % confidence interval, from the differences seed by seed; none with a single seed.
    pub goodput_ratio_interval: Option<[f64; 2]>,
    /// Sum over the links of their goodput alone, bit/s: what would be full use of them.
    pub sum_bps: f64,
    /// 99th percentile of the time of an answer over all links, milliseconds; none: nothing was answered.
    pub p99_delay_ms: Option<f64>,
    /// The link with the smallest one; none: no link alone answered anything.
    pub best_delay_link: Option<String>,
    /// Its 99th percentile, milliseconds.
    pub best_p99_delay_ms: Option<f64>,
    /// All over best; 1 or less keeps the promise.
    pub p99_delay_ratio: Option<f64>,
    /// Mean goodput over all links of the scheduler that knows their future
    /// ([`OracleEdpf`](hawser_sim::oracle::OracleEdpf)), bit/s.
    pub oracle_goodput_bps: f64,
    /// All over the oracle's; none: it carried nothing.
    pub oracle_share: Option<f64>,
    /// The oracle's 99th percentile of the time of an answer, milliseconds; none: nothing was answered.
    pub oracle_p99_delay_ms: Option<f64>,
    /// The oracle's over the best link's: above 1, nobody keeps the promise here.
    pub oracle_p99_delay_ratio: Option<f64>,
    /// What follows for the promise.
    pub verdict: Verdict,
}

/// Whether a scenario keeps the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All links together are not worse in either.
    Kept,
    /// They are, in one of the two.
    Worse,
    /// Neither all links nor any alone carried anything in one of the two, which says nothing.
    NothingTransferred,
}

/// Compares every scenario; `progress` hears of each finished one.
///
/// # Errors
/// [`ExperimentError`].
pub fn run(
    options: &Options,
    registry: &Registry,
    progress: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, ExperimentError> {
    let mut rows = Vec::new();
    // A mistake in the last scenario is found before the first one runs.
    options.cases.iter().try_for_each(|case| runs::check(case, options, registry))?;
    for case in &options.cases {
        let results = runs::all(case, options, registry)?;
        let row = row(&results, options.seeds);
        progress(&row);
        rows.push(row);
    }
    Ok(rows)
}

fn row(results: &Results, seeds: u64) -> Row {
    let goodput = |variant: &Variant| mean(&variant.goodput);
    let p99 = |variant: &Variant| {
        (variant.answers.count() > 0).then(|| variant.answers.quantile(0.99).as_secs_f64() * 1e3)
    };
    let fastest = results.single.iter().max_by(|a, b| goodput(&a.1).total_cmp(&goodput(&b.1)));
    let quickest = results
        .single
        .iter()
        .filter_map(|(link, variant)| Some((link, p99(variant)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let goodput_bps = goodput(&results.all);
    let best_goodput_bps = fastest.map_or(0.0, |(_, variant)| goodput(variant));
    let ratio = |bps: f64| (best_goodput_bps > 0.0).then(|| bps / best_goodput_bps);
    let (oracle_goodput_bps, oracle_p99_delay_ms) = (goodput(&results.oracle), p99(&results.oracle));
    let difference = fastest.and_then(|(_, best)| {
        let pairs = results.all.goodput.iter().zip(&best.goodput).map(|(all, best)| [*best, *all]);
        paired_difference(&pairs.collect::<Vec<_>>())
    });
    let interval = difference.and_then(|difference| difference.ci95);
    let p99_delay_ms = p99(&results.all);
    let best_p99_delay_ms = quickest.map(|(_, delay)| delay);
    Row {
        scenario: results.scenario.clone(),
        seeds,
        recorded: results.recorded.clone(),
        goodput_bps,
        best_goodput_link: fastest.map(|(link, _)| link.clone()).unwrap_or_default(),
        best_goodput_bps,
        goodput_ratio: ratio(goodput_bps),
        goodput_ratio_interval: interval
            .and_then(|[low, high]| Some([ratio(best_goodput_bps + low)?, ratio(best_goodput_bps + high)?])),
        sum_bps: results.single.iter().map(|(_, variant)| goodput(variant)).sum(),
        p99_delay_ms,
        best_delay_link: quickest.map(|(link, _)| link.clone()),
        best_p99_delay_ms,
        p99_delay_ratio: p99_delay_ms.zip(best_p99_delay_ms).map(|(all, best)| all / best),
        oracle_goodput_bps,
        oracle_share: (oracle_goodput_bps > 0.0).then(|| goodput_bps / oracle_goodput_bps),
        oracle_p99_delay_ms,
        oracle_p99_delay_ratio: oracle_p99_delay_ms
            .zip(best_p99_delay_ms)
            .map(|(oracle, best)| oracle / best),
        verdict: verdict([goodput_bps, best_goodput_bps], [p99_delay_ms, best_p99_delay_ms]),
    }
}

/// Of goodput and delay (none: no answer), each of all links and of the best alone.
fn verdict(goodput: [f64; 2], delay: [Option<f64>; 2]) -> Verdict {
    let is_slower = match delay {
        _ if goodput == [0.0, 0.0] => return Verdict::NothingTransferred,
        [None, None] => return Verdict::NothingTransferred,
        [Some(all), Some(best)] => all > best,
        [all, _] => all.is_none(),
    };
    if is_slower || goodput[0] < goodput[1] { Verdict::Worse } else { Verdict::Kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_not_as_good_as_the_best() {
        let verdicts = [
            ([9.0, 8.0], [Some(1.0), Some(1.0)], Verdict::Kept),
            ([9.0, 0.0], [Some(1.0), None], Verdict::Kept),
            ([7.0, 8.0], [Some(1.0), Some(1.0)], Verdict::Worse),
            ([9.0, 8.0], [Some(2.0), Some(1.0)], Verdict::Worse),
            ([9.0, 8.0], [None, Some(1.0)], Verdict::Worse),
            ([0.0, 8.0], [Some(1.0), Some(1.0)], Verdict::Worse),
            ([0.0, 0.0], [None, None], Verdict::NothingTransferred),
            ([9.0, 8.0], [None, None], Verdict::NothingTransferred),
        ];
        for (goodput, delay, expected) in verdicts {
            assert_eq!(verdict(goodput, delay), expected, "{goodput:?}, {delay:?}");
        }
    }
}
