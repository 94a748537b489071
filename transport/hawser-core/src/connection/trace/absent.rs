//! In place of `tracer` where the feature `qlog` is off: nothing begins a trace, so the hooks compile to nothing.

use hawser_policy::{PathId, Time};
use hawser_wire::{ConnectionId, TransportParameters, Version};

use super::packet::TracedPacket;
use crate::connection::arrival::SpaceId;
use crate::connection::close::CloseReason;
use crate::connection::paths::life_cycle::{LifeEvent, Move};
use crate::connection::paths::path::Path;
use crate::connection::recovery::{PacketKind, SentPacket};
use crate::connection::stats::ConnectionStats;
use crate::{ConnectionError, Versions};

/// What no value can be of.
#[derive(Debug)]
pub(in crate::connection) enum Tracer {}

/// The methods that hooks call.
macro_rules! never_called {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl Tracer {
            $(pub(in crate::connection) fn $name(&self, $($argument: $type),*) $(-> $result)? {
                $(let _ = $argument;)*
                match *self {}
            })*
        }
    };
}

never_called! {
    fn version(now: Time, ours: &Versions, chosen: Version);
    fn parameters(now: Time, initiator: &str, parameters: &TransportParameters);
    fn packet_sent(now: Time, packet: &TracedPacket<'_>, kind: PacketKind);
    fn packet_received(now: Time, packet: &TracedPacket<'_>, exponent: u8);
    fn retry_received(now: Time, version: Version, source: &ConnectionId, length: usize);
    fn packet_dropped(now: Time, packet: (Option<SpaceId>, Option<u64>), length: usize, trigger: &str);
    fn packet_buffered(now: Time, space: SpaceId, length: usize);
    fn packets_acked(now: Time, space: SpaceId, packets: &[SentPacket]);
    fn packet_lost(now: Time, space: SpaceId, packet: &SentPacket, trigger: Option<&str>);
    fn keys(now: Time, level: &str, phase: Option<u64>, trigger: &str);
    fn keys_discarded(now: Time, level: &str);
    fn application_protocol(now: Time, chosen: &[u8]);
    fn state(now: Time, state: &'static str);
    fn state_is(state: &str) -> bool;
    fn closed_locally(now: Time, reason: &CloseReason);
    fn closed(now: Time, error: &ConnectionError);
    fn flush();
    fn path_moved(now: Time, id: PathId, moved: Move, event: LifeEvent);
    fn path_changed(now: Time, path: &Path);
    fn path_settled(now: Time, path: &Path, acked: &[SentPacket], lost: &[SentPacket]);
    fn stream_bytes(now: Time, stats: &ConnectionStats, is_end: bool);
}
