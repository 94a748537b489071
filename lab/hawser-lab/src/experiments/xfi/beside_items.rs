//! What is asked of WiFi that comes and goes beside a cellular link.

use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost};
use crate::experiments::verify::constant::Value::{Difference, Largest, Mean, Smallest, Sum};
use crate::experiments::verify::constant::{Claim, Data, Deviation, ITEM, Item, claim, ours};

/// The first way of going on gets more than the second.
const fn more(first: &'static str, second: &'static str) -> Claim {
    claim(Difference(ours("modes", first), ours("modes", second)), Above(0.0))
}

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "14",
        statement: "WiFi beside a steady cellular path: used soon, missed little",
        threshold: "WiFi arrival is used (>= 50 % of WiFi rate) within 3 RTT + handshake; abrupt AddrDown causes no stall > 1.5 × cellular PTO; an unchanged address resumes without a new handshake",
        must: true,
        data: Data::Synthetic,
        claims: &[
            claim(Smallest(ours("arrivals", "used_share_least")), AtLeast(0.5)),
            claim(Largest(ours("arrivals", "longest_stall_pto")), AtMost(1.5)),
            claim(Sum(ours("arrivals", "new_handshakes")), AtMost(0.0)),
            claim(Largest(ours("departures", "macao.longest_stall_pto")), AtMost(1.5)),
            claim(Largest(ours("departures", "bologna.longest_stall_pto")), AtMost(1.5)),
            claim(Sum(ours("departures", "macao.new_handshakes")), AtMost(0.0)),
            claim(Sum(ours("departures", "bologna.new_handshakes")), AtMost(0.0)),
            claim(Mean(ours("departures", "bologna.departures")), AtLeast(5.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R4",
        statement: "The same on real sockets: the kernel takes the interface and gives it back",
        threshold: "as item 14: >= 50 % of the WiFi rate after 3 RTT + handshake, no stall > 1.5 × cellular PTO",
        data: Data::Synthetic,
        claims: &[
            claim(Mean(ours("sockets", "arrivals")), AtLeast(5.0)),
            claim(Smallest(ours("sockets", "used_share_least")), AtLeast(0.5)),
            claim(Largest(ours("sockets", "longest_stall_pto")), AtMost(1.5)),
        ],
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "Stalls within three seconds of a departure, whatever their cause",
        threshold: "as item 14, also where the WiFi has come back: no stall > 1.5 × cellular PTO",
        data: Data::Synthetic,
        claims: &[
            claim(Largest(ours("departures", "macao.longest_stall_within_3_s_pto")), AtMost(1.5)),
            claim(Largest(ours("departures", "bologna.longest_stall_within_3_s_pto")), AtMost(1.5)),
        ],
        deviation: Some(Deviation {
            page: "docs/wifi.md",
            cause: "the rate of a new encounter collapses with data queued; amid work what a path holds is copied once it is 250 ms later than usual",
        }),
        ..ITEM
    },
    Item {
        id: "R5",
        statement: "Several paths get more of a drive than a connection for each address, and than the cellular link alone",
        threshold: "what sheet 9 recommends: restart, migrate and multipath compared",
        data: Data::Synthetic,
        claims: &[
            more("macao.multipath_mb", "macao.restart_mb"),
            more("macao.multipath_mb", "macao.cellular_mb"),
            more("bologna.multipath_mb", "bologna.restart_mb"),
            more("bologna.multipath_mb", "bologna.cellular_mb"),
        ],
        ..ITEM
    },
];
