//! Hawser's own extensions, offered in one private parameter as a list of feature ids.

use super::encode::Nested;
use crate::reader::{Reader, UnexpectedEnd};
use crate::varint;
use crate::writer::{BufferTooShort, Sink};

/// Most ids in a [`FeatureSet`]; what a peer lists beyond them is ignored.
pub const MAX_FEATURES: usize = 32;

/// A set of feature ids: what an endpoint offers, or what two of them may use. Ids are those of
/// [`codepoints::private::feature`](crate::codepoints::private::feature), or a policy's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeatureSet {
    /// Ascending and without repetition up to `count`, then zeros.
    ids: [u64; MAX_FEATURES],
    count: u8,
}

impl FeatureSet {
    /// The set without features.
    pub const EMPTY: Self = Self { ids: [0; MAX_FEATURES], count: 0 };

    /// Adds an id; `false` if the set is full, or the id is above 2^62 - 1.
    pub fn insert(&mut self, id: u64) -> bool {
        let Err(at) = self.as_slice().binary_search(&id) else { return true };
        let count = usize::from(self.count);
        if count == MAX_FEATURES || id > varint::MAX {
            return false;
        }
        self.ids.copy_within(at..count, at + 1);
        self.ids[at] = id;
        self.count += 1;
        true
    }

    /// Whether the feature is in the set.
    pub fn contains(&self, id: u64) -> bool {
        self.as_slice().binary_search(&id).is_ok()
    }

    /// Those in both sets: what two endpoints may use.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|id| other.contains(*id)).collect()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.as_slice().iter().copied()
    }

    fn as_slice(&self) -> &[u64] {
        self.ids.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Reads a list of ids. Repetitions are ignored, and so is what is beyond [`MAX_FEATURES`].
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, UnexpectedEnd> {
        let mut set = Self::EMPTY;
        while !r.is_empty() {
            set.insert(r.read_varint()?);
        }
        Ok(set)
    }
}

impl Default for FeatureSet {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl std::fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Nested for FeatureSet {
    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        self.iter().try_for_each(|id| sink.varint(id))
    }
}

impl FromIterator<u64> for FeatureSet {
    /// The first [`MAX_FEATURES`] of them.
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        for id in ids {
            set.insert(id);
        }
        set
    }
}
