//! Policies by name.

mod add;
mod choose;
mod error;
mod given;
mod info;
mod kept;
mod section;

use std::fmt;

pub use error::PolicyError;
pub use info::{PolicyInfo, PolicyKind};

use crate::{
    AckPolicyFactory, Composition, ControllerFactory, PathManagerFactory, PolicySetFactory, PolicySpec,
    ProtectionFactory, SchedulerFactory,
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
    sets: Section<dyn PolicySetFactory>,
    schedulers: Section<dyn SchedulerFactory>,
    controllers: Section<dyn ControllerFactory>,
    acks: Section<dyn AckPolicyFactory>,
    path_managers: Section<dyn PathManagerFactory>,
    protections: Section<dyn ProtectionFactory>,
    kept: kept::Kept,
    given: given::Given,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            sets: Section::new(PolicyKind::Set),
            schedulers: Section::new(PolicyKind::Scheduler),
            controllers: Section::new(PolicyKind::Congestion),
            acks: Section::new(PolicyKind::Acks),
            path_managers: Section::new(PolicyKind::Paths),
            protections: Section::new(PolicyKind::Protection),
            kept: kept::Kept::default(),
            given: given::Given::default(),
        }
    }
}

impl Registry {
    /// A registry without entries.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Looking around.
impl Registry {
    /// Whether `spec` names a policy of this kind, and parameters that it takes. Nothing is made.
    pub fn check(&self, kind: PolicyKind, spec: &PolicySpec) -> Result<(), PolicyError> {
        match kind {
            PolicyKind::Scheduler => self.schedulers.check(spec, &self.given),
            PolicyKind::Congestion => self.controllers.check(spec, &self.given),
            PolicyKind::Acks => self.acks.check(spec, &self.given),
            PolicyKind::Paths => self.path_managers.check(spec, &self.given),
            PolicyKind::Set => self.check_set(spec),
            PolicyKind::Protection => self.protections.check(spec, &self.given),
        }
    }

    /// A set may be a scheduler that stands for itself.
    fn check_set(&self, spec: &PolicySpec) -> Result<(), PolicyError> {
        if self.sets.info(spec.name()).is_none() && self.schedulers.info(spec.name()).is_some() {
            return self.schedulers.check(spec, &self.given);
        }
        self.sets.check(spec, &self.given).map_err(|mut error| {
            if let PolicyError::UnknownPolicy { known, .. } = &mut error {
                known.extend(self.names(PolicyKind::Scheduler).map(str::to_owned));
            }
            error
        })
    }

    /// The same choice with everything said: a `policy` that names a scheduler becomes one, and parts that nobody chose
    /// are the entries called `default`, by their own names. What a set decides stays with the set.
    #[must_use]
    pub fn resolve(&self, wanted: &Composition) -> Composition {
        let mut resolved = wanted.clone();
        let set = wanted.policy.as_ref().and_then(|spec| self.sets.info(spec.name()));
        let scheduler = wanted.policy.as_ref().filter(|spec| self.schedulers.info(spec.name()).is_some());
        if let (None, Some(scheduler)) = (set, scheduler) {
            resolved.policy = None;
            resolved.scheduler.get_or_insert_with(|| scheduler.clone());
        }
        if resolved.paths.is_none() {
            resolved.paths = set.and_then(|info| info.paths.clone());
        }
        let parts: &[PolicyKind] = match resolved.policy {
            Some(_) => &[PolicyKind::Paths],
            None => &PolicyKind::ALL[1..],
        };
        for kind in parts.iter().copied().filter(|kind| wanted.get(*kind).is_none()) {
            let default = self.policy(kind, DEFAULT).and_then(|info| PolicySpec::new(&info.name).ok());
            if let (None, Some(default)) = (resolved.get(kind), default) {
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
            PolicyKind::Acks => self.acks.infos().collect(),
            PolicyKind::Paths => self.path_managers.infos().collect(),
            PolicyKind::Set => self.sets.infos().collect(),
            PolicyKind::Protection => self.protections.infos().collect(),
        }
    }

    /// What is told of the policy of this kind with this name or alias.
    pub fn policy(&self, kind: PolicyKind, name: &str) -> Option<&PolicyInfo> {
        match kind {
            PolicyKind::Scheduler => self.schedulers.info(name),
            PolicyKind::Congestion => self.controllers.info(name),
            PolicyKind::Acks => self.acks.info(name),
            PolicyKind::Paths => self.path_managers.info(name),
            PolicyKind::Set => self.sets.info(name),
            PolicyKind::Protection => self.protections.info(name),
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
