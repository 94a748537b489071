//! Runs whose scheduler is watched: what is sent again (item 4), and how long it thinks (item 5).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hawser_policy::{
    Commands, Composition, Decision, Event, FeatureSet, Interests, PolicyInfo, PolicySet, PolicySetFactory,
    Scheduler, SendView, SetInit, Side, StreamRange, Time, Trace,
};
use hawser_sim::run::Probes;

use crate::data::statistics::quantile_of;
use crate::experiments::verify::{Measured, Request};

/// The name under which the watched policy is registered.
const NAME: &str = "watched";

/// Bytes of streams: ranges that do not touch, by stream and start.
#[derive(Debug, Default)]
struct Bytes(BTreeMap<(u64, u64), u64>);

impl Bytes {
    /// How many bytes of a range are in it.
    fn common(&self, stream: u64, range: &Range<u64>) -> u64 {
        let before = self.0.range(..(stream, range.end)).rev();
        let near = before.take_while(|((of, _), end)| *of == stream && **end > range.start);
        near.map(|((_, start), end)| (*end).min(range.end).saturating_sub((*start).max(range.start))).sum()
    }

    fn insert(&mut self, stream: u64, range: &Range<u64>) {
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&(of, at), &to)) = self.0.range(..=(stream, end)).next_back() {
            if of != stream || to < start {
                break;
            }
            (start, end) = (start.min(at), end.max(to));
            self.0.remove(&(of, at));
        }
        self.0.insert((stream, start), end);
    }
}

/// What was seen.
#[derive(Debug, Default)]
struct Tally {
    acked: Bytes,
    copied: Bytes,
    copied_bytes: u64,
    copies_lost: u64,
    /// Bytes that left as a copy twice, and bytes that left although they had been acknowledged.
    copied_again: u64,
    acked_sent: u64,
    /// Calls that met a frame that was new in the queue, in microseconds.
    calls: Vec<f64>,
    unsent: u64,
}

impl Tally {
    fn on_sent(&mut self, range: &StreamRange) {
        let stream = range.stream.0;
        self.acked_sent += self.acked.common(stream, &range.range);
        if range.copy {
            self.copied_again += self.copied.common(stream, &range.range);
            self.copied.insert(stream, &range.range);
            self.copied_bytes += range.range.end - range.range.start;
        }
    }
}

struct Watched {
    scheduler: Box<dyn Scheduler>,
    tally: Arc<Mutex<Tally>>,
}

impl Watched {
    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduler for Watched {
    fn name(&self) -> &'static str {
        self.scheduler.name()
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let began = Instant::now();
        let decision = self.scheduler.schedule(view, commands);
        let took = began.elapsed();
        let mut tally = self.tally();
        if view.queue.unsent > tally.unsent {
            tally.calls.push(took.as_secs_f64() * 1e6);
        }
        tally.unsent = view.queue.unsent;
        decision
    }

    fn interests(&self) -> Interests {
        self.scheduler.interests() | Interests::SENT | Interests::ACKED | Interests::LOST
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        match event {
            Event::Sent(sent) => sent.ranges.iter().for_each(|range| self.tally().on_sent(range)),
            Event::Acked(report) => {
                let mut tally = self.tally();
                report.ranges.iter().for_each(|range| tally.acked.insert(range.stream.0, &range.range));
            }
            Event::Lost(report) => {
                let copies = report.ranges.iter().filter(|range| range.copy);
                self.tally().copies_lost +=
                    copies.map(|range| range.range.end - range.range.start).sum::<u64>();
            }
            _ => {}
        }
        if self.scheduler.interests().contains(event.interest()) {
            self.scheduler.on_event(event, commands);
        }
    }

    fn set_trace(&mut self, trace: &Trace) {
        self.scheduler.set_trace(trace);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.scheduler.next_timeout()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.scheduler.on_timeout(view, commands);
    }
}

/// Sets whose schedulers at the host with the links are watched.
struct Watching {
    sets: Arc<dyn PolicySetFactory>,
    tally: Arc<Mutex<Tally>>,
}

impl PolicySetFactory for Watching {
    fn build(&self, init: &SetInit) -> PolicySet {
        let mut set = self.sets.build(init);
        if init.side != Side::Client {
            return set;
        }
        set.scheduler = Box::new(Watched { scheduler: set.scheduler, tally: self.tally.clone() });
        set
    }

    fn features(&self) -> FeatureSet {
        self.sets.features()
    }

    fn wants_receive_timestamps(&self) -> bool {
        self.sets.wants_receive_timestamps()
    }

    fn repairs(&self) -> bool {
        self.sets.repairs()
    }
}

/// A minute of small video on paths that lose 5 %.
pub(super) fn watched(request: &Request<'_>) -> Result<Measured, String> {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let policy = request.policy.parse().map_err(|error| format!("{error}"))?;
    let is_set = request.key.ends_with("policy");
    let wanted = if is_set {
        Composition::of(policy)
    } else {
        Composition::default().with(|composition| composition.scheduler = Some(policy))
    };
    let mut registry = (**request.registry).clone();
    let sets = registry.set(&wanted).map_err(|error| error.to_string())?;
    let factory = Arc::new(Watching { sets, tally: tally.clone() });
    registry.add_sets(PolicyInfo::new(NAME, "what is verified, watched"), move |_| factory.clone());
    let scenario = request.scenario(&[format!("transport.policy={NAME}")])?;
    let mut probes = Probes::default().with_notes(&["4d-map.reward"]);
    let request = Request { registry: &Arc::new(registry), ..*request };
    let outcome = request.run(&scenario, &mut probes)?;
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    let median = (!tally.calls.is_empty()).then(|| quantile_of(&tally.calls, 0.5));
    Ok(Measured::of_run(&outcome)
        .with("copied_bytes", tally.copied_bytes as f64)
        .with("copies_lost_bytes", tally.copies_lost as f64)
        .with("copied_again_bytes", tally.copied_again as f64)
        .with("acked_sent_bytes", tally.acked_sent as f64)
        .with("decisions", probes.notes().count() as f64)
        .with("frame_us", median.ok_or("no frame was sent")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once() {
        let mut bytes = Bytes::default();
        [0..10, 20..30, 8..22, 40..50].iter().for_each(|range| bytes.insert(4, range));
        bytes.insert(8, &(0..100));
        assert_eq!(bytes.0.len(), 3);
        assert_eq!([0..30, 25..45, 30..40, 45..90].map(|range| bytes.common(4, &range)), [30, 10, 0, 5]);
        assert_eq!(bytes.common(0, &(0..100)), 0);
    }
}
