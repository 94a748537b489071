//! What the hooks hand over of a packet.

use hawser_wire::{ConnectionId, Version};

use crate::connection::arrival::SpaceId;

/// A packet as it is on the wire but for its protection.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "qlog"), expect(dead_code, reason = "nobody reads it"))]
pub(in crate::connection) struct TracedPacket<'a> {
    pub(in crate::connection) space: SpaceId,
    pub(in crate::connection) number: u64,
    pub(in crate::connection) destination: ConnectionId,
    /// Version and source; 1-RTT packets have none, but 0-RTT packets do.
    pub(in crate::connection) long: Option<(Version, ConnectionId)>,
    /// Bytes, header and tag included.
    pub(in crate::connection) length: usize,
    /// The frames.
    pub(in crate::connection) payload: &'a [u8],
}
