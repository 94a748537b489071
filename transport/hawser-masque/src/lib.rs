//! What MASQUE says on the wire, as values: no sockets, no clocks.
//!
//! A client asks a proxy for a tunnel with an HTTP request, and what follows on the stream of that request is the tunnel:
//!
//! | | request | on the stream | outside of it |
//! |---|---|---|---|
//! | TCP ([`connect`]) | CONNECT (RFC 9114 section 4.4) | the bytes | |
//! | UDP ([`udp`]) | extended CONNECT, `connect-udp` (RFC 9298) | [`capsule`]s | HTTP Datagrams |
//! | IP ([`ip`]) | extended CONNECT, `connect-ip` (RFC 9484) | [`capsule`]s | HTTP Datagrams |
//!
//! What an IP tunnel carries is read, checked and answered by [`packet`], and told apart by [`flows`]. Where both ends are Hawser's,
//! packets are numbered ([`order`]), those of calls go on two paths ([`twice`]), and schedulers are notified of them ([`datagrams`]); a
//! gateway, its clients and the simulator's mix of traffic use the same code.
//!
//! The proxy answers with a status code, and says in `Proxy-Status` (RFC 9209, [`status`]) what went wrong where it did.
//!
//! Everything that a peer says is bounded: names, capsules, lists of addresses. Each decoder says what was expected.
//!
//! ```
//! use hawser_masque::{connect, target::Target};
//!
//! let target: Target = "example.org:443".parse()?;
//! let request = connect::request(&target)?;
//! assert_eq!(connect::read(&request, None)?, connect::Tunnel::Tcp(target));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

pub mod capsule;
pub mod connect;
pub mod datagrams;
mod error;
pub mod flows;
pub mod ip;
pub mod order;
pub mod packet;
mod percent;
pub mod status;
pub mod target;
pub mod twice;
pub mod udp;
