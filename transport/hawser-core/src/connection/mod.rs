//! One connection: its parts, the calls of the application, and who talks to whom.
//!
//! [`Connection`] owns the parts and dispatches; it has no algorithms of its own.
//!
//! | file | subject |
//! |---|---|
//! | `handshake` | TLS, keys, the Initial and Handshake levels |
//! | `zero_rtt`, `remembered` | data in the client's first flight, and the limits that it keeps to |
//! | `paths` | path ids, addresses, validation, connection ids, datagram size |
//! | `recovery` | what was sent, what arrived, how much may follow |
//! | `receive_times`, `ack_frequency` | one-way delays; how often acknowledgements are wanted |
//! | `streams`, `datagrams`, `metadata` | application data |
//! | `messages` | what policies say to those of the peer |
//! | `repair`, `protection` | erasure codes: the part, and what it has to do with the others |
//! | `policies` | the policy set: what it sees, is asked and orders |
//! | `version` | in which version the connection speaks, and how that is agreed on |
//! | `identity`, `server_frames`, `cid_book`, `idle` | who the ends are, what a server says, ids for the endpoint, silence |
//! | `arrival`, `receive`, `frames_in`, `acks` | from a datagram to the parts |
//! | `packet_room`, `contents`, `plan`, `build`, `frames_out` | from the parts to datagrams: first decide, then write |
//! | `handshake_progress`, `key_updates`, `multipath`, `timers` | what happens over time |
//! | `close`, `closing` | the end |
//! | `events`, `stats`, `send_log`, `trace` | what the outside sees |
//!
//! Most packets are alike: stream data one way, acknowledgements the other. Functions that these do not need are `#[cold]`,
//! or not inlined where an application may need them all the time, so that those on the way of every packet stay small: they
//! are more than the first level of a processor's instruction cache holds as it is.

pub(crate) mod ack_frequency;
mod acks;
mod api;
mod arrival;
mod build;
mod cid_book;
pub(crate) mod close;
mod closing;
mod contents;
pub(crate) mod datagrams;
pub(crate) mod events;
pub(crate) mod frames;
mod frames_in;
mod frames_out;
pub(crate) mod handshake;
mod handshake_progress;
mod held_up;
mod identity;
mod idle;
pub(crate) mod init;
mod key_updates;
mod link_traffic;
pub(crate) mod messages;
mod metadata;
mod multipath;
mod packet_room;
pub(crate) mod parameters;
mod parts;
pub(crate) mod paths;
mod plan;
mod policies;
mod protection;
#[cfg(feature = "qlog")]
pub(crate) mod qlog;
pub(crate) mod range_set;
mod receive;
pub(crate) mod receive_times;
pub(crate) mod recovery;
pub(crate) mod remembered;
pub(crate) mod repair;
mod send_log;
mod server_frames;
pub(crate) mod stats;
pub(crate) mod streams;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
pub(crate) mod version;
pub(crate) mod work;
mod zero_rtt;

use std::sync::Arc;

use hawser_policy::{Sibling, Side};
use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use self::close::CloseState;
use self::handshake::Handshake;
use self::idle::IdleTimer;
use self::parts::{Arrival, Ends, Extensions, Observed, Outbox, Shares};
use self::paths::set::PathSet;
use self::paths::validation::ValidationPacer;
use self::policies::Policies;
use self::recovery::SentPacket;
use self::server_frames::ServerFrames;
use self::streams::Streams;
use self::zero_rtt::ZeroRtt;
#[cfg(feature = "qlog")]
use crate::EndpointConfig;
use crate::TransportConfig;

pub use self::api::SetControllerError;
pub use self::events::Event;
pub use self::link_traffic::LinkTrafficMeter;
pub use self::multipath::PathError;
#[cfg(feature = "qlog")]
pub use self::qlog::{QlogAddresses, QlogConnection, QlogFactory};
pub use self::send_log::FirstSend;
pub use self::zero_rtt::EarlyData;

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
    #[cfg(feature = "qlog")]
    endpoint: Arc<EndpointConfig>,
    rng: ChaCha8Rng,
    shares: Shares,

    handshake: Handshake,
    zero_rtt: ZeroRtt,
    server_frames: ServerFrames,
    ends: Ends,
    closing: CloseState,
    idle: IdleTimer,

    paths: PathSet,
    validation_pacer: ValidationPacer,
    streams: Streams,
    extensions: Extensions,
    policies: Policies,

    arrival: Arrival,
    outbox: Outbox,
    observed: Observed,
    scratch: Scratch,
}

impl Connection {
    /// A random number.
    pub(super) fn next_random(&mut self) -> u64 {
        self.rng.next_u64()
    }
}
