//! What the list of X-Fi and X-Perf (`lab/reproductions/xfi.toml`; `docs/xfi.md`) computes and watches: the generator of encounters,
//! attachment, the tool; sessions over the generator's links on the real transport, and WiFi that comes and goes next to a cellular
//! link, in the simulator and on real sockets.

mod addresses;
mod attachment;
mod beside;
mod calibration;
mod generator;
mod session;
mod sockets;
mod tool;
mod transport;

use super::verify::Program;

pub use calibration::{Calibration, Sessions};

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "xfi-drives",
        generator::drives,
        &[
            "{paris|bologna|los-angeles|macao|macao-rate17}.{l2|ip|transport}.{duration_s|hole_s|hole_mean_over_median}",
            "{paris|bologna|los-angeles|macao|macao-rate17}.{high|low}.{duration_s|deviation_s}",
            "{paris|bologna|los-angeles|macao|macao-rate17}.{associations|per_hour|first_ack_s|first_ack_mean_over_median}",
            "{paris|bologna|los-angeles|macao|macao-rate17}.{setup_share|setup_ratio|association_p90_s|address_p90_s}",
        ],
    ),
    Program::new(
        "xfi-correlations",
        generator::correlations,
        &["{bologna|macao}.{signal|speed}_{duration|goodput}_r"],
    ),
    Program::new("xfi-same-seed", generator::same_seed, &["profiles_differ", "other_seed_same_profile"]),
    Program::new(
        "xfi-clients",
        attachment::clients,
        &[
            "{xfi|xfi-resuming|stock|stock-without-probes}.{to_address_median_s|to_address_p90_s|attached_share}",
            "{xfi|xfi-resuming|stock|stock-without-probes}.{scan|authenticate|associate|eap|handshake|dhcp|probe}_median_s",
            "median_gap_s",
            "gap_by_probes",
            "usable_over_stock",
        ],
    ),
    Program::new(
        "xfi-phases",
        attachment::phases,
        &[
            "{paris|bologna|los-angeles|macao|macao-rate17}.{association|dhcp}_{median_s|p90_s|mean_over_median}",
        ],
    ),
    Program::new(
        "xfi-addresses",
        addresses::keeping,
        &["{free|fastweb|emiliawifi|almawifi|spectrum|cablewifi|eduroam|ctm}.{changes|kept_s}"],
    ),
    Program::new(
        "xfi-city",
        transport::city,
        &[
            "sessions",
            "gb_per_hour",
            "{up|down}_mean_{mb|mbps}",
            "flows",
            "{rtt_varies|loses|throughput_varies}_share",
        ],
    ),
    Program::new("xfi-bands", transport::bands, &["{up|down}_{high|low}_mbps", "{up|down}_high_over_low"]),
    Program::new(
        "xfi-controllers",
        transport::controllers,
        &[
            "{bbr|cubic|bbr2plus|bbr_of_eight|cubic_of_eight}_mbps",
            "bbr_over_cubic",
            "eight_over_one",
            "bbr2plus_over_bbr",
        ],
    ),
    Program::new(
        "xfi-arrivals",
        beside::arrivals,
        &[
            "arrivals",
            "used_share_{least|mean}",
            "departures",
            "longest_stall_{with_edge_ms|ms|pto|within_3_s_ms|within_3_s_pto|elsewhere_ms}",
            "new_handshakes",
        ],
    )
    .with_outcome(),
    Program::new(
        "xfi-departures",
        beside::departures,
        &[
            "{macao|bologna}.departures",
            "{macao|bologna}.longest_stall_{with_edge_ms|ms|pto|within_3_s_ms|within_3_s_pto|elsewhere_ms}",
            "{macao|bologna}.new_handshakes",
        ],
    ),
    Program::new(
        "xfi-modes",
        beside::modes,
        &["{macao|bologna}.{restart|one_connection|multipath|cellular}_mb"],
    ),
    Program::new(
        "xfi-sockets",
        sockets::beside,
        &["arrivals", "used_share_{mean|least}", "longest_stall_{ms|pto}", "least_probe_timeout_ms"],
    ),
    Program::new("xfi-draws", tool::draws, &["chi_square_over_critical"]),
    Program::new(
        "xfi-links",
        tool::links,
        &[
            "associations_{without_record|twice}",
            "cut_by_the_kill",
            "not_uploaded",
            "addresses",
            "{start|stop}_ms",
            "volumes_differ",
            "connected",
        ],
    ),
];

#[cfg(test)]
mod tests;
