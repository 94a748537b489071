//! What the kernel knows of the access point that an interface is associated with: nl80211, over generic netlink.
//!
//! Messages are bytes here; a driver has the socket and the clock. [`Monitor`] asks ten times a second, as the thesis' link monitor did,
//! and tells what it was told: access point, channel, signal strength, bit rates, as a line of link states (`docs/links.md`).
//!
//! ```text
//!   driver  <-- poll_transmit --  Monitor  -- poll_report -->  Observation --> a line of JSON
//!           --- handle -------->           asks: which number has nl80211? the interface's channel? its station?
//! ```
//!
//! Numbers are those of the kernel's headers: `linux/netlink.h`, `linux/genetlink.h`, `linux/nl80211.h`. They are in the byte order of the
//! machine. What a message has beyond what is read here is skipped, what is cut short ends it.

mod message;
mod monitor;
mod observation;

pub use monitor::{Monitor, MonitorError};
pub use observation::{Observation, channel};

#[cfg(test)]
mod tests;
