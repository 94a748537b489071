//! The path manager of a client connection, driven as the driver for real sockets does it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hawser_core::{Code, Connection, FourTuple};
use hawser_policy::{
    LinkId, LinkInfo, PathAction, PathEvent, PathId, PathManager, PathManagerFactory, PathManagerInit,
    PathView, Time,
};

/// Keeps the paths that a path manager wants.
pub(super) struct Paths {
    manager: Box<dyn PathManager>,
    port: u16,
    /// Which link each path that was ever seen belongs to.
    pub(super) links: BTreeMap<PathId, LinkId>,
}

impl Paths {
    /// Takes charge of a connection whose handshake has completed over `link`.
    pub(super) fn new(
        now: Time,
        connection: &mut Connection,
        tuple: FourTuple,
        link: LinkId,
        links: &[LinkInfo],
        manager: &dyn PathManagerFactory,
    ) -> Self {
        connection.set_path_link(PathId::ZERO, Some(link));
        let init = PathManagerInit { local: tuple.local, remote: tuple.remote, link: Some(link) };
        let mut paths = Paths {
            manager: manager.build(&init),
            port: tuple.local.port(),
            links: BTreeMap::from([(PathId::ZERO, link)]),
        };
        for info in links {
            paths.on_event(now, connection, &PathEvent::LinkUp(info.clone()));
        }
        paths
    }

    pub(super) fn on_event(&mut self, now: Time, connection: &mut Connection, event: &PathEvent) {
        self.ask(now, connection, |manager, paths, actions| manager.on_event(now, event, paths, actions));
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.manager.next_timeout()
    }

    pub(super) fn on_timeout(&mut self, now: Time, connection: &mut Connection) {
        self.ask(now, connection, |manager, paths, actions| manager.on_timeout(now, paths, actions));
    }

    fn ask(
        &mut self,
        now: Time,
        connection: &mut Connection,
        ask: impl FnOnce(&mut dyn PathManager, &[PathView], &mut Vec<PathAction>),
    ) {
        let mut actions = Vec::new();
        ask(self.manager.as_mut(), connection.path_views(now), &mut actions);
        for action in actions {
            self.act(now, connection, &action);
        }
    }

    /// What fails now is tried again by the manager, which looks at the paths that exist.
    fn act(&mut self, now: Time, connection: &mut Connection, action: &PathAction) {
        match *action {
            PathAction::Open { local, remote, link, status } => {
                let tuple = FourTuple { local: SocketAddr::new(local.ip(), self.port), remote };
                if let (Ok(path), Some(link)) = (connection.open_path(now, tuple, status, link), link) {
                    self.links.insert(path, link);
                }
            }
            PathAction::Abandon(path) => {
                let _ = connection.abandon_path(now, path, Code::APPLICATION_ABANDON_PATH);
            }
            PathAction::SetStatus(path, status) => {
                let _ = connection.set_path_status(now, path, status);
            }
        }
    }
}
