//! What coupled controllers see of each other.
//!
//! Paths are coupled when they are usable and in the same bottleneck group; without a detector all are in `GroupId(0)` and so
//! coupled with each other. Formulas count windows in datagrams and times in seconds. The window of a controller's own path
//! is the present one, not that of the last look.

use hawser_policy::{Sibling, Siblings};

use crate::window::Window;

/// The coupled paths as one of them sees them.
#[derive(Clone, Copy)]
pub(crate) struct Coupled<'a> {
    siblings: &'a Siblings<'a>,
    own: &'a Sibling,
    own_window: f64,
}

/// A coupled path.
#[derive(Clone, Copy)]
pub(crate) struct CoupledPath<'a> {
    pub(crate) entry: &'a Sibling,
    pub(crate) is_own: bool,
    /// Datagrams.
    pub(crate) window: f64,
    /// Seconds.
    pub(crate) rtt: f64,
}

impl CoupledPath<'_> {
    /// Datagrams per second.
    pub(crate) fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

impl<'a> Coupled<'a> {
    /// `None` where there is nothing to couple with: a path that is not usable, or not listed.
    pub(crate) fn new(siblings: &'a Siblings<'a>, window: &Window) -> Option<Coupled<'a>> {
        let own = siblings.own_entry().filter(|own| own.usable)?;
        Some(Coupled { siblings, own, own_window: window.exact() / window.datagram() })
    }

    /// All of them, its own included.
    pub(crate) fn paths(&self) -> impl Iterator<Item = CoupledPath<'a>> + use<'a> {
        let (own, own_window) = (self.own, self.own_window);
        let coupled = self.siblings.paths.iter().filter(move |path| path.usable && path.group == own.group);
        coupled.map(move |entry| {
            let is_own = entry.path == own.path;
            let shown = entry.congestion_window as f64 / f64::from(entry.max_datagram_size.max(1));
            // A microsecond stands in for the zero that only a broken view has.
            let rtt = entry.smoothed_rtt.as_secs_f64().max(1e-6);
            CoupledPath { entry, is_own, window: if is_own { own_window } else { shown }, rtt }
        })
    }

    pub(crate) fn own(&self) -> CoupledPath<'a> {
        let rtt = self.own.smoothed_rtt.as_secs_f64().max(1e-6);
        CoupledPath { entry: self.own, is_own: true, window: self.own_window, rtt }
    }

    /// Datagrams per second of all together.
    pub(crate) fn total_rate(&self) -> f64 {
        self.paths().map(|path| path.rate()).sum()
    }
}
