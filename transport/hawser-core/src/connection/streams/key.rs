//! How queues name streams.

use hawser_policy::StreamId;

/// Names a stream in queues without a hash lookup. Slots are used again, ids are not: a key whose id differs from
/// that in its slot is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) slot: u32,
    pub(super) id: StreamId,
}
