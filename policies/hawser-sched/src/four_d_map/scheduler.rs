//! The scheduler: looks through the queue, has each new frame decided about, and sends what Dispatch gave to the paths.

use std::ops::ControlFlow;

use hawser_policy::{
    Assignment, Command, Commands, Decision, Event, Figure, Figures, Interests, Message, MessageOrigin,
    PathChange, PathId, Rate, Reliability, Scheduler, Segment, Selection, SendView, Time, Trace,
};

use super::buffers::{Buffers, Piece};
use super::dispatch::FourDMapPath;
use super::features::{FourDMapPathState, MAX_PATHS};
use super::feedback::FrameFeedback;
use super::frames::{Frames, body_of};
use super::mechanisms::{Allowed, FourDMapMechanism, FourDMapModel, Learner};
use super::parameters::FourDMapParameters;
use super::paths::Paths;
use crate::arrival::paced_rate;
use crate::choose::{by_rtt, explore, explored, fastest_sendable};
use crate::placement::{datagram, earlier};

/// Commands of one call after which frames are left as they are: the core applies no more than 256.
const MOST_COMMANDS: usize = 200;

/// 4D-MAP's scheduler: Dispatch, and one decision for each video frame.
///
/// See [`FourDMap`](super::FourDMap) for the set that it is a part of. By itself it hears of frames in messages of
/// [`FeatureId::FRAME_FEEDBACK`](hawser_policy::FeatureId::FRAME_FEEDBACK).
#[derive(Debug)]
pub struct FourDMapScheduler {
    parameters: FourDMapParameters,
    learner: Learner,
    frames: Frames,
    buffers: Buffers,
    paths: Paths,
    /// Positions of the paths that carry data in the view, the fastest first.
    usable: Vec<usize>,
    dispatched: Vec<FourDMapPath>,
    shares: Vec<u64>,
    /// The queue holds something else than it did, beyond what amounts show.
    is_stale: bool,
    /// Two paths were up, and all of them measured.
    is_warm: bool,
    /// The peer did not refuse gaps so far.
    takes_gaps: bool,
    trace: Trace,
}

/// What becomes of bytes in the queue.
enum Fate {
    /// They are sent; `true` if other paths get copies.
    Sent(bool),
    /// They were discarded just now.
    Discarded,
}

impl FourDMapScheduler {
    /// A scheduler whose learner starts with `model`, if there is one and it fits the parameters.
    pub fn new(parameters: FourDMapParameters, model: Option<&FourDMapModel>, seed: u64) -> Self {
        FourDMapScheduler {
            parameters,
            learner: Learner::new(&parameters, model, seed),
            frames: Frames::default(),
            buffers: Buffers::default(),
            paths: Paths::new(parameters.paths),
            usable: Vec::new(),
            dispatched: Vec::new(),
            shares: Vec::new(),
            is_stale: false,
            is_warm: !parameters.warm_up,
            takes_gaps: true,
            trace: Trace::default(),
        }
    }

    /// What was learned so far.
    pub fn model(&self) -> FourDMapModel {
        self.learner.model()
    }

    // --- paths ---

    /// Notes which paths carry data. What others had been given is nobody's.
    fn follow_paths(&mut self, view: &SendView<'_>) {
        self.usable.clear();
        let usable = explored(view);
        self.usable.extend(usable.filter_map(|path| view.paths.iter().position(|other| other.id == path.id)));
        self.usable.sort_unstable_by_key(|at| by_rtt(&view.paths[*at]));
        let is_usable = |id| self.usable.iter().any(|at| view.paths[*at].id == id);
        self.is_stale |= self.buffers.keep(is_usable);
        for at in 0..self.usable.len() {
            let path = &view.paths[self.usable[at]];
            if path.sendable() > 0 {
                self.buffers.revive(path.id);
            }
        }
        let is_measured = view.preferred().all(|path| path.has_rtt_sample);
        self.is_warm |= is_measured && self.usable.len() >= 2;
    }

    /// The loss rate of each usable path as it is now.
    fn measure_loss(&mut self, view: &SendView<'_>) {
        for at in &self.usable {
            self.paths.measure(view.now, &view.paths[*at], &self.parameters);
        }
    }

    /// A path that has sent nothing for long loses what it was given, if another one is free and has nothing. Returns when
    /// that is to be looked at again.
    fn reclaim(&mut self, view: &SendView<'_>) -> Option<Time> {
        let mut next = None;
        for at in 0..self.usable.len() {
            let path = &view.paths[self.usable[at]];
            let silent = self.buffers.of(path.id).and_then(|buffer| buffer.silent_since());
            let Some(since) = silent.filter(|_| path.sendable() == 0) else { continue };
            let patience = self.parameters.reclaim.max(path.smoothed_rtt.saturating_mul(3));
            let due = since + patience;
            if view.now < due {
                next = earlier(next, Some(due));
            } else if self.has_free_path(view, path.id) {
                self.buffers.reclaim(path.id);
                self.is_stale = true;
            }
        }
        next
    }

    fn has_free_path(&self, view: &SendView<'_>, except: PathId) -> bool {
        let mut others = self.usable.iter().map(|at| &view.paths[*at]).filter(|path| path.id != except);
        others.any(|path| {
            path.window_left() >= datagram(path)
                && self.buffers.of(path.id).is_none_or(|buffer| buffer.bytes() == 0)
        })
    }

    // --- the queue and its frames ---

    /// Looks through the queue; frames that are new in it are decided about.
    fn look_through(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.is_stale = false;
        self.buffers.begin();
        // The queue may show more than flow control allows.
        let mut allowed = view.queue.unsent;
        view.segments.segments(&mut |segment| {
            let mut range = segment.range.clone();
            if !segment.retransmission {
                range.end = range.end.min(range.start.saturating_add(allowed));
                allowed -= range.end.saturating_sub(range.start);
            }
            if let Fate::Sent(is_copied) = self.fate(view, segment, commands) {
                let (stream, is_lost) = (segment.stream, segment.retransmission);
                self.buffers.add(Piece { stream, range, is_copied, is_lost });
            }
            ControlFlow::Continue(())
        });
    }

    /// What becomes of a segment, by what is decided for its frame.
    fn fate(&mut self, view: &SendView<'_>, segment: &Segment<'_>, commands: &mut Commands) -> Fate {
        let Some((id, is_key)) = body_of(segment) else { return Fate::Sent(false) };
        if self.frames.find(segment.stream, id, &segment.extent).is_none() {
            self.frames.add(view.now, segment, id, is_key);
            let is_whole = !segment.retransmission && segment.range.start == segment.extent.start;
            if is_key && self.parameters.first_copied && self.frames.is_only_one() && self.learner.may_copy()
            {
                self.frames.copy_newest();
            } else if is_whole && self.is_warm && commands.len() < MOST_COMMANDS {
                self.decide(view, is_key, segment.reliability != Reliability::Reliable);
            }
        }
        let Some(frame) = self.frames.find(segment.stream, id, &segment.extent) else {
            return Fate::Sent(false);
        };
        let may_have_gaps = !frame.is_key && segment.reliability != Reliability::Reliable;
        let (stream, rest) = (segment.stream, frame.covered_to..frame.extent.end);
        match frame.mechanism {
            FourDMapMechanism::Duplicate if frame.is_key => Fate::Sent(!segment.retransmission),
            FourDMapMechanism::Discard if may_have_gaps && !segment.retransmission => {
                if segment.range.start < frame.covered_to {
                    // It was discarded before and is here all the same: nobody takes gaps.
                    self.takes_gaps = false;
                }
                if !self.takes_gaps || rest.is_empty() {
                    return Fate::Sent(false);
                }
                frame.covered_to = rest.end;
                commands.push(Command::Discard { stream, range: rest });
                Fate::Discarded
            }
            FourDMapMechanism::Decompensate if may_have_gaps && !rest.is_empty() => {
                frame.covered_to = rest.end;
                commands.push(Command::DoNotRetransmit { stream, range: rest });
                Fate::Sent(false)
            }
            _ => Fate::Sent(false),
        }
    }

    /// Decides about the newest frame.
    fn decide(&mut self, view: &SendView<'_>, is_key: bool, may_have_gaps: bool) {
        self.measure_loss(view);
        let frame_rate = Some(self.parameters.frame_rate).filter(|rate| *rate > 0.0);
        let state = self.frames.state(view.now, frame_rate);
        let mut paths = [None; MAX_PATHS];
        for path in self.usable.iter().map(|at| &view.paths[*at]) {
            let Some(slot) = self.paths.slot(path.id) else { continue };
            paths[slot] = Some(FourDMapPathState {
                rtt: path.smoothed_rtt,
                window: path.congestion_window,
                outstanding: path.bytes_in_flight.saturating_add(self.buffers.held(path.id)),
                loss: self.paths.loss_rate(path.id),
            });
        }
        let slots = &paths[..self.parameters.paths.min(MAX_PATHS)];
        let context = self.parameters.features.context(slots, &state);
        let mut allowed = if self.parameters.masks {
            Allowed::of(is_key, self.usable.len() >= 2, may_have_gaps && self.takes_gaps)
        } else {
            Allowed::ALL
        };
        if self.learner.decides() && !self.is_late(view) {
            allowed = allowed.whole();
        }
        let mut of_paths = self.usable.iter().map(|at| self.paths.loss_rate(view.paths[*at].id));
        let is_lossy = of_paths.any(|rate| rate > self.parameters.high_loss);
        let mechanism = self.learner.decide(allowed, &context, is_lossy);
        self.frames.decide(mechanism, context);
    }

    /// Whether frames take so long that gaps make sense: the last that the receiver told of did, or the newest one would, sent
    /// whole behind what is queued before it. What the application holds back is in the receiver's word only.
    fn is_late(&self, view: &SendView<'_>) -> bool {
        if self.frames.latest_delay() >= self.parameters.late {
            return true;
        }
        let paths = self.usable.iter().map(|at| &view.paths[*at]);
        let rate =
            paths.clone().fold(0, |sum: u64, path| sum.saturating_add(paced_rate(path).bits_per_second()));
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        let sent_after = Rate::from_bits_per_second(rate).time_for(queued);
        let way = paths.map(|path| path.smoothed_rtt / 2).max().unwrap_or_default();
        sent_after.saturating_add(way) >= self.parameters.late
    }

    /// Rewards the decisions whose frames have all been heard of.
    fn learn(&mut self, now: Time) {
        while let Some(done) = self.frames.next_rewarded(now, &self.parameters) {
            let scaled = self.learner.reward(done.mechanism, &done.context, done.reward);
            let features = self.parameters.features.count(self.parameters.paths.min(MAX_PATHS));
            self.trace.note(now, "4d-map.reward", None, || {
                // The reward R' in bytes per millisecond, what the learner was given, and the state in which was decided.
                let mut values = vec![
                    ("frame", Figure::Number(done.id as f64)),
                    ("is_key", done.is_key.into()),
                    ("mechanism", done.mechanism.name().into()),
                    ("reward", done.reward.into()),
                    ("scaled", scaled.into()),
                ];
                values.extend(done.context[..features].iter().map(|value| ("context", (*value).into())));
                values
            });
        }
    }

    // --- messages ---

    fn on_message(&mut self, now: Time, message: &Message) {
        if message.feature != hawser_policy::FeatureId::FRAME_FEEDBACK {
            return;
        }
        // What a peer sends may be anything.
        let Some(list) = FrameFeedback::decode(&message.payload) else { return };
        list.iter().for_each(|feedback| self.frames.on_feedback(feedback));
        self.learn(now);
    }
}

impl Scheduler for FourDMapScheduler {
    fn name(&self) -> &'static str {
        super::FourDMap::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.follow_paths(view);
        let reclaim_at = self.reclaim(view);
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        if self.is_stale || queued != self.buffers.total() {
            self.look_through(view, commands);
        }
        if let Some(decision) = explore(view) {
            return decision;
        }
        if view.queue.datagrams > 0
            && let Some(path) = fastest_sendable(view)
        {
            // A datagram has no place in a sequence.
            let selection = Selection::Datagrams;
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.selection = selection),
            );
        }
        if self.buffers.total() == 0 {
            // What the queue does not show piece by piece goes from its head, unless it was discarded just now.
            let is_hidden = queued > 0 && commands.is_empty();
            return if is_hidden { Self::from_head(view) } else { Decision::Wait(None) };
        }
        if !self.is_warm {
            return Self::from_head(view);
        }
        self.allocate(view);
        self.send(view).unwrap_or_else(|| {
            let waiting = self.usable.iter().map(|at| &view.paths[*at]);
            let release = waiting.fold(None, |release, path| earlier(release, path.next_release));
            Decision::Wait(earlier(release, reclaim_at))
        })
    }

    fn set_trace(&mut self, trace: &Trace) {
        self.trace = trace.clone();
    }

    fn fill_figures(&self, figures: &mut Figures) {
        self.learner.fill_figures(figures);
    }

    fn interests(&self) -> Interests {
        Interests::SENT | Interests::LOST | Interests::SPURIOUS_LOSS | Interests::PATHS | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match event {
            Event::Sent(sent) => {
                self.paths.loss_of(sent.path).on_sent(sent.now);
                for range in sent.ranges.iter().filter(|range| !range.copy) {
                    self.buffers.on_sent(sent.now, sent.path, range.stream, &range.range);
                }
            }
            Event::Lost(report) => {
                self.paths.loss_of(report.path).on_lost();
                self.is_stale = true;
            }
            Event::SpuriousLoss { path, packets, .. } => {
                self.paths.loss_of(*path).on_spurious(*packets);
                self.is_stale = true;
            }
            Event::Path { path, change, .. } => {
                self.is_stale = true;
                if *change == PathChange::Abandoned {
                    self.paths.forget(*path);
                }
            }
            Event::Message { now, origin: MessageOrigin::Peer, message } => self.on_message(*now, message),
            _ => {}
        }
    }
}

mod sending;
#[cfg(test)]
mod tests;
