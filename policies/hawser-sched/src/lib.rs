//! Packet schedulers, one file each.
//!
//! A scheduler answers one question of the core, again and again: *given these paths and this queue, which path
//! sends what next, or is it better to wait?* It sees copies of numbers and returns a small value; it can be tested
//! with a handful of [`PathView`](hawser_policy::PathView)s.
//!
//! | name | type | idea |
//! |---|---|---|
//! | `default`, `earliestarrival` | [`EarliestArrival`] | every byte where it arrives first; no path idle while work lasts |
//! | `blest` | [`Blest`] | waits where the slow path would exhaust the send window |
//! | `daps` | [`Daps`] | rounds of every path planned by the ratio of their delays |
//! | `dpsaf` | [`Dpsaf`] | later bytes on the slow path, corrected by what acknowledgements show |
//! | `dqn` | [`DqnScheduler`] | DQN-like: a network trained before chooses the path of each burst |
//! | `ecf` | [`Ecf`] | may wait for the fast path when that finishes the queue sooner |
//! | `edpf` | [`Edpf`] | where the packet arrives first, by rate, delay and what is in flight |
//! | `fixed-split` | [`FixedSplit`] | fixed shares; FTRL-WRR without its learner |
//! | `ftrl-wrr` | [`FtrlWrr`] | learns the shares of the paths from what they carry together |
//! | `late` | [`Late`] | later bytes on the slow path, by what the fast one will deliver with losses |
//! | `mams` | [`Mams`] | plans a cycle ahead, by what links are forecast to deliver |
//! | `minrtt` | [`MinRtt`] | lowest round-trip time that can send; never waits |
//! | `modes` | [`Modes`] | the default, low-latency, redundant or backup; by class, and changed live |
//! | `otias` | [`Otias`] | where the packet arrives first, by whole rounds of waiting |
//! | `peekaboo` | [`Peekaboo`] | learns when waiting for the fast path pays |
//! | `raven` | [`Raven`] | copies what the best path may deliver later than the second would |
//! | `redundant` | [`Redundant`] | everything everywhere, cancelled when one copy arrives |
//! | `roundrobin` | [`RoundRobin`] | in turns |
//! | `sedpf` | [`SedpfScheduler`] | where delivery in order is expected first, by mean and variance of the delay |
//! | `stms` | [`Stms`] | later bytes on the slower path, so that all arrive in order |
//! | `sttf` | [`Sttf`] | where the transfer time is shortest, with windows that grow |
//! | `wrr` | [`Wrr`] | in turns whose length is set by pacing |
//! | `xlink` | [`Xlink`] | re-injects what blocks the player, when its buffer runs low |
//!
//! [`Mmquic`] is a policy set: `mams`, and a receiver that reports what its links will carry. [`FourDMap`] is one for live
//! streams: frames are duplicated, discarded or not retransmitted, as a learner finds best. [`QcMab`] is one for layered video on
//! the move: the receiver learns where to attach its links, and which paths to protect. [`Leap`] is one that it is compared with:
//! rates by a cautious forecast of each path, and a code across paths. `Ride` is one for tiles of 360-degree video: a trained
//! agent chooses a path for each, or skips it. [`Sedpf`] is the scheduler of that name with its code over all paths.
//!
//! `dqn`, [`FourDMap`] and `Ride` come with what they learned, and are there with the feature `learned` (default) only. Without it
//! [`FourDMap::register_with`] and [`DqnScheduler::register_with`] take models of your own.
//!
//! `docs/schedulers.md` has a row for each, with parameters and sources.
//!
//! What is common to all: only active paths of the preferred status are used; a path without a round-trip sample is
//! tried with two datagrams, copied to the best known path, before it is compared (not by `roundrobin`, `wrr` and
//! `redundant`, which do not compare); ties go to the lower path id. All are deterministic; those that explore have a seed.

mod allowance;
mod arrival;
mod blest;
mod choose;
mod daps;
mod deliveries;
mod dispatch;
mod dpsaf;
mod dqn;
mod earliest_arrival;
mod ecf;
mod edpf;
mod fixed_split;
mod four_d_map;
mod ftrl_wrr;
mod guard;
mod late;
mod leap;
mod mams;
mod min_rtt;
mod mmquic;
mod modes;
mod otias;
mod peekaboo;
mod placement;
mod qc_mab;
mod raven;
mod redundant;
#[cfg(feature = "learned")]
mod ride;
mod round_robin;
mod sedpf;
mod stms;
mod sttf;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod wheel;
mod wrr;
mod xlink;

use hawser_policy::Registry;

pub use blest::{Blest, BlestParameters};
pub use daps::Daps;
pub use deliveries::outcomes;
pub use dispatch::Redirect;
pub use dpsaf::Dpsaf;
pub use dqn::{DqnChooser, DqnFull, DqnModel, DqnModelError, DqnParameters, DqnScheduler, DqnTraining};
pub use earliest_arrival::{EarliestArrival, EarliestArrivalParameters};
pub use ecf::Ecf;
pub use edpf::Edpf;
pub use fixed_split::FixedSplit;
pub use four_d_map::{
    FourDMap, FourDMapChoice, FourDMapFeatures, FourDMapFrameState, FourDMapMechanism, FourDMapModel,
    FourDMapModelError, FourDMapOutcome, FourDMapParameters, FourDMapPath, FourDMapPathState,
    FourDMapScheduler, FrameFeedback, FrameFeedbacks, four_d_map_shares,
};
pub use ftrl_wrr::{
    FtrlLearner, FtrlPacing, FtrlStepTime, FtrlWrr, FtrlWrrParameters, paced_rates, step_loss,
};
pub use guard::Guard;
pub use late::Late;
pub use leap::{Leap, LeapForecast, LeapParameters, LeapShare, leap_low_forecast, leap_parity};
pub use mams::{
    MAX_MAMS_POINTS, Mams, MamsBudget, MamsForecast, MamsOneWay, MamsParameters, MamsPath, MamsPlanner,
    MamsPlannerSettings, MamsPoint, MamsRun, MamsWindowModel,
};
pub use min_rtt::MinRtt;
pub use mmquic::Mmquic;
pub use modes::{MAX_MODE_CLASSES, Mode, Modes, ModesParameters};
pub use otias::Otias;
pub use peekaboo::{Peekaboo, PeekabooParameters};
pub use qc_mab::{
    PathDecision, PathReport, QcMab, QcMabArm, QcMabBandit, QcMabContext, QcMabDecision, QcMabEta, QcMabFec,
    QcMabKey, QcMabLearner, QcMabObservation, QcMabParameters, QcMabPoint, QcMabSample, qc_mab_block_failure,
    qc_mab_goodput, qc_mab_on_time, qc_mab_reward,
};
pub use raven::{Raven, RavenParameters};
pub use redundant::Redundant;
#[cfg(feature = "learned")]
pub use ride::{Ride, RideCounts, RideScheduler};
pub use round_robin::RoundRobin;
pub use sedpf::{Sedpf, SedpfParameters, SedpfProtection, SedpfScheduler, sedpf_source_symbols};
pub use stms::Stms;
pub use sttf::Sttf;
pub use wrr::{Wrr, WrrParameters};
pub use xlink::{Xlink, XlinkParameters};

/// The entry that stands for the scheduler to use when the user names none.
pub const DEFAULT: &str = "default";

/// Adds every scheduler of this crate under its name, and [`EarliestArrival`] also as [`DEFAULT`].
pub fn register(registry: &mut Registry) {
    registry.add_schedulers(EarliestArrival::info(), EarliestArrival::read);
    registry.add_scheduler_with(MinRtt::info(), |_, _| Box::new(MinRtt));
    registry.add_scheduler_with(RoundRobin::info(), |_, parameters| {
        Box::new(RoundRobin::with_quantum(parameters.integer("quantum")))
    });
    registry.add_scheduler_with(Wrr::info(), |_, parameters| Box::new(Wrr::read(parameters)));
    register_waiting(registry);
    register_placing(registry);
    register_copying(registry);
    registry.add_scheduler_with(FixedSplit::info(), |_, parameters| Box::new(FixedSplit::read(parameters)));
    registry.add_scheduler_with(FtrlWrr::info(), |init, parameters| {
        let learned = FtrlWrr::new(FtrlWrrParameters::read(parameters), init.seed);
        Guard::around(Box::new(learned), parameters)
    });
}

/// Adds the policy sets of this crate. They take controllers and acknowledgements from the registry, so those come first; a set
/// that does not find its parts is left out.
pub fn register_sets(registry: &mut Registry) {
    #[cfg(feature = "learned")]
    FourDMap::register(registry);
    Leap::register(registry);
    Mmquic::register(registry);
    QcMab::register(registry);
    #[cfg(feature = "learned")]
    Ride::register(registry);
    Sedpf::register(registry);
}

/// Those that may wait for the fast path.
fn register_waiting(registry: &mut Registry) {
    #[cfg(feature = "learned")]
    DqnScheduler::register(registry);
    registry.add_scheduler_with(Blest::info(), |_, parameters| Box::new(Blest::read(parameters)));
    registry
        .add_scheduler_with(Ecf::info(), |_, parameters| Box::new(Ecf::with_beta(parameters.number("beta"))));
    registry.add_scheduler_with(Peekaboo::info(), |init, parameters| {
        Guard::around(Box::new(Peekaboo::read(parameters, init.seed)), parameters)
    });
}

/// Those that put later bytes on slower paths.
fn register_placing(registry: &mut Registry) {
    registry.add_scheduler_with(Daps::info(), |_, _| Box::new(Daps));
    registry.add_scheduler_with(Dpsaf::info(), |_, parameters| {
        Box::new(Dpsaf::with_gain(parameters.number("gain")))
    });
    registry.add_scheduler_with(Edpf::info(), |_, _| Box::new(Edpf));
    registry.add_scheduler_with(Late::info(), |_, parameters| Box::new(Late::read(parameters)));
    registry.add_scheduler_with(Mams::info(), |_, parameters| {
        Box::new(Mams::new(MamsParameters::read(parameters)))
    });
    registry.add_scheduler_with(Otias::info(), |_, _| Box::new(Otias));
    registry.add_scheduler_with(SedpfScheduler::info(), |_, _| Box::new(SedpfScheduler::default()));
    registry.add_scheduler_with(Stms::info(), |_, parameters| {
        Box::new(Stms::with_gap_factor(parameters.number("gap_factor")))
    });
    registry.add_scheduler_with(Sttf::info(), |_, _| Box::new(Sttf));
}

/// Those that send data more than once.
fn register_copying(registry: &mut Registry) {
    registry.add_schedulers(Modes::info(), Modes::read);
    registry.add_scheduler_with(Raven::info(), |_, parameters| Box::new(Raven::read(parameters)));
    registry.add_scheduler_with(Redundant::info(), |_, parameters| {
        Box::new(Redundant::with_copies(usize::try_from(parameters.integer("copies")).unwrap_or(usize::MAX)))
    });
    registry.add_scheduler_with(Xlink::info(), |_, parameters| Box::new(Xlink::read(parameters)));
}
