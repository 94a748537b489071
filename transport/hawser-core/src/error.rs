use std::borrow::Cow;
use std::fmt;

use hawser_wire::{Version, varint};

use crate::{Printable, Versions};

/// A transport error code (RFC 9000 section 20.1, draft-ietf-quic-multipath-21 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u64);

/// The largest error code of an application, 2^62 - 1: codes are variable-length integers (RFC 9000 section 20.2).
pub const MAX_APPLICATION_CODE: u64 = varint::MAX;

impl Code {
    /// No error.
    pub const NO_ERROR: Code = Code(0x0);
    /// Implementation error.
    pub const INTERNAL_ERROR: Code = Code(0x1);
    /// Server refuses the connection.
    pub const CONNECTION_REFUSED: Code = Code(0x2);
    /// More data than flow control allows.
    pub const FLOW_CONTROL_ERROR: Code = Code(0x3);
    /// Too many streams.
    pub const STREAM_LIMIT_ERROR: Code = Code(0x4);
    /// Frame received in a stream state that does not permit it.
    pub const STREAM_STATE_ERROR: Code = Code(0x5);
    /// The final size of a stream changed or was exceeded.
    pub const FINAL_SIZE_ERROR: Code = Code(0x6);
    /// Badly formatted frame.
    pub const FRAME_ENCODING_ERROR: Code = Code(0x7);
    /// Bad transport parameters.
    pub const TRANSPORT_PARAMETER_ERROR: Code = Code(0x8);
    /// More connection ids than the limit allows.
    pub const CONNECTION_ID_LIMIT_ERROR: Code = Code(0x9);
    /// Any other protocol violation.
    pub const PROTOCOL_VIOLATION: Code = Code(0xa);
    /// A client Initial had an invalid token.
    pub const INVALID_TOKEN: Code = Code(0xb);
    /// The application closed during the handshake.
    pub const APPLICATION_ERROR: Code = Code(0xc);
    /// Too much CRYPTO data buffered.
    pub const CRYPTO_BUFFER_EXCEEDED: Code = Code(0xd);
    /// Errors in key updates.
    pub const KEY_UPDATE_ERROR: Code = Code(0xe);
    /// Too many packets failed authentication.
    pub const AEAD_LIMIT_REACHED: Code = Code(0xf);
    /// No path can carry packets.
    pub const NO_VIABLE_PATH: Code = Code(0x10);
    /// RFC 9368 section 10.2.
    pub const VERSION_NEGOTIATION_ERROR: Code = Code(0x11);
    /// The application abandons a path (draft-ietf-quic-multipath-21 section 4.8).
    pub const APPLICATION_ABANDON_PATH: Code = Code(0x3e);
    /// No resources for another path.
    pub const PATH_RESOURCE_LIMIT_REACHED: Code = Code(0x3e75);
    /// The path does not work well enough.
    pub const PATH_UNSTABLE_OR_POOR: Code = Code(0x3e76);
    /// No connection id for the path.
    pub const NO_CID_AVAILABLE_FOR_PATH: Code = Code(0x3e77);
    /// Base of TLS alerts.
    pub const CRYPTO_ERROR: Code = Code(0x100);
    /// TLS alert missing_extension: a handshake without transport parameters (RFC 9001 section 8.2).
    pub(crate) const MISSING_EXTENSION: Code = Code::crypto(109);

    /// The code for a TLS alert (RFC 9001 section 4.8).
    pub const fn crypto(alert: u8) -> Code {
        Code(0x100 | alert as u64)
    }

    pub(crate) fn name(self) -> Option<&'static str> {
        Some(match self {
            Code::NO_ERROR => "NO_ERROR",
            Code::INTERNAL_ERROR => "INTERNAL_ERROR",
            Code::CONNECTION_REFUSED => "CONNECTION_REFUSED",
            Code::FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
            Code::STREAM_LIMIT_ERROR => "STREAM_LIMIT_ERROR",
            Code::STREAM_STATE_ERROR => "STREAM_STATE_ERROR",
            Code::FINAL_SIZE_ERROR => "FINAL_SIZE_ERROR",
            Code::FRAME_ENCODING_ERROR => "FRAME_ENCODING_ERROR",
            Code::TRANSPORT_PARAMETER_ERROR => "TRANSPORT_PARAMETER_ERROR",
            Code::CONNECTION_ID_LIMIT_ERROR => "CONNECTION_ID_LIMIT_ERROR",
            Code::PROTOCOL_VIOLATION => "PROTOCOL_VIOLATION",
            Code::INVALID_TOKEN => "INVALID_TOKEN",
            Code::APPLICATION_ERROR => "APPLICATION_ERROR",
            Code::CRYPTO_BUFFER_EXCEEDED => "CRYPTO_BUFFER_EXCEEDED",
            Code::KEY_UPDATE_ERROR => "KEY_UPDATE_ERROR",
            Code::AEAD_LIMIT_REACHED => "AEAD_LIMIT_REACHED",
            Code::NO_VIABLE_PATH => "NO_VIABLE_PATH",
            Code::VERSION_NEGOTIATION_ERROR => "VERSION_NEGOTIATION_ERROR",
            Code::APPLICATION_ABANDON_PATH => "APPLICATION_ABANDON_PATH",
            Code::PATH_RESOURCE_LIMIT_REACHED => "PATH_RESOURCE_LIMIT_REACHED",
            Code::PATH_UNSTABLE_OR_POOR => "PATH_UNSTABLE_OR_POOR",
            Code::NO_CID_AVAILABLE_FOR_PATH => "NO_CID_AVAILABLE_FOR_PATH",
            _ => return None,
        })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.0) {
            (Some(name), _) => f.write_str(name),
            (None, 0x100..=0x1ff) => write!(f, "TLS alert {}", self.0 & 0xff),
            (None, code) => write!(f, "error {code:#x}"),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A violation that closes the connection: what CONNECTION_CLOSE (type 0x1c) carries.
//= rfc9000-19.19-1: reasons of CONNECTION_CLOSE are UTF-8
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// The code.
    pub code: Code,
    /// Type of the frame that caused it, if one did.
    pub frame: Option<u64>,
    /// What was wrong, for people.
    pub reason: Cow<'static, str>,
}

impl TransportError {
    /// An error without a frame.
    pub fn new(code: Code, reason: impl Into<Cow<'static, str>>) -> Self {
        TransportError { code, frame: None, reason: reason.into() }
    }

    /// The same error with the type of the frame that caused it.
    #[must_use]
    pub fn in_frame(mut self, frame_type: u64) -> Self {
        self.frame = Some(frame_type);
        self
    }

    /// PROTOCOL_VIOLATION.
    pub fn protocol_violation(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::PROTOCOL_VIOLATION, reason)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(frame) = self.frame {
            write!(f, " in frame type {frame:#x}")?;
        }
        if !self.reason.is_empty() {
            write!(f, ": {}", Printable::new(&*self.reason))?;
        }
        Ok(())
    }
}

impl std::error::Error for TransportError {}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The server speaks none of our versions.
    #[error("the server speaks none of our QUIC versions ({ours}), but {}", display_versions(.theirs))]
    VersionMismatch {
        /// Those that we would have spoken.
        ours: Versions,
        /// Numbers of the server's versions, the first few.
        theirs: Vec<u32>,
    },
    /// We closed because the peer broke the protocol or TLS failed.
    #[error("closed by us: {0}")]
    Transport(TransportError),
    /// The peer's transport closed.
    #[error("closed by the peer's transport: {0}")]
    PeerTransport(TransportError),
    /// The peer's application closed.
    #[error("closed by the peer: code {code}{}", display_reason(.reason))]
    PeerApplication {
        /// The application's code.
        code: u64,
        /// The application's words.
        reason: bytes::Bytes,
    },
    /// The peer lost its state (RFC 9000 section 10.3).
    #[error("the peer no longer knows this connection (stateless reset)")]
    Reset,
    /// Nothing heard for the idle timeout.
    #[error("timed out: nothing was heard from the peer")]
    TimedOut,
    /// Our application closed.
    #[error("closed by this side")]
    LocallyClosed,
}

fn display_versions(numbers: &[u32]) -> String {
    let text = |number: &u32| match Version::from_number(*number) {
        Some(version) => version.to_string(),
        None => format!("{number:#010x}"),
    };
    numbers.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn display_reason(reason: &bytes::Bytes) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", Printable::new(reason)) }
}
