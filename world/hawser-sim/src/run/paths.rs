//! The path manager of a client connection, driven as the driver for real sockets does it.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use hawser_core::{Code, Connection, FourTuple};
use hawser_policy::{
    AttachReport, AttachRequest, Earliest, LinkId, LinkInfo, LinkTraffic, LinkUpdate, PathAction, PathEvent,
    PathId, PathManager, PathManagerInit, PathView, Time,
};

use super::attachments::Attachments;
use crate::oracle::Knowledge;

/// How long the controller of the links takes to answer. More than nothing, so that a manager that asks again at each refusal
/// does not stop the time.
const ATTACH_DELAY: Duration = Duration::from_millis(1);

/// Keeps the paths that a path manager wants.
pub(super) struct Paths {
    manager: Box<dyn PathManager>,
    port: u16,
    /// Requests to attach links elsewhere, and when each is answered; one per link.
    attach_requests: VecDeque<(Time, AttachRequest)>,
    /// Which link each path that was ever seen belongs to.
    pub(super) links: BTreeMap<PathId, LinkId>,
    /// Of an oracle, which is told the same.
    knowledge: Option<Knowledge>,
}

impl Paths {
    /// Takes charge of a connection whose handshake has completed over `link`.
    pub(super) fn new(
        now: Time,
        connection: &mut Connection,
        tuple: FourTuple,
        link: LinkId,
        links: &[LinkInfo],
        manager: impl FnOnce(&PathManagerInit) -> Box<dyn PathManager>,
        knowledge: Option<Knowledge>,
    ) -> Self {
        let init = PathManagerInit::new(tuple.local, tuple.remote).with(|init| init.link = Some(link));
        let mut paths = Paths {
            manager: manager(&init),
            port: tuple.local.port(),
            attach_requests: VecDeque::new(),
            links: BTreeMap::new(),
            knowledge,
        };
        paths.opened(PathId::ZERO, link);
        for info in links {
            paths.on_event(now, connection, &PathEvent::LinkUp(info.clone()));
        }
        paths
    }

    fn opened(&mut self, path: PathId, link: LinkId) {
        self.links.insert(path, link);
        if let Some(knowledge) = &self.knowledge {
            knowledge.add_path(path, link);
        }
    }

    pub(super) fn on_event(&mut self, now: Time, connection: &mut Connection, event: &PathEvent) {
        self.ask(now, connection, |manager, paths, actions| manager.on_event(now, event, paths, actions));
    }

    /// Whether the manager wants to know what goes over the links.
    pub(super) fn counts_traffic(&self) -> bool {
        self.manager.counts_traffic()
    }

    /// This went over the links.
    pub(super) fn on_traffic(&mut self, now: Time, connection: &mut Connection, traffic: &[LinkTraffic]) {
        self.ask(now, connection, |manager, paths, actions| {
            manager.on_traffic(now, traffic, paths, actions);
        });
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let answer = self.attach_requests.front().map(|(at, _)| *at);
        Earliest::NONE.or(self.manager.next_timeout()).or(answer).time()
    }

    /// There is news of a link.
    pub(super) fn on_link_update(&mut self, connection: &mut Connection, update: &LinkUpdate<'_>) {
        self.ask(update.now, connection, |manager, paths, actions| {
            manager.on_link_update(update, paths, actions);
        });
    }

    /// A policy wants a link attached elsewhere. The newest request for a link counts.
    pub(super) fn request_attachment(&mut self, now: Time, request: AttachRequest) {
        self.attach_requests.retain(|(_, older)| older.link != request.link);
        self.attach_requests.push_back((now + ATTACH_DELAY, request));
    }

    fn answer_attach_requests(&mut self, now: Time, connection: &mut Connection, attachments: &Attachments) {
        while let Some((_, request)) = self.attach_requests.pop_front_if(|(at, _)| *at <= now) {
            let report = AttachReport::new(request, attachments.attach(now, request));
            connection.attach_report(now, &report);
            self.on_event(now, connection, &PathEvent::Attach(report));
        }
    }

    pub(super) fn on_timeout(&mut self, now: Time, connection: &mut Connection, attachments: &Attachments) {
        self.answer_attach_requests(now, connection, attachments);
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
                    self.opened(path, link);
                }
            }
            PathAction::Abandon(path) => {
                let _ = connection.abandon_path(now, path, Code::APPLICATION_ABANDON_PATH);
            }
            PathAction::SetStatus(path, status) => {
                let _ = connection.set_path_status(now, path, status);
            }
            PathAction::Attach(request) => self.request_attachment(now, request),
            PathAction::Close => connection.close_without_path(now),
        }
    }
}
