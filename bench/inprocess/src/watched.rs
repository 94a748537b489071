//! A policy set that asks for every event of every packet, and counts them: what watching costs.

use std::sync::Arc;

use hawser_policy::{Agent, Commands, Event, Interests, PolicySet, PolicySetFactory, SetInit};

/// Sets of another factory, watched.
pub(crate) struct Watched(pub(crate) Arc<dyn PolicySetFactory>);

impl PolicySetFactory for Watched {
    fn build(&self, init: &SetInit) -> PolicySet {
        self.0.build(init).with(|set| set.agent = Some(Box::new(Counter::default())))
    }
}

#[derive(Debug, Default)]
struct Counter {
    events: u64,
}

impl Agent for Counter {
    fn interests(&self) -> Interests {
        Interests::SENT | Interests::ACKED | Interests::LOST | Interests::RECEIVED
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        std::hint::black_box(event);
        self.events += 1;
    }
}
