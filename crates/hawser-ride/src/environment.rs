//! The fluid environment: a decision for each viewed tile-frame.

use std::sync::Arc;

use hawser_learn::Random;

use crate::config::{Config, ConfigError, Kind};
use crate::gop::bit;
use crate::observation;
use crate::paths::{Path, PathView};
use crate::seeds::derive;
use crate::{
    FRAME_SECONDS, FrameKind, FrameSet, Network, Outcome, PATHS, Playback, SKIP, TILES, Video, Views, bundle,
    deadline_frame, decode_time, in_order, release,
};

/// A viewed tile-frame about which is decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Frame of the session.
    pub frame: usize,
    /// Tile, in raster order.
    pub tile: usize,
    /// How the frame is coded.
    pub kind: FrameKind,
    /// Frames of its GoP that are sent with it, itself among them.
    pub bundle: FrameSet,
    /// Size of all of them, bytes.
    pub bytes: f64,
    /// When it is released and decided about, seconds.
    pub release: f64,
    /// When it is played.
    pub playback: Playback,
}

/// What a decision gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Reward in frame durations. For a B frame whose later reference is not decided about yet it is what there is if that
    /// reference comes in time; the difference follows as a [`Correction`].
    pub reward: f64,
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
    frame: usize,
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
            frame: 0,
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
        self.corrections.clear();
        let unit = self.unit;
        let frame = unit.frame % self.gop_length();
        let waits_for = if action == SKIP { None } else { self.undecided_reference(&unit, frame) };
        let (outcome, cost) = if action == SKIP { (self.skip(&unit), 0.0) } else { self.send(&unit, action) };
        self.mix([action as u64, outcome.arrival.to_bits(), outcome.reward.to_bits()]);
        match waits_for.filter(|_| outcome.decode.is_finite()) {
            Some(reference) => self.pending.push(Pending { outcome, reference, cost }),
            None => self.finish(outcome),
        }
        if unit.kind != FrameKind::B {
            self.resolve(unit.tile, frame);
        }
        self.decision += 1;
        let (ends_frame, ends_session) = self.advance();
        Step { reward: outcome.reward, ends_frame, ends_session }
    }

    fn gop_length(&self) -> usize {
        self.videos[self.video].gop().len()
    }

    /// The later reference of a B frame, if it is viewed: then it is a unit of its own, of a frame to come.
    fn undecided_reference(&self, unit: &Unit, frame: usize) -> Option<usize> {
        let video = &self.videos[self.video];
        let behind = video.gop().references(frame)[1]?;
        let viewed = self.views.of(unit.frame / video.gop().len(), unit.tile);
        (viewed & bit(behind) != 0).then_some(behind)
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

    fn send(&mut self, unit: &Unit, action: usize) -> (Outcome, f64) {
        let frame = unit.frame % self.gop_length();
        let undecided = self.undecided_reference(unit, frame);
        let video = &self.videos[self.video];
        let gop = video.gop();
        let (path, trace) = (&mut self.paths[action - 1], &self.network.paths()[action - 1]);
        // What keeps a path busy: payload over its rate.
        let cost = 8.0 * unit.bytes / path.view.rate;
        let lasting = self.config.kind == Kind::Continuous;
        let (first, decoded) = (unit.frame - frame, &mut self.decoded[unit.tile * gop.len()..][..gop.len()]);
        let (mut arrival, mut decode) = (unit.release, unit.release);
        for member in in_order(gop, unit.bundle) {
            let bytes = video.size(first + member, unit.tile);
            arrival = path.send(trace, unit.release, bytes, &mut self.random, lasting);
            let known = |frame| if Some(frame) == undecided { 0.0 } else { decoded[frame] };
            decode = decode_time(gop, member, arrival, known);
            decoded[member] = decode;
        }
        self.sent[unit.tile] |= unit.bundle;
        let reward = self.config.reward.sent(&unit.playback, decode, cost);
        (self.outcome(unit, action, arrival, decode, reward), cost)
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

    /// Goes to the next unit; whether it is of another frame, and of another session.
    fn advance(&mut self) -> (bool, bool) {
        self.cursor += 1;
        if self.cursor < self.tiles.len() {
            self.load_unit();
            return (false, false);
        }
        self.frame += 1;
        if self.frame < self.config.frames && self.start_frame() {
            return (true, false);
        }
        self.session += 1;
        self.start_session();
        (true, true)
    }

    fn start_session(&mut self) {
        let purpose = self.config.purpose;
        let seed = derive(self.seed, self.session.to_le_bytes());
        self.video = self.video_of_session();
        let (frames, gop) = (self.config.frames, self.gop_length());
        self.views = Views::synthetic(purpose.seed(seed, "viewer"), frames, gop, self.config.viewing);
        self.network = Network::synthetic(purpose.seed(seed, "network"), frames, self.config.max_loss);
        self.random = Random::new(purpose.seed(seed, "losses"));
        self.paths = [(); PATHS].map(|()| Path::new());
        self.pending.clear();
        self.frame = 0;
        let started = self.start_frame();
        debug_assert!(started, "the field of view is never empty");
    }

    /// The videos in a new order in each pass.
    fn video_of_session(&self) -> usize {
        let count = self.videos.len() as u64;
        let pass = self.session / count;
        let mut random =
            Random::new(self.config.purpose.seed(derive(self.seed, pass.to_le_bytes()), "order"));
        let mut order: Vec<usize> = (0..self.videos.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, (random.fraction() * (at + 1) as f64) as usize);
        }
        order[(self.session % count) as usize]
    }

    /// Starts the frame, or the next one in which a tile is viewed; false: there is none left.
    fn start_frame(&mut self) -> bool {
        let gop = self.gop_length();
        while self.frame < self.config.frames {
            if self.frame.is_multiple_of(gop) {
                self.sent.fill(0);
                self.decoded.fill(f64::INFINITY);
                debug_assert!(self.pending.is_empty(), "references lie within the GoP");
            }
            self.start_paths();
            let member = bit(self.frame % gop);
            self.tiles.clear();
            let viewed = |tile: &usize| self.views.of(self.frame / gop, *tile) & member != 0;
            self.tiles.extend((0..TILES).filter(viewed));
            if !self.tiles.is_empty() {
                self.cursor = 0;
                self.load_unit();
                return true;
            }
            self.frame += 1;
        }
        false
    }

    fn start_paths(&mut self) {
        let now = release(self.frame);
        for (path, trace) in self.paths.iter_mut().zip(self.network.paths()) {
            match self.config.kind {
                Kind::Episodic => path.start_empty(trace, self.frame, now),
                Kind::Continuous => path.go_on(trace, self.frame, release(self.frame.saturating_sub(1)), now),
            }
        }
    }

    fn load_unit(&mut self) {
        let (tile, video) = (self.tiles[self.cursor], &self.videos[self.video]);
        let gop = video.gop();
        let (number, frame) = (self.frame / gop.len(), self.frame % gop.len());
        let first = self.frame - frame;
        let viewed = self.views.of(number, tile);
        let members = bundle(gop, viewed, self.sent[tile], frame);
        let rule = self.config.deadline_rule;
        // It is viewed itself, so that it has a deadline of its own.
        let until = deadline_frame(gop, rule, viewed, frame).unwrap_or(frame);
        let start = |frame| release(frame) + self.config.playout_delay;
        let end = |frame| start(frame) + FRAME_SECONDS;
        self.unit = Unit {
            frame: self.frame,
            tile,
            kind: gop.kind(frame),
            bundle: members,
            bytes: in_order(gop, members).map(|member| video.size(first + member, tile)).sum(),
            release: release(self.frame),
            playback: Playback {
                start: start(self.frame),
                end: end(self.frame),
                deadline: end(first + until),
            },
        };
    }
}

#[cfg(test)]
mod tests;
