//! The models: for each candidate one that predicts its reward from a Data Unit.

use std::fmt;
#[cfg(feature = "learned")]
use std::sync::{Arc, OnceLock};

use hawser_learn::{BoostedTrees, BoostedTreesError};

use super::units::FEATURES;
use super::{CANDIDATES, Candidate, DataUnit};

const MAGIC: &str = "hawser-sscc-models";
const VERSION: &str = "1";
/// What is read at most, in bytes: models that are shipped are under 2 MB together.
const MAX_BYTES: usize = 4 << 20;

/// One model per candidate.
///
/// As text: a line `hawser-sscc-models 1`, then for each candidate a line `controller NAME` and the model in the format of
/// [`BoostedTrees`], with the features [`FEATURES`]; last a line `end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    models: [BoostedTrees; CANDIDATES],
}

/// Models that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelsError {
    /// It is something else.
    NotModels,
    /// They are of another version of the format.
    Version(String),
    /// They end in the middle, or before the line `end`.
    Truncated,
    /// They are larger than 4 MiB.
    TooLarge,
    /// There is no model of this candidate.
    Missing(&'static str),
    /// A controller that is not one of the candidates, or is there twice.
    Controller(String),
    /// A model is broken.
    Model(&'static str, BoostedTreesError),
}

impl fmt::Display for ModelsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotModels => {
                write!(f, "no models of SSCC: expected them to begin with \"{MAGIC} {VERSION}\"")
            }
            Self::Version(found) => {
                write!(f, "models of version {found}; this program reads version {VERSION}")
            }
            Self::Truncated => write!(f, "the models are truncated: expected a last line \"end\""),
            Self::TooLarge => write!(f, "the models are larger than {MAX_BYTES} bytes"),
            Self::Missing(name) => write!(f, "there is no model of {name}"),
            Self::Controller(name) => {
                write!(f, "a model of \"{name}\", which is no candidate or is there twice")
            }
            Self::Model(name, error) => write!(f, "model of {name}: {error}"),
        }
    }
}

impl std::error::Error for ModelsError {}

impl Models {
    /// The models that come with this crate, as text; `models/sscc.json` next to them says what they were trained with, and how
    /// good they are. `make train-sscc` makes both.
    #[cfg(feature = "learned")]
    pub const SHIPPED: &'static str = include_str!("../../models/sscc.models");

    /// The models that come with this crate, read once.
    ///
    /// # Panics
    /// Never: a test reads them.
    #[cfg(feature = "learned")]
    pub fn shipped() -> Arc<Models> {
        static MODELS: OnceLock<Arc<Models>> = OnceLock::new();
        MODELS.get_or_init(|| Arc::new(Models::read(Models::SHIPPED).expect("they are whole"))).clone()
    }

    /// Reads models of all candidates.
    pub fn read(text: &str) -> Result<Models, ModelsError> {
        if text.len() > MAX_BYTES {
            return Err(ModelsError::TooLarge);
        }
        let (header, body) = text.split_once('\n').ok_or(ModelsError::NotModels)?;
        let version = header.strip_prefix(MAGIC).ok_or(ModelsError::NotModels)?.trim();
        if version != VERSION {
            return Err(ModelsError::Version(version.chars().take(20).collect()));
        }
        let body = body.trim_end().strip_suffix("\nend").ok_or(ModelsError::Truncated)?;
        let mut found: [Option<BoostedTrees>; CANDIDATES] = Default::default();
        for part in format!("\n{body}").split("\ncontroller ").skip(1) {
            let (name, model) = part.split_once('\n').ok_or(ModelsError::Truncated)?;
            let candidate =
                Candidate::named(name.trim()).filter(|candidate| found[*candidate as usize].is_none());
            let unknown = || ModelsError::Controller(name.chars().take(40).collect());
            let candidate = candidate.ok_or_else(unknown)?;
            let model = BoostedTrees::read(model, &FEATURES);
            found[candidate as usize] =
                Some(model.map_err(|error| ModelsError::Model(candidate.name(), error))?);
        }
        if let Some(missing) =
            Candidate::ALL.into_iter().find(|candidate| found[*candidate as usize].is_none())
        {
            return Err(ModelsError::Missing(missing.name()));
        }
        // None is missing, so that none is left out.
        let mut models = found.into_iter().flatten();
        Ok(Models { models: std::array::from_fn(|_| models.next().expect("one for each candidate")) })
    }

    /// The reward that is expected of each candidate, in the order of [`Candidate::ALL`].
    pub fn predict(&self, unit: &DataUnit) -> [f64; CANDIDATES] {
        let features = unit.features();
        std::array::from_fn(|at| self.models[at].predict(&features))
    }

    /// The candidate of which most is expected. `current` wins ties, and stays where nothing is expected of any.
    pub fn choose(&self, unit: &DataUnit, current: Candidate) -> Candidate {
        let predicted = self.predict(unit);
        let best = predicted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if best <= 0.0 || predicted[current as usize] >= best {
            return current;
        }
        Candidate::ALL.into_iter().find(|candidate| predicted[*candidate as usize] >= best).unwrap_or(current)
    }

    /// Bytes that they take in memory, about.
    pub fn memory(&self) -> usize {
        self.models.iter().map(BoostedTrees::memory).sum()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::testing::unit;
    use super::*;

    /// Models that expect these rewards whatever they see, in the order of the candidates; `slow` ones below 10 Mbit/s.
    pub(crate) fn constant(slow: [f64; CANDIDATES], fast: [f64; CANDIDATES]) -> String {
        let models = Candidate::ALL.map(|candidate| {
            let (slow, fast) = (slow[candidate as usize], fast[candidate as usize]);
            format!(
                "controller {}\nhawser-boosted-trees 1\nfeatures {}\nbase 0\ntrees 1\ntree 3\n\
                 split 0 10 1 2 left\nleaf {slow}\nleaf {fast}\n",
                candidate.name(),
                FEATURES.join(" ")
            )
        });
        format!("{MAGIC} {VERSION}\n{}end\n", models.concat())
    }

    #[test]
    fn the_best_is_chosen_and_the_current_one_wins_ties() {
        let text = constant([0.1, 0.5, 0.5, 0.2, 0.0, 0.0], [-1.0, -0.5, 0.0, -0.1, -0.2, -0.3]);
        let models = Models::read(&text).expect("they are whole");
        let unit = |tput| unit(tput, 0.0, 40.0);
        assert_eq!(models.choose(&unit(5.0), Candidate::Bbr), Candidate::Cubic);
        assert_eq!(models.choose(&unit(5.0), Candidate::Vegas), Candidate::Vegas);
        // Nothing is expected of any.
        assert_eq!(models.choose(&unit(15.0), Candidate::Illinois), Candidate::Illinois);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let good = constant([0.0; 6], [0.0; 6]);
        let error = |text: &str| Models::read(text).expect_err("something is wrong").to_string();
        assert!(error("").starts_with("no models of SSCC"));
        assert!(error(&good.replace("models 1", "models 2")).starts_with("models of version 2"));
        assert!(error(good.trim_end().trim_end_matches("end")).starts_with("the models are truncated"));
        assert_eq!(
            error(&good.replace("controller bbr", "controller vegas")),
            "a model of \"vegas\", which is no candidate or is there twice"
        );
        let without = good.split("controller illinois").next().expect("it is there").to_owned() + "end\n";
        assert_eq!(error(&without), "there is no model of illinois");
        assert!(
            error(&good.replace("tput_share ", "")).starts_with("model of bbr: a model for other features")
        );
        assert_eq!(error(&" ".repeat(MAX_BYTES + 1)), "the models are larger than 4194304 bytes");
    }
}
