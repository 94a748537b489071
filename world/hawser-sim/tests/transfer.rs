//! A download over one path and over several, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::FourTuple;
use hawser_policy::{PathStatus, Time};
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server, transport};
use hawser_sim::{Download, Host, Network, Serve};

use crate::common::registry;

fn network(seed: u64, scheduler: &str, length: u64) -> Network<Host<Download>, Host<Serve>> {
    let transport = Arc::new(transport(&registry(), scheduler, "cubic"));
    let mut host = client(Download::default(), seed);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    Network::new(host, server(transport, Serve::new(length), seed), seed)
}

fn finish(network: &mut Network<Host<Download>, Host<Serve>>, deadline: u64) -> Time {
    let done = network.run_until(Time::from_secs(deadline), |n| n.client.application.finished_at.is_some());
    let download = &network.client.application;
    assert!(
        done,
        "not finished: {} bytes, closed {:?}, server {:?}, events {:?}",
        download.received, download.closed, network.server.application.closed, download.events
    );
    assert_eq!(download.corrupt_at, None);
    download.finished_at.expect("just checked")
}

#[test]
fn one_path_fills_its_link() {
    let mut network = network(1, "minrtt", 10_000_000);
    network.add_link(client_address(0).ip(), &link(50, 10), &link(50, 10));
    let at = finish(&mut network, 20);
    assert_eq!(network.client.application.received, 10_000_000);
    let goodput = 80.0 / at.as_secs_f64();
    println!("{goodput:.2} Mbit/s");
    assert!(goodput > 42.0, "{goodput}");
}

#[test]
fn two_paths_add_up() {
    let length = 50_000_000;
    let mut network = network(2, "default", length);
    network.add_link(client_address(0).ip(), &link(50, 10), &link(50, 10));
    network.add_link(client_address(1).ip(), &link(50, 10), &link(50, 10));
    open_when_ready(&mut network, 1);
    let at = finish(&mut network, 30);
    let share = length as f64 * 8.0 / at.as_secs_f64() / 100e6;
    println!(
        "aggregation {share:.3}; {:?}",
        network.server.first_connection().map(|c| (
            c.stats(),
            c.path_stats(hawser_policy::PathId(0)),
            c.path_stats(hawser_policy::PathId(1))
        ))
    );
    assert!(share > 0.90, "{share}");
}

fn open_when_ready(network: &mut Network<Host<Download>, Host<Serve>>, n: u8) {
    let tuple = FourTuple { local: client_address(n), remote: SERVER };
    let opened = network.run_until(network.now() + Duration::from_secs(2), |n| {
        let now = n.now();
        n.client
            .first_connection()
            .is_some_and(|c| c.open_path(now, tuple, PathStatus::Available, None).is_ok())
    });
    assert!(opened);
}
