//! Who learns, and what was played.

use hawser_learn::{GradientDescent, IntervalFtrl, MAX_SHARES, Play, Random, SimplexFtrl, SimplexPlay};

use super::parameters::{FtrlLearner, FtrlWrrParameters};

/// Step size and radius of gradient descent, for which the thesis gives none.
const DESCENT_STEP: f64 = 0.05;
const DESCENT_RADIUS: f64 = 0.1;

/// Over three and more paths directions are many, and losses few: exploration is kept closer to the centre.
const SIMPLEX_RADIUS: f64 = 0.5;

#[derive(Clone, Debug)]
pub(super) enum Learner {
    Interval(IntervalFtrl),
    Descent(GradientDescent),
    Simplex(Box<SimplexFtrl>),
}

/// The shares of a step.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // Two are kept at any time, and nothing is allocated for them.
pub(super) enum Played {
    Interval(Play),
    Descent { center: f64, point: f64 },
    Simplex(SimplexPlay),
}

impl Played {
    /// The share of the `at`-th path.
    pub(super) fn share(&self, at: usize) -> f64 {
        let of_two = |first: f64| if at == 0 { first } else { 1.0 - first };
        match self {
            Played::Interval(play) => of_two(play.point),
            Played::Descent { point, .. } => of_two(*point),
            Played::Simplex(play) => play.share(at),
        }
    }
}

impl Learner {
    /// For paths with these rates; more paths than there can be shares are left out by the caller.
    pub(super) fn new(parameters: &FtrlWrrParameters, rates: impl Iterator<Item = f64>) -> Self {
        let mut known = [1.0; MAX_SHARES];
        let mut count = 0;
        for (place, rate) in known.iter_mut().zip(rates) {
            *place = rate.max(1.0);
            count += 1;
        }
        match (count, parameters.learner) {
            (3.., _) => Learner::Simplex(Box::new(SimplexFtrl::new(&known[..count], SIMPLEX_RADIUS))),
            (_, FtrlLearner::Ftrl) => Learner::Interval(IntervalFtrl::new(parameters.accumulation)),
            (_, FtrlLearner::GradientDescent) => {
                Learner::Descent(GradientDescent::new(DESCENT_STEP, DESCENT_RADIUS))
            }
        }
    }

    /// The shares of step `number`. Over two paths the side alternates in pairs, -, +, +, -, -, +, +, ...: a constant part
    /// of the loss cancels out.
    pub(super) fn play(&self, number: u64, random: &mut Random) -> Played {
        let above = (number / 2) % 2 == 1;
        match self {
            Learner::Interval(learner) => Played::Interval(learner.play(above)),
            Learner::Descent(learner) => {
                Played::Descent { center: learner.center(), point: learner.play(above) }
            }
            Learner::Simplex(learner) => {
                let mut direction = [0.0; MAX_SHARES];
                random.direction(&mut direction[..learner.shares() - 1]);
                Played::Simplex(learner.play(&direction))
            }
        }
    }

    pub(super) fn update(&mut self, played: &Played, loss: f64) {
        match (self, played) {
            (Learner::Interval(learner), Played::Interval(play)) => learner.update(play, loss),
            (Learner::Descent(learner), Played::Descent { center, point }) => {
                learner.update_from(*center, *point, loss);
            }
            (Learner::Simplex(learner), Played::Simplex(play)) => learner.update(play, loss),
            _ => {}
        }
    }

    /// The paths changed: step size and radius are reset.
    pub(super) fn restart(&mut self) {
        match self {
            Learner::Interval(learner) => learner.restart(),
            Learner::Descent(_) => {}
            Learner::Simplex(learner) => learner.restart(),
        }
    }

    /// The larger path became the smaller one: back to the middle. False if there is no middle.
    pub(super) fn forget(&mut self) -> bool {
        match self {
            Learner::Interval(learner) => learner.forget(),
            Learner::Descent(learner) => learner.reset(),
            Learner::Simplex(_) => return false,
        }
        true
    }

    /// Where it stands: the share of the first path.
    pub(super) fn center(&self) -> f64 {
        match self {
            Learner::Interval(learner) => learner.center(),
            Learner::Descent(learner) => learner.center(),
            Learner::Simplex(learner) => learner.center(0),
        }
    }
}
