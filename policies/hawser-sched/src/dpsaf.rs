use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, ParameterInfo, PathId, PathView, PolicyInfo, Scheduler,
    Selection, SendView, StreamId,
};

use crate::arrival::paced_window;
use crate::choose::explore;
use crate::placement::{Estimates, datagram, one_way, place, rounds_in};

/// Gain of the average of the observed offset (Xue 2018).
const GAIN: f64 = 0.125;

/// Rounds that are followed.
const MAX_ROUNDS: u64 = 40;

/// DPSAF, Dynamic Packet Scheduling with offsets Adapted by Feedback (Xue, Han, Zhang, Chen, Xu, Lu, Ma, Liu: IEEE Internet of
/// Things Journal, 2018).
///
/// The slow path is given packet `FP + N + epsilon`: `N` is what the fast path sends in `k = floor(OWD_s / RTT_f)` rounds,
/// each following the more likely of two cases, no loss with probability `(1 - p)^w` and a window that grows, or loss and a
/// window that is halved; `epsilon` is a moving average of how far off packets of the slow path were when they arrived, by
/// what had been acknowledged then.
#[derive(Clone, Debug)]
pub struct Dpsaf {
    gain: f64,
    /// Bytes by which the slow path is sent further ahead than computed.
    offset: f64,
    /// The path that was last sent ahead.
    slow: Option<PathId>,
    /// The stream last acknowledged on another path, and the end of what of it was acknowledged there.
    newest: Option<(StreamId, u64)>,
}

impl Default for Dpsaf {
    fn default() -> Self {
        Dpsaf::with_gain(GAIN)
    }
}

impl Dpsaf {
    /// Its name in the registry.
    pub const NAME: &'static str = "dpsaf";

    /// With another weight of the newest offset, 0 to 1; 0 turns feedback off.
    pub fn with_gain(gain: f64) -> Self {
        Dpsaf { gain, offset: 0.0, slow: None, newest: None }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "later bytes on the slow path, corrected by what acknowledgements show")
            .source("Xue and others, IEEE IoT Journal 2018")
            .parameter(
                ParameterInfo::number("gain", 0.0..=1.0, GAIN)
                    .meaning("weight of the newest observed offset; 0 turns feedback off")
                    .source("Xue 2018"),
            )
    }

    /// A range of the slow path below what others had acknowledged came late by the difference, one above came early.
    fn note(&mut self, path: PathId, stream: StreamId, start: u64, end: u64) {
        if self.slow != Some(path) {
            self.newest = Some((stream, end));
        } else if let Some((known, newest)) = self.newest
            && known == stream
        {
            let late = newest as f64 - start as f64;
            self.offset = (self.offset + self.gain * late).clamp(-1e9, 1e9);
        }
    }
}

impl Estimates for Dpsaf {
    fn arrival(&mut self, path: &PathView) -> Duration {
        one_way(path)
    }

    fn delivered_before(&mut self, fast: &PathView, _slow: &PathView, arrival: Duration) -> u64 {
        let size = datagram(fast) as f64;
        let survival = 1.0 - f64::from(fast.loss_ppm.min(1_000_000)) / 1e6;
        let mut window = (paced_window(fast) as f64 / size).max(1.0);
        let mut packets = 0.0;
        for _ in 0..rounds_in(fast, arrival).min(MAX_ROUNDS) {
            if libm::pow(survival, window) >= 0.5 {
                packets += window;
                window += if fast.in_slow_start { window } else { 1.0 };
            } else {
                packets += window * survival;
                window = (window / 2.0).max(2.0);
            }
        }
        if packets == 0.0 { 0 } else { (packets * size + self.offset).max(0.0) as u64 }
    }
}

impl Scheduler for Dpsaf {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let decision = place(view, self);
        if let Decision::Send(Assignment { path, selection: Selection::Skip(_), .. }) = decision {
            self.slow = Some(path);
        }
        decision
    }

    fn interests(&self) -> Interests {
        Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Event::Acked(report) = event else { return };
        for part in report.ranges.iter().filter(|part| !part.copy && !part.range.is_empty()) {
            self.note(report.path, part.stream, part.range.start, part.range.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, skips, view};

    fn gap(loss_ppm: u32) -> Decision {
        let mut paths = [path(1, 20, 0), path(2, 100, 50_000)];
        paths[0].loss_ppm = loss_ppm;
        Dpsaf::default().schedule(&view(&paths, 1_000_000), &mut Vec::new())
    }

    /// Two rounds of 20 ms in 50 ms. 0.999^100 = 0.90: 100 and 101 packets arrive. 0.99^100 = 0.37: 99 of 100, then 0.99^50 =
    /// 0.61, all 50.
    #[test]
    fn each_round_follows_the_more_likely_case() {
        assert_eq!(gap(1_000), skips(2, 201_000, 1_000_000));
        assert_eq!(gap(10_000), skips(2, 149_000, 1_000_000));
    }

    #[test]
    fn what_arrives_late_is_sent_further_ahead() {
        let (mut dpsaf, stream) = (Dpsaf { slow: Some(PathId(2)), ..Dpsaf::default() }, StreamId(0));
        dpsaf.note(PathId(1), stream, 0, 50_000);
        dpsaf.note(PathId(2), stream, 34_000, 35_000);
        assert_eq!(dpsaf.offset, 2_000.0);
        let paths = [path(1, 20, 0), path(2, 100, 50_000)];
        let decision = dpsaf.schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(2, 203_000, 1_000_000));
        // Of another stream nothing can be said.
        dpsaf.note(PathId(1), StreamId(4), 0, 1_000);
        dpsaf.note(PathId(2), stream, 35_000, 36_000);
        assert_eq!(dpsaf.offset, 2_000.0);
    }
}
