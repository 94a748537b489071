//! Links, and a script of path openings and an abandonment, drawn from a seed.

use std::time::Duration;

use hawser_core::{Code, FourTuple};
use hawser_link::{DirectionConfig, LossModel};
use hawser_policy::{PathId, PathStatus, Time};
use hawser_sim::testing::{SERVER, client_address, link};
use hawser_sim::{Host, Network, Node, Verdict};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::noq::Noq;
use crate::quinn::Quinn;
use crate::{Exchange, Foreign, Ours, wind_up};

/// A node that runs an [`Exchange`].
pub trait End: Node {
    /// The transfer.
    fn exchange(&mut self) -> &mut Exchange;
}

/// An end that has paths to open and abandon.
pub trait Multipath: End {
    /// Opens a path from the client's `n`-th address; `None` while that is not possible yet.
    fn open(&mut self, now: Time, n: u8) -> Option<u32>;

    /// Abandons a path; `false` while that is not possible yet.
    fn abandon(&mut self, now: Time, id: u32) -> bool;

    /// STREAM frames sent and received on a path that exists, if the stack counts them.
    fn stream_frames(&mut self, id: u32) -> Option<(u64, u64)>;
}

impl End for Host<Ours> {
    fn exchange(&mut self) -> &mut Exchange {
        &mut self.application.exchange
    }
}

impl End for Foreign<Noq> {
    fn exchange(&mut self) -> &mut Exchange {
        &mut self.exchange
    }
}

impl End for Foreign<Quinn> {
    fn exchange(&mut self) -> &mut Exchange {
        &mut self.exchange
    }
}

impl Multipath for Host<Ours> {
    fn open(&mut self, now: Time, n: u8) -> Option<u32> {
        let tuple = FourTuple { local: client_address(n), remote: SERVER };
        let id = self.first_connection()?.open_path(now, tuple, PathStatus::Available, None).ok()?;
        Some(id.0)
    }

    fn abandon(&mut self, now: Time, id: u32) -> bool {
        let code = Code::APPLICATION_ABANDON_PATH;
        self.first_connection().is_some_and(|c| c.abandon_path(now, PathId(id), code).is_ok())
    }

    fn stream_frames(&mut self, _: u32) -> Option<(u64, u64)> {
        None
    }
}

impl Multipath for Foreign<Noq> {
    fn open(&mut self, now: Time, n: u8) -> Option<u32> {
        let now = self.instant(now);
        let connection = self.stack.connection.as_mut()?;
        let tuple = noq_proto::FourTuple::new(SERVER, Some(client_address(n).ip()));
        let id = connection.open_path(tuple, noq_proto::PathStatus::Available, now).ok()?;
        id.to_string().parse().ok()
    }

    fn abandon(&mut self, now: Time, id: u32) -> bool {
        let (now, id) = (self.instant(now), noq_proto::PathId::from(id));
        // APPLICATION_ABANDON_PATH
        let code = noq_proto::VarInt::from_u32(0x3e);
        self.stack.connection.as_mut().is_some_and(|c| c.close_path(now, id, code).is_ok())
    }

    fn stream_frames(&mut self, id: u32) -> Option<(u64, u64)> {
        self.path_stats(id).map(|stats| (stats.frame_tx.stream, stats.frame_rx.stream))
    }
}

/// STREAM frames each way that count as "the path carries data".
const CARRIES: u64 = 10;

/// Paths of a script: that of the handshake and two that are opened.
const PATHS: u32 = 3;

/// One random scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// Bytes in each direction: of the whole transfer, or of what is left of it when a script has been played.
    pub length: u64,
    /// Per link: Mbit/s, one-way delay in milliseconds, loss probability.
    pub links: Vec<(u64, u64, f64)>,
    /// Probability that a packet is delayed so that others overtake it, and by how much at most.
    pub reordering: (f64, Duration),
    /// When paths 1 and 2 are opened, the latter counted from the abandonment unless [`crowded`](Self::crowded); or as
    /// soon after as possible.
    pub openings: [Duration; 2],
    /// Whether path 2 is opened without regard to the abandonment: then there may be three paths.
    pub crowded: bool,
    /// When one of the first two paths is abandoned (or as soon after as possible), and whether the client does it.
    pub abandonment: (Duration, u32, bool),
    /// Whether the abandonment also waits until both paths carry data in both directions. If not, it may meet paths in
    /// any state.
    pub settled: bool,
}

impl Plan {
    /// Draws a scenario.
    pub fn draw(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let lossy = rng.random_bool(0.7);
        let mut link = || {
            let loss = if lossy { rng.random_range(0.0..0.06) } else { 0.0 };
            (rng.random_range(2..20), rng.random_range(1..60), loss)
        };
        let links = (0..PATHS).map(|_| link()).collect();
        let mut delay = |most| Duration::from_micros(rng.random_range(0..most));
        let openings = [delay(600_000), delay(300_000)];
        let abandoned_after = delay(1_000_000);
        Plan {
            seed,
            length: rng.random_range(50_000..400_000),
            links,
            openings,
            crowded: rng.random_bool(0.3),
            reordering: (rng.random_range(0.0..0.15), Duration::from_micros(rng.random_range(100..30_000))),
            abandonment: (abandoned_after, rng.random_range(0..2), rng.random_bool(0.5)),
            settled: rng.random_bool(0.7),
        }
    }

    /// The network of this plan between two nodes.
    pub fn network<C: Node, S: Node>(&self, client: C, server: S) -> Network<C, S> {
        let mut network = Network::new(client, server, self.seed);
        for (n, &(megabits, delay, loss)) in (0..).zip(&self.links) {
            let loss = LossModel::Bernoulli { probability: loss };
            let direction = DirectionConfig { loss, ..link(megabits, delay) };
            network.add_link(client_address(n).ip(), &direction, &direction);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(!self.seed);
        let (probability, most) = self.reordering;
        network.set_filter(move |_, _, _| {
            if rng.random_bool(probability) {
                Verdict::Delay(rng.random_range(Duration::ZERO..most))
            } else {
                Verdict::Pass
            }
        });
        network
    }

    /// Plays the script between ends with [endless](Exchange::endless) transfers: paths are opened and one is abandoned,
    /// those that are left must carry data in both directions, and then both transfers must complete.
    ///
    /// # Errors
    /// A description of both ends if that does not happen before `deadline`.
    pub fn play<C: Multipath, S: Multipath>(
        &self,
        network: &mut Network<C, S>,
        deadline: Time,
    ) -> Result<Played, String> {
        let mut script = Script { plan: self, next_attempt: Time::ZERO, played: Played::default() };
        let done = network.run_until(deadline, |n| script.step(n) && is_complete(n));
        let played = script.played;
        if done { Ok(played) } else { Err(report(self, &played, network)) }
    }

    /// The same without paths to open and abandon, for transfers of a given length.
    ///
    /// # Errors
    /// A description of both ends if they are not complete before `deadline`.
    pub fn transfer<C: End, S: End>(
        &self,
        network: &mut Network<C, S>,
        deadline: Time,
    ) -> Result<(), String> {
        let done = network.run_until(deadline, is_complete);
        if done { Ok(()) } else { Err(report(self, &Played::default(), network)) }
    }
}

/// Whether both transfers are over, intact.
pub fn is_complete<C: End, S: End>(network: &mut Network<C, S>) -> bool {
    network.client.exchange().is_complete() && network.server.exchange().is_complete()
}

/// What of the script took place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Paths opened besides the first.
    pub opened: usize,
    /// When a path was abandoned.
    pub abandoned_at: Option<Time>,
    /// Whether paths 0 and 1 carried data in both directions by then.
    pub two_carried: bool,
    /// Which paths have carried data in both directions.
    pub carried: [bool; PATHS as usize],
    /// When all was done but the rest of the transfer.
    pub wound_up_at: Option<Time>,
}

/// How often what is not possible yet is tried again.
const RETRY: Duration = Duration::from_millis(5);

struct Script<'a> {
    plan: &'a Plan,
    next_attempt: Time,
    played: Played,
}

impl Script<'_> {
    /// Does what is due; returns whether there is nothing left to do.
    fn step<C: Multipath, S: Multipath>(&mut self, network: &mut Network<C, S>) -> bool {
        let now = network.now();
        if self.played.wound_up_at.is_some() {
            return true;
        }
        if now < self.next_attempt {
            return false;
        }
        self.next_attempt = now + RETRY;
        for (id, carried) in (0..).zip(&mut self.played.carried) {
            let frames = network.client.stream_frames(id).or_else(|| network.server.stream_frames(id));
            *carried |= frames.is_some_and(|(sent, received)| sent.min(received) >= CARRIES);
        }
        self.open(network, now);
        self.abandon(network, now);
        if self.has_played() {
            wind_up(network.client.exchange(), network.server.exchange(), self.plan.length);
            self.played.wound_up_at = Some(now);
        }
        false
    }

    fn open<C: Multipath, S: Multipath>(&mut self, network: &mut Network<C, S>, now: Time) {
        let Some(&delay) = self.plan.openings.get(self.played.opened) else { return };
        let counts_from_start = self.played.opened == 0 || self.plan.crowded;
        let since = if counts_from_start { Some(Time::ZERO) } else { self.played.abandoned_at };
        let is_due = since.is_some_and(|since| since + delay <= now);
        let link = self.played.opened as u8 + 1;
        if is_due && network.client.open(now, link).is_some() {
            self.played.opened += 1;
        }
    }

    fn abandon<C: Multipath, S: Multipath>(&mut self, network: &mut Network<C, S>, now: Time) {
        let (delay, id, by_client) = self.plan.abandonment;
        let two_carried = self.played.carried[0] && self.played.carried[1];
        let is_due =
            Time::ZERO + delay <= now && self.played.opened > 0 && (two_carried || !self.plan.settled);
        if !is_due || self.played.abandoned_at.is_some() {
            return;
        }
        let done = if by_client { network.client.abandon(now, id) } else { network.server.abandon(now, id) };
        if done {
            self.played.abandoned_at = Some(now);
            self.played.two_carried = two_carried;
        }
    }

    /// Whether all paths have come, one has gone and the others have proven themselves.
    fn has_played(&self) -> bool {
        let (_, abandoned, _) = self.plan.abandonment;
        let carried = (0..).zip(self.played.carried).all(|(id, carried)| carried || id == abandoned);
        carried && self.played.abandoned_at.is_some() && self.played.opened == self.plan.openings.len()
    }
}

/// The plan, what came of it, and the state of both ends: all that a seed determines.
pub fn report<C: End, S: End>(plan: &Plan, played: &Played, network: &mut Network<C, S>) -> String {
    format!(
        "{plan:?}\n{played:?}\nat {:?} after {} packets\nclient: {:?}\nserver: {:?}",
        network.now(),
        network.packets_delivered(),
        network.client.exchange(),
        network.server.exchange()
    )
}
