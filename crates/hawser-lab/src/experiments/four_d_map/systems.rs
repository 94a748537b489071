//! All of it while the links change (items 14 and 15).

use super::{DECOMPENSATE, DELAY, DISCARD, DUPLICATE, NORMAL, QUALITY, RANDOM, REBUFFERING, stalls};
use crate::experiments::verify::Bound::{Above, AtLeast, AtMost, Below};
use crate::experiments::verify::Value::{Difference, Ratio};
use crate::experiments::verify::{ITEM, Item, claim, of, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "14",
        statement: "E9: 4D-MAP re-buffers least and is the soonest, at the quality of the best other (of MinRTT and Peekaboo)",
        threshold: "lowest mean re-buffering and stream delay of {MPQUIC minRTT, Peekaboo, DQN*, MPTCP-like} on both videos; >= 10 % below minRTT re-buffering on sintel-10min; aSSIM >= best other - 0.01",
        paper: "re-buffering 18.1 % less than MPQUIC, 37.6 % less than Peekaboo",
        claims: &[
            claim(Ratio(ours("sintel", REBUFFERING), stalls("minrtt", "sintel")), AtMost(0.9)),
            claim(Ratio(ours("sintel", REBUFFERING), stalls("minrtt", "sintel")), Below(1.0)),
            claim(Ratio(ours("sintel", REBUFFERING), stalls("peekaboo", "sintel")), Below(1.0)),
            claim(Ratio(ours("ss", REBUFFERING), stalls("minrtt", "ss")), Below(1.0)),
            claim(Ratio(ours("ss", REBUFFERING), stalls("peekaboo", "ss")), Below(1.0)),
            claim(Ratio(ours("sintel", DELAY), of("minrtt", "sintel", DELAY)), Below(1.0)),
            claim(Ratio(ours("ss", DELAY), of("minrtt", "ss", DELAY)), Below(1.0)),
            claim(Difference(ours("sintel", QUALITY), of("minrtt", "sintel", QUALITY)), AtLeast(-0.01)),
            claim(Difference(ours("ss", QUALITY), of("minrtt", "ss", QUALITY)), AtLeast(-0.01)),
        ],
        ..ITEM
    },
    Item {
        id: "15",
        statement: "E9: what the learner chooses is as good as the best mechanism for all frames, and better than chance (modelled aSSIM)",
        threshold: "LinUCB >= best fixed mechanism and > random arm",
        claims: &[
            claim(Ratio(ours("sintel", QUALITY), of(NORMAL, "sintel", QUALITY)), AtLeast(1.0)),
            claim(Ratio(ours("sintel", QUALITY), of(DUPLICATE, "sintel", QUALITY)), AtLeast(1.0)),
            claim(Ratio(ours("sintel", QUALITY), of(DISCARD, "sintel", QUALITY)), AtLeast(1.0)),
            claim(Ratio(ours("sintel", QUALITY), of(DECOMPENSATE, "sintel", QUALITY)), AtLeast(1.0)),
            claim(Ratio(ours("sintel", QUALITY), of(RANDOM, "sintel", QUALITY)), Above(1.0)),
        ],
        ..ITEM
    },
];
