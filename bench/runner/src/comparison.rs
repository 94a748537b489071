//! From rounds of runs to medians and ratios.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::quiet::Measured;
use crate::statistics::Spread;
use crate::table::Table;

/// The stack that is compared with the others.
pub(crate) const OURS: &str = "hawser";

/// One number of a run.
pub(crate) struct Metric<R> {
    /// Name and unit, the head of its column.
    pub(crate) name: &'static str,
    /// Digits after the point in the table.
    pub(crate) decimals: usize,
    /// Which side of a peer's number is the better one; `None` when the number is only for information.
    pub(crate) better: Option<Better>,
    /// Takes the number from a run; NaN when the stack does not tell it, which leaves the cell empty.
    pub(crate) value: fn(&R) -> f64,
}

/// Direction of better numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// Goodput, handshakes per second.
    Higher,
    /// CPU time, delay.
    Lower,
}

/// One stack's runs of all rounds.
pub(crate) struct StackRuns<R> {
    /// Name of the stack.
    pub(crate) stack: String,
    /// One run per round.
    pub(crate) runs: Vec<Measured<R>>,
}

/// Medians of all stacks, and Hawser's over each peer's.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// Stack, metric, value.
    stacks: BTreeMap<String, BTreeMap<&'static str, Spread>>,
    /// Peer, metric, ratio Hawser / peer inside a round.
    ratios: BTreeMap<String, BTreeMap<&'static str, Spread>>,
}

impl Summary {
    /// Takes medians over the rounds; ratios first, then their median.
    pub(crate) fn of<R>(stacks: &[StackRuns<R>], metrics: &[Metric<R>]) -> Self {
        let of_stack = |stack: &StackRuns<R>| {
            let spread = |metric: &Metric<R>| {
                Spread::of(known(stack.runs.iter().map(|run| (metric.value)(&run.value))))
                    .map(|spread| (metric.name, spread))
            };
            (stack.stack.clone(), metrics.iter().filter_map(spread).collect())
        };
        let ours = stacks.iter().find(|stack| stack.stack == OURS);
        let against = |peer: &StackRuns<R>| {
            let ours = ours?;
            let ratio = |metric: &Metric<R>| {
                let pairs = ours.runs.iter().zip(&peer.runs);
                let ratios =
                    pairs.map(|(ours, peer)| (metric.value)(&ours.value) / (metric.value)(&peer.value));
                Spread::of(known(ratios)).map(|spread| (metric.name, spread))
            };
            (peer.stack != OURS).then(|| (peer.stack.clone(), metrics.iter().filter_map(ratio).collect()))
        };
        Summary {
            stacks: stacks.iter().map(of_stack).collect(),
            ratios: stacks.iter().filter_map(against).collect(),
        }
    }

    /// Prints medians, then ratios, in the given order of stacks.
    pub(crate) fn print<R>(&self, title: &str, stacks: &[StackRuns<R>], metrics: &[Metric<R>]) {
        let rounds = stacks.first().map_or(0, |stack| stack.runs.len());
        println!("\n{title}: medians of {rounds} rounds");
        let head = |first: &str| {
            let names = metrics.iter().map(|metric| metric.name.to_owned());
            Table::new([first.to_owned()].into_iter().chain(names))
        };
        let mut table = head("stack");
        for stack in stacks {
            let Some(medians) = self.stacks.get(&stack.stack) else { continue };
            let cells = metrics.iter().map(|metric| {
                medians
                    .get(metric.name)
                    .map_or(String::new(), |spread| format!("{:.*}", metric.decimals, spread.median))
            });
            table.row([stack.stack.clone()].into_iter().chain(cells));
        }
        print!("{table}");
        if !self.ratios.is_empty() {
            let mut table = head("ratio");
            for stack in stacks {
                let Some(ratios) = self.ratios.get(&stack.stack) else { continue };
                let cells = metrics.iter().map(|metric| ratios.get(metric.name).map_or(String::new(), ratio));
                table.row([format!("{OURS} / {}", stack.stack)].into_iter().chain(cells));
            }
            print!("\n{table}");
        }
        let noisy = stacks.iter().flat_map(|stack| &stack.runs).filter(|run| run.noisy).count();
        if noisy > 0 {
            println!("{noisy} runs were disturbed by other processes: do not trust these numbers");
        }
    }

    /// Says for each of `peers` whether Hawser is at least as good, metric by metric.
    pub(crate) fn judge<R>(&self, peers: &[&str], metrics: &[Metric<R>]) {
        for (peer, ratios) in self.ratios.iter().filter(|(peer, _)| peers.contains(&peer.as_str())) {
            for metric in metrics {
                let (Some(better), Some(spread)) = (metric.better, ratios.get(metric.name)) else { continue };
                let (holds, bound) = match better {
                    Better::Higher => (spread.median >= 1.0, "at least"),
                    Better::Lower => (spread.median <= 1.0, "at most"),
                };
                let verdict = if holds { "holds" } else { "MISSED" };
                println!("{verdict:<6}  {}: {:.3} x {peer} ({bound} 1.0)", metric.name, spread.median);
            }
        }
    }
}

/// The numbers that were told.
fn known(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.filter(|value| !value.is_nan())
}

fn ratio(spread: &Spread) -> String {
    format!("{:.3} [{:.2}-{:.2}]", spread.median, spread.min, spread.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_inside_a_round() {
        let runs = |stack: &str, values: [f64; 3]| StackRuns {
            stack: stack.to_owned(),
            runs: values.map(|value| Measured { value, foreign_share: 0.0, noisy: false }).into(),
        };
        let metrics = [Metric { name: "m", decimals: 0, better: None, value: |value: &f64| *value }];
        // The machine became slower: medians alone would say 2 / 3.
        let stacks = [runs(OURS, [12.0, 2.0, 1.0]), runs("peer", [6.0, 3.0, 0.5])];
        let summary = Summary::of(&stacks, &metrics);
        assert_eq!(summary.stacks["peer"]["m"].median, 3.0);
        assert_eq!(summary.ratios["peer"]["m"].median, 2.0);
    }

    #[test]
    fn what_a_stack_does_not_tell_is_left_out() {
        let runs = |stack: &str, values: [f64; 2]| StackRuns {
            stack: stack.to_owned(),
            runs: values.map(|value| Measured { value, foreign_share: 0.0, noisy: false }).into(),
        };
        let metrics = [Metric { name: "m", decimals: 0, better: None, value: |value: &f64| *value }];
        let summary =
            Summary::of(&[runs(OURS, [1.0, f64::NAN]), runs("peer", [f64::NAN, f64::NAN])], &metrics);
        assert_eq!(summary.stacks[OURS]["m"].median, 1.0);
        assert!(summary.stacks["peer"].is_empty());
        assert!(summary.ratios["peer"].is_empty());
    }
}
