//! What programs of this host connect to.

mod associate;
pub mod forward;
mod http;
mod open;
mod proxy;
mod socks;

#[cfg(feature = "fuzzing")]
pub(crate) use self::http::parse as parse_connect;
pub use proxy::{Proxy, ProxyConfig};
#[cfg(feature = "fuzzing")]
pub(crate) use socks::{Command, SocksError, datagram_header, read_datagram, read_greeting, read_request};

use std::time::Duration;

/// Silence in both directions after which a TCP connection ends (RFC 5382 section 5: two hours and four minutes at least).
pub const TCP_IDLE: Duration = Duration::from_secs(7_440);
/// The same of UDP (RFC 4787 section 4.3: two minutes at least).
pub const UDP_IDLE: Duration = Duration::from_secs(120);
