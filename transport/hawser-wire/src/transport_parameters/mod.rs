//! Transport parameters (RFC 9000 section 18): what an endpoint tells its peer of itself during the handshake.

mod decode;
mod encode;
mod error;
mod features;
mod preferred_address;
mod version_information;

use crate::cid::{ConnectionId, StatelessResetToken};

pub use error::{TransportParameterError, TransportParameterProblem};
pub use features::{FeatureSet, MAX_FEATURES};
pub use preferred_address::PreferredAddress;
pub use version_information::{MAX_AVAILABLE_VERSIONS, VersionInformation};

/// Who sent the parameters: some are for servers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The endpoint that opened the connection.
    Client,
    /// The endpoint that accepted it.
    Server,
}

/// What an endpoint wants to do with address observations (draft-ietf-quic-address-discovery section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddressDiscovery {
    /// Provides them, does not want any.
    Provide,
    /// Wants them, provides none.
    Receive,
    /// Both.
    ProvideAndReceive,
}

/// A parameter without meaning, sent so that peers keep ignoring what they do not know (RFC 9000 section 18.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedParameter<'a> {
    /// Which of the reserved identifiers `31 * n + 27`.
    pub n: u64,
    /// Any bytes.
    pub value: &'a [u8],
}

/// The transport parameters of one endpoint.
///
/// A parameter that may be absent, and whose absence differs from every value, is an `Option`; others have the
/// default that the standard gives them when absent, and are left out when they have it. Integers without a stated
/// range go up to 2^62 - 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportParameters {
    /// The destination connection ID of the client's first Initial packet. Server only.
    pub original_destination_connection_id: Option<ConnectionId>,
    /// Milliseconds of silence after which the connection is given up; 0 for never.
    pub max_idle_timeout: u64,
    /// The reset token of the connection ID used in the handshake. Server only.
    pub stateless_reset_token: Option<StatelessResetToken>,
    /// The longest UDP payload it takes, in bytes; at least 1200, 65527 if absent.
    pub max_udp_payload_size: u64,
    /// Bytes that may be sent to it on the connection at first.
    pub initial_max_data: u64,
    /// Bytes that may be sent to it at first on a bidirectional stream that it opened.
    pub initial_max_stream_data_bidi_local: u64,
    /// Bytes that may be sent to it at first on a bidirectional stream that its peer opened.
    pub initial_max_stream_data_bidi_remote: u64,
    /// Bytes that may be sent to it at first on a unidirectional stream.
    pub initial_max_stream_data_uni: u64,
    /// Bidirectional streams that its peer may open at first; at most 2^60.
    pub initial_max_streams_bidi: u64,
    /// Unidirectional streams that its peer may open at first; at most 2^60.
    pub initial_max_streams_uni: u64,
    /// Its ACK Delay fields count in 2^n microseconds; at most 20, 3 if absent.
    pub ack_delay_exponent: u8,
    /// Milliseconds by which it delays acknowledgements at most; less than 2^14, 25 if absent.
    pub max_ack_delay: u16,
    /// Its peer must not move to another address while sending to its handshake address.
    pub disable_active_migration: bool,
    /// Where the client should go after the handshake. Server only.
    pub preferred_address: Option<PreferredAddress>,
    /// Connection IDs that it stores, per path where multipath is in use; at least 2, 2 if absent.
    pub active_connection_id_limit: u64,
    /// The source connection ID of its first Initial packet. Always sent in versions 1 and 2.
    pub initial_source_connection_id: Option<ConnectionId>,
    /// The source connection ID of the Retry packet, if one was sent. Server only.
    pub retry_source_connection_id: Option<ConnectionId>,
    /// Its version, and others that it could use; `None` if it does not negotiate versions (RFC 9368).
    pub version_information: Option<VersionInformation>,
    /// The longest DATAGRAM frame it takes, with type and length, in bytes; 0 for none (RFC 9221).
    pub max_datagram_frame_size: u64,
    /// It takes packets whose fixed bit is not set (RFC 9287).
    pub grease_quic_bit: bool,
    /// The largest path id it allows at first, which also offers multipath; `None` for no multipath
    /// (draft-ietf-quic-multipath-21 section 2.1).
    pub initial_max_path_id: Option<u32>,
    /// Microseconds that it needs at least to delay an acknowledgement on request, at most its `max_ack_delay`; `None`
    /// if it takes no ACK_FREQUENCY frames (draft-ietf-quic-ack-frequency section 3).
    pub min_ack_delay: Option<u64>,
    /// Receive timestamps that it wants per acknowledgement at most; `None` for none
    /// (draft-ietf-quic-receive-ts-02 section 6).
    pub max_receive_timestamps_per_ack: Option<u64>,
    /// The timestamps sent to it count in 2^n microseconds; at most 20, 0 if absent. Means nothing, and is not sent,
    /// without `max_receive_timestamps_per_ack`.
    pub receive_timestamps_exponent: u8,
    /// What it does with address observations; `None` for nothing.
    pub address_discovery: Option<AddressDiscovery>,
    /// It takes RESET_STREAM_AT frames (draft-ietf-quic-reliable-stream-reset section 3).
    pub reset_stream_at: bool,
    /// Which of Hawser's own extensions it offers; `None` if it does not know of them.
    pub features: Option<FeatureSet>,
}

impl Default for TransportParameters {
    /// The values that absent parameters have.
    fn default() -> Self {
        Self {
            original_destination_connection_id: None,
            max_idle_timeout: 0,
            stateless_reset_token: None,
            max_udp_payload_size: Self::DEFAULT_MAX_UDP_PAYLOAD_SIZE,
            initial_max_data: 0,
            initial_max_stream_data_bidi_local: 0,
            initial_max_stream_data_bidi_remote: 0,
            initial_max_stream_data_uni: 0,
            initial_max_streams_bidi: 0,
            initial_max_streams_uni: 0,
            ack_delay_exponent: Self::DEFAULT_ACK_DELAY_EXPONENT,
            max_ack_delay: Self::DEFAULT_MAX_ACK_DELAY,
            disable_active_migration: false,
            preferred_address: None,
            active_connection_id_limit: Self::DEFAULT_ACTIVE_CONNECTION_ID_LIMIT,
            initial_source_connection_id: None,
            retry_source_connection_id: None,
            version_information: None,
            max_datagram_frame_size: 0,
            grease_quic_bit: false,
            initial_max_path_id: None,
            min_ack_delay: None,
            max_receive_timestamps_per_ack: None,
            receive_timestamps_exponent: 0,
            address_discovery: None,
            reset_stream_at: false,
            features: None,
        }
    }
}

impl TransportParameters {
    /// `max_udp_payload_size` if absent, in bytes.
    pub const DEFAULT_MAX_UDP_PAYLOAD_SIZE: u64 = 65_527;
    /// `ack_delay_exponent` if absent.
    pub const DEFAULT_ACK_DELAY_EXPONENT: u8 = 3;
    /// `max_ack_delay` if absent, in milliseconds.
    pub const DEFAULT_MAX_ACK_DELAY: u16 = 25;
    /// `active_connection_id_limit` if absent.
    pub const DEFAULT_ACTIVE_CONNECTION_ID_LIMIT: u64 = 2;
}

#[cfg(test)]
mod tests;
