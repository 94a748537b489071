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
use crate::{Exchange, Foreign, Ours};

/// A node that runs an [`Exchange`].
pub trait End: Node {
    /// The transfer.
    fn exchange(&self) -> &Exchange;
}

/// An end that has paths to open and abandon.
pub trait Multipath: End {
    /// Opens a path from the client's `n`-th address; `None` while that is not possible yet.
    fn open(&mut self, now: Time, n: u8) -> Option<u32>;

    /// Abandons a path; `false` while that is not possible yet.
    fn abandon(&mut self, now: Time, id: u32) -> bool;
}

impl End for Host<Ours> {
    fn exchange(&self) -> &Exchange {
        &self.application.exchange
    }
}

impl End for Foreign<Noq> {
    fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl End for Foreign<Quinn> {
    fn exchange(&self) -> &Exchange {
        &self.exchange
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
        let code = noq_proto::VarInt::from_u32(0x3e);
        let spare = self.can_spare(id);
        let connection = self.stack.connection.as_mut().filter(|_| spare);
        connection.is_some_and(|c| c.close_path(now, id, code).is_ok())
    }
}

/// It knows one path only.
impl Multipath for Foreign<Quinn> {
    fn open(&mut self, _: Time, _: u8) -> Option<u32> {
        None
    }

    fn abandon(&mut self, _: Time, _: u32) -> bool {
        false
    }
}

/// One random scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// Bytes in each direction.
    pub length: u64,
    /// Per link: Mbit/s, one-way delay in milliseconds, loss probability.
    pub links: Vec<(u64, u64, f64)>,
    /// Probability that a packet is delayed so that others overtake it, and by how much at most.
    pub reordering: (f64, Duration),
    /// When a path over link 1, 2, .. is opened (or as soon after as possible).
    pub openings: Vec<Time>,
    /// When a path is abandoned, its id, and whether the client does it.
    pub abandonment: Option<(Time, u32, bool)>,
}

impl Plan {
    /// Draws a scenario of one to three links.
    pub fn draw(seed: u64, multipath: bool) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let links = if multipath { rng.random_range(2..=3) } else { 1 };
        let lossy = rng.random_bool(0.7);
        Plan {
            seed,
            length: rng.random_range(50_000..400_000),
            links: (0..links)
                .map(|_| {
                    let loss = if lossy { rng.random_range(0.0..0.06) } else { 0.0 };
                    (rng.random_range(2..40), rng.random_range(1..60), loss)
                })
                .collect(),
            reordering: (rng.random_range(0.0..0.15), Duration::from_micros(rng.random_range(100..30_000))),
            openings: (1..links).map(|_| Time::from_micros(rng.random_range(0..600_000))).collect(),
            abandonment: (multipath && rng.random_bool(0.7)).then(|| {
                let at = Time::from_micros(rng.random_range(20_000..800_000));
                (at, rng.random_range(0..links as u32), rng.random_bool(0.5))
            }),
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

    /// Plays the script until both transfers are complete; says what happened.
    ///
    /// # Errors
    /// A description of both ends if that does not happen before `deadline`.
    pub fn play<C: Multipath, S: Multipath>(
        &self,
        network: &mut Network<C, S>,
        deadline: Time,
    ) -> Result<Played, String> {
        let mut script = Script { plan: self, next_attempt: Time::ZERO, played: Played::default() };
        let done = network.run_until(deadline, |n| {
            script.step(n);
            n.client.exchange().is_complete() && n.server.exchange().is_complete()
        });
        let played = script.played;
        done.then_some(played).ok_or_else(|| report(self, played, network))
    }
}

/// What of the script took place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Played {
    /// Paths opened beside the first.
    pub opened: usize,
    /// Whether a path was abandoned.
    pub abandoned: bool,
}

/// How often what is not possible yet is tried again.
const RETRY: Duration = Duration::from_millis(5);

struct Script<'a> {
    plan: &'a Plan,
    next_attempt: Time,
    played: Played,
}

impl Script<'_> {
    fn step<C: Multipath, S: Multipath>(&mut self, network: &mut Network<C, S>) {
        let now = network.now();
        if now < self.next_attempt {
            return;
        }
        self.next_attempt = now + RETRY;
        let opening = self.plan.openings.get(self.played.opened);
        let link = self.played.opened as u8 + 1;
        if opening.is_some_and(|at| *at <= now) && network.client.open(now, link).is_some() {
            self.played.opened += 1;
        }
        if let Some((at, id, by_client)) = self.plan.abandonment
            && at <= now
            && !self.played.abandoned
            && self.played.opened > 0
        {
            self.played.abandoned =
                if by_client { network.client.abandon(now, id) } else { network.server.abandon(now, id) };
        }
    }
}

fn report<C: End, S: End>(plan: &Plan, played: Played, network: &Network<C, S>) -> String {
    format!(
        "{plan:?}\n{played:?} at {:?}\nclient: {:?}\nserver: {:?}",
        network.now(),
        network.client.exchange(),
        network.server.exchange()
    )
}
