//! The scheduler: has each new tile decided about, and sends tiles on the paths that were chosen.

use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Commands, Decision, Event, FeatureId, Interests, Message, PathId, PathView,
    Reliability, Scheduler, Segment, Selection, SendView, Time,
};
use hawser_ride::{Agent, PATHS, PathView as RidePath, SKIP};

use super::features::{Rates, arrival, observation, ride_path};
use super::trust::{RideCounts, Trust, Turn};
use super::units::{Choice, Unit, Units};
use crate::choose::{explore, fastest_sendable};

/// Commands of one call after which tiles are left to the next: the core applies no more than 256.
const MOST_COMMANDS: usize = 200;
/// How long after its deadline an acknowledgement may say that a tile was in time.
const GRACE: Duration = Duration::from_millis(500);
/// How often it is looked for tiles whose deadline expired.
const EXPIRY: Duration = Duration::from_millis(50);

/// RIDE's scheduler. See [`Ride`](super::Ride) for the set that it is a part of.
#[derive(Debug)]
pub struct RideScheduler {
    agent: Agent,
    rates: Rates,
    units: Units,
    trust: Trust,
    /// Unsent bytes when the whole queue was last looked through.
    unsent: u64,
    expires_at: Option<Time>,
    /// The peer did not refuse gaps so far.
    takes_gaps: bool,
    /// Times that the queue was looked through.
    pass: u64,
}

/// A piece of the queue that can be sent now.
struct Ready {
    path: PathId,
    selection: Selection,
}

impl RideScheduler {
    /// A scheduler with the agent that knows queues which last; `guards`: whether others decide in its place when tiles are late.
    pub fn new(guards: bool) -> Self {
        Self::with_agent(Agent::continuous(), guards)
    }

    /// The same with another agent, of the plain observation.
    pub fn with_agent(agent: Agent, guards: bool) -> Self {
        RideScheduler {
            agent,
            rates: Rates::default(),
            units: Units::default(),
            trust: Trust::new(guards),
            unsent: 0,
            expires_at: None,
            takes_gaps: true,
            pass: 0,
        }
    }

    /// How often who decided, and what came of it.
    pub fn counts(&self) -> RideCounts {
        self.trust.counts
    }

    /// Goes through the queue: tiles that are new in it are decided about, and the first piece is found that its path can
    /// send. Unless something new is in the queue it stops there.
    fn look_through(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Option<Ready> {
        self.pass += 1;
        let is_new = view.queue.unsent > self.unsent;
        self.unsent = view.queue.unsent;
        let mut waiting = Waiting::of(view, is_new, &mut self.units);
        let mut ready = None;
        // The queue may show more than flow control allows.
        let mut allowed = view.queue.unsent;
        view.segments.segments(&mut |segment| {
            let mut range = segment.range.clone();
            if !segment.retransmission {
                range.end = range.end.min(range.start.saturating_add(allowed));
                allowed -= range.end.saturating_sub(range.start);
            }
            let path = match segment.id.zip(segment.deadline) {
                Some((id, deadline)) => self.path_of(view, segment, id, deadline, &mut waiting, commands),
                None => fastest_sendable(view).map(|path| path.id),
            };
            let path = path.and_then(|id| view.path(id)).filter(|path| path.sendable() > 0);
            if ready.is_none() && range.start < range.end {
                let selection =
                    Selection::Range { stream: segment.stream, start: range.start, end: range.end };
                ready = path.map(|path| Ready { path: path.id, selection });
            }
            if ready.is_some() && !is_new { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        ready
    }

    /// The path of a tile; `None` if it is skipped, or none carries data.
    fn path_of(
        &mut self,
        view: &SendView<'_>,
        segment: &Segment<'_>,
        id: u64,
        deadline: Time,
        waiting: &mut Waiting,
        commands: &mut Commands,
    ) -> Option<PathId> {
        let stream = segment.stream;
        if self.units.find(stream, id).is_none() {
            let (choice, by_agent) = self.decide(view, segment, deadline, waiting)?;
            self.units.add(stream, id, Unit::new(segment, deadline, choice, by_agent));
            if let Choice::Path(path) = choice {
                waiting.add(path, segment.range.end - segment.range.start);
            }
        }
        let unit = self.units.find(stream, id)?;
        (unit.extent.end, unit.deadline) = (segment.extent.end, deadline);
        match unit.choice {
            Choice::Path(path) if view.preferred().any(|other| other.id == path) => return Some(path),
            Choice::Skip if self.takes_gaps && !unit.is_refused(self.pass) => {
                if commands.len() < MOST_COMMANDS
                    && let Some(range) = unit.discard(self.pass)
                {
                    commands.push(Command::Discard { stream, range });
                }
                return None;
            }
            Choice::Skip => self.takes_gaps = false,
            Choice::Path(_) => {}
        }
        let path = earliest(view, waiting, &self.rates, segment.extent.end - segment.extent.start)?;
        self.units.find(stream, id)?.choice = Choice::Path(path);
        Some(path)
    }

    /// Decides about a tile: what becomes of it, and whether it was the agent who said so.
    fn decide(
        &mut self,
        view: &SendView<'_>,
        segment: &Segment<'_>,
        deadline: Time,
        waiting: &Waiting,
    ) -> Option<(Choice, bool)> {
        let bytes = segment.extent.end - segment.extent.start;
        let left = deadline.since(view.now).as_secs_f64();
        let chosen = self.ask_agent(view, waiting, left, bytes).filter(|(action, _)| {
            // What must arrive cannot be skipped.
            *action != SKIP || (self.takes_gaps && segment.reliability != Reliability::Reliable)
        });
        if let Some((action, ids)) = chosen {
            let counts = &mut self.trust.counts;
            counts.by_agent += 1;
            counts.skipped += u64::from(action == SKIP);
            let choice = if action == SKIP { Choice::Skip } else { Choice::Path(ids[action - 1]) };
            return Some((choice, true));
        }
        let path = earliest(view, waiting, &self.rates, bytes)?;
        self.trust.counts.by_guard += 1;
        Some((Choice::Path(path), false))
    }

    /// What the agent says, and the paths that it chose among; `None` if it is not to be asked.
    fn ask_agent(
        &mut self,
        view: &SendView<'_>,
        waiting: &Waiting,
        left: f64,
        bytes: u64,
    ) -> Option<(usize, [PathId; PATHS])> {
        if !self.trust.trusts() {
            return None;
        }
        let paths = pair(view, &self.rates)?;
        let known = paths.map(|path| ride_path(path, self.rates.of(path), waiting.on(path.id)));
        let observation = observation(&known, left, bytes)?;
        let action = self.agent.choose_from(&observation)?;
        Some((action, paths.map(|path| path.id)))
    }

    fn tell(turn: Option<Turn>, commands: &mut Commands) {
        if let Some(turn) = turn {
            let byte = u8::from(turn == Turn::TakesOver);
            commands.push(Command::Tell(Message::reliable(FeatureId::SCHEDULER_GUARD, [byte])));
        }
    }

    /// Counts tiles that did not arrive.
    fn expire(&mut self, now: Time, commands: &mut Commands) {
        if self.expires_at.is_some_and(|at| now < at) {
            return;
        }
        self.expires_at = Some(now + EXPIRY);
        let time = Time::ZERO + now.since(Time::ZERO + GRACE);
        let trust = &mut self.trust;
        self.units.expire(time, |outcome| {
            Self::tell(trust.note(outcome.by_agent, outcome.in_time, now), commands);
        });
    }
}

/// The two paths that RIDE chooses among: those that carry most, the better one in the place that WiFi had in training. `None`
/// if there are not two that are known.
fn pair<'a>(view: &SendView<'a>, rates: &Rates) -> Option<[&'a PathView; PATHS]> {
    let mut known: Vec<&PathView> = view.preferred().filter(|path| path.has_rtt_sample).collect();
    known.sort_by(|one, other| rates.of(other).total_cmp(&rates.of(one)).then(one.id.cmp(&other.id)));
    known.first_chunk().copied()
}

/// The path on which so many bytes arrive first.
fn earliest(view: &SendView<'_>, waiting: &Waiting, rates: &Rates, bytes: u64) -> Option<PathId> {
    let arrival = |path: &PathView| {
        let known: RidePath = ride_path(path, rates.of(path), waiting.on(path.id));
        arrival(&known, bytes)
    };
    let first = view
        .preferred()
        .min_by(|one, other| arrival(one).total_cmp(&arrival(other)).then(one.id.cmp(&other.id)));
    first.map(|path| path.id)
}

/// Bytes of tiles that were given to paths and have not left.
struct Waiting(Vec<(PathId, u64)>);

impl Waiting {
    /// Those of tiles that were decided about; not counted unless something new is in the queue, which alone needs it.
    fn of(view: &SendView<'_>, is_new: bool, units: &mut Units) -> Self {
        let mut waiting = Waiting(Vec::new());
        if is_new {
            view.segments.segments(&mut |segment| {
                let unit = segment.id.and_then(|id| units.find(segment.stream, id));
                if let Some(Choice::Path(path)) = unit.map(|unit| unit.choice) {
                    waiting.add(path, segment.range.end - segment.range.start);
                }
                ControlFlow::Continue(())
            });
        }
        waiting
    }

    fn add(&mut self, path: PathId, bytes: u64) {
        match self.0.iter_mut().find(|(id, _)| *id == path) {
            Some((_, sum)) => *sum += bytes,
            None => self.0.push((path, bytes)),
        }
    }

    fn on(&self, path: PathId) -> u64 {
        self.0.iter().find(|(id, _)| *id == path).map_or(0, |(_, bytes)| *bytes)
    }
}

impl Scheduler for RideScheduler {
    fn name(&self) -> &'static str {
        super::Ride::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.rates.note(view.now, view.paths);
        if let Some(decision) = explore(view) {
            return decision;
        }
        Self::tell(self.trust.look(view.now), commands);
        self.expire(view.now, commands);
        if view.queue.datagrams > 0
            && let Some(path) = fastest_sendable(view)
        {
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.selection = Selection::Datagrams),
            );
        }
        match self.look_through(view, commands) {
            Some(Ready { path, selection }) => {
                Decision::Send(Assignment::next(path).with(|assignment| assignment.selection = selection))
            }
            None => Decision::Wait(view.preferred().filter_map(|path| path.next_release).min()),
        }
    }

    fn interests(&self) -> Interests {
        Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        let Event::Acked(report) = event else { return };
        // The acknowledgement took about as long as the packet.
        let arrived = report.sent_at + report.now.since(report.sent_at) / 2;
        let trust = &mut self.trust;
        self.units.acked(report.ranges, arrived, |outcome| {
            Self::tell(trust.note(outcome.by_agent, outcome.in_time, report.now), commands);
        });
    }
}

#[cfg(test)]
impl RideScheduler {
    pub(super) fn choice(&mut self, stream: hawser_policy::StreamId, id: u64) -> Option<Choice> {
        self.units.find(stream, id).map(|unit| unit.choice)
    }
}
