//! The receiver steers the sender: it counts what arrives on each path and says which one it prefers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Agent, Assignment, Command, Commands, ControllerFactory, Decision, Event, FeatureId, FeatureSet,
    Interests, Message, MessageOrigin, PacketReceived, ParameterInfo, Parameters, PathChange, PathId,
    PolicyInfo, PolicySet, PolicySetFactory, Registry, Scheduler, SendView, SetInit, Time,
};

/// Of messages that hold the id of a path, four bytes, most significant first.
pub const PREFERENCE: FeatureId = FeatureId(0x7365_7473);

/// The path that the peer prefers, if it said so.
type Preferred = Arc<Mutex<Option<PathId>>>;

/// Sends on the preferred path as long as it is active, else on the quickest one that has room.
struct Obedient(Preferred);

impl Scheduler for Obedient {
    fn name(&self) -> &'static str {
        "obedient"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let preferred =
            self.0.lock().expect("nobody panicked").filter(|id| view.preferred().any(|p| p.id == *id));
        let usable = view.preferred().filter(|p| p.sendable() > 0 && preferred.is_none_or(|id| id == p.id));
        let path = usable.min_by_key(|path| path.smoothed_rtt);
        path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }
}

/// What arrived on a path since the last look.
#[derive(Clone, Copy)]
struct Count {
    path: PathId,
    arrived: u64,
    missing: u64,
    /// Share that was missing when there was last enough to tell; fades from then on.
    loss: f64,
    /// How many times in a row that was too much.
    bad: u64,
}

/// Fewer packets than this say nothing of loss.
const ENOUGH: u64 = 10;

/// What is left of an estimate after an interval without news.
const FADING: f64 = 0.8;

/// At the receiver: counts, and tells. At the sender: notes what it is told.
struct Adviser {
    preferred: Preferred,
    interval: Duration,
    threshold: f64,
    patience: u64,
    counts: Vec<Count>,
    /// What we told the peer.
    told: Option<PathId>,
    /// What we are to tell as soon as there is such a path.
    first: Option<PathId>,
    next: Option<Time>,
}

impl Adviser {
    fn tell(&mut self, path: PathId, commands: &mut Commands) {
        self.told = Some(path);
        commands.push(Command::Send(Message::latest(PREFERENCE, path.0.to_be_bytes())));
    }

    fn count(&mut self, packet: &PacketReceived) {
        let path = packet.path;
        if !self.counts.iter().any(|count| count.path == path) {
            self.counts.push(Count { path, arrived: 0, missing: 0, loss: 0.0, bad: 0 });
        }
        for count in self.counts.iter_mut().filter(|count| count.path == path) {
            (count.arrived, count.missing) = (count.arrived + 1, count.missing + packet.gap);
        }
        self.next.get_or_insert(packet.now + self.interval);
    }
}

impl Agent for Adviser {
    fn interests(&self) -> Interests {
        Interests::RECEIVED | Interests::MESSAGES | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        match event {
            Event::Received(packet) => self.count(packet),
            Event::Path { path, change: PathChange::Established, .. } if self.first == Some(*path) => {
                self.tell(*path, commands);
            }
            Event::Path { path, change: PathChange::Abandoned, .. } => {
                self.counts.retain(|count| count.path != *path);
            }
            Event::Message { origin: MessageOrigin::Peer, message, .. } if message.feature == PREFERENCE => {
                // What is no path id is ignored; what is the id of no path is left alone by the scheduler.
                if let Ok(id) = <[u8; 4]>::try_from(message.payload.as_slice()) {
                    *self.preferred.lock().expect("nobody panicked") = Some(PathId(u32::from_be_bytes(id)));
                }
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_timeout(&mut self, _: &SendView<'_>, commands: &mut Commands) {
        self.next = None; // The next packet starts the next interval.
        for count in &mut self.counts {
            let total = count.arrived + count.missing;
            if total >= ENOUGH {
                count.loss = count.missing as f64 / total as f64;
                count.bad = if count.loss > self.threshold { count.bad + 1 } else { 0 };
                (count.arrived, count.missing) = (0, 0);
            } else {
                // Of a path that is not used any more nothing bad is heard: in time it deserves another try.
                count.loss *= FADING;
            }
        }
        let best =
            self.counts.iter().min_by(|a, b| a.loss.total_cmp(&b.loss)).map(|count| (count.path, count.loss));
        // A path is left when it keeps losing too much and another does not.
        let is_bad =
            |count: &&Count| count.bad >= self.patience && self.told.is_none_or(|told| told == count.path);
        let bad = self.counts.iter().find(is_bad).map(|count| count.path);
        if let (Some(bad), Some((best, loss))) = (bad, best)
            && best != bad
            && loss <= self.threshold
        {
            self.tell(best, commands);
            self.counts.iter_mut().for_each(|count| count.bad = 0);
        }
    }
}

struct AdvisedSet {
    parameters: Parameters,
    controllers: Arc<dyn ControllerFactory>,
    acks: Arc<dyn hawser_policy::AckPolicyFactory>,
}

impl PolicySetFactory for AdvisedSet {
    fn build(&self, init: &SetInit) -> PolicySet {
        let preferred = Preferred::default();
        let adviser = Adviser {
            preferred: preferred.clone(),
            interval: self.parameters.duration("interval"),
            threshold: self.parameters.number("threshold"),
            patience: self.parameters.integer("patience"),
            counts: Vec::new(),
            told: None,
            first: self.parameters.choice("first").parse().ok().map(PathId),
            next: None,
        };
        PolicySet::new(
            Box::new(Obedient(preferred)),
            self.controllers.for_connection(init.side, init.seed).unwrap_or_else(|| self.controllers.clone()),
            self.acks.build(),
        )
        .with(|set| {
            set.agent = Some(Box::new(adviser));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        if self.parameters.flag("messages") { FeatureSet::NONE.with(PREFERENCE) } else { FeatureSet::NONE }
    }
}

/// Adds the set `advised`. Controllers and acknowledgements are those of the registry.
pub fn register(registry: &mut Registry) {
    let controllers = registry.congestion("cubic").expect("registered");
    let acks = registry.acks("default").expect("registered");
    let interval = Duration::from_millis(10)..=Duration::from_secs(10);
    let info = PolicyInfo::new("advised", "the receiver says which path it prefers")
        .parameter(
            ParameterInfo::duration("interval", interval, Duration::from_millis(50))
                .meaning("time over which arrivals are counted"),
        )
        .parameter(
            ParameterInfo::number("threshold", 0.0..=1.0, 0.05)
                .meaning("share of lost packets that is too much"),
        )
        .parameter(ParameterInfo::integer("patience", 1..=100, 6).unit("intervals").meaning(
            "in a row that a path must lose too much before it is left: the end of slow start is shorter",
        ))
        .parameter(
            ParameterInfo::choice("first", ["none", "0", "1", "2"])
                .meaning("path that is preferred at first"),
        )
        .parameter(ParameterInfo::flag("messages", true).meaning("whether the feature is offered"));
    registry.add_sets(info, move |parameters| {
        Arc::new(AdvisedSet {
            parameters: parameters.clone(),
            controllers: controllers.clone(),
            acks: acks.clone(),
        })
    });
}
