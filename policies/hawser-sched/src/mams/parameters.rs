//! What can be set of MAMS.

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::Mams;
use super::plan::{MamsBudget, MamsPlannerSettings};
use super::window::MamsWindowModel;

/// Where one-way delays are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MamsOneWay {
    /// The round-trip time without half of the fastest path's, since that is where acknowledgements return.
    #[default]
    Return,
    /// Half of the round-trip time.
    Half,
}

/// What can be set of [`Mams`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MamsParameters {
    /// Whether paths that are not needed are left out.
    pub selection: bool,
    /// The budget of that.
    pub select_budget: MamsBudget,
    /// Whether the capacity of links bounds the window.
    pub capacity: bool,
    /// Whether forecasts of loss are believed; else the loss rate is the measured one.
    pub loss_forecast: bool,
    /// Whether reports of the peer are believed.
    pub reports: bool,
    /// Whether what is in flight at the beginning of a cycle counts.
    pub in_flight: bool,
    /// How windows change.
    pub model: MamsWindowModel,
    /// Where one-way delays are taken from.
    pub one_way: MamsOneWay,
    /// Branches less likely than this are cut off.
    pub least_likelihood: f64,
}

impl Default for MamsParameters {
    fn default() -> Self {
        MamsParameters {
            selection: true,
            select_budget: MamsBudget::OneWay,
            capacity: true,
            loss_forecast: true,
            reports: true,
            in_flight: true,
            model: MamsWindowModel::NewReno,
            one_way: MamsOneWay::Return,
            least_likelihood: 1e-4,
        }
    }
}

impl MamsParameters {
    pub(crate) fn read(parameters: &Parameters) -> Self {
        MamsParameters {
            selection: parameters.flag("selection"),
            select_budget: match parameters.choice("select_budget") {
                "cycle" => MamsBudget::Cycle,
                _ => MamsBudget::OneWay,
            },
            capacity: parameters.flag("capacity"),
            loss_forecast: parameters.flag("loss_forecast"),
            reports: parameters.flag("reports"),
            in_flight: parameters.flag("in_flight"),
            model: match parameters.choice("model") {
                "tcp" => MamsWindowModel::Tcp,
                "steady" => MamsWindowModel::Steady,
                _ => MamsWindowModel::NewReno,
            },
            one_way: match parameters.choice("one_way") {
                "half" => MamsOneWay::Half,
                _ => MamsOneWay::Return,
            },
            least_likelihood: parameters.number("least_likelihood"),
        }
    }

    pub(super) fn planner(&self) -> MamsPlannerSettings {
        MamsPlannerSettings {
            selection: self.selection,
            budget: self.select_budget,
            model: self.model,
            least_likelihood: self.least_likelihood,
        }
    }
}

pub(super) fn info() -> PolicyInfo {
    let paper = "Yang and others, IEEE/ACM ToN 2024";
    PolicyInfo::new(Mams::NAME, "plans a cycle of packets ahead, by what links are forecast to deliver")
        .source(paper)
        .parameter(
            ParameterInfo::flag("selection", true)
                .meaning("leave out paths that what is queued does not need; off with reports=off: MMQUIC-v1")
                .source("algorithm 1"),
        )
        .parameter(
            ParameterInfo::choice("select_budget", ["one-way", "cycle"])
                .meaning("time in which the selected paths must deliver what is queued")
                .source("algorithm 1; equation 5"),
        )
        .parameter(
            ParameterInfo::flag("capacity", true)
                .meaning("the capacity of links bounds windows")
                .source("equation 17"),
        )
        .parameter(
            ParameterInfo::flag("loss_forecast", true)
                .meaning("believe forecasts of loss; off: the measured rate")
                .source("equation 8"),
        )
        .parameter(
            ParameterInfo::flag("reports", true)
                .meaning("believe what the peer reports of its links")
                .source("section IV"),
        )
        .parameter(
            ParameterInfo::flag("in_flight", true)
                .meaning("what is in flight leaves its place as acknowledgements come in; off: the window leaves at once")
                .source("Hawser; off in the paper"),
        )
        .parameter(
            ParameterInfo::choice("model", ["newreno", "tcp", "steady"])
                .meaning("how the controller's window changes: RFC 9002, TCP, or not within a cycle")
                .source("section V; Padhye and others 1998"),
        )
        .parameter(
            ParameterInfo::choice("one_way", ["return", "half"])
                .meaning("round-trip time less half of the fastest path's, where acknowledgements return; or half of it")
                .source("Hawser; half in the paper"),
        )
        .parameter(
            ParameterInfo::number("least_likelihood", 0.0..=0.1, 1e-4)
                .meaning("branches of the model less likely than this are cut off"),
        )
}
