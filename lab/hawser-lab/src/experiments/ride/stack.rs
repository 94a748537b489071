//! The tiles of E2 over the real stack: packets, congestion control and retransmissions, over simulated links.

use hawser_sim::run::NoRecorder;

use crate::experiments::verify::{Measured, Request};

/// The agent of E2 with its guard, which is off in the system's place, and that of E1 without.
const GUARDED: &str = "ride-guarded";
const EPISODIC: &str = "ride-episodic";

/// The outcome with the policy of the request, which the stack may know by another name.
pub(super) fn run(request: &Request<'_>) -> Result<Measured, String> {
    let policy = match request.policy {
        "ride" => "transport.policy=ride,guard=off".to_owned(),
        GUARDED => "transport.policy=ride".to_owned(),
        EPISODIC => "transport.policy=ride,agent=episodic,guard=off".to_owned(),
        "rr" => "transport.scheduler=roundrobin".to_owned(),
        scheduler => format!("transport.scheduler={scheduler}"),
    };
    Ok(Measured::of(&request.run(&request.scenario(&[policy])?, &mut NoRecorder)?))
}
