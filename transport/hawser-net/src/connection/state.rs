//! A connection under its lock: the core's state, who waits for it, and who decides on its paths.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use hawser_core::{ConnectionError, Event, LinkTrafficMeter, StreamEvent};
use hawser_policy::{
    AttachReport, Earliest, FeatureId, LinkId, LinkInfo, Message, PathAction, PathEvent, PathManager,
    PathStatus, StreamId, Time,
};
use rustc_hash::FxHashMap;

use super::open_path::{MAX_PATH_REQUESTS, OpenPathError, PathRequest};
use super::path_events::{PathEvents, PathNews};
use super::scheduler_requests::{EndpointPolicies, SchedulerRequests};
use crate::link_state::{LinkNews, LinkStates};
use crate::links::LinkChange;
use crate::sessions::SessionsOf;
use crate::wakers::WakerList;

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Handshaking,
    /// TLS is complete.
    Connected,
    /// The peer is known to have completed too.
    Confirmed,
}

/// Why a handshake cannot go on over its link, as the system tells.
#[derive(Debug)]
pub(crate) enum AttemptError {
    Refused,
    Unreachable(io::Error),
}

/// Messages of policies that wait for the application; the oldest give way.
const MAX_POLICY_MESSAGES: usize = 64;

pub(crate) struct ConnectionState {
    pub(crate) core: hawser_core::Connection,
    pub(crate) phase: Phase,
    /// Whether the worker knows that nothing will be sent any more.
    pub(crate) settled: bool,
    /// How it ended.
    pub(crate) outcome: Option<ConnectionError>,
    pub(crate) attempt_error: Option<AttemptError>,
    pub(crate) wakers: Wakers,
    /// Whether the worker knows already that there is something to do.
    queued: bool,
    /// The pass in which something last arrived for it, and the work that it had cost until then.
    pass: (u64, u64),
    /// Its entry among the worker's timers.
    pub(crate) scheduled: Option<Time>,
    manager: Option<Box<dyn PathManager>>,
    /// The server's addresses, to which paths lead.
    pub(crate) remotes: Vec<IpAddr>,
    /// What went over the links, if the manager wants to know.
    traffic: LinkTrafficMeter,
    actions: VecDeque<PathAction>,
    /// Paths that the program asked for; at most [`MAX_PATH_REQUESTS`].
    path_requests: VecDeque<PathRequest>,
    news: PathNews,
    /// Of the policies at both ends, for the application; at most [`MAX_POLICY_MESSAGES`].
    pub(crate) policy_messages: VecDeque<Message>,
    /// Those that gave way to newer ones.
    pub(crate) policy_messages_missed: u64,
    /// The address token for the next connection to this server.
    pub(crate) token: Option<Vec<u8>>,
    /// Where such tokens are kept, if anywhere.
    pub(crate) sessions: Option<SessionsOf>,
    /// What the application protocol remembered of the server when the connection began.
    pub(crate) remembered: Option<Vec<u8>>,
    /// Who may choose our scheduler, and whether the peer lets us choose its.
    pub(crate) scheduler_requests: SchedulerRequests,
}

/// Tasks that wait for the connection.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    pub(crate) handshake: WakerList,
    pub(crate) closed: WakerList,
    pub(crate) readers: FxHashMap<StreamId, Waker>,
    pub(crate) writers: FxHashMap<StreamId, Waker>,
    /// Waiting for a sending stream to be acknowledged as a whole, or stopped.
    pub(crate) finishers: FxHashMap<StreamId, Waker>,
    opening: [WakerList; 2],
    accepting: [WakerList; 2],
    pub(crate) datagram_readers: WakerList,
    pub(crate) datagram_writers: WakerList,
    pub(crate) scheduler_answer: WakerList,
    pub(crate) policy_readers: WakerList,
}

impl Wakers {
    pub(crate) fn opening(&mut self, bidirectional: bool) -> &mut WakerList {
        &mut self.opening[usize::from(bidirectional)]
    }

    pub(crate) fn accepting(&mut self, bidirectional: bool) -> &mut WakerList {
        &mut self.accepting[usize::from(bidirectional)]
    }

    fn on_stream(&mut self, event: StreamEvent, due: &mut Vec<Waker>) {
        match event {
            StreamEvent::Opened { bidirectional } => self.accepting(bidirectional).release(due),
            StreamEvent::Available { bidirectional } => self.opening(bidirectional).release(due),
            StreamEvent::Readable(id) => due.extend(self.readers.remove(&id)),
            StreamEvent::Writable(id) => due.extend(self.writers.remove(&id)),
            StreamEvent::Finished(id) => due.extend(self.finishers.remove(&id)),
            StreamEvent::Stopped { id, .. } => {
                due.extend(self.writers.remove(&id));
                due.extend(self.finishers.remove(&id));
            }
        }
    }

    fn release_all(&mut self, due: &mut Vec<Waker>) {
        let Wakers {
            handshake,
            closed,
            readers,
            writers,
            finishers,
            opening: [open_0, open_1],
            accepting: [accept_0, accept_1],
            datagram_readers,
            datagram_writers,
            scheduler_answer,
            policy_readers,
        } = self;
        for streams in [readers, writers, finishers] {
            due.extend(streams.drain().map(|(_, waker)| waker));
        }
        let lists = [
            handshake,
            closed,
            open_0,
            open_1,
            accept_0,
            accept_1,
            datagram_readers,
            datagram_writers,
            scheduler_answer,
            policy_readers,
        ];
        for list in lists {
            list.release(due);
        }
    }
}

impl ConnectionState {
    pub(crate) fn new(core: hawser_core::Connection, policies: Arc<EndpointPolicies>) -> Self {
        ConnectionState {
            core,
            phase: Phase::Handshaking,
            settled: false,
            outcome: None,
            attempt_error: None,
            wakers: Wakers::default(),
            queued: false,
            pass: (0, 0),
            scheduled: None,
            manager: None,
            remotes: Vec::new(),
            traffic: LinkTrafficMeter::default(),
            actions: VecDeque::new(),
            path_requests: VecDeque::new(),
            news: PathNews::default(),
            policy_messages: VecDeque::new(),
            policy_messages_missed: 0,
            token: None,
            sessions: None,
            remembered: None,
            scheduler_requests: SchedulerRequests::new(policies),
        }
    }

    /// What it had cost before this pass.
    pub(crate) fn share_of(&mut self, pass: u64) -> u64 {
        if self.pass.0 != pass {
            self.pass = (pass, self.core.work_spent());
        }
        self.pass.1
    }

    /// Marks the connection as having something to do. Returns whether that is news.
    pub(crate) fn queue(&mut self) -> bool {
        !std::mem::replace(&mut self.queued, true)
    }

    /// The worker looks after it now.
    pub(crate) fn begin_turn(&mut self, now: Time) {
        self.queued = false;
        if self.scheduled.is_some_and(|at| at <= now) {
            // The entry was taken out when it came up.
            self.scheduled = None;
        }
        if self.core.poll_timeout().is_some_and(|at| at <= now) {
            self.core.handle_timeout(now);
        }
        if self.manager.as_ref().and_then(|manager| manager.next_timeout()).is_some_and(|at| at <= now) {
            self.ask_manager(now, |manager, paths, actions| manager.on_timeout(now, paths, actions));
        }
    }

    /// Tells the path manager what went over the links, if it wants to know.
    pub(crate) fn count_traffic(&mut self, now: Time) {
        if !self.manager.as_ref().is_some_and(|manager| manager.counts_traffic()) {
            return;
        }
        let mut traffic = Vec::new();
        self.traffic.take(&self.core, &mut traffic);
        if !traffic.is_empty() {
            self.ask_manager(now, |manager, paths, actions| {
                manager.on_traffic(now, &traffic, paths, actions);
            });
        }
    }

    /// When the worker must look again at the latest.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let manager = self.manager.as_ref().and_then(|manager| manager.next_timeout());
        Earliest::NONE.or(self.core.poll_timeout()).or(manager).time()
    }

    /// Takes in what the core reports, up to an event after which the path manager wants something done: it must see the
    /// effect before it hears of the next event.
    pub(crate) fn take_events(&mut self, now: Time, due: &mut Vec<Waker>) {
        while self.actions.is_empty()
            && let Some(event) = self.core.poll_event()
        {
            match event {
                Event::HandshakeDataReady => {}
                Event::Connected => self.advance(Phase::Connected, due),
                Event::HandshakeConfirmed => self.advance(Phase::Confirmed, due),
                Event::NewToken(token) => self.on_token(token),
                Event::Stream(event) => self.wakers.on_stream(event, due),
                Event::DatagramReceived => self.wakers.datagram_readers.release(due),
                Event::DatagramsUnblocked => self.wakers.datagram_writers.release(due),
                Event::Path(event) => self.on_path_event(event, now),
                Event::Attach(request) => self.actions.push_back(PathAction::Attach(request)),
                Event::Policy(message) => self.on_policy_message(message, due),
                Event::Closed(reason) => self.end(reason, due),
            }
        }
    }

    fn on_token(&mut self, token: Vec<u8>) {
        match &self.sessions {
            Some(sessions) => sessions.put_token(self.core.version(), token),
            None => self.token = Some(token),
        }
    }

    fn on_policy_message(&mut self, message: Message, due: &mut Vec<Waker>) {
        if message.feature == FeatureId::SCHEDULER_REQUEST {
            if self.scheduler_requests.on_message(&mut self.core, &message) {
                self.wakers.scheduler_answer.release(due);
            }
            return;
        }
        if self.policy_messages.len() == MAX_POLICY_MESSAGES {
            self.policy_messages.pop_front();
            self.policy_messages_missed += 1;
        }
        self.policy_messages.push_back(message);
        self.wakers.policy_readers.release(due);
    }

    fn advance(&mut self, phase: Phase, due: &mut Vec<Waker>) {
        self.phase = self.phase.max(phase);
        self.wakers.handshake.release(due);
    }

    /// The connection is over. The first reason stays.
    pub(crate) fn end(&mut self, reason: ConnectionError, due: &mut Vec<Waker>) {
        self.outcome.get_or_insert(reason);
        self.manager = None;
        self.path_requests.clear();
        self.news.end();
        self.wakers.release_all(due);
    }

    /// The application closes it.
    pub(crate) fn close(&mut self, now: Time, code: u64, reason: Bytes, due: &mut Vec<Waker>) {
        if self.outcome.is_none() {
            // What happened before is told before.
            (self.manager, self.actions) = (None, VecDeque::new());
            self.take_events(now, due);
            self.core.close(now, code, reason);
            self.end(ConnectionError::LocallyClosed, due);
        }
    }

    /// The system says that this handshake will not succeed. Later it would be noise: a packet is lost, and loss recovery
    /// is for that.
    pub(crate) fn fail_attempt(&mut self, error: AttemptError, due: &mut Vec<Waker>) {
        if self.phase == Phase::Handshaking && self.core.side().is_client() {
            self.attempt_error.get_or_insert(error);
            self.wakers.handshake.release(due);
        }
    }

    /// Puts a path manager in charge.
    pub(crate) fn manage_paths<'a>(
        &mut self,
        manager: Box<dyn PathManager>,
        now: Time,
        links: impl Iterator<Item = &'a LinkInfo>,
    ) {
        self.manager = Some(manager);
        for link in links {
            self.tell_manager(&PathEvent::LinkUp(link.clone()), now);
        }
    }

    pub(crate) fn on_link_change(&mut self, change: &LinkChange, now: Time) {
        let event = match change {
            LinkChange::Up(info) => PathEvent::LinkUp(info.clone()),
            LinkChange::Down(id) => PathEvent::LinkDown(*id),
        };
        if self.manager.is_some() {
            if let LinkChange::Up(info) = change {
                self.recognise_link(info);
            }
            self.on_path_event(event, now);
        }
    }

    /// The user wants the link used otherwise.
    pub(crate) fn set_status_over(&mut self, link: LinkId, status: PathStatus, now: Time) {
        for path in self.core.paths().into_iter().filter(|path| path.link == Some(link)) {
            if let Err(error) = self.core.set_path_status(now, path.id, status) {
                tracing::debug!(%error, "the status of a path was not changed");
            }
        }
    }

    /// The driver's observer has news of a link.
    pub(crate) fn on_link_news(&mut self, news: &LinkNews, now: Time) {
        let update = news.update(now);
        self.core.link_update(&update);
        self.ask_manager(now, |manager, paths, actions| manager.on_link_update(&update, paths, actions));
    }

    /// A path uses this link from now on: its controller hears what is known of it.
    pub(crate) fn tell_of_link(&mut self, link: Option<LinkId>, states: &LinkStates, now: Time) {
        if let Some(news) = link.and_then(|link| states.of(link)) {
            self.core.link_update(&news.update(now));
        }
    }

    /// Somebody asked for a link to be attached elsewhere, and this became of it.
    pub(crate) fn on_attach_report(&mut self, report: &AttachReport, now: Time) {
        self.core.attach_report(now, report);
        self.on_path_event(PathEvent::Attach(*report), now);
    }

    pub(crate) fn is_client(&self) -> bool {
        self.core.side().is_client()
    }

    /// A path that began on the default route, before this link was known, may be using it.
    fn recognise_link(&mut self, info: &LinkInfo) {
        for path in self.core.paths() {
            if path.link.is_none() && info.addresses.contains(&path.tuple.local.ip()) {
                self.core.set_path_link(path.id, Some(info.id));
            }
        }
    }

    fn on_path_event(&mut self, event: PathEvent, now: Time) {
        self.tell_manager(&event, now);
        self.news.tell(event);
    }

    fn tell_manager(&mut self, event: &PathEvent, now: Time) {
        self.ask_manager(now, |manager, paths, actions| manager.on_event(now, event, paths, actions));
    }

    fn ask_manager(
        &mut self,
        now: Time,
        ask: impl FnOnce(&mut dyn PathManager, &[hawser_policy::PathView], &mut Vec<PathAction>),
    ) {
        if let Some(manager) = &mut self.manager {
            let mut actions = Vec::new();
            ask(manager.as_mut(), self.core.path_views(now), &mut actions);
            self.actions.extend(actions);
        }
    }

    /// Whether the path manager wants something done.
    pub(crate) fn has_path_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// The next thing that the path manager wants done.
    pub(crate) fn next_path_action(&mut self) -> Option<PathAction> {
        self.actions.pop_front()
    }

    /// Leaves a request for a path to the worker.
    pub(crate) fn request_path(&mut self, request: PathRequest) -> Result<(), OpenPathError> {
        if let Some(reason) = &self.outcome {
            return Err(reason.clone().into());
        }
        if self.path_requests.len() >= MAX_PATH_REQUESTS {
            return Err(OpenPathError::TooMany);
        }
        self.path_requests.push_back(request);
        Ok(())
    }

    /// The next path that the program asked for.
    pub(crate) fn next_path_request(&mut self) -> Option<PathRequest> {
        self.path_requests.pop_front()
    }

    /// Path events, beginning with the paths that are open.
    pub(crate) fn subscribe(&mut self) -> PathEvents {
        self.news.subscribe()
    }

    /// Waits for the end of the handshake.
    pub(crate) fn wait_for_handshake(&mut self, cx: &Context<'_>) {
        self.wakers.handshake.register(cx);
    }
}
