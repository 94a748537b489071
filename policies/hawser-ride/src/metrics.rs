//! What is measured of a session.

use std::collections::BTreeMap;

use hawser_numbers::statistics::{deviation, mean, quantile_of};

use crate::{FRAME_SECONDS, FrameKind, Outcome};

/// Length of the bins of rates, seconds.
const BIN: f64 = 0.1;

/// What is measured of a session. What there is nothing of has no mean and no quantile: they are NaN.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Metrics {
    /// Mean reward of a frame (an episode), frame durations.
    pub reward: f64,
    /// Deviation of the reward among B frames.
    pub reward_deviation_b: f64,
    /// Bytes of units that were decoded in time, by when: median of 100 ms, bit/s.
    pub viewing_rate: f64,
    /// Bytes of units by when they arrived, decoded or not: median of 100 ms, bit/s.
    pub throughput: f64,
    /// Mean bytes that were sent, bit/s of the session.
    pub sent_rate: f64,
    /// From release to arrival of units that were sent: 95th percentile, seconds.
    pub delay_p95: f64,
    /// I frames.
    pub i: KindMetrics,
    /// P frames.
    pub p: KindMetrics,
    /// B frames.
    pub b: KindMetrics,
}

/// What is measured of one kind of frames.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct KindMetrics {
    /// Units.
    pub units: usize,
    /// Share that is not waited for; a skip counts as late.
    pub zero_share: f64,
    /// The same of units that were sent, as the dissertation has it.
    pub zero_share_of_sent: f64,
    /// Share that is late or skipped.
    pub interruption: f64,
    /// Share that is skipped.
    pub skipped: f64,
    /// Longest wait for a unit that was sent, seconds.
    pub longest_freeze: f64,
    /// Of the late ones that were sent: share that is waited for exactly one frame duration.
    pub late_by_a_frame: f64,
    /// Late ones that were sent and are waited for longer than one frame duration.
    pub late_by_more: usize,
    /// Mean reward of a frame.
    pub reward: f64,
}

impl Metrics {
    /// Of what became of all units of a session.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut rewards: BTreeMap<usize, (FrameKind, f64)> = BTreeMap::new();
        for outcome in outcomes {
            rewards.entry(outcome.frame).or_insert((outcome.kind, 0.0)).1 += outcome.reward;
        }
        let of = |kind| -> Vec<f64> { rewards.values().filter(|it| it.0 == kind).map(|it| it.1).collect() };
        let all: Vec<f64> = rewards.values().map(|it| it.1).collect();
        let kind = |kind| KindMetrics { reward: mean(&of(kind)), ..KindMetrics::of(outcomes, kind) };
        let sent = || outcomes.iter().filter(|outcome| outcome.was_sent());
        let delays: Vec<f64> = sent().map(|outcome| outcome.arrival - outcome.release).collect();
        let useful = outcomes.iter().filter(|outcome| outcome.is_useful());
        let frames = outcomes.last().map_or(1, |outcome| outcome.frame + 1);
        Metrics {
            reward: mean(&all),
            reward_deviation_b: deviation(&of(FrameKind::B)),
            viewing_rate: binned(useful.map(|outcome| (outcome.decode, outcome.bytes)), frames),
            throughput: binned(sent().map(|outcome| (outcome.arrival, outcome.bytes)), frames),
            sent_rate: 8.0 * sent().map(|outcome| outcome.bytes).sum::<f64>()
                / (frames as f64 * FRAME_SECONDS),
            delay_p95: quantile_of(&delays, 0.95),
            i: kind(FrameKind::I),
            p: kind(FrameKind::P),
            b: kind(FrameKind::B),
        }
    }
}

impl KindMetrics {
    fn of(outcomes: &[Outcome], kind: FrameKind) -> Self {
        let of_kind: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.kind == kind).collect();
        let sent = || of_kind.iter().filter(|outcome| outcome.was_sent());
        let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
        let zero = of_kind.iter().filter(|outcome| outcome.rebuffering() == 0.0).count();
        let late: Vec<f64> = sent().map(|outcome| outcome.rebuffering()).filter(|wait| *wait > 0.0).collect();
        // Times are sums of fractions of seconds.
        let is_a_frame = |wait: &&f64| (**wait - FRAME_SECONDS).abs() < 1e-9;
        let (units, was_sent) = (of_kind.len(), sent().count());
        KindMetrics {
            units,
            zero_share: share(zero, units),
            zero_share_of_sent: share(zero, was_sent),
            interruption: share(units - zero, units),
            skipped: share(units - was_sent, units),
            longest_freeze: late.iter().copied().fold(0.0, f64::max),
            late_by_a_frame: share(late.iter().filter(is_a_frame).count(), late.len()),
            late_by_more: late.iter().filter(|wait| **wait > FRAME_SECONDS + 1e-9).count(),
            reward: 0.0,
        }
    }
}

/// Median rate of the bins of the session, bit/s; what comes later is in none.
fn binned(amounts: impl Iterator<Item = (f64, f64)>, frames: usize) -> f64 {
    let mut bins = vec![0.0; (frames as f64 * FRAME_SECONDS / BIN).ceil() as usize];
    for (time, bytes) in amounts {
        if let Some(bin) = bins.get_mut((time / BIN) as usize) {
            *bin += 8.0 * bytes / BIN;
        }
    }
    quantile_of(&bins, 0.5)
}
