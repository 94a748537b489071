//! MinRTT over such paths, and each mechanism by itself (items 7 to 13).

use super::{
    CONNECTING, DECIDES, NORMAL, ONLY_DECOMPENSATE, ONLY_DISCARD, ONLY_DUPLICATE, QUALITY, REORDERING,
    REPEATED, STARTUP, deviates, stalls,
};
use crate::experiments::verify::constant::Bound::{AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{Difference, Largest, Ratio};
use crate::experiments::verify::constant::{ITEM, Item, claim, of};

/// The queue of packets out of order.
const fn reordering(
    policy: &'static str,
    runs: &'static str,
) -> crate::experiments::verify::constant::Metric {
    of(policy, runs, REORDERING)
}

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "6",
        // What is like TCP here is our own transport with its waits: three round trips before the first byte, no timeout below 200 ms.
        statement: "E1: the connection is there at least a round trip (50 ms) before one like TCP and TLS (three, the paper's count), and the first picture earlier, over one path and over both",
        threshold: "QUIC start-up < TCP by >= 1 RTT; MPQUIC < MPTCP",
        paper: "0.11 s, 0.19 s",
        claims: &[
            claim(Largest(of("minrtt", "startup", CONNECTING)), AtMost(0.1)),
            claim(
                Difference(of("minrtt", "startup-quic", STARTUP), of("minrtt", "startup-tcp", STARTUP)),
                AtMost(-0.05),
            ),
            claim(
                Ratio(of("minrtt", "startup", STARTUP), of("minrtt", "startup-mptcp", STARTUP)),
                Below(1.0),
            ),
        ],
        ..ITEM
    },
    Item {
        id: "7",
        statement: "E2: MinRTT's re-buffering does not fall while the one-way delay of the slow path rises from 25 to 100 ms",
        threshold: "minRTT re-buffering non-decreasing in slow-path OWD for (18,14.8)",
        paper: "figure 2b: it grows",
        claims: &[
            claim(Difference(stalls("minrtt", "owd-50"), stalls("minrtt", "owd-25")), AtLeast(0.0)),
            claim(Difference(stalls("minrtt", "owd-75"), stalls("minrtt", "owd-50")), AtLeast(0.0)),
            claim(Difference(stalls("minrtt", "even"), stalls("minrtt", "owd-75")), AtLeast(0.0)),
        ],
        deviation: deviates(
            "the video is nearly as fast as both paths: what does not fit decides, and 75 ms more of delay add .12 s to 4.9 s",
        ),
        ..ITEM
    },
    Item {
        id: "8",
        statement: "E3: what waits out of order grows with the imbalance of the paths under MinRTT; Dispatch lowers the worst",
        threshold: "60th-percentile queue ordering (18,14.8) < (2,30.8) < (30.8,2), end points >= 4x apart; Dispatch lowers the worst one by >= 25 %",
        paper: "250, 1000, about 4000 stream frames (figure 2c)",
        claims: &[
            claim(Ratio(reordering("minrtt", "even"), reordering("minrtt", "wide-fast")), Below(1.0)),
            claim(Ratio(reordering("minrtt", "wide-fast"), reordering("minrtt", "wide-slow")), Below(1.0)),
            claim(Ratio(reordering("minrtt", "wide-slow"), reordering("minrtt", "even")), AtLeast(4.0)),
            claim(Ratio(reordering(NORMAL, "wide-slow"), reordering("minrtt", "wide-slow")), AtMost(0.75)),
            DECIDES,
        ],
        deviation: deviates(
            "a thousand packets queue for six seconds before 2 Mbit/s: a far narrow path holds everything up, a near one is found to be no nearer; with queues of 50 ms a seventh of it",
        ),
        ..ITEM
    },
    Item {
        id: "9",
        statement: "E5: Dispatch re-buffers no more than MinRTT, and less than all others beside a fat slow path",
        threshold: "Dispatch <= minRTT in all three pairs; 2-30 % lower at (30.8,2); Dispatch < ECF and < STMS there",
        paper: "5.7 % less than minRTT, 19.4 % than ECF, 26.0 % than STMS at (30.8,2)",
        claims: &[
            claim(Ratio(stalls(NORMAL, "even"), stalls("minrtt", "even")), AtMost(1.0)),
            claim(Ratio(stalls(NORMAL, "wide-fast"), stalls("minrtt", "wide-fast")), AtMost(1.0)),
            claim(Ratio(stalls(NORMAL, "wide-slow"), stalls("minrtt", "wide-slow")), Within(0.70, 0.98)),
            claim(Ratio(stalls(NORMAL, "wide-slow"), stalls("ecf", "wide-slow")), Below(1.0)),
            claim(Ratio(stalls(NORMAL, "wide-slow"), stalls("stms", "wide-slow")), Below(1.0)),
            DECIDES,
        ],
        deviation: deviates(
            "what does not fit through both paths is waited for whatever the order, so that a bound on windows ahead is all that Dispatch changes: ECF and STMS have none",
        ),
        ..ITEM
    },
    Item {
        id: "10",
        statement: "E4: with loss on both paths MinRTT re-buffers far more than with loss on one",
        threshold: "minRTT at (3.6,3.6) >= 1.5x every point having one path at 0.45 % (here the worst of them: the other at 3.6 %)",
        paper: "16.26 s against less than 10 s",
        claims: &[
            claim(Ratio(stalls("minrtt", "loss-both"), stalls("minrtt", "loss-slow")), AtLeast(1.5)),
            claim(Ratio(stalls("minrtt", "loss-both"), stalls("minrtt", "loss-fast")), AtLeast(1.5)),
        ],
        ..ITEM
    },
    Item {
        id: "11",
        statement: "E6: copies of key frames lower re-buffering on lossy paths, with far fewer repeated bytes than full redundancy",
        threshold: "Duplicate <= without at all three loss pairs, >= 3 % lower at (3.6,3.6); redundant bytes <= 60 % of RDDT's",
        paper: "5.5 % less at (3.6,3.6)",
        claims: &[
            claim(Ratio(stalls(ONLY_DUPLICATE, "copies-half"), stalls(NORMAL, "copies-half")), AtMost(1.0)),
            claim(Ratio(stalls(ONLY_DUPLICATE, "copies-slow"), stalls(NORMAL, "copies-slow")), AtMost(1.0)),
            claim(Ratio(stalls(ONLY_DUPLICATE, "copies-both"), stalls(NORMAL, "copies-both")), AtMost(0.97)),
            claim(
                Ratio(of(ONLY_DUPLICATE, "copies-both", REPEATED), of("redundant", "copies-both", REPEATED)),
                AtMost(0.6),
            ),
            DECIDES,
        ],
        deviation: deviates(
            "a lost key frame is repaired within a round trip, which the viewer's buffer covers, while its copies take room: with BBR as with OLIA",
        ),
        ..ITEM
    },
    Item {
        id: "12",
        statement: "E7: discarding delta frames lowers re-buffering at no cost in quality",
        threshold: "Discard lowers re-buffering 2-15 %, aSSIM not lower",
        paper: "4.8 % less, mean aSSIM higher",
        claims: &[
            claim(Ratio(stalls(ONLY_DISCARD, "discard"), stalls(NORMAL, "discard")), Within(0.85, 0.98)),
            claim(
                Difference(of(ONLY_DISCARD, "discard", QUALITY), of(NORMAL, "discard", QUALITY)),
                AtLeast(0.0),
            ),
            DECIDES,
        ],
        deviation: deviates(
            "what is discarded is never shown, and modelled aSSIM counts it; these paths carry the clip with and without",
        ),
        ..ITEM
    },
    Item {
        id: "13",
        statement: "E8: delta frames that are not retransmitted lower re-buffering on lossy paths",
        threshold: "Decompensate lowers re-buffering >= 35 % at (3.6,3.6) against both references, aSSIM loss <= 0.01",
        paper: "58.7 % less than MPQUIC, 59.3 % less than without",
        claims: &[
            claim(
                Ratio(stalls(ONLY_DECOMPENSATE, "decompensate"), stalls("minrtt", "decompensate")),
                AtMost(0.65),
            ),
            claim(
                Ratio(stalls(ONLY_DECOMPENSATE, "decompensate"), stalls(NORMAL, "decompensate")),
                AtMost(0.65),
            ),
            claim(
                Difference(
                    of(ONLY_DECOMPENSATE, "decompensate", QUALITY),
                    of(NORMAL, "decompensate", QUALITY),
                ),
                AtLeast(-0.01),
            ),
            DECIDES,
        ],
        deviation: deviates(
            "random loss empties the paths of a loss-based controller: the 3.6 % that is not sent again is all that is saved; with BBR there is nothing to save",
        ),
        ..ITEM
    },
];
