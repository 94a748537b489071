//! Links of large bandwidth and delay, with the windows and buffers that everybody has.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Connection, ConnectionHandle, Event, FourTuple, StreamEvent};
use hawser_link::{DirectionConfig, MILLISECOND, QueueConfig, RateModel};
use hawser_policy::{PathStatus, StreamId, Time};
use hawser_sim::testing::{SERVER, client, client_address, client_config, server};
use hawser_sim::{Application, Host, Network};

use crate::common::config;

const LINKS: u8 = 4;
const MEGABITS: u64 = 1_000;

/// The server, which writes as much as it may.
#[derive(Default)]
struct Sender(Option<StreamId>);

impl Application for Sender {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if matches!(event, Event::HandshakeConfirmed) {
            self.0 = connection.open_stream(false);
        }
        while let Some(id) = self.0
            && connection.write(id, &[1; 1 << 16]).is_ok_and(|written| written > 0)
        {}
    }
}

/// The client, which reads everything.
#[derive(Default)]
struct Receiver(u64);

impl Application for Receiver {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        while connection.accept_stream(false).is_some() {}
        if let Event::Stream(StreamEvent::Readable(id)) = event {
            while let Ok(Some(chunk)) = connection.read_chunk(*id, 1 << 16) {
                self.0 += chunk.len() as u64;
            }
        }
    }
}

/// Four links of 1 Gbit/s and 100 ms: 50 MB are under way, and as much again waits for what was lost.
#[test]
fn fat_links_are_used_without_any_settings() {
    let mut host = client(Receiver::default(), 1);
    let transport = Arc::new(config("default", "cubic"));
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .unwrap();
    let mut network: Network<Host<Receiver>, Host<Sender>> =
        Network::new(host, server(transport, Sender::default(), 1), 1);
    let link = DirectionConfig {
        rate: RateModel::constant(MEGABITS * 1_000_000),
        queue: QueueConfig::bytes(MEGABITS * 125 * 100),
        ..DirectionConfig::with_delay(50 * MILLISECOND)
    };
    for n in 0..LINKS {
        network.add_link(client_address(n).ip(), &link, &link);
    }
    for n in 1..LINKS {
        let tuple = FourTuple { local: client_address(n), remote: SERVER };
        let is_open = network.run_until(Time::from_secs(2), |network| {
            let now = network.now();
            let connection = network.client.first_connection();
            connection.is_some_and(|c| c.open_path(now, tuple, PathStatus::Available, None).is_ok())
        });
        assert!(is_open, "path {n}");
    }
    network.run_to(Time::from_secs(4));
    let before = network.client.application.0;
    network.run_to(Time::from_secs(7));
    let bytes = network.client.application.0 - before;
    let megabits = bytes as f64 * 8e-6 / Duration::from_secs(3).as_secs_f64();
    let of = |connection: Option<&mut Connection>| {
        let stats = connection.expect("connected").stats();
        (stats.datagrams_put_off, stats.packets_refused)
    };
    let (ours, theirs) = (of(network.client.first_connection()), of(network.server.first_connection()));
    println!("{megabits:.0} Mbit/s; put off and refused at the client {ours:?}, at the server {theirs:?}");
    assert!(megabits >= 3_600.0, "{megabits:.0} Mbit/s");
    assert_eq!((ours, theirs), ((0, 0), (0, 0)), "honest ends pay for what they cost");
}
