//! What one address may take of a server, of whichever kind.
//!
//! A limit for a connection bounds nothing where connections are cheap, and a limit for all together is what one client can
//! use up alone. So whatever is scarce is a [`Pool`]: of its units a source, which is an IPv4 address or an IPv6 network of
//! 64 bits, has at most an eighth. [`Sources`] are the pools that every server has: places for clients, and handshakes. Places
//! for which a byte now and then would do are [`Seats`]: they are lost to those who wait for one.

mod pace;
mod places;
mod pool;
mod seats;

pub(crate) use pace::{Pace, STALL_TIMEOUT};
pub(crate) use places::{Client, Sources, Waiting};
pub(crate) use pool::{Pool, Taken};
pub(crate) use seats::{Seat, Seats};
