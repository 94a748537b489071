//! A run that is watched: what the controller of the sender says of itself after each acknowledgement, and samples of flows and links.

use std::time::Duration;

use hawser_policy::Note;
use hawser_sim::run::{Outcome, Probes};

use crate::experiments::verify::Request;

/// The flow whose controller is verified.
pub(super) const FLOW: &str = "x";

/// What is sampled: what flows received, what is in flight of [`FLOW`], the queue of the bottleneck and what it delivered.
const PROBES: [&str; 4] = ["flow.*.bytes", "path.x.*.in_flight_bytes", QUEUED, DELIVERED];
pub(super) const QUEUED: &str = "link.bottleneck.up.queued_bytes";
pub(super) const DELIVERED: &str = "link.bottleneck.up.delivered_bytes";

/// What the controllers of the family say after an acknowledgement.
const ACK: &str = "controller.ack";
const STATE: &[&str] = &[
    "phase",
    "rounds",
    "cwnd_bytes",
    "bandwidth_bps",
    "max_bandwidth_bps",
    "inflight_hi_bytes",
    "illegal_moves",
    "cycle",
    "tries",
    "probes",
    "compensation_s",
];

/// What came of a run.
pub(super) struct Watched {
    pub(super) outcome: Outcome,
    /// Of the sender of the flow; empty where its controller is not one of the family.
    pub(super) states: Vec<Note>,
    pub(super) probes: Probes,
}

/// Runs the scenario of the request and samples it this often.
pub(super) fn sample(request: &Request<'_>, interval: Duration) -> Result<(Outcome, Probes), String> {
    let probes = Probes::every(interval, &PROBES).map_err(|error| error.to_string())?;
    request.sampled(&[request.chosen()], probes)
}

/// The same, and listens to the controller.
pub(super) fn watch(request: &Request<'_>, interval: Duration) -> Result<Watched, String> {
    let probes = Probes::every(interval, &PROBES).map_err(|error| error.to_string())?;
    let (outcome, mut probes) = request.sampled(&[request.chosen()], probes.with_values_of(ACK, STATE))?;
    // Only the family counts rounds.
    let notes = probes.take_notes_of(FLOW).into_iter().filter(|note| note.number("rounds").is_some());
    // Both ends of a connection have a controller; that of the sender hears more.
    let (client, server): (Vec<Note>, Vec<Note>) = notes.partition(|note| note.side.is_client());
    let states = if client.len() >= server.len() { client } else { server };
    Ok(Watched { outcome, states, probes })
}
