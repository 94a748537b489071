//! The list of BBRv2+ (F. Yang, thesis, Sorbonne 2022, chapter 4): bounds that tolerate loss, probes that delay allows, a
//! second mode beside loss-based flows, and windows that cover jitter.
//!
//! The experiments are E1 to E9 of the thesis: fairness beside CUBIC and among round-trip times, retransmissions over shallow
//! and throughput over deep buffers, random loss, the loss threshold, rates that step, jitter, and recorded links.

mod figures;
mod loss;
mod programs;
mod sharing;
mod steps;
mod tracking;
mod watch;

use super::verify::constant::Value::{Difference, Ratio};
use super::verify::constant::{
    Deviation, List, Metric, Policy, Seeds, System, Value, of, ours, program, scenario,
};

const BBR: &str = "bbr";
const BBR2: &str = "bbr2";
/// BBRv2(20 %, 0.3) of the thesis: its loss threshold alone, and with a cut that takes nothing.
const TOLERANT: &str = "bbr2-alpha-beta";
const UNCUT: &str = "bbr2-alpha-beta,beta=0";
const SINGLE_MODE: &str = "bbr2plus,dual_mode=off";
const TAIL_MIN: &str = "bbr2plus,delay_stat=tail_min";
const ROUND_MIN: &str = "bbr2plus,delay_stat=round_min";

const SYSTEM: &[Policy] = &[Policy::System];
const THREE: &[Policy] = &[Policy::System, Policy::Named(BBR), Policy::Named(BBR2)];
const BOTH_OLD: &[Policy] = &[Policy::Named(BBR), Policy::Named(BBR2)];
const FOUR: &[Policy] = &[Policy::System, Policy::Named(BBR), Policy::Named(BBR2), Policy::Named("cubic")];
const OF_LOSS: &[Policy] =
    &[Policy::Named(BBR), Policy::Named(BBR2), Policy::Named(TOLERANT), Policy::Named(UNCUT)];
const OF_ALPHA: &[Policy] = &[
    Policy::Named("bbr2-alpha-beta,alpha=0.02"),
    Policy::Named("bbr2-alpha-beta,alpha=0.05"),
    Policy::Named("bbr2-alpha-beta,alpha=0.1"),
    Policy::Named("bbr2-alpha-beta,alpha=0.2"),
    Policy::Named("bbr2-alpha-beta,alpha=0.5"),
    Policy::Named("bbr2-alpha-beta,alpha=1"),
];
const WITH_TOLERANT: &[Policy] =
    &[Policy::System, Policy::Named(BBR), Policy::Named(BBR2), Policy::Named(TOLERANT)];
const WITH_SINGLE_MODE: &[Policy] =
    &[Policy::System, Policy::Named(BBR), Policy::Named(BBR2), Policy::Named(SINGLE_MODE)];
const OF_TRIALS: &[Policy] = &[Policy::System, Policy::Named(TAIL_MIN), Policy::Named(ROUND_MIN)];

/// Seeds by default and with `--full`. The thesis repeats five times.
const FIVE: Seeds = Seeds { default: 5, full: 20 };
/// Links that a seed draws: 10 of each kind in the thesis.
const LINKS: Seeds = Seeds { default: 20, full: 100 };

/// The list.
pub const LIST: List = List {
    name: "bbrv2plus",
    title: "BBRv2+: BBRv2 that asks the delay before and after each probe",
    source: "F. Yang, thesis, Sorbonne 2022, chapter 4",
    system: System { key: "transport.controller", policy: "bbr2plus" },
    runs: &[
        // E1: beside CUBIC; the name has the buffer in bandwidth-delay products.
        program("fairness-0.2", programs::last_minute, &[FAIRNESS], WITH_TOLERANT, FIVE),
        program("fairness-0.5", programs::last_minute, &[FAIRNESS], WITH_TOLERANT, FIVE),
        program("fairness-1", programs::last_minute, &[FAIRNESS], WITH_TOLERANT, FIVE),
        program("fairness-1.5", programs::last_minute, &[FAIRNESS], THREE, FIVE),
        program("fairness-2", programs::last_minute, &[FAIRNESS], WITH_TOLERANT, FIVE),
        program("fairness-4", programs::last_minute, &[FAIRNESS], WITH_SINGLE_MODE, FIVE),
        program("fairness-8", programs::last_minute, &[FAIRNESS], WITH_SINGLE_MODE, FIVE),
        program("fairness-16", programs::last_minute, &[FAIRNESS], WITH_SINGLE_MODE, FIVE),
        program("second-mode", programs::second_mode, &[FAIRNESS], SYSTEM, FIVE),
        // E2: beside itself, 40 and 150 ms.
        program("rtt-0.2", programs::last_minute, &[RTT_FAIRNESS], THREE, FIVE),
        program("rtt-2", programs::last_minute, &[RTT_FAIRNESS], THREE, FIVE),
        program("rtt-8", programs::last_minute, &[RTT_FAIRNESS], THREE, FIVE),
        // E3: rates in Mbit/s and round-trip times in ms.
        scenario(
            "shallow-100-75",
            SHALLOW,
            &["segment.bottleneck.rate=100 Mbit/s", "link.x0.delay=37.5 ms"],
            BOTH_OLD,
            FIVE,
        ),
        scenario(
            "shallow-250-50",
            SHALLOW,
            &["segment.bottleneck.rate=250 Mbit/s", "link.x0.delay=25 ms"],
            BOTH_OLD,
            FIVE,
        ),
        scenario(
            "shallow-250-150",
            SHALLOW,
            &["segment.bottleneck.rate=250 Mbit/s", "link.x0.delay=75 ms"],
            BOTH_OLD,
            FIVE,
        ),
        scenario("shallow-500-75", SHALLOW, &[], THREE, FIVE),
        program("cruise", programs::watched, &[SHALLOW], &[Policy::Named(BBR2)], FIVE),
        scenario(
            "deep-50-100",
            DEEP,
            &["segment.bottleneck.rate=50 Mbit/s", "link.x0.delay=50 ms"],
            BOTH_OLD,
            FIVE,
        ),
        scenario("deep-250-75", DEEP, &["segment.bottleneck.rate=250 Mbit/s"], BOTH_OLD, FIVE),
        // E4: random loss in percent.
        scenario("loss-0", LOSS, &["link.x0.up.loss=0 %"], OF_LOSS, FIVE),
        scenario("loss-1", LOSS, &["link.x0.up.loss=1 %"], OF_LOSS, FIVE),
        scenario("loss-2", LOSS, &["link.x0.up.loss=2 %"], OF_LOSS, FIVE),
        scenario("loss-5", LOSS, &[], OF_LOSS, FIVE),
        scenario("loss-10", LOSS, &["link.x0.up.loss=10 %"], OF_LOSS, FIVE),
        scenario("loss-15", LOSS, &["link.x0.up.loss=15 %"], OF_LOSS, FIVE),
        scenario("loss-20", LOSS, &["link.x0.up.loss=20 %"], OF_LOSS, FIVE),
        scenario("loss-30", LOSS, &["link.x0.up.loss=30 %"], OF_LOSS, FIVE),
        // E5: the loss threshold; buffers in bandwidth-delay products.
        scenario("alpha-0.2", ALPHA, &[], OF_ALPHA, FIVE),
        scenario("alpha-0.5", ALPHA, &["segment.bottleneck.queue=100 kB"], OF_ALPHA, FIVE),
        scenario("alpha-1", ALPHA, &["segment.bottleneck.queue=200 kB"], OF_ALPHA, FIVE),
        scenario("alpha-1.5", ALPHA, &["segment.bottleneck.queue=300 kB"], OF_ALPHA, FIVE),
        scenario("alpha-2", ALPHA, &["segment.bottleneck.queue=400 kB"], OF_ALPHA, FIVE),
        program("constant", programs::watched, &[ALPHA], OF_TRIALS, FIVE),
        // E6: the rate steps every two seconds.
        program("steps-up", steps::up, &["bbrv2plus-steps-up.toml"], THREE, FIVE),
        program("steps-down", steps::down, &["bbrv2plus-steps-down.toml"], THREE, FIVE),
        // E7.
        scenario("step-trace", "bbrv2plus-step-trace.toml", &[], THREE, LINKS),
        // E8: mean of the jitter in ms.
        program("jitter-0", programs::watched, &[JITTER], FOUR, FIVE),
        program("jitter-20", programs::watched, &[JITTER], FOUR, FIVE),
        program("jitter-40", programs::watched, &[JITTER], FOUR, FIVE),
        program("jitter-80", programs::watched, &[JITTER], FOUR, FIVE),
        program("jitter-120", programs::watched, &[JITTER], FOUR, FIVE),
        scenario("reordering-80", "bbrv2plus-jitter-reordering.toml", &[], FOUR, FIVE),
        // E9: one seed is one trace.
        scenario("mobile", "bbrv2plus-mobile.toml", &[], FOUR, LINKS),
        scenario("stationary", "bbrv2plus-stationary.toml", &[], FOUR, LINKS),
        program(
            "same-seed",
            programs::same_seed,
            &["bbrv2plus-steps-up.toml", LOSS, FAIRNESS, "bbrv2plus-mobile.toml"],
            SYSTEM,
            FIVE,
        ),
    ],
    items: &[loss::ITEMS, sharing::ITEMS, tracking::ITEMS, sharing::ROWS, tracking::ROWS],
    figures: figures::ALL,
};

const FAIRNESS: &str = "bbrv2plus-fairness.toml";
const RTT_FAIRNESS: &str = "bbrv2plus-rtt-fairness.toml";
const SHALLOW: &str = "bbrv2plus-shallow-buffer.toml";
const DEEP: &str = "bbrv2plus-deep-buffer.toml";
const LOSS: &str = "bbrv2plus-loss.toml";
const ALPHA: &str = "bbrv2plus-alpha.toml";
const JITTER: &str = "bbrv2plus-jitter.toml";

/// The scenario behind runs of a program, and what is set otherwise in it.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    ("fairness-0.2", FAIRNESS, &["segment.bottleneck.queue=40 kB"]),
    ("fairness-0.5", FAIRNESS, &["segment.bottleneck.queue=100 kB"]),
    ("fairness-1", FAIRNESS, &[]),
    ("fairness-1.5", FAIRNESS, &["segment.bottleneck.queue=300 kB"]),
    ("fairness-2", FAIRNESS, &["segment.bottleneck.queue=400 kB"]),
    ("fairness-4", FAIRNESS, &["segment.bottleneck.queue=800 kB"]),
    ("fairness-8", FAIRNESS, &["segment.bottleneck.queue=1600 kB"]),
    ("fairness-16", FAIRNESS, &["segment.bottleneck.queue=3200 kB"]),
    (
        "second-mode",
        FAIRNESS,
        &["segment.bottleneck.queue=3200 kB", "flow.cubic.stop=90 s", "duration=150 s"],
    ),
    ("rtt-0.2", RTT_FAIRNESS, &["segment.bottleneck.queue=40 kB"]),
    ("rtt-2", RTT_FAIRNESS, &[]),
    ("rtt-8", RTT_FAIRNESS, &["segment.bottleneck.queue=1600 kB"]),
    ("cruise", SHALLOW, &["segment.bottleneck.rate=100 Mbit/s"]),
    // A link of 40 Mbit/s that nobody shares, with 32 bandwidth-delay products of buffer.
    ("constant", ALPHA, &["segment.bottleneck.queue=6400 kB", "duration=60 s"]),
    ("jitter-0", JITTER, &["segment.egress.up.jitter=none"]),
    ("jitter-20", JITTER, &[JITTER_20]),
    ("jitter-40", JITTER, &[JITTER_40]),
    ("jitter-80", JITTER, &[]),
    ("jitter-120", JITTER, &[JITTER_120]),
];

const JITTER_20: &str =
    "segment.egress.up.jitter={ model = \"gaussian\", mean = \"20 ms\", deviation = \"10 ms\" }";
const JITTER_40: &str =
    "segment.egress.up.jitter={ model = \"gaussian\", mean = \"40 ms\", deviation = \"20 ms\" }";
const JITTER_120: &str =
    "segment.egress.up.jitter={ model = \"gaussian\", mean = \"120 ms\", deviation = \"60 ms\" }";

/// The page that explains what does not hold.
const PAGE: &str = "docs/bbrv2plus.md";

/// Goodput of the flow.
const RATE: &str = "flow.x.goodput_bps";
/// Share of its packets that were declared lost, and so retransmitted.
const RETRANSMITTED: &str = "path.x.0.lost_share";
/// Mean time in the queue of the bottleneck.
const QUEUE: &str = "link.bottleneck.up.mean_queue_ms";

const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: PAGE, cause })
}

/// A metric of the system over that of another.
const fn over(other: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(other, runs, metric))
}

/// A metric of the system less that of another.
const fn less(other: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Difference(ours(runs, metric), of(other, runs, metric))
}

/// The same metric of two others: the first over the second.
const fn between(
    first: &'static str,
    second: &'static str,
    runs: &'static str,
    metric: &'static str,
) -> Value {
    Ratio(of(first, runs, metric), of(second, runs, metric))
}

const fn metric(policy: &'static str, runs: &'static str, name: &'static str) -> Metric {
    of(policy, runs, name)
}
