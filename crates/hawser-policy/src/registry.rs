//! Policies by name.

mod error;
mod info;
mod section;

use std::fmt;
use std::sync::Arc;

pub use error::PolicyError;
pub use info::{PolicyInfo, PolicyKind};

use crate::{
    AckPolicy, AckPolicyFactory, Composition, CongestionController, ControllerFactory, ControllerInit,
    Parameters, PathManager, PathManagerFactory, PathManagerInit, PolicySpec, Scheduler, SchedulerFactory,
    SchedulerInit,
};
use section::Section;

/// The name of the entry that is used when nobody chooses.
const DEFAULT: &str = "default";

/// Factories of every kind of policy, by name.
///
/// A policy is chosen by a text such as `ecf` or `cubic,beta=0.8`, or by the [`PolicySpec`] that such a text stands for.
/// Names are matched without regard to case, `-` and `_`. The entry that is called `default`, by its name or as an alias,
/// is the one to use when nobody chooses.
///
/// ```
/// # use hawser_policy::*;
/// # struct Own(u64);
/// # impl Scheduler for Own {
/// #     fn name(&self) -> &'static str { "own" }
/// #     fn schedule(&mut self, _: &SendView<'_>, _: &mut Commands) -> Decision { Decision::Wait(None) }
/// # }
/// let mut registry = Registry::new();
/// registry.add_scheduler("own", |_| Box::new(Own(8)));
/// registry.add_scheduler_with(
///     PolicyInfo::new("tunable", "in turns").parameter(ParameterInfo::integer("quantum", 1..=64, 8)),
///     |_, parameters| Box::new(Own(parameters.integer("quantum"))),
/// );
/// assert!(registry.scheduler("tunable,quantum=2").is_ok());
/// let error = registry.scheduler("tunable,quantum=0").err().expect("out of range");
/// assert_eq!(error.to_string(), "tunable: expected 1 to 64 for \"quantum\" (default 8), found \"0\"");
/// ```
#[derive(Clone)]
pub struct Registry {
    schedulers: Section<dyn SchedulerFactory>,
    controllers: Section<dyn ControllerFactory>,
    acknowledgements: Section<dyn AckPolicyFactory>,
    path_managers: Section<dyn PathManagerFactory>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            schedulers: Section::new(PolicyKind::Scheduler),
            controllers: Section::new(PolicyKind::Congestion),
            acknowledgements: Section::new(PolicyKind::Acknowledgements),
            path_managers: Section::new(PolicyKind::Paths),
        }
    }
}

/// Adding. A policy takes the place of one that has the same name.
impl Registry {
    /// A registry without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a scheduler without parameters.
    pub fn add_scheduler<F>(&mut self, name: &str, build: F)
    where
        F: Fn(&SchedulerInit) -> Box<dyn Scheduler> + Send + Sync + 'static,
    {
        self.add_scheduler_with(PolicyInfo::new(name, ""), move |init, _| build(init));
    }

    /// Adds a scheduler with the parameters that `info` declares.
    pub fn add_scheduler_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&SchedulerInit, &Parameters) -> Box<dyn Scheduler> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.schedulers.add(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move |init: &SchedulerInit| build(init, &parameters))
        });
    }

    /// Adds a congestion controller without parameters.
    pub fn add_controller<F>(&mut self, name: &str, build: F)
    where
        F: Fn(&ControllerInit) -> Box<dyn CongestionController> + Send + Sync + 'static,
    {
        self.add_controller_with(PolicyInfo::new(name, ""), move |init, _| build(init));
    }

    /// Adds a congestion controller with the parameters that `info` declares.
    pub fn add_controller_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&ControllerInit, &Parameters) -> Box<dyn CongestionController> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.add_controllers(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move |init: &ControllerInit| build(init, &parameters))
        });
    }

    /// Adds controllers that need a factory of their own: those of one connection share state, see
    /// [`ControllerFactory::for_connection`].
    pub fn add_controllers<F>(&mut self, info: PolicyInfo, make: F)
    where
        F: Fn(&Parameters) -> Arc<dyn ControllerFactory> + Send + Sync + 'static,
    {
        self.controllers.add(info, make);
    }

    /// Adds an acknowledgement policy without parameters.
    pub fn add_ack_policy<F>(&mut self, name: &str, build: F)
    where
        F: Fn() -> Box<dyn AckPolicy> + Send + Sync + 'static,
    {
        self.add_ack_policy_with(PolicyInfo::new(name, ""), move |_| build());
    }

    /// Adds an acknowledgement policy with the parameters that `info` declares.
    pub fn add_ack_policy_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&Parameters) -> Box<dyn AckPolicy> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.acknowledgements.add(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move || build(&parameters))
        });
    }

    /// Adds a path manager without parameters.
    pub fn add_path_manager<F>(&mut self, name: &str, build: F)
    where
        F: Fn(&PathManagerInit) -> Box<dyn PathManager> + Send + Sync + 'static,
    {
        self.add_path_manager_with(PolicyInfo::new(name, ""), move |init, _| build(init));
    }

    /// Adds a path manager with the parameters that `info` declares.
    pub fn add_path_manager_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&PathManagerInit, &Parameters) -> Box<dyn PathManager> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.path_managers.add(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move |init: &PathManagerInit| build(init, &parameters))
        });
    }
}

/// Choosing. `spec` is a text, `name` or `name,key=value,...`, or a [`PolicySpec`].
///
/// # Errors
/// [`PolicyError`] for a text that is none, a policy or parameter that does not exist, and a value out of range.
impl Registry {
    /// Makes this scheduler.
    pub fn scheduler<S>(&self, spec: S) -> Result<Arc<dyn SchedulerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.schedulers.find(&spec.try_into().map_err(Into::into)?)
    }

    /// Makes this congestion controller.
    pub fn controller<S>(&self, spec: S) -> Result<Arc<dyn ControllerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.controllers.find(&spec.try_into().map_err(Into::into)?)
    }

    /// Makes this acknowledgement policy.
    pub fn ack_policy<S>(&self, spec: S) -> Result<Arc<dyn AckPolicyFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.acknowledgements.find(&spec.try_into().map_err(Into::into)?)
    }

    /// Makes this path manager.
    pub fn path_manager<S>(&self, spec: S) -> Result<Arc<dyn PathManagerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.path_managers.find(&spec.try_into().map_err(Into::into)?)
    }
}

/// Looking around.
impl Registry {
    /// Whether `spec` names a policy of this kind, and parameters that it takes. Nothing is made.
    pub fn check(&self, kind: PolicyKind, spec: &PolicySpec) -> Result<(), PolicyError> {
        match kind {
            PolicyKind::Scheduler => self.schedulers.check(spec),
            PolicyKind::Congestion => self.controllers.check(spec),
            PolicyKind::Acknowledgements => self.acknowledgements.check(spec),
            PolicyKind::Paths => self.path_managers.check(spec),
            PolicyKind::Set => self.schedulers.check(spec),
            PolicyKind::Protection => {
                Err(PolicyError::UnknownPolicy { kind, name: spec.name().to_owned(), known: Vec::new() })
            }
        }
    }

    /// The same choice with everything said: a `policy` that names a scheduler becomes one, and parts that nobody chose
    /// are the entries called `default`, by their own names. What a set decides stays with the set.
    #[must_use]
    pub fn resolve(&self, wanted: &Composition) -> Composition {
        let mut resolved = wanted.clone();
        let spec = resolved.policy.take();
        resolved.scheduler = resolved.scheduler.or(spec);
        for kind in PolicyKind::ALL {
            let default = || PolicySpec::new(&self.policy(kind, DEFAULT)?.name).ok();
            if resolved.get(kind).is_none()
                && let Some(default) = default()
            {
                resolved.set(kind, default);
            }
        }
        resolved
    }

    /// What is told of the policies of one kind, sorted by name.
    pub fn policies(&self, kind: PolicyKind) -> Vec<&PolicyInfo> {
        match kind {
            PolicyKind::Scheduler => self.schedulers.infos().collect(),
            PolicyKind::Congestion => self.controllers.infos().collect(),
            PolicyKind::Acknowledgements => self.acknowledgements.infos().collect(),
            PolicyKind::Paths => self.path_managers.infos().collect(),
            PolicyKind::Set | PolicyKind::Protection => Vec::new(),
        }
    }

    /// What is told of the policy of this kind with this name or alias.
    pub fn policy(&self, kind: PolicyKind, name: &str) -> Option<&PolicyInfo> {
        match kind {
            PolicyKind::Scheduler => self.schedulers.info(name),
            PolicyKind::Congestion => self.controllers.info(name),
            PolicyKind::Acknowledgements => self.acknowledgements.info(name),
            PolicyKind::Paths => self.path_managers.info(name),
            PolicyKind::Set | PolicyKind::Protection => None,
        }
    }

    /// Names of the policies of one kind, sorted.
    pub fn names(&self, kind: PolicyKind) -> impl Iterator<Item = &str> {
        self.policies(kind).into_iter().map(|info| info.name.as_str())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Registry");
        for kind in PolicyKind::ALL {
            debug.field(kind.field(), &self.names(kind).collect::<Vec<_>>());
        }
        debug.finish()
    }
}

#[cfg(test)]
mod tests;
