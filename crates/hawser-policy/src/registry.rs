use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{
    CongestionController, ControllerFactory, ControllerInit, Scheduler, SchedulerFactory, SchedulerInit,
};

/// A policy name nobody registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    /// What was looked for: `scheduler` or `congestion controller`.
    pub kind: &'static str,
    /// The name given.
    pub name: String,
    /// The names that exist.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} named \"{}\"; known are: {}", self.kind, self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

/// Factories by name. Names are matched without regard to case.
#[derive(Clone, Default)]
pub struct Registry {
    schedulers: BTreeMap<String, Arc<dyn SchedulerFactory>>,
    controllers: BTreeMap<String, Arc<dyn ControllerFactory>>,
}

impl Registry {
    /// A registry without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a scheduler.
    pub fn add_scheduler<F>(&mut self, name: &str, factory: F)
    where
        F: Fn(&SchedulerInit) -> Box<dyn Scheduler> + Send + Sync + 'static,
    {
        self.schedulers.insert(name.to_ascii_lowercase(), Arc::new(factory));
    }

    /// Adds or replaces a congestion controller.
    pub fn add_controller<F>(&mut self, name: &str, factory: F)
    where
        F: Fn(&ControllerInit) -> Box<dyn CongestionController> + Send + Sync + 'static,
    {
        self.controllers.insert(name.to_ascii_lowercase(), Arc::new(factory));
    }

    /// The scheduler factory with this name.
    ///
    /// # Errors
    /// [`UnknownPolicy`] lists the names that exist.
    pub fn scheduler(&self, name: &str) -> Result<Arc<dyn SchedulerFactory>, UnknownPolicy> {
        find(&self.schedulers, "scheduler", name)
    }

    /// The controller factory with this name.
    ///
    /// # Errors
    /// [`UnknownPolicy`] lists the names that exist.
    pub fn controller(&self, name: &str) -> Result<Arc<dyn ControllerFactory>, UnknownPolicy> {
        find(&self.controllers, "congestion controller", name)
    }

    /// Names of the schedulers, sorted.
    pub fn scheduler_names(&self) -> impl Iterator<Item = &str> {
        self.schedulers.keys().map(String::as_str)
    }

    /// Names of the controllers, sorted.
    pub fn controller_names(&self) -> impl Iterator<Item = &str> {
        self.controllers.keys().map(String::as_str)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("schedulers", &self.schedulers.keys())
            .field("controllers", &self.controllers.keys())
            .finish()
    }
}

fn find<T: ?Sized>(
    entries: &BTreeMap<String, Arc<T>>,
    kind: &'static str,
    name: &str,
) -> Result<Arc<T>, UnknownPolicy> {
    entries.get(&name.to_ascii_lowercase()).cloned().ok_or_else(|| UnknownPolicy {
        kind,
        name: name.to_owned(),
        known: entries.keys().cloned().collect(),
    })
}

#[cfg(test)]
mod tests;
