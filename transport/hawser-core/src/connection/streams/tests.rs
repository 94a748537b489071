//! Tests of all streams of a connection. What a test shares with others is here, its subject in a file of its own.

use std::sync::Arc;

use hawser_policy::{ControllerFactory, SchedulerFactory};

use crate::TransportConfig;

/// Defaults, with policies that must not be asked.
pub(crate) fn test_config() -> Arc<TransportConfig> {
    struct Unasked;
    impl SchedulerFactory for Unasked {
        fn build(&self, _: &hawser_policy::SchedulerInit) -> Box<dyn hawser_policy::Scheduler> {
            unreachable!("no scheduler in this test")
        }
    }
    impl ControllerFactory for Unasked {
        fn build(&self, _: &hawser_policy::ControllerInit) -> Box<dyn hawser_policy::CongestionController> {
            unreachable!("no controller in this test")
        }
    }
    Arc::new(TransportConfig::new(Arc::new(Unasked), Arc::new(Unasked)))
}

mod errors;
mod frames;
mod gaps;
mod life;
mod named;
mod pair;
mod sending;
mod transfer;
mod windows;
