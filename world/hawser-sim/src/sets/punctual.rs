//! Frames in time or not at all: each frame goes over one path as a whole, and one that no path would bring in time is
//! discarded before its first byte leaves. The application is told which.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Commands, Decision, FeatureId, Message, ParameterInfo, PathId, PathView, PolicyInfo,
    PolicySet, Rate, Registry, Reliability, Scheduler, Segment, Selection, SendView, SetInit, StreamId, Time,
};

/// Of messages to the application here: offset and length of what was discarded, eight bytes each.
pub const DISCARDED: FeatureId = FeatureId(0x6c61_7465);

/// What waits of a frame, or of a stretch without frames.
struct Waiting {
    stream: StreamId,
    id: Option<u64>,
    range: Range<u64>,
    deadline: Option<Time>,
    may_go: bool,
    retransmission: bool,
}

/// What is remembered of a frame.
struct Known {
    /// All of it that was ever seen to wait.
    extent: Range<u64>,
    /// The path that was chosen for it.
    path: Option<PathId>,
    /// Whether it was given up; what the application writes of it later goes the same way.
    is_discarded: bool,
}

struct Punctual {
    /// How much earlier than its deadline a frame must be expected.
    margin: Duration,
    frames: BTreeMap<(StreamId, u64), Known>,
}

/// Frames to remember: those that wait, and some that have left.
const MEMORY: usize = 1_000;

fn waiting(view: &SendView<'_>) -> Vec<Waiting> {
    let mut all: Vec<Waiting> = Vec::new();
    view.segments.segments(&mut |segment: &Segment<'_>| {
        let range = segment.range.clone();
        match all.last_mut() {
            Some(last)
                if (last.stream, last.id, last.retransmission, last.range.end)
                    == (segment.stream, segment.id, segment.retransmission, range.start) =>
            {
                last.range.end = range.end;
            }
            _ => all.push(Waiting {
                stream: segment.stream,
                id: segment.id,
                range,
                deadline: segment.deadline,
                may_go: segment.reliability != Reliability::Reliable,
                retransmission: segment.retransmission,
            }),
        }
        ControlFlow::Continue(())
    });
    all
}

/// When the last of `length` bytes arrives that leave after what is under way and `ahead` more.
fn arrival(now: Time, path: &PathView, ahead: u64, length: u64) -> Time {
    let of_window = Rate::from_bytes_over(path.congestion_window, path.smoothed_rtt);
    let measured = path.delivery_rate.unwrap_or(of_window).bits_per_second().max(1);
    // A path that was idle so far has a rate of next to nothing, since the handshake is small: it gets a frame all the same,
    // or its rate would never be known.
    let before = path.bytes_in_flight + ahead;
    let is_unknown = path.in_slow_start && before == 0;
    let rate = if is_unknown { measured.max(of_window.bits_per_second()) } else { measured };
    now + Rate::from_bits_per_second(rate).time_for(before + length) + path.min_rtt / 2
}

impl Scheduler for Punctual {
    fn name(&self) -> &'static str {
        "punctual"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let paths: Vec<&PathView> = view.preferred().collect();
        let mut backlog = vec![0; paths.len()];
        let mut decision = None;
        let mut decide = |at: usize, waits: &Waiting| {
            if paths[at].sendable() > 0 && decision.is_none() {
                let Range { start, end } = waits.range;
                let selection = Selection::Range { stream: waits.stream, start, end };
                decision =
                    Some(Assignment::next(paths[at].id).with(|assignment| assignment.selection = selection));
            }
        };
        for waits in waiting(view).into_iter().filter(|waits| !waits.range.is_empty()) {
            let length = waits.range.end - waits.range.start;
            let best = |backlog: &[u64]| {
                (0..paths.len()).min_by_key(|&at| arrival(view.now, paths[at], backlog[at], length))
            };
            let Some(id) = waits.id.filter(|_| !waits.retransmission) else {
                // Again, or not of a frame: wherever there is room.
                let ready = (0..paths.len()).filter(|&at| paths[at].sendable() > 0);
                if let Some(at) = ready.min_by_key(|&at| paths[at].smoothed_rtt) {
                    decide(at, &waits);
                }
                continue;
            };
            let known = self.frames.entry((waits.stream, id)).or_insert_with(|| Known {
                extent: waits.range.clone(),
                path: None,
                is_discarded: false,
            });
            known.extent.end = known.extent.end.max(waits.range.end);
            let chosen = known.path.and_then(|id| paths.iter().position(|path| path.id == id));
            let Some(at) = chosen.or_else(|| best(&backlog)) else { continue };
            let expected = arrival(view.now, paths[at], backlog[at], length) + self.margin;
            let is_late = waits.deadline.is_some_and(|deadline| expected > deadline);
            let is_whole = waits.range == known.extent;
            if waits.may_go && (known.is_discarded || is_late && is_whole) {
                known.is_discarded = true;
                let mut payload = waits.range.start.to_be_bytes().to_vec();
                payload.extend(length.to_be_bytes());
                commands.push(Command::Discard { stream: waits.stream, range: waits.range });
                commands.push(Command::Tell(Message::reliable(DISCARDED, payload)));
                continue;
            }
            known.path = Some(paths[at].id);
            backlog[at] += length;
            decide(at, &waits);
        }
        while self.frames.len() > MEMORY {
            self.frames.pop_first();
        }
        // What has no bytes, such as the end of a stream, goes from the head.
        let ready = || paths.iter().find(|path| path.sendable() > 0).map(|path| Assignment::next(path.id));
        let rest = if view.queue.unsent + view.queue.retransmit == 0 { ready() } else { None };
        decision.or(rest).map_or(Decision::Wait(None), Decision::Send)
    }
}

/// Adds the set `punctual`. Controllers and acknowledgements are those of the registry.
pub fn register(registry: &mut Registry) {
    let controllers = registry.congestion("cubic").expect("registered");
    let acks = registry.acks("default").expect("registered");
    let info = PolicyInfo::new("punctual", "frames that come in time, and no others").parameter(
        ParameterInfo::duration("margin", Duration::ZERO..=Duration::from_secs(1), Duration::from_millis(50))
            .meaning("how long before its deadline a frame must be expected"),
    );
    registry.add_set_with(info, move |init: &SetInit, parameters| {
        PolicySet::new(
            Box::new(Punctual { margin: parameters.duration("margin"), frames: BTreeMap::new() }),
            controllers.for_connection(init.side, init.seed).unwrap_or_else(|| controllers.clone()),
            acks.build(),
        )
    });
}
