//! What an oracle knows: the future of the links, and which path is on which of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_link::{RouteForesight, nanos};
use hawser_policy::{LinkId, PathId, Side, Time};

/// Bytes around a UDP payload: IPv4 and UDP.
const HEADERS: u64 = 28;

/// Shared by the oracles at both ends of a connection and by the code that opens its paths. Empty, it knows nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Of each link, up and down.
    routes: BTreeMap<LinkId, [RouteForesight; 2]>,
    links: BTreeMap<PathId, LinkId>,
}

impl Knowledge {
    /// The future of a link, up and down.
    pub(crate) fn add_link(&self, link: LinkId, routes: [RouteForesight; 2]) {
        self.lock().routes.insert(link, routes);
    }

    /// A path was opened over a link.
    pub(crate) fn add_path(&self, path: PathId, link: LinkId) {
        self.lock().links.insert(path, link);
    }

    /// The way of a path from this end, if anything is known of it.
    pub(super) fn route(&self, side: Side, path: PathId) -> Option<Route> {
        let known = self.lock();
        let [up, down] = known.routes.get(known.links.get(&path)?)?;
        Some(Route(if side == Side::Client { up.clone() } else { down.clone() }))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way of a path from one end.
#[derive(Clone, Debug)]
pub(super) struct Route(RouteForesight);

impl Route {
    /// How long until the last of so many bytes arrives, in datagrams of `datagram` bytes, if they leave now; `None`: some of
    /// them would be lost.
    pub(super) fn arrival(&self, now: Time, bytes: u64, datagram: u64) -> Option<Duration> {
        let on_the_wire = bytes + bytes.div_ceil(datagram.max(1)) * HEADERS;
        let at = self.0.arrival(nanos(now - Time::ZERO), u32::try_from(on_the_wire).ok()?)?;
        Some(Time::from_nanos(at) - now)
    }

    /// Bytes of UDP payload that have entered the first link, about.
    pub(super) fn entered(&self, now: Time, datagram: u64) -> u64 {
        let bytes = self.0.entered_bytes(nanos(now - Time::ZERO));
        bytes - bytes / (datagram.max(1) + HEADERS) * HEADERS
    }
}
