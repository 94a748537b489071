//! Messages that are more urgent than the bulk that they share links with, on links of which one dies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Connection, ConnectionHandle, Event, FourTuple, StreamEvent};
use hawser_link::{DirectionConfig, MILLISECOND, QueueConfig, RateModel};
use hawser_policy::{PathStatus, StreamId, Time};

use super::{Measure, Setting};
use crate::testing::{SERVER, client, client_address, client_config, server, transport};
use crate::{Application, Host, Network, Sockets};

const MESSAGE: usize = 500;
const INTERVAL: Duration = Duration::from_millis(50);
const DEATH: Time = Time::from_secs(3);
/// Messages that leave until then count.
const JUDGED_UNTIL: Time = Time::from_secs(9);
const END: Time = Time::from_secs(16);

/// The server: bulk of low priority, and a message of high priority at each interval.
#[derive(Default)]
struct Sender {
    has_bulk: bool,
    priorities: bool,
    bulk: Option<StreamId>,
    peer: Option<ConnectionHandle>,
    next: Option<Time>,
    sent: BTreeMap<StreamId, Time>,
}

impl Sender {
    fn fill(&self, connection: &mut Connection) {
        while let Some(bulk) = self.bulk.filter(|_| self.has_bulk)
            && connection.write(bulk, &[1; 1 << 16]).is_ok_and(|written| written > 0)
        {}
    }
}

impl Application for Sender {
    fn on_event(&mut self, now: Time, peer: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if matches!(event, Event::HandshakeConfirmed) {
            let bulk = connection.open_stream(false).expect("allowed");
            if self.priorities {
                connection.set_priority(bulk, -10).expect("open");
            }
            (self.bulk, self.peer, self.next) = (Some(bulk), Some(peer), Some(now));
        }
        self.fill(connection);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        self.next = Some(now + INTERVAL);
        let Some(connection) = self.peer.and_then(|peer| sockets.connection(peer)) else { return };
        if let Some(message) = connection.open_stream(false) {
            if self.priorities {
                connection.set_priority(message, 10).expect("open");
            }
            connection.write(message, &[2; MESSAGE]).expect("room for a message");
            connection.finish(message).expect("open");
            self.sent.insert(message, now);
        }
        self.fill(connection);
    }
}

/// The client, which reads everything.
#[derive(Default)]
struct Receiver {
    arrived: BTreeMap<StreamId, Time>,
}

impl Application for Receiver {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        while connection.accept_stream(false).is_some() {}
        if let Event::Stream(StreamEvent::Readable(id)) = event {
            while let Ok(chunk) = connection.read_chunk(*id, 1 << 16) {
                if chunk.is_none() {
                    self.arrived.insert(*id, now);
                    return;
                }
            }
        }
    }
}

fn link(megabits: u64, delay_ms: u64, queue_ms: u64) -> DirectionConfig {
    DirectionConfig {
        rate: RateModel::constant(megabits * 1_000_000),
        queue: QueueConfig::bytes(megabits * 125 * queue_ms),
        ..DirectionConfig::with_delay(delay_ms * MILLISECOND)
    }
}

/// The longest time that a message took of those that were sent in the six seconds after a link of 100 Mbit/s died next to one of
/// 5 Mbit/s, whose queue takes 100 ms.
fn slowest_message(setting: &Setting<'_>, has_bulk: bool, queue_ms: u64) -> Duration {
    let mut transport = transport(setting.registry, setting.scheduler, setting.controller);
    transport.max_unidirectional_streams = 1_000;
    let transport = Arc::new(transport);
    let mut host = client(Receiver::default(), setting.seed);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    let sender = Sender { has_bulk, priorities: setting.priorities, ..Sender::default() };
    let mut network: Network<Host<Receiver>, Host<Sender>> =
        Network::new(host, server(transport, sender, setting.seed), setting.seed);
    let links = [link(100, 10, queue_ms), link(5, 20, 100)];
    let first = network.add_link(client_address(0).ip(), &links[0], &links[0]);
    network.add_link(client_address(1).ip(), &links[1], &links[1]);
    let second = FourTuple { local: client_address(1), remote: SERVER };
    let is_open = network.run_until(Time::from_secs(2), |network| {
        let now = network.now();
        let connection = network.client.first_connection();
        connection.is_some_and(|c| c.open_path(now, second, PathStatus::Available, None).is_ok())
    });
    assert!(is_open, "the second path");
    network.run_to(DEATH);
    network.force(first, Some(false));
    network.run_to(END);
    let (sent, arrived) = (&network.server.application.sent, &network.client.application.arrived);
    let late = sent.iter().filter(|(_, at)| **at >= DEATH && **at < JUDGED_UNTIL);
    // What has not arrived by the end took that long at least.
    let took = |(id, at): (&StreamId, &Time)| arrived.get(id).copied().unwrap_or(END).since(*at);
    late.map(took).max().unwrap_or(Duration::MAX)
}

/// What a path had in flight when it died is bulk, and a message does not wait for it: only for the queue of the other link, which is full
/// of bulk, and where a packet of it may be lost.
pub(super) fn behind_the_bulk_of_a_dead_path(setting: &Setting<'_>) -> Vec<Measure> {
    let alone = slowest_message(setting, false, 100);
    let names = [(100, "later than alone with a short queue"), (400, "later than alone with a long queue")];
    let measure = |(queue_ms, name)| {
        let later = slowest_message(setting, true, queue_ms).saturating_sub(alone);
        Measure::at_most(name, later.as_secs_f64() * 1e3, "ms", 350.0)
    };
    names.map(measure).to_vec()
}
