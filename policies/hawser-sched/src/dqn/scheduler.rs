//! One decision for each burst, and what leaves until the next one.

use hawser_learn::{Mlp, Random};
use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, PathId, PathView, Scheduler, SendView, Tag, Time,
};

use super::model::DqnModel;
use super::state::{BURST, History, PATHS};
use super::training::{DqnTraining, Trainee};
use super::{DqnFull, DqnParameters};
use crate::choose::{explore, fastest_sendable};
use crate::placement::{datagram, earlier};

/// DQN-like: deep Q-learning for multipath scheduling, after ReLeS (Zhang, Li, Gao, Wang and Ye: INFOCOM 2019), as 4D-MAP
/// (Song, Han and Su, JCST 2024) compares itself with under the name DQN\*: a reconstruction of its authors, whose details are
/// those of our specification. Results are not comparable with the original.
///
/// Every 10 ms a network of 64 and 64 neurons says what each of two paths is worth for the packets of the next 10 ms, by the last
/// four samples of their round-trip times, windows, bytes in flight, losses and delivery rates; all packets leave on the better
/// one. While its window is full they wait, and while only the pacer holds it back, which the paper's stack does not have, the other
/// path sends. The network was trained before, in simulations of links that no list judges by, and does not learn any more.
///
/// It was trained for two paths: with one, with three or more, or if the network gives no numbers, the fastest path that can send
/// takes all, as with [`MinRtt`](crate::MinRtt).
#[derive(Debug)]
pub struct DqnScheduler {
    parameters: DqnParameters,
    network: Mlp,
    random: Random,
    history: History,
    burst: Option<Burst>,
    trainee: Option<Trainee>,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Burst {
    paths: [PathId; PATHS],
    /// The position of the chosen one; `None` if the network gave no numbers.
    chosen: Option<usize>,
    until: Time,
}

impl DqnScheduler {
    /// With a trained network, and the seed of random choices.
    pub fn new(parameters: DqnParameters, model: &DqnModel, seed: u64) -> Self {
        let (network, random) = (model.network(), Random::new(seed));
        DqnScheduler { parameters, network, random, history: History::default(), burst: None, trainee: None }
    }

    /// In training the chooser decides, and learns from what follows.
    #[must_use]
    pub fn with_training(mut self, training: DqnTraining) -> Self {
        self.trainee = Some(Trainee::new(training));
        self
    }

    /// The burst that is running, or a new one.
    fn burst(&mut self, view: &SendView<'_>, paths: [&PathView; PATHS]) -> Burst {
        let ids = paths.map(|path| path.id);
        if let Some(burst) = self.burst.filter(|burst| burst.paths == ids && view.now < burst.until) {
            return burst;
        }
        self.history.sample(paths);
        let state = self.history.state();
        let chosen = if let Some(trainee) = &mut self.trainee {
            Some(trainee.decide(view, state))
        } else if self.parameters.random {
            Some((self.random.fraction() * PATHS as f64) as usize)
        } else {
            let mut values = [0.0; PATHS];
            self.network.forward(state, &mut values);
            best(values)
        };
        let burst = Burst { paths: ids, chosen, until: view.now + BURST };
        self.burst = Some(burst);
        burst
    }
}

/// The position of the larger value, the first of equals; `None` unless all are finite.
fn best(values: [f32; PATHS]) -> Option<usize> {
    let [first, second] = values;
    (first.is_finite() && second.is_finite()).then_some(usize::from(second > first))
}

/// The two preferred paths in order of their ids, if there are no more and both were measured.
fn pair<'a>(view: &SendView<'a>) -> Option<[&'a PathView; PATHS]> {
    let mut preferred = view.preferred();
    let (one, other) = (preferred.next()?, preferred.next()?);
    if preferred.next().is_some() || !one.has_rtt_sample || !other.has_rtt_sample {
        return None;
    }
    Some(if one.id < other.id { [one, other] } else { [other, one] })
}

impl Scheduler for DqnScheduler {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let tagged = |path: &PathView, tag| {
            Decision::Send(Assignment::next(path.id).with(|assignment| assignment.tag = tag))
        };
        let Some(paths) = pair(view) else {
            // What follows is not the work of the last decision.
            self.burst = None;
            if let Some(trainee) = &mut self.trainee {
                trainee.interrupt();
            }
            return fastest_sendable(view).map_or(Decision::Wait(None), |path| tagged(path, Tag(0)));
        };
        let burst = self.burst(view, paths);
        let tag = self.trainee.as_ref().map_or(Tag(0), Trainee::tag);
        let from = |path: &PathView| tagged(path, tag);
        let Some(at) = burst.chosen.filter(|at| *at < PATHS) else {
            return fastest_sendable(view).map_or(Decision::Wait(Some(burst.until)), from);
        };
        let (chosen, other) = (paths[at], paths[1 - at]);
        if chosen.sendable() > 0 {
            return from(chosen);
        }
        let is_full = chosen.window_left() < datagram(chosen);
        let may_leave = !is_full || self.parameters.full == DqnFull::Other;
        if may_leave && other.sendable() > 0 {
            return from(other);
        }
        Decision::Wait(earlier(chosen.next_release, Some(burst.until)))
    }

    fn interests(&self) -> Interests {
        if self.trainee.is_some() {
            Interests::SENT | Interests::ACKED | Interests::LOST
        } else {
            Interests::NONE
        }
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Some(trainee) = &mut self.trainee {
            trainee.on_event(event);
        }
    }
}
