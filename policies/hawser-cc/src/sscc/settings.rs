//! Parameters of the policy set.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::units::UnitSettings;
use super::{Candidate, DetectorSettings, RewardForm, detection};

const SECTION: &str = "F. Yang 2022, section 5.3";
const ANTELOPE: &str = "Antelope (Zhou and others, INFOCOM 2021)";
const OURS: &str = "Hawser";

/// Who chooses the controller of a path that shares no bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    /// The models.
    Model,
    /// Nobody: the controller that the path began with stays.
    Rule,
    /// BBR and CUBIC take turns, which measures what a swap costs.
    Alternate(Duration),
    /// Chance, which shows training what every controller meets, and what models must be better than.
    Random,
}

/// What a successor is told of its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migration {
    /// Estimates and window.
    Carry,
    /// What a kernel keeps in the socket: window and threshold.
    LinuxLike,
}

/// All parameters of a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) detector: DetectorSettings,
    pub(super) coupling: bool,
    pub(super) single_coupled_set: bool,
    pub(super) initial: Candidate,
    pub(super) selection: Selection,
    pub(super) confirmations: u64,
    pub(super) dwell: f64,
    /// Between two choices of the models: nothing otherwise.
    pub(super) rest: Duration,
    /// For how long nothing is chosen for a path that has left a group.
    pub(super) probation: Duration,
    pub(super) migration: Migration,
    pub(super) units: UnitSettings,
    pub(super) reward: RewardForm,
    pub(super) alpha: f64,
    pub(super) epsilon: f64,
}

impl Settings {
    /// What a registry tells of the set. Without models there is no selection by them.
    pub(super) fn info(has_models: bool) -> PolicyInfo {
        let summary = if has_models {
            "paths that share a bottleneck are coupled; models may choose the controllers of the others"
        } else {
            "paths that share a bottleneck are coupled; others keep their controller: there are no models to choose by"
        };
        let info = PolicyInfo::new(super::NAME, summary)
            .source("F. Yang, dissertation, Sorbonne/UCAS 2022, chapter 5");
        let detection =
            detection::parameters(["intervals", "packets"], ["recent", "all"], Duration::from_secs(10));
        let all = [detection, coupling(), selection(has_models), units(), files()];
        all.into_iter().flatten().fold(info, PolicyInfo::parameter)
    }

    pub(super) fn read(parameters: &Parameters) -> Settings {
        let detector = detection::read(parameters);
        let selection = match parameters.choice("selection") {
            "model" => Selection::Model,
            "alternate" => Selection::Alternate(parameters.duration("alternate_every")),
            "random" => Selection::Random,
            _ => Selection::Rule,
        };
        // Turns have their own length, and a rule changes for groups alone.
        let of_models = |name| match selection {
            Selection::Model => parameters.duration(name),
            _ => Duration::ZERO,
        };
        Settings {
            detector,
            coupling: parameters.flag("coupling"),
            single_coupled_set: parameters.flag("single_coupled_set"),
            initial: Candidate::named(parameters.choice("initial")).unwrap_or(Candidate::Cubic),
            selection,
            confirmations: parameters.integer("confirmations"),
            dwell: parameters.number("dwell"),
            rest: of_models("rest"),
            probation: of_models("probation"),
            migration: match parameters.choice("migration") {
                "linux-like" => Migration::LinuxLike,
                _ => Migration::Carry,
            },
            units: UnitSettings {
                acks: parameters.integer("unit_acks"),
                round_trips: parameters.number("unit_round_trips"),
                memory: parameters.duration("memory"),
            },
            reward: match parameters.choice("reward") {
                "continuous" => RewardForm::Continuous,
                _ => RewardForm::Thesis,
            },
            alpha: parameters.number("alpha"),
            epsilon: parameters.number("epsilon"),
        }
    }
}

/// What is done about paths that share a bottleneck.
/// Files that the program reads and writes for the set: [`Models`](super::Models), a memory of
/// [`PrefixMemory`](super::PrefixMemory) behind a mutex, and a [`TraceSink`](hawser_policy::TraceSink).
fn files() -> Vec<ParameterInfo> {
    vec![
        ParameterInfo::file("models")
            .meaning(
                "models to choose by, in place of those that come with it; a file, or a folder of training",
            )
            .source(OURS),
        ParameterInfo::file("prefixes")
            .meaning("keeps which controller worked for which network; made if it is not there")
            .source(OURS),
        ParameterInfo::file("log")
            .meaning("what is decided is written to it: groups, controllers, Data Units, as JSON lines")
            .source(OURS),
    ]
}

fn coupling() -> Vec<ParameterInfo> {
    vec![
        ParameterInfo::flag("coupling", true)
            .meaning("whether paths that share a bottleneck are coupled")
            .source(SECTION),
        ParameterInfo::flag("single_coupled_set", false)
            .meaning("whether the paths of all bottlenecks are coupled with each other")
            .source(SECTION),
    ]
}

fn selection(has_models: bool) -> Vec<ParameterInfo> {
    // The first word is the default.
    let words: &[&str] =
        if has_models { &["rule", "model", "alternate", "random"] } else { &["rule", "alternate", "random"] };
    let mut initial = vec![Candidate::Cubic.name()];
    initial
        .extend(Candidate::ALL.into_iter().filter(|other| *other != Candidate::Cubic).map(Candidate::name));
    let seconds = Duration::from_secs;
    vec![
        ParameterInfo::choice("initial", initial)
            .meaning("controller of a path to a prefix of which nothing is known")
            .source(SECTION),
        ParameterInfo::choice("selection", words.iter().copied())
            .meaning(
                "the first controller stays; the models choose; BBR and CUBIC take turns; chance chooses",
            )
            .source(SECTION),
        ParameterInfo::duration("alternate_every", Duration::from_millis(100)..=seconds(3_600), seconds(2))
            .meaning("how long a turn is")
            .source("Hawser"),
        ParameterInfo::integer("confirmations", 1..=20, 2)
            .meaning("units in a row that must want the same controller before it is changed")
            .source(ANTELOPE),
        ParameterInfo::number("dwell", 0.0..=100.0, 2.0)
            .unit("round trips")
            .meaning("between two changes of a path at least")
            .source(OURS),
        ParameterInfo::duration("rest", Duration::ZERO..=seconds(3_600), seconds(2))
            .meaning("between two changes of a path at least, where the models choose; the first one need not wait")
            .source(OURS),
        ParameterInfo::duration("probation", Duration::ZERO..=seconds(3_600), seconds(20))
            .meaning("how long a path that has left a group keeps OLIA, by then alone, before the models choose for it, twice as long each time that it was found again (32 times at most); 0s as in the thesis")
            .source(OURS),
        ParameterInfo::choice("migration", ["carry", "linux-like"])
            .meaning("what a successor takes over: estimates and window, or what a kernel's socket keeps")
            .source("Hawser"),
        ParameterInfo::number("alpha", 0.0..=1.0, 0.9)
            .meaning("what remains of a prefix's weights with each unit")
            .source(ANTELOPE),
        ParameterInfo::number("epsilon", 0.0..=1.0, 0.0)
            .meaning("share of units that choose at random, to collect what models are trained with")
            .source(OURS),
    ]
}

fn units() -> Vec<ParameterInfo> {
    vec![
        ParameterInfo::integer("unit_acks", 1..=1_000, 20)
            .meaning("acknowledgements in a Data Unit at least")
            .source(ANTELOPE),
        ParameterInfo::number("unit_round_trips", 0.0..=20.0, 1.0)
            .unit("round trips")
            .meaning("length of a Data Unit at least; 0 as in the thesis")
            .source(OURS),
        ParameterInfo::duration(
            "memory",
            Duration::ZERO..=Duration::from_secs(3_600),
            Duration::from_secs(60),
        )
        .meaning("how long least delay and largest rate are remembered; 0s: always, as in the thesis")
        .source(OURS),
        ParameterInfo::choice("reward", ["thesis", "continuous"])
            .meaning("how delay counts beyond 1.25 of the least")
            .source("F. Yang 2022, equation 5.9; Orca"),
    ]
}
