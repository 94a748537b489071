//! The end of a connection (RFC 9000 section 10).

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::Time;

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
    /// We closed: answer what arrives with CONNECTION_CLOSE until the time is up (section 10.2.1).
    Closing { reason: CloseReason, until: Time, pending: bool, received: u32, answer_at: u32 },
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

    /// We close. `three_pto` is three times the largest PTO of all paths (draft-ietf-quic-multipath-21 section 3.5).
    pub(crate) fn close(&mut self, now: Time, three_pto: Duration, reason: CloseReason) {
        *self =
            CloseState::Closing { reason, until: now + three_pto, pending: true, received: 0, answer_at: 1 };
    }

    /// The peer closed, or lost its state. `answer`: it is told once that we heard. A period that runs already is not
    /// prolonged (section 10.2).
    pub(crate) fn drain(&mut self, now: Time, three_pto: Duration, answer: bool) {
        match *self {
            CloseState::Open => *self = CloseState::Draining { until: now + three_pto, pending: answer },
            CloseState::Closing { until, .. } => *self = CloseState::Draining { until, pending: false },
            CloseState::Draining { .. } | CloseState::Drained => {}
        }
    }

    /// A packet arrived while closing. Answers get rarer: after 1, 2, 4, 8.. packets (section 10.2.1).
    pub(crate) fn on_packet(&mut self) {
        if let CloseState::Closing { pending, received, answer_at, .. } = self {
            *received += 1;
            if *received >= *answer_at {
                *received = 0;
                *answer_at = answer_at.saturating_mul(2);
                *pending = true;
            }
        }
    }

    /// Whether CONNECTION_CLOSE is to be sent now.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self, CloseState::Closing { pending: true, .. } | CloseState::Draining { pending: true, .. })
    }

    /// The reason to send now, once for each that is pending.
    #[cold]
    pub(crate) fn take_pending(&mut self) -> Option<CloseReason> {
        match self {
            CloseState::Closing { reason, pending, .. } if *pending => {
                *pending = false;
                Some(reason.clone())
            }
            // Section 10.2.2: the answer of the end that did not begin.
            CloseState::Draining { pending, .. } if *pending => {
                *pending = false;
                Some(CloseReason::Transport(TransportError::new(Code::NO_ERROR, "")))
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
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        if self.deadline().is_some_and(|until| now >= until) {
            *self = CloseState::Drained;
            return true;
        }
        false
    }
}

/// The error to report for a close of our own.
pub(crate) fn local_error(reason: &CloseReason) -> ConnectionError {
    match reason {
        CloseReason::Transport(error) => ConnectionError::Transport(error.clone()),
        CloseReason::Application { .. } => ConnectionError::LocallyClosed,
    }
}
