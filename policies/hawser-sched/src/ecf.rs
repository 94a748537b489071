use hawser_policy::{
    Assignment, Commands, Decision, ParameterInfo, PathView, PolicyInfo, Scheduler, SendView,
};

use crate::arrival::paced_window;
use crate::choose::{explore, fastest_and_sendable};

/// Hysteresis: once waiting, the fast path must lose its advantage by this much before waiting ends (Lim 2017).
const BETA: f64 = 0.25;

/// ECF, Earliest Completion First (Lim, Nahum, Towsley, Gibbens: CoNEXT 2017).
///
/// When the fastest path is full, ECF asks whether what is queued would be through sooner if it waited for that path
/// than if it used the slower one now. While much is queued the slow path is used; near the end it is not.
#[derive(Clone, Copy, Debug)]
pub struct Ecf {
    beta: f64,
    waiting: bool,
}

impl Default for Ecf {
    fn default() -> Self {
        Ecf::with_beta(BETA)
    }
}

impl Ecf {
    /// Its name in the registry.
    pub const NAME: &'static str = "ecf";

    /// With another hysteresis, zero or more.
    pub fn with_beta(beta: f64) -> Self {
        Ecf { beta, waiting: false }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "may wait for the fast path when that finishes the queue sooner")
            .source("Lim and others, CoNEXT 2017")
            .parameter(
                ParameterInfo::number("beta", 0.0..=10.0, BETA)
                    .meaning("hysteresis: how much advantage the fast path must lose before waiting ends")
                    .source("Lim 2017"),
            )
    }

    /// Whether to wait for `fast`, which is full, rather than to send on `slow`; `queued` in bytes.
    fn waits(&mut self, fast: &PathView, slow: &PathView, queued: u64) -> bool {
        let (fast_rtt, slow_rtt) = (fast.smoothed_rtt.as_secs_f64(), slow.smoothed_rtt.as_secs_f64());
        let margin = fast.rtt_variance.max(slow.rtt_variance).as_secs_f64();
        let beta = if self.waiting { self.beta } else { 0.0 };

        // Rounds that the queue takes on the fast path, the one to wait for included.
        let fast_rounds = 1.0 + windows(queued, fast);
        if fast_rounds * fast_rtt >= (1.0 + beta) * (slow_rtt + margin) {
            self.waiting = false;
            return false;
        }
        // The slow path must also be slower by itself, or waiting gains nothing. This does not end a waiting period.
        let waits = windows(queued, slow) * slow_rtt >= 2.0 * fast_rtt + margin;
        self.waiting |= waits;
        waits
    }
}

/// `bytes` in congestion windows of `path`. At least one: a window is the least that the formula can weigh
/// (as in the authors' implementation).
fn windows(bytes: u64, path: &PathView) -> f64 {
    let window = paced_window(path).max(1);
    bytes.max(window) as f64 / window as f64
}

impl Scheduler for Ecf {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let Some((fast, candidate)) = fastest_and_sendable(view) else { return Decision::Wait(None) };
        if candidate.id != fast.id && self.waits(fast, candidate, view.queue.total()) {
            return Decision::Wait(fast.next_release);
        }
        Decision::Send(Assignment::next(candidate.id))
    }
}

#[cfg(test)]
mod tests;
