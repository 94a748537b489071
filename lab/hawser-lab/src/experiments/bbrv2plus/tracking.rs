//! What is asked of a link that changes or does not: steps, trials, jitter, recorded links, determinism.

use super::{BBR, BBR2, QUEUE, RATE, RETRANSMITTED, ROUND_MIN, TAIL_MIN, deviates, less, metric, over};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{Largest, Mean, Ratio, Smallest, Sum};
use crate::experiments::verify::constant::{ITEM, Item, claim, ours};

const RISE: &str = "rise_seconds";
/// Mean over time of the delay that the queue means: its integral over twenty seconds.
const DELAY: &str = "queue_delay_ms";
const FILLED: &str = "link.bottleneck.up.utilisation";
const IN_FLIGHT: &str = "in_flight_bytes";
/// E7 draws the rate of its bottleneck, E9 that of its link.
const LINK_QUEUE: &str = "link.x0.down.mean_queue_ms";

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "9",
        statement: "BBRv2+ follows a rising rate like BBR, and a falling one with less queue than BBR and BBRv2",
        threshold: "E6 up: mean time to reach 95 % of a +5 Mbit/s step: BBRv2+ <= 1.3 x BBR and <= 0.5 x BBRv2. E6 down: \
                    queue-delay integral BBRv2+ < BBR and < BBRv2; BtlBW within 5 % of the new rate <= 6 rounds after the step",
        paper: "figure 4.16",
        claims: &[
            claim(over(BBR, "steps-up", RISE), AtMost(1.3)),
            claim(over(BBR2, "steps-up", RISE), AtMost(0.5)),
            claim(over(BBR, "steps-down", DELAY), Below(1.0)),
            claim(over(BBR2, "steps-down", DELAY), Below(1.0)),
            claim(Mean(ours("steps-down", "rounds_until_found")), AtMost(6.0)),
        ],
        deviation: deviates(
            "the period of its probes is 13 to 17 rounds (D3 of the method), BBR's is eight: with a wait of four rounds it is 1.2 times",
        ),
        ..ITEM
    },
    Item {
        id: "10",
        statement: "On a link without spare capacity few trials lead to a probe, unless the minimum of a round judges them",
        threshold: "Constant 40 Mbit/s link, no competitor: with round_ewma/tail_min <= 20 % of tries enter Up, mean queue < 5 ms, \
                    utilisation >= 95 %; with round_min nearly all enter Up (documents D1)",
        must: true,
        claims: &[
            claim(Mean(ours("constant", "probes_per_try")), AtMost(0.2)),
            claim(Mean(metric(TAIL_MIN, "constant", "probes_per_try")), AtMost(0.2)),
            claim(Mean(ours("constant", QUEUE)), Below(5.0)),
            claim(Mean(metric(TAIL_MIN, "constant", QUEUE)), Below(5.0)),
            claim(Mean(ours("constant", FILLED)), AtLeast(0.95)),
            claim(Mean(metric(TAIL_MIN, "constant", FILLED)), AtLeast(0.95)),
            claim(Mean(metric(ROUND_MIN, "constant", "probes_per_try")), AtLeast(0.9)),
        ],
        ..ITEM
    },
    Item {
        id: "11",
        statement: "Jitter of twice and three times the propagation delay does not starve BBRv2+",
        threshold: "E8: at J = 80 and 120 ms T(BBRv2+) >= 0.8 x T(Cubic) and >= 1.3 x T(BBRv2); at J = 0 compensation never fires",
        paper: "figure 4.19",
        claims: &[
            claim(over("cubic", "jitter-80", RATE), AtLeast(0.8)),
            claim(over("cubic", "jitter-120", RATE), AtLeast(0.8)),
            claim(over(BBR2, "jitter-80", RATE), AtLeast(1.3)),
            claim(over(BBR2, "jitter-120", RATE), AtLeast(1.3)),
            claim(Largest(ours("jitter-0", "largest_compensation_ms")), AtMost(0.0)),
        ],
        deviation: deviates(
            "jitter that keeps the order of packets lifts the least round-trip time as well, so that BBRv2 does not collapse",
        ),
        ..ITEM
    },
    Item {
        id: "12",
        statement: "Over rates that jump BBRv2+ has more throughput and less delay than BBRv2, and less delay than BBR",
        threshold: "E7: vs BBRv2 normalised throughput strictly higher and mean delay strictly lower; vs BBR delay lower, \
                    throughput >= 0.93",
        paper: "figure 4.18",
        claims: &[
            claim(over(BBR2, "step-trace", RATE), Above(1.0)),
            claim(over(BBR2, "step-trace", QUEUE), Below(1.0)),
            claim(over(BBR, "step-trace", QUEUE), Below(1.0)),
            claim(over(BBR, "step-trace", RATE), AtLeast(0.93)),
        ],
        deviation: deviates(
            "probes follow each other, since PostUp hardly sees the queue of the first: with tail_min it is below BBR's",
        ),
        ..ITEM
    },
    Item {
        id: "13",
        statement: "On mobile links BBRv2+ has a tenth to two fifths more throughput than BBRv2 at comparable delay, on \
                    stationary ones the same",
        threshold: "E9-like mobile traces: T(BBRv2+)/T(BBRv2) in [1.10, 1.40], mean queue delay ratio <= 1.2; stationary: ratio \
                    in [0.95, 1.05]",
        paper: "1.25 at comparable delay (figure 4.24b)",
        claims: &[
            claim(over(BBR2, "mobile", RATE), Within(1.10, 1.40)),
            claim(over(BBR2, "mobile", LINK_QUEUE), AtMost(1.2)),
            claim(over(BBR2, "stationary", RATE), Within(0.95, 1.05)),
        ],
        deviation: deviates(
            "after a stall the window covers the deviation of round trips that the stall itself has made; without that the delay is BBR's",
        ),
        ..ITEM
    },
    Item {
        id: "14",
        statement: "With the shallowest buffer BBRv2+ retransmits more than BBRv2 and far less than BBR",
        threshold: "E3 at 0.02 BDP: retransmissions BBRv2 < BBRv2+ < 0.6 x BBR",
        paper: "figure 4.22",
        claims: &[
            claim(over(BBR2, "shallow-500-75", RETRANSMITTED), Above(1.0)),
            claim(over(BBR, "shallow-500-75", RETRANSMITTED), Below(0.6)),
        ],
        deviation: deviates(
            "a full buffer of 100 kB is a queue of 1.6 ms, which the tolerance of 1.5 ms hardly sees: probes follow each other",
        ),
        ..ITEM
    },
    Item {
        id: "15",
        statement: "The same seed gives the same run and the same states, and every move between phases is in the table",
        threshold: "Same seed => bit-identical trace; every phase transition legal per 3.2/3.3",
        must: true,
        claims: &[
            claim(Sum(ours("same-seed", "different_traces")), AtMost(0.0)),
            claim(Sum(ours("same-seed", "illegal_moves")), AtMost(0.0)),
            claim(Smallest(ours("same-seed", "moves")), AtLeast(100.0)),
        ],
        ..ITEM
    },
];

/// What section 6 of the sheet reports beside the items.
pub(super) const ROWS: &[Item] = &[
    Item {
        id: "R5",
        statement: "BBRv2 follows a rate more slowly than BBR, both ways",
        threshold: "E6: time to reach a step and queue-delay integral of BBRv2 > those of BBR",
        paper: "figure 4.12",
        claims: &[
            claim(Ratio(metric(BBR2, "steps-up", RISE), metric(BBR, "steps-up", RISE)), Above(1.0)),
            claim(Ratio(metric(BBR2, "steps-down", DELAY), metric(BBR, "steps-down", DELAY)), Above(1.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "BBR and BBRv2 collapse under jitter, marked from the round-trip time on; CUBIC is robust",
        threshold: "E8: T at J = 120 ms <= 0.7 x that at 0 for BBR and BBRv2, >= 0.9 x for Cubic; at 20 ms >= 0.9 x for all",
        paper: "figure 4.13",
        claims: &[
            claim(against_none(BBR, "jitter-120"), AtMost(0.7)),
            claim(against_none(BBR2, "jitter-120"), AtMost(0.7)),
            claim(against_none("cubic", "jitter-120"), AtLeast(0.9)),
            claim(against_none(BBR, "jitter-20"), AtLeast(0.9)),
            claim(against_none(BBR2, "jitter-20"), AtLeast(0.9)),
            claim(against_none("cubic", "jitter-20"), AtLeast(0.9)),
        ],
        deviation: deviates("as item 11"),
        ..ITEM
    },
    Item {
        id: "R7",
        statement: "Under jitter BBRv2+ keeps more in flight than BBRv2, which is why it does not collapse",
        threshold: "E8 at J = 80 and 120 ms: mean volume in flight of BBRv2+ > BBRv2's",
        paper: "figure 4.19b",
        claims: &[
            claim(over(BBR2, "jitter-80", IN_FLIGHT), Above(1.0)),
            claim(over(BBR2, "jitter-120", IN_FLIGHT), Above(1.0)),
        ],
        deviation: deviates("as item 11"),
        ..ITEM
    },
    Item {
        id: "R8",
        statement: "On stationary links CUBIC has slightly more throughput with high delay",
        threshold: "E9 stationary: T(BBRv2+)/T(Cubic) in [0.85, 1.0], mean queue delay < half of Cubic's",
        paper: "figure 4.24a",
        claims: &[
            claim(over("cubic", "stationary", RATE), Within(0.85, 1.0)),
            claim(over("cubic", "stationary", LINK_QUEUE), Below(0.5)),
        ],
        ..ITEM
    },
    Item {
        id: "R9",
        statement: "On mobile links BBR has the highest throughput, with more delay than BBRv2+",
        threshold: "E9 mobile: T(BBRv2+) <= T(BBR), queue delay of BBRv2+ < BBR's",
        paper: "figure 4.24b",
        claims: &[
            claim(less(BBR, "mobile", RATE), AtMost(0.0)),
            claim(over(BBR, "mobile", LINK_QUEUE), Below(1.0)),
        ],
        deviation: deviates("as item 13"),
        ..ITEM
    },
];

/// Throughput with jitter over that without.
const fn against_none(
    policy: &'static str,
    runs: &'static str,
) -> crate::experiments::verify::constant::Value {
    Ratio(metric(policy, runs, RATE), metric(policy, "jitter-0", RATE))
}
