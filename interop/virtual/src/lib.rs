//! Foreign QUIC stacks as nodes of the simulator.
//!
//! [`noq`](crate::noq) speaks the multipath draft that Hawser speaks, [`quinn`](crate::quinn) plain QUIC v1. Both are
//! sans-IO, as Hawser is, so all three run in virtual time: a test names rates, delays, loss, reordering and the moments
//! at which paths come and go, and a seed repeats it.
//!
//! Every test runs the same [`Exchange`]: one stream on which both ends send a known pattern and check what comes.
//! [`serve`] makes either stack the server of a scenario file. Handshakes are real TLS 1.3 with certificates ([`tls`]).

mod exchange;
mod foreign;
pub mod noq;
mod ours;
pub mod quinn;
pub mod scenario;
pub mod serve;
pub mod steering;
pub mod tls;

pub use exchange::{ByteStream, Exchange, Piece, wind_up};
pub use foreign::{Arrival, Foreign, Outgoing, Stack};
pub use ours::{
    Ours, client, client_crypto, client_with_paths, close, policies, remembering_server, returning_client,
    server, server_crypto, server_with_paths,
};
pub use scenario::{End, Multipath, Plan};
pub use steering::Steering;
