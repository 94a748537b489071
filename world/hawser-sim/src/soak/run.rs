use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Code, Connection, FourTuple, TransportConfig};
use hawser_policy::{PathId, PathState, PathStatus, Registry, Time};

use super::course::{Course, Happening};
use super::coverage::{Coverage, STEP};
use crate::testing::{SERVER, client, client_address, client_config, server};
use crate::{Download, Host, LinkHandle, Network, Serve};

/// While a link that has a path is up, something arrives this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Once the links work for good, something arrives this often.
const PATIENCE: Duration = Duration::from_secs(60);
/// And all of it within this: the slowest links lose one packet in twenty.
const RECOVERY: Duration = Duration::from_secs(3_600);
/// What is outstanding when a download has ended is settled.
const SETTLED: Duration = Duration::from_secs(5);
/// In which nobody wants anything.
const QUIET: Duration = Duration::from_secs(20);
/// Datagrams that both ends may send meanwhile: probes of paths and of their datagram sizes.
const MAX_QUIET_PACKETS: u64 = 400;
/// Bytes that may be in flight on a path then, and buffered by an end.
const MAX_IN_FLIGHT: u64 = 4_000;
const MAX_BUFFERED: u64 = 64 << 10;
/// Longer than it takes an end to forget a connection. If the CONNECTION_CLOSE was lost, the idle timeout of 90 s restarts with
/// the first packet that the end sends after that (RFC 9000 section 10.1), at the latest when 90 s are over; a path's first
/// connection id has no reset token of a client (section 18.2). Then stateless resets of both ends answer each other, each smaller
/// than the one before (section 10.3.3).
const FORGOTTEN: Duration = Duration::from_secs(200);

/// What a course did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Virtual time.
    pub time: Duration,
    /// Packets that arrived.
    pub packets: u64,
    /// Stream bytes that arrived.
    pub bytes: u64,
    /// Stream bytes that were sent again.
    pub retransmitted: u64,
    /// The longest time in which nothing arrived although one link was up and had a path.
    pub longest_pause: Duration,
}

/// What was not in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Net = Network<Host<Download>, Host<Serve>>;

/// A course under way.
struct Run<'a> {
    course: &'a Course,
    network: Net,
    links: Vec<LinkHandle>,
    /// Whether each is up.
    up: Vec<bool>,
    coverage: Coverage,
    ports: u16,
    /// Told what happens, and how the paths are at every step.
    watch: Option<&'a mut dyn FnMut(String)>,
}

impl Course {
    /// Runs it.
    ///
    /// # Errors
    /// What was not in order.
    ///
    /// # Panics
    /// If its policies are not in the registry.
    pub fn run(&self, registry: &Registry) -> Result<Account, Failure> {
        self.go(Run::new(self, registry))
    }

    /// Runs it, and tells the links, what happens and how the paths are, in lines.
    ///
    /// # Errors
    /// What was not in order.
    ///
    /// # Panics
    /// If its policies are not in the registry.
    pub fn watch(&self, registry: &Registry, watch: &mut dyn FnMut(String)) -> Result<Account, Failure> {
        for (link, [up, down]) in self.links.iter().enumerate() {
            watch(format!("link {link}: up {up:?}, down {down:?}"));
        }
        let mut run = Run::new(self, registry);
        run.watch = Some(watch);
        self.go(run)
    }

    fn go(&self, mut run: Run<'_>) -> Result<Account, Failure> {
        for (at, happening) in &self.happenings {
            run.run_to(*at);
            run.happen(*happening);
        }
        run.run_to(self.ends());
        run.check_coverage()?;
        run.links.iter().for_each(|link| run.network.force(*link, None));
        run.finish()
    }
}

impl<'a> Run<'a> {
    fn new(course: &'a Course, registry: &Registry) -> Self {
        let policies = registry.set(&course.policies).unwrap_or_else(|error| panic!("{error}"));
        let mut transport = TransportConfig::with_policies(policies);
        transport.ecn = course.ecn;
        transport.loss_recovery = course.recovery;
        // Most downloads are over before everything happened.
        transport.max_idle_timeout = Some(Duration::from_secs(90));
        let transport = Arc::new(transport);
        let mut host = client(Download::default(), course.seed);
        let config = client_config(transport.clone());
        let connected = host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test");
        assert!(connected.is_ok(), "a valid address");
        let server = server(transport, Serve::new(course.length), course.seed);
        let mut network = Network::new(host, server, course.seed);
        let add =
            |(n, [up, down]): (usize, &[_; 2])| network.add_link(client_address(n as u8).ip(), up, down);
        let links = course.links.iter().enumerate().map(add).collect();
        let (up, coverage) = (vec![true; course.links.len()], Coverage::new(course.links.len()));
        Run { course, network, links, up, coverage, ports: 0, watch: None }
    }

    /// Goes on to a moment, and looks at every step whether something arrives.
    fn run_to(&mut self, at: Time) {
        while self.network.now() < at {
            self.network.run_to(at.min(self.network.now() + STEP));
            let now = self.network.now();
            let paths = self.network.client.peek_first().map(|it| it.paths()).unwrap_or_default();
            let has_path = |link: usize| {
                let local = client_address(link as u8);
                paths.iter().any(|path| path.tuple.local == local && path.state != PathState::Validating)
            };
            let download = &self.network.client.application;
            let is_over = download.finished_at.is_some() || download.closed.is_some();
            self.coverage.note(now, download.received, |link| !is_over && self.up[link] && has_path(link));
            self.tell(now);
        }
    }

    /// Tells how the paths are.
    fn tell(&mut self, now: Time) {
        let Some(watch) = &mut self.watch else { return };
        let received = self.network.client.application.received;
        let mut line = format!("{now:?}: {received} bytes, up {:?}", self.up);
        let Network { client, server, .. } = &self.network;
        for (name, connection) in [("client", client.peek_first()), ("server", server.peek_first())] {
            line += &format!("; {name}{}", connection.map_or_else(String::new, described));
        }
        watch(line);
    }

    /// While a link was up something arrived.
    fn check_coverage(&self) -> Result<(), Failure> {
        let longest = self.coverage.longest();
        self.expect(longest <= LONGEST_PAUSE, || format!("nothing in {longest:.1?} with a link that was up"))
    }

    fn happen(&mut self, happening: Happening) {
        let now = self.network.now();
        if let Some(watch) = &mut self.watch {
            watch(format!("{now:?}: {happening:?}"));
        }
        let tuple = |link: usize| FourTuple { local: client_address(link as u8), remote: SERVER };
        let is_known = self.is_known_to_server();
        let connection = self.network.client.first_connection();
        match (happening, connection) {
            (Happening::Down(link), _) => {
                self.up[link] = false;
                self.network.force(self.links[link], Some(false));
            }
            (Happening::Up(link), _) => {
                self.up[link] = true;
                self.network.force(self.links[link], None);
            }
            // RFC 9000 section 9: addresses are stable until the handshake is confirmed. A server that has not heard the client's
            // Finished message takes nothing from another one.
            (Happening::Rebind(_), _) if !is_known => {}
            (Happening::Rebind(link), _) => {
                self.ports += 1;
                let inside = client_address(link as u8);
                self.network.translate(inside, SocketAddr::new(inside.ip(), 50_000 + self.ports));
            }
            (Happening::Open(link), Some(connection)) => {
                let _ = connection.open_path(now, tuple(link), PathStatus::Available, None);
            }
            (Happening::Abandon(n), Some(connection)) => {
                let paths: Vec<PathId> = connection.paths().iter().map(|path| path.id).collect();
                if paths.len() > 1 {
                    let id = paths[n % paths.len()];
                    let _ = connection.abandon_path(now, id, Code::APPLICATION_ABANDON_PATH);
                }
            }
            (Happening::Migrate(n, link), Some(connection)) => {
                let paths: Vec<PathId> = connection.paths().iter().map(|path| path.id).collect();
                if let Some(id) = paths.get(n % paths.len().max(1)) {
                    let _ = connection.migrate_path(now, *id, tuple(link));
                }
            }
            (Happening::UpdateKeys { server: false }, Some(connection)) => {
                connection.initiate_key_update(now);
            }
            (Happening::UpdateKeys { .. }, _) => {
                if let Some(connection) = self.network.server.first_connection() {
                    connection.initiate_key_update(now);
                }
            }
            (_, None) => {}
        }
    }

    fn is_known_to_server(&self) -> bool {
        let connection = self.network.server.peek_first();
        connection.is_some_and(|it| it.paths().iter().any(|path| path.state != PathState::Validating))
    }

    fn finish(mut self) -> Result<Account, Failure> {
        let deadline = self.network.now() + RECOVERY;
        while self.network.now() < deadline {
            let before = self.network.client.application.received;
            let until = self.network.now() + PATIENCE;
            let is_over = self.network.run_until(until, |network| {
                let download = &network.client.application;
                download.finished_at.is_some() || download.closed.is_some()
            });
            if is_over || self.network.client.application.received == before {
                break;
            }
        }
        self.check_download()?;
        let retransmitted =
            self.network.server.peek_first().map_or(0, |c| c.stats().stream_bytes_retransmitted);
        self.check_quiet()?;
        let now = self.network.now();
        if let Some(connection) = self.network.client.first_connection() {
            connection.close(now, 0, Default::default());
        }
        self.network.run_to(now + FORGOTTEN);
        self.check_links()?;
        for (name, is_forgotten) in [
            ("client", self.network.client.peek_first().is_none()),
            ("server", self.network.server.peek_first().is_none()),
        ] {
            self.expect(is_forgotten, || format!("the {name} does not forget the connection"))?;
        }
        Ok(Account {
            time: self.network.now().since(Time::ZERO),
            packets: self.network.packets_delivered(),
            bytes: self.course.length,
            retransmitted,
            longest_pause: self.coverage.longest(),
        })
    }

    fn expect(&self, holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
        if holds { Ok(()) } else { Err(Failure(format!("{}: {}", self.course, what()))) }
    }

    fn check_download(&self) -> Result<(), Failure> {
        let download = &self.network.client.application;
        let received = download.received;
        self.expect(download.corrupt_at.is_none(), || format!("wrong byte at {:?}", download.corrupt_at))?;
        let is_whole = download.finished_at.is_some() && received == self.course.length;
        self.expect(is_whole, || format!("{received} bytes arrived; closed: {:?}", download.closed))
    }

    /// Nothing is left, and nobody says much.
    fn check_quiet(&mut self) -> Result<(), Failure> {
        self.network.run_to(self.network.now() + SETTLED);
        let before = self.network.packets_delivered();
        let heard_before = self.heard();
        self.network.run_to(self.network.now() + QUIET);
        let packets = self.network.packets_delivered() - before;
        self.expect(packets <= MAX_QUIET_PACKETS, || {
            format!("{packets} packets, and nobody wants anything")
        })?;
        let Network { client, server, .. } = &self.network;
        for ((name, connection), heard) in
            [("client", client.peek_first()), ("server", server.peek_first())].into_iter().zip(heard_before)
        {
            let Some(connection) = connection else {
                return Err(Failure(format!("{}: the {name} lost its connection", self.course)));
            };
            if let Some(left) = left(connection, &heard) {
                return Err(Failure(format!("{}: {name}: {left}", self.course)));
            }
        }
        Ok(())
    }

    /// Datagrams that each end has received on each of its paths.
    fn heard(&self) -> [Vec<(PathId, u64)>; 2] {
        let Network { client, server, .. } = &self.network;
        [client.peek_first(), server.peek_first()].map(|connection| {
            let received = |connection: &Connection, path: PathId| {
                connection.path_stats(path).map_or(0, |stats| stats.datagrams_received)
            };
            connection.map_or_else(Vec::new, |it| {
                it.paths().iter().map(|path| (path.id, received(it, path.id))).collect()
            })
        })
    }

    /// Every packet that entered a link came out of it, or was dropped for a reason.
    fn check_links(&self) -> Result<(), Failure> {
        for link in &self.links {
            let Some((up, down)) = self.network.link_stats(*link) else { continue };
            for stats in [up, down] {
                let out = stats.delivered_packets
                    + stats.dropped_queue
                    + stats.dropped_aqm
                    + stats.dropped_loss
                    + stats.dropped_down
                    + stats.dropped_mtu;
                let into = stats.offered_packets + stats.duplicated;
                self.expect(out == into, || format!("{into} packets into a link, {out} out of it"))?;
            }
        }
        Ok(())
    }
}

/// The paths of a connection.
fn described(connection: &Connection) -> String {
    let paths = connection.paths();
    let described = paths.iter().map(|path| {
        let Some(stats) = connection.path_stats(path.id) else { return String::new() };
        format!(
            " [{} {:?} {} window {} in flight {} rtt {:.0?} sent {} received {} lost {} timeouts {} {:?}]",
            path.id,
            path.state,
            path.tuple.local.port(),
            stats.congestion_window,
            stats.bytes_in_flight,
            stats.smoothed_rtt,
            stats.packets_sent,
            stats.datagrams_received,
            stats.packets_lost,
            stats.probe_timeouts,
            stats.limited_by,
        )
    });
    described.collect()
}

/// What a connection still holds that it should not. `heard`: datagrams received on its paths when all was settled.
fn left(connection: &Connection, heard: &[(PathId, u64)]) -> Option<String> {
    let buffered = connection.buffered();
    if buffered > MAX_BUFFERED {
        return Some(format!("{buffered} bytes buffered"));
    }
    // What was in flight on a path that went silent, as behind a NAT that forgot it, is settled when it answers or is given up. A path
    // without others is never suspect: probes go on until the connection ends, and a client that has all it wants says nothing.
    let paths = connection.paths();
    let is_silent = |path: PathId| {
        let received = connection.path_stats(path).map_or(0, |stats| stats.datagrams_received);
        paths.len() == 1 && heard.contains(&(path, received))
    };
    let mut answering = paths.iter().filter(|path| path.state != PathState::Suspect && !is_silent(path.id));
    answering.find_map(|path| {
        let in_flight = connection.path_stats(path.id).map_or(0, |stats| stats.bytes_in_flight);
        (in_flight > MAX_IN_FLIGHT).then(|| format!("path {}: {in_flight} bytes in flight", path.id))
    })
}
