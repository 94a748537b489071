//! What of a connection belongs together.

use std::collections::VecDeque;

use hawser_policy::Time;
use hawser_wire::ConnectionId;

use super::ack_frequency::AckFrequencies;
use super::arrival::EarlyPackets;
use super::cid_book::CidBook;
use super::datagrams::DatagramQueue;
use super::events::EventQueue;
use super::identity::Identity;
use super::messages::Messages;
use super::parameters::PeerParameters;
use super::receive_times::ReceiveTimes;
use super::repair::Repair;
use super::send_log::SendLog;
use super::stats::ConnectionStats;
use super::trace::tracer::Tracer;
use super::work::Work;
use crate::endpoint::EndpointEvent;
use crate::{receive_memory, send_memory};

/// What the connection may take of what all share: memory of the endpoint, work for the peer.
pub(super) struct Shares {
    pub(super) memory: receive_memory::Share,
    pub(super) send_memory: send_memory::Share,
    pub(super) work: Work,
}

/// Who the two ends are, and what the peer said of itself.
pub(super) struct Ends {
    pub(super) peer: PeerParameters,
    pub(super) identity: Identity,
    pub(super) cids: CidBook,
}

/// What goes beyond paths and streams: each is negotiated.
pub(super) struct Extensions {
    pub(super) datagrams: DatagramQueue,
    pub(super) messages: Messages,
    pub(super) repair: Repair,
    pub(super) receive_times: ReceiveTimes,
    pub(super) ack_frequencies: AckFrequencies,
}

/// How the packets come in.
pub(super) struct Arrival {
    pub(super) early: EarlyPackets,
    /// The connection id to which the packet being processed was sent.
    pub(super) arrived_on: ConnectionId,
    /// When the driver called last.
    pub(super) last_now: Time,
}

/// What the application and the endpoint have not fetched yet.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) events: EventQueue,
    pub(super) endpoint_events: VecDeque<EndpointEvent>,
}

/// What others may see of the connection.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) stats: ConnectionStats,
    pub(super) tracer: Option<Box<Tracer>>,
    /// First sendings of stream data, if somebody wants to know.
    pub(super) send_log: Option<SendLog>,
}
