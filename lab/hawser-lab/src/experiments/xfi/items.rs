//! What is asked of the runs.

use super::transport_items;
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{Difference, Largest, Mean, Smallest, Sum};
use crate::experiments::verify::constant::{Bound, Claim, Data, ITEM, Item, MUST, claim, ours};

/// The mean of a metric of the drives, within so many per cent of what is reported.
const fn near(name: &'static str, reported: f64, percent: f64) -> Claim {
    transport_items::near("drives", name, reported, percent)
}

const fn drives(name: &'static str, bound: Bound) -> Claim {
    claim(Mean(ours("drives", name)), bound)
}

/// The first mean less the second.
const fn more(first: &'static str, second: &'static str) -> Claim {
    claim(Difference(ours("drives", first), ours("drives", second)), Above(0.0))
}

/// A quarter of the mean, give or take 15 %.
const HOLE_RATIO: Bound = Within(4.0 / 1.15, 4.0 / 0.85);

/// The generator.
pub(super) const GENERATOR: &[Item] = &[
    Item {
        id: "1",
        statement: "Lives of associations and the holes between them, also by band",
        threshold: "Means of L2 duration and hole within 5 % of section 6; per-band means 5 %, std 15 %; median hole = mean/4 ± 15 % (Bologna, LA, Macao), mean/median < 1.5 (Paris)",
        data: Data::Synthetic,
        claims: &[
            near("paris.l2.duration_s", 16.58, 5.0),
            near("bologna.l2.duration_s", 16.74, 5.0),
            near("los-angeles.l2.duration_s", 29.28, 5.0),
            near("macao.l2.duration_s", 21.27, 5.0),
            near("paris.l2.hole_s", 5.70, 5.0),
            near("bologna.l2.hole_s", 12.23, 5.0),
            near("los-angeles.l2.hole_s", 33.08, 5.0),
            near("macao.l2.hole_s", 112.27, 5.0),
            near("bologna.high.duration_s", 26.22, 5.0),
            near("bologna.low.duration_s", 14.54, 5.0),
            near("los-angeles.high.duration_s", 30.09, 5.0),
            near("los-angeles.low.duration_s", 26.94, 5.0),
            near("macao.high.duration_s", 20.22, 5.0),
            near("macao.low.duration_s", 24.52, 5.0),
            near("bologna.high.deviation_s", 39.62, 15.0),
            near("bologna.low.deviation_s", 19.56, 15.0),
            near("los-angeles.high.deviation_s", 33.38, 15.0),
            near("los-angeles.low.deviation_s", 30.67, 15.0),
            near("macao.high.deviation_s", 40.33, 15.0),
            near("macao.low.deviation_s", 41.57, 15.0),
            drives("bologna.l2.hole_mean_over_median", HOLE_RATIO),
            drives("los-angeles.l2.hole_mean_over_median", HOLE_RATIO),
            drives("macao.l2.hole_mean_over_median", HOLE_RATIO),
            drives("paris.l2.hole_mean_over_median", Below(1.5)),
        ],
        ..MUST
    },
    Item {
        id: "2",
        statement: "Lives of addresses and sessions, and the holes between them",
        threshold: "IP and TCP duration means within 5 %, IP/TCP hole means within 7 % (preset `hole112` for Macao); order L2 < IP < TCP holes in every city",
        data: Data::Synthetic,
        claims: &[
            near("paris.ip.duration_s", 15.84, 5.0),
            near("bologna.ip.duration_s", 17.47, 5.0),
            near("los-angeles.ip.duration_s", 31.91, 5.0),
            near("macao.ip.duration_s", 21.97, 5.0),
            near("paris.transport.duration_s", 17.24, 5.0),
            near("bologna.transport.duration_s", 18.08, 5.0),
            near("los-angeles.transport.duration_s", 33.57, 5.0),
            near("macao.transport.duration_s", 23.24, 5.0),
            near("paris.ip.hole_s", 34.42, 7.0),
            near("bologna.ip.hole_s", 15.69, 7.0),
            near("los-angeles.ip.hole_s", 40.70, 7.0),
            near("macao.ip.hole_s", 120.72, 7.0),
            near("paris.transport.hole_s", 42.45, 7.0),
            near("bologna.transport.hole_s", 18.13, 7.0),
            near("los-angeles.transport.hole_s", 43.45, 7.0),
            near("macao.transport.hole_s", 124.39, 7.0),
            more("paris.ip.hole_s", "paris.l2.hole_s"),
            more("paris.transport.hole_s", "paris.ip.hole_s"),
            more("bologna.ip.hole_s", "bologna.l2.hole_s"),
            more("bologna.transport.hole_s", "bologna.ip.hole_s"),
            more("los-angeles.ip.hole_s", "los-angeles.l2.hole_s"),
            more("los-angeles.transport.hole_s", "los-angeles.ip.hole_s"),
            more("macao.ip.hole_s", "macao.l2.hole_s"),
            more("macao.transport.hole_s", "macao.ip.hole_s"),
        ],
        ..MUST
    },
    Item {
        id: "3",
        statement: "Associations per hour",
        threshold: "Paris 150–170, Bologna 110–130, LA 54–61; Macao preset `hole112` 25–29 and preset `rate17` 16–19",
        paper: "160, 117, 57, 17",
        data: Data::Synthetic,
        claims: &[
            drives("paris.per_hour", Within(150.0, 170.0)),
            drives("bologna.per_hour", Within(110.0, 130.0)),
            drives("los-angeles.per_hour", Within(54.0, 61.0)),
            drives("macao.per_hour", Within(25.0, 29.0)),
            drives("macao-rate17.per_hour", Within(16.0, 19.0)),
        ],
        ..MUST
    },
    Item {
        id: "4",
        statement: "When the first acknowledgement comes",
        threshold: "First-ack mean within 10 % of target; p90 association and DHCP < 1 s except LA; LA slowest; none heavy-tailed (mean/median < 1.5)",
        paper: "1.11, 1.09, 2.76, 1.48 s",
        data: Data::Synthetic,
        claims: &[
            near("paris.first_ack_s", 1.11, 10.0),
            near("bologna.first_ack_s", 1.09, 10.0),
            near("los-angeles.first_ack_s", 2.76, 10.0),
            near("macao.first_ack_s", 1.48, 10.0),
            drives("paris.association_p90_s", Below(1.0)),
            drives("bologna.association_p90_s", Below(1.0)),
            drives("macao.association_p90_s", Below(1.0)),
            drives("paris.address_p90_s", Below(1.0)),
            drives("bologna.address_p90_s", Below(1.0)),
            drives("macao.address_p90_s", Below(1.0)),
            more("los-angeles.first_ack_s", "paris.first_ack_s"),
            more("los-angeles.first_ack_s", "bologna.first_ack_s"),
            more("los-angeles.first_ack_s", "macao.first_ack_s"),
            drives("paris.first_ack_mean_over_median", Below(1.5)),
            drives("bologna.first_ack_mean_over_median", Below(1.5)),
            drives("los-angeles.first_ack_mean_over_median", Below(1.5)),
            drives("macao.first_ack_mean_over_median", Below(1.5)),
        ],
        ..MUST
    },
];

const fn clients(name: &'static str, bound: Bound) -> Claim {
    claim(Mean(ours("clients", name)), bound)
}

const fn phases(name: &'static str, bound: Bound) -> Claim {
    claim(Mean(ours("phases", name)), bound)
}

/// Clients that attach.
pub(super) const ATTACHMENT: &[Item] = &[
    Item {
        id: "5",
        statement: "A stock client and X-Fi attach in the same air",
        threshold: "Stock client p90 time to IP in [7, 13] s; X-Fi p90 <= 2 s; median gap >= 4 s explained by ARP probing (probing off recovers >= 60 % of the median gain)",
        paper: "10 s, 2 s",
        data: Data::Synthetic,
        claims: &[
            clients("stock.to_address_p90_s", Within(7.0, 13.0)),
            clients("xfi.to_address_p90_s", AtMost(2.0)),
            clients("median_gap_s", AtLeast(4.0)),
            clients("gap_by_probes", AtLeast(0.6)),
        ],
        ..ITEM
    },
    Item {
        id: "R1",
        statement: "X-Fi exchange by exchange: association and DHCP, not drawn but made",
        threshold: "association and DHCP each < 1 s for 90 % in Bologna, Macao, Paris; LA longer in both; not heavy-tailed (mean/median < 1.5)",
        data: Data::Synthetic,
        claims: &[
            phases("paris.association_p90_s", Below(1.0)),
            phases("bologna.association_p90_s", Below(1.0)),
            phases("macao.association_p90_s", Below(1.0)),
            phases("paris.dhcp_p90_s", Below(1.0)),
            phases("bologna.dhcp_p90_s", Below(1.0)),
            phases("macao.dhcp_p90_s", Below(1.0)),
            claim(
                Difference(
                    ours("phases", "los-angeles.association_median_s"),
                    ours("phases", "bologna.association_median_s"),
                ),
                Above(0.0),
            ),
            claim(
                Difference(
                    ours("phases", "los-angeles.dhcp_median_s"),
                    ours("phases", "bologna.dhcp_median_s"),
                ),
                Above(0.0),
            ),
            phases("bologna.association_mean_over_median", Below(1.5)),
            phases("los-angeles.association_mean_over_median", Below(1.5)),
            phases("bologna.dhcp_mean_over_median", Below(1.5)),
            phases("los-angeles.dhcp_mean_over_median", Below(1.5)),
        ],
        ..ITEM
    },
];

/// What signal and speed say.
pub(super) const CORRELATIONS: &[Item] = &[Item {
    id: "9",
    statement: "Signal strength says nothing, speed shortens",
    threshold: "|R(ISS, duration)|, |R(ISS, goodput)| < 0.1; R(speed, duration) < −0.1 in mode 2; R(speed, goodput) in [−0.2, 0]",
    claims: &[
        claim(Largest(ours("correlations", "bologna.signal_duration_r")), AtMost(0.1)),
        claim(Largest(ours("correlations", "bologna.signal_goodput_r")), AtMost(0.1)),
        claim(Largest(ours("correlations", "macao.signal_duration_r")), AtMost(0.1)),
        claim(Largest(ours("correlations", "macao.signal_goodput_r")), AtMost(0.1)),
        claim(Mean(ours("correlations", "bologna.speed_duration_r")), Below(-0.1)),
        claim(Mean(ours("correlations", "macao.speed_duration_r")), Below(-0.1)),
        claim(Mean(ours("correlations", "bologna.speed_goodput_r")), Within(-0.2, 0.0)),
        claim(Mean(ours("correlations", "macao.speed_goodput_r")), Within(-0.2, 0.0)),
    ],
    ..ITEM
}];

/// The tool.
pub(super) const TOOL: &[Item] = &[
    Item {
        id: "13",
        statement: "hawser measure: sessions follow addresses, draws are uniform, volumes agree",
        threshold: "session starts <= 20 ms after AddrUp and stops <= 20 ms after AddrDown (plus scheduling); no session spans two addresses; χ² p > 0.01; volumes by application and by ack log agree within 1 %",
        data: Data::None,
        claims: &[
            claim(Largest(ours("draws", "chi_square_over_critical")), Below(1.0)),
            claim(Sum(ours("links", "associations_without_record")), AtMost(0.0)),
            claim(Sum(ours("links", "associations_twice")), AtMost(0.0)),
            claim(Sum(ours("links", "cut_by_the_kill")), Within(1.0, 1.0)),
            claim(Sum(ours("links", "not_uploaded")), AtMost(0.0)),
            claim(Largest(ours("links", "start_ms")), AtMost(20.0)),
            claim(Largest(ours("links", "stop_ms")), AtMost(20.0)),
            claim(Largest(ours("links", "volumes_differ")), AtMost(0.01)),
            claim(Smallest(ours("links", "connected")), AtLeast(1.0)),
        ],
        ..MUST
    },
    Item {
        id: "15",
        statement: "The same seed gives the same drive, another one another",
        threshold: "Same seed ⇒ identical event list and byte-identical exported traces",
        data: Data::None,
        claims: &[
            claim(Sum(ours("same-seed", "profiles_differ")), AtMost(0.0)),
            claim(Sum(ours("same-seed", "other_seed_same_profile")), AtMost(0.0)),
        ],
        ..MUST
    },
];
