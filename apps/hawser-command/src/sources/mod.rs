//! What one address may take of a server, of whichever kind.
//!
//! A limit for a connection bounds nothing where connections are cheap, and a limit for all together is what one client can
//! use up alone. So whatever is scarce is a [`Pool`]: of its units a source, which is an IPv4 address or an IPv6 network of
//! 64 bits, has at most an eighth. Places that would cost an attacker nothing but a byte now and then are [`Seats`]: who is slow loses
//! his to those who wait for one. [`Sources`] are what every server has: places for clients, and handshakes.

mod pace;
mod places;
mod pool;
mod seats;

pub use pace::{Pace, STALL_TIMEOUT};
pub use places::{Client, Sources, Waiting};
pub use pool::{Pool, Taken};
pub use seats::{Seat, Seats, Transfer};
