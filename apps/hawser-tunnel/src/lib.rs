//! All traffic of a Linux host through a gateway.
//!
//! ```text
//!   programs -> kernel -> TUN device --+-- TCP ----------> lane: the kernel's own TCP --> CONNECT, a stream each --+
//!                (own routing table)   |                                                                           +-> gateway
//!                                      +-- UDP, ICMP, ... --> CONNECT-IP, a datagram each -------------------------+
//! ```
//!
//! * [`client`]: the end at the host. TCP ends here and travels as streams ([`lane`]), so that one connection uses all links;
//!   everything else travels in datagrams.
//! * [`resolvers`]: where programs have names looked up, by systemd-resolved or by the file that names resolvers.
//! * `names`: look-ups of names whose traffic goes through the tunnel.
//! * [`server`]: the TUN device behind a gateway, address translation, forwarding.
//! * [`host`]: what is changed on a machine, by netlink, and how all of it is undone, also by the next start after a crash.
//!
//! Hawser's own sockets are bound to their links, so that they never follow the routes of the tunnel; the addresses of the gateway
//! are left to the main routing table besides.

pub mod client;
mod device;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod host;
pub mod lane;
mod links;
mod names;
pub mod resolvers;
pub mod server;

pub use device::DeviceError;
