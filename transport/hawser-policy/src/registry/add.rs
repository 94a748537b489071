//! Adding policies to a registry.

use std::sync::Arc;

use super::{PolicyInfo, Registry};
use crate::{
    AckPolicy, CongestionController, ControllerFactory, ControllerInit, Parameters, PathManager,
    PathManagerInit, PolicySet, PolicySetFactory, ProtectionFactory, ProtectionInit, ProtectionPolicy,
    Scheduler, SchedulerFactory, SchedulerInit, SetInit,
};

/// Adding. A policy takes the place of one that has the same name.
impl Registry {
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

    /// Adds schedulers that need a factory of their own: those with an agent, see [`SchedulerFactory::agent`].
    pub fn add_schedulers<F>(&mut self, info: PolicyInfo, make: F)
    where
        F: Fn(&Parameters) -> Arc<dyn SchedulerFactory> + Send + Sync + 'static,
    {
        self.schedulers.add(info, make);
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
        self.acks.add(info, move |parameters| {
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

    /// Adds a protection policy with the parameters that `info` declares; one that is `None` protects nothing.
    pub fn add_protection_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&ProtectionInit, &Parameters) -> Option<Box<dyn ProtectionPolicy>> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.add_protections(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move |init: &ProtectionInit| build(init, &parameters))
        });
    }

    /// Adds protection policies that need a factory of their own: those that exchange messages.
    pub fn add_protections<F>(&mut self, info: PolicyInfo, make: F)
    where
        F: Fn(&Parameters) -> Arc<dyn ProtectionFactory> + Send + Sync + 'static,
    {
        self.protections.add(info, make);
    }

    /// Adds a policy set without parameters.
    pub fn add_set<F>(&mut self, name: &str, build: F)
    where
        F: Fn(&SetInit) -> PolicySet + Send + Sync + 'static,
    {
        self.add_set_with(PolicyInfo::new(name, ""), move |init, _| build(init));
    }

    /// Adds a policy set with the parameters that `info` declares.
    pub fn add_set_with<F>(&mut self, info: PolicyInfo, build: F)
    where
        F: Fn(&SetInit, &Parameters) -> PolicySet + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        self.add_sets(info, move |parameters| {
            let (build, parameters) = (build.clone(), parameters.clone());
            Arc::new(move |init: &SetInit| build(init, &parameters))
        });
    }

    /// Adds policy sets that need a factory of their own.
    pub fn add_sets<F>(&mut self, info: PolicyInfo, make: F)
    where
        F: Fn(&Parameters) -> Arc<dyn PolicySetFactory> + Send + Sync + 'static,
    {
        self.sets.add(info, make);
    }
}
