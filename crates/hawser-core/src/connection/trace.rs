//! What a connection tells those who study it.

use hawser_policy::{PathEvent, PathId, Time};

use super::Connection;
use super::receive::{Arrival, SpaceId};
use super::recovery::SentPacket;

/// Takes events down.
pub(crate) struct Tracer;

impl Connection {
    #[inline]
    pub(super) fn trace_sent(&mut self, _now: Time, _space: SpaceId, _packet: &SentPacket) {}

    #[inline]
    pub(super) fn trace_received(&mut self, _arrival: Arrival, _space: SpaceId, _number: u64) {}

    #[inline]
    pub(super) fn trace_settled(
        &mut self,
        _now: Time,
        _space: SpaceId,
        _acked: &[SentPacket],
        _lost: &[SentPacket],
    ) {
    }

    #[inline]
    pub(super) fn trace_path(&mut self, _now: Time, _id: PathId, _event: &PathEvent) {}
}
