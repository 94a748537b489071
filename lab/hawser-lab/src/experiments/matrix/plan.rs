//! What the plans of matrices have in common.

use serde::Deserialize;

use crate::experiments::ExperimentError;

/// Links of a grid: a scenario file and fields set in it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// What they are called.
    pub name: String,
    /// Their scenario file.
    pub file: String,
    /// Fields set in it, as `KEY=VALUE`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// The parts of a grid that were asked for; of no names all.
pub(super) fn chosen<'a, T>(
    all: &'a [T],
    wanted: &'a [String],
    name: impl Fn(&T) -> &str + 'a,
) -> impl Iterator<Item = &'a T> {
    all.iter().filter(move |it| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name(it)))
}

/// Whether there are parts of a kind with these names.
pub(super) fn check(kind: &str, known: &[&str], wanted: &[String]) -> Result<(), ExperimentError> {
    let unknown = wanted.iter().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(ExperimentError::unknown(kind, name, known.iter().copied())))
}
