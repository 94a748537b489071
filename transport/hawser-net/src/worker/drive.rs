//! One pass over everything: receive, act, send, sleep.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hawser_core::{
    Code, ConnectionError, ConnectionHandle, Datagram, Routed, StatelessDatagram, TransportError,
};
use hawser_policy::Time;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until};

use super::load::{Load, PutOff, QUANTUM};
use super::sockets::{ReadMore, Sent};
use super::timers::Timers;
use super::{Team, Worker, WorkerState};
use crate::connection::{AttemptError, ConnectionShared, ConnectionState, ConnectionTotals};
use crate::links::LinkChange;
use crate::receive_buffers::{ReceiveBuffers, SLOTS};
use crate::socket::{LinkSocket, Message};
use crate::wakers::wake_all;

/// Bytes received in one pass. What came in is worked through and read by the application while it is still in cache.
const RECEIVE_BYTES_PER_PASS: usize = 256 * 1024;
/// Receive calls in one pass, for small datagrams.
const RECEIVE_CALLS_PER_PASS: usize = 16;
/// Batches that a connection may send before others, and what was received meanwhile, get their turn.
const BATCHES_PER_TURN: usize = 8;
/// When to ask a socket again that is not writable although the runtime says so.
const SEND_RETRY: Duration = Duration::from_millis(1);

/// Between an answer to a request to attach a link elsewhere and its report: a policy that asks again at every refusal does
/// not keep the worker busy.
const ATTACH_DELAY: Duration = Duration::from_millis(10);

/// The worker's task.
pub(crate) struct Driver {
    worker: Arc<Worker>,
    /// If there are others.
    team: Option<Team>,
    buffers: ReceiveBuffers,
    messages: Vec<Message>,
    routed: Vec<(ConnectionHandle, Datagram)>,
    put_off: PutOff,
    load: Load,
    /// Counts passes.
    pass: u64,
    responses: Vec<StatelessDatagram>,
    /// Where batches are built.
    transmit: Vec<u8>,
    /// Connections to look after in this pass, and in the next.
    dirty: Vec<ConnectionHandle>,
    again: Vec<ConnectionHandle>,
    timers: Timers,
    alarm: Alarm,
    due: Vec<Waker>,
    /// Messages per receive call; few while they are large.
    slots: usize,
    /// Whether it is at work; when it is dropped meanwhile, it panicked.
    is_in_pass: bool,
}

impl Driver {
    /// Must be called inside a tokio runtime.
    pub(crate) fn new(worker: Arc<Worker>, team: Option<Team>) -> Self {
        let alarm = Alarm::new(&worker);
        Driver {
            worker,
            team,
            buffers: ReceiveBuffers::new(),
            messages: Vec::new(),
            routed: Vec::new(),
            put_off: PutOff::default(),
            load: Load::default(),
            pass: 0,
            responses: Vec::new(),
            transmit: Vec::new(),
            dirty: Vec::new(),
            again: Vec::new(),
            timers: Timers::default(),
            alarm,
            due: Vec::new(),
            slots: SLOTS,
            is_in_pass: false,
        }
    }

    /// Does what can be done now. Returns whether there is more.
    fn pass(&mut self, cx: &mut Context<'_>, state: &mut WorkerState) -> bool {
        let now = self.worker.clock.now();
        self.dirty.append(&mut self.again);
        self.worker.mailbox.take(&mut self.dirty);
        self.pass += 1;
        let put_off = self.put_off.take();
        let mut more = self.receive(cx, state, now);
        if self.load.on_pass(now, more) {
            state.sockets.enable_receive_times();
        }
        // After the others' datagrams.
        self.routed.extend(put_off);
        self.deliver(state, now);
        more |= !self.put_off.is_empty();
        self.apply_link_changes(state, now);
        self.apply_link_news(state, now);
        self.apply_attach_reports(state, now);
        self.timers.pop_due(now, &mut self.dirty);
        self.serve_dirty(state, now);
        if state.sockets.flush(cx, &mut self.dirty) {
            self.alarm.ring_by(now + SEND_RETRY);
        }
        self.serve_dirty(state, now);
        state.sockets.note_sent();
        more |= !self.again.is_empty();
        if let Some(next) = self.timers.next() {
            self.alarm.ring_by(next);
        }
        more | self.alarm.poll(cx)
    }

    fn receive(&mut self, cx: &mut Context<'_>, state: &mut WorkerState, now: Time) -> bool {
        let (mut bytes, mut calls) = (0, 0);
        let (buffers, messages, slots) = (&mut self.buffers, &mut self.messages, &mut self.slots);
        let more = state.sockets.for_each_readable(cx, |socket| {
            calls += 1;
            bytes += read(socket, buffers, slots, messages);
            if bytes >= RECEIVE_BYTES_PER_PASS || calls >= RECEIVE_CALLS_PER_PASS {
                ReadMore::Enough
            } else {
                ReadMore::Continue
            }
        });
        let mut messages = std::mem::take(&mut self.messages);
        if let Some(team) = &mut self.team {
            state.handed_over += team.exchange(&state.core, &mut messages);
        }
        for message in messages.drain(..) {
            self.route(state, message, now);
        }
        self.messages = messages;
        for response in self.responses.drain(..) {
            state.respond(&response);
        }
        more
    }

    /// Splits a message into its datagrams and hands them to their connections.
    fn route(&mut self, state: &mut WorkerState, message: Message, now: Time) {
        let Message { tuple, ecn, segment_size, received_at, mut bytes } = message;
        let received_at = received_at.map_or(now, |unix| self.worker.clock.time_of_unix(unix, now));
        self.load.on_read(now.since(received_at));
        while !bytes.is_empty() {
            let payload = if bytes.len() > segment_size {
                bytes.split_to(segment_size)
            } else {
                std::mem::take(&mut bytes)
            };
            let datagram = Datagram { tuple, ecn, received_at, payload };
            match state.core.handle_datagram(now, datagram, &mut self.responses) {
                Some(Routed::Connection(handle, datagram)) => self.routed.push((handle, datagram)),
                // Clients that are served already come first.
                Some(Routed::Incoming(incoming)) if self.load.is_too_high() => {
                    state.refused_busy += 1;
                    self.responses.extend(state.core.refuse(incoming));
                }
                Some(Routed::Incoming(incoming)) => {
                    state.incoming.push(&state.core, incoming);
                    state.acceptors.release(&mut self.due);
                }
                None => {}
            }
        }
        self.deliver(state, now);
    }

    fn deliver(&mut self, state: &mut WorkerState, now: Time) {
        let mut routed = self.routed.drain(..).peekable();
        while let Some((handle, datagram)) = routed.next() {
            let Some(shared) = state.connection(handle) else { continue };
            let mut connection = shared.lock();
            let share = connection.share_of(self.pass).saturating_add(QUANTUM);
            // Datagrams of one message are nearly always for one connection: one lock for all of them.
            let mut next = Some(datagram);
            while let Some(datagram) = next {
                if connection.core.work_spent() <= share {
                    connection.core.handle_datagram(now, datagram);
                } else {
                    self.put_off.push(handle, datagram);
                }
                next = routed.next_if(|(other, _)| *other == handle).map(|(_, datagram)| datagram);
            }
            // Before the next message, or late packets are taken for strangers.
            while let Some(event) = connection.core.poll_endpoint_event() {
                state.core.handle_event(handle, event);
            }
            if connection.queue() {
                self.dirty.push(handle);
            }
        }
    }

    fn apply_link_changes(&mut self, state: &mut WorkerState, now: Time) {
        if state.link_changes.is_empty() {
            return;
        }
        let changes: Vec<LinkChange> = std::mem::take(&mut state.link_changes);
        for shared in state.connections.clone().into_iter().flatten() {
            let mut connection = shared.lock();
            for change in &changes {
                // One over which the server cannot be reached takes no place from those over which it can.
                if let LinkChange::Up(info) = change
                    && !connection.remotes.iter().any(|remote| state.links.leads_to(info.id, *remote))
                {
                    continue;
                }
                connection.on_link_change(change, now);
                // A path may have been found to use it.
                if let LinkChange::Up(info) = change
                    && let Some(news) = state.link_states.of(info.id).filter(|_| connection.is_client())
                {
                    connection.on_link_news(news, now);
                }
            }
            self.worker.migrate_if_stranded(state, &mut connection, now);
            if connection.queue() {
                self.dirty.push(shared.handle());
            }
        }
    }

    /// Clients hear of links: a server's paths have none.
    fn apply_link_news(&mut self, state: &mut WorkerState, now: Time) {
        let untold = state.link_states.take_untold();
        if !untold.is_empty() {
            self.tell_clients(state, |connection| {
                untold.iter().for_each(|news| connection.on_link_news(news, now));
            });
        }
    }

    fn apply_attach_reports(&mut self, state: &mut WorkerState, now: Time) {
        let new = self.worker.mailbox.take_attach_reports();
        state.attach_reports.extend(new.into_iter().map(|report| (now + ATTACH_DELAY, report)));
        while let Some((_, report)) = state.attach_reports.front().copied().filter(|(at, _)| *at <= now) {
            state.attach_reports.pop_front();
            self.tell_clients(state, |connection| connection.on_attach_report(&report, now));
        }
        if let Some((at, _)) = state.attach_reports.front() {
            self.alarm.ring_by(*at);
        }
    }

    fn tell_clients(&mut self, state: &WorkerState, mut tell: impl FnMut(&mut ConnectionState)) {
        for shared in state.connections.iter().flatten() {
            let mut connection = shared.lock();
            if connection.is_client() {
                tell(&mut connection);
                if connection.queue() {
                    self.dirty.push(shared.handle());
                }
            }
        }
    }

    fn serve_dirty(&mut self, state: &mut WorkerState, now: Time) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for handle in dirty.drain(..) {
            if let Some(shared) = state.connection(handle) {
                self.serve(state, &shared, now);
                wake_all(&mut self.due);
            }
        }
        self.dirty = dirty;
    }

    /// Gives a connection its turn.
    fn serve(&mut self, state: &mut WorkerState, shared: &ConnectionShared, now: Time) {
        let handle = shared.handle();
        let mut connection = shared.lock();
        connection.begin_turn(now);
        connection.count_traffic(now);
        self.react(state, &mut connection, now);
        let unfinished = self.transmit(state, handle, &mut connection, now);
        // Sending can end a connection, change a path or use up a budget.
        self.react(state, &mut connection, now);
        while let Some(event) = connection.core.poll_endpoint_event() {
            state.core.handle_event(handle, event);
        }
        if connection.core.is_draining() && !std::mem::replace(&mut connection.settled, true) {
            state.settle(&mut self.due);
        }
        if connection.core.is_drained() {
            self.timers.cancel(handle, &mut connection.scheduled);
            state.forget(handle, &ConnectionTotals::of_core(&connection.core));
            return;
        }
        let deadline = connection.deadline();
        self.timers.schedule(handle, &mut connection.scheduled, deadline);
        if unfinished && connection.queue() {
            self.again.push(handle);
        }
    }

    fn react(&mut self, state: &mut WorkerState, connection: &mut ConnectionState, now: Time) {
        loop {
            self.worker.carry_out(state, connection, now);
            connection.take_events(now, &mut self.due);
            if connection.core.reports_receive_times() {
                state.sockets.enable_receive_times();
            }
            if !connection.has_path_actions() {
                return;
            }
        }
    }

    /// Sends what the connection has, up to its share of a pass. Returns whether there may be more.
    fn transmit(
        &mut self,
        state: &mut WorkerState,
        handle: ConnectionHandle,
        connection: &mut ConnectionState,
        now: Time,
    ) -> bool {
        if connection.core.has_held_paths() {
            connection.core.release_paths(|tuple| state.sockets.has_room(tuple));
        }
        for _ in 0..BATCHES_PER_TURN {
            let Some(transmit) = connection.core.poll_transmit(now, &mut self.transmit) else { return false };
            connection.count_traffic(now);
            match state.sockets.send(handle, &transmit, &mut self.transmit) {
                Sent::Yes => {}
                Sent::Wait => connection.core.hold_paths(&transmit.tuple),
                Sent::Failed(error) => {
                    tracing::debug!(%error, tuple = ?transmit.tuple, "sending failed");
                    connection.fail_attempt(AttemptError::Unreachable(error), &mut self.due);
                }
            }
            if connection.has_path_actions() {
                return true;
            }
        }
        true
    }
}

/// One receive call. Returns the bytes received.
fn read(
    socket: &LinkSocket,
    buffers: &mut ReceiveBuffers,
    slots: &mut usize,
    messages: &mut Vec<Message>,
) -> usize {
    let mut bytes = 0;
    let received = socket.receive(buffers, *slots, |message| {
        bytes += message.bytes.len();
        messages.push(message);
    });
    match received {
        // Large messages one by one fill the cache; small ones are worth taking many at a time.
        Ok(count) => *slots = if bytes > count * 16_384 { 4 } else { SLOTS },
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        // ICMP errors arrive here too; the task that watches for them tells who is concerned.
        Err(error) => tracing::trace!(%error, "receiving failed"),
    }
    bytes
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let worker = this.worker.clone();
        worker.mailbox.register(cx.waker());
        let mut state = worker.lock();
        this.is_in_pass = true;
        let more = this.pass(cx, &mut state);
        this.is_in_pass = false;
        // Not before the others: until then, what arrives at this worker's socket may be for one of them.
        let is_over = worker.mailbox.is_abandoned() && state.tally.live() == 0;
        drop(state);
        wake_all(&mut this.due);
        if is_over {
            return Poll::Ready(());
        }
        if more {
            // After the applications that were woken. Waking ourselves would not do: a current-thread runtime polls its
            // main future only when no task is runnable, or every 61 polls, and until then data would pile up.
            let _ = pin!(yield_now()).poll(cx);
        }
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut due = Vec::new();
        let mut state = self.worker.lock();
        state.abort_all(
            if self.is_in_pass { worker_panicked() } else { ConnectionError::LocallyClosed },
            &mut due,
        );
        if let Some(team) = &self.team {
            // The kernel spreads what arrives over the sockets that are left.
            state.close_sockets();
            self.worker.mailbox.close_inbox();
            team.wake_others();
        }
        drop(state);
        wake_all(&mut due);
    }
}

/// How the connections of a worker end that panicked: not as if the application had closed them.
fn worker_panicked() -> ConnectionError {
    let reason =
        "a panic ended the endpoint's worker: a defect of the library, or of a policy of the program";
    ConnectionError::Transport(TransportError::new(Code::INTERNAL_ERROR, reason))
}

/// The worker's one timer.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    clock: crate::clock::Clock,
    /// When it rings.
    set_for: Option<Time>,
}

impl Alarm {
    fn new(worker: &Worker) -> Self {
        Alarm { sleep: Box::pin(sleep_until(Instant::now())), clock: worker.clock, set_for: None }
    }

    /// Makes sure that it rings by then. It may ring earlier: moving it later is not worth the work.
    fn ring_by(&mut self, time: Time) {
        if self.set_for.is_none_or(|at| time < at) {
            self.set_for = Some(time);
            self.sleep.as_mut().reset(self.clock.instant_of(time).into());
        }
    }

    /// Whether it rings.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.set_for.is_none() || self.sleep.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.set_for = None;
        true
    }
}
