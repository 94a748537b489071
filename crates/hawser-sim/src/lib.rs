//! Real endpoints in virtual time.
//!
//! A [`Network`] joins [`Node`]s by [`hawser_link::Link`]s, the same link models that the emulator runs in real time.
//! Nothing here reads a clock: [`Network::run_until`] jumps from event to event, so an hour of traffic takes as long as
//! its packets take to process, and the same seed gives the same run, packet for packet
//! ([`Network::trace_hash`] proves it).
//!
//! [`Host`] is a node made of the shipping [`hawser_core`] endpoint; an [`Application`] on top of it opens streams and
//! reads them. Foreign stacks take part by implementing [`Node`].

mod application;
mod deadlines;
mod engine;
pub mod gauntlet;
mod host;
mod network;
mod node;
mod observer;
mod pattern;
pub mod run;
pub mod testing;
pub mod tls;
mod trace_hash;

pub use application::{Application, Download, Idle, Serve};
pub use engine::Counters;
pub use host::{Host, Sockets};
pub use network::{LinkHandle, Network, Verdict};
pub use node::{Node, Packet};
pub use pattern::{first_mismatch, pattern, pattern_bytes};
