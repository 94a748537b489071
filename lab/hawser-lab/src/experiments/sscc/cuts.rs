//! Cuts of congestion windows by losses, and which of them came twice.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hawser_cc::sscc::Candidate;
use hawser_policy::{
    CongestionController, ControllerFactory, ControllerInit, Loss, PathId, PolicyError, PolicyKind, Registry,
    Siblings, Time, WrappedController,
};

/// Cuts of the paths of all connections.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// Of each path when it was cut last, and by which controller, counted from the first that was built.
    last: Vec<((SocketAddr, PathId), Time, u64)>,
    built: u64,
    /// Windows that a loss made smaller.
    pub(super) cuts: u64,
    /// Of these, how many answered to a packet sent before the last cut of the path, which another controller had made.
    pub(super) second: u64,
}

type Shared = Arc<Mutex<Cuts>>;

fn lock(cuts: &Mutex<Cuts>) -> std::sync::MutexGuard<'_, Cuts> {
    cuts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a counter around every controller that the set may run.
pub(super) fn watch(registry: &mut Registry) -> Result<Shared, PolicyError> {
    let cuts = Shared::default();
    for name in Candidate::ALL.map(Candidate::name).into_iter().chain(["olia"]) {
        let inner = registry.congestion(name)?;
        let Some(info) = registry.policy(PolicyKind::Congestion, name).cloned() else { continue };
        let cuts = cuts.clone();
        registry
            .add_controllers(info, move |_| Arc::new(Counting { inner: inner.clone(), cuts: cuts.clone() }));
    }
    Ok(cuts)
}

struct Counting {
    inner: Arc<dyn ControllerFactory>,
    cuts: Shared,
}

impl ControllerFactory for Counting {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let mut cuts = lock(&self.cuts);
        cuts.built += 1;
        Box::new(Counted {
            inner: self.inner.build(init),
            path: (init.remote, init.path),
            number: cuts.built,
            cuts: self.cuts.clone(),
        })
    }
}

struct Counted {
    inner: Box<dyn CongestionController>,
    path: (SocketAddr, PathId),
    number: u64,
    cuts: Shared,
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl WrappedController for Counted {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        let before = self.inner.window();
        self.inner.on_loss(loss, siblings);
        if self.inner.window() < before {
            lock(&self.cuts).add(self.path, loss, self.number);
        }
    }
}

impl Cuts {
    fn add(&mut self, path: (SocketAddr, PathId), loss: &Loss, controller: u64) {
        self.cuts += 1;
        let Some((_, at, by)) = self.last.iter_mut().find(|(of, ..)| *of == path) else {
            return self.last.push((path, loss.now, controller));
        };
        if loss.largest_sent_at <= *at && *by != controller {
            self.second += 1;
        } else {
            (*at, *by) = (loss.now, controller);
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_policy::{LimitedBy, LossCause};

    use super::*;

    #[test]
    fn only_another_controller_cuts_a_second_time() {
        let path = (SocketAddr::from(([192, 0, 2, 1], 443)), PathId::ZERO);
        let mut cuts = Cuts::default();
        let mut cut = |now: u64, sent: u64, by: u64| {
            let (now, largest_sent_at) = (Time::from_millis(now), Time::from_millis(sent));
            let loss = Loss::new(now, LossCause::Loss).with(|loss| {
                loss.bytes = 1_200;
                loss.packets = 1;
                loss.largest_sent_at = largest_sent_at;
                loss.largest_lost = sent;
                loss.bytes_in_flight = 0;
                loss.inflight_at_send = 0;
                loss.lost_since_sent = 1_200;
                loss.limited_by = LimitedBy::Nothing;
                loss.new_epoch = true;
            });
            cuts.add(path, &loss, by);
            cuts.second
        };
        assert_eq!(cut(100, 50, 1), 0);
        assert_eq!(cut(120, 80, 1), 0, "its own rule, whatever that is");
        assert_eq!(cut(140, 90, 2), 1, "sent before the cut at 120 ms");
        assert_eq!(cut(200, 150, 2), 1, "sent after it");
    }
}
