//! Round-trip times of paths whose acknowledgements return on different paths.

use std::time::Duration;

use bytes::Bytes;
use hawser_core::{Connection, ConnectionHandle, Event, FourTuple, StreamEvent};
use hawser_policy::{PathId, PathStatus, StreamId, Time};

use super::{Measure, Setting};
use crate::testing::{SERVER, client, client_address, client_config, link, server, transport};
use crate::{Application, Host, Network, Sockets};

/// How often data is written.
const INTERVAL: Duration = Duration::from_millis(10);

/// Sends at a constant rate, however fast the paths are.
#[derive(Default)]
struct Steady {
    bytes_per_interval: usize,
    stream: Option<(ConnectionHandle, StreamId)>,
    next: Option<Time>,
}

impl Application for Steady {
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if *event == Event::HandshakeConfirmed {
            self.stream = connection.open_stream(false).map(|id| (handle, id));
            self.next = Some(now);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        let Some(next) = self.next.filter(|next| *next <= now) else { return };
        self.next = Some(next + INTERVAL);
        let Some((handle, id)) = self.stream else { return };
        if let Some(connection) = sockets.connection(handle) {
            let _ = connection.write_bytes(id, Bytes::from(vec![7; self.bytes_per_interval]));
        }
    }
}

/// Reads what comes.
struct Sink;

impl Application for Sink {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        while connection.accept_stream(false).is_some() {}
        if let Event::Stream(StreamEvent::Readable(id)) = event {
            while let Ok(Some(_)) = connection.read_chunk(*id, 1 << 16) {}
        }
    }
}

/// Smoothed round-trip times of the server's paths between 1 s and 6 s, milliseconds: least and most of each path.
fn smoothed_rtts(setting: &Setting<'_>, megabits: usize) -> [(f64, f64); 2] {
    let transport = std::sync::Arc::new(transport(setting.registry, "roundrobin", setting.controller));
    let mut host = client(Sink, setting.seed);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    let steady = Steady { bytes_per_interval: megabits * 1_250, ..Steady::default() };
    let mut network: Network<Host<Sink>, Host<Steady>> =
        Network::new(host, server(transport, steady, setting.seed), setting.seed);
    for (n, delay) in [10, 30].into_iter().enumerate() {
        network.add_link(client_address(n as u8).ip(), &link(50, delay), &link(50, delay));
    }
    network.run_to(Time::from_millis(300));
    let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
    let connection = network.client.first_connection().expect("it lives");
    let second = connection.open_path(now, tuple, PathStatus::Available, None).expect("it can be opened");
    network.run_to(Time::from_secs(1));
    let mut found = [(f64::INFINITY, 0.0); 2];
    while network.now() < Time::from_secs(6) {
        network.run_to(network.now() + Duration::from_millis(5));
        let connection = network.server.first_connection().expect("it lives");
        for (id, (least, most)) in [PathId::ZERO, second].into_iter().zip(&mut found) {
            let rtt = connection.path_stats(id).expect("it exists").smoothed_rtt.as_secs_f64() * 1e3;
            (*least, *most) = (f64::min(*least, rtt), f64::max(*most, rtt));
        }
    }
    found
}

/// The paths take 20 and 60 ms; acknowledgements of the slow one that return on the fast one take 40. Where traffic is
/// sparse, some of each path's acknowledgements ride on the other: those would pull the smoothed round-trip time here and
/// there between both returns.
pub(super) fn mixed_return_paths(setting: &Setting<'_>) -> Vec<Measure> {
    let found: Vec<_> = [1, 2, 4, 8, 16].map(|megabits| smoothed_rtts(setting, megabits)).into();
    let least = |path: usize| found.iter().map(|rtts| rtts[path].0).fold(f64::INFINITY, f64::min);
    let most = |path: usize| found.iter().map(|rtts| rtts[path].1).fold(0.0, f64::max);
    let spread = found.iter().map(|[_, slow]| slow.1 - slow.0).fold(0.0, f64::max);
    vec![
        Measure::at_least("fast path at least", least(0), "ms", 19.9),
        Measure::at_most("fast path at most", most(0), "ms", 22.0),
        Measure::at_least("slow path at least", least(1), "ms", 39.9),
        Measure::at_most("slow path varies by", spread, "ms", 3.0),
    ]
}
