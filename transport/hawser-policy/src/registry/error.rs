//! Why a registry has no such policy.

use std::convert::Infallible;
use std::fmt;

use super::PolicyKind;
use crate::{ParameterInfo, SpecError};

/// A text that chooses no policy of a registry. Its message says what could have been chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text does not have the form `name,key=value,...`.
    Spec(SpecError),
    /// Nobody registered a policy of this name.
    UnknownPolicy {
        /// What was looked for.
        kind: PolicyKind,
        /// The name given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The policy has no such parameter.
    UnknownParameter {
        /// The policy.
        policy: String,
        /// The parameter given.
        parameter: String,
        /// Those that it has.
        known: Vec<ParameterInfo>,
    },
    /// A value that the parameter cannot take.
    BadValue {
        /// The policy.
        policy: String,
        /// The parameter, with its range and default.
        parameter: Box<ParameterInfo>,
        /// What was given.
        found: String,
    },
    /// A file that cannot be read, or does not hold what the policy needs.
    File {
        /// The policy.
        policy: String,
        /// The parameter.
        parameter: String,
        /// What is wrong, with the name of the file.
        reason: String,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::Spec(error) => error.fmt(f),
            PolicyError::UnknownPolicy { kind, name, known } => {
                write!(f, "there is no {kind} named \"{name}\"")?;
                suggest(f, name, known.iter().map(String::as_str))?;
                match known.is_empty() {
                    true => write!(f, "; none is known"),
                    false => write!(f, "; known are: {}", known.join(", ")),
                }
            }
            PolicyError::UnknownParameter { policy, parameter, known } if known.is_empty() => {
                write!(f, "{policy} has no parameters, found \"{parameter}\"")
            }
            PolicyError::UnknownParameter { policy, parameter, known } => {
                write!(f, "{policy} has no parameter \"{parameter}\"")?;
                suggest(f, parameter, known.iter().map(|info| info.name.as_str()))?;
                let known: Vec<String> = known.iter().map(ParameterInfo::to_string).collect();
                write!(f, "; it has: {}", known.join(", "))
            }
            PolicyError::File { policy, parameter, reason } => {
                write!(f, "{policy}: \"{parameter}\": {reason}")
            }
            PolicyError::BadValue { policy, parameter, found } => write!(
                f,
                "{policy}: expected {} for \"{}\" (default {}), found \"{found}\"",
                parameter.allowed(),
                parameter.name,
                parameter.default
            ),
        }
    }
}

impl std::error::Error for PolicyError {}

impl From<SpecError> for PolicyError {
    fn from(error: SpecError) -> Self {
        PolicyError::Spec(error)
    }
}

impl From<Infallible> for PolicyError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Names the one that was probably meant, if there is one.
fn suggest<'a>(f: &mut fmt::Formatter<'_>, given: &str, known: impl Iterator<Item = &'a str>) -> fmt::Result {
    // A third of the letters may be wrong; of short words one.
    let most = (given.chars().count() / 3).max(1);
    let nearest = known.map(|name| (distance(given, name), name)).min();
    match nearest.filter(|(distance, _)| *distance <= most) {
        Some((_, name)) => write!(f, " (did you mean \"{name}\"?)"),
        None => Ok(()),
    }
}

/// How many letters must be added, removed or exchanged to make one word of the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let letters = |word: &str| word.to_ascii_lowercase().chars().collect::<Vec<_>>();
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, candidate) in other.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != candidate);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
