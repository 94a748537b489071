//! TCP and UDP of a host over several links, through a gateway.
//!
//! ```text
//!   browser, ssh, ... --SOCKS5, HTTP CONNECT--> local --+
//!   any port          --TCP, UDP------------> local --+--> client ==QUIC over all links==> server --> the Internet
//! ```
//!
//! * [`server`]: the gateway. It takes CONNECT and CONNECT-UDP requests (MASQUE) of [users](users) with a key, looks names up,
//!   keeps to its [egress] rules and relays.
//! * [`client`]: a connection to the gateway that is made again when it is lost, and tunnels over it.
//! * [`traffic`]: what either end carries, by kind, for those who look.
//! * [`local`]: what programs of this host connect to: SOCKS5 and HTTP CONNECT on one port, and forwarded ports.
//!
//! Each TCP connection is a stream of its own with a window of its own, so that one connection uses all links, and one that
//! nobody reads holds up none of the others: see [`profile`].

pub mod client;
pub mod egress;
mod flows;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gather;
pub mod grants;
mod halves;
mod ip_relay;
pub mod local;
mod meter;
mod named;
pub mod pools;
pub mod profile;
mod relay;
mod remote;
pub mod server;
pub mod traffic;
mod udp_relay;
pub mod users;
