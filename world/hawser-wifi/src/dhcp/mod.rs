//! DHCP for a client that has a second (RFC 2131): messages, the client, its leases, and the frames that carry them while there is no address.
//!
//! Of the protocol it has what an address takes: DISCOVER, OFFER, REQUEST, ACK, NAK and INIT-REBOOT; renewal by broadcast. It
//! declines nothing, releases nothing, and takes no option but mask, routers, routes, name servers, MTU and times.

mod client;
mod frame;
mod lease;
mod message;

pub use client::{Client, Outcome};
pub use frame::{frame, payload};
pub use lease::{KnownLease, Lease, Leases, LeasesError, MAX_LEASES};
pub use message::{Kind, MAX_ADDRESSES, MAX_MESSAGE, MAX_ROUTES, Message, Route};

#[cfg(test)]
mod tests;
