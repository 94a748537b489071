//! All tests over real sockets as one program: it links once, and its tests share the processors.
//!
//! `cargo test -p hawser-net --test net workers::` runs those of one file.

#![allow(clippy::unwrap_used)] // Helpers of tests: what is missing fails them.

mod ciphers;
mod client_certificates;
mod common;
mod early_data;
mod failures;
mod families;
mod interfaces;
mod link_states;
mod misuse;
mod open_path;
mod own_parts;
mod path_events;
mod policy_messages;
mod policy_sets;
mod qlog;
mod scheduler_requests;
mod transfer;
mod versions;
mod workers;
