//! The worker: owns the sockets, the core endpoint and the timers, and drives every connection.
//!
//! There is one task per worker. Applications act on a connection directly, under its lock, and leave its handle in the
//! worker's [`Mailbox`]; the worker does everything that needs a socket or the time. Locks are taken in the order
//! worker, connection, mailbox.
//!
//! An endpoint has one worker, or a [`Team`] of them if a server asks for it: then each has sockets of its own on the same
//! addresses, its own core endpoint and a thread, and nothing is common to them but the [`Tally`] of connections and what
//! they hand each other. The first worker also drives the connections that the endpoint opens itself.

mod drive;
mod load;
mod mailbox;
mod observing;
mod paths;
mod sockets;
mod stats;
mod team;
mod timers;
mod waiting_list;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::Bytes;
use hawser_core::crypto::ServerId;
use hawser_core::{ConnectionError, ConnectionHandle, FourTuple, Incoming, StatelessDatagram};
use hawser_paths::{CapUse, Capped, CostCaps};
use hawser_policy::{AttachReport, LinkId, LinkInfo, LinkState, PathManager, PathStatus, Time};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

pub(crate) use self::drive::Driver;
pub(crate) use self::mailbox::Mailbox;
pub(crate) use self::observing::inform;
use self::sockets::SocketSet;
pub(crate) use self::sockets::concrete;
pub use self::stats::WorkerStats;
pub(crate) use self::team::{Home, Team};
use self::waiting_list::WaitingList;
use crate::clock::Clock;
use crate::connection::{
    AttemptError, ConnectionShared, ConnectionState, ConnectionTotals, EndpointPolicies,
};
use crate::interfaces::Interface;
use crate::link_control::Controller;
use crate::link_state::{LinkNews, LinkStates};
use crate::links::{LinkChange, LinkTable, LinkUse, LinkUseError, Links};
use crate::socket::{Binding, LinkSocket, SocketFactory, SocketOptions};
use crate::wakers::{WakerList, wake_all};
use crate::{ClientConfig, PathManagerInit};

/// What the worker's task and the endpoint's handles share.
#[derive(Debug)]
pub(crate) struct Worker {
    state: Mutex<WorkerState>,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) clock: Clock,
    /// To which its sockets and tasks belong.
    runtime: Handle,
    sockets: SocketOptions,
    policies: Arc<EndpointPolicies>,
    /// Attaches links elsewhere, if anybody does.
    controller: Controller,
    /// Budgets of links, which all connections of the endpoint share.
    cost_caps: Option<Arc<CostCaps>>,
}

/// The connections of all workers of an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    live: AtomicUsize,
    /// Those that ever were, for their numbers.
    adopted: AtomicU64,
    /// What those counted that ended.
    ended: Mutex<ConnectionTotals>,
}

impl Tally {
    /// Connections that exist, those that are closing included.
    pub(crate) fn live(&self) -> usize {
        self.0.live.load(Ordering::Acquire)
    }

    /// What connections counted that ended.
    pub(crate) fn ended(&self) -> ConnectionTotals {
        // Nothing panics while it holds the lock.
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end(&self, totals: &ConnectionTotals) {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner).add(totals);
    }
}

/// Everything but the connections' own state.
pub(crate) struct WorkerState {
    pub(crate) core: hawser_core::Endpoint,
    sockets: SocketSet,
    connections: Vec<Option<Arc<ConnectionShared>>>,
    live: usize,
    /// Those of them that may still send.
    unsettled: usize,
    tally: Tally,
    accepted: u64,
    /// Clients that were refused because what arrived before them had waited for too long.
    refused_busy: u64,
    /// Datagrams that arrived here and went to other workers.
    handed_over: u64,
    pub(crate) links: LinkTable,
    link_changes: Vec<LinkChange>,
    link_states: LinkStates,
    /// What became of requests to attach links elsewhere, and when connections are to be told.
    attach_reports: VecDeque<(Time, AttachReport)>,
    attachments_unsupported: u64,
    /// The tasks that tell of changes. They serve the connections, so they live as long as the worker's task.
    followers: Vec<AbortHandle>,
    incoming: WaitingList,
    acceptors: WakerList,
    idlers: WakerList,
    /// How the application closed the endpoint.
    closed: Option<(u64, Bytes)>,
    /// Why its task is gone.
    ended_by: Option<ConnectionError>,
}

impl std::fmt::Debug for WorkerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerState").field("live", &self.live).finish_non_exhaustive()
    }
}

impl Worker {
    pub(crate) fn new(
        core: hawser_core::Endpoint,
        links: Links,
        clock: Clock,
        runtime: Handle,
        sockets: SocketOptions,
        tally: Tally,
        policies: Arc<EndpointPolicies>,
    ) -> Self {
        Worker {
            state: Mutex::new(WorkerState {
                core,
                sockets: SocketSet::default(),
                connections: Vec::new(),
                live: 0,
                unsettled: 0,
                tally,
                accepted: 0,
                refused_busy: 0,
                handed_over: 0,
                links: LinkTable::new(links),
                link_changes: Vec::new(),
                link_states: LinkStates::default(),
                attach_reports: VecDeque::new(),
                attachments_unsupported: 0,
                followers: Vec::new(),
                incoming: WaitingList::default(),
                acceptors: WakerList::default(),
                idlers: WakerList::default(),
                closed: None,
                ended_by: None,
            }),
            mailbox: Arc::new(Mailbox::default()),
            clock,
            runtime,
            sockets,
            policies,
            controller: Controller::default(),
            cost_caps: None,
        }
    }

    /// The same, with somebody who attaches links elsewhere.
    pub(crate) fn with_controller(self, controller: Controller) -> Self {
        Worker { controller, ..self }
    }

    /// Has its sockets made by the application.
    pub(crate) fn with_sockets(self, factory: Option<Arc<dyn SocketFactory>>) -> Self {
        self.lock().sockets = SocketSet::made_by(factory);
        self
    }

    /// Accepts connections at the address of this socket, too.
    pub(crate) fn listen_on(&self, socket: UdpSocket) -> io::Result<SocketAddr> {
        let _entered = self.runtime.enter();
        self.lock().sockets.adopt(socket, self.sockets.dscp)
    }

    /// The same, with budgets of links.
    pub(crate) fn with_cost_caps(self, cost_caps: Option<Arc<CostCaps>>) -> Self {
        Worker { cost_caps, ..self }
    }

    fn path_manager(&self, config: &ClientConfig, init: &PathManagerInit) -> Box<dyn PathManager> {
        let manager = config.path_manager.build(init);
        match &self.cost_caps {
            Some(caps) => Box::new(Capped::new(manager, caps.clone())),
            None => manager,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Binds a socket, or finds the one that is bound like this already.
    pub(crate) fn bind(
        self: &Arc<Self>,
        state: &mut WorkerState,
        binding: Binding,
    ) -> io::Result<SocketAddr> {
        let _entered = self.runtime.enter();
        let before = state.sockets.len();
        let local = state.sockets.bind(binding, self.sockets, |socket| self.watch_errors(socket))?;
        if state.sockets.len() > before {
            // The task has to register for the new socket.
            self.mailbox.wake();
        }
        Ok(local)
    }

    fn watch_errors(self: &Arc<Self>, socket: &Arc<LinkSocket>) -> Option<AbortHandle> {
        let (worker, socket) = (Arc::downgrade(self), socket.clone());
        let task = self.runtime.spawn(async move {
            while let Ok(host) = socket.refusal().await {
                let Some(worker) = worker.upgrade() else { return };
                worker.on_refusal(socket.local(), host);
            }
        });
        Some(task.abort_handle())
    }

    /// A host answered that nobody listens on the port we wrote to. Only handshakes believe it, and only while the server
    /// is silent: ICMP is not authenticated, and a running connection has better means to find out.
    pub(crate) fn on_refusal(&self, local: SocketAddr, host: IpAddr) {
        let mut due = Vec::new();
        for connection in self.lock().connections.iter().flatten() {
            let tuple = connection.first_tuple();
            if tuple.local == local && tuple.remote.ip() == host {
                connection.lock().fail_attempt(AttemptError::Refused, &mut due);
            }
        }
        wake_all(&mut due);
    }

    /// Starts a client connection. `other_remote`: the server's address of the other family, for later paths.
    //= rfc9000-8.1.3-9: a token is used for one connection
    pub(crate) fn connect(
        self: &Arc<Self>,
        state: &mut WorkerState,
        config: &ClientConfig,
        tuple: FourTuple,
        other_remote: Option<SocketAddr>,
        name: &str,
    ) -> Result<Arc<ConnectionShared>, hawser_core::ConnectError> {
        let now = self.clock.now();
        let link = state.sockets.link_of(&tuple).or_else(|| state.links.link_of(tuple.local.ip()));
        let sessions = config.sessions_of(ServerId { name, port: tuple.remote.port() });
        let mut core_config = config.core.clone();
        if let Some(sessions) = sessions.as_ref().filter(|_| core_config.token.is_none()) {
            core_config.token_version = core_config.first_version;
            core_config.token = sessions.take_token(core_config.first_version);
        }
        // Before the ticket is taken that it belongs to: a state that changes has tickets forgotten.
        let remembered = sessions.as_ref().filter(|_| config.early_data);
        let remembered =
            remembered.and_then(|sessions| sessions.application_state(core_config.first_version));
        let (handle, core) = state.core.connect_over(now, core_config, tuple, link, name)?;
        let init = PathManagerInit::new(tuple.local, tuple.remote).with(|init| {
            init.other_remote = other_remote;
            init.link = link;
        });
        let mut connection = ConnectionState::new(core, self.policies.clone());
        (connection.sessions, connection.remembered) = (sessions, remembered);
        connection.remotes = init.remotes().map(|remote| remote.ip()).collect();
        let remotes = connection.remotes.clone();
        let leads_there =
            |link: &&LinkInfo| remotes.iter().any(|remote| state.links.leads_to(link.id, *remote));
        let links = state.links.present().filter(leads_there);
        connection.manage_paths(self.path_manager(config, &init), now, links);
        for news in state.link_states.current() {
            connection.on_link_news(news, now);
        }
        let shared = self.adopt(state, handle, connection, tuple);
        shared.touch(&mut shared.lock());
        Ok(shared)
    }

    /// Accepts a client's connection.
    pub(crate) fn accept(
        self: &Arc<Self>,
        incoming: Incoming,
        config: Option<Arc<hawser_core::ServerConfig>>,
    ) -> Result<Arc<ConnectionShared>, hawser_core::AcceptErrorReason> {
        let tuple = FourTuple { local: incoming.local_address(), remote: incoming.remote_address() };
        let now = self.clock.now();
        let mut state = self.lock();
        match state.core.admit(now, incoming, config) {
            Ok((handle, core, first_flight)) => {
                state.accepted += 1;
                let connection = ConnectionState::new(core, self.policies.clone());
                let shared = self.adopt(&mut state, handle, connection, tuple);
                let mut connection = shared.lock();
                // The handshake's cryptography takes a millisecond, in which the worker serves others.
                drop(state);
                for datagram in first_flight {
                    connection.core.handle_datagram(now, datagram);
                }
                shared.touch(&mut connection);
                drop(connection);
                Ok(shared)
            }
            Err(error) => {
                if let Some(response) = error.response {
                    state.respond(&response);
                }
                Err(error.reason)
            }
        }
    }

    /// Takes a connection in. The caller has the worker look after it.
    fn adopt(
        &self,
        state: &mut WorkerState,
        handle: ConnectionHandle,
        connection: ConnectionState,
        tuple: FourTuple,
    ) -> Arc<ConnectionShared> {
        let number = state.tally.0.adopted.fetch_add(1, Ordering::Relaxed) + 1;
        connection.core.set_memory_waker(Mailbox::waker_for(&self.mailbox, handle));
        let shared = Arc::new(ConnectionShared::new(
            handle,
            number,
            connection,
            tuple,
            self.mailbox.clone(),
            self.clock,
        ));
        if state.connections.len() <= handle.0 {
            state.connections.resize(handle.0 + 1, None);
        }
        state.connections[handle.0] = Some(shared.clone());
        state.live += 1;
        state.unsettled += 1;
        state.tally.0.live.fetch_add(1, Ordering::AcqRel);
        shared.touch(&mut shared.lock());
        shared
    }

    /// What connections of all workers counted that ended.
    pub(crate) fn ended_connections(&self) -> ConnectionTotals {
        let tally = self.lock().tally.clone();
        tally.ended()
    }

    /// The machine's interfaces will never be known: links that were named are taken to exist.
    pub(crate) fn assume_links(&self) {
        let interfaces = self.lock().links.named_interfaces();
        self.update_links(&interfaces);
    }

    /// Takes in the state of the machine's interfaces.
    pub(crate) fn update_links(&self, interfaces: &[Interface]) {
        let mut state = self.lock();
        let changes = state.links.update(interfaces);
        state.apply_link_changes(changes);
        drop(state);
        self.mailbox.wake();
    }

    /// Uses a link otherwise from now on; paths that exist follow.
    pub(crate) fn set_link_use(&self, name: &str, wanted: LinkUse) -> Result<(), LinkUseError> {
        let mut state = self.lock();
        let changes = state.links.set_use(name, wanted)?;
        let now_used: Option<(LinkId, PathStatus)> =
            state.links.present().find(|link| link.name == name).map(|link| (link.id, link.preference));
        state.apply_link_changes(changes);
        if let Some((link, status)) = now_used {
            let now = self.clock.now();
            for connection in state.connections.iter().flatten() {
                connection.act(|state| state.set_status_over(link, status, now));
            }
        }
        drop(state);
        self.mailbox.wake();
        Ok(())
    }

    /// The connections that exist and may still send.
    pub(crate) fn connections(&self) -> Vec<Arc<ConnectionShared>> {
        self.lock().connections.iter().flatten().cloned().collect()
    }

    /// The newest word on each link.
    pub(crate) fn link_states(&self) -> Vec<(LinkId, LinkState)> {
        self.lock().link_states.current().iter().map(|news| (news.link, news.state().clone())).collect()
    }

    /// What is left of the budgets of links; empty without budgets.
    pub(crate) fn cost_cap_uses(&self) -> Vec<CapUse> {
        self.cost_caps.as_ref().map(|caps| crate::cost_cap_uses(caps)).unwrap_or_default()
    }

    /// Takes in news of links.
    pub(crate) fn tell_of_links(&self, news: Vec<LinkNews>) {
        self.lock().link_states.push(news);
        self.mailbox.wake();
    }

    /// Closes all connections and takes no new ones.
    pub(crate) fn close(&self, code: u64, reason: &Bytes) {
        let mut due = Vec::new();
        let mut state = self.lock();
        state.closed.get_or_insert_with(|| (code, reason.clone()));
        state.core.reject_new(true);
        while let Some(incoming) = state.incoming.pop() {
            if let Some(response) = state.core.refuse(incoming) {
                state.respond(&response);
            }
        }
        let now = self.clock.now();
        for connection in state.connections.iter().flatten() {
            let mut guard = connection.lock();
            guard.close(now, code, reason.clone(), &mut due);
            connection.touch(&mut guard);
        }
        state.acceptors.release(&mut due);
        drop(state);
        wake_all(&mut due);
    }
}

impl WorkerState {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Why the task is gone, if it is.
    pub(crate) fn ended_by(&self) -> Option<&ConnectionError> {
        self.ended_by.as_ref()
    }

    pub(crate) fn follow_with(&mut self, task: AbortHandle) {
        self.followers.push(task);
    }

    /// Connections that exist, those that are closing included.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn stats(&self) -> WorkerStats {
        WorkerStats {
            connections: self.live,
            accepted: self.accepted,
            refused_busy: self.refused_busy,
            handed_over: self.handed_over,
            attachments_unsupported: self.attachments_unsupported,
            first_sent: self.sockets.sent_span().map(|(first, _)| first),
            last_sent: self.sockets.sent_span().map(|(_, last)| last),
        }
    }

    pub(crate) fn local_addresses(&self) -> Vec<SocketAddr> {
        self.sockets.locals()
    }

    pub(crate) fn next_incoming(&mut self) -> Option<Incoming> {
        self.incoming.pop()
    }

    pub(crate) fn wait_for_incoming(&mut self, cx: &std::task::Context<'_>) {
        self.acceptors.register(cx);
    }

    /// Connections that may still send: all but those whose peers know that they are over.
    pub(crate) fn unsettled(&self) -> usize {
        self.unsettled
    }

    pub(crate) fn wait_until_idle(&mut self, cx: &std::task::Context<'_>) {
        self.idlers.register(cx);
    }

    pub(crate) fn respond(&mut self, response: &StatelessDatagram) {
        self.sockets.send_stateless(&response.transmit, &response.bytes);
    }

    fn connection(&self, handle: ConnectionHandle) -> Option<Arc<ConnectionShared>> {
        self.connections.get(handle.0).cloned().flatten()
    }

    /// A connection will not send any more; it stays until what is late for it no longer arrives.
    fn settle(&mut self, due: &mut Vec<Waker>) {
        self.unsettled -= 1;
        if self.unsettled == 0 {
            self.idlers.release(due);
        }
    }

    /// A connection is over, having counted this.
    fn forget(&mut self, handle: ConnectionHandle, totals: &ConnectionTotals) {
        if self.connections.get_mut(handle.0).and_then(Option::take).is_some() {
            self.tally.end(totals);
            self.live -= 1;
            self.tally.0.live.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Connections and sockets follow the links.
    fn apply_link_changes(&mut self, changes: Vec<LinkChange>) {
        let present = self.links.own_addresses().to_vec();
        self.retire_sockets(&changes, &present);
        self.link_changes.extend(changes);
    }

    /// Sockets of links and addresses that are gone are closed: what was bound to a device that was unplugged does not
    /// come back with a device of the same name.
    fn retire_sockets(&mut self, changes: &[LinkChange], present: &[IpAddr]) {
        for change in changes {
            match change {
                LinkChange::Down(id) => self.sockets.retire(|link, _| link == Some(*id)),
                LinkChange::Up(info) => self
                    .sockets
                    .retire(|link, address| link == Some(info.id) && !info.addresses.contains(&address)),
            }
        }
        // Sockets that follow the routing table; those that listen on all addresses stay, loopback always exists.
        self.sockets.retire(|link, address| {
            link.is_none()
                && !address.is_unspecified()
                && !address.is_loopback()
                && !present.is_empty()
                && !present.contains(&address)
        });
    }

    fn close_sockets(&mut self) {
        self.sockets = SocketSet::default();
    }

    /// The task is gone, for this reason: nothing will ever happen again.
    fn abort_all(&mut self, reason: ConnectionError, due: &mut Vec<Waker>) {
        self.closed.get_or_insert_with(|| (0, Bytes::new()));
        for connection in self.connections.drain(..).flatten() {
            connection.lock().end(reason.clone(), due);
        }
        self.ended_by = Some(reason);
        self.tally.0.live.fetch_sub(std::mem::take(&mut self.live), Ordering::AcqRel);
        self.unsettled = 0;
        self.followers.drain(..).for_each(|follower| follower.abort());
        self.acceptors.release(due);
        self.idlers.release(due);
    }
}
