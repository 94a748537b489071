//! Who won, and by how much: computed from the runs.

use serde::Serialize;

use super::run_result::{Carrier, Run};

/// Hawser's run next to the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether every file that arrived is the original, and Hawser's did arrive.
    pub intact: bool,
    /// Goodput next to the best single link; `None` when there is nothing to compare.
    pub goodput: Option<Comparison>,
    /// Goodput next to kernel MPTCP.
    pub goodput_mptcp: Option<Comparison>,
    /// Longest stall (ms) next to the smallest one of the other runs.
    pub stall: Option<Comparison>,
}

/// Hawser's value and the best of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Whether Hawser's is better.
    pub won: bool,
    /// Hawser's value.
    pub hawser: f64,
    /// The best of the others.
    pub other: f64,
    /// Whose that is.
    pub whose: String,
}

impl Verdict {
    /// Compares.
    pub fn of(runs: &[Run]) -> Self {
        let hawser = runs.iter().find(|run| run.carrier == Carrier::Hawser).and_then(Run::transfer);
        let others = || runs.iter().filter(|run| run.carrier != Carrier::Hawser);
        let compare = |value: f64, best: Option<(f64, &Run)>, won: fn(f64, f64) -> bool| {
            best.map(|(other, run)| Comparison {
                won: won(value, other),
                hawser: value,
                other,
                whose: run.label.clone(),
            })
        };
        let fastest = |wanted: fn(&Run) -> bool| {
            let rates = others().filter(|run| wanted(run)).filter_map(|run| Some((run.goodput_bps()?, run)));
            rates.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let stalls = others().filter_map(|run| Some((run.transfer()?.longest_stall_ms, run)));
        let calmest = stalls.min_by(|a, b| a.0.total_cmp(&b.0));
        let faster = |mine, other| mine > other;
        Self {
            intact: hawser.is_some() && runs.iter().filter_map(Run::transfer).all(|transfer| transfer.intact),
            goodput: hawser.and_then(|it| {
                compare(it.goodput_bps, fastest(|run| matches!(run.carrier, Carrier::Single { .. })), faster)
            }),
            goodput_mptcp: hawser
                .and_then(|it| compare(it.goodput_bps, fastest(|run| run.carrier == Carrier::Mptcp), faster)),
            stall: hawser.and_then(|it| compare(it.longest_stall_ms, calmest, |mine, other| mine < other)),
        }
    }

    /// Whether Hawser's file is intact, faster than over any single link, and stalled the least.
    pub fn holds(&self) -> bool {
        let won = |comparison: &Option<Comparison>| comparison.as_ref().is_some_and(|it| it.won);
        self.intact && won(&self.goodput) && won(&self.stall)
    }

    /// In sentences.
    pub fn sentences(&self) -> Vec<String> {
        let goodput = |it: &Comparison| {
            let (mine, other) = (it.hawser / 1e6, it.other / 1e6);
            let ratio = it.hawser / it.other.max(1.0);
            let verb = if it.won { "is faster than" } else { "is NOT faster than" };
            format!("Hawser {verb} {}: {mine:.1} to {other:.1} Mbit/s, {ratio:.2} times", it.whose)
        };
        let mut sentences = Vec::new();
        if let Some(it) = &self.goodput {
            sentences.push(goodput(it) + " the best single link");
        }
        sentences.extend(self.goodput_mptcp.as_ref().map(goodput));
        if let Some(it) = &self.stall {
            let verb = if it.won { "is the smallest" } else { "is NOT the smallest" };
            let (mine, other) = (it.hawser, it.other);
            sentences.push(format!(
                "Hawser's longest stall {verb}: {mine:.0} ms; next {other:.0} ms ({})",
                it.whose
            ));
        }
        if sentences.is_empty() {
            sentences.push("Hawser's run did not come to its end: nothing to compare".to_owned());
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::demo::run_result::{ClientReport, Outcome};

    fn run(carrier: Carrier, megabits: f64, stall: f64) -> Run {
        let report = ClientReport {
            bytes: (megabits * 125_000.0) as u64,
            seconds: 1.0,
            longest_stall_ms: stall,
            ..ClientReport::default()
        };
        let outcome = Outcome::Finished(report.into_transfer("ab".into(), "ab", None));
        Run { label: format!("{megabits}"), carrier, outcome, samples: Vec::new(), emulator_late_ms: 0.0 }
    }

    #[test]
    fn the_best_of_the_others_counts() {
        let mut runs = vec![
            run(Carrier::Single { link: 0 }, 30.0, 20.0),
            run(Carrier::Single { link: 1 }, 25.0, 90.0),
            run(Carrier::Mptcp, 70.0, 50.0),
            run(Carrier::Hawser, 60.0, 30.0),
        ];
        let verdict = Verdict::of(&runs);
        let goodput = verdict.goodput.clone().expect("two single links");
        assert!(goodput.won && goodput.whose == "30", "{goodput:?}");
        assert!(!verdict.goodput_mptcp.clone().expect("MPTCP").won);
        assert!(!verdict.stall.clone().expect("stalls").won, "20 ms is smaller than 30 ms");
        assert!(verdict.intact && !verdict.holds());
        runs[0] = run(Carrier::Single { link: 0 }, 30.0, 40.0);
        assert!(Verdict::of(&runs).holds());
    }

    #[test]
    fn a_damaged_or_missing_file_is_no_victory() {
        let mut runs = vec![run(Carrier::Single { link: 0 }, 30.0, 20.0), run(Carrier::Hawser, 60.0, 10.0)];
        assert!(Verdict::of(&runs).holds());
        if let Outcome::Finished(transfer) = &mut runs[1].outcome {
            transfer.intact = false;
        }
        assert!(!Verdict::of(&runs).holds());
        runs[1].outcome = Outcome::Failed { reason: "connection lost".into() };
        let verdict = Verdict::of(&runs);
        assert!(!verdict.holds() && verdict.goodput.is_none());
    }
}
