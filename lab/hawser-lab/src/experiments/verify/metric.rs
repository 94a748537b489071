//! Metrics of runs, and whose runs they are.

/// Whose runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// The system's, or what stands in for it.
    System,
    /// That of a policy in its place.
    Named(String),
}

impl Policy {
    /// The policy that is meant, where this is that of the system and this stands in for it.
    pub(super) fn resolved<'a>(&'a self, system: &'a str, substitute: Option<&'a str>) -> &'a str {
        match self {
            Self::System => substitute.unwrap_or(system),
            Self::Named(name) => name,
        }
    }
}

/// A metric of some runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// Name of the runs.
    pub runs: String,
    /// Whose.
    pub policy: Policy,
    /// Name of the metric, with the unit at its end.
    pub name: String,
}
