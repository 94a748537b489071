//! How the clocks of both ends differ.

use rustc_hash::FxHashMap;

use crate::trace::{Packet, Trace};

/// Packets of each direction that are looked at.
const LOOKED_AT: usize = 200_000;

/// What must be added to the times of `b` to have those of `a`, in microseconds, taken from the fastest packet in each direction:
/// as if it took the same time both ways. `None` if no packet of one is in the other.
pub(crate) fn offset(a: &Trace, b: &Trace) -> Option<i64> {
    // How much later packets arrived than they were sent, each by its own clock.
    let there = fastest(&a.sent, &b.received)?;
    let back = fastest(&b.sent, &a.received)?;
    Some((back - there) / 2)
}

fn fastest(sent: &[Packet], received: &[Packet]) -> Option<i64> {
    let key = |packet: &Packet| (packet.path, packet.number);
    let sent: FxHashMap<(u64, u64), u64> =
        sent.iter().take(LOOKED_AT).map(|packet| (key(packet), packet.at_us)).collect();
    let received = received.iter().take(LOOKED_AT);
    let delays = received.filter_map(|packet| Some(packet.at_us as i64 - *sent.get(&key(packet))? as i64));
    delays.min()
}
