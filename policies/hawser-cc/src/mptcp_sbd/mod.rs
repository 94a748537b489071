//! MPTCP-SBD (Ferlin, Alay, Dreibholz, Hayes and Welzl, INFOCOM 2016): paths that share a bottleneck, as their one-way delays and
//! losses tell, are coupled; a path that shares none grows like a flow of its own.
//!
//! The detection is that of [`sscc`](crate::sscc), as published. OLIA (or LIA, or BALIA) runs on every path: on one that is alone
//! in its group each of them is Reno, so that no controller has to be exchanged when groups change, as in the kernel code.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_policy::{
    AckPolicyFactory, Agent, Commands, CongestionController, ControllerFactory, ControllerInit, Event,
    GroupId, Interests, ParameterInfo, PathChange, PathId, PolicyError, PolicyInfo, PolicySet,
    PolicySetFactory, Registry, SchedulerFactory, SchedulerInit, SetInit, Time, WrappedController,
};

use crate::sscc::{Detector, DetectorSettings, detection};

/// Name of the policy set in the registry.
pub const NAME: &str = "mptcp-sbd";

const SOURCE: &str = "Ferlin and others, INFOCOM 2016";
/// Controllers that grow like Reno on a path that is coupled with nobody. The first is the default.
const COUPLED: [&str; 3] = ["olia", "lia", "balia"];

/// The detector of a connection. A connection runs on one thread at a time, so nobody waits.
type Shared = Arc<Mutex<Detector>>;

/// Locks it; numbers are whole even after a panic.
fn lock(shared: &Shared) -> MutexGuard<'_, Detector> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the policy set `mptcp-sbd`. It takes scheduler, acknowledgements and controllers from the registry as it is now.
///
/// # Errors
/// One of them is not there.
pub fn register(registry: &mut Registry) -> Result<(), PolicyError> {
    let [scheduler, acks] = ["default", "default"];
    let scheduler = registry.scheduler(scheduler)?;
    let acks = registry.acks(acks)?;
    let [olia, lia, balia] = COUPLED.map(|name| registry.congestion(name));
    let controllers = [olia?, lia?, balia?];
    registry.add_sets(info(), move |parameters| {
        let coupled = COUPLED.iter().position(|name| *name == parameters.choice("coupled"));
        Arc::new(MptcpSbd {
            detector: detection::read(parameters),
            scheduler: scheduler.clone(),
            controllers: controllers[coupled.unwrap_or(0)].clone(),
            acks: acks.clone(),
        })
    });
    Ok(())
}

fn info() -> PolicyInfo {
    let coupled = ParameterInfo::choice("coupled", COUPLED)
        .meaning("controller of all paths: coupled in a group, and Reno on a path that is in none")
        .source(SOURCE);
    let detection = detection::parameters(["packets", "intervals"], ["all", "recent"], Duration::ZERO);
    let info = PolicyInfo::new(NAME, "paths that share a bottleneck are coupled, others are Reno each");
    detection.into_iter().fold(info.source(SOURCE).parameter(coupled), PolicyInfo::parameter)
}

/// Makes sets.
struct MptcpSbd {
    detector: DetectorSettings,
    scheduler: Arc<dyn SchedulerFactory>,
    controllers: Arc<dyn ControllerFactory>,
    acks: Arc<dyn AckPolicyFactory>,
}

impl PolicySetFactory for MptcpSbd {
    fn build(&self, init: &SetInit) -> PolicySet {
        let shared = Arc::new(Mutex::new(Detector::new(self.detector)));
        PolicySet::new(
            self.scheduler.build(&SchedulerInit::new(init.side, init.seed)),
            Arc::new(Factory { shared: shared.clone(), controllers: self.controllers.clone() }),
            self.acks.build(),
        )
        .with(|set| set.agent = Some(Box::new(Listener { shared })))
    }

    fn wants_receive_timestamps(&self) -> bool {
        true
    }
}

/// Makes the controllers of a connection.
struct Factory {
    shared: Shared,
    controllers: Arc<dyn ControllerFactory>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        Box::new(Grouped {
            inner: self.controllers.build(init),
            shared: self.shared.clone(),
            path: init.path,
        })
    }
}

/// The controller of a path, which says in which group that is. The core shows groups to coupled controllers, and these look at
/// the paths of their own only.
#[derive(Debug)]
struct Grouped {
    inner: Box<dyn CongestionController>,
    shared: Shared,
    path: PathId,
}

impl WrappedController for Grouped {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_path_reset(&mut self, now: Time) {
        self.inner.on_path_reset(now);
        lock(&self.shared).remove(self.path);
    }

    /// One of its own where the path shares nothing: groups are named after their first path, so that none else has it.
    fn bottleneck_group(&self) -> GroupId {
        match lock(&self.shared).group(self.path) {
            GroupId(0) => GroupId(self.path.0.saturating_add(1)),
            group => group,
        }
    }
}

/// Feeds the detector.
struct Listener {
    shared: Shared,
}

impl Agent for Listener {
    fn interests(&self) -> Interests {
        Interests::ACKED | Interests::LOST | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let mut detector = lock(&self.shared);
        match event {
            Event::Acked(report) => {
                if let Some(delay) = report.one_way_delay {
                    detector.on_delay(report.now, report.path, delay.as_nanos() as i128);
                }
            }
            Event::Lost(report) => detector.on_loss(report.now, report.path, 1),
            Event::Path { path, change: PathChange::Abandoned, .. } => detector.remove(*path),
            _ => {}
        }
    }
}
