//! What is asked of the runs.

use super::{EDPF, MINRTT, NO_SKIP, PEEKABOO, RR, RR_BLIND};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{self, Difference, Largest, Mean, Ratio, Smallest, Sum};
use crate::experiments::verify::constant::{Deviation, ITEM, Item, MUST, claim, of, ours};

const REWARD: &str = "reward_frames";
const P95: &str = "p95_delay_s";

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "13",
        statement: "Views that switch each second: nothing is decoded without its references, nothing is sent twice",
        threshold: "no viewed unit is decoded without its full reference chain; bundles carry I/P once only",
        claims: &[
            claim(Sum(ours("references", "decoded_without_references")), AtMost(0.0)),
            claim(Sum(ours("references", "frames_sent_twice")), AtMost(0.0)),
            claim(Sum(ours("references", "b_frames_fetched")), AtMost(0.0)),
            claim(Smallest(ours("references", "decoded_units")), AtLeast(10_000.0)),
            claim(Smallest(ours("references", "undecodable_units")), AtLeast(1.0)),
        ],
        ..MUST
    },
    Item {
        id: "14",
        statement: "Inference in Rust gives PyTorch's logits and actions; the same seed gives the same decisions",
        threshold: "logits to 1e-5 and actions 100 % on 10 000 states; same seed => identical decision log",
        claims: &[
            claim(Largest(ours("logits", "off_by")), AtMost(1e-5)),
            claim(Sum(ours("logits", "other_actions")), AtMost(0.0)),
            claim(Smallest(ours("logits", "states")), AtLeast(10_000.0)),
            claim(Smallest(ours("logits", "states_on_lte")), AtLeast(1_000.0)),
            claim(Sum(ours("same-seed", "decisions_differ")), AtMost(0.0)),
            claim(Sum(ours("same-seed", "hashes_differ")), AtMost(0.0)),
            claim(Sum(ours("same-seed", "other_seed_same_hash")), AtMost(0.0)),
        ],
        ..MUST
    },
    Item {
        id: "15",
        statement: "Golden vectors: deadlines, bundles, decoding, rewards, rounds, quality",
        threshold: "Golden vectors of Sec. 10 pass",
        claims: &[
            claim(Largest(ours("vectors", "wrong_deadlines")), AtMost(0.0)),
            claim(Largest(ours("vectors", "wrong_bundles")), AtMost(0.0)),
            claim(Largest(ours("vectors", "wrong_decode_times")), AtMost(0.0)),
            claim(Largest(ours("vectors", "rewards_off_by_ms")), AtMost(1e-3)),
            claim(Largest(ours("vectors", "probabilities_off_by")), AtMost(1.5e-6)),
            claim(Largest(ours("vectors", "deliveries_off_by_packets")), AtMost(1e-3)),
            claim(Largest(ours("vectors", "wrong_rounds")), AtMost(0.0)),
            claim(Largest(ours("vectors", "quality_off_by")), AtMost(1e-12)),
        ],
        ..MUST
    },
];

pub(super) const ROWS: &[Item] = &[
    Item {
        id: "1",
        statement: "Reward: each of five training runs > RR > MinRTT, and > Peekaboo; close to the oracle",
        threshold: "RIDE > RR > minRTT, and RIDE > Peekaboo, by paired test (p < 0.01; here sessions of 1,800 episodes, 95 %); RIDE >= 95 % of EDPF oracle",
        paper: "figure 5.7",
        claims: &[
            claim(agent_over(1, RR), Above(0.0)),
            claim(agent_over(2, RR), Above(0.0)),
            claim(agent_over(3, RR), Above(0.0)),
            claim(agent_over(4, RR), Above(0.0)),
            claim(agent_over(5, RR), Above(0.0)),
            claim(Difference(of(RR, "episodic", REWARD), of(MINRTT, "episodic", REWARD)), Above(0.0)),
            claim(Difference(ours("episodic", REWARD), of(PEEKABOO, "episodic", REWARD)), Above(0.0)),
            claim(Ratio(ours("episodic", REWARD), of(EDPF, "episodic", REWARD)), AtLeast(0.95)),
        ],
        ..ITEM
    },
    Item {
        id: "2",
        statement: "The reward of a frame, and how it varies among B frames",
        threshold: "mean reward in 85-125; std over B-frame episodes <= 0.75 x minRTT's",
        paper: "about 100",
        claims: &[
            claim(Mean(ours("episodic", REWARD)), Within(85.0, 125.0)),
            claim(versus(MINRTT, "b_reward_deviation_frames"), AtMost(0.75)),
        ],
        ..ITEM
    },
    Item {
        id: "3",
        statement: "B frames without re-buffering, skips counted as late",
        threshold: "RIDE >= 93 %, RR 65-90 %, minRTT <= RR - 10 points",
        paper: "97.4, 73.9, 26.3 %",
        claims: &[
            claim(Mean(ours("episodic", "b_zero_share")), AtLeast(0.93)),
            claim(Mean(of(RR, "episodic", "b_zero_share")), Within(0.65, 0.90)),
            claim(
                Difference(of(MINRTT, "episodic", "b_zero_share"), of(RR, "episodic", "b_zero_share")),
                AtMost(-0.10),
            ),
        ],
        deviation: deviates(MORE_TILES),
        ..ITEM
    },
    Item {
        id: "4",
        statement: "Interruptions of every kind of frames",
        threshold: "RIDE <= 0.5 x RR",
        paper: "I 3.2 of 10.3 %, B 2.6 of 26.1 %, P 1.4 of 24.9 %",
        claims: &[
            claim(versus(RR, "i_interruption_share"), AtMost(0.5)),
            claim(versus(RR, "p_interruption_share"), AtMost(0.5)),
            claim(versus(RR, "b_interruption_share"), AtMost(0.5)),
        ],
        deviation: deviates(MORE_TILES),
        ..ITEM
    },
    Item {
        id: "5",
        statement: "Frame delay, and the longest freeze of an I frame",
        threshold: "95th percentile <= 0.13 s and lowest of all; max I freeze RIDE < 0.25 x minRTT's",
        paper: "0.11, 0.13, 0.15 s; 0.125 of 1.6 s",
        claims: &[
            claim(Mean(ours("episodic", P95)), AtMost(0.13)),
            claim(versus(RR, P95), Below(1.0)),
            claim(versus(MINRTT, P95), Below(1.0)),
            claim(versus(PEEKABOO, P95), Below(1.0)),
            claim(versus(MINRTT, "i_longest_freeze_s"), AtMost(0.25)),
        ],
        deviation: deviates(MORE_TILES),
        ..ITEM
    },
    Item {
        id: "6",
        statement: "What arrives and is never seen",
        threshold: "sent data within 5 % across schemes that skip nothing; gap throughput - viewing bitrate smallest for RIDE",
        paper: "figure 5.9",
        claims: &[
            claim(
                Ratio(of(RR, "episodic", "sent_bps"), of(MINRTT, "episodic", "sent_bps")),
                Within(0.95, 1.05),
            ),
            claim(Difference(ours("episodic", "unseen_bps"), of(RR, "episodic", "unseen_bps")), Below(0.0)),
            claim(
                Difference(ours("episodic", "unseen_bps"), of(MINRTT, "episodic", "unseen_bps")),
                Below(0.0),
            ),
            claim(
                Difference(ours("episodic", "unseen_bps"), of(PEEKABOO, "episodic", "unseen_bps")),
                Below(0.0),
            ),
        ],
        ..ITEM
    },
    Item {
        id: "7",
        statement: "What is decoded in time",
        threshold: "viewing bitrate RIDE > RR > minRTT",
        paper: "twice and four times",
        claims: &[
            claim(versus(RR, "viewing_bps"), Above(1.0)),
            claim(
                Ratio(of(RR, "episodic", "viewing_bps"), of(MINRTT, "episodic", "viewing_bps")),
                Above(1.0),
            ),
        ],
        ..ITEM
    },
    Item {
        id: "8",
        statement: "It skips little, and gains by it",
        threshold: "skip ratio per type in 0-6 %; forcing \"no skip\" never raises reward by > 1 %",
        paper: "2.2, 1.9, 2 %",
        claims: &[
            claim(Mean(ours("episodic", "i_skipped_share")), AtMost(0.06)),
            claim(Mean(ours("episodic", "p_skipped_share")), AtMost(0.06)),
            claim(Mean(ours("episodic", "b_skipped_share")), AtMost(0.06)),
            claim(Ratio(of(NO_SKIP, "episodic", REWARD), ours("episodic", REWARD)), AtMost(1.01)),
        ],
        ..ITEM
    },
    Item {
        id: "9",
        statement: "Late B frames are waited for one frame duration at most, and mostly exactly that",
        threshold: "values in (0, T_f]; for RR and minRTT at least 40 % of them equal T_f exactly",
        paper: "practically all",
        claims: &[
            claim(Sum(ours("episodic", "b_late_by_more")), AtMost(0.0)),
            claim(Sum(of(RR, "episodic", "b_late_by_more")), AtMost(0.0)),
            claim(Mean(of(RR, "episodic", "b_late_by_a_frame_share")), AtLeast(0.40)),
            claim(Mean(of(MINRTT, "episodic", "b_late_by_a_frame_share")), AtLeast(0.40)),
        ],
        ..ITEM
    },
    Item {
        id: "10",
        statement: "Ablation: agents that do not see size or deadline earn less; without a reward for help I and P frames come late",
        threshold: "removing L or Gamma from the state (retrained) lowers reward; removing T_DH raises late I/P share",
        claims: &[
            claim(change(REWARD, "no-size"), Below(0.0)),
            claim(change(REWARD, "no-deadline"), Below(0.0)),
            claim(change("i_interruption_share", "no-helper"), Above(0.0)),
            claim(change("p_interruption_share", "no-helper"), Above(0.0)),
        ],
        deviation: deviates(HELP),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "The curve (greedy, every 500 episodes) passes RR, and is flat at the end",
        threshold: "passes RR within 10 000 training episodes and is flat (< 3 % change) over the last 5000",
        paper: "stable from episode 1000",
        claims: &[
            claim(Largest(ours("curve", "episodes_until_rr_is_passed")), AtMost(10_000.0)),
            claim(Largest(ours("curve", "change_at_the_end")), AtMost(0.03)),
        ],
        ..ITEM
    },
    Item {
        id: "12",
        statement: "E2: agents trained there earn what the baselines do, at 36 Mbit/s and at the 48 of a head that turns (RR's backlog: R10)",
        threshold: "RIDE trained in E2 has reward >= max(all baselines) - 1 %",
        claims: &[
            claim(continuous(RR, "continuous"), AtLeast(0.99)),
            claim(continuous(MINRTT, "continuous"), AtLeast(0.99)),
            claim(over_in(PEEKABOO, "continuous"), Above(0.0)),
            claim(continuous(RR, "continuous-head"), AtLeast(0.99)),
            claim(continuous(MINRTT, "continuous-head"), AtLeast(0.99)),
            claim(over_in(PEEKABOO, "continuous-head"), Above(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R10",
        statement: "E2, part of item 12: the backlog of RR without windows (5.4) grows without end at 36 Mbit/s, the oracle's not",
        threshold: "RR's backlog diverges at 36 Mbit/s load (here: delay in the last 10 s over that at 20 to 30 s)",
        claims: &[
            claim(Mean(of(RR_BLIND, "continuous", "delay_growth")), Above(1.5)),
            claim(Ratio(of(EDPF, "continuous", P95), of(RR_BLIND, "continuous", P95)), Below(0.1)),
        ],
        deviation: deviates(BY_CHANCE),
        ..ITEM
    },
    Item {
        id: "R12",
        statement: "The environment meets the sheet's fluid check of its reference policies (5.4)",
        threshold: "reward EDPF 106, RR 96, minRTT 78, each within 6 %; 95th percentile 0.114, 0.171, 0.252 s within 10 %",
        claims: &[
            claim(Mean(of(EDPF, "fluid-check", REWARD)), Within(99.6, 112.4)),
            claim(Mean(of(RR, "fluid-check", REWARD)), Within(90.2, 101.8)),
            claim(Mean(of(MINRTT, "fluid-check", REWARD)), Within(73.3, 82.7)),
            claim(Mean(of(EDPF, "fluid-check", P95)), Within(0.103, 0.125)),
            claim(Mean(of(RR, "fluid-check", P95)), Within(0.154, 0.188)),
            claim(Mean(of(MINRTT, "fluid-check", P95)), Within(0.227, 0.277)),
        ],
        ..ITEM
    },
    Item {
        id: "R13",
        statement: "Items 1 to 5 in the fluid check, on which the sheet's bounds were set: the agent was not trained there",
        threshold: "RIDE > RR > minRTT; RIDE >= 95 % of EDPF; mean reward in 85-125; zero rebuffer B: RIDE >= 93 %, RR 65-90 %; B interruptions <= 0.5 x RR; p95 <= 0.13 s",
        claims: &[
            claim(Difference(ours("fluid-check", REWARD), of(RR, "fluid-check", REWARD)), Above(0.0)),
            claim(Difference(of(RR, "fluid-check", REWARD), of(MINRTT, "fluid-check", REWARD)), Above(0.0)),
            claim(Ratio(ours("fluid-check", REWARD), of(EDPF, "fluid-check", REWARD)), AtLeast(0.95)),
            claim(Mean(ours("fluid-check", REWARD)), Within(85.0, 125.0)),
            claim(Mean(ours("fluid-check", "b_zero_share")), AtLeast(0.93)),
            claim(Mean(of(RR, "fluid-check", "b_zero_share")), Within(0.65, 0.90)),
            claim(
                Ratio(
                    ours("fluid-check", "b_interruption_share"),
                    of(RR, "fluid-check", "b_interruption_share"),
                ),
                AtMost(0.5),
            ),
            claim(Mean(ours("fluid-check", P95)), AtMost(0.13)),
        ],
        ..ITEM
    },
    Item {
        id: "R15",
        statement: "E1 with what the dissertation leaves open the other way: playout delays (section 8, trap 9), transitive deadlines, frames in decode order, arrival by rounds",
        threshold: "sweep D 0.12/0.15/0.20/0.25; report both deadline rules (here: RIDE > RR in each)",
        claims: &[
            claim(variant("playout_0.12_s_reward_frames"), Above(0.0)),
            claim(variant("playout_0.15_s_reward_frames"), Above(0.0)),
            claim(variant("playout_0.25_s_reward_frames"), Above(0.0)),
            claim(variant("transitive_reward_frames"), Above(0.0)),
            claim(variant("decode_order_reward_frames"), Above(0.0)),
            claim(variant("rounds_reward_frames"), Above(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R16",
        statement: "E2 over the real stack (BBR, simulated links): RIDE's agent of E2 next to the schedulers",
        threshold: "section 5.4: run both environments (here: reward >= RR's, minRTT's and Peekaboo's - 1 %)",
        claims: &[
            claim(on_the_stack("stack", RR), AtLeast(0.99)),
            claim(on_the_stack("stack", MINRTT), AtLeast(0.99)),
            claim(on_the_stack("stack", PEEKABOO), AtLeast(0.99)),
            claim(on_the_stack("stack-head", RR), AtLeast(0.99)),
            claim(on_the_stack("stack-head", MINRTT), AtLeast(0.99)),
            claim(on_the_stack("stack-head", PEEKABOO), AtLeast(0.99)),
        ],
        deviation: deviates(FEW_SEEDS),
        ..ITEM
    },
    Item {
        id: "R14",
        statement: "Speed on one core of this machine",
        threshold: ">= 200,000 decisions per second of the environment; < 5 us per decision of the agent",
        claims: &[
            claim(Smallest(ours("speed", "decisions_per_second")), AtLeast(200_000.0)),
            claim(Largest(ours("speed", "decision_us")), AtMost(5.0)),
        ],
        data: crate::experiments::verify::constant::Data::None,
        ..ITEM
    },
];

/// What an agent earns more than another policy.
const fn agent_over(agent: usize, policy: &'static str) -> Value {
    let rewards = [
        "agent_1_reward_frames",
        "agent_2_reward_frames",
        "agent_3_reward_frames",
        "agent_4_reward_frames",
        "agent_5_reward_frames",
    ];
    Difference(ours("episodic", rewards[agent - 1]), of(policy, "episodic", REWARD))
}

/// By how much an ablation changes a metric of the system.
const fn change(metric: &'static str, ablation: &'static str) -> Value {
    Difference(ours(ablation, metric), ours("episodic", metric))
}

/// RIDE's reward in E2 over another policy's.
const fn continuous(policy: &'static str, run: &'static str) -> Value {
    Ratio(ours(run, REWARD), of(policy, run, REWARD))
}

/// What RIDE earns more, where the other may earn less than nothing.
const fn over_in(policy: &'static str, run: &'static str) -> Value {
    Difference(ours(run, REWARD), of(policy, run, REWARD))
}

/// What RIDE earns more than RR in a variant of E1.
const fn variant(reward: &'static str) -> Value {
    Difference(ours("variants", reward), of(RR, "variants", reward))
}

/// RIDE's reward over another policy's on the stack.
const fn on_the_stack(run: &'static str, policy: &'static str) -> Value {
    const MEASURE: &str = "flow.tiles.measures.reward_frames";
    Ratio(ours(run, MEASURE), of(policy, run, MEASURE))
}

/// RIDE's mean over another policy's.
const fn versus(policy: &'static str, metric: &'static str) -> Value {
    Ratio(ours("episodic", metric), of(policy, "episodic", metric))
}

/// A head that turns is more load than the sheet's check, on which the bounds were set (R13).
const MORE_TILES: &str = "a head that turns needs 209 Mbit/s, the 40 tiles of the sheet's check 172: the oracle itself has \
     87.2 % of B frames in time and a delay of 0.155 s; in the check (R13) the agent meets the bounds";

const HELP: &str = "the reward for help makes I frames worth twenty times what others are, and hides what these teach: without it \
     the agents earn as much by the full reward, and only P frames come late more often";

const FEW_SEEDS: &str = "the agent of E2 earns twice what that of E1 does, and what the schedulers do within an interval that five \
     seeds leave wide; a tile keeps to one path where they spread its packets";

const BY_CHANCE: &str = "half of 36 Mbit/s is 18.5 Mbit/s with headers for an LTE path of 20 Mbit/s in the median: whether the \
     backlog grows at the end of a minute depends on the trace of the seed, and means over seeds are wide";

const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: "docs/ride.md", cause })
}
