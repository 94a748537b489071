//! Peekaboo: a bandit that learns when waiting for the fast path pays.

mod round;

use std::time::Duration;

use hawser_learn::{LinUcb, Random};
use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, ParameterInfo, Parameters, PathView, PolicyInfo,
    Scheduler, SendView, Tag, Time,
};

use crate::choose::{explore, fastest_and_sendable};
use crate::guard::Guard;
use crate::placement::datagram;
use round::{FEATURES, Round, TRANSMIT, WAIT};

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

/// Decisions after which it is checked whether what was learnt still holds.
const CHECK_AFTER: u64 = 800;

/// Shares of decisions that differ by more than this start a new learning round (Wu 2020).
const RELEARN: f64 = 0.15;

/// Peekaboo (Wu, Alay, Brunstrom, Ferlin, Caso: IEEE JSAC 2020).
///
/// It decides only where the fast path is full: send on the slow one, or wait? A learning round alternates steps that always
/// send with steps that always wait, and gives LinUCB the circumstances at the start of each and its reward, the bytes per
/// delivery time of its packets. Steps of both kinds in like circumstances are compared in pairs; how often sending won says
/// how far to trust the bandit. It is then followed with that probability, until its decisions drift away from what was
/// learnt and a new round starts.
#[derive(Clone, Debug)]
pub struct Peekaboo {
    parameters: PeekabooParameters,
    bandit: LinUcb,
    random: Random,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    Learn(Box<Round>),
    Deploy(Deployment),
}

/// What a learning round found, and the decisions since.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deployment {
    /// How often sending won; waiting won the others.
    pub(crate) sending_won: f64,
    /// With which probability the bandit is followed when it says this.
    pub(crate) follow: [f64; 2],
    /// How often it said this.
    pub(crate) decisions: [u64; 2],
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
        Peekaboo {
            parameters,
            bandit: LinUcb::new(2, FEATURES, parameters.alpha),
            random: Random::new(seed),
            phase: Phase::Learn(Box::default()),
        }
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

    /// Whether to send on the slow path now that the fast one is full.
    fn sends(&mut self, context: &[f64; FEATURES]) -> bool {
        let deployment = match &mut self.phase {
            Phase::Learn(round) => return round.arm() == TRANSMIT,
            Phase::Deploy(deployment) => deployment,
        };
        let best = self.bandit.choose(context);
        deployment.decisions[best] += 1;
        let arm = if self.random.fraction() < deployment.follow[best] { best } else { 1 - best };
        if deployment.has_drifted() {
            self.phase = Phase::Learn(Box::default());
        }
        arm == TRANSMIT
    }

    /// Starts and ends the steps of a learning round.
    fn advance(&mut self, view: &SendView<'_>, paths: [&PathView; 2], context: &[f64; FEATURES]) {
        let Phase::Learn(round) = &mut self.phase else { return };
        let sent = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_sent));
        let reference = reference_time(paths);
        if let Some(deployment) = round.advance(
            view.now,
            sent,
            reference,
            self.parameters.learning_bytes,
            context,
            &mut self.bandit,
        ) {
            self.phase = Phase::Deploy(deployment);
        }
    }
}

impl Deployment {
    fn has_drifted(&self) -> bool {
        let all = self.decisions[TRANSMIT] + self.decisions[WAIT];
        let sending = self.decisions[TRANSMIT] as f64 / all.max(1) as f64;
        // The shares of waiting differ by the same.
        all >= CHECK_AFTER && (sending - self.sending_won).abs() > RELEARN
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
            self.advance(view, [fast, slow], &context);
            if candidate.id != fast.id && !self.sends(&context) {
                return Decision::Wait(fast.next_release);
            }
            if let Phase::Learn(round) = &self.phase {
                tag = round.tag();
            }
        }
        let max_bytes = if candidate.id == fast.id { u64::MAX } else { datagram(candidate) };
        Decision::Send(Assignment { max_bytes, tag, ..Assignment::next(candidate.id) })
    }

    fn interests(&self) -> Interests {
        Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let (Event::Acked(report), Phase::Learn(round)) = (event, &mut self.phase) {
            round.on_acked(report);
        }
    }
}

/// A time that is not over yet, for steps.
fn is_over(since: Time, length: Duration, now: Time) -> bool {
    now >= since + length
}

#[cfg(test)]
mod tests;
