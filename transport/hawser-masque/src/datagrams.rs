//! What the scheduler is told of a packet in a datagram.

use std::time::Duration;

use hawser_policy::{DatagramInfo, PathId, Time};

use crate::flows::Class;

/// The class of real-time packets, for schedulers that give a class a mode of its own (`modes:class=1`).
pub const REAL_TIME_CLASS: u32 = 1;
/// A copy that has not left after this is of no use: the original has arrived, or the application has given it up.
const COPY_PATIENCE: Duration = Duration::from_millis(200);

/// Real-time packets go before all others.
pub fn info(class: Class) -> DatagramInfo {
    match class {
        Class::RealTime => DatagramInfo::default().with(|info| {
            info.class = REAL_TIME_CLASS;
            info.priority = 1;
        }),
        Class::Bulk => DatagramInfo::default(),
    }
}

/// One of two copies of a real-time packet, on this path.
pub fn copy(now: Time, path: PathId) -> DatagramInfo {
    info(Class::RealTime).with(|info| {
        info.path = Some(path);
        info.deadline = Some(now + COPY_PATIENCE);
    })
}
