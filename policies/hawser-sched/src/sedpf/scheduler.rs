//! The path of the next packet.

use std::f64::consts::FRAC_PI_2;
use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, PathView, PolicyInfo, Scheduler, Selection, SendView,
    Time,
};
use smallvec::SmallVec;

use super::gaussian::Gaussian;
use super::{SOURCE, Sedpf};
use crate::arrival::paced_rate;
use crate::choose::{explore, explored};
use crate::placement::{behind, datagram, earlier, one_way};

/// Packets left to paths that are full grow by an eighth of what was left to them already, so that the work of a decision is bounded.
const STEP: u64 = 8;

/// Such steps in a decision: enough for any queue, and far beyond any path.
const MAX_STEPS: usize = 256;

/// Times are bounded to this, in seconds: sums of squares stay finite.
const FAR: f64 = 1e6;

/// SEDPF's scheduler, stochastic earliest delivery path first (Garcia-Saavedra, Karzand, Leith: IEEE Transactions on Mobile Computing,
/// 2017; the formula as completed from the literature).
///
/// The delay of a path is random: packet k goes where `E[max(D_{k-1}, avail_p + L / B_p + S_p)]` is least, the expected time of its
/// delivery in order, where `D_{k-1}` is when all packets before it are there. All of them are taken as independent and normally
/// distributed. A path of varying delay is thus worth less than its mean, as soon as another is nearly as fast.
///
/// Rates, and when a path is available, are EDPF's ([`Edpf`](crate::Edpf)). The mean of `S_p` is half of the smoothed round-trip time, its
/// standard deviation half of that of the round-trip time, which is `sqrt(pi / 2)` of the mean deviation. `D_k` has the mean and
/// the variance of that maximum. If the best path is full the packet is left to it, and the next one is decided, until one
/// is for a path that can send. Coded packets have no place in the order: they go where they are expected first.
#[derive(Clone, Copy, Debug, Default)]
pub struct SedpfScheduler {
    /// When the last packet at the head of the queue is expected in order, from the time at which it was sent.
    in_order: Option<(Time, Gaussian)>,
}

/// A path, with what it was given in this decision.
struct Candidate<'a> {
    path: &'a PathView,
    /// Of the next packet that it is given.
    arrival: Gaussian,
    /// Seconds per byte.
    pace: f64,
}

impl<'a> Candidate<'a> {
    fn of(path: &'a PathView) -> Self {
        let seconds = |time: Duration| time.as_secs_f64().min(FAR);
        let rate = paced_rate(path).bits_per_second().max(1) as f64;
        let (pace, delay) = (8.0 / rate, seconds(one_way(path)));
        // Of a full window half is delivered and on its way to be acknowledged.
        let busy = (path.bytes_in_flight as f64 * pace).min(FAR) - delay;
        let mean = delay.max(busy) + (datagram(path) as f64 * pace).min(FAR);
        let deviation = seconds(path.rtt_variance) / 2.0;
        Candidate { path, arrival: Gaussian { mean, variance: FRAC_PI_2 * deviation * deviation }, pace }
    }

    /// As if `bytes` had been given to it.
    fn give(&mut self, bytes: u64) {
        self.arrival.mean = (self.arrival.mean + bytes as f64 * self.pace).min(FAR);
    }
}

type Candidates<'a> = SmallVec<[Candidate<'a>; 16]>;

/// Position of the path of least expected delivery in order. Where what was sent before decides, it is the one that delivers first.
fn best(candidates: &[Candidate<'_>], in_order: Option<Gaussian>) -> Option<usize> {
    let key = |candidate: &Candidate<'_>| {
        let mean = candidate.arrival.mean;
        (in_order.map_or(mean, |before| before.expected_max(candidate.arrival)), mean, candidate.path.id)
    };
    let mut least = None;
    for (position, candidate) in candidates.iter().enumerate() {
        let key = key(candidate);
        if least.is_none_or(|(_, other)| key < other) {
            least = Some((position, key));
        }
    }
    Some(least?.0)
}

impl SedpfScheduler {
    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(
            Sedpf::NAME,
            "where delivery in order is expected first, by mean and variance of the delay",
        )
        .source(SOURCE)
    }

    fn before(&self, now: Time) -> Option<Gaussian> {
        let (at, before) = self.in_order?;
        Some(Gaussian { mean: before.mean - now.since(at).as_secs_f64(), ..before })
    }

    fn place(&mut self, view: &SendView<'_>) -> Decision {
        let ready = |candidate: &Candidate<'_>| candidate.path.sendable() > 0;
        let mut candidates: Candidates<'_> = explored(view).map(Candidate::of).collect();
        if !candidates.iter().any(ready) {
            return Decision::Wait(None);
        }
        let mut before = self.before(view.now);
        if view.queue.repair > 0 {
            candidates.retain(|candidate| candidate.path.sendable() > 0);
            return best(&candidates, before).map_or(Decision::Wait(None), |at| {
                let path = candidates[at].path;
                let (selection, max_bytes) = (Selection::Repair, datagram(path));
                Decision::Send(Assignment::next(path.id).with(|assignment| {
                    assignment.selection = selection;
                    assignment.max_bytes = max_bytes;
                }))
            });
        }
        let (mut gap, mut release) = (0_u64, None);
        for _ in 0..MAX_STEPS {
            let Some(at) = best(&candidates, before) else { break };
            let chosen = &mut candidates[at];
            let path = chosen.path;
            if ready(chosen) {
                if gap == 0 {
                    // The last of the packets that leave now.
                    let bytes = path.sendable().min(view.queue.total());
                    chosen.give(bytes.saturating_sub(datagram(path)));
                    let last = before.map_or(chosen.arrival, |before| before.max(chosen.arrival));
                    self.in_order = Some((view.now, last));
                }
                return behind(view, path, gap, release);
            }
            let bytes = datagram(path).max(gap / STEP);
            chosen.give(bytes - datagram(path));
            before = Some(before.map_or(chosen.arrival, |before| before.max(chosen.arrival)));
            chosen.give(datagram(path));
            release = earlier(release, path.next_release);
            gap = gap.saturating_add(bytes);
            if gap >= view.queue.unsent {
                break;
            }
        }
        Decision::Wait(release)
    }
}

impl Scheduler for SedpfScheduler {
    fn name(&self) -> &'static str {
        Sedpf::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        explore(view).unwrap_or_else(|| self.place(view))
    }

    fn interests(&self) -> Interests {
        Interests::PATHS | Interests::REPAIR
    }

    /// What was expected of a path that is gone, or was silent, is not to be expected any more.
    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Path { .. } = event {
            self.in_order = None;
        }
    }
}
