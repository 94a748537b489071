//! One connection of a flow, at the client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{
    ClientConfig, Code, Connection, ConnectionError, ConnectionHandle, Event, FourTuple, LinkTrafficMeter,
    TransportError,
};
use hawser_paths::{Capped, CostCaps};
use hawser_policy::{
    Earliest, LinkInfo, LinkTraffic, PathId, PathManager, PathManagerFactory, PathManagerInit, Time,
};
use hawser_scenario::Direction::{Down, Up};
use rustc_hash::FxHashMap;

use super::attachments::Attachments;
use super::client::role::Role;
use super::delivery::{BothWays, Deliveries};
use super::interfaces::Interfaces;
use super::link_forecasts::LinkForecasts;
use super::meter::Meter;
use super::paths::Paths;
use crate::oracle::Knowledge;
use crate::{Sockets, tls};

/// Between the starts of two attempts of the race, as in the driver for real sockets.
const ATTEMPT_DELAY: Duration = Duration::from_millis(100);

/// Pause after which a client whose attempts all failed begins again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// What a session is to do.
pub(super) struct Plan {
    /// The links, those meant for data first.
    pub(super) links: Vec<LinkInfo>,
    pub(super) port: u16,
    pub(super) remote: SocketAddr,
    pub(super) config: ClientConfig,
    /// Decides which paths there are.
    pub(super) path_manager: Arc<dyn PathManagerFactory>,
    /// Budgets of the links, if they have some.
    pub(super) cost_caps: Option<Arc<CostCaps>>,
    /// Round trips until the application may send, that of the handshake included.
    pub(super) setup_rounds: u32,
    pub(super) start: Time,
    pub(super) stop: Option<Time>,
    /// Whether the run lasts until this session has done its work.
    pub(super) awaited: bool,
    /// What was sent and read either way; none where the server is foreign.
    pub(super) deliveries: Option<BothWays>,
    /// Where links may be attached.
    pub(super) attachments: Attachments,
    /// Links whose interface loses its address in outages.
    pub(super) interfaces: Interfaces,
    /// Where paths are told whose scheduler is an oracle.
    pub(super) knowledge: Option<Knowledge>,
    /// What is known of the future of the links, if anything is.
    pub(super) forecasts: Option<LinkForecasts>,
}

impl Plan {
    fn path_manager(&self, init: &PathManagerInit) -> Box<dyn PathManager> {
        let manager = self.path_manager.build(init);
        match &self.cost_caps {
            Some(caps) => Box::new(Capped::new(manager, caps.clone())),
            None => manager,
        }
    }
}

/// A connection from its plan to its end.
pub(super) struct Session {
    plan: Plan,
    state: State,
    /// The attempts of this round that were started; none: it has failed.
    attempts: Vec<Option<ConnectionHandle>>,
    /// Attempts that lost the race, to be closed.
    losers: Vec<ConnectionHandle>,
    pub(super) role: Role,
    pub(super) meter: Meter,
    pub(super) paths: Option<Paths>,
    /// What went over the links, for each connection.
    traffic: FxHashMap<ConnectionHandle, LinkTrafficMeter>,
    pub(super) connected_at: Option<Time>,
    /// When the application may send: as with TCP and TLS, round trips follow that of the handshake.
    starts_at: Option<Time>,
    /// When everything it had to do was done.
    pub(super) finished_at: Option<Time>,
    /// How the connection ended, unless we ended it.
    pub(super) failure: Option<ConnectionError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next attempt starts then, if there is a link left to try.
    Connecting {
        next_attempt: Option<Time>,
    },
    Connected(ConnectionHandle),
    Over,
}

impl Session {
    pub(super) fn new(plan: Plan, role: Role) -> Self {
        let received =
            plan.deliveries.as_ref().map(|ways| Meter::of_deliveries(ways[Down as usize].clone(), 0));
        let meter = received.unwrap_or_default();
        Session {
            state: State::Connecting { next_attempt: Some(plan.start) },
            plan,
            attempts: Vec::new(),
            losers: Vec::new(),
            role,
            meter,
            paths: None,
            traffic: FxHashMap::default(),
            connected_at: None,
            starts_at: None,
            finished_at: None,
            failure: None,
        }
    }

    /// The connection that carries data.
    pub(super) fn connection(&self) -> Option<ConnectionHandle> {
        match self.state {
            State::Connected(handle) => Some(handle),
            _ => None,
        }
    }

    /// Packets may have come and gone: counts what went over the links, if somebody wants to know. Attempts have no path
    /// manager; theirs is counted for the budgets. Returns whether there was any.
    pub(super) fn on_traffic(
        &mut self,
        now: Time,
        handle: ConnectionHandle,
        connection: &mut Connection,
    ) -> bool {
        let is_asked = self.paths.as_ref().is_some_and(Paths::counts_traffic);
        if !is_asked && self.plan.cost_caps.is_none() {
            return false;
        }
        let mut traffic = Vec::new();
        self.traffic.entry(handle).or_default().take(connection, &mut traffic);
        match (&mut self.paths, &self.plan.cost_caps) {
            _ if traffic.is_empty() => return false,
            (Some(paths), _) if self.state == State::Connected(handle) => {
                paths.on_traffic(now, connection, &traffic);
            }
            (_, Some(caps)) => {
                for LinkTraffic { link, bytes, .. } in traffic {
                    if let Some(link) = self.plan.links.iter().find(|info| info.id == link) {
                        caps.count_unmanaged(link, now, bytes);
                    }
                }
            }
            _ => {}
        }
        true
    }

    /// A connection is gone, and its handle is free for another.
    pub(super) fn on_drained(&mut self, handle: ConnectionHandle) {
        self.traffic.remove(&handle);
    }

    /// Whether the run waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.plan.awaited
    }

    /// Whether it has done its work, or never will.
    pub(super) fn is_done(&self) -> bool {
        self.finished_at.is_some() || self.state == State::Over
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let own = match self.state {
            _ if !self.losers.is_empty() => Some(Time::ZERO),
            State::Connecting { next_attempt } => next_attempt,
            State::Connected(_) => {
                let paths = self.paths.as_ref().and_then(Paths::next_timeout);
                let forecasts = self.plan.forecasts.as_ref().map(LinkForecasts::next_update);
                let interfaces = self.plan.interfaces.next_change();
                Earliest::NONE
                    .or(paths)
                    .or(forecasts)
                    .or(interfaces)
                    .or(self.starts_at)
                    .or(self.role.next_timeout())
                    .time()
            }
            State::Over => return None,
        };
        Earliest::NONE.or(own).or(self.plan.stop).time()
    }

    /// Does what is due; returns a connection that was started.
    pub(super) fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) -> Option<ConnectionHandle> {
        for handle in std::mem::take(&mut self.losers) {
            close(now, sockets, handle);
        }
        if self.plan.stop.is_some_and(|stop| stop <= now) {
            self.end(now, sockets);
            return None;
        }
        let changes = self.plan.interfaces.advance(now);
        match self.state {
            State::Connecting { next_attempt: Some(at) } if at <= now => self.attempt(now, sockets),
            State::Connected(handle) => {
                if let Some(connection) = sockets.connection(handle) {
                    if let Some(paths) = &mut self.paths {
                        for change in &changes {
                            paths.on_event(now, connection, change);
                        }
                        paths.on_timeout(now, connection, &self.plan.attachments);
                    }
                    if let Some(forecasts) = &mut self.plan.forecasts {
                        forecasts.update(now, &self.plan.attachments, |update| {
                            connection.link_update(update);
                            if let Some(paths) = &mut self.paths {
                                paths.on_link_update(connection, update);
                            }
                        });
                    }
                    if self.starts_at.take_if(|at| *at <= now).is_some() {
                        self.start(now, connection);
                    }
                    self.role.on_timeout(now, connection, &mut self.meter);
                    self.note_end(now);
                }
                None
            }
            _ => None,
        }
    }

    /// Ends the flow from our side.
    fn end(&mut self, now: Time, sockets: &mut Sockets) {
        self.state = State::Over;
        self.finished_at.get_or_insert(now);
        for handle in std::mem::take(&mut self.attempts).into_iter().flatten() {
            close(now, sockets, handle);
        }
    }

    /// Each link was tried, or its budget is used up.
    fn no_link_left(&mut self, now: Time) {
        self.state = State::Connecting { next_attempt: None };
        if self.attempts.iter().any(Option::is_some) {
            return;
        }
        if self.plan.links.iter().all(|link| self.rests(link, now)) {
            let error = TransportError::new(Code::NO_VIABLE_PATH, "the budgets of all links are used up");
            self.failure = Some(ConnectionError::Transport(error));
            self.state = State::Over;
        } else {
            self.attempts.clear();
            self.state = State::Connecting { next_attempt: Some(now + RETRY_DELAY) };
        }
    }

    /// Whether nothing can be sent over this link now.
    fn is_closed(&self, link: &LinkInfo, now: Time) -> bool {
        !self.plan.interfaces.has_address(link.id) || self.rests(link, now)
    }

    /// Whether the budget of this link is used up.
    fn rests(&self, link: &LinkInfo, now: Time) -> bool {
        self.plan.cost_caps.as_ref().is_some_and(|caps| caps.is_used_up(link, now))
    }

    /// Starts the handshake over the next link that has an address, and something left of its budget.
    fn attempt(&mut self, now: Time, sockets: &mut Sockets) -> Option<ConnectionHandle> {
        let skipped =
            self.plan.links.iter().skip(self.attempts.len()).take_while(|link| self.is_closed(link, now));
        let skipped = skipped.count();
        self.attempts.extend(std::iter::repeat_n(None, skipped));
        if self.attempts.len() == self.plan.links.len() {
            self.no_link_left(now);
            return None;
        }
        let link = self.plan.links.get(self.attempts.len())?;
        let next_attempt = (self.attempts.len() + 1 < self.plan.links.len()).then(|| now + ATTEMPT_DELAY);
        self.state = State::Connecting { next_attempt };
        let local = SocketAddr::new(*link.addresses.first()?, self.plan.port);
        let tuple = FourTuple { local, remote: self.plan.remote };
        let handle =
            sockets.connect_over(now, self.plan.config.clone(), tuple, Some(link.id), tls::SERVER_NAME);
        let handle = handle.ok()?;
        self.attempts.push(Some(handle));
        Some(handle)
    }

    pub(super) fn on_event(
        &mut self,
        now: Time,
        handle: ConnectionHandle,
        connection: &mut Connection,
        event: &Event,
    ) {
        if *event == Event::Connected && matches!(self.state, State::Connecting { .. }) {
            self.connected(now, handle, connection);
        }
        if self.state != State::Connected(handle) {
            if let Event::Closed(error) = event {
                self.attempt_failed(now, handle, error);
            }
            return;
        }
        match event {
            Event::Path(event) => {
                if let Some(paths) = &mut self.paths {
                    paths.on_event(now, connection, event);
                }
            }
            Event::Attach(request) => {
                if let Some(paths) = &mut self.paths {
                    paths.request_attachment(now, *request);
                }
            }
            Event::Closed(error) => {
                self.failure = Some(error.clone());
                self.state = State::Over;
            }
            Event::Stream(event) => self.role.on_stream(now, event, connection, &mut self.meter),
            Event::DatagramReceived => self.role.on_datagrams(now, connection, &mut self.meter),
            _ => {}
        }
        self.note_end(now);
    }

    fn note_end(&mut self, now: Time) {
        if self.role.is_done() && self.finished_at.is_none() {
            self.finished_at = Some(now);
        }
    }

    fn connected(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection) {
        self.state = State::Connected(handle);
        self.losers = self.attempts.iter().flatten().copied().filter(|attempt| *attempt != handle).collect();
        self.failure = None;
        let winner = self.attempts.iter().position(|attempt| *attempt == Some(handle)).unwrap_or(0);
        let link = &self.plan.links[winner];
        if let Some(address) = link.addresses.first() {
            let local = SocketAddr::new(*address, self.plan.port);
            let tuple = FourTuple { local, remote: self.plan.remote };
            self.plan.interfaces.advance(now);
            let there = self.plan.links.iter().filter(|link| self.plan.interfaces.has_address(link.id));
            let there: Vec<LinkInfo> = there.cloned().collect();
            self.paths = Some(Paths::new(
                now,
                connection,
                tuple,
                link.id,
                &there,
                |init| self.plan.path_manager(init),
                self.plan.knowledge.clone(),
            ));
        }
        if self.sends().is_some() {
            connection.log_first_sends();
        }
        let rtt = connection.path_stats(PathId::ZERO).map_or(Duration::ZERO, |path| path.smoothed_rtt);
        match self.plan.setup_rounds.saturating_sub(1) {
            0 => self.start(now, connection),
            more => self.starts_at = Some(now + rtt.saturating_mul(more)),
        }
    }

    /// The application has its connection.
    fn start(&mut self, now: Time, connection: &mut Connection) {
        self.connected_at = Some(now);
        self.role.start(now, self.plan.start, connection, &mut self.meter);
    }

    /// What this end sends, if somebody wants to hear of it.
    fn sends(&self) -> Option<&Deliveries> {
        self.plan.deliveries.as_ref().map(|ways| &ways[Up as usize]).filter(|sends| sends.is_wanted())
    }

    pub(super) fn on_transmit(&self, connection: &mut Connection, label: u64) {
        if let Some(deliveries) = self.sends() {
            deliveries.poll_sent(connection, label);
        }
    }

    /// When no attempt is left, it begins again after a pause, as somebody in a dead zone would.
    fn attempt_failed(&mut self, now: Time, handle: ConnectionHandle, error: &ConnectionError) {
        let State::Connecting { next_attempt } = self.state else { return };
        self.attempts
            .iter_mut()
            .filter(|attempt| **attempt == Some(handle))
            .for_each(|attempt| *attempt = None);
        if next_attempt.is_none() && self.attempts.iter().all(Option::is_none) {
            self.failure = Some(error.clone());
            self.attempts.clear();
            self.state = State::Connecting { next_attempt: Some(now + RETRY_DELAY) };
        }
    }
}

fn close(now: Time, sockets: &mut Sockets, handle: ConnectionHandle) {
    if let Some(connection) = sockets.connection(handle) {
        connection.close(now, 0, Bytes::new());
    }
}
