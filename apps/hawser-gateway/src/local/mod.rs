//! What programs of this host connect to.

mod associate;
pub mod forward;
mod http;
mod open;
mod proxy;
mod socks;

pub use proxy::{Proxy, ProxyConfig};

use std::time::Duration;

/// Silence in both directions after which a TCP connection ends (RFC 5382 section 5: two hours and four minutes at least).
pub const TCP_IDLE: Duration = Duration::from_secs(7_440);
/// The same of UDP (RFC 4787 section 4.3: two minutes at least).
pub const UDP_IDLE: Duration = Duration::from_secs(120);
