//! `whole-frames`: a frame that would not be in time is discarded as a whole, before its first byte takes the place
//! of another frame; so are those that build on it. The application hears of each, and the receiver reads a gap.
//!
//! Scheduler and controllers belong together: the controllers keep queues short, without which no forecast of an
//! arrival would be true.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    Command, Commands, ControllerFactory, Decision, Event, FeatureId, FeatureSet, Interests, Message,
    ParameterInfo, PolicyError, PolicyInfo, PolicySet, PolicySetFactory, Registry, Reliability, Scheduler,
    SchedulerFactory, SchedulerInit, Segment, SendView, SetInit, StreamId, Time,
};

/// What the application is told: the id of a frame that was given up, eight bytes, big endian.
pub(crate) const GIVEN_UP: FeatureId = FeatureId(65);
/// How often the queue is looked at while no path can send.
const REVIEW: Duration = Duration::from_millis(20);
/// Frames that are remembered; what waits of them is far less.
const MEMORY: usize = 1_000;

/// What is remembered of a frame that need not arrive.
struct Known {
    first_seen: Time,
    is_given_up: bool,
}

/// Discards what comes too late, and leaves the rest to another scheduler.
struct Gate {
    inner: Box<dyn Scheduler>,
    margin: Duration,
    /// Of frames for which the application names no deadline; zero: they have none.
    within: Duration,
    frames: BTreeMap<(StreamId, u64), Known>,
    review_at: Option<Time>,
}

/// When what is in the queue will arrive.
struct Forecast {
    now: Time,
    delay: Duration,
    room: f64,
    /// Bytes per second.
    rate: f64,
}

impl Forecast {
    fn of(view: &SendView<'_>) -> Option<Forecast> {
        let delay = view.preferred().map(|path| path.smoothed_rtt.saturating_sub(path.min_rtt / 2)).min()?;
        let of = |path: &hawser_policy::PathView| {
            let window = path.congestion_window as f64;
            let room = (window - path.bytes_in_flight as f64).max(0.0);
            (room, window / path.smoothed_rtt.as_secs_f64().max(0.001))
        };
        let (room, rate) =
            view.preferred().map(of).fold((0.0, 1.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(Forecast { now: view.now, delay, room, rate })
    }

    fn arrival(&self, bytes: u64) -> Time {
        // What fits into the windows leaves at once; a rate that nothing comes of is a rate of years.
        let seconds = (bytes as f64 - self.room).max(0.0) / self.rate;
        self.now + self.delay + Duration::from_secs_f64(seconds.min(1e6))
    }
}

impl Gate {
    fn review(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let forecast = Forecast::of(view);
        let mut ahead = 0;
        let mut waiting = false;
        view.segments.segments(&mut |segment| {
            let bytes = segment.range.end - segment.range.start;
            let deadline = self.deadline(segment, view.now);
            let arrival = forecast.as_ref().map_or(view.now, |forecast| forecast.arrival(ahead + bytes));
            if deadline.is_some_and(|deadline| arrival + self.margin > deadline) || self.is_useless(segment) {
                self.give_up(segment, commands);
            } else {
                waiting |= deadline.is_some();
                ahead += bytes;
            }
            ControlFlow::Continue(())
        });
        while self.frames.len() > MEMORY {
            self.frames.pop_first();
        }
        self.review_at = waiting.then(|| view.now + REVIEW);
    }

    /// When a frame that may be given up is to be there; it is remembered from now on.
    fn deadline(&mut self, segment: &Segment<'_>, now: Time) -> Option<Time> {
        let id = segment.id.filter(|_| segment.reliability != Reliability::Reliable)?;
        let new = Known { first_seen: now, is_given_up: false };
        let first_seen = self.frames.entry((segment.stream, id)).or_insert(new).first_seen;
        let own = (self.within > Duration::ZERO).then(|| first_seen + self.within);
        segment.deadline.or(own)
    }

    /// Whether it, or what it builds on, was given up: the application may write the rest of a frame later.
    fn is_useless(&self, segment: &Segment<'_>) -> bool {
        let is_gone = |id: u64| self.frames.get(&(segment.stream, id)).is_some_and(|known| known.is_given_up);
        let mut needs = segment.id.into_iter().chain(segment.depends_on.iter().copied());
        segment.reliability != Reliability::Reliable && needs.any(is_gone)
    }

    fn give_up(&mut self, segment: &Segment<'_>, commands: &mut Commands) {
        let Some(id) = segment.id else { return };
        commands.push(Command::Discard { stream: segment.stream, range: segment.extent.clone() });
        let Some(known) = self.frames.get_mut(&(segment.stream, id)) else { return };
        if !std::mem::replace(&mut known.is_given_up, true) {
            commands.push(Command::Tell(Message::reliable(GIVEN_UP, id.to_be_bytes().to_vec())));
        }
    }
}

impl Scheduler for Gate {
    fn name(&self) -> &'static str {
        "whole-frames"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let before = commands.len();
        self.review(view, commands);
        if commands.len() > before {
            // The queue that the other scheduler would see is not what will be left of it.
            return Decision::Wait(Some(view.now));
        }
        self.inner.schedule(view, commands)
    }

    fn interests(&self) -> Interests {
        self.inner.interests()
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        self.inner.on_event(event, commands);
    }

    fn next_timeout(&self) -> Option<Time> {
        [self.review_at, self.inner.next_timeout()].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        if self.review_at.is_some_and(|at| at <= view.now) {
            self.review(view, commands);
        }
        if self.inner.next_timeout().is_some_and(|at| at <= view.now) {
            self.inner.on_timeout(view, commands);
        }
    }
}

struct WholeFrames {
    margin: Duration,
    within: Duration,
    scheduler: Arc<dyn SchedulerFactory>,
    controllers: Arc<dyn ControllerFactory>,
    usual: Arc<dyn PolicySetFactory>,
}

impl PolicySetFactory for WholeFrames {
    fn build(&self, init: &SetInit) -> PolicySet {
        let inner = self.scheduler.build(&SchedulerInit::new(init.side, init.seed));
        let shared = self.controllers.for_connection(init.side, init.seed);
        self.usual.build(init).with(|set| {
            set.scheduler = Box::new(Gate {
                inner,
                margin: self.margin,
                within: self.within,
                frames: BTreeMap::new(),
                review_at: None,
            });
            set.congestion = shared.unwrap_or_else(|| self.controllers.clone());
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE
    }
}

/// Makes it known as `whole-frames`.
pub(crate) fn register(registry: &mut Registry) -> Result<(), PolicyError> {
    let longest = Duration::from_secs(60);
    let info = PolicyInfo::new("whole-frames", "frames that would be late are discarded as a whole")
        .parameter(
            ParameterInfo::duration("margin", Duration::ZERO..=longest, Duration::from_millis(10))
                .meaning("time before its deadline at which a frame is to be there"),
        )
        .parameter(
            ParameterInfo::duration("within", Duration::ZERO..=longest, Duration::ZERO)
                .meaning("deadline of frames that have none, from when they are queued; 0: they have none"),
        );
    let (scheduler, controllers) = (registry.scheduler("default")?, registry.congestion("copa")?);
    let usual = super::usual(registry)?;
    registry.add_sets(info, move |parameters| {
        Arc::new(WholeFrames {
            margin: parameters.duration("margin"),
            within: parameters.duration("within"),
            scheduler: scheduler.clone(),
            controllers: controllers.clone(),
            usual: usual.clone(),
        })
    });
    Ok(())
}
