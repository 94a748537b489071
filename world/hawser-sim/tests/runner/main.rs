//! The cases of quic-interop-runner in virtual time, with real TLS: the links that it asks its simulator for, the files
//! that it fetches and what it checks afterwards, and beyond that how long each may take.
//!
//! ```text
//!   files::Client -- Host -- wire::Edge -- link -- wire::Edge -- Host -- files::Server
//!                              |  what arrives is dropped or damaged, what leaves is recorded
//!                              +---> the checks read headers there, and frames in the qlog of both ends
//! ```
//!
//! The runner's names are the names of the tests. `cargo test -p hawser-sim --test runner` runs them all in seconds; each
//! prints how long its transfer took.
#![allow(clippy::unwrap_used)] // Helpers of a test: what is missing fails it.

mod bed;
mod files;
mod handshakes;
mod http3;
mod link;
mod losses;
mod measurements;
mod moves;
mod transfers;
mod wire;
