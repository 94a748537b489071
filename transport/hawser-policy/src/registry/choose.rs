//! Making what a text or a composition chooses.

use std::sync::Arc;

use super::{DEFAULT, PolicyError, PolicyKind, Registry};
use crate::{
    AckPolicyFactory, Composed, Composition, ControllerFactory, FeatureSet, PathManagerFactory, PolicySet,
    PolicySetFactory, PolicySpec, ProtectionFactory, ProtectionInit, SchedulerFactory, SchedulerInit,
    SetInit,
};

/// Choosing. `spec` is a text, `name` or `name,key=value,...`, or a [`PolicySpec`].
///
/// # Errors
/// [`PolicyError`] for a malformed text, a policy or parameter that does not exist, and a value out of range.
impl Registry {
    /// Makes this scheduler.
    pub fn scheduler<S>(&self, spec: S) -> Result<Arc<dyn SchedulerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.schedulers.find(&spec.try_into().map_err(Into::into)?, &self.given)
    }

    /// Makes this congestion controller.
    pub fn congestion<S>(&self, spec: S) -> Result<Arc<dyn ControllerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.controllers.find(&spec.try_into().map_err(Into::into)?, &self.given)
    }

    /// Makes this acknowledgement policy.
    pub fn acks<S>(&self, spec: S) -> Result<Arc<dyn AckPolicyFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.acks.find(&spec.try_into().map_err(Into::into)?, &self.given)
    }

    /// Makes this protection policy.
    pub fn protection<S>(&self, spec: S) -> Result<Arc<dyn ProtectionFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.protections.find(&spec.try_into().map_err(Into::into)?, &self.given)
    }

    /// Makes this path manager.
    pub fn paths<S>(&self, spec: S) -> Result<Arc<dyn PathManagerFactory>, PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.path_managers.find(&spec.try_into().map_err(Into::into)?, &self.given)
    }

    /// Makes the policy set of a composition: a registered set, of which the parts that are chosen take the place of its
    /// own, or a set of parts that do not know of each other.
    pub fn set(&self, wanted: &Composition) -> Result<Arc<dyn PolicySetFactory>, PolicyError> {
        if let Some(spec) = &wanted.policy {
            self.check(PolicyKind::Set, spec)?;
        }
        let resolved = self.resolve(wanted);
        // Unlike the other parts, this one need not be registered at all.
        let protection = resolved.protection.as_ref().map(|spec| self.protection(spec)).transpose()?;
        if let Some(spec) = &resolved.policy {
            let part = |kind| resolved.get(kind);
            return Ok(Arc::new(Exchanged {
                set: self.sets.find(spec, &self.given)?,
                scheduler: part(PolicyKind::Scheduler).map(|spec| self.scheduler(spec)).transpose()?,
                congestion: part(PolicyKind::Congestion).map(|spec| self.congestion(spec)).transpose()?,
                acks: part(PolicyKind::Acks).map(|spec| self.acks(spec)).transpose()?,
                protection,
            }));
        }
        Ok(Arc::new(Composed {
            scheduler: self.schedulers.find(&part(&resolved, PolicyKind::Scheduler)?, &self.given)?,
            congestion: self.controllers.find(&part(&resolved, PolicyKind::Congestion)?, &self.given)?,
            acks: self.acks.find(&part(&resolved, PolicyKind::Acks)?, &self.given)?,
            protection,
        }))
    }

    /// Makes the path manager of a composition: the one that is chosen, else that of its set, else the default.
    pub fn paths_of(&self, wanted: &Composition) -> Result<Arc<dyn PathManagerFactory>, PolicyError> {
        self.path_managers.find(&part(&self.resolve(wanted), PolicyKind::Paths)?, &self.given)
    }
}

/// What a resolved composition says of a kind. It says nothing where there is no default, whose absence is then told.
fn part(resolved: &Composition, kind: PolicyKind) -> Result<PolicySpec, PolicyError> {
    match resolved.get(kind) {
        Some(spec) => Ok(spec.clone()),
        None => Ok(PolicySpec::new(DEFAULT)?),
    }
}

/// A set some of whose parts are exchanged for others.
struct Exchanged {
    set: Arc<dyn PolicySetFactory>,
    scheduler: Option<Arc<dyn SchedulerFactory>>,
    congestion: Option<Arc<dyn ControllerFactory>>,
    acks: Option<Arc<dyn AckPolicyFactory>>,
    protection: Option<Arc<dyn ProtectionFactory>>,
}

impl PolicySetFactory for Exchanged {
    fn build(&self, init: &SetInit) -> PolicySet {
        let mut set = self.set.build(init);
        // Seeds of different parts must differ, or their choices would be correlated.
        let [scheduler, congestion, protection] =
            [1, 2, 3].map(|part: u64| init.seed.wrapping_add(part << 32));
        if let Some(factory) = &self.scheduler {
            set.scheduler = factory.build(&SchedulerInit { side: init.side, seed: scheduler });
            set.agent = set.agent.or_else(|| factory.agent());
            set.features = set.features.union(&factory.features());
        }
        if let Some(factory) = &self.congestion {
            let of_connection = factory.for_connection(init.side, congestion);
            set.congestion = of_connection.unwrap_or_else(|| factory.clone());
        }
        if let Some(factory) = &self.acks {
            set.acks = factory.build();
        }
        if let Some(factory) = &self.protection {
            set.protection = factory.build(&ProtectionInit { side: init.side, seed: protection });
            set.features = set.features.union(&factory.features());
        }
        set
    }

    fn wants_receive_timestamps(&self) -> bool {
        let of_controllers =
            self.congestion.as_ref().is_some_and(|factory| factory.wants_receive_timestamps());
        of_controllers || self.set.wants_receive_timestamps()
    }

    fn features(&self) -> FeatureSet {
        let of_scheduler = self.scheduler.iter().map(|factory| factory.features());
        let of_protection = self.protection.iter().map(|factory| factory.features());
        of_scheduler.chain(of_protection).fold(self.set.features(), |all, some| all.union(&some))
    }

    fn repairs(&self) -> bool {
        self.protection.as_ref().map_or_else(|| self.set.repairs(), |factory| factory.repairs())
    }
}
