//! A connection as the application holds it.

mod handle;
mod observer;
mod open_path;
mod path_events;
mod scheduler_requests;
mod shared;
mod state;

use std::any::Any;
use std::future::poll_fn;
#[cfg(feature = "qlog")]
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hawser_core::{
    Code, ConnectionError, ConnectionStats, EarlyData, PathError, PathInfo, PathStats, ReceivedDatagram,
    SendDatagramError, SendMessageError, SetControllerError, Version,
};
use hawser_policy::{
    DatagramInfo, Feedback, Message, PathId, PathStatus, PolicyError, PolicySetFactory, PolicySpec, Side,
    StreamId, Time,
};
use tokio::sync::oneshot;

pub(crate) use self::handle::Handle;
pub use self::observer::{ConnectionObserver, ConnectionSample, ConnectionTotals, PathSample};
pub use self::open_path::OpenPathError;
pub(crate) use self::open_path::PathRequest;
pub use self::path_events::{PathEventError, PathEvents};
pub(crate) use self::scheduler_requests::EndpointPolicies;
pub use self::scheduler_requests::{MAX_SCHEDULER_REQUESTS, SchedulerAnswer, SchedulerRequestError};
pub(crate) use self::shared::ConnectionShared;
pub(crate) use self::state::{AttemptError, ConnectionState, Phase};
use crate::code;
use crate::stream::{RecvStream, SendStream};

/// A connection, over as many paths as there are.
///
/// Clones are handles on the same connection. When the last handle, its streams included, is dropped, the connection is
/// closed with code 0; call [`close`](Connection::close) to give a reason.
#[derive(Clone, Debug)]
pub struct Connection(pub(crate) Arc<Handle>);

/// Why keying material could not be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no keying material: the handshake is not complete, or the length asked for is too large")]
pub struct ExportError;

impl Connection {
    pub(crate) fn new(shared: Arc<ConnectionShared>) -> Self {
        Connection(Arc::new(Handle::new(shared)))
    }

    pub(crate) fn shared(&self) -> &Arc<ConnectionShared> {
        self.0.shared()
    }

    fn act<T>(&self, act: impl FnOnce(&mut ConnectionState) -> T) -> T {
        self.0.act(act)
    }

    fn ask<T>(&self, ask: impl FnOnce(&ConnectionState) -> T) -> T {
        ask(&self.shared().lock())
    }

    // Streams

    /// Opens a stream for both directions, as soon as the peer allows one more.
    ///
    /// The peer learns of it with the first byte written.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        let id = poll_fn(|cx| self.poll_open(cx, true)).await?;
        Ok((SendStream::new(self.0.clone(), id), RecvStream::new(self.0.clone(), id)))
    }

    /// Opens a stream for sending, as soon as the peer allows one more.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn open_uni(&self) -> Result<SendStream, ConnectionError> {
        let id = poll_fn(|cx| self.poll_open(cx, false)).await?;
        Ok(SendStream::new(self.0.clone(), id))
    }

    /// Waits for the next stream in both directions that the peer opens.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        poll_fn(|cx| self.poll_accept_bi(cx)).await
    }

    /// Waits for the next stream that the peer opens for sending.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn accept_uni(&self) -> Result<RecvStream, ConnectionError> {
        poll_fn(|cx| self.poll_accept_uni(cx)).await
    }

    /// [`open_bi`](Connection::open_bi) for implementations of other traits.
    pub fn poll_open_bi(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), ConnectionError>> {
        let opened = std::task::ready!(self.poll_open(cx, true));
        Poll::Ready(
            opened.map(|id| (SendStream::new(self.0.clone(), id), RecvStream::new(self.0.clone(), id))),
        )
    }

    /// [`open_uni`](Connection::open_uni) for implementations of other traits.
    pub fn poll_open_uni(&self, cx: &mut Context<'_>) -> Poll<Result<SendStream, ConnectionError>> {
        self.poll_open(cx, false).map_ok(|id| SendStream::new(self.0.clone(), id))
    }

    /// [`accept_bi`](Connection::accept_bi) for implementations of other traits.
    pub fn poll_accept_bi(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), ConnectionError>> {
        let accepted = std::task::ready!(self.poll_accept(cx, true));
        Poll::Ready(
            accepted.map(|id| (SendStream::new(self.0.clone(), id), RecvStream::new(self.0.clone(), id))),
        )
    }

    /// [`accept_uni`](Connection::accept_uni) for implementations of other traits.
    pub fn poll_accept_uni(&self, cx: &mut Context<'_>) -> Poll<Result<RecvStream, ConnectionError>> {
        self.poll_accept(cx, false).map_ok(|id| RecvStream::new(self.0.clone(), id))
    }

    fn poll_open(
        &self,
        cx: &mut Context<'_>,
        bidirectional: bool,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        self.act(|state| {
            if let Some(error) = &state.outcome {
                return Poll::Ready(Err(error.clone()));
            }
            match state.core.open_stream(bidirectional) {
                Some(id) => Poll::Ready(Ok(id)),
                None => {
                    state.wakers.opening(bidirectional).register(cx);
                    Poll::Pending
                }
            }
        })
    }

    fn poll_accept(
        &self,
        cx: &mut Context<'_>,
        bidirectional: bool,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.shared().lock();
        // Streams that arrived before the end are still worth having.
        if let Some(id) = state.core.accept_stream(bidirectional) {
            self.shared().touch(&mut state);
            return Poll::Ready(Ok(id));
        }
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(error.clone()));
        }
        state.wakers.accepting(bidirectional).register(cx);
        Poll::Pending
    }

    // Datagrams

    /// Sends a datagram (RFC 9221) on whichever path the scheduler chooses. It may be lost.
    ///
    /// # Errors
    /// [`SendDatagramError`]; `Blocked` when the send buffer is full, see
    /// [`send_datagram_wait`](Connection::send_datagram_wait).
    pub fn send_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        self.act(|state| state.core.send_datagram(data, None))
    }

    /// Sends a datagram; when the send buffer is full, the oldest datagrams in it give way. For what is worth most when
    /// it is new.
    ///
    /// # Errors
    /// [`SendDatagramError`], but never `Blocked`.
    pub fn send_newest_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        self.act(|state| state.core.send_newest_datagram(data, None))
    }

    /// Sends a datagram on this path.
    ///
    /// # Errors
    /// As [`send_datagram`](Connection::send_datagram).
    pub fn send_datagram_on(&self, data: Bytes, path: PathId) -> Result<(), SendDatagramError> {
        self.act(|state| state.core.send_datagram(data, Some(path)))
    }

    /// Sends a datagram with what the scheduler should know of it: those of higher priority go first, and one whose
    /// deadline passes before it left is dropped. Deadlines are in the time of [`now`](Connection::now).
    ///
    /// # Errors
    /// As [`send_datagram`](Connection::send_datagram).
    pub fn send_datagram_with(&self, data: Bytes, info: &DatagramInfo) -> Result<(), SendDatagramError> {
        self.act(|state| state.core.send_datagram_with(data, info))
    }

    /// The same, but when the send buffer is full, the oldest datagrams of the lowest priority in it give way.
    ///
    /// # Errors
    /// [`SendDatagramError`]; `Blocked` when all that wait are of a higher priority.
    pub fn send_newest_datagram_with(
        &self,
        data: Bytes,
        info: &DatagramInfo,
    ) -> Result<(), SendDatagramError> {
        self.act(|state| state.core.send_newest_datagram_with(data, info))
    }

    /// Sends a datagram as soon as there is room in the send buffer.
    ///
    /// # Errors
    /// [`DatagramError`].
    pub async fn send_datagram_wait(&self, data: Bytes) -> Result<(), DatagramError> {
        poll_fn(|cx| {
            self.act(|state| {
                if let Some(error) = &state.outcome {
                    return Poll::Ready(Err(DatagramError::ConnectionLost(error.clone())));
                }
                match state.core.send_datagram(data.clone(), None) {
                    Err(SendDatagramError::Blocked) => {
                        state.wakers.datagram_writers.register(cx);
                        Poll::Pending
                    }
                    result => Poll::Ready(result.map_err(DatagramError::Send)),
                }
            })
        })
        .await
    }

    /// Waits for the next datagram.
    ///
    /// # Errors
    /// When the connection has ended and all that arrived was read.
    pub async fn read_datagram(&self) -> Result<Bytes, ConnectionError> {
        poll_fn(|cx| self.poll_read_datagram(cx)).await
    }

    /// Waits for the next datagram; says as well whether its packet was marked on the way.
    ///
    /// # Errors
    /// When the connection has ended and all that arrived was read.
    pub async fn read_datagram_as_received(&self) -> Result<ReceivedDatagram, ConnectionError> {
        poll_fn(|cx| self.poll_received_datagram(cx)).await
    }

    /// [`read_datagram`](Connection::read_datagram) for implementations of other traits.
    pub fn poll_read_datagram(&self, cx: &mut Context<'_>) -> Poll<Result<Bytes, ConnectionError>> {
        self.poll_received_datagram(cx).map_ok(|received| received.data)
    }

    fn poll_received_datagram(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<ReceivedDatagram, ConnectionError>> {
        let mut state = self.shared().lock();
        if let Some(datagram) = state.core.read_datagram_as_received() {
            return Poll::Ready(Ok(datagram));
        }
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(error.clone()));
        }
        state.wakers.datagram_readers.register(cx);
        Poll::Pending
    }

    /// The longest datagram that fits on every path now, in bytes; `None` if the peer takes none.
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.ask(|state| state.core.max_datagram_size())
    }

    // Paths and policies

    /// The paths that exist.
    pub fn paths(&self) -> Vec<PathInfo> {
        self.ask(|state| state.core.paths())
    }

    /// The paths that ended, the oldest first, with the addresses that they had last; of very many the latest. What their
    /// state was is not remembered.
    pub fn past_paths(&self) -> Vec<PathInfo> {
        self.ask(|state| state.core.past_paths())
    }

    /// Counters of a path, also of one that is gone.
    pub fn path_stats(&self, path: PathId) -> Option<PathStats> {
        self.ask(|state| state.core.path_stats(path))
    }

    /// What happens to paths and links. It begins with [`Established`](hawser_policy::PathEvent::Established) for each
    /// path that is open already: the second one often is by the time that the task runs which waited for the connection.
    /// A reader that is more than 64 events behind misses the oldest.
    pub fn path_events(&self) -> PathEvents {
        self.shared().lock().subscribe()
    }

    /// Says what a path is to be used for, and tells the peer.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn set_path_status(&self, path: PathId, status: PathStatus) -> Result<(), PathError> {
        let now = self.shared().now();
        self.act(|state| state.core.set_path_status(now, path, status))
    }

    /// Opens one more path, from a local address (port zero: any) to one of the server. It carries data once it is validated
    /// ([`PathEvent::Established`](crate::policy::PathEvent::Established)). If the address belongs to a link of the endpoint, the socket is bound to
    /// that link, as for the path manager's own paths, and the link's budget counts.
    ///
    /// The path manager opens paths over the links that the endpoint was given ([`Links`](crate::Links)) and leaves others alone:
    ///
    /// ```no_run
    /// # use hawser_net::{Connection, policy::PathStatus};
    /// # async fn example(connection: Connection) -> Result<(), Box<dyn std::error::Error>> {
    /// let path = connection.open_path("192.0.2.7:0".parse()?, connection.remote_address(), PathStatus::Backup).await?;
    /// println!("{:?}", connection.path_stats(path));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`OpenPathError`]; only clients open paths, and only once the handshake is [confirmed](Connection::confirmed).
    pub async fn open_path(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        status: PathStatus,
    ) -> Result<PathId, OpenPathError> {
        let (answer, opened) = oneshot::channel();
        self.act(|state| state.request_path(PathRequest { local, remote, status, answer }))?;
        match opened.await {
            Ok(result) => result,
            // The worker drops requests of a connection that ends.
            Err(_) => Err(self.closed().await.into()),
        }
    }

    /// Abandons a path. If its link stays, the path manager opens another one after a while.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn abandon_path(&self, path: PathId) -> Result<(), PathError> {
        let now = self.shared().now();
        self.act(|state| state.core.abandon_path(now, path, Code::APPLICATION_ABANDON_PATH))
    }

    /// Exchanges the scheduler while the connection runs: `ecf,beta=0.5`. The registry is that of the
    /// [endpoint](crate::EndpointBuilder::policies).
    ///
    /// # Errors
    /// [`PolicyError`] names the schedulers and parameters that exist.
    pub fn set_scheduler<S>(&self, spec: S) -> Result<(), PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        self.act(|state| {
            let registry = state.scheduler_requests.registry();
            state.core.set_scheduler(&registry, spec)
        })
    }

    /// Exchanges the congestion controller of the connection while it runs, for all paths and those to come: `cubic,beta=0.8`. The
    /// registry is that of the [endpoint](crate::EndpointBuilder::policies); estimates of the paths are carried over.
    ///
    /// # Errors
    /// [`PolicyError`] names the controllers and parameters that exist.
    pub fn set_controllers<S>(&self, spec: S) -> Result<(), PolicyError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        let now = self.shared().now();
        self.act(|state| {
            let registry = state.scheduler_requests.registry();
            state.core.set_controllers(now, &registry, spec)
        })
    }

    /// Exchanges the congestion controller of one path while it runs: `cubic,beta=0.8`. Paths that open later have that of the
    /// connection ([`set_controllers`](Connection::set_controllers)). The registry is that of the
    /// [endpoint](crate::EndpointBuilder::policies); estimates of the path are carried over.
    ///
    /// # Errors
    /// [`SetControllerError`] names the controllers and parameters that exist.
    pub fn set_controller<S>(&self, path: PathId, spec: S) -> Result<(), SetControllerError>
    where
        S: TryInto<PolicySpec, Error: Into<PolicyError>>,
    {
        let now = self.shared().now();
        self.act(|state| {
            let registry = state.scheduler_requests.registry();
            state.core.set_controller(now, path, &registry, spec)
        })
    }

    /// Asks the peer to use this scheduler for what it sends. The request is on its way before what is written after this
    /// call; the future waits for the answer. Which schedulers a peer may choose is said by
    /// [`EndpointBuilder::allow_schedulers`](crate::EndpointBuilder::allow_schedulers); without it, none.
    ///
    /// # Errors
    /// [`SchedulerRequestError`].
    pub fn request_scheduler(
        &self,
        spec: &PolicySpec,
    ) -> impl Future<Output = Result<SchedulerAnswer, SchedulerRequestError>> + Send + 'static {
        let asked = self.act(|state| state.scheduler_requests.ask(&mut state.core, spec));
        let connection = self.clone();
        async move {
            asked?;
            poll_fn(|cx| connection.poll_scheduler_answer(cx)).await
        }
    }

    fn poll_scheduler_answer(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SchedulerAnswer, SchedulerRequestError>> {
        let mut state = self.shared().lock();
        if let Some(answer) = state.scheduler_requests.take_answer() {
            return Poll::Ready(Ok(answer));
        }
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(error.clone().into()));
        }
        state.wakers.scheduler_answer.register(cx);
        Poll::Pending
    }

    /// Tells the scheduler how well its choices serve the application.
    pub fn feedback(&self, feedback: &Feedback) {
        let now = self.shared().now();
        self.act(|state| state.core.feedback(now, feedback));
    }

    /// Exchanges the whole policy set while the connection runs. Each path gets a controller of the new set, which takes
    /// over its estimates.
    pub fn set_policies(&self, factory: &dyn PolicySetFactory) {
        let now = self.shared().now();
        self.act(|state| state.core.set_policies(now, factory));
    }

    /// Hands a message to the policies of this end, whose agent and scheduler get it as an
    /// [`Event::Message`](hawser_policy::Event::Message) of the application if they asked for messages. Nothing is sent.
    pub fn tell_policies(&self, message: &Message) {
        let now = self.shared().now();
        self.act(|state| state.core.tell_policies(now, message));
    }

    /// Sends a message to the policies of the peer, or to its application if none of them takes it.
    ///
    /// # Errors
    /// [`SendMessageError`], for example if its feature was not negotiated.
    pub fn send_policy_message(&self, message: Message) -> Result<(), SendMessageError> {
        self.act(|state| state.core.send_message(message))
    }

    /// Waits for the next message of policies: those of this end say something to their application by
    /// [`Command::Tell`](hawser_policy::Command::Tell), and messages of the peer's policies that no local one takes come here,
    /// too.
    ///
    /// 64 messages wait from the beginning of the connection, whether anybody reads them or not; beyond that the oldest give
    /// way and are counted ([`policy_messages_missed`](Connection::policy_messages_missed)). (Of more than 64 that a policy
    /// says at once the first are lost before they are counted.) Each message goes to one reader.
    ///
    /// # Errors
    /// When the connection has ended and all that came was read.
    pub async fn read_policy_message(&self) -> Result<Message, ConnectionError> {
        poll_fn(|cx| self.poll_read_policy_message(cx)).await
    }

    /// [`read_policy_message`](Connection::read_policy_message) for implementations of other traits.
    pub fn poll_read_policy_message(&self, cx: &mut Context<'_>) -> Poll<Result<Message, ConnectionError>> {
        let mut state = self.shared().lock();
        if let Some(message) = state.policy_messages.pop_front() {
            return Poll::Ready(Ok(message));
        }
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(error.clone()));
        }
        state.wakers.policy_readers.register(cx);
        Poll::Pending
    }

    /// Messages of policies that gave way to newer ones before anybody read them.
    pub fn policy_messages_missed(&self) -> u64 {
        self.ask(|state| state.policy_messages_missed)
    }

    /// Whether the peer takes streams with gaps, so that frames can be discarded.
    pub fn can_discard(&self) -> bool {
        self.ask(|state| state.core.can_discard())
    }

    /// The present in the connection's own time, in which deadlines of frames are given.
    pub fn now(&self) -> Time {
        self.shared().now()
    }

    /// The QUIC version that it speaks.
    pub fn version(&self) -> Version {
        self.ask(|state| state.core.version())
    }

    /// Whether both ends speak multipath.
    pub fn is_multipath(&self) -> bool {
        self.ask(|state| state.core.is_multipath())
    }

    // About the connection

    /// Its number among all connections that the endpoint ever had, from 1.
    pub fn number(&self) -> u64 {
        self.shared().number()
    }

    /// Totals.
    pub fn stats(&self) -> ConnectionStats {
        self.ask(|state| state.core.stats())
    }

    /// Which end this is.
    pub fn side(&self) -> Side {
        self.ask(|state| state.core.side())
    }

    /// The peer's address on the first path that exists, or where the handshake ran.
    pub fn remote_address(&self) -> SocketAddr {
        self.paths().first().map_or(self.shared().first_tuple().remote, |path| path.tuple.remote)
    }

    /// Negotiated application protocol (ALPN).
    pub fn application_protocol(&self) -> Option<Vec<u8>> {
        self.ask(|state| state.core.application_protocol())
    }

    /// The server name that the client asked for (server).
    pub fn server_name(&self) -> Option<String> {
        self.ask(|state| state.core.server_name())
    }

    /// The peer's certificates: a `Vec<CertificateDer>` with rustls.
    pub fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.ask(|state| state.core.peer_identity())
    }

    /// Fills `output` with keying material that both ends share (RFC 5705).
    ///
    /// # Errors
    /// Before the handshake is complete.
    pub fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        self.ask(|state| state.core.export_keying_material(output, label, context)).map_err(|_| ExportError)
    }

    /// The token that lets the next connection to the same server skip address validation, if the server gave one
    /// (client). For [`ClientConfig::with_token`](crate::ClientConfig::with_token); use it once, and in the same
    /// [`version`](Self::version). `None` if the client keeps its [`sessions`](crate::ClientConfigBuilder::sessions), and its
    /// tokens with them.
    pub fn take_token(&self) -> Option<Vec<u8>> {
        self.shared().lock().token.take()
    }

    /// What the application protocol [remembered](Self::remember) of the server when the connection began (client): 0-RTT keeps
    /// to it. `None` if there is nothing, and without [`early_data`](crate::ClientConfigBuilder::early_data) and
    /// [`sessions`](crate::ClientConfigBuilder::sessions).
    pub fn remembered(&self) -> Option<Vec<u8>> {
        self.ask(|state| state.remembered.clone())
    }

    /// Remembers something of the server for 0-RTT of later connections, with the tickets that it gives, as HTTP/3 does with
    /// SETTINGS (RFC 9114 section 7.2.4.2): at most 512 bytes, for the same application protocol. If it is not what is
    /// remembered already, tickets from before are forgotten: they are for something else. Does nothing at a server, and
    /// without [`sessions`](crate::ClientConfigBuilder::sessions).
    //= rfc9114-7.2.4.2-5: settings are remembered for 0-RTT
    pub fn remember(&self, state: &[u8]) {
        let (sessions, version) = self.ask(|state| (state.sessions.clone(), state.core.version()));
        if let Some(sessions) = sessions {
            sessions.put_application_state(version, state.to_vec());
        }
    }

    /// Writes a trace of the connection (qlog, JSON text sequences) from now on, with addresses as the configuration of the
    /// endpoint says ([`ClientConfigBuilder::qlog_addresses`](crate::ClientConfigBuilder::qlog_addresses)). Pass a [`BufWriter`](std::io::BufWriter)
    /// for a file; records are written one by one. To see a connection from its first packet, set
    /// [`TransportConfig::qlog`](crate::TransportConfig::qlog).
    #[cfg(feature = "qlog")]
    pub fn set_qlog(&self, writer: Box<dyn Write + Send>, title: &str) {
        self.shared().lock().core.set_qlog(writer, title);
    }

    /// Updates the keys (RFC 9001 section 6). Returns whether that was possible now.
    pub fn update_keys(&self) -> bool {
        let now = self.shared().now();
        self.act(|state| state.core.initiate_key_update(now))
    }

    /// Ends the connection at once with an application's code and a reason for people. A code above
    /// [`MAX_APPLICATION_CODE`](crate::MAX_APPLICATION_CODE) is sent as that one, and a warning is logged. Data that was not
    /// acknowledged may be lost: finish streams and wait for [`SendStream::stopped`] first if it matters.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.close(code::at_most(code), Bytes::copy_from_slice(reason));
    }

    /// Waits for the end, from either side.
    pub async fn closed(&self) -> ConnectionError {
        poll_fn(|cx| {
            let mut state = self.shared().lock();
            match &state.outcome {
                Some(outcome) => Poll::Ready(outcome.clone()),
                None => {
                    state.wakers.closed.register(cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// How the connection ended, if it did.
    pub fn close_reason(&self) -> Option<ConnectionError> {
        self.ask(|state| state.outcome.clone())
    }

    /// What became of 0-RTT. While it is [`Offered`](EarlyData::Offered), what a client writes goes out at once; where it is
    /// [`Accepted`](EarlyData::Accepted), what a server reads may have been sent before, by anybody, until the
    /// [handshake is complete](Self::handshake_complete).
    pub fn early_data(&self) -> EarlyData {
        self.ask(|state| state.core.early_data())
    }

    /// Whether the handshake went on from an earlier session, which spares both ends certificates and signatures. False until
    /// it is known.
    pub fn is_resumed(&self) -> bool {
        self.ask(|state| state.core.is_resumed())
    }

    /// Waits for the end of the handshake, and says whether the server took what was sent before (0-RTT). If it did not,
    /// streams are sent again without being asked to, and datagrams are lost.
    ///
    /// # Errors
    /// When the connection ends before.
    pub async fn early_data_accepted(&self) -> Result<bool, ConnectionError> {
        self.handshake_complete().await?;
        Ok(self.early_data() == EarlyData::Accepted)
    }

    /// Whether the handshake is still going on, as it may be on a connection with 0-RTT.
    pub fn is_handshaking(&self) -> bool {
        self.ask(|state| state.phase == Phase::Handshaking)
    }

    /// Waits until the handshake is complete: from then on it is certain that data comes from the peer, and comes once.
    ///
    /// # Errors
    /// When the connection ends before.
    pub async fn handshake_complete(&self) -> Result<(), ConnectionError> {
        self.reached(Phase::Connected).await
    }

    /// Waits until the peer is known to have completed the handshake too. Paths can be opened from then on.
    ///
    /// # Errors
    /// When the connection ends before.
    pub async fn confirmed(&self) -> Result<(), ConnectionError> {
        self.reached(Phase::Confirmed).await
    }

    async fn reached(&self, phase: Phase) -> Result<(), ConnectionError> {
        poll_fn(|cx| {
            let mut state = self.shared().lock();
            if state.phase >= phase {
                return Poll::Ready(Ok(()));
            }
            if let Some(error) = &state.outcome {
                return Poll::Ready(Err(error.clone()));
            }
            state.wait_for_handshake(cx);
            Poll::Pending
        })
        .await
    }
}

/// Why a datagram was not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// It is not possible at all.
    #[error(transparent)]
    Send(SendDatagramError),
    /// The connection has ended.
    #[error("the connection is lost: {0}")]
    ConnectionLost(ConnectionError),
}
