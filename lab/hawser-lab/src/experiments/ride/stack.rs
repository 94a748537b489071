//! The tiles of E2 over the real stack: packets, congestion control and retransmissions, over simulated links.

use hawser_sim::run::{NoRecorder, Options, Simulation};

use crate::experiments::verify::constant::{Measured, Request};

const FILE: &str = "ride-continuous.toml";

/// The agent of E2 with its guard, which is off in the system's place, and that of E1 without.
pub(super) const GUARDED: &str = "ride-guarded";
pub(super) const EPISODIC: &str = "ride-episodic";

/// 40 fixed tiles, which are 36 Mbit/s.
pub(super) fn fixed(request: &Request<'_>) -> Result<Measured, String> {
    run(request, "tiles,viewing=fixed")
}

/// A head that turns: some 48 Mbit/s.
pub(super) fn head(request: &Request<'_>) -> Result<Measured, String> {
    run(request, "tiles")
}

fn run(request: &Request<'_>, application: &str) -> Result<Measured, String> {
    let policy = match request.policy {
        "ride" => "transport.policy=ride,guard=off".to_owned(),
        GUARDED => "transport.policy=ride".to_owned(),
        EPISODIC => "transport.policy=ride,agent=episodic,guard=off".to_owned(),
        "rr" => "transport.scheduler=roundrobin".to_owned(),
        scheduler => format!("transport.scheduler={scheduler}"),
    };
    let set = [format!("seed={}", request.seed), policy, format!("flow.tiles.application={application}")];
    let scenario = (request.load)(FILE, &set)?;
    let simulation = Simulation::new(&scenario, request.registry, Options::default());
    let outcome = simulation.map_err(|error| error.to_string())?.run(&mut NoRecorder);
    Ok(Measured::of(&outcome))
}
