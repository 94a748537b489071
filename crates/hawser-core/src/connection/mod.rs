//! One connection: its parts, the calls of the application, and who talks to whom.
//!
//! [`Connection`] owns the parts and dispatches; it has no algorithms of its own.
//!
//! | file | subject |
//! |---|---|
//! | `handshake` | TLS, keys, the Initial and Handshake levels |
//! | `paths` | path ids, addresses, validation, connection ids, datagram size |
//! | `recovery` | what was sent, what arrived, how much may follow |
//! | `receive_times`, `ack_frequency` | one-way delays; how often acknowledgements are wanted |
//! | `streams`, `datagrams`, `metadata` | application data |
//! | `messages` | what policies say to those of the peer |
//! | `policies` | the policy set: what it sees, is asked and orders |
//! | `receive`, `frames_in`, `acks` | from a datagram to the parts |
//! | `plan`, `build`, `frames_out` | from the parts to datagrams: first decide, then write |
//! | `multipath`, `lifetime`, `timers`, `close` | what happens over time |
//! | `events`, `stats`, `send_log`, `trace` | what the outside sees |
//!
//! Most packets are alike: stream data one way, acknowledgements the other. Functions that these do not need are `#[cold]`,
//! or not inlined where an application may need them all the time, so that those on the way of every packet stay small: they
//! are more than the first level of a processor's instruction cache holds as it is.

pub(crate) mod ack_frequency;
mod acks;
mod api;
mod build;
pub(crate) mod close;
pub(crate) mod datagrams;
pub(crate) mod events;
pub(crate) mod frames;
mod frames_in;
mod frames_out;
pub(crate) mod handshake;
pub(crate) mod init;
mod lifetime;
pub(crate) mod messages;
mod metadata;
mod multipath;
pub(crate) mod parameters;
pub(crate) mod paths;
mod plan;
mod policies;
mod receive;
pub(crate) mod receive_times;
pub(crate) mod recovery;
mod send_log;
pub(crate) mod stats;
pub(crate) mod streams;
#[cfg(test)]
mod tests;
mod timers;
mod trace;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{Sibling, Side, Time};
use hawser_wire::{ConnectionId, StatelessResetToken};
use rand_chacha::ChaCha8Rng;

use self::ack_frequency::AckFrequencies;
use self::close::CloseState;
use self::datagrams::DatagramQueue;
use self::events::EventQueue;
use self::handshake::Handshake;
use self::messages::Messages;
use self::parameters::PeerParameters;
use self::paths::CidChange;
use self::paths::set::PathSet;
use self::paths::validation::ValidationPacer;
use self::policies::Policies;
use self::receive::EarlyPacket;
use self::receive_times::ReceiveTimes;
use self::recovery::SentPacket;
use self::send_log::SendLog;
use self::stats::ConnectionStats;
use self::streams::Streams;
use self::trace::Tracer;
use crate::crypto::ClientFactory;
use crate::endpoint::{CidIssuer, EndpointEvent, TokenIssuer};
use crate::{EndpointConfig, TransportConfig};

pub use self::events::Event;
pub use self::multipath::PathError;
pub use self::send_log::FirstSend;
pub use self::trace::{QlogConnection, QlogFactory};

/// Lists that live from call to call so that a steady connection allocates nothing.
#[derive(Default)]
struct Scratch {
    acked: Vec<SentPacket>,
    lost: Vec<SentPacket>,
    siblings: Vec<Sibling>,
}

/// The whole state of one connection.
///
/// A driver feeds it with [`handle_datagram`](Self::handle_datagram) and [`handle_timeout`](Self::handle_timeout),
/// and after either drains [`poll_transmit`](Self::poll_transmit), [`poll_event`](Self::poll_event),
/// [`poll_endpoint_event`](Self::poll_endpoint_event) and reads [`poll_timeout`](Self::poll_timeout).
pub struct Connection {
    side: Side,
    transport: Arc<TransportConfig>,
    endpoint: Arc<EndpointConfig>,
    rng: ChaCha8Rng,

    handshake: Handshake,
    paths: PathSet,
    streams: Streams,
    datagrams: DatagramQueue,
    messages: Messages,
    receive_times: ReceiveTimes,
    ack_frequencies: AckFrequencies,
    closing: CloseState,
    events: EventQueue,
    endpoint_events: VecDeque<EndpointEvent>,
    stats: ConnectionStats,
    tracer: Option<Box<Tracer>>,

    policies: Policies,
    scratch: Scratch,

    /// Whether both ends speak multipath.
    multipath: bool,
    peer: PeerParameters,
    cids: CidIssuer,
    cid_changes: Vec<CidChange>,
    /// Stateless reset tokens that the endpoint watches for, and where they would come from.
    reset_tokens: Vec<(StatelessResetToken, SocketAddr)>,
    validation_pacer: ValidationPacer,
    /// Probe timeout of a path without samples.
    initial_pto: Duration,

    /// Where the peer was during the handshake.
    handshake_remote: SocketAddr,
    /// Our connection id in long headers.
    handshake_cid: ConnectionId,
    /// What the client's first Initial was sent to.
    original_destination: ConnectionId,
    /// The server's id from a Retry packet.
    retry_source: Option<ConnectionId>,
    /// The server's id from its first Initial.
    server_source: Option<ConnectionId>,
    /// Token for Initial packets (client).
    token: Vec<u8>,
    /// To check a Retry and begin anew (client).
    client: Option<Arc<dyn ClientFactory>>,
    /// Makes NEW_TOKEN tokens (server).
    token_issuer: Option<TokenIssuer>,
    tokens_owed: u32,
    handshake_done_owed: bool,

    early_packets: Vec<EarlyPacket>,
    early_keys_arrived: bool,
    /// The connection id to which the packet being processed was sent.
    arrived_on: ConnectionId,

    idle_timeout: Option<Duration>,
    idle_since: Time,
    /// Whether an ack-eliciting packet left since the last one received.
    idle_armed_by_send: bool,
    last_handshake_activity: Time,
    /// The peer abandoned the last path: how long another one is waited for.
    no_path_deadline: Option<Time>,
    /// When a keep-alive was last sent, or would have been.
    last_keep_alive: Time,
    /// Whether memory of busier times was given back since something last arrived.
    shrunk: bool,
    last_now: Time,
    /// First sendings of stream data, if somebody wants to know.
    send_log: Option<SendLog>,
}
