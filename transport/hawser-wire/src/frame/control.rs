//! Frames without application data: streams' control, connection IDs, closing, and small extensions.

use std::net::SocketAddr;

use crate::cid::{ConnectionId, StatelessResetToken};

/// Whether both ends or only the opener send on a stream (RFC 9000 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamDirection {
    /// Both ends send.
    Bidirectional,
    /// Only the opener sends.
    Unidirectional,
}

/// The sender gives a stream up (RFC 9000 section 19.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetStream {
    /// The stream meant.
    pub stream_id: u64,
    /// Why; the application's code.
    pub error_code: u64,
    /// Bytes sent on the stream in all.
    pub final_size: u64,
}

/// The sender gives a stream up past a point (draft-ietf-quic-reliable-stream-reset section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetStreamAt {
    /// The stream meant.
    pub stream_id: u64,
    /// Why; the application's code.
    pub error_code: u64,
    /// Bytes sent on the stream in all.
    pub final_size: u64,
    /// Bytes that will still be delivered, at most `final_size`.
    pub reliable_size: u64,
}

/// The receiver no longer wants a stream (RFC 9000 section 19.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopSending {
    /// The stream meant.
    pub stream_id: u64,
    /// Why; the application's code.
    pub error_code: u64,
}

/// A further connection ID to reach the sender with (RFC 9000 section 19.15, draft-ietf-quic-multipath-21 section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewConnectionId {
    /// The path it serves; `None` in a frame without path id, which means path 0.
    pub path_id: Option<u32>,
    /// Its number among those of its path.
    pub sequence_number: u64,
    /// Those of its path below this number are to be retired; at most `sequence_number`.
    pub retire_prior_to: u64,
    /// The connection ID, 1 to 20 bytes.
    pub connection_id: ConnectionId,
    /// Its stateless reset token.
    pub reset_token: StatelessResetToken,
}

/// A connection ID of the receiver will not be used any more (RFC 9000 section 19.16,
/// draft-ietf-quic-multipath-21 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetireConnectionId {
    /// The path it served; `None` in a frame without path id, which means path 0.
    pub path_id: Option<u32>,
    /// Its number among those of its path.
    pub sequence_number: u64,
}

/// The connection ends (RFC 9000 section 19.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionClose<'a> {
    /// By an error of the transport, or none.
    Transport {
        /// A transport error code.
        error_code: u64,
        /// The frame type that caused it, 0 if none or unknown.
        frame_type: u64,
        /// For people; should be UTF-8, need not be.
        reason: &'a [u8],
    },
    /// By the application. Not to be sent in Initial or Handshake packets.
    Application {
        /// The application's code.
        error_code: u64,
        /// For people; should be UTF-8, need not be.
        reason: &'a [u8],
    },
}

impl<'a> ConnectionClose<'a> {
    /// Why the peer closed, in its own words.
    pub const fn reason(&self) -> &'a [u8] {
        match self {
            Self::Transport { reason, .. } | Self::Application { reason, .. } => reason,
        }
    }
}

/// Asks the receiver to acknowledge more or less often (draft-ietf-quic-ack-frequency section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// Rises with every such frame; older ones are ignored.
    pub sequence_number: u64,
    /// Ack-eliciting packets that may arrive without being acknowledged; 0 asks for an ACK for each.
    pub ack_eliciting_threshold: u64,
    /// The new max_ack_delay, in microseconds, less than 2^14 ms.
    pub requested_max_ack_delay: u64,
    /// How far out of order a packet is that elicits an ACK at once; 0 for never.
    pub reordering_threshold: u64,
}

/// How a peer wishes a path to be used (draft-ietf-quic-multipath-21 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStatus {
    /// Free to use.
    Available,
    /// Only when no available path works.
    Backup,
}

/// The address from which the receiver's packets come (draft-ietf-quic-address-discovery section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedAddress {
    /// Rises with every such frame of the connection; older ones are ignored.
    pub sequence_number: u64,
    /// Address and port. IPv6 flow label and scope are not sent.
    pub address: SocketAddr,
}
