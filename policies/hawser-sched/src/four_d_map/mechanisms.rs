//! What may be done for a frame, and who decides about it (4D-MAP, sections 3.1 and 3.2).

use hawser_learn::{LinUcb, LinUcbArm, Random};
use hawser_policy::Figures;

use super::features::{Context, FourDMapFeatures};
use super::parameters::FourDMapParameters;
use super::reward::RewardScale;

/// What is done for a frame, over Dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FourDMapMechanism {
    /// Nothing.
    #[default]
    Normal,
    /// A key frame goes over the path that loses least, with copies on the others.
    Duplicate,
    /// The body of a delta frame is not sent.
    Discard,
    /// What is lost of the body of a delta frame is not sent again.
    Decompensate,
}

use FourDMapMechanism::{Decompensate, Discard, Duplicate, Normal};

impl FourDMapMechanism {
    /// All, in the order of the arms of a learner.
    pub const ALL: [FourDMapMechanism; 4] = [Normal, Duplicate, Discard, Decompensate];

    /// Of equals the first is taken.
    const PREFERENCE: [FourDMapMechanism; 4] = [Normal, Decompensate, Duplicate, Discard];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Normal => "normal",
            Duplicate => "duplicate",
            Discard => "discard",
            Decompensate => "decompensate",
        }
    }

    /// Its arm.
    pub fn arm(self) -> usize {
        self as usize
    }
}

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FourDMapChoice {
    /// The learner.
    #[default]
    Learned,
    /// Any of those that make sense, all equally likely: for pre-learning.
    Random,
    /// Key frames are duplicated while a path loses much, as the authors' code does it without a learner.
    Threshold,
    /// Always the same one, where it makes sense.
    Fixed(FourDMapMechanism),
}

/// Mechanisms that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed([bool; 4]);

impl Allowed {
    /// Those that are no mere name for [`Normal`]: for a key frame Duplicate if there is another path, for a delta frame
    /// Discard and Decompensate if the receiver takes gaps.
    pub(super) fn of(is_key: bool, has_alternate: bool, may_have_gaps: bool) -> Self {
        let gaps = !is_key && may_have_gaps;
        Allowed([true, is_key && has_alternate, gaps, gaps])
    }

    /// Of these, those that deliver the whole frame.
    pub(super) fn whole(self) -> Self {
        let Allowed([normal, duplicate, ..]) = self;
        Allowed([normal, duplicate, false, false])
    }

    /// All: the paper masks nothing.
    pub(super) const ALL: Allowed = Allowed([true; 4]);

    /// Of these, those that are left when only this one may be chosen besides [`Normal`]; all if it is `None`.
    pub(super) fn beside_normal(self, only: Option<FourDMapMechanism>) -> Self {
        let Some(only) = only else { return self };
        let is_left = |mechanism| self.contains(mechanism) && [Normal, only].contains(&mechanism);
        Allowed(FourDMapMechanism::ALL.map(is_left))
    }

    fn contains(self, mechanism: FourDMapMechanism) -> bool {
        self.0[mechanism.arm()]
    }

    fn iter(self) -> impl Iterator<Item = FourDMapMechanism> + Clone {
        FourDMapMechanism::PREFERENCE.into_iter().filter(move |mechanism| self.contains(*mechanism))
    }
}

/// What was learned before: one model for each of [`FourDMapMechanism::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub struct FourDMapModel {
    /// The features that they are over.
    pub features: FourDMapFeatures,
    /// The number of paths that these tell of.
    pub paths: usize,
    /// The models of the arms.
    pub arms: [LinUcbArm; 4],
}

/// Decides, and learns from rewards.
#[derive(Debug)]
pub(super) struct Learner {
    choice: FourDMapChoice,
    only: Option<FourDMapMechanism>,
    features: FourDMapFeatures,
    paths: usize,
    bandit: LinUcb,
    random: Random,
    scale: RewardScale,
    /// How often each arm was decided on, and the sum of its scaled rewards and their number.
    told: [Told; 4],
}

/// What came of an arm, for those who look.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    decisions: u64,
    rewards: u64,
    sum: f64,
}

impl Learner {
    /// Starts with `model` if that is wanted and fits.
    pub(super) fn new(parameters: &FourDMapParameters, model: Option<&FourDMapModel>, seed: u64) -> Self {
        let FourDMapParameters { features, paths, .. } = *parameters;
        let fresh = LinUcb::new(4, features.count(paths), parameters.alpha)
            .with_forgetting(parameters.memory.clamp(1e-3, 1.0));
        let mut bandit = fresh.clone();
        let model = model.filter(|_| parameters.prelearned);
        let fits = model.is_none_or(|model| {
            let mut arms = model.arms.iter().enumerate();
            (model.features, model.paths) == (features, paths)
                && arms.all(|(arm, learned)| bandit.load(arm, learned))
        });
        Learner {
            choice: parameters.mechanism,
            only: parameters.only,
            features,
            paths,
            bandit: if fits { bandit } else { fresh },
            random: Random::new(seed),
            scale: RewardScale::default(),
            told: [Told::default(); 4],
        }
    }

    /// `is_lossy`: a path loses more than the switch of [`FourDMapChoice::Threshold`].
    pub(super) fn decide(
        &mut self,
        allowed: Allowed,
        context: &Context,
        is_lossy: bool,
    ) -> FourDMapMechanism {
        let allowed = allowed.beside_normal(self.only);
        let decision = match self.choice {
            FourDMapChoice::Learned => self.best(allowed, context),
            FourDMapChoice::Random => {
                let count = allowed.iter().count();
                let pick = (self.random.fraction() * count as f64) as usize;
                allowed.iter().nth(pick).unwrap_or_default()
            }
            FourDMapChoice::Threshold if is_lossy && allowed.contains(Duplicate) => Duplicate,
            FourDMapChoice::Fixed(mechanism) if allowed.contains(mechanism) => mechanism,
            FourDMapChoice::Threshold | FourDMapChoice::Fixed(_) => Normal,
        };
        self.told[decision.arm()].decisions += 1;
        decision
    }

    fn best(&self, allowed: Allowed, context: &Context) -> FourDMapMechanism {
        let mut best = (Normal, f64::NEG_INFINITY);
        for mechanism in allowed.iter() {
            let score = self.bandit.score(mechanism.arm(), self.of(context));
            if score > best.1 {
                best = (mechanism, score);
            }
        }
        best.0
    }

    /// Takes in the reward R' of a decision; returns it as it was scaled.
    pub(super) fn reward(&mut self, mechanism: FourDMapMechanism, context: &Context, reward: f64) -> f64 {
        let scaled = self.scale.scale(reward);
        let told = &mut self.told[mechanism.arm()];
        (told.rewards, told.sum) = (told.rewards + 1, told.sum + scaled);
        let features = self.bandit.features();
        self.bandit.update(mechanism.arm(), &context[..features.min(context.len())], scaled);
        scaled
    }

    /// The numbers that the bandit has models for.
    fn of<'a>(&self, context: &'a Context) -> &'a [f64] {
        &context[..self.bandit.features().min(context.len())]
    }

    /// Whether the learner decides.
    pub(super) fn decides(&self) -> bool {
        self.choice == FourDMapChoice::Learned
    }

    /// Whether the learner decides, and [`Duplicate`] is one of its arms.
    pub(super) fn may_copy(&self) -> bool {
        self.decides() && self.only.is_none_or(|only| only == Duplicate)
    }

    /// The arms: how often each was decided on, and its mean reward.
    pub(super) fn fill_figures(&self, figures: &mut Figures) {
        const NAMES: [(&str, &str); 4] = [
            ("normal_decisions", "normal_mean_reward"),
            ("duplicate_decisions", "duplicate_mean_reward"),
            ("discard_decisions", "discard_mean_reward"),
            ("decompensate_decisions", "decompensate_mean_reward"),
        ];
        for ((decisions, reward), told) in NAMES.into_iter().zip(&self.told) {
            figures.number(decisions, told.decisions as f64);
            if told.rewards > 0 {
                figures.number(reward, told.sum / told.rewards as f64);
            }
        }
    }

    /// What was learned so far.
    pub(super) fn model(&self) -> FourDMapModel {
        let empty = || LinUcbArm { matrix: Vec::new(), b: Vec::new() };
        let arms = [0, 1, 2, 3].map(|arm| self.bandit.arm(arm).unwrap_or_else(empty));
        FourDMapModel { features: self.features, paths: self.paths, arms }
    }
}

#[cfg(test)]
mod tests;
