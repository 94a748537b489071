//! Real endpoints in virtual time.
//!
//! A [`Network`] joins [`Node`]s by [`hawser_link::Link`]s, the same link models that the emulator runs in real time.
//! Nothing here reads a clock: [`Network::run_until`] jumps from event to event, so an hour of traffic takes as long as
//! its packets take to process, and the same seed gives the same run, packet for packet
//! ([`Network::trace_hash`] proves it).
//!
//! [`Host`] is a node made of the shipping [`hawser_core`] endpoint; an [`Application`] on top of it opens streams and
//! reads them. Foreign stacks take part by implementing [`Node`].
//!
//! A download over two links, without a file or a socket:
//!
//! ```
//! use std::sync::Arc;
//!
//! use hawser_core::FourTuple;
//! use hawser_policy::{PathStatus, Registry, Time};
//! use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server, transport};
//! use hawser_sim::{Download, Network, Serve};
//!
//! let mut registry = Registry::new();
//! hawser_sched::register(&mut registry);
//! hawser_cc::register(&mut registry);
//! hawser_paths::register(&mut registry);
//! let transport = Arc::new(transport(&registry, "default", "cubic"));
//!
//! let mut host = client(Download::default(), 1);
//! host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")?;
//! let mut network = Network::new(host, server(transport, Serve::new(5_000_000), 1), 1);
//! // 20 Mbit/s and 10 Mbit/s, 40 ms there and back.
//! for (n, megabits) in [20, 10].into_iter().enumerate() {
//!     network.add_link(client_address(n as u8).ip(), &link(megabits, 20), &link(megabits, 20));
//! }
//! network.run_to(Time::from_millis(300));
//! let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
//! let connection = network.client.first_connection().expect("the handshake is over");
//! connection.open_path(now, tuple, PathStatus::Available, None)?;
//! network.run_until(Time::from_secs(10), |network| network.client.application.finished_at.is_some());
//!
//! let finished = network.client.application.finished_at.expect("it ends");
//! assert!(finished < Time::from_millis(2_000), "1.4 s at full speed, and slow start: {finished}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adversary;
pub mod amplification;
mod application;
mod deadlines;
mod engine;
pub mod gauntlet;
mod host;
mod network;
mod node;
mod observer;
pub mod oracle;
mod pattern;
pub mod run;
pub mod sets;
pub mod soak;
pub mod testing;
pub mod tls;
mod trace_hash;

pub use application::{Application, Download, Idle, Serve};
pub use engine::Counters;
pub use host::{Host, Sockets};
pub use network::{LinkHandle, Network, Verdict};
pub use node::{Node, Packet};
pub use pattern::{first_mismatch, pattern, pattern_bytes};
