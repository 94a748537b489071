//! Prints what a traversal of a link (enqueue, next_departure, dequeue) costs, in nanoseconds of real time.
//!
//! `cargo run --release -p hawser-link --example link_traversal [FILTER]`

// This is a measurement of real time.
#![allow(clippy::disallowed_methods)]

use std::time::Instant;

use hawser_link::{
    CoDel, DelayModel, DirectionConfig, Discipline, FqCoDel, Frame, Jitter, Level, Link, LossModel,
    MICROSECOND, MILLISECOND, MarkovLevels, Nanos, QueueConfig, RandomSteps, RateModel, Red, Series,
    StepMarking, StepThreshold, TokenBucket, Trace,
};

/// As large as a packet of the simulator.
#[derive(Clone, Copy)]
struct Payload([u64; 17]);

impl Frame for Payload {
    fn is_ecn_capable(&self) -> bool {
        true
    }

    fn flow(&self) -> u64 {
        self.0[0] % 8
    }

    fn corrupt(&mut self, position: u64) {
        self.0[16] ^= position;
    }

    fn duplicate(&self) -> Self {
        *self
    }
}

const PACKETS: u64 = 2_000_000;
const RATE: u64 = 100_000_000;
/// 1500 bytes at that rate.
const SERVICE: Nanos = 120 * MICROSECOND;

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!("{:<34} {:>10} {:>10} {:>10}", "ns per traversal", "idle", "90 % load", "overload");
    for (name, config) in configurations() {
        if name.contains(&filter) {
            let gaps = [2 * SERVICE, SERVICE * 10 / 9, SERVICE * 9 / 10];
            let [idle, busy, overload] = gaps.map(|gap| nanoseconds(&config, gap));
            println!("{name:<34} {idle:>10.1} {busy:>10.1} {overload:>10.1}");
        }
    }
}

/// The best of three runs, each from event to event as a simulator does it.
fn nanoseconds(config: &DirectionConfig, gap: Nanos) -> f64 {
    let run = |seed| {
        let mut link: Link<Payload> = Link::new(config, seed);
        let began = Instant::now();
        let (mut count, mut sum) = (0, 0);
        for number in 0..PACKETS {
            let now = number * gap;
            while let Some(due) = link.next_departure().filter(|due| *due < now) {
                while let Some(packet) = link.dequeue(due) {
                    sum += packet.payload.0[0];
                    count += 1;
                }
            }
            let _ = link.enqueue(now, 1500, Payload([number; 17]));
        }
        let spent = began.elapsed().as_nanos() as f64 / PACKETS as f64;
        assert!(count > 0 && sum > 0, "packets pass");
        spent
    };
    (1..=3).map(run).fold(f64::INFINITY, f64::min)
}

fn configurations() -> Vec<(&'static str, DirectionConfig)> {
    let plain = || DirectionConfig {
        rate: RateModel::constant(RATE),
        ..DirectionConfig::with_delay(20 * MILLISECOND)
    };
    let queue = |discipline| DirectionConfig { queue: QueueConfig::default().with(discipline), ..plain() };
    let rate = |rate| DirectionConfig { rate, ..plain() };
    let jitter = |jitter, reordering| DirectionConfig {
        delay: DelayModel { jitter, reordering, ..DelayModel::constant(20 * MILLISECOND) },
        ..plain()
    };
    let (mean, deviation) = (4 * MILLISECOND, 2 * MILLISECOND);
    let fading = (0..2_000_000_u64).map(|step| (step % 10) as f64 / 100.0);
    let wave = (0..2_000_000_u64).map(|step| RATE + step % 1000 * 1000);
    let series = |it| Series::sampled(it, MILLISECOND, true).expect("not empty");
    let levels = vec![
        Level { value: RATE / 2, mean_stay: 100 * MILLISECOND },
        Level { value: RATE * 3 / 2, mean_stay: 100 * MILLISECOND },
    ];
    let chances: Vec<u32> = (1..=1000).flat_map(|ms| [ms; 8]).collect();
    vec![
        ("constant rate, drop-tail", plain()),
        ("unlimited", rate(RateModel::Unlimited)),
        ("CoDel", queue(Discipline::CoDel(CoDel::default()))),
        ("FQ-CoDel, 8 flows", queue(Discipline::FqCoDel(FqCoDel::default()))),
        ("RED", queue(Discipline::Red(Red::new(50_000, 150_000)))),
        (
            "step marking",
            queue(Discipline::StepMarking(StepMarking { threshold: StepThreshold::Bytes(30_000) })),
        ),
        ("rate: 2,000,000 steps", rate(RateModel::Scheduled(series(wave)))),
        ("rate: sinusoid", rate(RateModel::sinusoid(RATE, RATE / 2, 20_000 * MILLISECOND, 0.0))),
        (
            "rate: Markov",
            rate(RateModel::Random(RandomSteps::Markov(MarkovLevels::new(levels, None).expect("a chain")))),
        ),
        ("rate: mahimahi trace", rate(RateModel::Trace(Trace::new(chances).expect("a trace").into()))),
        (
            "rate: token bucket",
            rate(RateModel::TokenBucket(TokenBucket {
                rate: RATE,
                burst: 30_000,
                peak_rate: Some(1_000_000_000),
            })),
        ),
        ("jitter: gamma", jitter(Jitter::Gamma { mean, deviation }, false)),
        ("jitter: Gaussian, reordering", jitter(Jitter::Gaussian { mean, deviation }, true)),
        ("loss: Bernoulli", DirectionConfig { loss: LossModel::Bernoulli { probability: 0.01 }, ..plain() }),
        ("loss: Gilbert-Elliott", DirectionConfig { loss: LossModel::bursts(0.01, 5.0), ..plain() }),
        (
            "loss: 2,000,000 steps",
            DirectionConfig {
                loss: LossModel::Series(Series::sampled(fading, MILLISECOND, true).expect("not empty")),
                ..plain()
            },
        ),
    ]
}
