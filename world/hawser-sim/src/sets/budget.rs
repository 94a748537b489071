//! Shared state: the windows of all paths add up to one budget, and the scheduler rests a path whose window was just cut.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, Agent, Assignment, Commands, CongestionController, ControllerInit, Decision, Event, Interests, Loss,
    LossCause, ParameterInfo, PathChange, PathId, PolicyInfo, PolicySet, Registry, Scheduler, SendView,
    SetInit, Siblings, Time,
};

/// What the parts of one connection know in common.
#[derive(Debug)]
struct Purse {
    budget: u64,
    /// What each path took of it.
    windows: Vec<(PathId, u64)>,
    /// The path that was cut last, and until when it rests.
    resting: Option<(PathId, Time)>,
}

impl Purse {
    fn free(&self) -> u64 {
        self.budget.saturating_sub(self.windows.iter().map(|(_, window)| window).sum())
    }

    fn window(&self, path: PathId) -> u64 {
        self.windows.iter().find(|(id, _)| *id == path).map_or(0, |(_, window)| *window)
    }

    /// Sets what a path has, as far as the budget goes.
    fn set(&mut self, path: PathId, wanted: u64) {
        self.windows.retain(|(id, _)| *id != path);
        let granted = wanted.min(self.free());
        self.windows.push((path, granted));
    }
}

type Shared = Arc<Mutex<Purse>>;

/// Slow start and additive increase out of the common purse; a cut gives back a third.
#[derive(Debug)]
struct Spender {
    purse: Shared,
    path: PathId,
    datagram: u64,
    threshold: u64,
    rtt: Duration,
}

impl Spender {
    fn new(purse: &Shared, init: &ControllerInit) -> Self {
        let mut this = Spender {
            purse: purse.clone(),
            path: init.path,
            datagram: u64::from(init.max_datagram_size),
            threshold: u64::MAX,
            rtt: Duration::from_millis(333),
        };
        let before = init.snapshot.map(|snapshot| snapshot.congestion_window);
        this.purse().set(init.path, before.unwrap_or(init.initial_window));
        this
    }

    fn purse(&mut self) -> std::sync::MutexGuard<'_, Purse> {
        self.purse.lock().expect("nobody panicked")
    }
}

impl CongestionController for Spender {
    fn name(&self) -> &'static str {
        "spender"
    }

    fn on_ack(&mut self, ack: &Ack, _: &Siblings<'_>) {
        self.rtt = ack.smoothed_rtt;
        if ack.limited_by.leaves_window_unused() {
            return;
        }
        let (path, window) = (self.path, self.window());
        let bytes = ack.bytes.saturating_sub(ack.bytes_in_recovery);
        let growth = if self.in_slow_start() { bytes } else { bytes * self.datagram / window.max(1) };
        self.purse().set(path, window + growth);
    }

    fn on_loss(&mut self, loss: &Loss, _: &Siblings<'_>) {
        if !loss.new_epoch {
            return;
        }
        let (path, rtt) = (self.path, self.rtt);
        let least = 2 * self.datagram;
        let cut = if loss.cause == LossCause::Persistent { least } else { self.window() / 3 * 2 };
        self.threshold = cut.max(least);
        let threshold = self.threshold;
        let mut purse = self.purse();
        purse.set(path, threshold);
        purse.resting = Some((path, loss.now + rtt));
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.datagram = u64::from(bytes);
    }

    fn window(&self) -> u64 {
        self.purse.lock().expect("nobody panicked").window(self.path)
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }
}

/// The quickest path with room, but not one that rests, unless it is the only one.
struct Patient(Shared);

impl Scheduler for Patient {
    fn name(&self) -> &'static str {
        "patient"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let resting = self.0.lock().expect("nobody panicked").resting.filter(|(_, until)| view.now < *until);
        let rests = |id| resting.is_some_and(|(path, _)| path == id);
        let alone = view.preferred().all(|path| rests(path.id));
        let ready = view.preferred().filter(|path| path.sendable() > 0 && (alone || !rests(path.id)));
        match ready.min_by_key(|path| path.smoothed_rtt) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(resting.map(|(_, until)| until)),
        }
    }
}

/// Returns the share of a path that is gone to the purse.
struct Treasurer(Shared);

impl Agent for Treasurer {
    fn interests(&self) -> Interests {
        Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        if let Event::Path { path, change: PathChange::Abandoned, .. } = event {
            self.0.lock().expect("nobody panicked").windows.retain(|(id, _)| id != path);
        }
    }
}

/// Adds the set `budget`. Acknowledgements are those of the registry's default.
pub fn register(registry: &mut Registry) {
    let acks = registry.acks("default").expect("registered");
    let info = PolicyInfo::new("budget", "the windows of all paths share one budget").parameter(
        ParameterInfo::integer("bytes", 20_000..=100_000_000, 200_000)
            .unit("bytes")
            .meaning("sum of all windows at most"),
    );
    registry.add_set_with(info, move |_: &SetInit, parameters| {
        let budget = parameters.integer("bytes");
        let purse = Arc::new(Mutex::new(Purse { budget, windows: Vec::new(), resting: None }));
        let spending = purse.clone();
        PolicySet::new(
            Box::new(Patient(purse.clone())),
            Arc::new(move |init: &ControllerInit| {
                Box::new(Spender::new(&spending, init)) as Box<dyn CongestionController>
            }),
            acks.build(),
        )
        .with(|set| {
            set.agent = Some(Box::new(Treasurer(purse)));
            set.features = hawser_policy::FeatureSet::NONE;
        })
    });
}
