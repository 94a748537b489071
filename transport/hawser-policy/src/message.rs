//! What policies say to those at the other end, and what these say to them.

use std::fmt;

use crate::PathId;

/// The longest payload of a [`Message`], in bytes: with its frame it fits a datagram of any path.
pub const MAX_MESSAGE_PAYLOAD: usize = 1_000;

/// The most features that a connection offers. What a [`FeatureSet`] holds beyond is not offered.
pub const MAX_FEATURES: usize = 32;

/// Names the kind of a message. Both ends have to list a feature before its messages are sent
/// (`hawser_features`, see `docs/wire.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureId(pub u64);

impl FeatureId {
    /// Forecasts of the links of the end that moves.
    pub const MOBILITY_REPORT: FeatureId = FeatureId(1);
    /// Delay and completeness of video frames, reported to their sender.
    pub const FRAME_FEEDBACK: FeatureId = FeatureId(2);
    /// Not of messages: stream ranges that will never come.
    pub const STREAM_SKIP: FeatureId = FeatureId(3);
    /// Not of messages: erasure codes over stream data.
    pub const ERASURE_CODES: FeatureId = FeatureId(4);
    /// Buffer and rate of the application, reported to its sender.
    pub const QOE_FEEDBACK: FeatureId = FeatureId(5);
    /// Paths that share a bottleneck, as the receiver sees it.
    pub const SHARED_BOTTLENECK: FeatureId = FeatureId(6);
    /// What the receiver wants each path used for.
    pub const PATH_DECISION: FeatureId = FeatureId(7);
    /// Loss as the receiver counts it, per path.
    pub const LOSS_RATE: FeatureId = FeatureId(8);
    /// A wish for the scheduler of the other end, and its answer.
    pub const SCHEDULER_REQUEST: FeatureId = FeatureId(9);
    /// How the receiver wants data protected.
    pub const PROTECTION_ADVICE: FeatureId = FeatureId(10);
    /// Never sent, only told to the application: a learned scheduler was set aside, or restored.
    pub const SCHEDULER_GUARD: FeatureId = FeatureId(11);
    /// State of a path as its sender sees it, reported to the receiver.
    pub const PATH_REPORT: FeatureId = FeatureId(12);
    /// Never sent, only told by the application: what its connection, or a class of its streams, is for.
    pub const MODE: FeatureId = FeatureId(13);
    /// When something else will serve a link of the end that moves, and nothing is carried meanwhile.
    pub const HAND_OVER: FeatureId = FeatureId(14);
    /// Which paths the end that moves pays by volume.
    pub const METERED: FeatureId = FeatureId(15);
    /// From here on ids are free for policies outside of this project. Large random ones do not collide.
    pub const FIRST_FREE: FeatureId = FeatureId(64);
}

impl fmt::Debug for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feature {}", self.0)
    }
}

impl fmt::Display for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Features that an end offers, each once and in order of id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet(Vec<FeatureId>);

impl FeatureSet {
    /// None.
    pub const NONE: FeatureSet = FeatureSet(Vec::new());

    /// This set and one more.
    #[must_use]
    pub fn with(mut self, feature: FeatureId) -> Self {
        if let Err(at) = self.0.binary_search(&feature) {
            self.0.insert(at, feature);
        }
        self
    }

    /// What is in either set.
    #[must_use]
    pub fn union(self, other: &FeatureSet) -> Self {
        other.iter().fold(self, FeatureSet::with)
    }

    /// Whether the feature is in the set.
    pub fn contains(&self, feature: FeatureId) -> bool {
        self.0.binary_search(&feature).is_ok()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The features, by id.
    pub fn iter(&self) -> impl Iterator<Item = FeatureId> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<FeatureId> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = FeatureId>>(features: I) -> Self {
        features.into_iter().fold(FeatureSet::NONE, FeatureSet::with)
    }
}

/// How a message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MessageDelivery {
    /// The newest of its feature and path replaces all older ones that have not arrived; a receiver drops those that
    /// come late. Sent again when it is lost and still the newest.
    #[default]
    Latest,
    /// Sent until it is acknowledged; those of one feature and path arrive in order.
    Reliable,
    /// As `Latest`, but it rides with acknowledgements and draws none. It is not sent again when lost; instead the newest
    /// leaves with three acknowledgements in a row.
    WithAcks,
}

/// A message from the policies of one end to those of the other, or between them and their application.
///
/// The core carries it and does not read it. Encoders and decoders of payloads live with the policies; a decoder must
/// expect anything, since the peer may be anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Its kind. What the payload means is defined by the specification of the feature.
    pub feature: FeatureId,
    /// The path it is about, if it is about one. A message about a path that is gone is not delivered.
    pub path: Option<PathId>,
    /// Rises with every message of this feature, path and delivery. Given by the core; of no meaning in what is sent.
    pub sequence: u64,
    /// How it is delivered.
    pub delivery: MessageDelivery,
    /// Its content, at most [`MAX_MESSAGE_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

impl Message {
    /// A message about the connection as a whole, of which only the newest counts.
    pub fn latest(feature: FeatureId, payload: impl Into<Vec<u8>>) -> Self {
        let payload = payload.into();
        Message { feature, path: None, sequence: 0, delivery: MessageDelivery::Latest, payload }
    }

    /// A message about the connection as a whole, all of which arrive in order.
    pub fn reliable(feature: FeatureId, payload: impl Into<Vec<u8>>) -> Self {
        Message { delivery: MessageDelivery::Reliable, ..Message::latest(feature, payload) }
    }

    /// A message about the connection as a whole that rides with acknowledgements.
    pub fn with_acks(feature: FeatureId, payload: impl Into<Vec<u8>>) -> Self {
        Message { delivery: MessageDelivery::WithAcks, ..Message::latest(feature, payload) }
    }

    /// The same, about one path.
    #[must_use]
    pub fn about(self, path: PathId) -> Self {
        Message { path: Some(path), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_sets_are_ordered_and_hold_each_id_once() {
        let one = FeatureSet::from_iter([FeatureId(9), FeatureId::STREAM_SKIP, FeatureId(9)]);
        let both = one.clone().union(&FeatureSet::NONE.with(FeatureId(4)));
        assert!(one.iter().eq([FeatureId(3), FeatureId(9)]));
        assert!(both.iter().eq([FeatureId(3), FeatureId(4), FeatureId(9)]));
        assert!(both.contains(FeatureId(4)) && !one.contains(FeatureId(4)));
        assert!(FeatureSet::NONE.is_empty() && !one.is_empty());
    }
}
