use crate::{Agent, FeatureSet, Scheduler, SchedulerInit};

/// Makes schedulers, one per connection.
pub trait SchedulerFactory: Send + Sync {
    /// A scheduler for a new connection.
    fn build(&self, init: &SchedulerInit) -> Box<dyn Scheduler>;

    /// What goes with it at this end, such as reports that the scheduler of the other end reads. Not used in a set that has an agent of its
    /// own. None by default.
    fn agent(&self) -> Option<Box<dyn Agent>> {
        None
    }

    /// The features that scheduler and agent speak; they are offered to the peer. None by default.
    fn features(&self) -> FeatureSet {
        FeatureSet::NONE
    }
}

impl<F> SchedulerFactory for F
where
    F: Fn(&SchedulerInit) -> Box<dyn Scheduler> + Send + Sync,
{
    fn build(&self, init: &SchedulerInit) -> Box<dyn Scheduler> {
        self(init)
    }
}
