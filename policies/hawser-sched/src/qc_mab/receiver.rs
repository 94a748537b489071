//! At the mobile receiver: the agent that decides at each display event.

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::{
    Agent, AttachReport, AttachRequest, AttachResult, AttachmentPoint, Command, Commands, Earliest, Event,
    FeatureId, Feedback, Figure, Interests, LayerPackets, LinkId, LinkUpdate, MessageOrigin, PathId,
    PathView, SendView, Time, Trace,
};

use super::context::{QcMabSample, Slot};
use super::formulas::qc_mab_reward;
use super::learner::{QcMabLearner, QcMabObservation, QcMabPoint};
use super::messages::{PathDecision, PathReport};
use super::parameters::QcMabParameters;

/// Paths and links that are remembered.
const MAX_PATHS: usize = 16;
/// Frames whose reward waits for the sender to say under which decisions they were sent.
const MAX_FRAMES: usize = 8;
/// For how long a report of the sender says something about loss.
const REPORT_LIFE: Duration = Duration::from_secs(1);

/// Decides at each display event; a report of the application is one.
pub(super) struct Receiver {
    parameters: QcMabParameters,
    seed: u64,
    paths: Vec<Path>,
    links: Vec<Link>,
    frames: VecDeque<(u32, f64)>,
    display: Option<Time>,
    /// Links that are to be attached elsewhere, and when.
    moves: Vec<AttachRequest>,
    moves_at: Option<Time>,
    last_slot: Option<Time>,
    points: Vec<QcMabPoint>,
    trace: Trace,
}

struct Path {
    id: PathId,
    slot: Slot,
    report: Option<(Time, PathReport)>,
    learner: QcMabLearner,
    /// The newest frame whose reward was given.
    rewarded: Option<u32>,
}

/// A link as it was last heard of.
struct Link {
    id: LinkId,
    current: Option<AttachmentPoint>,
    candidates: Vec<(AttachmentPoint, Option<f64>)>,
    capacity: Option<f64>,
    loss: Option<f64>,
    strength: f64,
    snr: f64,
    position: [f64; 3],
}

impl Receiver {
    pub(super) fn new(parameters: QcMabParameters, seed: u64) -> Self {
        Receiver {
            parameters,
            seed,
            paths: Vec::with_capacity(MAX_PATHS),
            links: Vec::with_capacity(MAX_PATHS),
            frames: VecDeque::with_capacity(MAX_FRAMES),
            display: None,
            moves: Vec::new(),
            moves_at: None,
            last_slot: None,
            points: Vec::new(),
            trace: Trace::default(),
        }
    }

    fn path(&mut self, id: PathId) -> Option<&mut Path> {
        if let Some(at) = self.paths.iter().position(|path| path.id == id) {
            return self.paths.get_mut(at);
        }
        if self.paths.len() == MAX_PATHS {
            return None;
        }
        let seed = self.seed.wrapping_add(u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let learner = QcMabLearner::new(self.parameters, seed);
        self.paths.push(Path { id, slot: Slot::default(), report: None, learner, rewarded: None });
        self.paths.last_mut()
    }

    fn on_link(&mut self, update: &LinkUpdate<'_>) {
        let at = self.links.iter().position(|link| link.id == update.link);
        let link = match at {
            Some(at) => &mut self.links[at],
            None if self.links.len() == MAX_PATHS => return,
            None => {
                self.links.push(Link::new(update.link));
                let last = self.links.len() - 1;
                &mut self.links[last]
            }
        };
        link.update(update);
    }

    fn on_frame(&mut self, now: Time, number: u64, base: LayerPackets, enhancement: LayerPackets) {
        let QcMabParameters { gamma, eta, .. } = self.parameters;
        let reward = qc_mab_reward(base, enhancement, gamma, eta);
        self.trace.note(now, "qc-mab.frame", None, || {
            [
                ("frame", Figure::Number(number as f64)),
                ("base", base.all.into()),
                ("base_in_time", base.in_time.into()),
                ("enhancement", enhancement.all.into()),
                ("enhancement_in_time", enhancement.in_time.into()),
                ("reward", reward.into()),
            ]
        });
        if let Ok(number) = u32::try_from(number) {
            if self.frames.len() == MAX_FRAMES {
                self.frames.pop_front();
            }
            self.frames.push_back((number, reward));
        }
        self.display = Some(now);
    }

    fn on_report(&mut self, now: Time, id: PathId, report: PathReport) {
        let mut frames = std::mem::take(&mut self.frames);
        let trace = self.trace.clone();
        if let Some(path) = self.path(id) {
            path.report = Some((now, report));
            path.credit(now, &frames, &trace);
        }
        std::mem::swap(&mut self.frames, &mut frames);
    }
}

impl Path {
    /// Gives the frames of which the sender told their rewards, each once.
    fn credit(&mut self, now: Time, frames: &VecDeque<(u32, f64)>, trace: &Trace) {
        let Some((_, report)) = self.report else { return };
        for (number, reward) in frames {
            let is_new = self.rewarded.is_none_or(|rewarded| *number > rewarded);
            if !is_new || *number > report.newest_frame {
                continue;
            }
            self.rewarded = Some(*number);
            if let Some(decision) = report.decision_of(*number) {
                self.learner.reward(decision, *reward);
                let (number, reward) = (*number, *reward);
                trace.note(now, "qc-mab.credit", Some(self.id), || {
                    [("frame", number.into()), ("decision", decision.into()), ("reward", reward.into())]
                });
            }
        }
    }

    /// What the slot says of the path; `None` if nothing arrived.
    fn sample(
        &self,
        now: Time,
        length: Duration,
        view: &PathView,
        link: Option<&Link>,
    ) -> Option<QcMabSample> {
        if self.slot.packets == 0 {
            return None;
        }
        let report = self.report.filter(|(at, _)| now.since(*at) < REPORT_LIFE).map(|(_, report)| report);
        let round_trip = report.map_or(view.smoothed_rtt, |report| report.round_trip);
        let told = report.map_or(0.0, |report| f64::from(report.loss_ppm) / 1e6);
        let link_loss = link.and_then(|link| link.loss).unwrap_or(0.0);
        Some(QcMabSample {
            rate: self.slot.rate(length),
            app_limited: report.is_none_or(|report| report.app_limited),
            // Half of the round-trip time, as in the source.
            delay: round_trip.as_secs_f64() * 1e3 / 2.0,
            loss: self.slot.loss().max(link_loss).max(told),
            capacity: link.and_then(|link| link.capacity),
        })
    }
}

impl Link {
    fn new(id: LinkId) -> Self {
        Link {
            id,
            current: None,
            candidates: Vec::new(),
            capacity: None,
            loss: None,
            strength: 0.0,
            snr: 0.0,
            position: [0.0; 3],
        }
    }

    fn update(&mut self, update: &LinkUpdate<'_>) {
        let state = update.state;
        self.current = state.attached_to;
        self.candidates.clear();
        let candidates = state.candidates.iter();
        self.candidates.extend(candidates.map(|it| (it.point, it.signal.strength_dbm)));
        // While it is being attached it carries nothing, which says nothing of what it will carry.
        let downlink = state.is_up.then_some(&state.downlink);
        let capacity = downlink.and_then(|downlink| downlink.capacity);
        self.capacity = capacity.map(|rate| rate.bits_per_second() as f64 / 1e6);
        self.loss = downlink.and_then(|downlink| downlink.loss);
        self.strength = state.signal.strength_dbm.unwrap_or(0.0);
        self.snr = state.signal.snr_db.unwrap_or(0.0);
        self.position = state.position.unwrap_or_default();
    }
}

/// The number under which an access point is remembered.
fn number_of(point: AttachmentPoint) -> u64 {
    match point {
        AttachmentPoint::Cell(number) | AttachmentPoint::Satellite(number) => number,
        AttachmentPoint::AccessPoint([a, b, c, d, e, f]) => u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        _ => 0,
    }
}

impl Receiver {
    fn decide(&mut self, view: &SendView<'_>, length: Duration, commands: &mut Commands) {
        let (parameters, now) = (self.parameters, view.now);
        for path in &mut self.paths {
            let Some(seen) = view.path(path.id) else { continue };
            let link = seen.link.and_then(|id| self.links.iter().find(|link| link.id == id));
            let sample = path.sample(now, length, seen, link);
            let report = path.report.map(|(_, report)| report).unwrap_or_default();
            let [x, y, _] = link.map_or([0.0; 3], |link| link.position);
            let features = [
                f64::from(report.window),
                f64::from(report.in_flight),
                sample.map_or(0.0, |sample| sample.delay),
                path.slot.loss(),
                path.slot.rate(length),
                x,
                y,
                link.map_or(0.0, |link| link.strength),
                link.map_or(0.0, |link| link.snr),
                link.and_then(|link| link.capacity).unwrap_or(0.0),
                link.and_then(|link| link.loss).unwrap_or(0.0),
            ];
            path.slot.reset();
            self.points.clear();
            let candidates = link.iter().flat_map(|link| &link.candidates);
            self.points.extend(
                candidates
                    .map(|(point, strength)| QcMabPoint { point: number_of(*point), strength: *strength }),
            );
            let current = link.and_then(|link| link.current);
            let observation = QcMabObservation {
                now,
                sample,
                features,
                current: current.map(number_of),
                points: &self.points,
            };
            let Some(decision) = path.learner.on_slot(&observation) else { continue };
            let to = link.and_then(|link| {
                let mut points = link.candidates.iter().map(|(point, _)| *point);
                points.find(|point| Some(number_of(*point)) == decision.point)
            });
            let moves = to.is_some() && to != current && parameters.attach;
            if let Some((to, link)) = to.zip(link).filter(|_| moves) {
                self.moves.push(AttachRequest { link: link.id, to });
            }
            let context = path.learner.context();
            self.trace.note(now, "qc-mab.decision", Some(path.id), || {
                let mut values = vec![
                    ("decision", decision.id.into()),
                    ("cell", decision.cell.into()),
                    ("rate_mbps", context.rate().into()),
                    ("delay_ms", context.delay().into()),
                    ("loss", context.loss().into()),
                    ("point", Figure::Number(decision.arm.point as f64)),
                    ("protects", decision.arm.fec.into()),
                    // Arms that there were, and access points within reach with a stronger signal than that of the arm.
                    ("arms", Figure::Number(decision.arms as f64)),
                    ("rank", Figure::Number(decision.rank as f64)),
                    ("moves", moves.into()),
                ];
                values.extend(link.map(|link| ("link", link.id.0.into())));
                values
            });
            let told = PathDecision {
                id: decision.id,
                fec: decision.arm.fec,
                gamma: (parameters.gamma * 1e3).round() as u16,
                deadline: parameters.deadline,
            };
            commands.push(Command::Send(told.message(path.id)));
        }
    }
}

impl Agent for Receiver {
    fn set_trace(&mut self, trace: &Trace) {
        self.trace = trace.clone();
    }

    fn interests(&self) -> Interests {
        Interests::RECEIVED | Interests::FEEDBACK | Interests::LINKS | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        match event {
            Event::Received(packet) => {
                if let Some(path) = self.path(packet.path) {
                    path.slot.on_packet(packet);
                }
            }
            Event::Feedback { now, feedback: Feedback::LayeredFrame { number, base, enhancement } } => {
                self.on_frame(*now, *number, *base, *enhancement);
            }
            Event::Link(update) => self.on_link(update),
            // Known at once: the next observation of the link may come after the next slot.
            Event::Attach {
                report: AttachReport { request, result: AttachResult::Attached, .. }, ..
            } => {
                if let Some(link) = self.links.iter_mut().find(|link| link.id == request.link) {
                    link.current = Some(request.to);
                }
            }
            Event::Message { now, origin: MessageOrigin::Peer, message }
                if message.feature == FeatureId::PATH_REPORT =>
            {
                if let Some((report, path)) = PathReport::decode(&message.payload).zip(message.path) {
                    self.on_report(*now, path, report);
                }
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        Earliest::NONE.or(self.display).or(self.moves_at).time()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        if self.display.take().is_some() {
            let length = self.last_slot.map_or(self.parameters.deadline, |last| view.now.since(last));
            self.last_slot = Some(view.now);
            let frames = std::mem::take(&mut self.frames);
            let (now, trace) = (view.now, &self.trace);
            self.paths.iter_mut().for_each(|path| path.credit(now, &frames, trace));
            self.frames = frames;
            // What was not done yet is out of date.
            self.moves.clear();
            self.decide(view, length, commands);
            self.moves_at = (!self.moves.is_empty()).then(|| view.now + self.parameters.attach_after);
        }
        if self.moves_at.is_some_and(|at| at <= view.now) {
            self.moves_at = None;
            commands.extend(self.moves.drain(..).map(Command::Attach));
        }
    }
}
