use std::fmt;

use hawser_core::LossRecovery;
use hawser_link::{
    DelayModel, DirectionConfig, Impairments, Jitter, LossModel, MILLISECOND, QueueConfig, RateModel, mix,
};
use hawser_policy::{Composition, PolicyKind, Registry, Time};

/// Most links of a course.
const MAX_LINKS: u64 = 4;
/// Milliseconds within which things happen.
const EVENTFUL: u64 = 20_000;
/// Longest outage of a link in milliseconds: two of them do not reach the idle timeout.
const MAX_OUTAGE: u64 = 8_000;

/// One in so many courses has links that take turns, and one in so many packets that overtake each other all the time.
const RESTLESS: u64 = 4;
/// Drawn apart from all else, so that a number means the same course but for them.
const RESTLESSNESS: u64 = 0x7265_7374;

/// Something that happens in a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A link goes down.
    Down(usize),
    /// It is up again.
    Up(usize),
    /// A NAT gives the client's address on a link another port.
    Rebind(usize),
    /// The client opens a path over a link.
    Open(usize),
    /// The client abandons a path, if it has others.
    Abandon(usize),
    /// The client moves a path to a link.
    Migrate(usize, usize),
    /// The server, or the client, updates keys.
    UpdateKeys {
        /// Which of them.
        server: bool,
    },
}

/// A course.
#[derive(Clone, Debug)]
pub struct Course {
    /// From which all follows.
    pub seed: u64,
    /// Up, down.
    pub links: Vec<[DirectionConfig; 2]>,
    /// What happens, in order.
    pub happenings: Vec<(Time, Happening)>,
    /// Policies of both ends.
    pub policies: Composition,
    /// Bytes of the download.
    pub length: u64,
    /// Whether packets are marked.
    pub ecn: bool,
    /// How both ends tell losses.
    pub recovery: LossRecovery,
}

/// A counter of golden steps, mixed as MurmurHash3 ends: the numbers of courses are kept with their findings, so it stays.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % bound.max(1)
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    /// About as often in each decade.
    fn logarithmic(&mut self, least: f64, most: f64) -> f64 {
        least * libm::pow(most / least, self.below(1_000) as f64 / 1_000.0)
    }
}

impl Course {
    /// The course of a seed.
    pub fn of(seed: u64, registry: &Registry) -> Self {
        let mut random = Random(mix(seed));
        let links: Vec<_> = (0..=random.below(MAX_LINKS))
            .map(|_| {
                let up = direction(&mut random);
                let down = if random.one_in(2) { up.clone() } else { direction(&mut random) };
                [up, down]
            })
            .collect();
        let mut policies = Composition::default();
        for kind in [PolicyKind::Scheduler, PolicyKind::Congestion, PolicyKind::Acks, PolicyKind::Protection]
        {
            let names: Vec<_> = registry.names(kind).collect();
            // The defaults are what most users have.
            if random.one_in(2)
                && let Ok(spec) = names[random.below(names.len() as u64) as usize].parse()
            {
                policies.set(kind, spec);
            }
        }
        // As much as all links carry in up to 40 seconds, so that most of what happens happens meanwhile.
        let rates = links.iter().map(|[_, down]| down.rate.peak().unwrap_or(0) as f64).sum::<f64>();
        let length = (rates / 8.0 * random.logarithmic(1.0, 40.0)).min(2e7) as u64;
        let mut happenings = happenings(&mut random, links.len());
        let mut links = links;
        let mut restless = Random(mix(seed ^ RESTLESSNESS));
        if restless.one_in(RESTLESS) {
            take_turns(&mut restless, links.len(), &mut happenings);
        }
        if restless.one_in(RESTLESS) {
            links.iter_mut().flatten().for_each(|direction| reorder(&mut restless, direction));
        }
        let recovery = LossRecovery::Adaptive;
        Course { seed, links, happenings, policies, length, ecn: random.one_in(2), recovery }
    }

    /// When the links work for good: after everything that happens, and every outage.
    pub fn ends(&self) -> Time {
        Time::from_millis(EVENTFUL + MAX_OUTAGE)
    }
}

fn happenings(random: &mut Random, links: usize) -> Vec<(Time, Happening)> {
    let mut happenings = Vec::new();
    // Whatever else, an honest client opens a path over each of its links.
    for link in 1..links {
        happenings.push((Time::from_millis(500 + random.below(1_000)), Happening::Open(link)));
    }
    for _ in 0..random.below(12) {
        let at = 500 + random.below(EVENTFUL - 500);
        let link = random.below(links as u64) as usize;
        let path = random.below(8) as usize;
        let happening = match random.below(9) {
            0..=2 => {
                let up = at + 1 + random.below(MAX_OUTAGE - 1);
                happenings.push((Time::from_millis(up), Happening::Up(link)));
                Happening::Down(link)
            }
            3 | 4 => Happening::Rebind(link),
            5 => Happening::Open(link),
            6 => Happening::Abandon(path),
            7 => Happening::Migrate(path, link),
            _ => Happening::UpdateKeys { server: random.one_in(2) },
        };
        happenings.push((Time::from_millis(at), happening));
    }
    happenings.sort_by_key(|(at, _)| *at);
    happenings
}

/// One of several links is up at a time, or an only link every other time; the first seconds belong to the handshake.
fn take_turns(random: &mut Random, links: usize, happenings: &mut Vec<(Time, Happening)>) {
    let turn = random.logarithmic(100.0, 4_000.0) as u64;
    let places = links.max(2);
    // Whatever else goes down would end the turn of a link before its time, or another's too late.
    happenings.retain(|(_, happening)| !matches!(happening, Happening::Down(_) | Happening::Up(_)));
    let begins = 3_000 + random.below(3_000);
    let turns = (EVENTFUL - begins) / turn;
    for number in 0..turns {
        let at = Time::from_millis(begins + number * turn);
        for link in 0..links {
            let has_turn = number as usize % places == link;
            let had_turn = number == 0 || (number as usize - 1) % places == link;
            match (had_turn, has_turn) {
                (false, true) => happenings.push((at, Happening::Up(link))),
                (true, false) => happenings.push((at, Happening::Down(link))),
                _ => {}
            }
        }
    }
    let end = Time::from_millis(begins + turns * turn);
    happenings.extend((0..links).map(|link| (end, Happening::Up(link))));
    happenings.sort_by_key(|(at, _)| *at);
}

/// Packets overtake each other by up to twice their delay.
fn reorder(random: &mut Random, direction: &mut DirectionConfig) {
    let mean = random.logarithmic(2.0, 80.0) as u64 * MILLISECOND;
    direction.delay.jitter = Jitter::Gamma { mean, deviation: mean };
    direction.delay.reordering = true;
}

fn direction(random: &mut Random) -> DirectionConfig {
    let rate = random.logarithmic(3e5, 1e8) as u64;
    let delay = random.logarithmic(1.0, 300.0) as u64 * MILLISECOND;
    let mut delay = DelayModel::constant(delay);
    if random.one_in(3) {
        let mean = (1 + random.below(30)) * MILLISECOND;
        delay.jitter = Jitter::Gamma { mean, deviation: mean };
        delay.reordering = random.one_in(2);
    }
    let loss = match random.below(3) {
        0 => LossModel::Bernoulli { probability: random.below(50) as f64 / 1_000.0 },
        1 => {
            LossModel::GilbertElliott { good_to_bad: 0.002, bad_to_good: 0.05, loss_good: 0.0, loss_bad: 0.5 }
        }
        _ => LossModel::None,
    };
    let chance = |random: &mut Random| if random.one_in(4) { 0.01 } else { 0.0 };
    DirectionConfig {
        rate: RateModel::constant(rate),
        delay,
        loss,
        queue: QueueConfig::bytes((rate / 8 * (20 + random.below(500)) / 1_000).max(15_000)),
        impairments: Impairments {
            duplication: chance(random),
            corruption: chance(random),
            reordering: chance(random),
            reordering_delay: 20 * MILLISECOND,
        },
        mtu: if random.one_in(4) { 1_400 } else { DirectionConfig::DEFAULT_MTU },
        ..DirectionConfig::with_delay(0)
    }
}

/// In a line, for the analysis of a failure.
impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Course { seed, links, happenings, policies, length, .. } = self;
        write!(f, "seed {seed}: {length} bytes over {} links with {policies}; ", links.len())?;
        write!(f, "{} happenings", happenings.len())
    }
}
