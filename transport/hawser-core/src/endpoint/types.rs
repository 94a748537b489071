//! What crosses the border between endpoint, connections and driver.

use std::net::SocketAddr;

use bytes::BytesMut;
use hawser_policy::Time;
use hawser_wire::{ConnectionId, StatelessResetToken, Version};

use super::Incoming;
use crate::{Ecn, FourTuple, TransportError};

/// Names a connection of an endpoint. Reused some time after [`EndpointEvent::Drained`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle(pub usize);

/// One received UDP datagram.
///
/// A driver that received several in one buffer (GRO) splits them off without copying.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Where it came in and where from.
    pub tuple: FourTuple,
    /// The ECN field of its IP packet; `None` for Not-ECT or unknown.
    pub ecn: Option<Ecn>,
    /// When it was received.
    pub received_at: Time,
    /// The UDP payload; packets are opened in place.
    pub payload: BytesMut,
}

/// UDP datagrams to send, whose bytes are in the buffer that the caller gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Which socket sends it, and to where.
    pub tuple: FourTuple,
    /// The ECN field to set; `None` for Not-ECT.
    pub ecn: Option<Ecn>,
    /// Bytes in the buffer.
    pub size: usize,
    /// If the buffer holds several datagrams: the size of each but the last, which may be smaller (GSO).
    pub segment_size: Option<usize>,
}

/// A datagram that the endpoint itself answers with, on behalf of no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatelessDatagram {
    /// Where it goes.
    pub transmit: Transmit,
    /// The UDP payload, `transmit.size` bytes.
    pub bytes: Vec<u8>,
}

impl StatelessDatagram {
    pub(super) fn new(tuple: FourTuple, bytes: Vec<u8>) -> Self {
        let transmit = Transmit { tuple, ecn: None, size: bytes.len(), segment_size: None };
        StatelessDatagram { transmit, bytes }
    }
}

/// For whom a datagram is.
#[derive(Debug)]
pub enum Routed {
    /// For [`Connection::handle_datagram`](crate::Connection::handle_datagram) of this connection. It may also be a
    /// stateless reset for it, addressed to a connection id that nobody knows.
    Connection(ConnectionHandle, Datagram),
    /// The first of a new connection, to be accepted, refused, sent a Retry or ignored.
    Incoming(Incoming),
}

/// What a connection tells its endpoint, from [`Connection::poll_endpoint_event`](crate::Connection).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// Datagrams to this connection id are for the connection.
    CidAdded(ConnectionId),
    /// They no longer are.
    CidRemoved(ConnectionId),
    /// A datagram from `remote` that ends in `token` is a stateless reset of the connection
    /// (RFC 9000 section 10.3.1).
    ResetTokenAdded {
        /// Where we send packets with the connection id that the token belongs to.
        remote: SocketAddr,
        /// The token.
        token: StatelessResetToken,
    },
    /// It no longer is.
    ResetTokenRemoved {
        /// As in `ResetTokenAdded`.
        remote: SocketAddr,
        /// The token.
        token: StatelessResetToken,
    },
    /// The handshake is complete: the connection counts no longer as one in the handshake.
    HandshakeDone,
    /// The connection is over and forgotten: the endpoint drops all that it knows of it. The last event.
    Drained,
}

/// Why a connection could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Nothing can be sent there.
    #[error("cannot connect to {0}: it lacks an address or a port")]
    InvalidRemote(SocketAddr),
    /// The version to begin with is none of those offered.
    #[error("QUIC version {0} is to be the first, but not among those offered")]
    FirstVersion(Version),
    /// TLS refused to start, as for an invalid server name.
    #[error("TLS cannot start: {}", .0.reason)]
    Tls(TransportError),
}

/// Why an incoming connection could not be accepted.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct AcceptError {
    /// The reason.
    pub reason: AcceptErrorReason,
    /// Tells the client; to be sent if present.
    pub response: Option<Box<StatelessDatagram>>,
}

/// See [`AcceptError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptErrorReason {
    /// The application took longer than [`Incoming::LIFETIME`] to decide.
    #[error("the incoming connection was not accepted in time")]
    Expired,
    /// The endpoint has no server configuration and none was given.
    #[error("the endpoint has no server configuration")]
    NoServerConfig,
    /// The configuration given does not speak the version with which the client began.
    #[error("the server configuration does not speak QUIC version {0}, with which the client began")]
    Version(Version),
}

/// The client has answered a Retry already and accepts no second one (RFC 9000 section 17.2.5.2).
#[derive(Debug, thiserror::Error)]
#[error("the client at {} has answered a Retry already", .0.remote_address())]
pub struct RetryError(pub Box<Incoming>);
