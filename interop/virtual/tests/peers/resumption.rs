//! Sessions that are resumed, and 0-RTT, in both directions: a client comes twice, and the second time its data is in its
//! first flight.

use std::time::Duration;

use hawser_core::EarlyData;
use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{
    End, Ours, Plan, client_crypto, noq, quinn, remembering_server, returning_client, server_crypto,
};
use hawser_policy::Time;
use hawser_sim::{Host, Network};

use crate::origin;
use crate::seeds::all;

const DEADLINE: Time = Time::from_secs(60);

/// Plays the transfer, and goes on until the tickets have come too, even if they were lost once or twice.
fn play<C: End, S: End>(plan: &Plan, network: &mut Network<C, S>) -> Result<(), String> {
    plan.transfer(network, DEADLINE)?;
    let end = network.now() + Duration::from_secs(3);
    network.run_until(end, |_| false);
    Ok(())
}

fn expect(what: &str, is_so: bool) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("{what} did not take 0-RTT")) }
}

fn early_data(host: &mut Host<Ours>) -> Option<EarlyData> {
    host.first_connection().map(|connection| connection.early_data())
}

/// Enough for an answer before the server knows that its client is there, and for more than a first flight.
fn plan(seed: u64) -> Plan {
    let mut plan = Plan::draw(seed);
    plan.length = 60_000;
    plan
}

#[test]
fn hawser_client_quinn_server() {
    all(300..310, |seed| {
        let (plan, identity) = (plan(seed), Identity::new());
        let crypto = client_crypto(identity.early_client());
        let config = quinn::server_config(identity.early_server());
        for expected in [EarlyData::None, EarlyData::Accepted] {
            let client = returning_client(crypto.clone(), plan.length, seed);
            let server = quinn::remembering_server(config.clone(), plan.length, seed, origin());
            let mut network = plan.network(client, server);
            play(&plan, &mut network)?;
            expect("quinn", early_data(&mut network.client) == Some(expected))?;
        }
        Ok(())
    });
}

#[test]
fn quinn_client_hawser_server() {
    all(310..320, |seed| {
        let (plan, identity) = (plan(seed), Identity::new());
        let config = quinn::client_config(identity.early_client());
        let crypto = server_crypto(identity.early_server());
        for expected in [false, true] {
            let client = quinn::returning_client(config.clone(), plan.length, seed, origin());
            let server = remembering_server(crypto.clone(), plan.length, seed);
            let mut network = plan.network(client, server);
            play(&plan, &mut network)?;
            let connection = network.client.stack.connection.as_ref();
            let accepted = connection.is_some_and(|connection| connection.accepted_0rtt());
            expect("Hawser", accepted == expected)?;
            let ours = early_data(&mut network.server) == Some(EarlyData::Accepted);
            expect("Hawser, by its own account,", ours == expected)?;
        }
        Ok(())
    });
}

#[test]
fn hawser_client_noq_server() {
    all(320..330, |seed| {
        let (plan, identity) = (plan(seed), Identity::new());
        let crypto = client_crypto(identity.early_client());
        let config = noq::server_config(identity.early_server(), noq::PATHS);
        for expected in [EarlyData::None, EarlyData::Accepted] {
            let client = returning_client(crypto.clone(), plan.length, seed);
            let server = noq::remembering_server(config.clone(), plan.length, seed, origin());
            let mut network = plan.network(client, server);
            play(&plan, &mut network)?;
            expect("noq", early_data(&mut network.client) == Some(expected))?;
            let multipath = network.client.first_connection().is_some_and(|c| c.is_multipath());
            expect("multipath after it: noq", multipath)?;
        }
        Ok(())
    });
}

#[test]
fn noq_client_hawser_server() {
    all(330..340, |seed| {
        let (plan, identity) = (plan(seed), Identity::new());
        let config = noq::client_config(identity.early_client(), noq::PATHS);
        let crypto = server_crypto(identity.early_server());
        for expected in [false, true] {
            let client = noq::returning_client(config.clone(), plan.length, seed, origin());
            let server = remembering_server(crypto.clone(), plan.length, seed);
            let mut network = plan.network(client, server);
            play(&plan, &mut network)?;
            let connection = network.client.stack.connection.as_ref();
            let accepted = connection.is_some_and(|connection| connection.accepted_0rtt());
            expect("Hawser", accepted == expected)?;
        }
        Ok(())
    });
}

/// A server that has lost its memory: what was sent is sent again, and arrives once.
#[test]
fn hawser_client_of_a_server_that_rejects() {
    all(340..350, |seed| {
        let (plan, identity) = (plan(seed), Identity::new());
        let crypto = client_crypto(identity.early_client());
        for expected in [EarlyData::None, EarlyData::Rejected] {
            let client = returning_client(crypto.clone(), plan.length, seed);
            let config = quinn::server_config(identity.early_server());
            let server = quinn::remembering_server(config, plan.length, seed, origin());
            let mut network = plan.network(client, server);
            play(&plan, &mut network)?;
            expect("quinn", early_data(&mut network.client) == Some(expected))?;
        }
        Ok(())
    });
}
