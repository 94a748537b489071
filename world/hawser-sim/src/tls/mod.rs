//! Real TLS 1.3 whose bytes follow from a seed.
//!
//! A handshake draws from a generator at five places: the randoms and the session id of the ClientHello, the order of
//! its extensions, both X25519 keys, and tickets. [`provider`] is the rustls provider of this build with exactly those
//! places replaced; ciphers, hashes and signatures are the shipping ones. Certificates are Ed25519 because its
//! signatures are deterministic and always equally long, and the [clock](client_config) that validates them stands still.
//!
//! rustls wants its sources of randomness to be `'static`, so none of them can belong to a run. Here they belong to the
//! process and own nothing: they draw from whichever [`Randomness`] the running code has been
//! [lent](Randomness::lend), and fail outside of that. Every session has a `Randomness` of its own, so what it draws
//! depends on no other session, thread or run, and nothing is leaked.
//!
//! ```text
//!   seed --+-- client session 0, 1, ..   lend { rustls: fill(), X25519::start() }
//!          +-- server session 0, 1, ..
//! ```
//!
//! [`sessions`] makes the two ends for a simulation; [`server_config`] is for foreign stacks that bring their own
//! connection to rustls. **It protects nothing**: anyone who knows the seed knows the keys, and the server's private key is
//! published here.

mod exchange;
mod identity;
mod randomness;
mod session;

use std::sync::Arc;

use hawser_core::crypto::{ClientFactory, ServerFactory, TlsConfigError};
use hawser_link::derive_seed;

pub use self::identity::{ALPN, SERVER_NAME, client_config, client_config_with, provider, server_config};
pub use self::randomness::Randomness;
use self::session::{SeededClient, SeededServer};

/// How both ends of a simulation start their sessions.
pub type Sessions = (Arc<dyn ClientFactory>, Arc<dyn ServerFactory>);

/// TLS sessions for both ends of a simulation: a client that asks for [`SERVER_NAME`] and a server with that name.
///
/// # Errors
/// The TLS library of this build cannot serve QUIC with multipath.
pub fn sessions(seed: u64) -> Result<Sessions, TlsConfigError> {
    sessions_with(client_config()?, server_config()?, seed)
}

/// The same with configurations that were changed: other cipher suites, tickets, certificates.
///
/// # Errors
/// A configuration cannot serve QUIC with multipath.
pub fn sessions_with(
    client: rustls::ClientConfig,
    server: rustls::ServerConfig,
    seed: u64,
) -> Result<Sessions, TlsConfigError> {
    let client = SeededClient::new(client, derive_seed(seed, "client"))?;
    let server = SeededServer::new(server, derive_seed(seed, "server"))?;
    Ok((Arc::new(client), Arc::new(server)))
}

#[cfg(test)]
mod tests;
