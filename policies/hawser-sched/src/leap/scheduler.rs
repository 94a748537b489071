//! Data and repair symbols in proportion to the forecasts.

use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, PathChange, PathId, PathView, Reliability, Scheduler,
    Segment, Selection, SendView, Time,
};

use super::parameters::LeapParameters;
use super::state::Shared;
use crate::arrival::paced_rate;
use crate::choose::{explore, explored};
use crate::placement::datagram;

/// Sends on the path that is the least ahead of its share; the rates of the paths are the controllers' matter. Hears what
/// became of packets, for all parts of the set.
pub(super) struct LeapScheduler {
    shared: Shared,
    parameters: LeapParameters,
    turns: Vec<Turn>,
}

/// What a path sent, over what it will carry.
#[derive(Clone, Copy, Debug)]
struct Turn {
    path: PathId,
    bytes_sent: u64,
    /// Seconds that the forecast would have taken.
    time: f64,
}

impl LeapScheduler {
    pub(super) fn new(shared: Shared, parameters: LeapParameters) -> Self {
        LeapScheduler { shared, parameters, turns: Vec::new() }
    }

    /// Accounts for what was sent since.
    fn advance(&mut self, view: &SendView<'_>) {
        self.turns.retain(|turn| view.path(turn.path).is_some());
        let newest = self.turns.iter().fold(0.0, |most: f64, turn| most.max(turn.time));
        for path in view.paths {
            let Some(turn) = self.turns.iter_mut().find(|turn| turn.path == path.id) else {
                self.turns.push(Turn { path: path.id, bytes_sent: path.bytes_sent, time: newest });
                continue;
            };
            let sent = path.bytes_sent.saturating_sub(turn.bytes_sent);
            turn.bytes_sent = path.bytes_sent;
            turn.time += sent as f64 * 8.0 / carries(&self.shared, path);
        }
        // What a path could not send a while ago it need not make up for.
        let least = self.turns.iter().fold(0.0, |most: f64, turn| most.max(turn.time))
            - self.parameters.deadline.as_secs_f64();
        self.turns.iter_mut().for_each(|turn| turn.time = turn.time.max(least));
    }

    fn turn<'a>(&self, view: &SendView<'a>) -> Option<&'a PathView> {
        let time = |path: &PathView| {
            let turn = self.turns.iter().find(|turn| turn.path == path.id);
            turn.map_or(0.0, |turn| turn.time)
        };
        let ready = explored(view).filter(|path| path.sendable() > 0);
        ready.min_by(|one, other| time(one).total_cmp(&time(other)).then(one.id.cmp(&other.id)))
    }
}

/// What a path will carry in bit/s; before there is a forecast what its window lets out.
fn carries(shared: &Shared, path: &PathView) -> f64 {
    let by_window = || paced_rate(path).bits_per_second() as f64;
    shared.low(path.id).unwrap_or_else(by_window).max(1.0)
}

/// What is next: repair symbols of the layer that has left, then the queue, without what was lost and would be late.
fn next(view: &SendView<'_>, deadline: Duration) -> Option<Selection> {
    if view.queue.repair > 0 {
        return Some(Selection::Repair);
    }
    if view.queue.retransmit == 0 {
        return (view.queue.total() > 0).then_some(Selection::Next);
    }
    let (mut skips, mut first) = (false, None);
    view.segments.segments(&mut |segment| {
        if is_late(segment, view.now, deadline) {
            skips = true;
            return ControlFlow::Continue(());
        }
        first = Some(Selection::Range {
            stream: segment.stream,
            start: segment.range.start,
            end: segment.range.end,
        });
        ControlFlow::Break(())
    });
    match (skips, first) {
        (false, _) => Some(Selection::Next),
        (true, Some(range)) => Some(range),
        (true, None) => (view.queue.datagrams > 0).then_some(Selection::Datagrams),
    }
}

/// Half of the deadline before its frame is shown, what was lost is not retransmitted any more.
fn is_late(segment: &Segment<'_>, now: Time, deadline: Duration) -> bool {
    let expires = segment.deadline.filter(|_| segment.reliability == Reliability::UntilDeadline);
    segment.retransmission && expires.is_some_and(|expires| now + deadline / 2 > expires)
}

impl Scheduler for LeapScheduler {
    fn name(&self) -> &'static str {
        super::Leap::NAME
    }

    fn interests(&self) -> Interests {
        Interests::ACKED | Interests::LOST | Interests::PATHS | Interests::REPAIR
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        match event {
            Event::Acked(report) => self.shared.on_acked(report),
            Event::Lost(report) => self.shared.on_lost(report),
            Event::Path { path, change: PathChange::Abandoned, .. } => self.shared.forget(*path),
            _ => {}
        }
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        self.advance(view);
        let Some((selection, path)) = next(view, self.parameters.deadline).zip(self.turn(view)) else {
            return Decision::Wait(None);
        };
        let max_bytes = if selection == Selection::Repair { datagram(path) } else { u64::MAX };
        Decision::Send(Assignment::next(path.id).with(|assignment| {
            assignment.selection = selection;
            assignment.max_bytes = max_bytes;
        }))
    }
}
