//! Creation of a connection, and the calls of applications and drivers that need little more than passing on.

use std::any::Any;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{
    AckFrequency, AttachReport, ControllerFactory, DatagramInfo, FeatureId, Feedback, Figures, LinkUpdate,
    Message, MessageOrigin, PathId, PolicyError, PolicySetFactory, PolicySpec, QueueView, Registry,
    SchedulerInit, SetInit, Side, StreamId, Time, Trace,
};
use hawser_wire::Version;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::ack_frequency::{AckFrequencies, AckFrequencyUnsupported};
use super::arrival::EarlyPackets;
use super::cid_book::CidBook;
use super::close::CloseState;
use super::datagrams::{DatagramQueue, ReceivedDatagram, SendDatagramError, WhenFull};
use super::events::Event;
use super::handshake::Handshake;
use super::identity::Identity;
use super::idle::IdleTimer;
use super::init::ConnectionInit;
use super::messages::{Messages, SendMessageError};
use super::parameters::{PeerParameters, receive_timestamps};
use super::parts::{Arrival, Ends, Extensions, Observed, Outbox, Shares};
use super::paths::IssuedCid;
use super::paths::control::Control;
use super::paths::life_cycle::LifeEvent;
use super::paths::migration::Tuples;
use super::paths::mtu::MtuDiscovery;
use super::paths::path::Path;
use super::paths::path_ids::PathIds;
use super::paths::set::{ACTIVE_CID_LIMIT, PathSet};
use super::paths::validation::ValidationPacer;
use super::policies::schedule::queue_view;
use super::policies::{Policies, Targets};
use super::receive_times::ReceiveTimes;
use super::recovery::{GRANULARITY, PathIdentity, PathRecovery};
use super::repair::Repair;
use super::server_frames::ServerFrames;
use super::stats::ConnectionStats;
use super::streams::{ClosedStream, ReadError, ReadOutcome, ResetAtError, Streams, WriteError};
use super::zero_rtt::ZeroRtt;
use super::{Connection, Scratch};
use crate::MAX_APPLICATION_CODE;
use crate::crypto::OpenError;
use crate::endpoint::EndpointEvent;

/// Why the congestion controller of a path could not be exchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetControllerError {
    /// There is no such controller, or it does not take these parameters.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// There is no such path.
    #[error("there is no path {0}")]
    NoPath(PathId),
}

impl Connection {
    /// A connection that has just begun; a client's first Initial packet is ready to be polled.
    pub(crate) fn new(init: ConnectionInit) -> Self {
        let (side, now, transport) = (init.side, init.now, init.transport.clone());
        let mut rng = ChaCha8Rng::from_seed(init.seed);
        let set = transport.policies.build(&SetInit::new(side, rng.next_u64(), now));
        let mut policies = Policies::new(set, rng.next_u64());
        if let Some(sink) = &transport.trace {
            policies.set_trace(Trace::new(side, vec![sink.clone()]));
        }
        let path = handshake_path(&init, policies.controllers(), rng.next_u64());
        let ids = PathIds::new(side, transport.max_path_id, transport.max_concurrent_paths);
        let client = side.is_server().then(|| init.tuple.remote.ip());
        let mut connection = Connection {
            side,
            handshake: Handshake::new(
                init.tls,
                init.version,
                init.initial_keys,
                now,
                transport.key_update_after,
            ),
            zero_rtt: ZeroRtt::default(),
            paths: PathSet::new(path, ids),
            streams: Streams::new(side, &transport),
            extensions: Extensions {
                datagrams: DatagramQueue::new(&transport),
                messages: Messages::new(),
                repair: Repair::new(transport.repair_memory()),
                receive_times: ReceiveTimes::new(now, receive_timestamps(&transport)),
                ack_frequencies: AckFrequencies::new(transport.max_ack_delay),
            },
            closing: CloseState::Open,
            outbox: Outbox::default(),
            observed: Observed::default(),
            policies,
            scratch: Scratch::default(),
            ends: Ends {
                peer: PeerParameters::default(),
                identity: Identity {
                    remote: init.tuple.remote,
                    local_cid: init.local_cid,
                    original_destination: init.original_destination,
                    retry_source: init.retry_source,
                    server_source: None,
                    token: init.token,
                    client: init.client,
                    follow_preferred: init.follow_preferred_address,
                    preferred: None,
                },
                cids: CidBook::new(init.cids),
            },
            server_frames: ServerFrames::new(init.token_issuer),
            validation_pacer: ValidationPacer::new(
                transport.initial_rtt.saturating_mul(3).saturating_add(GRANULARITY),
            ),
            idle: IdleTimer::new(now, side, transport.idle_timeout()),
            arrival: Arrival { early: EarlyPackets::default(), arrived_on: init.local_cid, last_now: now },
            rng,
            transport,
            shares: Shares {
                memory: init.endpoint.receive_memory.join(client),
                send_memory: init.endpoint.send_memory.join(client),
                work: super::work::Work::new(),
            },
            #[cfg(feature = "qlog")]
            endpoint: init.endpoint,
        };
        connection.move_path(now, PathId::ZERO, LifeEvent::Opened);
        #[cfg(feature = "qlog")]
        connection.open_qlog();
        if connection.side.is_client() {
            match connection.handshake.drive() {
                Ok(_) => connection.offer_zero_rtt(now),
                Err(error) => connection.fail(now, error),
            }
        }
        connection
    }

    /// Which end this is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether the TLS handshake has still to complete.
    pub fn is_handshaking(&self) -> bool {
        !self.handshake.is_complete()
    }

    /// Whether the connection was closed by either end, or timed out.
    pub fn is_closed(&self) -> bool {
        !self.closing.is_open()
    }

    /// Whom to wake when the connection is to be closed because others need the memory that it holds
    /// ([`EndpointConfig::receive_memory`]): a driver then calls [`poll_transmit`](Self::poll_transmit). Without one it is closed
    /// when something arrives for it. The waker is called with locks held, and must not act on the connection at once.
    pub fn set_memory_waker(&self, waker: std::task::Waker) {
        self.shares.memory.set_waker(waker);
    }

    /// Whether the draining state was reached (RFC 9000 section 10.2.2), or what comes after it: the peer knows that it is over,
    /// lost its state, or fell silent for too long. Nothing will be sent any more, whatever arrives; a driver may close its sockets.
    pub fn is_draining(&self) -> bool {
        self.closing.is_draining()
    }

    /// Whether nothing is left to do: the driver forgets the connection.
    pub fn is_drained(&self) -> bool {
        self.closing == CloseState::Drained && self.outbox.endpoint_events.is_empty()
    }

    /// The QUIC version that it speaks: that with which the client began until the server has answered.
    pub fn version(&self) -> Version {
        self.handshake.version.current()
    }

    /// Whether both ends speak multipath.
    pub fn is_multipath(&self) -> bool {
        self.paths.is_multipath()
    }

    /// The next event, in order; `None` if none waits.
    pub fn poll_event(&mut self) -> Option<Event> {
        // Asked twice per packet. Events are large, and nearly all there are tell of streams.
        if self.outbox.events.is_empty()
            && let Some(event) = self.streams.poll_event()
        {
            return Some(Event::Stream(event));
        }
        self.has_other_events().then(|| self.poll_other_event()).flatten()
    }

    fn has_other_events(&self) -> bool {
        !self.outbox.events.is_empty()
            || self.outbox.events.is_closed()
            || self.extensions.datagrams.was_refused()
            || self.policies.has_attach_requests()
            || self.extensions.messages.has_application()
    }

    #[inline(never)]
    fn poll_other_event(&mut self) -> Option<Event> {
        self.outbox
            .events
            .pop()
            .or_else(|| self.extensions.datagrams.take_writable().then_some(Event::DatagramsUnblocked))
            .or_else(|| self.policies.poll_attach_request().map(Event::Attach))
            .or_else(|| self.extensions.messages.poll_application().map(Event::Policy))
            .or_else(|| self.outbox.events.take_closed().map(Event::Closed))
    }

    /// The next change for the endpoint.
    pub fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        self.outbox.endpoint_events.pop_front()
    }

    /// Totals.
    pub fn stats(&self) -> ConnectionStats {
        let skips = self.streams.skip_totals();
        let (drops, messages) = (self.extensions.datagrams.drops(), self.extensions.messages.counts());
        let arrived = self.streams.arrived();
        let protection =
            self.extensions.repair.sender.as_ref().map(|sender| sender.counts()).unwrap_or_default();
        let repaired =
            self.extensions.repair.receiver.as_ref().map(|receiver| receiver.counts()).unwrap_or_default();
        ConnectionStats {
            stream_bytes_copied: self.streams.copied_bytes(),
            stream_bytes_copied_needlessly: self.streams.needless_copies(),
            stream_bytes_acked: self.streams.acked_bytes(),
            stream_bytes_received: arrived.new,
            stream_bytes_duplicate: arrived.duplicate,
            messages_dropped_unsent: drops.send_overflow + drops.too_large,
            messages_expired: drops.expired,
            messages_dropped_unread: drops.receive_overflow,
            policy_messages_sent: messages.sent,
            policy_messages_received: messages.received,
            policy_messages_dropped: messages.dropped,
            policy_commands_ignored: self.policies.ignored_commands(),
            stream_bytes_discarded: skips.bytes_given_up,
            stream_bytes_missed: skips.bytes_missed,
            repair_symbols_sent: protection.sent,
            stream_bytes_recovered_by_peer: protection.recovered,
            repair_symbols_received: repaired.received,
            repair_symbols_dropped: repaired.dropped,
            stream_bytes_recovered: repaired.recovered,
            ..self.observed.stats
        }
    }

    /// Name of the scheduler that places data now.
    pub fn scheduler_name(&self) -> &'static str {
        self.policies.scheduler().name()
    }

    /// What the scheduler says of itself.
    pub fn scheduler_figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.policies.scheduler().fill_figures(&mut figures);
        figures
    }

    /// Bytes of streams and datagrams that wait to be sent, and what the peer's flow control still allows.
    pub fn send_queue(&self) -> QueueView {
        queue_view(&self.streams, &self.extensions.datagrams)
    }

    /// Bytes of memory that stream data, datagrams and events that nobody has polled take, roughly: what a server with many
    /// connections watches.
    pub fn buffered(&self) -> u64 {
        self.streams.memory()
            + self.extensions.datagrams.memory()
            + self.outbox.events.memory()
            + self.extensions.repair.memory()
    }

    /// Negotiated application protocol, once known.
    pub fn application_protocol(&self) -> Option<Vec<u8>> {
        self.handshake.session()?.application_protocol()
    }

    /// The server name that the client asked for (server).
    pub fn server_name(&self) -> Option<String> {
        self.handshake.session()?.server_name()
    }

    /// The peer's certificate chain, as the TLS implementation gives it.
    pub fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.handshake.session()?.peer_identity()
    }

    /// Keying material for the application (RFC 5705).
    ///
    /// # Errors
    /// Before the handshake is complete.
    pub fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError> {
        self.handshake.session().ok_or(OpenError)?.export_keying_material(output, label, context)
    }

    /// Opens a stream; `None` until the peer allows one more ([`StreamEvent::Available`](crate::StreamEvent)).
    pub fn open_stream(&mut self, bidirectional: bool) -> Option<StreamId> {
        self.streams.open(bidirectional)
    }

    /// Takes the next stream that the peer opened.
    pub fn accept_stream(&mut self, bidirectional: bool) -> Option<StreamId> {
        self.streams.accept(bidirectional)
    }

    /// Writes to a stream; returns how much was taken, at least one byte.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        self.policies.wake();
        self.streams.write(id, data)
    }

    /// Writes to a stream without copying; returns how much was taken.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write_bytes(&mut self, id: StreamId, data: Bytes) -> Result<usize, WriteError> {
        self.policies.wake();
        self.streams.write_bytes(id, data)
    }

    /// Ends a stream after what was written.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        self.policies.wake();
        self.streams.finish(id)
    }

    /// Gives a stream up: what is not acknowledged is no longer sent. A code above [`MAX_APPLICATION_CODE`] is sent as that one,
    /// here and below.
    ///
    /// # Errors
    /// [`ClosedStream`].
    //= rfc9000-11.2-1: only the application resets streams
    pub fn reset(&mut self, id: StreamId, code: u64) -> Result<(), ClosedStream> {
        self.streams.reset(id, code.min(MAX_APPLICATION_CODE))
    }

    /// Gives a stream up but still delivers its first `reliable_size` bytes (RESET_STREAM_AT).
    ///
    /// # Errors
    /// [`ResetAtError`].
    pub fn reset_at(&mut self, id: StreamId, code: u64, reliable_size: u64) -> Result<(), ResetAtError> {
        self.streams.reset_at(id, code.min(MAX_APPLICATION_CODE), reliable_size)
    }

    /// Sets how urgent a stream is; larger goes first, the default is 0. Streams of the same priority send 64 kB
    /// in their turn; one that had nothing to send for a round goes before those that had.
    ///
    /// # Errors
    /// [`ClosedStream`].
    //= rfc9000-2.3-1: the application can give streams priorities
    pub fn set_priority(&mut self, id: StreamId, priority: i32) -> Result<(), ClosedStream> {
        self.streams.set_priority(id, priority)
    }

    /// The code with which the peer stopped reading a stream, if it did.
    pub fn stopped(&mut self, id: StreamId) -> Option<u64> {
        self.streams.stopped(id)
    }

    /// Whether the sending half of a stream is still known: not yet delivered as a whole, and not over otherwise.
    pub fn is_sending(&self, id: StreamId) -> bool {
        self.streams.is_sending(id)
    }

    /// Reads from a stream, in order.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(&mut self, id: StreamId, buffer: &mut [u8]) -> Result<ReadOutcome, ReadError> {
        self.streams.read(id, buffer)
    }

    /// Reads from a stream, in order and without copying; `None` at its end.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_chunk(&mut self, id: StreamId, max: usize) -> Result<Option<Bytes>, ReadError> {
        self.streams.read_chunk(id, max)
    }

    /// Tells the peer that a stream is no longer wanted.
    ///
    /// # Errors
    /// [`ClosedStream`].
    pub fn stop(&mut self, id: StreamId, code: u64) -> Result<(), ClosedStream> {
        self.streams.stop(id, code.min(MAX_APPLICATION_CODE))
    }

    /// Queues a datagram (RFC 9221), for a path of the caller's choice or for any.
    ///
    /// # Errors
    /// [`SendDatagramError`].
    pub fn send_datagram(&mut self, data: Bytes, path: Option<PathId>) -> Result<(), SendDatagramError> {
        let info = DatagramInfo::default().with(|info| info.path = path);
        self.queue_datagram(data, &info, WhenFull::Refuse)
    }

    /// As [`send_datagram`](Self::send_datagram), but when the queue is full its oldest datagrams give way: for data
    /// that is worth most when it is new.
    ///
    /// # Errors
    /// [`SendDatagramError`]; `Blocked` only for a datagram that is larger than the whole queue.
    pub fn send_newest_datagram(
        &mut self,
        data: Bytes,
        path: Option<PathId>,
    ) -> Result<(), SendDatagramError> {
        let info = DatagramInfo::default().with(|info| info.path = path);
        self.queue_datagram(data, &info, WhenFull::DropOldest)
    }

    //= rfc9221-5.1-1: the application can give DATAGRAM priorities
    pub(super) fn queue_datagram(
        &mut self,
        data: Bytes,
        info: &DatagramInfo,
        when_full: WhenFull,
    ) -> Result<(), SendDatagramError> {
        self.policies.wake();
        let is_usable = |id: &PathId| self.paths.get(*id).is_some_and(|path| path.life().can_send());
        if let Some(id) = info.path.filter(|id| !is_usable(id)) {
            return Err(SendDatagramError::NoPath(id));
        }
        let room = self.datagram_room(info.path);
        self.extensions.datagrams.send(data, info, room, when_full)
    }

    /// The next datagram received.
    pub fn read_datagram(&mut self) -> Option<Bytes> {
        self.read_datagram_as_received().map(|received| received.data)
    }

    /// The next datagram received, and whether its packet was marked on the way.
    pub fn read_datagram_as_received(&mut self) -> Option<ReceivedDatagram> {
        self.extensions.datagrams.receive()
    }

    /// The longest datagram that fits a packet on every path now; `None` if the peer takes none.
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.extensions.datagrams.max_size(self.datagram_room(None))
    }

    /// Room for frames in a packet on `path`, or on every path.
    pub(super) fn datagram_room(&self, path: Option<PathId>) -> usize {
        let wanted = |id| path.is_none_or(|path| path == id);
        let usable = self.paths.iter().filter(|path| path.life().can_send() && wanted(path.id));
        let sizes = usable.map(|path| path.mtu.current());
        // Short header with the longest packet number, and the tag.
        let overhead = 1 + self.paths.remote_cid(PathId::ZERO, None).map_or(20, |cid| cid.len()) + 4 + 16;
        usize::from(sizes.min().unwrap_or(0)).saturating_sub(overhead)
    }

    /// Queues a message for the policies of the peer.
    ///
    /// # Errors
    /// [`SendMessageError`].
    pub fn send_message(&mut self, message: Message) -> Result<(), SendMessageError> {
        if let Some(path) = message.path.filter(|path| self.paths.get(*path).is_none()) {
            return Err(SendMessageError::NoPath(path));
        }
        self.extensions.messages.send(message)
    }

    /// Hands a message of the application to the policies of this end ([`Event::Message`](hawser_policy::Event)); nothing
    /// is sent. Messages of the policies to the application come as [`Event::Policy`].
    pub fn tell_policies(&mut self, now: Time, message: &Message) {
        self.policies.on_message(now, MessageOrigin::Application, message);
        self.apply_commands(now);
    }

    /// Whether both ends offered a feature whose messages are for policies ([`TransportConfig::features`](crate::TransportConfig::features)).
    pub fn is_feature_negotiated(&self, feature: FeatureId) -> bool {
        self.extensions.messages.is_negotiated(feature.0)
    }

    /// Whether the peer wants to know when packets arrived: then it pays to know it exactly
    /// ([`Datagram::received_at`](crate::Datagram::received_at)).
    #[inline]
    pub fn reports_receive_times(&self) -> bool {
        self.extensions.receive_times.peer_limits().is_some()
    }

    /// Asks the peer for another acknowledgement frequency (draft-ietf-quic-ack-frequency), on all paths. The delay is
    /// clamped to what the peer takes.
    ///
    /// # Errors
    /// If the peer takes no such requests, or the handshake is not so far.
    pub fn request_ack_frequency(&mut self, frequency: AckFrequency) -> Result<(), AckFrequencyUnsupported> {
        self.extensions.ack_frequencies.request(frequency)
    }

    /// Asks the peer to acknowledge at once what was sent on a path; sends a packet there if nothing else leaves. Does
    /// nothing for a path that does not exist.
    ///
    /// # Errors
    /// If the peer takes no such requests, or the handshake is not so far.
    pub fn request_immediate_ack(&mut self, path: PathId) -> Result<(), AckFrequencyUnsupported> {
        if self.paths.get(path).is_none() {
            return Ok(());
        }
        self.extensions.ack_frequencies.request_immediate(path)
    }

    /// Passes feedback of the application on to the scheduler.
    pub fn feedback(&mut self, now: Time, feedback: &Feedback) {
        self.policies.on_feedback(now, feedback);
        self.apply_commands(now);
    }

    /// Passes news of a local link on to the policies that decide on it.
    pub fn link_update(&mut self, update: &LinkUpdate<'_>) {
        self.policies.on_link_update(update);
        for path in self.paths.iter_mut().filter(|path| path.link == Some(update.link)) {
            path.recovery.on_link_update(update);
        }
        self.apply_commands(update.now);
    }

    /// Tells the policies what became of a request to attach a link elsewhere, from the application or a policy.
    pub fn attach_report(&mut self, now: Time, report: &AttachReport) {
        self.policies.on_attach_report(now, report);
        self.apply_commands(now);
    }

    /// Exchanges the scheduler while the connection runs.
    ///
    /// # Errors
    /// [`PolicyError`] if the registry has no such scheduler, or it does not take these parameters.
    pub fn set_scheduler<S>(&mut self, registry: &Registry, spec: S) -> Result<(), PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        let factory = registry.scheduler(spec)?;
        let init = SchedulerInit::new(self.side, self.next_random());
        self.policies.set_scheduler(factory.build(&init));
        Ok(())
    }

    /// Exchanges the congestion controller of a path while it runs; estimates are carried over.
    ///
    /// # Errors
    /// [`SetControllerError`] if the registry has no such controller, it does not take these parameters, or there is no
    /// such path.
    pub fn set_controller<S>(
        &mut self,
        now: Time,
        id: PathId,
        registry: &Registry,
        spec: S,
    ) -> Result<(), SetControllerError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        let factory = self.policies.traced(registry.congestion(spec)?);
        let seed = self.next_random();
        let path = self.paths.get_mut(id).ok_or(SetControllerError::NoPath(id))?;
        let identity = PathIdentity { path: id, link: path.link, remote: path.tuples.current().remote, seed };
        path.recovery.swap_controller(&*factory, &identity, now);
        self.policies.wake();
        Ok(())
    }

    /// Exchanges the congestion controller of all paths, those to come included: `cubic,beta=0.8`. Estimates of the paths are
    /// carried over.
    ///
    /// # Errors
    /// There is no such controller, or it does not take these parameters.
    pub fn set_controllers<S>(&mut self, now: Time, registry: &Registry, spec: S) -> Result<(), PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.policies.set_controllers(registry.congestion(spec)?);
        let ids: Vec<PathId> = self.paths.iter().map(|path| path.id).collect();
        let (policies, mut targets) = self.split_policies(now);
        for id in ids {
            policies.replace_controller(id, &mut targets);
        }
        Ok(())
    }

    /// Exchanges the whole policy set while the connection runs. Each path gets a controller of the new set, which takes
    /// over its estimates.
    pub fn set_policies(&mut self, now: Time, factory: &dyn PolicySetFactory) {
        let init = SetInit::new(self.side, self.next_random(), now);
        self.policies.replace(factory.build(&init));
        let ids: Vec<PathId> = self.paths.iter().map(|path| path.id).collect();
        let (policies, mut targets) = self.split_policies(now);
        for id in ids {
            policies.replace_controller(id, &mut targets);
        }
        self.sync_protection(now);
    }

    /// Applies what policies ordered when they were told something.
    pub(super) fn apply_commands(&mut self, now: Time) {
        let (policies, mut targets) = self.split_policies(now);
        policies.apply_commands(&mut targets);
    }

    /// The policies, and what they look at and change.
    #[inline]
    pub(super) fn split_policies(&mut self, now: Time) -> (&mut Policies, Targets<'_>) {
        let Connection {
            policies,
            paths,
            streams,
            extensions: Extensions { datagrams, messages, ack_frequencies, repair, .. },
            ..
        } = self;
        (policies, Targets { now, paths, streams, datagrams, messages, ack_frequencies, repair })
    }

    /// Hands messages of the peer's policies to the local ones, as far as they take them; the rest waits for the application.
    #[inline]
    pub(super) fn deliver_messages(&mut self, now: Time) {
        if self.extensions.messages.has_received() {
            self.deliver_received(now);
        }
    }

    #[inline(never)]
    fn deliver_received(&mut self, now: Time) {
        let policies = &mut self.policies;
        while let Some(message) = self.extensions.messages.take_received(|feature| policies.takes(feature)) {
            policies.on_message(now, MessageOrigin::Peer, &message);
        }
        self.apply_commands(now);
    }

    /// Lets the application write about twice what is in flight: less would starve the paths, more would only age.
    pub(super) fn update_send_buffer(&mut self) {
        let window: u64 = self.paths.iter().map(|path| path.recovery.window()).sum();
        self.streams.set_send_buffer_limit(window.saturating_mul(2), self.shares.send_memory.most());
    }
}

/// The path on which the handshake runs.
fn handshake_path(init: &ConnectionInit, controllers: &dyn ControllerFactory, seed: u64) -> Path {
    let mut control = Control::new(PathId::ZERO, ACTIVE_CID_LIMIT);
    let reset_token = init.cids.token(&init.local_cid);
    control.local_cids.insert_from_handshake(IssuedCid { id: init.local_cid, reset_token });
    if let Some(id) = init.preferred_cid {
        control.local_cids.insert_from_handshake(IssuedCid { id, reset_token: init.cids.token(&id) });
    }
    control.remote_cids.set_handshake_cid(init.remote_cid);
    let identity = PathIdentity { path: PathId::ZERO, link: init.link, remote: init.tuple.remote, seed };
    let default_max_ack_delay = Duration::from_millis(25);
    let mut recovery =
        PathRecovery::new(init.now, &identity, controllers, &init.transport, default_max_ack_delay);
    if init.side.is_server() {
        recovery.on_peer_validated_us();
    }
    let mut tuples = Tuples::of_handshake(init.side, init.tuple);
    if init.address_validated {
        tuples.on_handshake_validated();
    }
    let mtu = MtuDiscovery::new(init.transport.initial_mtu, init.transport.max_mtu);
    let mut path = Path::new(control, tuples, recovery, mtu);
    path.link = init.link;
    path
}
