//! The end of a connection (RFC 9000 section 10).

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{PathId, Side, Time};

use crate::{Code, ConnectionError, TransportError};

/// What CONNECTION_CLOSE says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    Transport(TransportError),
    Application { code: u64, reason: Bytes },
}

/// Whether, and how far, a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CloseState {
    /// Alive.
    Open,
    /// We closed: answer what arrives with CONNECTION_CLOSE until the time is up (section 10.2.1). `due`: the paths on which it
    /// is still to be sent, the next one last.
    Closing { reason: CloseReason, until: Time, due: Vec<PathId>, received: u32, answer_at: u32 },
    /// The peer closed, or lost its state: send nothing more (section 10.2.2), except one answer if `pending`.
    Draining { until: Time, pending: bool },
    /// Nothing left to do.
    Drained,
}

/// Longest reason phrase sent; the rest is cut so that the frame fits a packet.
pub(crate) const MAX_REASON_LENGTH: usize = 512;

impl CloseState {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, CloseState::Open)
    }

    /// We close, on these paths. `three_pto` is three times the largest PTO of all paths (draft-ietf-quic-multipath-21 section
    /// 3.5).
    //= multipath-2.6-1: closing and draining last three PTO
    //= rfc9000-10.2-1: closing and draining last three probe timeouts
    pub(crate) fn close(&mut self, now: Time, three_pto: Duration, reason: CloseReason, due: Vec<PathId>) {
        *self = CloseState::Closing { reason, until: now + three_pto, due, received: 0, answer_at: 1 };
    }

    /// The peer closed, or lost its state. `answer`: it is told once that we heard. A period that runs already is not
    /// prolonged (section 10.2).
    //= rfc9000-10.2-1: closing and draining last three probe timeouts
    pub(crate) fn drain(&mut self, now: Time, three_pto: Duration, answer: bool) {
        match *self {
            CloseState::Open => *self = CloseState::Draining { until: now + three_pto, pending: answer },
            CloseState::Closing { until, .. } => *self = CloseState::Draining { until, pending: false },
            CloseState::Draining { .. } | CloseState::Drained => {}
        }
    }

    /// A packet arrived on this path while closing. Answers get rarer: after 1, 2, 4, 8.. packets (section 10.2.1).
    //= rfc9000-10.2.1-1: answers while closing are limited
    //= rfc9000-11.1-2: CONNECTION_CLOSE is sent again if the peer goes on
    pub(crate) fn on_packet(&mut self, path: PathId) {
        if let CloseState::Closing { due, received, answer_at, .. } = self {
            *received += 1;
            if *received >= *answer_at {
                *received = 0;
                *answer_at = answer_at.saturating_mul(2);
                due.retain(|other| *other != path);
                due.push(path);
            }
        }
    }

    /// Whether CONNECTION_CLOSE is to be sent now.
    pub(crate) fn is_pending(&self) -> bool {
        match self {
            CloseState::Closing { due, .. } => !due.is_empty(),
            CloseState::Draining { pending, .. } => *pending,
            CloseState::Open | CloseState::Drained => false,
        }
    }

    /// Whether nothing is to be sent any more, whatever arrives: draining, with no answer pending, or drained.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self, CloseState::Draining { pending: false, .. } | CloseState::Drained)
    }

    /// The reason to send now, once for each that is pending, and on which path; `None`: where the peer was heard last.
    //= rfc9000-10.2.2-1: nothing is sent while draining
    //= rfc9000-10.2.2-2: after one answer to CONNECTION_CLOSE nothing more is sent
    #[cold]
    pub(crate) fn take_pending(&mut self) -> Option<(CloseReason, Option<PathId>)> {
        match self {
            CloseState::Closing { reason, due, .. } => {
                let path = due.pop()?;
                Some((reason.clone(), Some(path)))
            }
            // Section 10.2.2: the answer of the end that did not begin.
            CloseState::Draining { pending, .. } if *pending => {
                *pending = false;
                Some((CloseReason::Transport(TransportError::new(Code::NO_ERROR, "")), None))
            }
            _ => None,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        match self {
            CloseState::Closing { until, .. } | CloseState::Draining { until, .. } => Some(*until),
            CloseState::Open | CloseState::Drained => None,
        }
    }

    /// Whether the connection became drained just now.
    //= rfc9000-10.2-2: closing and draining do not end before three probe timeouts
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        if self.deadline().is_some_and(|until| now >= until) {
            *self = CloseState::Drained;
            return true;
        }
        false
    }
}

/// TLS alerts about certificates: bad_certificate to certificate_unknown, unknown_ca, access_denied (RFC 8446 section 6.2).
const CERTIFICATE_ALERTS: [u8; 7] = [42, 43, 44, 45, 46, 48, 49];

/// What the peer is told. That its certificate was refused is all that it learns of a refusal: it is not known who it is, and the local
/// error says what would have been accepted.
pub(crate) fn for_peer(reason: CloseReason, side: Side) -> CloseReason {
    match reason {
        CloseReason::Transport(error) if CERTIFICATE_ALERTS.map(Code::crypto).contains(&error.code) => {
            let words = match side {
                Side::Client => "the server's certificate is not acceptable",
                Side::Server => "the client's certificate is not acceptable",
            };
            CloseReason::Transport(TransportError { reason: words.into(), ..error })
        }
        other => other,
    }
}

/// The error to report for a close of our own.
pub(crate) fn local_error(reason: &CloseReason) -> ConnectionError {
    match reason {
        CloseReason::Transport(error) => ConnectionError::Transport(error.clone()),
        CloseReason::Application { .. } => ConnectionError::LocallyClosed,
    }
}
