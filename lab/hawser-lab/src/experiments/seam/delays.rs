//! Whether one-way delays from receive timestamps are those of the links.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::FourTuple;
use hawser_link::{DirectionConfig, MILLISECOND};
use hawser_policy::{PathId, PathStatus, Time};
use hawser_sim::testing::{SERVER, client, client_address, client_config, server, transport};
use hawser_sim::{Download, Host, Network, Serve};

use crate::experiments::verify::{Measured, Request};

type Net = Network<Host<Download>, Host<Serve>>;

/// Milliseconds up and down of the links: the round trip of the first is the shorter one, its way down the longer one.
const LINKS: [[u64; 2]; 2] = [[10, 40], [60, 15]];
/// What an endpoint asks for: receive times of so many packets per acknowledgement.
const RECEIVE_TIMESTAMPS: u64 = 32;
const LENGTH: u64 = 3_000_000;

/// A download over two links without queues: how far the difference of the paths' one-way delays is from that of the
/// links, and that of half their round trips, which is what a sender without timestamps knows.
pub(super) fn one_way(request: &Request<'_>) -> Result<Measured, String> {
    let mut network = network(request);
    let second = open_second(&mut network).ok_or("the second path could not be opened")?;
    let done = |network: &mut Net| network.client.application.finished_at.is_some();
    if !network.run_until(Time::from_secs(20), done) {
        return Err("the download did not end".to_owned());
    }
    let hash = format!("{:016x}", network.trace_hash());
    let connection = network.server.first_connection().ok_or("the connection ended")?;
    let stats = |path| connection.path_stats(path).ok_or("a path is unknown");
    let (first, second) = (stats(PathId::ZERO)?, stats(second)?);
    let delays = first.one_way_delay.zip(second.one_way_delay).ok_or("no one-way delay was reported")?;
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1e3;
    let truth = LINKS[0][1] as f64 - LINKS[1][1] as f64;
    let error = milliseconds(delays.0) - milliseconds(delays.1) - truth;
    let halves = (milliseconds(first.min_rtt) - milliseconds(second.min_rtt)) / 2.0 - truth;
    Ok(Measured::new(hash).with("error_ms", error.abs()).with("error_of_half_round_trips_ms", halves.abs()))
}

fn network(request: &Request<'_>) -> Net {
    let transport = transport(request.registry, request.policy, "cubic")
        .with(|transport| transport.receive_timestamps = Some(RECEIVE_TIMESTAMPS));
    let transport = Arc::new(transport);
    let mut host = client(Download::default(), request.seed);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    let mut network = Network::new(host, server(transport, Serve::new(LENGTH), request.seed), request.seed);
    for (n, [up, down]) in LINKS.into_iter().enumerate() {
        let [up, down] = [up, down].map(|delay| DirectionConfig::with_delay(delay * MILLISECOND));
        network.add_link(client_address(n as u8).ip(), &up, &down);
    }
    network
}

fn open_second(network: &mut Net) -> Option<PathId> {
    let tuple = FourTuple { local: client_address(1), remote: SERVER };
    let mut opened = None;
    network.run_until(Time::from_secs(5), |network| {
        let now = network.now();
        let connection = network.client.first_connection();
        opened = connection.and_then(|it| it.open_path(now, tuple, PathStatus::Available, None).ok());
        opened.is_some()
    });
    opened
}
