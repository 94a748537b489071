//! What the parts of a connection know together: groups, what runs on each path, and what is to run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_learn::Random;
use hawser_policy::{Ack, ControllerInit, Figure, GroupId, Loss, PathId, Side, Time, Trace, TraceSink};

use super::settings::{Selection, Settings};
use super::units::{Collector, Measured};
use super::{Candidate, Choice, DataUnit, Detector, Models, PrefixKey, PrefixMemory, reward};

/// A path that is found in a group again and again keeps OLIA for 32 times the first probation at most.
const MAX_DOUBLINGS: u32 = 5;

/// State of a connection; its parts have handles on it. A connection runs on one thread at a time, so nobody waits.
pub(super) type Shared = Arc<Mutex<State>>;

/// Locks it; numbers are whole even after a panic.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All paths of a connection.
pub(super) struct State {
    settings: Settings,
    detector: Detector,
    /// In order of path id.
    paths: Vec<Path>,
    models: Option<Arc<Models>>,
    memory: Arc<Mutex<PrefixMemory>>,
    /// The log alone, and those who listen to the connection as well.
    log: Trace,
    trace: Trace,
    random: Random,
}

/// A path.
struct Path {
    id: PathId,
    key: PrefixKey,
    running: Choice,
    /// What is to run from the next acknowledgement on.
    wanted: Choice,
    /// The last controller of its own: what it goes back to when it is no longer coupled.
    single: Candidate,
    /// What the last units wanted, and how many in a row.
    pending: Option<(Choice, u64)>,
    switched_at: Time,
    /// Whether it has had another one before.
    has_switched: bool,
    group: GroupId,
    /// When it left its last group, and how often it was found in one after it had been alone.
    released_at: Option<Time>,
    groups_joined: u32,
    units: Collector,
    /// What was chosen at the last unit: its reward is that of the next one.
    chosen: Option<Choice>,
    smoothed_rtt: Duration,
}

/// What all connections have in common.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) settings: Settings,
    pub(super) models: Option<Arc<Models>>,
    pub(super) memory: Arc<Mutex<PrefixMemory>>,
    /// Hears what all of them note.
    pub(super) log: Option<Arc<dyn TraceSink>>,
}

impl State {
    pub(super) fn new(common: &Common, side: Side, seed: u64) -> State {
        let Common { settings, models, memory, log } = common.clone();
        let (detector, random) = (Detector::new(settings.detector), Random::new(seed));
        let log = Trace::new(side, log.into_iter().collect());
        State { settings, detector, paths: Vec::new(), models, memory, trace: log.clone(), log, random }
    }

    /// The log hears what is noted as before.
    pub(super) fn set_trace(&mut self, trace: &Trace) {
        self.trace = trace.and(&self.log);
    }

    /// A controller is to be built; says which. The first one of a path is that which worked for its prefix.
    pub(super) fn build(&mut self, init: &ControllerInit) -> Choice {
        let at = self.paths.partition_point(|path| path.id < init.path);
        let is_new = self.paths.get(at).is_none_or(|path| path.id != init.path);
        let from = (!is_new).then(|| self.paths[at].running);
        if is_new {
            let path = self.first(init);
            self.paths.insert(at, path);
        }
        let path = &mut self.paths[at];
        path.running = path.wanted;
        path.pending = None;
        path.switched_at = init.now;
        path.has_switched |= !is_new;
        // What the first round trip shows is the predecessor's.
        let masked = init.snapshot.map(|snapshot| init.now + snapshot.smoothed_rtt);
        path.units.restart(masked);
        if let Choice::Single(candidate) = path.running {
            path.single = candidate;
        }
        self.trace.note(init.now, "sscc.controller", Some(init.path), || {
            let to = ("controller", Figure::Word(path.running.name()));
            from.map(|from| ("from", from.name().into())).into_iter().chain([to]).collect::<Vec<_>>()
        });
        path.running
    }

    fn first(&self, init: &ControllerInit) -> Path {
        let key = PrefixKey::new(init.remote, init.link);
        // Only models learn what works.
        let known = match self.settings.selection {
            Selection::Model => lock(&self.memory).initial(key, init.now),
            Selection::Rule | Selection::Alternate(_) | Selection::Random => None,
        };
        let single = known.unwrap_or(self.settings.initial);
        Path {
            id: init.path,
            key,
            running: Choice::Single(single),
            wanted: Choice::Single(single),
            single,
            pending: None,
            switched_at: init.now,
            has_switched: false,
            group: GroupId(0),
            released_at: None,
            groups_joined: 0,
            units: Collector::new(self.settings.units),
            chosen: None,
            smoothed_rtt: Duration::ZERO,
        }
    }

    /// The group in which the path's controller is coupled; `GroupId(0)`: it is not.
    pub(super) fn group(&self, path: PathId) -> GroupId {
        if !self.settings.coupling {
            return GroupId(0);
        }
        let group = self.detector.group(path);
        if self.settings.single_coupled_set { GroupId(group.0.min(1)) } else { group }
    }

    /// A packet was acknowledged; the delay in nanoseconds, if the peer said it.
    pub(super) fn on_delay(&mut self, now: Time, path: PathId, delay: Option<Duration>) {
        if let Some(delay) = delay {
            self.detector.on_delay(now, path, delay.as_nanos() as i128);
        }
    }

    /// A packet was lost.
    pub(super) fn on_lost_packet(&mut self, now: Time, path: PathId) {
        self.detector.on_loss(now, path, 1);
    }

    /// The path is gone, and shares nothing any more.
    pub(super) fn remove(&mut self, path: PathId) {
        self.paths.retain(|known| known.id != path);
        self.detector.remove(path);
    }

    /// The path leads elsewhere.
    pub(super) fn reset(&mut self, id: PathId) {
        self.detector.remove(id);
        if let Some(path) = self.path(id) {
            path.units.reset();
            path.chosen = None;
            path.groups_joined = 0;
        }
    }

    pub(super) fn on_loss(&mut self, id: PathId, loss: &Loss) {
        if let Some(path) = self.path(id) {
            path.units.on_loss(loss);
        }
    }

    /// An acknowledgement; whether the path is to get another controller.
    pub(super) fn on_ack(&mut self, id: PathId, ack: &Ack) -> bool {
        let group = self.group(id);
        let trace = self.trace.clone();
        let Some(path) = self.path(id) else { return false };
        path.smoothed_rtt = ack.smoothed_rtt;
        if group != path.group {
            path.join(group, ack.now);
            path.chosen = None;
            trace.note(ack.now, "sscc.group", Some(id), || [("group", group.0.into())]);
        }
        if group != GroupId(0) && path.wanted != Choice::Coupled {
            // At once: until then the path takes more than its share.
            path.wanted = Choice::Coupled;
        }
        if let Some(measured) = path.units.on_ack(ack) {
            let unit = path.unit(ack.now, measured);
            self.on_unit(id, &unit);
        }
        self.path(id).is_some_and(|path| path.wanted != path.running)
    }

    /// A unit ended: what came of the last choice, and what is to run now.
    fn on_unit(&mut self, id: PathId, unit: &DataUnit) {
        let (trace, form) = (self.trace.clone(), self.settings.reward);
        let probation = self.settings.probation;
        let Some(path) = self.path(id) else { return };
        let before = path.chosen.take();
        trace.note(unit.at, DataUnit::NOTE, Some(id), || unit.values());
        // A choice that had not come into force by then has no reward.
        if !unit.is_coupled() && before == Some(unit.running) {
            trace.note(unit.at, "sscc.reward", Some(id), || {
                [("controller", unit.running.name().into()), ("reward", reward(unit, form).into())]
            });
        }
        if unit.is_coupled() || path.is_on_probation(probation, unit.at) {
            return;
        }
        let single = path.single;
        let wanted = Choice::Single(self.select(id, unit, single));
        let settings = self.settings;
        if let Some(path) = self.path(id) {
            path.settle(&settings, wanted, unit.at);
            path.chosen = Some(path.wanted);
        }
    }

    /// The controller that an uncoupled path should have.
    fn select(&mut self, id: PathId, unit: &DataUnit, current: Candidate) -> Candidate {
        match (self.settings.selection, self.models.clone()) {
            (Selection::Model, Some(models)) => {
                let explores = self.settings.epsilon > 0.0 && self.random.fraction() < self.settings.epsilon;
                let wanted = if explores { self.any() } else { models.choose(unit, current) };
                if let Some(key) = self.path(id).map(|path| path.key) {
                    lock(&self.memory).record(key, wanted, self.settings.alpha, unit.at);
                }
                wanted
            }
            (Selection::Alternate(turn), _) => {
                let odd = unit.at.as_nanos() as u128 / turn.as_nanos().max(1) % 2 == 1;
                if odd { Candidate::Bbr } else { Candidate::Cubic }
            }
            (Selection::Random, _) => self.any(),
            _ => current,
        }
    }

    /// A candidate at random.
    fn any(&mut self) -> Candidate {
        let at = (self.random.fraction() * Candidate::ALL.len() as f64) as usize;
        Candidate::ALL[at.min(Candidate::ALL.len() - 1)]
    }

    fn path(&mut self, id: PathId) -> Option<&mut Path> {
        let at = self.paths.binary_search_by_key(&id, |path| path.id).ok()?;
        self.paths.get_mut(at)
    }

    /// Bytes that the connection's state takes, about; models and prefixes are not its own.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        size_of::<State>() + self.paths.capacity() * size_of::<Path>() + self.detector.memory()
    }
}

impl Path {
    fn unit(&self, at: Time, measured: Measured) -> DataUnit {
        let Measured { duration, tput, loss, delay, delay_min, tput_max } = measured;
        DataUnit {
            path: self.id,
            at,
            duration,
            group: self.group,
            running: self.running,
            tput,
            loss,
            delay,
            delay_min,
            tput_max,
        }
    }

    fn join(&mut self, group: GroupId, now: Time) {
        self.groups_joined += u32::from(self.group == GroupId(0));
        self.group = group;
        self.released_at = (group == GroupId(0)).then_some(now);
    }

    /// Whether nothing is chosen for it yet: the detection may have lost sight of what it shares. Each time that this came out the time
    /// doubles, since the model-based controllers keep queues so short that it would not come out again.
    fn is_on_probation(&self, first: Duration, now: Time) -> bool {
        let doublings = self.groups_joined.saturating_sub(1).min(MAX_DOUBLINGS);
        self.released_at.is_some_and(|at| now.since(at) < first * 2u32.pow(doublings))
    }

    /// Hysteresis: another controller must be wanted several times in a row, a while after the last change.
    fn settle(&mut self, settings: &Settings, wanted: Choice, now: Time) {
        if wanted == self.running {
            self.pending = None;
            self.wanted = wanted;
            return;
        }
        let times = match self.pending {
            Some((pending, times)) if pending == wanted => times.saturating_add(1),
            _ => 1,
        };
        self.pending = Some((wanted, times));
        let rest = if self.has_switched { settings.rest } else { Duration::ZERO };
        let dwelt = now.since(self.switched_at) >= self.smoothed_rtt.mul_f64(settings.dwell).max(rest);
        // A path that is coupled without a group is to be let go: the same rule, since a group may come back.
        if times >= settings.confirmations && dwelt {
            self.wanted = wanted;
        }
    }
}
