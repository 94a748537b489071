//! Two ends, the links between them, and what is measured on the links, which is the same for all stacks.

use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use hawser_core::FourTuple;
use hawser_interop_virtual::noq::{self, Noq};
use hawser_interop_virtual::scenario::is_complete;
use hawser_interop_virtual::steering::{CLIENT_V6, SERVER_V6};
use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{Foreign, Ours, Steering, client_with_paths, server_with_paths};
use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client_address, link};
use hawser_sim::{Host, LinkHandle, Network};

/// A million bytes.
pub(crate) const MB: u64 = 1_000_000;

/// A case that takes longer has failed.
const DEADLINE: Time = Time::from_secs(60);

/// What is not possible yet is waited for so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// The instant that foreign stacks take for time zero; nothing depends on it.
fn origin() -> Instant {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    *ORIGIN
}

/// What a case needs.
pub(crate) struct Setup {
    /// Bytes that each end sends.
    length: u64,
    /// Mbit/s and milliseconds one way; queues hold 100 ms.
    links: Vec<(u64, u64)>,
    /// The same over IPv6.
    ipv6: Option<(u64, u64)>,
    /// How many paths both ends allow at once.
    paths: u32,
}

impl Setup {
    pub(crate) fn new(length: u64, links: &[(u64, u64)]) -> Self {
        Setup { length, links: links.to_vec(), ipv6: None, paths: 8 }
    }

    pub(crate) fn paths(self, paths: u32) -> Self {
        Setup { paths, ..self }
    }

    pub(crate) fn with_ipv6(self, megabits: u64, delay: u64) -> Self {
        Setup { ipv6: Some((megabits, delay)), ..self }
    }

    pub(crate) fn hawser(&self) -> Bed<Host<Ours>, Host<Ours>> {
        let identity = Identity::new();
        let client = client_with_paths(&identity, self.length, 1, self.paths);
        self.bed(client, server_with_paths(&identity, self.length, 1, self.paths))
    }

    pub(crate) fn to_noq(&self) -> Bed<Host<Ours>, Foreign<Noq>> {
        let identity = Identity::new();
        let client = client_with_paths(&identity, self.length, 1, self.paths);
        self.bed(client, noq::server_with_paths(&identity, self.length, 1, origin(), self.paths))
    }

    pub(crate) fn from_noq(&self) -> Bed<Foreign<Noq>, Host<Ours>> {
        let identity = Identity::new();
        let client = noq::client_with_paths(&identity, self.length, 1, origin(), self.paths);
        self.bed(client, server_with_paths(&identity, self.length, 1, self.paths))
    }

    fn bed<C: Steering, S: Steering>(&self, client: C, server: S) -> Bed<C, S> {
        let mut network = Network::new(client, server, 1);
        let addresses: Vec<SocketAddr> = (0..self.links.len() as u8).map(client_address).collect();
        let v4 = addresses.iter().map(SocketAddr::ip).zip(self.links.iter().copied());
        let v6 = self.ipv6.map(|shape| (CLIENT_V6.ip(), shape));
        let all: Vec<(IpAddr, (u64, u64))> = v4.chain(v6).collect();
        let links = all.iter().map(|(address, (megabits, delay))| {
            let direction = link(*megabits, *delay);
            network.add_link(*address, &direction, &direction)
        });
        let links = links.collect();
        Bed { network, links }
    }
}

/// What a case may need.
pub(crate) struct Bounds {
    pub(crate) seconds: f64,
    /// Bytes.
    pub(crate) queue: u64,
}

/// Runs a case to its end and holds it to its bounds.
pub(crate) fn judge<C: Steering, S: Steering>(
    bed: &mut Bed<C, S>,
    script: fn(&mut Bed<C, S>),
    bounds: Bounds,
) {
    script(bed);
    let took = bed.finish();
    let queue = bed.largest_queue();
    println!("{took:.3} s (at most {} s), {queue} bytes waited (at most {})", bounds.seconds, bounds.queue);
    assert!(took <= bounds.seconds, "{took:.3} s");
    assert!(queue <= bounds.queue, "{queue} bytes");
}

/// A case at work.
pub(crate) struct Bed<C, S> {
    pub(crate) network: Network<C, S>,
    pub(crate) links: Vec<LinkHandle>,
}

impl<C: Steering, S: Steering> Bed<C, S> {
    /// Opens a path over the `n`-th link as soon as both ends allow it.
    pub(crate) fn open(&mut self, n: u8) -> u32 {
        self.open_between(FourTuple { local: client_address(n), remote: SERVER })
    }

    /// The same over IPv6.
    pub(crate) fn open_ipv6(&mut self) -> u32 {
        self.open_between(FourTuple { local: CLIENT_V6, remote: SERVER_V6 })
    }

    fn open_between(&mut self, tuple: FourTuple) -> u32 {
        let mut opened = None;
        let deadline = self.now() + PATIENCE;
        self.network.run_until(deadline, |network| {
            let now = network.now();
            opened = network.client.open_between(now, tuple);
            opened.is_some()
        });
        opened.unwrap_or_else(|| panic!("a path between {tuple:?} could not be opened; {}", self.describe()))
    }

    /// Declares a path a backup at both ends, as soon as each knows it.
    pub(crate) fn declare_backup(&mut self, id: u32) {
        let deadline = self.now() + PATIENCE;
        let (mut client, mut server) = (false, false);
        let done = self.network.run_until(deadline, |network| {
            let now = network.now();
            client = client || network.client.declare_backup(now, id);
            server = server || network.server.declare_backup(now, id);
            client && server
        });
        assert!(done, "path {id} is not known; {}", self.describe());
    }

    /// Abandons a path at one end.
    pub(crate) fn abandon(&mut self, id: u32, by_client: bool) {
        let now = self.now();
        let done = match by_client {
            true => self.network.client.abandon(now, id),
            false => self.network.server.abandon(now, id),
        };
        assert!(done, "path {id} could not be abandoned; {}", self.describe());
    }

    pub(crate) fn now(&self) -> Time {
        self.network.now()
    }

    /// Runs until so many milliseconds after the start; the transfer must still be at work then.
    pub(crate) fn run_to(&mut self, milliseconds: u64) {
        self.network.run_to(Time::from_millis(milliseconds));
        assert!(!is_complete(&mut self.network), "there must be something left to transfer");
        self.check_open();
    }

    /// Runs for so many milliseconds.
    pub(crate) fn run_for(&mut self, milliseconds: u64) {
        self.run_to(self.now().as_nanos() / 1_000_000 + milliseconds);
    }

    /// Bytes that a link has delivered, up and down.
    pub(crate) fn delivered(&self, n: usize) -> [u64; 2] {
        let (up, down) = self.network.link_stats(self.links[n]).expect("a link");
        [up.delivered_bytes, down.delivered_bytes]
    }

    /// The link must have delivered so much in both directions since it had delivered `before`.
    pub(crate) fn assert_carried(&self, n: usize, before: [u64; 2], least: u64) {
        let after = self.delivered(n);
        for (direction, (after, before)) in ["up", "down"].iter().zip(after.into_iter().zip(before)) {
            assert!(after - before >= least, "link {n} {direction}: {} bytes of {least}", after - before);
        }
    }

    /// The link must not have delivered more in either direction.
    pub(crate) fn assert_idle(&self, n: usize, before: [u64; 2], most: u64) {
        let after = self.delivered(n);
        for (direction, (after, before)) in ["up", "down"].iter().zip(after.into_iter().zip(before)) {
            assert!(after - before <= most, "link {n} {direction}: {} bytes of {most}", after - before);
        }
    }

    /// Takes a link down or up.
    pub(crate) fn force(&mut self, n: usize, is_up: bool) {
        self.network.force(self.links[n], Some(is_up));
    }

    fn check_open(&mut self) {
        let closed = [&self.network.client.exchange().closed, &self.network.server.exchange().closed]
            .map(|closed: &Option<String>| closed.clone());
        assert_eq!(closed, [None, None], "the connection is open; {}", self.describe());
    }

    /// Runs until everything has arrived at both ends; seconds since the start.
    fn finish(&mut self) -> f64 {
        let done = self.network.run_until(DEADLINE, is_complete);
        assert!(done, "not complete; {}", self.describe());
        self.check_open();
        let ends = [self.network.client.exchange().ended_at, self.network.server.exchange().ended_at];
        ends.into_iter().flatten().max().expect("both ended").as_secs_f64()
    }

    /// Most bytes that ever waited in a queue.
    fn largest_queue(&self) -> u64 {
        let stats = self.links.iter().filter_map(|link| self.network.link_stats(*link));
        stats.flat_map(|(up, down)| [up.queue_peak_bytes, down.queue_peak_bytes]).max().unwrap_or_default()
    }

    /// The state of both ends, for a test that fails.
    pub(crate) fn describe(&mut self) -> String {
        let (now, network) = (self.network.now(), &mut self.network);
        format!("at {now:?}\nclient {:?}\nserver {:?}", network.client.exchange(), network.server.exchange())
    }
}
