//! A learning round: steps that always send and steps that always wait, in turns.

use std::time::Duration;

use hawser_learn::{LinUcb, nearest_pairs};
use hawser_policy::{PacketReport, Tag, Time};

use super::{Deployment, is_over};

/// Features of the circumstances.
pub(super) const FEATURES: usize = 6;

/// The arm that sends on the slow path.
pub(super) const TRANSMIT: usize = 0;
/// The arm that waits for the fast one.
pub(super) const WAIT: usize = 1;

/// A step lasts so many reference times; later packets count for less.
const DISCOUNTS: [f64; 3] = [0.9, 0.7, 0.5];

/// Where the bandit is trusted, and where the opposite is done (Wu 2020: BD1, BD0).
const TRUST: f64 = 0.7;
const MISTRUST: f64 = 0.3;

/// Steps that are kept of a round: its lists stay small however long it takes.
const MAX_STEPS: usize = 512;

#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// The step that is running, and the one before, whose acknowledgements still come in.
    current: Option<Step>,
    previous: Option<Step>,
    /// Number of the step that is running, from 1.
    number: u64,
    sent_at_start: u64,
    /// Everything that was asked for has been sent; the last acknowledgements are waited for.
    settling_since: Option<Time>,
    /// Circumstances, reward and error of the prediction of finished steps, by arm.
    finished: [Vec<Finished>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Step {
    number: u64,
    arm: usize,
    started: Time,
    reference: Duration,
    context: [f64; FEATURES],
    /// In MB/s, summed over packets.
    reward: f64,
}

#[derive(Clone, Copy, Debug)]
struct Finished {
    context: [f64; FEATURES],
    reward: f64,
    error: f64,
}

impl Round {
    /// What is done in the step that is running.
    pub(super) fn arm(&self) -> usize {
        self.current.map_or(TRANSMIT, |step| step.arm)
    }

    /// The mark of packets of this step.
    pub(super) fn tag(&self) -> Tag {
        Tag(self.current.map_or(0, |step| step.number))
    }

    /// Ends a step that is over and starts the next; what was learnt, when the round is over.
    pub(super) fn advance(
        &mut self,
        now: Time,
        sent: u64,
        reference: Duration,
        learning_bytes: u64,
        context: &[f64; FEATURES],
        bandit: &mut LinUcb,
    ) -> Option<Deployment> {
        if let Some(since) = self.settling_since {
            if !is_over(since, reference, now) {
                return None;
            }
            self.finish(bandit);
            return Some(self.judge(bandit));
        }
        match self.current {
            Some(step) if !is_over(step.started, step.reference.saturating_mul(3), now) => return None,
            Some(_) => self.finish_previous(bandit),
            None => self.sent_at_start = sent,
        }
        self.previous = self.current.take();
        // One step of each kind, or there is nothing to compare.
        if self.number >= 2 && sent.saturating_sub(self.sent_at_start) >= learning_bytes {
            self.settling_since = Some(now);
            return None;
        }
        self.number += 1;
        let arm = if self.number % 2 == 1 { TRANSMIT } else { WAIT };
        let context = *context;
        self.current = Some(Step { number: self.number, arm, started: now, reference, context, reward: 0.0 });
        None
    }

    /// A packet of a step was acknowledged: bytes per delivery time, discounted by how late in the step it left.
    pub(super) fn on_acked(&mut self, report: &PacketReport<'_>) {
        let steps = [&mut self.current, &mut self.previous];
        let Some(step) = steps.into_iter().flatten().find(|step| step.number == report.tag.0) else { return };
        let stage = report.sent_at.since(step.started).as_nanos() / step.reference.as_nanos().max(1);
        let last = DISCOUNTS.len() - 1;
        let discount = DISCOUNTS[usize::try_from(stage).unwrap_or(last).min(last)];
        let delivery = report.now.since(report.sent_at).as_secs_f64().max(1e-6);
        step.reward += discount * report.bytes as f64 / delivery / 1e6;
    }

    fn finish(&mut self, bandit: &mut LinUcb) {
        self.finish_previous(bandit);
        self.previous = self.current.take();
        self.finish_previous(bandit);
    }

    /// All that will be acknowledged of the previous step has been.
    fn finish_previous(&mut self, bandit: &mut LinUcb) {
        let Some(step) = self.previous.take() else { return };
        bandit.update(step.arm, &step.context, step.reward);
        let error = (bandit.score(step.arm, &step.context) - step.reward).abs();
        let finished = &mut self.finished[step.arm];
        if finished.len() < MAX_STEPS {
            finished.push(Finished { context: step.context, reward: step.reward, error });
        }
    }

    /// Compares steps in like circumstances, and says how far to trust the bandit.
    fn judge(&self, _bandit: &LinUcb) -> Deployment {
        let contexts = |arm: usize| self.finished[arm].iter().map(|step| step.context).collect::<Vec<_>>();
        let pairs = nearest_pairs(&contexts(TRANSMIT), &contexts(WAIT));
        let reward = |arm: usize, at: usize| self.finished[arm].get(at).map_or(0.0, |step| step.reward);
        let wins = pairs.iter().filter(|(send, wait)| reward(TRANSMIT, *send) >= reward(WAIT, *wait)).count();
        let sending_won = if pairs.is_empty() { 0.5 } else { wins as f64 / pairs.len() as f64 };
        let error = |arm: usize| {
            let steps = &self.finished[arm];
            steps.iter().map(|step| step.error).sum::<f64>() / steps.len().max(1) as f64
        };
        let errors = [error(TRANSMIT), error(WAIT)];
        let indifferent = |arm: usize| {
            let sum = errors[TRANSMIT] + errors[WAIT];
            if sum > 0.0 { errors[arm] / sum } else { 0.5 }
        };
        Deployment {
            sending_won,
            follow: [trust(sending_won, indifferent(TRANSMIT)), trust(1.0 - sending_won, indifferent(WAIT))],
            decisions: [0; 2],
        }
    }
}

/// The probability with which an arm is followed that won so often.
pub(super) fn trust(won: f64, indifferent: f64) -> f64 {
    if won > TRUST {
        0.9
    } else if won < MISTRUST {
        0.1
    } else {
        indifferent
    }
}
