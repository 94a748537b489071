//! The fluid environment: a decision for each viewed tile-frame.

mod frames;

use std::sync::Arc;

use hawser_learn::Random;

use crate::config::{Config, ConfigError, Kind, Order};
use crate::gop::bit;
use crate::observation;
use crate::paths::{Path, Portions, Service};
use crate::seeds::derive;
use crate::{
    FrameKind, FrameSet, Network, Outcome, PATHS, PathTrace, PathView, Playback, SKIP, TILES, Unit, Video,
    Views, decode_time, in_order,
};

/// What a decision gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Reward in frame durations. For a B frame whose later reference is not decided about yet it is what there is if that
    /// reference comes in time; the difference follows as a [`Correction`].
    pub reward: f64,
    /// Whether the unit was sent.
    pub sent: bool,
    /// It was the last unit of its frame: an episode ends.
    pub ends_frame: bool,
    /// It was the last unit of the session; the next unit is of another one.
    pub ends_session: bool,
}

/// What the reward of an earlier decision has to be changed by, now that the reference that it waited for is decided about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// Number of the decision since the start, from 0.
    pub decision: u64,
    /// What to add, frame durations.
    pub change: f64,
}

/// A B frame whose later reference is not decided about.
#[derive(Clone, Copy, Debug)]
struct Pending {
    outcome: Outcome,
    /// The reference, within the GoP.
    reference: usize,
    cost: f64,
}

/// How a unit is sent.
#[derive(Clone, Copy, Debug)]
enum Sending<'a> {
    /// All of it on a path, from 1.
    Whole(usize),
    /// By a sender that decides packet by packet.
    InPackets(&'a [Portions]),
}

impl Sending<'_> {
    /// Bytes that each path carries of a unit of so many.
    fn carried(&self, bytes: f64) -> [f64; PATHS] {
        let mut carried = [0.0; PATHS];
        match self {
            Sending::Whole(action) => carried[action - 1] = bytes,
            Sending::InPackets(portions) => {
                portions.iter().for_each(|portions| portions.add_to(&mut carried))
            }
        }
        carried
    }
}

/// Sessions of frames, one after the other; each a video, a viewer and a network of the seed's.
///
/// Each unit of a frame is decided about at the release of the frame, in raster order; frames come in display order.
///
/// ```
/// use hawser_ride::{Config, Environment, Purpose};
///
/// let mut environment = Environment::new(Config::episodic(Purpose::Training), 7)?;
/// let mut observation = vec![0.0; environment.observation_length()];
/// environment.observe(&mut observation);
/// let step = environment.step(1);
/// assert!(step.reward.is_finite() && !step.ends_session);
/// # Ok::<(), hawser_ride::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    config: Arc<Config>,
    videos: Arc<[Video]>,
    seed: u64,
    session: u64,
    video: usize,
    views: Views,
    network: Network,
    random: Random,
    paths: [Path; PATHS],
    /// Number of the frame that is released, in the order of their releases.
    slot: usize,
    /// Frames of a GoP in the order of their releases.
    order: Arc<[usize]>,
    /// Viewed tiles of the frame, and which is next.
    tiles: Vec<usize>,
    cursor: usize,
    unit: Unit,
    /// For each tile the frames of the GoP that were sent, and when each is decoded.
    sent: Vec<FrameSet>,
    decoded: Vec<f64>,
    pending: Vec<Pending>,
    corrections: Vec<Correction>,
    decision: u64,
    hash: u64,
    recorded: Option<Vec<Outcome>>,
}

impl Environment {
    /// An environment; the seed chooses all of its sessions.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let videos = config
            .purpose
            .videos()
            .map(|number| Video::synthetic(derive(number, *b"video"), config.frames, &config.sizes));
        let videos: Arc<[Video]> = videos.collect();
        Ok(Self::with(Arc::new(config), videos, seed))
    }

    /// Another one with the same videos: it shares them.
    pub fn another(&self, seed: u64) -> Self {
        Self::with(self.config.clone(), self.videos.clone(), seed)
    }

    fn with(config: Arc<Config>, videos: Arc<[Video]>, seed: u64) -> Self {
        let unit = Unit {
            frame: 0,
            tile: 0,
            kind: FrameKind::I,
            bundle: 0,
            bytes: 0.0,
            release: 0.0,
            playback: Playback { start: 0.0, end: 0.0, deadline: 0.0 },
        };
        let gop = videos[0].gop();
        let order = match config.order {
            Order::Display => (0..gop.len()).collect(),
            Order::Decode => gop.decode_order(),
        };
        let mut environment = Environment {
            views: Views::synthetic(0, 0, 1, config.viewing),
            network: Network::synthetic(0, 1, 0.0),
            decoded: vec![f64::INFINITY; TILES * videos[0].gop().len()],
            config,
            videos,
            seed,
            session: 0,
            video: 0,
            random: Random::new(seed),
            paths: [(); PATHS].map(|()| Path::new()),
            slot: 0,
            order: order.into(),
            tiles: Vec::with_capacity(TILES),
            cursor: 0,
            unit,
            sent: vec![0; TILES],
            pending: Vec::new(),
            corrections: Vec::new(),
            decision: 0,
            hash: 0,
            recorded: None,
        };
        environment.start_session();
        environment
    }

    /// Starts again with another seed.
    pub fn reset(&mut self, seed: u64) {
        (self.seed, self.session, self.decision, self.hash) = (seed, 0, 0, 0);
        self.recorded.iter_mut().for_each(Vec::clear);
        self.start_session();
    }

    /// Keeps what becomes of each unit from now on, for [`Self::take_outcomes`].
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// What became of the units that are resolved, in the order of the decisions.
    pub fn take_outcomes(&mut self) -> Vec<Outcome> {
        let mut outcomes = self.recorded.as_mut().map(std::mem::take).unwrap_or_default();
        outcomes.sort_unstable_by_key(|outcome| outcome.decision);
        outcomes
    }

    /// What it is like.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The unit about which is decided next.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The paths now.
    pub fn paths(&self) -> [PathView; PATHS] {
        [self.paths[0].view, self.paths[1].view]
    }

    /// Decisions since the start.
    pub fn decisions(&self) -> u64 {
        self.decision
    }

    /// Stands for all decisions since the start and what they gave.
    pub fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Changes of earlier rewards that the last step brought.
    pub fn corrections(&self) -> &[Correction] {
        &self.corrections
    }

    /// Number of values of an observation.
    pub fn observation_length(&self) -> usize {
        observation::length(self.config.extended)
    }

    /// Writes what an agent sees of the next decision: 10 values within -5 to 5, or 14 if extended ([`Config::extended`]).
    ///
    /// # Panics
    /// If `out` is shorter than [`Self::observation_length`].
    pub fn observe(&self, out: &mut [f32]) {
        observation::write(out, &self.paths(), &self.unit, self.config.hidden, self.config.extended);
    }

    /// Decides about the unit: [`SKIP`], or the path from 1 to [`PATHS`].
    ///
    /// # Panics
    /// If there is no such path.
    pub fn step(&mut self, action: usize) -> Step {
        assert!(action <= PATHS, "action {action}: 0 skips, 1 to {PATHS} are the paths");
        self.decide((action != SKIP).then_some(Sending::Whole(action)))
    }

    /// The unit was sent packet by packet, by a sender of its own: for each frame of its bundle, in the order of
    /// [`in_order`], what each path carried of it. What is lost is drawn here.
    pub(crate) fn step_in_packets(&mut self, portions: &[Portions]) -> Step {
        self.decide(Some(Sending::InPackets(portions)))
    }

    /// Traces of the paths: the truth.
    pub(crate) fn traces(&self) -> &[PathTrace; PATHS] {
        self.network.paths()
    }

    /// Sizes of the frames of the unit's bundle, in the order of [`in_order`], bytes.
    pub(crate) fn bundle_sizes(&self) -> impl Iterator<Item = f64> {
        let video = &self.videos[self.video];
        let (unit, gop) = (&self.unit, video.gop());
        let first = unit.frame - unit.frame % gop.len();
        in_order(gop, unit.bundle).map(move |member| video.size(first + member, unit.tile))
    }

    /// `None` skips the unit.
    fn decide(&mut self, sending: Option<Sending<'_>>) -> Step {
        self.corrections.clear();
        let unit = self.unit;
        let frame = unit.frame % self.gop_length();
        let waits_for = sending.and_then(|_| self.undecided_reference(&unit, frame));
        let (outcome, cost) = match sending {
            Some(sending) => self.send(&unit, sending),
            None => (self.skip(&unit), 0.0),
        };
        self.mix([outcome.action as u64, outcome.arrival.to_bits(), outcome.reward.to_bits()]);
        match waits_for.filter(|_| outcome.decode.is_finite()) {
            Some(reference) => self.pending.push(Pending { outcome, reference, cost }),
            None => self.finish(outcome),
        }
        if unit.kind != FrameKind::B {
            self.resolve(unit.tile, frame);
        }
        self.decision += 1;
        let (ends_frame, ends_session) = self.advance();
        Step { reward: outcome.reward, sent: sending.is_some(), ends_frame, ends_session }
    }

    fn gop_length(&self) -> usize {
        self.videos[self.video].gop().len()
    }

    /// The later reference of a B frame, if it is viewed and not released yet: then it is a unit of its own, of a frame to come.
    fn undecided_reference(&self, unit: &Unit, frame: usize) -> Option<usize> {
        let video = &self.videos[self.video];
        let behind = video.gop().references(frame)[1]?;
        let viewed = self.views.of(unit.frame / video.gop().len(), unit.tile);
        let comes = self.order.iter().skip(self.slot % video.gop().len() + 1).any(|it| *it == behind);
        (comes && viewed & bit(behind) != 0).then_some(behind)
    }

    fn outcome(&self, unit: &Unit, action: usize, arrival: f64, decode: f64, reward: f64) -> Outcome {
        Outcome {
            decision: self.decision,
            frame: unit.frame,
            tile: unit.tile,
            kind: unit.kind,
            action,
            bytes: unit.bytes,
            release: unit.release,
            playback: unit.playback,
            arrival,
            decode,
            reward,
        }
    }

    fn skip(&self, unit: &Unit) -> Outcome {
        let reward = self.config.reward.skipped(&unit.playback);
        self.outcome(unit, SKIP, f64::INFINITY, f64::INFINITY, reward)
    }

    fn send(&mut self, unit: &Unit, sending: Sending<'_>) -> (Outcome, f64) {
        let frame = unit.frame % self.gop_length();
        let undecided = self.undecided_reference(unit, frame);
        let video = &self.videos[self.video];
        let gop = video.gop();
        let service = match self.config.kind {
            Kind::Continuous => Service::Lasting,
            Kind::Episodic => Service::Episode(self.config.arrival),
        };
        let (first, decoded) = (unit.frame - frame, &mut self.decoded[unit.tile * gop.len()..][..gop.len()]);
        let (mut arrival, mut decode) = (unit.release, unit.release);
        for (at, member) in in_order(gop, unit.bundle).enumerate() {
            arrival = match sending {
                Sending::InPackets(portions) => portions[at].arrival(&self.paths, &mut self.random),
                Sending::Whole(action) => {
                    let bytes = video.size(first + member, unit.tile);
                    let (path, trace) = (&mut self.paths[action - 1], &self.network.paths()[action - 1]);
                    path.send(trace, unit.release, bytes, &mut self.random, service)
                }
            };
            let known = |frame| if Some(frame) == undecided { 0.0 } else { decoded[frame] };
            decode = decode_time(gop, member, arrival, known);
            decoded[member] = decode;
        }
        self.sent[unit.tile] |= unit.bundle;
        let carried = sending.carried(unit.bytes);
        // What keeps paths busy: payload over rate.
        let cost = carried.iter().zip(&self.paths).map(|(bytes, path)| 8.0 * bytes / path.view.rate).sum();
        let reward = self.config.reward.sent(&unit.playback, decode, cost);
        let most = (1..PATHS).fold(0, |most, path| if carried[path] > carried[most] { path } else { most });
        (self.outcome(unit, most + 1, arrival, decode, reward), cost)
    }

    /// The decision about a reference is made: B frames that waited for it have their reward.
    fn resolve(&mut self, tile: usize, reference: usize) {
        let decoded = self.decoded[tile * self.gop_length() + reference];
        let mut at = 0;
        while at < self.pending.len() {
            let Pending { mut outcome, reference: waited, cost } = self.pending[at];
            if (outcome.tile, waited) != (tile, reference) {
                at += 1;
                continue;
            }
            self.pending.swap_remove(at);
            outcome.decode = outcome.decode.max(decoded);
            let reward = self.config.reward.sent(&outcome.playback, outcome.decode, cost);
            let change = reward - outcome.reward;
            if change != 0.0 {
                self.corrections.push(Correction { decision: outcome.decision, change });
                self.mix([outcome.decision, change.to_bits()]);
            }
            outcome.reward = reward;
            self.finish(outcome);
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        if let Some(recorded) = &mut self.recorded {
            recorded.push(outcome);
        }
    }

    fn mix<const N: usize>(&mut self, values: [u64; N]) {
        for value in values {
            self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
}

#[cfg(test)]
mod tests;
