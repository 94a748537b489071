//! Every number of the wire format, in one place.
//!
//! Draft numbers change: before a release this file is compared with the registries and the drafts.
//! Sources: RFC 9000 sections 18 to 20 and 22, RFC 9221, RFC 9287, RFC 9368, RFC 9369, draft-ietf-quic-multipath-21 (its
//! suggested values), draft-ietf-quic-ack-frequency, draft-ietf-quic-receive-ts-02,
//! draft-ietf-quic-address-discovery, draft-ietf-quic-reliable-stream-reset.

/// QUIC versions.
pub mod version {
    /// Version field of a Version Negotiation packet (RFC 8999 section 6).
    pub const NEGOTIATION: u32 = 0;
    /// QUIC version 1 (RFC 9000).
    pub const V1: u32 = 1;
    /// QUIC version 2 (RFC 9369 section 3.1).
    pub const V2: u32 = 0x6b33_43cf;

    /// A version that no endpoint may support, to exercise version negotiation: `0x?a?a?a?a`
    /// (RFC 9000 section 15). The low nibbles of `seed` are replaced.
    pub const fn reserved(seed: u32) -> u32 {
        (seed & 0xf0f0_f0f0) | 0x0a0a_0a0a
    }
}

/// Frame types.
pub mod frame {
    #![allow(missing_docs, reason = "the names are the registered ones")]

    pub const PADDING: u64 = 0x00;
    pub const PING: u64 = 0x01;
    pub const ACK: u64 = 0x02;
    pub const ACK_ECN: u64 = 0x03;
    pub const RESET_STREAM: u64 = 0x04;
    pub const STOP_SENDING: u64 = 0x05;
    pub const CRYPTO: u64 = 0x06;
    pub const NEW_TOKEN: u64 = 0x07;
    /// First of the eight STREAM types; the low bits are [`STREAM_FIN`], [`STREAM_LEN`] and [`STREAM_OFF`].
    pub const STREAM: u64 = 0x08;
    pub const STREAM_FIN: u64 = 0x01;
    pub const STREAM_LEN: u64 = 0x02;
    pub const STREAM_OFF: u64 = 0x04;
    pub const STREAM_LAST: u64 = 0x0f;
    pub const MAX_DATA: u64 = 0x10;
    pub const MAX_STREAM_DATA: u64 = 0x11;
    pub const MAX_STREAMS_BIDI: u64 = 0x12;
    pub const MAX_STREAMS_UNI: u64 = 0x13;
    pub const DATA_BLOCKED: u64 = 0x14;
    pub const STREAM_DATA_BLOCKED: u64 = 0x15;
    pub const STREAMS_BLOCKED_BIDI: u64 = 0x16;
    pub const STREAMS_BLOCKED_UNI: u64 = 0x17;
    pub const NEW_CONNECTION_ID: u64 = 0x18;
    pub const RETIRE_CONNECTION_ID: u64 = 0x19;
    pub const PATH_CHALLENGE: u64 = 0x1a;
    pub const PATH_RESPONSE: u64 = 0x1b;
    pub const CONNECTION_CLOSE: u64 = 0x1c;
    pub const CONNECTION_CLOSE_APPLICATION: u64 = 0x1d;
    pub const HANDSHAKE_DONE: u64 = 0x1e;
    /// draft-ietf-quic-ack-frequency section 5.
    pub const IMMEDIATE_ACK: u64 = 0x1f;
    /// draft-ietf-quic-reliable-stream-reset section 4.
    pub const RESET_STREAM_AT: u64 = 0x24;
    /// RFC 9221 section 4.
    pub const DATAGRAM: u64 = 0x30;
    pub const DATAGRAM_LEN: u64 = 0x31;
    /// draft-ietf-quic-multipath-21 section 4, as are all types up to [`PATH_CIDS_BLOCKED`].
    pub const PATH_ACK: u64 = 0x3e;
    pub const PATH_ACK_ECN: u64 = 0x3f;
    pub const PATH_ABANDON: u64 = 0x3e75;
    pub const PATH_STATUS_BACKUP: u64 = 0x3e76;
    pub const PATH_STATUS_AVAILABLE: u64 = 0x3e77;
    pub const PATH_NEW_CONNECTION_ID: u64 = 0x3e78;
    pub const PATH_RETIRE_CONNECTION_ID: u64 = 0x3e79;
    pub const MAX_PATH_ID: u64 = 0x3e7a;
    pub const PATHS_BLOCKED: u64 = 0x3e7b;
    pub const PATH_CIDS_BLOCKED: u64 = 0x3e7c;
    /// draft-ietf-quic-ack-frequency section 4.
    pub const ACK_FREQUENCY: u64 = 0xaf;
    /// draft-ietf-quic-address-discovery section 4.1, with an IPv4 address.
    pub const OBSERVED_ADDRESS_IPV4: u64 = 0x9f_81a6;
    pub const OBSERVED_ADDRESS_IPV6: u64 = 0x9f_81a7;
    /// draft-ietf-quic-receive-ts-02 sections 4 and 5.
    pub const ACK_RECEIVE_TIMESTAMPS: u64 = 0x0317_8307;
    pub const ACK_RECEIVE_TIMESTAMPS_ECN: u64 = 0x0317_8308;
    pub const PATH_ACK_RECEIVE_TIMESTAMPS: u64 = 0x0317_8309;
    pub const PATH_ACK_RECEIVE_TIMESTAMPS_ECN: u64 = 0x0317_830a;
    /// Hawser's, as are the next ones; see [`private`](super::private).
    pub const POLICY_MESSAGE: u64 = super::private::POLICY_MESSAGE;
    pub const STREAM_SKIP: u64 = super::private::STREAM_SKIP;
    pub const PROTECTED: u64 = super::private::PROTECTED;
    pub const REPAIR: u64 = super::private::REPAIR;
    pub const RECOVERED: u64 = super::private::RECOVERED;

    /// The registered name of a frame type, for messages and traces.
    pub fn name(frame_type: u64) -> &'static str {
        match frame_type {
            PADDING => "PADDING",
            PING => "PING",
            ACK | ACK_ECN => "ACK",
            RESET_STREAM => "RESET_STREAM",
            STOP_SENDING => "STOP_SENDING",
            CRYPTO => "CRYPTO",
            NEW_TOKEN => "NEW_TOKEN",
            STREAM..=STREAM_LAST => "STREAM",
            MAX_DATA => "MAX_DATA",
            MAX_STREAM_DATA => "MAX_STREAM_DATA",
            MAX_STREAMS_BIDI | MAX_STREAMS_UNI => "MAX_STREAMS",
            DATA_BLOCKED => "DATA_BLOCKED",
            STREAM_DATA_BLOCKED => "STREAM_DATA_BLOCKED",
            STREAMS_BLOCKED_BIDI | STREAMS_BLOCKED_UNI => "STREAMS_BLOCKED",
            NEW_CONNECTION_ID => "NEW_CONNECTION_ID",
            RETIRE_CONNECTION_ID => "RETIRE_CONNECTION_ID",
            PATH_CHALLENGE => "PATH_CHALLENGE",
            PATH_RESPONSE => "PATH_RESPONSE",
            CONNECTION_CLOSE | CONNECTION_CLOSE_APPLICATION => "CONNECTION_CLOSE",
            HANDSHAKE_DONE => "HANDSHAKE_DONE",
            IMMEDIATE_ACK => "IMMEDIATE_ACK",
            RESET_STREAM_AT => "RESET_STREAM_AT",
            DATAGRAM | DATAGRAM_LEN => "DATAGRAM",
            PATH_ACK | PATH_ACK_ECN => "PATH_ACK",
            PATH_ABANDON => "PATH_ABANDON",
            PATH_STATUS_BACKUP => "PATH_STATUS_BACKUP",
            PATH_STATUS_AVAILABLE => "PATH_STATUS_AVAILABLE",
            PATH_NEW_CONNECTION_ID => "PATH_NEW_CONNECTION_ID",
            PATH_RETIRE_CONNECTION_ID => "PATH_RETIRE_CONNECTION_ID",
            MAX_PATH_ID => "MAX_PATH_ID",
            PATHS_BLOCKED => "PATHS_BLOCKED",
            PATH_CIDS_BLOCKED => "PATH_CIDS_BLOCKED",
            ACK_FREQUENCY => "ACK_FREQUENCY",
            OBSERVED_ADDRESS_IPV4 | OBSERVED_ADDRESS_IPV6 => "OBSERVED_ADDRESS",
            ACK_RECEIVE_TIMESTAMPS | ACK_RECEIVE_TIMESTAMPS_ECN => "ACK_RECEIVE_TIMESTAMPS",
            PATH_ACK_RECEIVE_TIMESTAMPS | PATH_ACK_RECEIVE_TIMESTAMPS_ECN => "PATH_ACK_RECEIVE_TIMESTAMPS",
            POLICY_MESSAGE => "POLICY_MESSAGE",
            STREAM_SKIP => "STREAM_SKIP",
            PROTECTED => "PROTECTED",
            REPAIR => "REPAIR",
            RECOVERED => "RECOVERED",
            _ => "unknown frame",
        }
    }
}

/// Transport parameter identifiers.
pub mod transport_parameter {
    #![allow(missing_docs, reason = "the names are the registered ones")]

    pub const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
    pub const MAX_IDLE_TIMEOUT: u64 = 0x01;
    pub const STATELESS_RESET_TOKEN: u64 = 0x02;
    pub const MAX_UDP_PAYLOAD_SIZE: u64 = 0x03;
    pub const INITIAL_MAX_DATA: u64 = 0x04;
    pub const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
    pub const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
    pub const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
    pub const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
    pub const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
    pub const ACK_DELAY_EXPONENT: u64 = 0x0a;
    pub const MAX_ACK_DELAY: u64 = 0x0b;
    pub const DISABLE_ACTIVE_MIGRATION: u64 = 0x0c;
    pub const PREFERRED_ADDRESS: u64 = 0x0d;
    pub const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
    pub const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
    pub const RETRY_SOURCE_CONNECTION_ID: u64 = 0x10;
    /// RFC 9368 section 3.
    pub const VERSION_INFORMATION: u64 = 0x11;
    /// draft-ietf-quic-reliable-stream-reset section 3.
    pub const RESET_STREAM_AT: u64 = 0x1d;
    /// RFC 9221 section 3.
    pub const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
    /// draft-ietf-quic-multipath-21 section 2.1.
    pub const INITIAL_MAX_PATH_ID: u64 = 0x3e;
    /// RFC 9287 section 3.
    pub const GREASE_QUIC_BIT: u64 = 0x2ab2;
    /// draft-ietf-quic-receive-ts-02 section 6. Mind that both numbers are of the [`reserved`] form.
    pub const MAX_RECEIVE_TIMESTAMPS_PER_ACK: u64 = 0x4_ac07;
    pub const RECEIVE_TIMESTAMPS_EXPONENT: u64 = 0x4_ac26;
    /// draft-ietf-quic-ack-frequency section 3.
    pub const MIN_ACK_DELAY: u64 = 0xff04_de1b;
    /// draft-ietf-quic-address-discovery section 3.
    pub const ADDRESS_DISCOVERY: u64 = 0x9f81_a176;
    /// Hawser's: the list of private features an endpoint offers, see [`private`](super::private).
    pub const HAWSER_FEATURES: u64 = super::private::FEATURES_PARAMETER;

    /// Identifier number `n` of those reserved for exercising ignorance of the unknown, `31 * n + 27`
    /// (RFC 9000 section 18.1). `n` is taken modulo the number of such identifiers; the two that the draft of receive
    /// timestamps took give way to the next free one.
    pub const fn reserved(n: u64) -> u64 {
        let last = (crate::varint::MAX - 27) / 31;
        match 31 * (n % (last + 1)) + 27 {
            MAX_RECEIVE_TIMESTAMPS_PER_ACK | RECEIVE_TIMESTAMPS_EXPONENT => RECEIVE_TIMESTAMPS_EXPONENT + 31,
            id => id,
        }
    }

    /// The registered name of a parameter, for messages and traces.
    pub fn name(id: u64) -> &'static str {
        match id {
            ORIGINAL_DESTINATION_CONNECTION_ID => "original_destination_connection_id",
            MAX_IDLE_TIMEOUT => "max_idle_timeout",
            STATELESS_RESET_TOKEN => "stateless_reset_token",
            MAX_UDP_PAYLOAD_SIZE => "max_udp_payload_size",
            INITIAL_MAX_DATA => "initial_max_data",
            INITIAL_MAX_STREAM_DATA_BIDI_LOCAL => "initial_max_stream_data_bidi_local",
            INITIAL_MAX_STREAM_DATA_BIDI_REMOTE => "initial_max_stream_data_bidi_remote",
            INITIAL_MAX_STREAM_DATA_UNI => "initial_max_stream_data_uni",
            INITIAL_MAX_STREAMS_BIDI => "initial_max_streams_bidi",
            INITIAL_MAX_STREAMS_UNI => "initial_max_streams_uni",
            ACK_DELAY_EXPONENT => "ack_delay_exponent",
            MAX_ACK_DELAY => "max_ack_delay",
            DISABLE_ACTIVE_MIGRATION => "disable_active_migration",
            PREFERRED_ADDRESS => "preferred_address",
            ACTIVE_CONNECTION_ID_LIMIT => "active_connection_id_limit",
            INITIAL_SOURCE_CONNECTION_ID => "initial_source_connection_id",
            RETRY_SOURCE_CONNECTION_ID => "retry_source_connection_id",
            VERSION_INFORMATION => "version_information",
            RESET_STREAM_AT => "reset_stream_at",
            MAX_DATAGRAM_FRAME_SIZE => "max_datagram_frame_size",
            INITIAL_MAX_PATH_ID => "initial_max_path_id",
            GREASE_QUIC_BIT => "grease_quic_bit",
            MAX_RECEIVE_TIMESTAMPS_PER_ACK => "max_receive_timestamps_per_ack",
            RECEIVE_TIMESTAMPS_EXPONENT => "receive_timestamps_exponent",
            MIN_ACK_DELAY => "min_ack_delay",
            ADDRESS_DISCOVERY => "address_discovery",
            HAWSER_FEATURES => "hawser_features",
            _ => "unknown parameter",
        }
    }
}

/// Transport error codes (RFC 9000 section 20.1).
pub mod error {
    #![allow(missing_docs, reason = "the names are the registered ones")]

    pub const NO_ERROR: u64 = 0x00;
    pub const INTERNAL_ERROR: u64 = 0x01;
    pub const CONNECTION_REFUSED: u64 = 0x02;
    pub const FLOW_CONTROL_ERROR: u64 = 0x03;
    pub const STREAM_LIMIT_ERROR: u64 = 0x04;
    pub const STREAM_STATE_ERROR: u64 = 0x05;
    pub const FINAL_SIZE_ERROR: u64 = 0x06;
    pub const FRAME_ENCODING_ERROR: u64 = 0x07;
    pub const TRANSPORT_PARAMETER_ERROR: u64 = 0x08;
    pub const CONNECTION_ID_LIMIT_ERROR: u64 = 0x09;
    pub const PROTOCOL_VIOLATION: u64 = 0x0a;
    pub const INVALID_TOKEN: u64 = 0x0b;
    pub const APPLICATION_ERROR: u64 = 0x0c;
    pub const CRYPTO_BUFFER_EXCEEDED: u64 = 0x0d;
    pub const KEY_UPDATE_ERROR: u64 = 0x0e;
    pub const AEAD_LIMIT_REACHED: u64 = 0x0f;
    pub const NO_VIABLE_PATH: u64 = 0x10;
    /// RFC 9368 section 10.2.
    pub const VERSION_NEGOTIATION_ERROR: u64 = 0x11;
    /// draft-ietf-quic-multipath-21 section 4.2.1, as are the next three.
    pub const APPLICATION_ABANDON_PATH: u64 = 0x3e;
    pub const PATH_RESOURCE_LIMIT_REACHED: u64 = 0x3e75;
    pub const PATH_UNSTABLE_OR_POOR: u64 = 0x3e76;
    pub const NO_CID_AVAILABLE_FOR_PATH: u64 = 0x3e77;
    /// Base of the 256 codes that carry a TLS alert.
    pub const CRYPTO_ERROR: u64 = 0x0100;

    /// The error code that carries TLS alert `alert`.
    pub const fn crypto(alert: u8) -> u64 {
        CRYPTO_ERROR + alert as u64
    }

    /// The registered name of an error code, for messages and traces.
    pub fn name(code: u64) -> &'static str {
        match code {
            NO_ERROR => "NO_ERROR",
            INTERNAL_ERROR => "INTERNAL_ERROR",
            CONNECTION_REFUSED => "CONNECTION_REFUSED",
            FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
            STREAM_LIMIT_ERROR => "STREAM_LIMIT_ERROR",
            STREAM_STATE_ERROR => "STREAM_STATE_ERROR",
            FINAL_SIZE_ERROR => "FINAL_SIZE_ERROR",
            FRAME_ENCODING_ERROR => "FRAME_ENCODING_ERROR",
            TRANSPORT_PARAMETER_ERROR => "TRANSPORT_PARAMETER_ERROR",
            CONNECTION_ID_LIMIT_ERROR => "CONNECTION_ID_LIMIT_ERROR",
            PROTOCOL_VIOLATION => "PROTOCOL_VIOLATION",
            INVALID_TOKEN => "INVALID_TOKEN",
            APPLICATION_ERROR => "APPLICATION_ERROR",
            CRYPTO_BUFFER_EXCEEDED => "CRYPTO_BUFFER_EXCEEDED",
            KEY_UPDATE_ERROR => "KEY_UPDATE_ERROR",
            AEAD_LIMIT_REACHED => "AEAD_LIMIT_REACHED",
            NO_VIABLE_PATH => "NO_VIABLE_PATH",
            VERSION_NEGOTIATION_ERROR => "VERSION_NEGOTIATION_ERROR",
            APPLICATION_ABANDON_PATH => "APPLICATION_ABANDON_PATH",
            PATH_RESOURCE_LIMIT_REACHED => "PATH_RESOURCE_LIMIT_REACHED",
            PATH_UNSTABLE_OR_POOR => "PATH_UNSTABLE_OR_POOR",
            NO_CID_AVAILABLE_FOR_PATH => "NO_CID_AVAILABLE_FOR_PATH",
            0x0100..=0x01ff => "CRYPTO_ERROR",
            _ => "unknown error",
        }
    }
}

/// Hawser's own numbers.
///
/// The registries have no private-use range, so these are one block, chosen
/// once, of values that take a four-byte varint, far from anything registered, and not of the form
/// `31 * n + 27`. The block is `0x28a7_5e00..=0x28a7_5eff`; parameter and frames share its prefix.
///
/// A frame of the block may be sent only when both endpoints listed its feature in
/// [`FEATURES_PARAMETER`](private::FEATURES_PARAMETER). The frame numbers are reserved here so that they never move; a
/// number without a decoder is an unknown frame like any other.
pub mod private {
    /// Transport parameter: a sequence of varints, the ids of the features offered. Unknown ids are ignored.
    pub const FEATURES_PARAMETER: u64 = 0x28a7_5e00;

    /// A message from policy to policy; it names the feature that it belongs to.
    pub const POLICY_MESSAGE: u64 = 0x28a7_5e10;
    /// A stream range that will never come, so that the reader need not wait. Feature [`feature::STREAM_SKIP`].
    pub const STREAM_SKIP: u64 = 0x28a7_5e30;
    /// Stream data is protected from here on. Feature [`feature::ERASURE_CODES`].
    pub const PROTECTED: u64 = 0x28a7_5e40;
    /// Repair symbol of stream data. Feature [`feature::ERASURE_CODES`].
    pub const REPAIR: u64 = 0x28a7_5e41;
    /// Stream data that was brought back by repair symbols. Feature [`feature::ERASURE_CODES`].
    pub const RECOVERED: u64 = 0x28a7_5e42;

    /// Feature ids. Those with a payload of POLICY_MESSAGE have no frame of their own.
    pub mod feature {
        /// Link forecasts from the peer that moves: payloads of POLICY_MESSAGE.
        pub const MOBILITY_REPORT: u64 = 1;
        /// Delay and completeness of video frames, reported to their sender: payloads of POLICY_MESSAGE.
        pub const FRAME_FEEDBACK: u64 = 2;
        /// STREAM_SKIP frames.
        pub const STREAM_SKIP: u64 = 3;
        /// PROTECTED, REPAIR and RECOVERED frames.
        pub const ERASURE_CODES: u64 = 4;
        /// Buffer and rate of the application, reported to its sender: payloads of POLICY_MESSAGE.
        pub const QOE_FEEDBACK: u64 = 5;
        /// Which paths share a bottleneck, as the receiver sees it: payloads of POLICY_MESSAGE.
        pub const SHARED_BOTTLENECK: u64 = 6;
        /// Which path the receiver wants used for what: payloads of POLICY_MESSAGE.
        pub const PATH_DECISION: u64 = 7;
        /// Loss as the receiver counts it, per path: payloads of POLICY_MESSAGE.
        pub const LOSS_RATE: u64 = 8;
        /// A wish for the scheduler of the other end, and its answer: payloads of POLICY_MESSAGE.
        pub const SCHEDULER_REQUEST: u64 = 9;
        /// How the receiver wants data protected: payloads of POLICY_MESSAGE.
        pub const PROTECTION_ADVICE: u64 = 10;
        /// Not on the wire: tells the application that a learned scheduler was set aside, or restored.
        pub const SCHEDULER_GUARD: u64 = 11;
        /// State of a path as its sender sees it, reported to the receiver: payloads of POLICY_MESSAGE.
        pub const PATH_REPORT: u64 = 12;
        /// Not on the wire: the application tells its policies what a connection, or a class of streams, is for.
        pub const MODE: u64 = 13;
        /// From here on ids are free for policies outside of this project. Two that do not know of each other should
        /// choose large random ones.
        pub const FIRST_FREE: u64 = 64;
    }
}
