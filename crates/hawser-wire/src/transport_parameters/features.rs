//! Hawser's own extensions, offered in one private parameter as a list of feature ids.

use super::encode::Nested;
use crate::reader::{Reader, UnexpectedEnd};
use crate::writer::{BufferTooShort, Sink};

/// An extension of Hawser's own. Both endpoints have to offer it before its frames may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Feature {
    /// MOBILITY_REPORT frames.
    MobilityReport = 1,
    /// FRAME_FEEDBACK frames.
    FrameFeedback = 2,
    /// STREAM_SKIP frames.
    StreamSkip = 3,
    /// FEC_SOURCE, FEC_REPAIR and FEC_STATUS frames.
    ForwardErasureCorrection = 4,
    /// QOE_FEEDBACK frames.
    QoeFeedback = 5,
    /// SHARED_BOTTLENECK frames.
    SharedBottleneck = 6,
}

impl Feature {
    /// All of them, by id.
    pub const ALL: [Self; 6] = [
        Self::MobilityReport,
        Self::FrameFeedback,
        Self::StreamSkip,
        Self::ForwardErasureCorrection,
        Self::QoeFeedback,
        Self::SharedBottleneck,
    ];

    /// Its id in the parameter.
    pub const fn id(self) -> u64 {
        self as u64
    }

    /// The feature with this id, if known.
    pub fn from_id(id: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.id() == id)
    }
}

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u64);

impl FeatureSet {
    /// The set without features.
    pub const EMPTY: Self = Self(0);

    /// The set and one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u8)
    }

    /// Whether the feature is in the set.
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u8) != 0
    }

    /// Those in both sets: what two endpoints may use.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The features, by id.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.contains(*feature))
    }

    /// Reads a list of ids; unknown ones and repetitions are ignored, so that the list can grow.
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, UnexpectedEnd> {
        let mut set = Self::EMPTY;
        while !r.is_empty() {
            if let Some(feature) = Feature::from_id(r.read_varint()?) {
                set = set.with(feature);
            }
        }
        Ok(set)
    }
}

impl Nested for FeatureSet {
    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        self.iter().try_for_each(|feature| sink.varint(feature.id()))
    }
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::EMPTY, Self::with)
    }
}
