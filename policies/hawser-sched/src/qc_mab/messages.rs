//! What the ends say to each other: the payloads of [`FeatureId::PATH_DECISION`] and [`FeatureId::PATH_REPORT`].

use std::time::Duration;

use hawser_policy::{FeatureId, Message, PathId};

/// What the receiver wants of a path from now on.
///
/// ```text
/// PATH_DECISION Payload {
///   Decision Id (32),
///   Flags (8),              0x01: protect the path
///   Gamma (16),             share of base-layer packets that should be in time, in thousandths
///   Deadline (32),          within which, in microseconds
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathDecision {
    /// Rises with each decision about the path.
    pub id: u32,
    /// Whether data is to be protected.
    pub fec: bool,
    /// Share of packets that should be in time, in thousandths.
    pub gamma: u16,
    /// Within which time.
    pub deadline: Duration,
}

const DECISION_LENGTH: usize = 11;
const FEC: u8 = 1;

impl PathDecision {
    /// The message about a path; it rides with acknowledgements.
    pub fn message(&self, path: PathId) -> Message {
        let mut payload = Vec::with_capacity(DECISION_LENGTH);
        payload.extend(self.id.to_be_bytes());
        payload.push(if self.fec { FEC } else { 0 });
        payload.extend(self.gamma.min(1_000).to_be_bytes());
        payload.extend(micros(self.deadline).to_be_bytes());
        Message::with_acks(FeatureId::PATH_DECISION, payload).about(path)
    }

    /// Reads a payload; `None` if it is malformed.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; DECISION_LENGTH] = payload.try_into().ok()?;
        let gamma = u16::from_be_bytes([bytes[5], bytes[6]]);
        (bytes[4] <= FEC && gamma <= 1_000).then(|| PathDecision {
            id: word(bytes, 0),
            fec: bytes[4] == FEC,
            gamma,
            deadline: Duration::from_micros(word(bytes, 7).into()),
        })
    }
}

/// A path as its sender sees it.
///
/// ```text
/// PATH_REPORT Payload {
///   Congestion Window (32),   bytes
///   In Flight (32),           bytes, the most since the last report
///   Smoothed RTT (32),        microseconds
///   Flags (8),                0x01: the application had no more to send
///   Loss Event Rate (32),     millionths (RFC 5348 section 5)
///   Newest Frame (32),        of which data was sent on the path
///   Decision (64) ...,        up to 4, the oldest first
/// }
/// Decision {
///   Decision Id (32),
///   First Frame (32),         that was sent under it
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathReport {
    /// Congestion window, bytes.
    pub window: u32,
    /// The most in flight since the last report, bytes.
    pub in_flight: u32,
    /// Smoothed round-trip time.
    pub round_trip: Duration,
    /// Whether the application had no more to send.
    pub app_limited: bool,
    /// Loss event rate, in millionths.
    pub loss_ppm: u32,
    /// The newest frame of which data was sent on the path.
    pub newest_frame: u32,
    /// Decisions, and the first frame that was sent under each; the oldest first.
    pub decisions: [Option<(u32, u32)>; PathReport::MAX_DECISIONS],
}

const REPORT_HEAD: usize = 21;
const APP_LIMITED: u8 = 1;

impl PathReport {
    /// Decisions of a report: what is missed in one is in the next.
    pub const MAX_DECISIONS: usize = 4;

    /// The message about a path.
    pub fn message(&self, path: PathId) -> Message {
        let mut payload = Vec::with_capacity(REPORT_HEAD + 8 * Self::MAX_DECISIONS);
        for value in [self.window, self.in_flight, micros(self.round_trip)] {
            payload.extend(value.to_be_bytes());
        }
        payload.push(if self.app_limited { APP_LIMITED } else { 0 });
        for value in [self.loss_ppm, self.newest_frame] {
            payload.extend(value.to_be_bytes());
        }
        for (id, frame) in self.decisions.iter().flatten() {
            payload.extend(id.to_be_bytes());
            payload.extend(frame.to_be_bytes());
        }
        Message::latest(FeatureId::PATH_REPORT, payload).about(path)
    }

    /// Reads a payload; `None` if it is malformed in any part.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let (head, rest) = payload.split_at_checked(REPORT_HEAD)?;
        let is_sound = rest.len() % 8 == 0
            && rest.len() <= 8 * Self::MAX_DECISIONS
            && head[12] <= APP_LIMITED
            && word(head, 13) <= 1_000_000;
        if !is_sound {
            return None;
        }
        let mut decisions = [None; Self::MAX_DECISIONS];
        for (entry, bytes) in decisions.iter_mut().zip(rest.chunks_exact(8)) {
            *entry = Some((word(bytes, 0), word(bytes, 4)));
        }
        Some(PathReport {
            window: word(head, 0),
            in_flight: word(head, 4),
            round_trip: Duration::from_micros(word(head, 8).into()),
            app_limited: head[12] == APP_LIMITED,
            loss_ppm: word(head, 13),
            newest_frame: word(head, 17),
            decisions,
        })
    }

    /// The decision under which a frame was sent: the newest one that began with it or before.
    pub fn decision_of(&self, frame: u32) -> Option<u32> {
        self.decisions.iter().flatten().rfind(|(_, first)| *first <= frame).map(|(id, _)| *id)
    }
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// Four bytes at a place that was checked to be there.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk().copied());
    word.map_or(0, u32::from_be_bytes)
}
