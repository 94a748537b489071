//! What acknowledgements wait for on their way back.
//!
//! RTprop is the least round trip of seconds. When an upload fills the queue of the other direction, each round trip is longer than that by a
//! queue that this sender neither made nor can drain, and a window of so many RTprops is a part of what is under way: the samples of the
//! bandwidth fall with it, and the window with them. Where the peer reports when packets arrived, the forward delay tells how much of a
//! round trip is the queue of this direction. The rest is what has to be filled.

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, ParameterInfo, Parameters, Time,
};

use crate::Build;
use crate::two_buckets::TwoBuckets;

/// How long a least forward delay holds, as a least round trip does.
const WINDOW: Duration = Duration::from_secs(10);
/// Forward delays that did not come for this long do not come any more.
const STALE: Duration = Duration::from_secs(1);
/// Of the moving average.
const GAIN: f64 = 0.125;
/// Less than this share of RTprop is no queue: the window has room for as much, and another return path makes the difference.
const NEGLIGIBLE: f64 = 0.5;

/// By how much a round trip without the queue of this direction is longer than RTprop, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backward {
    is_used: bool,
    forward: TwoBuckets,
    at: Option<Time>,
    mean: f64,
    longer: f64,
}

impl Backward {
    pub(crate) fn new(parameters: &Parameters) -> Backward {
        Backward { is_used: parameters.flag(FORWARD), ..Backward::UNUSED }
    }

    /// Forward delays are judged where they come, whether or not this sender asks for them.
    pub(crate) const USED: Backward = Backward { is_used: true, ..Backward::UNUSED };

    /// Nothing is judged by forward delays.
    pub(crate) const UNUSED: Backward =
        Backward { is_used: false, forward: TwoBuckets::EMPTY, at: None, mean: 0.0, longer: 0.0 };

    /// Another network path.
    pub(crate) fn restarted(self) -> Backward {
        Backward { is_used: self.is_used, ..Backward::UNUSED }
    }

    /// Takes in an acknowledgement; `propagation` is RTprop. Returns the round trip without what the acknowledgement waited for, if that is
    /// known.
    pub(crate) fn on_ack(&mut self, ack: &Ack, propagation: Option<f64>) -> Option<f64> {
        if self.at.is_some_and(|at| ack.now.since(at) >= STALE) {
            *self = self.restarted();
        }
        let propagation = propagation?;
        let (forward, rtt) = ack.one_way_delay.zip(ack.latest_rtt).filter(|_| self.is_used)?;
        let forward = forward.as_secs_f64();
        let queue = forward - self.forward.on_sample(ack.now, forward, WINDOW);
        let longer = (rtt.as_secs_f64() - queue - propagation).max(0.0);
        self.mean += if self.at.is_some() { GAIN * (longer - self.mean) } else { longer };
        self.longer = if self.mean < NEGLIGIBLE * propagation { 0.0 } else { self.mean };
        self.at = Some(ack.now);
        Some(propagation + queue)
    }

    pub(crate) fn longer(&self) -> f64 {
        self.longer
    }
}

/// Name of the parameter.
const FORWARD: &str = "forward";

/// The parameter of each member.
pub(super) fn parameter() -> ParameterInfo {
    ParameterInfo::flag(FORWARD, false)
        .meaning("ask the peer when packets arrive, and leave room for what acknowledgements wait for")
        .source("Hawser")
}

/// Makes controllers that judge by forward delays.
struct Factory {
    build: Build,
    parameters: Parameters,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        (self.build)(init, &self.parameters)
    }

    fn wants_receive_timestamps(&self) -> bool {
        self.parameters.flag(FORWARD)
    }
}

/// The factory of a member.
pub(crate) fn factory(build: Build, parameters: &Parameters) -> Arc<dyn ControllerFactory> {
    Arc::new(Factory { build, parameters: parameters.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    fn after(millis: u64, forward: u64, rtt: u64) -> Ack {
        ack(Time::from_millis(millis), 1_000, Duration::from_millis(rtt))
            .with(|ack| ack.one_way_delay = Some(Duration::from_millis(60_000 + forward)))
    }

    #[test]
    fn a_queue_of_this_direction_leaves_no_more_room() {
        let mut backward = Backward::USED;
        for n in 0..100 {
            let queue = n % 10 * 3;
            backward.on_ack(&after(n * 10, 10 + queue, 20 + queue), Some(0.02));
        }
        assert!(backward.longer() < 0.0005, "{}", backward.longer());
    }

    #[test]
    fn a_queue_of_the_other_direction_does() {
        let mut backward = Backward::USED;
        backward.on_ack(&after(0, 10, 20), Some(0.02));
        let mut without = None;
        for n in 1..100 {
            without = backward.on_ack(&after(n * 10, 15, 225), Some(0.02));
        }
        assert!((backward.longer() - 0.2).abs() < 0.001, "{}", backward.longer());
        assert!(without.is_some_and(|rtt| (rtt - 0.025).abs() < 1e-6), "{without:?}");
        // A peer that stops telling is believed for a second.
        let silent = after(3_000, 0, 225).with(|ack| ack.one_way_delay = None);
        assert_eq!(backward.on_ack(&silent, Some(0.02)), None);
        assert_eq!(backward.longer(), 0.0);
    }
}
