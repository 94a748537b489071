//! What is asked of sessions over the generator's links: volumes, goodput, how even flows are, controllers; and of addresses.

use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Within};
use crate::experiments::verify::constant::Value::{Difference, Mean, Sum};
use crate::experiments::verify::constant::{Bound, Claim, Data, Deviation, ITEM, Item, claim, ours};

const PARIS: &str = "sessions-paris";
const BOLOGNA: &str = "sessions-bologna";
const LOS_ANGELES: &str = "sessions-los-angeles";
const MACAO: &str = "sessions-macao-rate17";

/// The page that has what was measured, and the causes.
const PAGE: &str = "docs/wifi.md";

const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: PAGE, cause })
}

const fn of(city: &'static str, name: &'static str, low: f64, high: f64) -> Claim {
    claim(Mean(ours(city, name)), Within(low, high))
}

/// A share of flows, within 8 points of what figure 3.22 has.
const fn share(city: &'static str, name: &'static str, reported: f64) -> Claim {
    of(city, name, reported - 0.08, reported + 0.08)
}

/// The first city's volume above the second's.
const fn more(first: &'static str, second: &'static str) -> Claim {
    claim(Difference(ours(first, "gb_per_hour"), ours(second, "gb_per_hour")), Above(0.0))
}

/// A mean within so many per cent of what is reported.
pub(super) const fn near(runs: &'static str, name: &'static str, reported: f64, percent: f64) -> Claim {
    let margin = reported * percent / 100.0;
    of(runs, name, reported - margin, reported + margin)
}

const fn ratio(name: &'static str, bound: Bound) -> Claim {
    claim(Mean(ours("controllers", name)), bound)
}

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "6",
        statement: "Long-term volume with a bulk transport",
        threshold: "0.5–1.0 GB/h Macao (preset `rate17`), 0.9–1.6 Bologna, 1.0–1.9 LA, 0.1–0.3 Paris; LA > Bologna > Macao > Paris",
        paper: "0.73, 1.23, 1.44, 0.18",
        claims: &[
            of(MACAO, "gb_per_hour", 0.5, 1.0),
            of(BOLOGNA, "gb_per_hour", 0.9, 1.6),
            of(LOS_ANGELES, "gb_per_hour", 1.0, 1.9),
            of(PARIS, "gb_per_hour", 0.1, 0.3),
            more(LOS_ANGELES, BOLOGNA),
            more(BOLOGNA, MACAO),
            more(MACAO, PARIS),
        ],
        ..ITEM
    },
    Item {
        id: "7",
        statement: "Goodput in Macao by band and direction",
        threshold: "within 15 % of Table 3.4 means; 5 GHz / 2.4 GHz ratio >= 2.5 down, >= 3 up",
        paper: "up 16.25 and 4.33, down 10.26 and 3.71 Mbit/s",
        claims: &[
            near("bands", "up_high_mbps", 16.25, 15.0),
            near("bands", "up_low_mbps", 4.33, 15.0),
            near("bands", "down_high_mbps", 10.26, 15.0),
            near("bands", "down_low_mbps", 3.71, 15.0),
            claim(Mean(ours("bands", "up_high_over_low")), AtLeast(3.0)),
            claim(Mean(ours("bands", "down_high_over_low")), AtLeast(2.5)),
        ],
        deviation: deviates(
            "the levels differ by 3.75 and 2.77; the spread of sessions is as large as the margin",
        ),
        ..ITEM
    },
    Item {
        id: "8",
        statement: "How many flows vary much, by city",
        threshold: "within ±8 points of the three rows of 3.22 in each city",
        paper: "RTT 60, 27, 30, 32 %; loss 82, 26, 13, 78 %; throughput 94, 85, 73, 85 %",
        claims: &[
            share(PARIS, "rtt_varies_share", 0.60),
            share(BOLOGNA, "rtt_varies_share", 0.27),
            share(LOS_ANGELES, "rtt_varies_share", 0.30),
            share(MACAO, "rtt_varies_share", 0.32),
            share(PARIS, "loses_share", 0.82),
            share(BOLOGNA, "loses_share", 0.26),
            share(LOS_ANGELES, "loses_share", 0.13),
            share(MACAO, "loses_share", 0.78),
            share(PARIS, "throughput_varies_share", 0.94),
            share(BOLOGNA, "throughput_varies_share", 0.85),
            share(LOS_ANGELES, "throughput_varies_share", 0.73),
            share(MACAO, "throughput_varies_share", 0.85),
        ],
        deviation: deviates("ten parameters of a city were chosen by other seeds, for seven figures"),
        ..ITEM
    },
    Item {
        id: "10",
        statement: "A single Macao flow is as fast with BBR as with CUBIC; eight flows get more",
        threshold: "goodput BBR/Cubic in [0.8, 1.25]; 8 flows / 1 flow >= 1.2",
        claims: &[ratio("bbr_over_cubic", Within(0.8, 1.25)), ratio("eight_over_one", AtLeast(1.2))],
        deviation: deviates(
            "a single CUBIC flow pays for losses at the edges and in bursts that BBR does not answer to",
        ),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "BBRv2+ against BBR, a single flow on the same encounters",
        threshold: ">= 1.05 (direction predicted, not measured there)",
        claims: &[ratio("bbr2plus_over_bbr", AtLeast(1.05))],
        deviation: deviates(
            "BBRv2+ answers to losses and short queues, BBR does not; a part is not explained",
        ),
        ..ITEM
    },
    Item {
        id: "R3",
        statement: "Volume of a session, by city and direction",
        threshold: "means of figure 3.18 within 20 % (sheet 3.5: what the fitted levels reproduce)",
        paper: "up 3.88, 14.67, 19.15, 55.05; down 2.39, 12.46, 45.22, 40.31 MB",
        claims: &[
            near(PARIS, "up_mean_mb", 3.88, 20.0),
            near(BOLOGNA, "up_mean_mb", 14.67, 20.0),
            near(LOS_ANGELES, "up_mean_mb", 19.15, 20.0),
            near(MACAO, "up_mean_mb", 55.05, 20.0),
            near(PARIS, "down_mean_mb", 2.39, 20.0),
            near(BOLOGNA, "down_mean_mb", 12.46, 20.0),
            near(LOS_ANGELES, "down_mean_mb", 45.22, 20.0),
            near(MACAO, "down_mean_mb", 40.31, 20.0),
        ],
        deviation: deviates(
            "the sheet has one distribution of levels for both directions in Paris; the uploads are 1.6 times the downloads",
        ),
        ..ITEM
    },
];

const fn kept(name: &'static str, reported: f64) -> Claim {
    near("addresses", name, reported, 25.0)
}

pub(super) const ADDRESSES: &[Item] = &[
    Item {
        id: "12",
        statement: "How long an address stays, on drives within one provider",
        threshold: "within 25 % of Table 3.3; Fastweb/CTM never change within provider",
        paper: "ALMAWIFI 687, EmiliaWifi 184, Spectrum 1644, CableWifi 3105, eduroam 106, Free 216 s",
        data: Data::Synthetic,
        claims: &[
            kept("almawifi.kept_s", 687.0),
            kept("emiliawifi.kept_s", 184.0),
            kept("spectrum.kept_s", 1644.0),
            kept("cablewifi.kept_s", 3105.0),
            kept("eduroam.kept_s", 106.0),
            kept("free.kept_s", 216.0),
            claim(Sum(ours("addresses", "fastweb.changes")), AtMost(0.0)),
            claim(Sum(ours("addresses", "ctm.changes")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R2",
        statement: "The share of an association that its set-up takes",
        threshold: "mean of the ratios 10–18 %; ratio of the means 6–9 %",
        data: Data::Synthetic,
        claims: &[
            of("drives", "paris.setup_share", 0.10, 0.18),
            of("drives", "bologna.setup_share", 0.10, 0.18),
            of("drives", "los-angeles.setup_share", 0.10, 0.18),
            of("drives", "macao.setup_share", 0.10, 0.18),
            of("drives", "paris.setup_ratio", 0.06, 0.09),
            of("drives", "bologna.setup_ratio", 0.06, 0.09),
            of("drives", "los-angeles.setup_ratio", 0.06, 0.09),
            of("drives", "macao.setup_ratio", 0.06, 0.09),
        ],
        deviation: deviates(
            "a lognormal life with Macao's mean and deviation has more short associations than the measurement",
        ),
        ..ITEM
    },
];
