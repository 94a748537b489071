//! What the commands of `hawser` have in common: options, reports, exit codes, sessions, servers.
//!
//! Each application is a crate of its own on top of this one, and `hawser-cli` puts them together to one command.

pub mod address;
pub mod caps;
pub mod client_certificate;
pub mod control;
pub mod digest;
pub mod dscp;
pub mod environment;
pub mod exit;
pub mod hangup;
pub mod http_client;
pub mod interrupt;
mod key_log;
mod left_out;
pub mod lines;
pub mod location;
pub mod options;
pub mod output;
pub mod path_log;
pub mod paths;
pub mod percent;
pub mod policy_options;
pub mod profile;
pub mod range;
pub mod report;
pub mod server;
pub mod server_scheduler;
pub mod session;
pub mod silence;
pub mod sources;
pub mod stall;
mod terminal;
pub mod transfer;
pub mod units;
pub mod url;
