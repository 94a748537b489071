//! The policy set: parts from the registry, and an agent that feeds the detector.

use std::sync::{Arc, Mutex};

use hawser_policy::{
    AckPolicyFactory, Agent, Commands, CongestionController, ControllerFactory, ControllerInit, Event,
    Interests, PathChange, PolicyError, PolicySet, PolicySetFactory, Registry, SchedulerFactory,
    SchedulerInit, SetInit, Snapshot, Trace, TraceSink,
};

use super::settings::{Migration, Selection, Settings};
use super::state::{Common, Shared, State, lock};
use super::steered::Steered;
use super::{CANDIDATES, Candidate, Choice, Models, NAME, PrefixMemory};

/// What a caller gives to the set besides its parameters.
#[derive(Clone, Default)]
pub struct SsccParts {
    /// The models to choose by; without them no path changes its controller, but for coupling.
    pub models: Option<Arc<Models>>,
    /// What worked for which prefix: a memory that all connections share, and which the caller may keep on disk. Without it each
    /// endpoint has one of its own, which begins empty: so a simulation follows from its scenario and seed alone.
    pub memory: Option<Arc<Mutex<PrefixMemory>>>,
}

impl SsccParts {
    /// With the models that come with this crate; without models where its feature `learned` is off.
    pub fn shipped() -> SsccParts {
        #[cfg(feature = "learned")]
        let models = Some(Models::shipped());
        #[cfg(not(feature = "learned"))]
        let models = None;
        SsccParts { models, ..SsccParts::default() }
    }

    /// Those of the policy set as it is in `registry`; where it is not there, [`shipped`](Self::shipped).
    pub fn of(registry: &Registry) -> SsccParts {
        registry.kept().cloned().unwrap_or_else(SsccParts::shipped)
    }
}

/// Adds the policy set `sscc`. It takes scheduler, acknowledgements and controllers from the registry as it is now, which keeps `parts`
/// for [`SsccParts::of`].
///
/// # Errors
/// One of them is not there.
pub fn register(registry: &mut Registry, parts: SsccParts) -> Result<(), PolicyError> {
    let [scheduler, acks] = ["default", "default"];
    let scheduler = registry.scheduler(scheduler)?;
    let acks = registry.acks(acks)?;
    let coupled = registry.congestion("olia")?;
    let mut singles = Vec::with_capacity(CANDIDATES);
    for candidate in Candidate::ALL {
        singles.push(registry.congestion(candidate.name())?);
    }
    registry.keep(parts.clone());
    let info = Settings::info(parts.models.is_some());
    debug_assert_eq!(info.name, NAME);
    registry.add_sets(info, move |parameters| {
        let SsccParts { models, memory } = parts.clone();
        // What a text names takes the place of what the caller gave.
        let models = parameters.file("models").or(models);
        let memory = parameters.file("prefixes").or(memory).unwrap_or_default();
        let log = parameters.file::<Arc<dyn TraceSink>>("log").map(|log| (*log).clone());
        let common = Common { settings: Settings::read(parameters), models, memory, log };
        Arc::new(Sscc {
            common,
            scheduler: scheduler.clone(),
            acks: acks.clone(),
            controllers: Arc::new(Controllers { coupled: coupled.clone(), singles: singles.clone() }),
        })
    });
    Ok(())
}

/// Makes sets.
struct Sscc {
    common: Common,
    scheduler: Arc<dyn SchedulerFactory>,
    acks: Arc<dyn AckPolicyFactory>,
    controllers: Arc<Controllers>,
}

impl PolicySetFactory for Sscc {
    fn build(&self, init: &SetInit) -> PolicySet {
        let seed = init.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let shared = Arc::new(Mutex::new(State::new(&self.common, init.side, seed)));
        PolicySet::new(
            self.scheduler.build(&SchedulerInit::new(init.side, init.seed)),
            Arc::new(Factory {
                shared: shared.clone(),
                controllers: self.controllers.clone(),
                migration: self.common.settings.migration,
            }),
            self.acks.build(),
        )
        .with(|set| set.agent = Some(Box::new(Listener { shared })))
    }

    fn wants_receive_timestamps(&self) -> bool {
        let Settings { coupling, selection, .. } = self.common.settings;
        coupling || selection == Selection::Model
    }
}

/// Factories of the controllers that may run.
struct Controllers {
    coupled: Arc<dyn ControllerFactory>,
    /// In the order of [`Candidate::ALL`].
    singles: Vec<Arc<dyn ControllerFactory>>,
}

/// Makes the controllers of a connection.
struct Factory {
    shared: Shared,
    controllers: Arc<Controllers>,
    migration: Migration,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let choice = lock(&self.shared).build(init);
        let factory = match choice {
            Choice::Coupled => &self.controllers.coupled,
            Choice::Single(candidate) => &self.controllers.singles[candidate as usize],
        };
        let mut init = init.clone();
        if self.migration == Migration::LinuxLike {
            init.snapshot = init.snapshot.map(linux_like);
        }
        let inner = factory.build(&init);
        Box::new(Steered {
            inner_commands: inner.gives_commands(),
            inner,
            shared: self.shared.clone(),
            path: init.path,
            replace: false,
        })
    }
}

/// What is left of a snapshot where a kernel changes the controller of a socket: the window, the threshold and the round-trip
/// times stay, what the predecessor knew of the path does not. So BBR begins in Startup, and a window-based controller that
/// takes over from BBR, which has no threshold, slow-starts from BBR's window.
fn linux_like(snapshot: Snapshot) -> Snapshot {
    snapshot.with(|made| {
        // The window as it was, whatever is in flight.
        made.bytes_in_flight = snapshot.congestion_window;
        made.max_delivery_rate = None;
        made.pipe_full = false;
        made.window_before_loss = None;
    })
}

/// Feeds the detector.
struct Listener {
    shared: Shared,
}

impl Agent for Listener {
    fn set_trace(&mut self, trace: &Trace) {
        lock(&self.shared).set_trace(trace);
    }

    fn interests(&self) -> Interests {
        Interests::ACKED | Interests::LOST | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match event {
            Event::Acked(report) => {
                lock(&self.shared).on_delay(report.now, report.path, report.one_way_delay);
            }
            Event::Lost(report) => lock(&self.shared).on_lost_packet(report.now, report.path),
            Event::Path { path, change: PathChange::Abandoned, .. } => lock(&self.shared).remove(*path),
            _ => {}
        }
    }
}
