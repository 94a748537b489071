//! Runs a scenario file: its hosts with the shipping endpoint, its links, its flows.
//!
//! ```text
//!   Scenario --build--> Simulation { engine + fabric, participants }
//!                          |  run(recorder): from event to event, a sample now and then
//!                          v
//!                       Outcome  (serialises to what `hawser sim run --json` prints)
//! ```
//!
//! A flow is a connection (or as many as its `count` says) with an application at either end; the receiving end has the
//! [`Meter`]. Connections race their handshake over the links and open a path over each with the same manager as the
//! driver for real sockets, by default one over each link.

mod addresses;
mod attachments;
mod build;
mod client;
mod delivery;
mod error;
mod hosted;
mod interfaces;
mod lane;
mod link_forecasts;
mod meter;
mod notes;
mod participant;
mod paths;
mod probes;
mod recorder;
mod request;
mod results;
mod sending;
mod server;
mod session;
mod simulation;
mod summary;
mod tap;
mod udp;

pub use build::{FlowTraces, Options, transport_config};
pub use error::RunError;
pub use meter::{DelaySummary, Delays, Meter};
pub use participant::{ForeignServer, ServerFactory, session_of};
pub use probes::{Probes, Series, UnknownProbe};
pub use recorder::{FlowSample, LinkSample, NoRecorder, PacketRecord, PathSample, Recorder};
pub use request::{REQUEST_LENGTH, Request};
pub use sending::{DatagramPacer, sent_at};
pub use simulation::Simulation;
pub use summary::{CopyOutcome, End, FlowOutcome, LinkOutcome, Outcome, PathOutcome, RepairOutcome};
