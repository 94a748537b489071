//! A peer and a network that mean harm, in virtual time.
//!
//! [`Observer`] reads what both ends of a connection send and writes packets in the place of either: the null session keeps
//! no secrets, and a [`Tap`] at each end tells its keys. Fuzzing and the named attacks share it.
//!
//! [`PEER_ATTACKS`] are those of a [`Peer`] that has made a connection and then violates, floods, lies or stalls;
//! [`NETWORK_ATTACKS`] are those of somebody without keys who sees and sends packets while others download. Each runs against
//! a [`Victim`] whose every call is measured, by an allocator and a clock that the program brings along ([`Meter`]):
//!
//! ```text
//! cargo run --release -p hawser-sim --example attacks
//! ```
//!
//! What an attack may take at most stands in `tests/attacks.rs`, and for whom it is done in `docs/security.md`.

mod attacks;
mod network;
mod packets;
mod peer;
mod run;
mod tap;
mod victim;

pub use attacks::{PEER_ATTACKS, PeerAttack};
pub use network::{NETWORK_ATTACKS, NetworkAttack};
pub use packets::{CID_LENGTH, Header, Observer, Packet as SealedPacket, Sent, Space, honest_acks};
pub use peer::{Conduct, Peer, Pen};
pub use run::{HEADING, NetworkOutcome, PeerOutcome, Row};
pub use tap::{Forgery, Secrets, Tap};
pub use victim::{Meter, Toll, Usage, Victim};
