//! What the standards say of each frame apart from its bytes (RFC 9000 table 3 and its successors).

use super::{ConnectionClose, Frame, MessageDelivery};
use crate::packet::PacketType;

impl Frame<'_> {
    /// Whether a packet with this frame has to be acknowledged (RFC 9000 section 13.2).
    //= rfc9000-19.21-3: frames of extensions are congestion controlled and acknowledged
    #[inline]
    pub const fn is_ack_eliciting(&self) -> bool {
        match self {
            Self::Padding(_) | Self::Ack(_) | Self::ConnectionClose(_) => false,
            // Hawser's: a message that rides with acknowledgements draws none.
            Self::PolicyMessage(message) => !matches!(message.delivery, MessageDelivery::WithAcks),
            _ => true,
        }
    }

    /// Whether a packet of only such frames probes a path rather than migrates to it (RFC 9000 section 9.1).
    ///
    /// PATH_NEW_CONNECTION_ID counts as NEW_CONNECTION_ID does; OBSERVED_ADDRESS says so itself.
    #[inline]
    pub const fn is_probing(&self) -> bool {
        matches!(
            self,
            Self::Padding(_)
                | Self::PathChallenge(_)
                | Self::PathResponse(_)
                | Self::NewConnectionId(_)
                | Self::ObservedAddress(_)
        )
    }

    /// Whether the frame may be in a packet of this type. Elsewhere it is a PROTOCOL_VIOLATION.
    //= multipath-4-1: frames of multipath are in 1-RTT packets
    //= rfc9000-12.4-3: frames out of their packet type: PROTOCOL_VIOLATION
    //= rfc9000-12.5-1: CONNECTION_CLOSE of an application is in the application data space only
    //= rfc9221-5-3: DATAGRAM is in 0-RTT or 1-RTT packets
    //= rfc9221-6-1: DATAGRAM is encrypted like STREAM
    #[inline]
    pub const fn allowed_in(&self, packet: PacketType) -> bool {
        match packet {
            PacketType::OneRtt => true,
            PacketType::Initial | PacketType::Handshake => self.allowed_in_handshake(),
            PacketType::ZeroRtt => self.allowed_in_early_data(),
            PacketType::Retry | PacketType::VersionNegotiation => false,
        }
    }

    //= rfc9000-12.5-2: frames that are not for all spaces are in the application data space only
    //= rfc9000-17.2.4-1: other frames in Handshake packets: PROTOCOL_VIOLATION
    const fn allowed_in_handshake(&self) -> bool {
        match self {
            Self::Padding(_)
            | Self::Ping
            | Self::Crypto(_)
            | Self::ConnectionClose(ConnectionClose::Transport { .. }) => true,
            // Only the plain ACK: the others are for 1-RTT packets.
            Self::Ack(ack) => ack.path_id.is_none() && ack.receive_timestamps.is_none(),
            _ => false,
        }
    }

    //= rfc9001-8.3-2: CRYPTO in 0-RTT packets is a violation
    //= rfc9001-9.2-4: protocol extensions say how they behave under replay
    const fn allowed_in_early_data(&self) -> bool {
        match self {
            // RFC 9000 section 12.5: these answer the server, or come only from it.
            Self::Ack(_)
            | Self::Crypto(_)
            | Self::HandshakeDone
            | Self::NewToken(_)
            | Self::PathResponse(_)
            | Self::RetireConnectionId(_) => false,
            // draft-ietf-quic-multipath-21 section 4: only in 1-RTT packets.
            Self::NewConnectionId(frame) => frame.path_id.is_none(),
            Self::PathAbandon { .. }
            | Self::PathStatus { .. }
            | Self::MaxPathId(_)
            | Self::PathsBlocked(_)
            | Self::PathCidsBlocked { .. } => false,
            // draft-ietf-quic-ack-frequency section 3: min_ack_delay is not remembered.
            Self::AckFrequency(_) | Self::ImmediateAck => false,
            // Hawser's: hawser_features is not remembered either.
            Self::PolicyMessage(_)
            | Self::StreamSkip(_)
            | Self::Protected
            | Self::Repair(_)
            | Self::Recovered(_) => false,
            _ => true,
        }
    }
}
