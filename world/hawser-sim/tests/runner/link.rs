//! The links of quic-network-simulator, from the strings in which quic-interop-runner asks for them.

use std::collections::BTreeSet;
use std::time::Duration;

use hawser_link::{DirectionConfig, QueueConfig, RateModel};
use hawser_policy::Time;
use hawser_sim::Packet;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A link and what happens to packets at its ends.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Both directions alike.
    pub(crate) direction: DirectionConfig,
    /// What the server's end of the link does to packets that arrive there.
    pub(crate) to_server: ErrorModel,
    /// What the client's end does.
    pub(crate) to_client: ErrorModel,
    pub(crate) rebinding: Option<Rebinding>,
}

/// The client's NAT forgets its bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebinding {
    pub(crate) first: Duration,
    pub(crate) every: Duration,
    /// The address changes with the port.
    pub(crate) changes_address: bool,
}

impl Link {
    /// Reads `SCENARIO --name=value ..`, as the runner hands it to the network simulator.
    pub(crate) fn parse(text: &str, seed: u64) -> Self {
        let mut words = text.split(' ');
        let scenario = words.next().unwrap_or_default();
        let options: Vec<(&str, &str)> = words.map(option).collect();
        let value = |name: &str| options.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
        let required = |name: &str| value(name).unwrap_or_else(|| panic!("{scenario} needs --{name}"));
        let number = |name: &str| -> u64 { required(name).parse().expect("a number") };
        let models = |which: &str| match scenario {
            "simple-p2p" | "rebind" => ErrorModel::Pass,
            "blackhole" => {
                let from = Time::ZERO + duration(required("on"));
                ErrorModel::Blackhole { from, to: from + duration(required("off")) }
            }
            "droplist" => {
                let drops = value(&format!("drops_to_{which}")).unwrap_or_default();
                let drops = drops.split(',').filter_map(|drop| drop.parse().ok()).collect();
                ErrorModel::DropList { drops, count: 0 }
            }
            "drop-rate" | "corrupt-rate" => {
                let rate = number(&format!("rate_to_{which}")) as u32;
                let burst = number(&format!("burst_to_{which}")) as u32;
                let rng = ChaCha8Rng::seed_from_u64(hawser_link::derive_seed(seed, which));
                let at_random = AtRandom { rate, burst, in_a_row: 0, rng: Box::new(rng) };
                match scenario {
                    "drop-rate" => ErrorModel::DropRate(at_random),
                    _ => ErrorModel::CorruptRate(at_random),
                }
            }
            other => panic!("there is no scenario {other}"),
        };
        Link {
            direction: DirectionConfig {
                rate: RateModel::constant(rate(required("bandwidth"))),
                // There the packet that is being sent has left the queue already.
                queue: QueueConfig::packets(number("queue") + 1),
                ..DirectionConfig::with_delay(duration(required("delay")).as_nanos() as u64)
            },
            to_server: models("server"),
            to_client: models("client"),
            rebinding: (scenario == "rebind").then(|| Rebinding {
                first: duration(required("first-rebind")),
                every: duration(required("rebind-freq")),
                changes_address: value("rebind-addr").is_some(),
            }),
        }
    }
}

fn option(word: &str) -> (&str, &str) {
    let word = word.strip_prefix("--").unwrap_or_else(|| panic!("{word} is no option"));
    word.split_once('=').unwrap_or((word, ""))
}

fn duration(text: &str) -> Duration {
    let parsed = match text.strip_suffix("ms") {
        Some(millis) => millis.parse().map(Duration::from_millis),
        None => text.trim_end_matches('s').parse().map(Duration::from_secs),
    };
    parsed.unwrap_or_else(|_| panic!("{text} is no duration"))
}

/// Bits per second.
fn rate(text: &str) -> u64 {
    let megabits = text.strip_suffix("Mbps").and_then(|number| number.parse::<u64>().ok());
    megabits.unwrap_or_else(|| panic!("{text} is no rate")) * 1_000_000
}

/// What a receiving device does, as ns-3 calls it.
#[derive(Clone, Debug)]
pub(crate) enum ErrorModel {
    Pass,
    Blackhole {
        from: Time,
        to: Time,
    },
    /// These packets do not arrive, counted from one.
    DropList {
        drops: BTreeSet<u64>,
        count: u64,
    },
    DropRate(AtRandom),
    CorruptRate(AtRandom),
}

/// Hits packets at random, but not too many in a row.
#[derive(Clone, Debug)]
pub(crate) struct AtRandom {
    /// In %.
    rate: u32,
    /// The packet after more than so many goes unharmed.
    burst: u32,
    in_a_row: u32,
    rng: Box<ChaCha8Rng>,
}

impl AtRandom {
    fn hits(&mut self) -> bool {
        let is_hit = self.in_a_row <= self.burst && self.rng.random_range(0..100) < self.rate;
        self.in_a_row = if is_hit { self.in_a_row + 1 } else { 0 };
        is_hit
    }
}

/// Of these first bytes one is changed, so that headers are hit often.
const CORRUPTED: usize = 51;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Whole,
    Dropped,
    Damaged,
}

impl Outcome {
    fn dropped(is_dropped: bool) -> Self {
        if is_dropped { Outcome::Dropped } else { Outcome::Whole }
    }
}

impl ErrorModel {
    /// A packet arrives.
    pub(crate) fn treat(&mut self, now: Time, packet: &mut Packet) -> Outcome {
        match self {
            ErrorModel::Pass => Outcome::Whole,
            ErrorModel::Blackhole { from, to } => Outcome::dropped(now >= *from && now < *to),
            ErrorModel::DropList { drops, count } => {
                *count += 1;
                Outcome::dropped(drops.contains(count))
            }
            ErrorModel::DropRate(at_random) => Outcome::dropped(at_random.hits()),
            ErrorModel::CorruptRate(at_random) => {
                if is_version_negotiation(&packet.payload) || !at_random.hits() {
                    return Outcome::Whole;
                }
                let position = at_random.rng.random_range(0..CORRUPTED.min(packet.payload.len()));
                packet.payload[position] ^= at_random.rng.random_range(1..=255u8);
                Outcome::Damaged
            }
        }
    }
}

/// Those are spared, so that a corrupted version does not end a connection.
fn is_version_negotiation(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & 0x80 != 0) && datagram.get(1..5) == Some(&[0; 4])
}

#[test]
fn the_strings_of_the_runner_are_understood() {
    let link = Link::parse("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25", 1);
    assert_eq!(link.direction.rate, RateModel::constant(10_000_000));
    assert_eq!(link.direction.queue, QueueConfig::packets(26));
    assert_eq!(
        Link::parse("simple-p2p --delay=750ms --bandwidth=10Mbps --queue=25", 1).direction.delay,
        DirectionConfig::with_delay(750_000_000).delay
    );
    let rebinding = Link::parse(
        "rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=5s --rebind-addr",
        1,
    );
    let rebinding = rebinding.rebinding.expect("it rebinds");
    assert_eq!((rebinding.first, rebinding.every), (Duration::from_secs(1), Duration::from_secs(5)));
    assert!(rebinding.changes_address);
}

#[test]
fn runs_of_losses_are_bounded_and_the_rate_is_kept() {
    let text = "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 \
                --burst_to_server=3 --burst_to_client=3";
    let ErrorModel::DropRate(mut model) = Link::parse(text, 7).to_server else { panic!("it drops") };
    let hits: Vec<bool> = (0..100_000).map(|_| model.hits()).collect();
    let longest = hits.split(|hit| !hit).map(<[bool]>::len).max();
    assert_eq!(longest, Some(4), "a burst of 3 is exceeded once before a packet goes unharmed");
    let share = hits.iter().filter(|hit| **hit).count() as f64 / hits.len() as f64;
    assert!((0.29..0.3).contains(&share), "{share}");
}
