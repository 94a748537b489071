//! What is asked of the cases of the mobility gauntlet (`hawser_sim::gauntlet`): what happens to a transfer when addresses
//! change and paths misbehave.

use super::ITEM;
use crate::experiments::verify::constant::Bound::{AtLeast, AtMost};
use crate::experiments::verify::constant::Value::{Largest, Smallest, Sum};
use crate::experiments::verify::constant::{Item, claim, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "download-port-rebinding",
        statement: "A NAT gives the client another port while it downloads: the window holds from the first packet on",
        threshold: "<= 80 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("download-port-rebinding", "longer_ms")), AtMost(80.0)),
            claim(Largest(ours("download-port-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("download-port-rebinding", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "upload-port-rebinding",
        statement: "A NAT gives the client another port while it uploads: the window holds",
        threshold: "<= 40 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("upload-port-rebinding", "longer_ms")), AtMost(40.0)),
            claim(Largest(ours("upload-port-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("upload-port-rebinding", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "download-address-rebinding",
        statement: "A NAT gives the client another address while it downloads: ten packets, then slow start",
        threshold: "<= 180 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("download-address-rebinding", "longer_ms")), AtMost(180.0)),
            claim(Largest(ours("download-address-rebinding", "first_round_trip_kB")), AtMost(18.72)),
            claim(Largest(ours("download-address-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("download-address-rebinding", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "upload-address-rebinding",
        statement: "A NAT gives the client another address while it uploads: the window holds",
        threshold: "<= 40 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("upload-address-rebinding", "longer_ms")), AtMost(40.0)),
            claim(Largest(ours("upload-address-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("upload-address-rebinding", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "download-return",
        statement: "Another address and back while the client downloads: what was known of the old one holds again",
        threshold: "<= 180 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("download-return", "longer_ms")), AtMost(180.0)),
            claim(Largest(ours("download-return", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("download-return", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "download-migration",
        statement: "The client migrates its path to an equal link while it downloads: slow start there",
        threshold: "<= 180 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("download-migration", "longer_ms")), AtMost(180.0)),
            claim(Largest(ours("download-migration", "first_round_trip_kB")), AtMost(18.72)),
            claim(Largest(ours("download-migration", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("download-migration", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "upload-migration",
        statement: "The client migrates its path to an equal link while it uploads: slow start there",
        threshold: "<= 150 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("upload-migration", "longer_ms")), AtMost(150.0)),
            claim(Largest(ours("upload-migration", "first_round_trip_kB")), AtMost(18.72)),
            claim(Largest(ours("upload-migration", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("upload-migration", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "upload-migration-to-another-port",
        statement: "The client migrates its path to another port while it uploads: the window holds",
        threshold: "<= 20 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("upload-migration-to-another-port", "longer_ms")), AtMost(20.0)),
            claim(Largest(ours("upload-migration-to-another-port", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("upload-migration-to-another-port", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "upload-migration-to-a-dead-link",
        statement: "The client migrates its path to a link on which nobody answers: it returns, and the window holds",
        threshold: "<= 3.4 s longer, three probe timeouts of a new path; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("upload-migration-to-a-dead-link", "longer_ms")), AtMost(3_400.0)),
            claim(Largest(ours("upload-migration-to-a-dead-link", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("upload-migration-to-a-dead-link", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "rebinding-every-5-s",
        statement: "A NAT gives the client another port every 5 s: each costs a round trip",
        threshold: "<= 80 ms longer per rebinding; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("rebinding-every-5-s", "longer_per_rebinding_ms")), AtMost(80.0)),
            claim(Largest(ours("rebinding-every-5-s", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("rebinding-every-5-s", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "trickling-path",
        statement: "A path of 100 kbit/s does not hold up what one of 20 Mbit/s carries",
        threshold: "<= 100 ms longer; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("trickling-path", "longer_than_without_it_ms")), AtMost(100.0)),
            claim(Largest(ours("trickling-path", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("trickling-path", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "trickling-use",
        statement: "A path that carries every fiftieth packet does not grow its window",
        threshold: "window <= 30 kB; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("trickling-use", "window_of_the_trickling_path_kB")), AtMost(30.0)),
            claim(Largest(ours("trickling-use", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("trickling-use", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "marking-queue",
        statement: "A queue that marks instead of dropping stays where it marks: ECN works on every path",
        threshold: "mean wait <= 8 ms, none dropped; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("marking-queue", "mean_wait_in_the_marking_queue_ms")), AtMost(8.0)),
            claim(Largest(ours("marking-queue", "dropped_by_the_marking_queue_packets")), AtMost(0.0)),
            claim(Largest(ours("marking-queue", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("marking-queue", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "abandon-while-copies-wait",
        statement: "A path is abandoned while copies are queued for it: the other carries on",
        threshold: "<= 100 ms longer than on one path; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("abandon-while-copies-wait", "longer_than_on_one_path_ms")), AtMost(100.0)),
            claim(Largest(ours("abandon-while-copies-wait", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("abandon-while-copies-wait", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "both-abandon-one-dead",
        statement: "Both ends abandon different ones of three paths, one of them dead: both hear of both",
        threshold: "2 paths left, end <= 3.3 s; <= 6 kB beyond the window",
        claims: &[
            claim(Largest(ours("both-abandon-one-dead", "paths_left_at_both_ends")), AtMost(2.0)),
            claim(Largest(ours("both-abandon-one-dead", "end_s")), AtMost(3.3)),
            claim(Largest(ours("both-abandon-one-dead", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("both-abandon-one-dead", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "suspect-path-left-alone",
        statement: "A silent path that becomes the only one carries what was outstanding as soon as its link does",
        threshold: "<= 1.05 s of silence, a probe interval; <= 4.5 s in all; <= 6 kB beyond the window",
        claims: &[
            claim(
                Largest(ours("suspect-path-left-alone", "silence_after_the_link_returned_ms")),
                AtMost(1_050.0),
            ),
            claim(Largest(ours("suspect-path-left-alone", "end_s")), AtMost(4.5)),
            claim(Largest(ours("suspect-path-left-alone", "beyond_the_window_kB")), AtMost(6.0)),
            claim(Sum(ours("suspect-path-left-alone", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "key-updates-beside-an-idle-path",
        statement: "Keys are updated three times beside an idle path, which then carries everything",
        threshold: "no packet that cannot be opened; <= 250 ms longer",
        claims: &[
            claim(Smallest(ours("key-updates-beside-an-idle-path", "key_updates")), AtLeast(3.0)),
            claim(
                Largest(ours("key-updates-beside-an-idle-path", "packets_that_could_not_be_opened")),
                AtMost(0.0),
            ),
            claim(
                Largest(ours("key-updates-beside-an-idle-path", "longer_than_on_one_path_ms")),
                AtMost(250.0),
            ),
        ],
        ..ITEM
    },
    Item {
        id: "mixed-return-paths",
        statement: "Acknowledgements that return now here, now there, do not mix round-trip times of 20, 40 and 60 ms",
        threshold: "fast path 19.9 to 22 ms; slow path varies by <= 3 ms",
        claims: &[
            claim(Smallest(ours("mixed-return-paths", "fast_path_at_least_ms")), AtLeast(19.9)),
            claim(Largest(ours("mixed-return-paths", "fast_path_at_most_ms")), AtMost(22.0)),
            claim(Largest(ours("mixed-return-paths", "slow_path_varies_by_ms")), AtMost(3.0)),
            claim(Sum(ours("mixed-return-paths", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
];
