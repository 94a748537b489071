use std::net::SocketAddr;

use crate::{
    AttachReport, AttachRequest, LinkId, LinkInfo, LinkTraffic, LinkUpdate, PathId, PathStatus, PathView,
    Time,
};

/// Something a path manager may react to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathEvent {
    /// The handshake is confirmed and the peer allows further paths.
    MultipathReady,
    /// A link appeared or its addresses changed.
    LinkUp(LinkInfo),
    /// A link went.
    LinkDown(LinkId),
    /// What became of a request to attach a link elsewhere, from the application or a policy.
    Attach(AttachReport),
    /// A path was validated.
    Established(PathId),
    /// A path fell silent.
    Suspect(PathId),
    /// A path answers again.
    Recovered(PathId),
    /// A path could not be validated or was abandoned by either end.
    Closed(PathId),
    /// The peer allows more path ids or gave more connection ids.
    MorePathsAllowed,
}

/// What a path manager wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathAction {
    /// Open a path (clients only; draft-ietf-quic-multipath-21 section 3.1).
    Open {
        /// Local address; a port of zero lets the driver choose.
        local: SocketAddr,
        /// Remote address.
        remote: SocketAddr,
        /// Local link.
        link: Option<LinkId>,
        /// Initial status.
        status: PathStatus,
    },
    /// Abandon a path.
    Abandon(PathId),
    /// Change what it is used for.
    SetStatus(PathId, PathStatus),
    /// Attach a link elsewhere: the driver hands it to the controller of the links, and the answer is
    /// [`PathEvent::Attach`]. Drivers without anybody who does answer
    /// [`Unsupported`](crate::AttachResult::Unsupported). What is asked again at every refusal is refused again.
    Attach(AttachRequest),
    /// Close the connection: no link may be used any more.
    Close,
}

/// Decides which paths exist.
pub trait PathManager: Send {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Reacts to an event; `paths` are the paths that exist now.
    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>);

    /// The driver has news of a link.
    fn on_link_update(
        &mut self,
        _update: &LinkUpdate<'_>,
        _paths: &[PathView],
        _actions: &mut Vec<PathAction>,
    ) {
    }

    /// Whether it wants to hear what went over the links.
    fn counts_traffic(&self) -> bool {
        false
    }

    /// This went over the links since it was last told: after each batch of packets, whichever path they took.
    fn on_traffic(
        &mut self,
        _now: Time,
        _traffic: &[LinkTraffic],
        _paths: &[PathView],
        _actions: &mut Vec<PathAction>,
    ) {
    }

    /// When [`on_timeout`](PathManager::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The time asked for has come.
    fn on_timeout(&mut self, _now: Time, _paths: &[PathView], _actions: &mut Vec<PathAction>) {}
}

/// What a path manager is told when it is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathManagerInit {
    /// Our address on the path of the handshake.
    pub local: SocketAddr,
    /// The server's address on that path.
    pub remote: SocketAddr,
    /// The server's address of the other IP version, for links that have no address of the first; none: it has none, or
    /// a client that connects does not know it.
    pub other_remote: Option<SocketAddr>,
    /// The link of the handshake, when it is known.
    pub link: Option<LinkId>,
}

impl PathManagerInit {
    /// Returns what a path manager is told about a handshake between these addresses over an unknown link.
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        PathManagerInit { local, remote, other_remote: None, link: None }
    }

    /// Where paths may go to: the address of the handshake first.
    pub fn remotes(&self) -> impl Iterator<Item = SocketAddr> {
        std::iter::once(self.remote).chain(self.other_remote)
    }
}

/// Makes path managers, one per client connection.
pub trait PathManagerFactory: Send + Sync {
    /// A manager for a new connection.
    fn build(&self, init: &PathManagerInit) -> Box<dyn PathManager>;
}

impl<F> PathManagerFactory for F
where
    F: Fn(&PathManagerInit) -> Box<dyn PathManager> + Send + Sync,
{
    fn build(&self, init: &PathManagerInit) -> Box<dyn PathManager> {
        self(init)
    }
}
