use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

const SOURCE: &str = "Gilad and others, CoNEXT 2020";
const VIVACE: &str = "Dong and others, NSDI 2018 (PCC Vivace)";
const ALLEGRO: &str = "Dong and others, NSDI 2015 (PCC Allegro)";

/// What can be set of MPCC. Rates are in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    /// Power of the rate in the utility.
    pub(super) exponent: f64,
    /// What a rising round-trip time costs; zero in the loss variant.
    pub(super) latency: f64,
    /// What a share of lost bytes costs.
    pub(super) loss: f64,
    /// A smaller slope of the round-trip time is noise.
    pub(super) least_slope: f64,
    /// How far from the rate the two of a pair are, as a share.
    pub(super) step: f64,
    /// Whether shares are of the rate of all paths together.
    pub(super) of_total: bool,
    /// Mbit/s per unit of the gradient.
    pub(super) theta: f64,
    /// Largest change, as a share, and by how much that grows each time it is reached.
    pub(super) bound: f64,
    pub(super) bound_step: f64,
    /// Length of a monitor interval in round trips, and in packets at least.
    pub(super) round_trips: f64,
    pub(super) packets: u64,
}

impl Settings {
    pub(super) fn info() -> PolicyInfo {
        let number = |name: &str, most, default, meaning: &str, source: &str| {
            ParameterInfo::number(name, 0.0..=most, default).meaning(meaning).source(source)
        };
        let share = |name: &str, default, meaning: &str| {
            ParameterInfo::number(name, 0.001..=1.0, default).meaning(meaning).source(VIVACE)
        };
        let all = [
            ParameterInfo::choice("variant", ["latency", "loss"])
                .meaning("whether a rising round-trip time lowers the utility, or losses alone")
                .source(SOURCE),
            ParameterInfo::number("exponent", 0.1..=0.99, 0.9)
                .meaning("power of the rates of all paths in the utility")
                .source(VIVACE),
            number(
                "latency_weight",
                1e5,
                900.0,
                "price of a rising round-trip time (variant=latency)",
                VIVACE,
            ),
            number("loss_weight", 1e3, 11.35, "price of a share of lost bytes", VIVACE),
            number("least_slope", 1.0, 0.01, "slope of the round-trip time below which it is noise", VIVACE),
            share("step", 0.05, "distance of a pair's rates from the rate between them"),
            ParameterInfo::choice("step_of", ["total", "own"])
                .meaning("of what step and bounds are shares: the rate of all paths together, or the path's")
                .source(SOURCE),
            ParameterInfo::number("theta", 0.01..=100.0, 1.0)
                .unit("Mbit/s")
                .meaning("change of the rate per unit of the utility's gradient")
                .source(VIVACE),
            share("bound", 0.05, "largest change of the rate at once"),
            share("bound_step", 0.1, "by how much the bound grows each time it is reached"),
            ParameterInfo::number("interval", 0.5..=10.0, 1.0)
                .unit("round trips")
                .meaning("length of a monitor interval")
                .source(VIVACE),
            ParameterInfo::integer("interval_packets", 2..=1_000, 10)
                .unit("packets")
                .meaning("in a monitor interval at least, so that a share of losses can be told")
                .source(ALLEGRO),
        ];
        let info =
            PolicyInfo::new("mpcc", "coupled: learns each path's rate from what small changes of it bring");
        all.into_iter().fold(info.source(SOURCE), PolicyInfo::parameter)
    }

    pub(super) fn read(parameters: &Parameters) -> Settings {
        let number = |name| parameters.number(name);
        let by_latency = parameters.choice("variant") == "latency";
        Settings {
            exponent: number("exponent"),
            latency: if by_latency { number("latency_weight") } else { 0.0 },
            loss: number("loss_weight"),
            least_slope: number("least_slope"),
            step: number("step"),
            of_total: parameters.choice("step_of") == "total",
            theta: number("theta"),
            bound: number("bound"),
            bound_step: number("bound_step"),
            round_trips: number("interval"),
            packets: parameters.integer("interval_packets"),
        }
    }

    /// Length of a monitor interval.
    pub(super) fn interval(&self, smoothed_rtt: Duration) -> Duration {
        Duration::try_from_secs_f64(smoothed_rtt.as_secs_f64() * self.round_trips).unwrap_or(Duration::MAX)
    }
}
