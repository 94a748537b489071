//! A congestion controller inside one that passes everything on, and lets a profiler see some of the acknowledgements.

use std::sync::Arc;

use bench_harness::Error;
use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, PolicyInfo, Registry, Siblings, Side, Time,
    WrappedController,
};

/// The function that acknowledgements which count go through.
pub(crate) const COUNTED: &str = "counted_acknowledgement";
/// Acknowledgements of a path before any counts: the first slow start is over.
const WARM_UP: u64 = 800;
/// Of those after that, one in so many: some seconds, with the ends of round trips and probes among them.
const ONE_IN: u64 = 7;
const MOST: u64 = 5_000;

/// Puts the controller of this name into the registry as `counted`.
pub(crate) fn register(registry: &mut Registry, name: &str) -> Result<(), Error> {
    let inner = registry.congestion(name)?;
    registry.add_controllers(PolicyInfo::new("counted", "counts"), move |_| Arc::new(Factory(inner.clone())));
    Ok(())
}

/// Whether a controller looks at the other paths.
pub(crate) fn is_coupled(name: &str) -> Result<bool, Error> {
    let factory = hawser_net::policies().congestion(name)?;
    let init = ControllerInit::new(
        hawser_policy::PathId::ZERO,
        Time::ZERO,
        std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, 443)),
    );
    Ok(factory.for_connection(Side::Server, 0).unwrap_or(factory).build(&init).wants_siblings())
}

struct Factory(Arc<dyn ControllerFactory>);

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        Box::new(Counted { inner: self.0.build(init), acknowledgements: 0 })
    }

    fn for_connection(&self, side: Side, seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        let inner = self.0.for_connection(side, seed)?;
        Some(Arc::new(Factory(inner)))
    }
}

#[derive(Debug)]
struct Counted {
    inner: Box<dyn CongestionController>,
    acknowledgements: u64,
}

/// What the core asks for after an acknowledgement, too. Never inlined: a profiler knows it by its name.
#[inline(never)]
fn counted_acknowledgement(inner: &mut dyn CongestionController, ack: &Ack, siblings: &Siblings<'_>) {
    inner.on_ack(ack, siblings);
    std::hint::black_box((inner.window(), inner.pacing_rate()));
}

impl WrappedController for Counted {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.acknowledgements += 1;
        let counts = (WARM_UP..MOST).contains(&self.acknowledgements);
        if counts && self.acknowledgements.is_multiple_of(ONE_IN) {
            counted_acknowledgement(self.inner.as_mut(), ack, siblings);
        } else {
            self.inner.on_ack(ack, siblings);
        }
    }
}
