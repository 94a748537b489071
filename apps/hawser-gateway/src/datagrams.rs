//! What the scheduler is told of a packet in a datagram.

use hawser_masque::flows::Class;
use hawser_net::policy::DatagramInfo;

/// The class of real-time packets, for schedulers that give a class a mode of its own (`modes:class=1`).
pub const REAL_TIME_CLASS: u32 = 1;

/// Real-time packets go before all others.
pub(crate) fn info(class: Class) -> DatagramInfo {
    match class {
        Class::RealTime => DatagramInfo { class: REAL_TIME_CLASS, priority: 1, ..DatagramInfo::default() },
        Class::Bulk => DatagramInfo::default(),
    }
}
