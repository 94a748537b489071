//! Two hosts, the links between them, and somebody who watches.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Connection, FourTuple, TransportConfig};
use hawser_link::{DirectionConfig, LinkStats};
use hawser_policy::{Composed, PathId, PathStatus, SchedulerFactory, Side, Time};

use super::bulk::Bulk;
use super::{Measure, Setting};
use crate::testing::{SERVER, client, client_address, client_config, link, server, transport};
use crate::{Host, LinkHandle, Network};

/// The largest that RFC 9002 section 7.2 allows.
pub(super) const INITIAL_WINDOW: u64 = 14_720;

/// How often the sender is looked at.
const STEP: Duration = Duration::from_millis(5);

/// A case that takes longer than this has failed.
const DEADLINE: Time = Time::from_secs(120);

/// Round trip of [`street`] without a queue. No acknowledgement takes less, so what leaves within it is all in flight.
pub(super) const ROUND_TRIP: Duration = Duration::from_millis(40);

/// The link of path 0: 20 Mbit/s, 20 ms one way, and a queue of 100 ms. With the headers a packet of 1,452 bytes has
/// 1,480, so that 19.1 Mbit/s of stream data pass.
pub(super) fn street() -> DirectionConfig {
    link(20, 20)
}

/// The sending path at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Time,
    sent: u64,
    window: u64,
}

/// A transfer in one direction.
pub(super) struct Bed {
    pub(super) network: Network<Host<Bulk>, Host<Bulk>>,
    pub(super) links: Vec<LinkHandle>,
    sender: Side,
    looks: VecDeque<Look>,
    overshoot: u64,
    since: Before,
}

/// Counters at the moment from which on a case counts.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    dropped: u64,
    retransmitted: u64,
    waited: u64,
    passed: u64,
}

impl Bed {
    /// `sender` sends `length` bytes as soon as it may. The client has an address on each link and connects over the first.
    pub(super) fn new(setting: &Setting<'_>, sender: Side, length: u64, links: &[DirectionConfig]) -> Self {
        let transport = transport(setting.registry, setting.scheduler, setting.controller);
        Bed::with_transport(setting, transport, sender, length, links)
    }

    /// The same with a scheduler that has no name.
    pub(super) fn with_scheduler(
        setting: &Setting<'_>,
        scheduler: Arc<dyn SchedulerFactory>,
        sender: Side,
        length: u64,
        links: &[DirectionConfig],
    ) -> Self {
        let congestion = setting.registry.congestion(setting.controller).expect("a registered controller");
        let acks = setting.registry.acks("default").expect("a registered default");
        let policies = Composed::new(scheduler, congestion, acks);
        let transport = TransportConfig::with_policies(Arc::new(policies));
        Bed::with_transport(setting, transport, sender, length, links)
    }

    fn with_transport(
        setting: &Setting<'_>,
        transport: TransportConfig,
        sender: Side,
        length: u64,
        links: &[DirectionConfig],
    ) -> Self {
        let transport = Arc::new(transport);
        let application = |side| if side == sender { Bulk::sender(length) } else { Bulk::default() };
        let mut host = client(application(Side::Client), setting.seed);
        host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
            .expect("the address is valid");
        let server = server(transport, application(Side::Server), setting.seed);
        let mut network = Network::new(host, server, setting.seed);
        let add =
            |(n, link): (usize, &DirectionConfig)| network.add_link(client_address(n as u8).ip(), link, link);
        let handles = links.iter().enumerate().map(add).collect();
        Bed {
            network,
            links: handles,
            sender,
            looks: VecDeque::new(),
            overshoot: 0,
            since: Before::default(),
        }
    }

    pub(super) fn client(&mut self) -> &mut Connection {
        self.network.client.first_connection().expect("the connection lives")
    }

    pub(super) fn server(&mut self) -> &mut Connection {
        self.network.server.first_connection().expect("the connection lives")
    }

    pub(super) fn sending(&mut self) -> &mut Connection {
        if self.sender.is_client() { self.client() } else { self.server() }
    }

    fn receiver(&self) -> &Bulk {
        let (client, server) = (&self.network.client.application, &self.network.server.application);
        if self.sender.is_client() { server } else { client }
    }

    /// Bytes that arrived so far.
    pub(super) fn received(&self) -> u64 {
        self.receiver().received
    }

    /// Opens a path over the client's `n`-th link as soon as possible.
    pub(super) fn open(&mut self, n: u8) -> PathId {
        let tuple = FourTuple { local: client_address(n), remote: SERVER };
        let mut opened = None;
        self.network.run_until(Time::from_secs(5), |network| {
            let now = network.now();
            let connection = network.client.first_connection();
            opened = connection.and_then(|c| c.open_path(now, tuple, PathStatus::Available, None).ok());
            opened.is_some()
        });
        opened.expect("the path can be opened within five seconds")
    }

    /// From now on the server sees the client at `outside`.
    pub(super) fn translate(&mut self, outside: SocketAddr) {
        self.network.translate(client_address(0), outside);
    }

    /// Moves the client's path 0 to another of its addresses.
    pub(super) fn migrate(&mut self, local: SocketAddr) {
        let now = self.network.now();
        let migrated = self.client().migrate_path(now, PathId::ZERO, FourTuple { local, remote: SERVER });
        migrated.expect("a client migrates after the handshake");
    }

    /// Drops, retransmissions and excess count from here on.
    pub(super) fn count_from_here(&mut self) {
        let (waited, passed) = self.queued();
        self.since = Before { dropped: self.dropped(), retransmitted: self.retransmitted(), waited, passed };
        self.overshoot = 0;
    }

    /// Runs until `time`, or until everything arrived.
    pub(super) fn run_to(&mut self, time: Time) {
        while self.network.now() < time && self.receiver().finished_at.is_none() {
            let next = (self.network.now() + STEP).min(time);
            let sender = self.sender;
            self.network.run_until(next, |network| {
                let receiver = if sender.is_client() { &network.server } else { &network.client };
                receiver.application.finished_at.is_some()
            });
            self.look();
        }
    }

    /// Runs to the end; returns how long it took, or infinity.
    pub(super) fn finish(&mut self) -> f64 {
        self.run_to(DEADLINE);
        assert_eq!(self.receiver().corrupt_at, None, "a wrong byte");
        self.receiver().finished_at.map_or(f64::INFINITY, |at| at.as_secs_f64())
    }

    /// How much left in less than a round trip, beyond the largest window in it.
    fn look(&mut self) {
        let at = self.network.now();
        let connection = match self.sender {
            Side::Client => self.network.client.first_connection(),
            Side::Server => self.network.server.first_connection(),
        };
        let Some(stats) = connection.and_then(|c| c.path_stats(PathId::ZERO)) else { return };
        let look = Look { at, sent: stats.bytes_sent, window: stats.congestion_window };
        self.looks.push_back(look);
        while self.looks.front().is_some_and(|first| at.since(first.at) > ROUND_TRIP - STEP) {
            self.looks.pop_front();
        }
        let window = self.looks.iter().map(|look| look.window).max().unwrap_or_default();
        let first = self.looks.front().map_or(0, |first| first.sent);
        self.overshoot = self.overshoot.max((look.sent - first).saturating_sub(window));
    }

    /// Counters of all links in the direction of the data.
    fn link_stats(&self) -> impl Iterator<Item = &LinkStats> {
        let towards_server = self.sender.is_client();
        self.links.iter().filter_map(move |link| {
            let (up, down) = self.network.link_stats(*link)?;
            Some(if towards_server { up } else { down })
        })
    }

    /// Packets that the links dropped in the direction of the data.
    pub(super) fn dropped(&self) -> u64 {
        self.link_stats().map(LinkStats::dropped_packets).sum()
    }

    /// Time that packets waited for their last bit to be sent, nanoseconds, and how many these were.
    fn queued(&self) -> (u64, u64) {
        let add = |(waited, passed), stats: &LinkStats| {
            (waited + stats.queue_time_total, passed + stats.delivered_packets)
        };
        self.link_stats().fold((0, 0), add)
    }

    /// How long a packet waited in the mean, milliseconds: how full the queue was.
    pub(super) fn mean_wait(&self) -> f64 {
        let (waited, passed) = self.queued();
        (waited - self.since.waited) as f64 / 1e6 / (passed - self.since.passed).max(1) as f64
    }

    /// Bytes that leave in the first round trip with the initial window, once the sender knows of the move.
    pub(super) fn first_flight(&mut self) -> u64 {
        let noticed_by = self.network.now() + 8 * ROUND_TRIP;
        let stats = |bed: &mut Self| bed.sending().path_stats(PathId::ZERO).expect("path 0 was there");
        let mut before = stats(self);
        while before.congestion_window > INITIAL_WINDOW && self.network.now() < noticed_by {
            self.run_to(self.network.now() + Duration::from_millis(1));
            before = stats(self);
        }
        self.run_to(self.network.now() + ROUND_TRIP - STEP);
        stats(self).bytes_sent - before.bytes_sent
    }

    fn retransmitted(&mut self) -> u64 {
        self.sending().stats().stream_bytes_retransmitted
    }

    /// Packets dropped since [`count_from_here`](Self::count_from_here).
    pub(super) fn drops(&self, limit: f64) -> Measure {
        Measure::at_most("dropped", (self.dropped() - self.since.dropped) as f64, "packets", limit)
    }

    /// Stream bytes sent again since then.
    pub(super) fn sent_again(&mut self, limit: f64) -> Measure {
        let again = self.retransmitted() - self.since.retransmitted;
        Measure::at_most("sent again", again as f64 / 1e3, "kB", limit)
    }

    /// Bytes that left beyond the window since then. Probes, challenges and acknowledgements may: they are few.
    pub(super) fn beyond_window(&self) -> Measure {
        Measure::at_most("beyond the window", self.overshoot as f64 / 1e3, "kB", 6.0)
    }

    /// Whether the path's estimates are of the path as it is: smoothed round-trip time.
    pub(super) fn smoothed_rtt(&mut self, limit: f64) -> Measure {
        let stats = self.sending().path_stats(PathId::ZERO).expect("path 0 was there");
        Measure::at_most("smoothed RTT", stats.smoothed_rtt.as_secs_f64() * 1e3, "ms", limit)
    }
}
