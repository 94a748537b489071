//! Peekaboo: a bandit that learns when waiting for the fast path pays.

use std::time::Duration;

use hawser_learn::PairedArms;
use hawser_policy::{
    Assignment, Commands, Decision, Event, Figures, Interests, ParameterInfo, Parameters, PathView,
    PolicyInfo, Scheduler, SendView, Tag, Time,
};

use crate::choose::{explore, fastest_and_sendable};
use crate::guard::Guard;
use crate::placement::datagram;

/// What can be set of [`Peekaboo`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeekabooParameters {
    /// Bytes of a learning round.
    pub learning_bytes: u64,
    /// Exploration of LinUCB.
    pub alpha: f64,
}

impl Default for PeekabooParameters {
    fn default() -> Self {
        PeekabooParameters { learning_bytes: 4_000_000, alpha: 0.8 }
    }
}

/// Features of the circumstances.
const FEATURES: usize = 6;

/// The arm that sends on the slow path; the other one waits for the fast one.
const TRANSMIT: usize = 0;

/// Peekaboo (Wu, Alay, Brunstrom, Ferlin, Caso: IEEE JSAC 2020).
///
/// It decides only where the fast path is full: send on the slow one, or wait? [`PairedArms`] learns that, from steps that
/// always send and steps that always wait; what a step earns are the bytes per delivery time of its packets.
#[derive(Clone, Debug)]
pub struct Peekaboo {
    learner: PairedArms<FEATURES>,
}

impl Default for Peekaboo {
    fn default() -> Self {
        Peekaboo::new(PeekabooParameters::default(), 0)
    }
}

impl Peekaboo {
    /// Its name in the registry.
    pub const NAME: &'static str = "peekaboo";

    /// With other parameters, and the seed of its random decisions.
    pub fn new(parameters: PeekabooParameters, seed: u64) -> Self {
        Peekaboo { learner: PairedArms::new(parameters.alpha, parameters.learning_bytes, seed) }
    }

    pub(crate) fn read(parameters: &Parameters, seed: u64) -> Self {
        let learning_bytes = parameters.integer("learning_bytes");
        Peekaboo::new(PeekabooParameters { learning_bytes, alpha: parameters.number("alpha") }, seed)
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = PeekabooParameters::default();
        PolicyInfo::new(Self::NAME, "learns when waiting for the fast path pays")
            .source("Wu and others, IEEE JSAC 2020; Li 2024")
            .parameter(
                ParameterInfo::integer("learning_bytes", 10_000..=1_000_000_000, default.learning_bytes)
                    .unit("bytes")
                    .meaning("length of a learning round")
                    .source("Li 2024, section 4.1"),
            )
            .parameter(
                ParameterInfo::number("alpha", 0.0..=100.0, default.alpha)
                    .meaning("exploration of LinUCB")
                    .source("public implementations"),
            )
            .parameter(Guard::parameter())
    }
}

/// Window, bytes in flight and send window per round trip of the fast path and of the slow one, in MB/s.
fn context(view: &SendView<'_>, paths: [&PathView; 2]) -> [f64; FEATURES] {
    let in_flight = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_in_flight));
    // Flow control that does not bind is no circumstance.
    let send_window = view.queue.connection_window_left.saturating_add(in_flight).min(1 << 30);
    let mut context = [0.0; FEATURES];
    for (path, features) in paths.iter().zip(context.chunks_exact_mut(FEATURES / 2)) {
        let rtt = path.smoothed_rtt.as_secs_f64().max(1e-6);
        for (feature, bytes) in
            features.iter_mut().zip([path.congestion_window, path.bytes_in_flight, send_window])
        {
            *feature = (bytes as f64 / rtt / 1e6).min(1e6);
        }
    }
    context
}

/// `max(2 (RTT_f + var_f), RTT_s + var_s)`.
fn reference_time([fast, slow]: [&PathView; 2]) -> Duration {
    let fast = fast.smoothed_rtt.saturating_add(fast.rtt_variance);
    let slow = slow.smoothed_rtt.saturating_add(slow.rtt_variance);
    fast.saturating_mul(2).max(slow).min(Duration::from_secs(10))
}

impl Scheduler for Peekaboo {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let Some((fast, candidate)) = fastest_and_sendable(view) else { return Decision::Wait(None) };
        let slower = view.preferred().filter(|path| path.id != fast.id && path.has_rtt_sample);
        let slow = if candidate.id == fast.id {
            slower.min_by_key(|path| (path.smoothed_rtt, path.id))
        } else {
            Some(candidate)
        };
        let mut tag = Tag(0);
        if let Some(slow) = slow {
            let context = context(view, [fast, slow]);
            let sent = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_sent));
            let now = view.now.since(Time::ZERO);
            self.learner.advance(now, sent, reference_time([fast, slow]), &context);
            if candidate.id != fast.id && self.learner.choose(&context) != TRANSMIT {
                return Decision::Wait(fast.next_release);
            }
            tag = Tag(self.learner.step());
        }
        let max_bytes = if candidate.id == fast.id { u64::MAX } else { datagram(candidate) };
        Decision::Send(Assignment::next(candidate.id).with(|assignment| {
            assignment.max_bytes = max_bytes;
            assignment.tag = tag;
        }))
    }

    fn fill_figures(&self, figures: &mut Figures) {
        let Some(found) = self.learner.deployment() else { return figures.word("arms", "learning") };
        figures.word("arms", "known");
        figures.number("send_won", found.first_won);
        figures.number("follow_send", found.follow[0]);
        figures.number("follow_wait", found.follow[1]);
        figures.number("said_send", found.decisions[0] as f64);
        figures.number("said_wait", found.decisions[1] as f64);
    }

    fn interests(&self) -> Interests {
        Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Acked(report) = event {
            let delivery = report.now.since(report.sent_at).as_secs_f64().max(1e-6);
            let reward = report.bytes as f64 / delivery / 1e6;
            self.learner.reward(report.tag.0, report.sent_at.since(Time::ZERO), reward);
        }
    }
}

#[cfg(test)]
mod tests;
