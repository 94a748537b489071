//! 4D-MAP, and what its paper claims: formulas, and a live video over the paths of experiments E2 to E9 (`docs/4d-map.md`).

mod computations;
mod mechanisms;
pub mod prelearning;
pub mod q_training;
mod systems;
mod watched;

use super::verify::constant::Bound::Above;
use super::verify::constant::Value::Smallest;
use super::verify::constant::{
    Claim, Deviation, Figure, List, Metric, Policy, Seeds, System, bars, claim, of, ours, program, scenario,
};

/// Dispatch alone, and each mechanism for every frame that it is for.
const NORMAL: &str = "4d-map,mechanism=normal";
const DUPLICATE: &str = "4d-map,mechanism=duplicate";
const DISCARD: &str = "4d-map,mechanism=discard";
const DECOMPENSATE: &str = "4d-map,mechanism=decompensate";
const RANDOM: &str = "4d-map,mechanism=random";
/// The learner with one mechanism by itself: it decides for which frames.
const ONLY_DUPLICATE: &str = "4d-map,only=duplicate,late=0ms";
const ONLY_DISCARD: &str = "4d-map,only=discard,late=0ms";
const ONLY_DECOMPENSATE: &str = "4d-map,only=decompensate,late=0ms";
/// DQN\*, and what sends on the other path while the window of the chosen one is full.
const DQN: &str = "dqn";
const DQN_NEVER_WAITING: &str = "dqn,full=other";
/// Without a model from before.
const UNTAUGHT: &str = "4d-map,prelearned=off,late=0ms";

const SYSTEM: &[Policy] = &[Policy::System];
const MIN_RTT: &[Policy] = &[Policy::Named("minrtt")];
const DISPATCHING: &[Policy] =
    &[Policy::Named(NORMAL), Policy::Named("minrtt"), Policy::Named("ecf"), Policy::Named("stms")];
const DUPLICATING: &[Policy] = &[
    Policy::Named(ONLY_DUPLICATE),
    Policy::Named(DUPLICATE),
    Policy::Named(NORMAL),
    Policy::Named("redundant"),
];
const DISCARDING: &[Policy] =
    &[Policy::Named(ONLY_DISCARD), Policy::Named(DISCARD), Policy::Named(NORMAL), Policy::Named("minrtt")];
const NOT_COMPENSATING: &[Policy] = &[
    Policy::Named(ONLY_DECOMPENSATE),
    Policy::Named(DECOMPENSATE),
    Policy::Named(NORMAL),
    Policy::Named("minrtt"),
];
const COPYING: &[Policy] = &[Policy::System, Policy::Named(DUPLICATE)];
const EACH: &[Policy] = &[
    Policy::System,
    Policy::Named(NORMAL),
    Policy::Named(DUPLICATE),
    Policy::Named(DISCARD),
    Policy::Named(DECOMPENSATE),
];
const ADAPTING: &[Policy] = &[
    Policy::System,
    Policy::Named("minrtt"),
    Policy::Named("peekaboo"),
    Policy::Named(DQN),
    Policy::Named(DQN_NEVER_WAITING),
    Policy::Named(NORMAL),
    Policy::Named(DUPLICATE),
    Policy::Named(DISCARD),
    Policy::Named(DECOMPENSATE),
    Policy::Named(RANDOM),
    Policy::Named(UNTAUGHT),
];
const AGAINST: &[Policy] =
    &[Policy::System, Policy::Named("minrtt"), Policy::Named("peekaboo"), Policy::Named(DQN)];

const SOME: Seeds = Seeds { default: 8, full: 20 };
/// Ten minutes of video each.
const LONG: Seeds = Seeds { default: 4, full: 20 };

/// The controllers of the authors' code give way by .7 to .85 instead of a half, and under loss everything depends on it. What does
/// not fit into a minute is waited for.
const LOSSY: &str = "transport.controller=olia,beta=0.85";
const PATIENT: &str = "duration=900 s";
/// As over TCP and TLS, in the paper's count of round trips: with MinRTT and OLIA, MPTCP-like over both paths and TCP-like over one.
const LIKE_TCP: &str = "transport.setup_rounds=3";
const LEAST_RTO: &str = "transport.least_timeout=200 ms";
const ONE_PATH: &str = "flow.video.links=['a0']";
const SS: &str = "flow.video.application=live,video=ss-10min";
/// A video that the paths carry whatever they lose.
const SMALL: &str = "flow.video.application=live,video=custom,rate=600kbit,maximum=1200kbit";

/// The page that has what was measured, and the causes.
const PAGE: &str = "docs/4d-map.md";

const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: PAGE, cause })
}

/// The list.
pub const LIST: List = List {
    name: "4d-map",
    title: "4D-MAP: frames of a live stream dispatched, duplicated, discarded, or not retransmitted",
    source: "Z. Song, B. Han and J. Su, 4D-MAP: Multipath Adaptive Packet Scheduling for Live Streaming over QUIC, JCST 2024",
    system: System { key: "transport.policy", policy: "4d-map,late=0ms" },
    runs: &[
        program("vectors", computations::vectors, &[], SYSTEM, Seeds::ONCE),
        program("bandit", computations::bandit, &[], SYSTEM, Seeds { default: 10, full: 30 }),
        scenario(
            "reliability",
            "4dmap-decompensate.toml",
            &["link.*.loss=5 %", SMALL, LOSSY, PATIENT],
            EACH,
            SOME,
        ),
        program("copies", watched::watched, &["4dmap-decompensate.toml"], COPYING, LONG),
        scenario("startup", "4dmap-startup.toml", &[], MIN_RTT, SOME),
        scenario("startup-mptcp", "4dmap-startup.toml", &[LIKE_TCP, LEAST_RTO], MIN_RTT, SOME),
        scenario("startup-quic", "4dmap-startup.toml", &[ONE_PATH, PATIENT], MIN_RTT, SOME),
        scenario(
            "startup-tcp",
            "4dmap-startup.toml",
            &[ONE_PATH, PATIENT, LIKE_TCP, LEAST_RTO],
            MIN_RTT,
            SOME,
        ),
        scenario("owd-25", "4dmap-delay-even.toml", &["link.b0.delay=25 ms"], MIN_RTT, SOME),
        scenario("owd-50", "4dmap-delay-even.toml", &["link.b0.delay=50 ms"], MIN_RTT, SOME),
        scenario("owd-75", "4dmap-delay-even.toml", &["link.b0.delay=75 ms"], MIN_RTT, SOME),
        scenario("even", "4dmap-delay-even.toml", &[], DISPATCHING, SOME),
        scenario("wide-fast", "4dmap-delay-wide-fast.toml", &[], DISPATCHING, SOME),
        scenario("wide-slow", "4dmap-delay-wide-slow.toml", &[], DISPATCHING, SOME),
        scenario("loss-both", "4dmap-loss.toml", &[LOSSY, PATIENT], MIN_RTT, SOME),
        scenario("loss-slow", "4dmap-loss.toml", &["link.a0.loss=0.45 %", LOSSY, PATIENT], MIN_RTT, SOME),
        scenario("loss-fast", "4dmap-loss.toml", &["link.b0.loss=0.45 %", LOSSY, PATIENT], MIN_RTT, SOME),
        scenario("copies-both", "4dmap-duplicate.toml", &[LOSSY, PATIENT], DUPLICATING, SOME),
        scenario(
            "copies-slow",
            "4dmap-duplicate.toml",
            &["link.a0.loss=1.8 %", LOSSY, PATIENT],
            DUPLICATING,
            SOME,
        ),
        scenario(
            "copies-half",
            "4dmap-duplicate.toml",
            &["link.*.loss=1.8 %", LOSSY, PATIENT],
            DUPLICATING,
            SOME,
        ),
        scenario("discard", "4dmap-discard.toml", &[], DISCARDING, SOME),
        scenario("decompensate", "4dmap-decompensate.toml", &[LOSSY, PATIENT], NOT_COMPENSATING, SOME),
        scenario("sintel", "4dmap-adaptability.toml", &[PATIENT], ADAPTING, LONG),
        scenario("ss", "4dmap-adaptability.toml", &[SS, PATIENT], AGAINST, LONG),
        scenario("sintel-mptcp", "4dmap-adaptability.toml", &[PATIENT, LIKE_TCP, LEAST_RTO], MIN_RTT, LONG),
        scenario("ss-mptcp", "4dmap-adaptability.toml", &[SS, PATIENT, LIKE_TCP, LEAST_RTO], MIN_RTT, LONG),
        scenario("real-sintel", "4dmap-real.toml", &[PATIENT], AGAINST, LONG),
        scenario("real-ss", "4dmap-real.toml", &[SS, PATIENT], AGAINST, LONG),
    ],
    items: &[computations::ITEMS, mechanisms::ITEMS, systems::ITEMS],
    figures: FIGURES,
};

const FIGURES: &[Figure] = &[
    bars(
        "delay",
        "E5: re-buffering over unequal paths",
        REBUFFERING,
        &["even", "wide-fast", "wide-slow"],
        DISPATCHING,
    ),
    bars(
        "loss",
        "E6: re-buffering with and without copies",
        REBUFFERING,
        &["copies-half", "copies-slow", "copies-both"],
        DUPLICATING,
    ),
    bars("adapt", "E9: re-buffering while links change", REBUFFERING, &["sintel", "ss"], AGAINST),
    bars("quality", "E9: modelled aSSIM while links change", QUALITY, &["sintel", "ss"], AGAINST),
];

const REBUFFERING: &str = "flow.video.measures.rebuffering_s";
const DELAY: &str = "flow.video.measures.stream_delay_ms";
const QUALITY: &str = "flow.video.measures.assim_modelled";
const REORDERING: &str = "flow.video.measures.reordering_p60";
const CORRUPT: &str = "flow.video.measures.corrupt";
const FRAMES: &str = "flow.video.measures.frames";
const KEYS_DAMAGED: &str = "flow.video.measures.key_frames_damaged";
const REPEATED: &str = "flow.video.copies.duplicate_bytes";
const STARTUP: &str = "flow.video.measures.startup_s";
const CONNECTING: &str = "flow.video.connect_seconds";

/// What stands in the system's place decides about no frame: where the system's own mechanisms are compared, it fails here.
const DECIDES: Claim = claim(Smallest(ours("copies", "decisions")), Above(0.0));

/// The re-buffering of a policy.
const fn stalls(policy: &'static str, runs: &'static str) -> Metric {
    of(policy, runs, REBUFFERING)
}

#[cfg(test)]
mod tests;
