//! What a registry tells of its entries.

use std::fmt;

use crate::{ParameterInfo, PolicySpec};

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PolicyKind {
    /// Everything: a published system.
    Set,
    /// Which path carries what.
    Scheduler,
    /// How much may be in flight on each path.
    Congestion,
    /// When and where acknowledgements leave.
    Acks,
    /// Which paths exist.
    Paths,
    /// How strongly data is protected.
    Protection,
}

impl PolicyKind {
    /// All of them: the set, then its parts.
    pub const ALL: [PolicyKind; 6] = [
        PolicyKind::Set,
        PolicyKind::Scheduler,
        PolicyKind::Congestion,
        PolicyKind::Acks,
        PolicyKind::Paths,
        PolicyKind::Protection,
    ];

    /// Returns its name: that of the field in which it is chosen, see [`Composition`](crate::Composition), and of the option.
    pub fn field(self) -> &'static str {
        match self {
            PolicyKind::Set => "policy",
            PolicyKind::Scheduler => "scheduler",
            PolicyKind::Congestion => "congestion",
            PolicyKind::Acks => "acks",
            PolicyKind::Paths => "paths",
            PolicyKind::Protection => "protection",
        }
    }

    /// Returns the former names, which are read as well.
    pub fn former(self) -> &'static [&'static str] {
        match self {
            PolicyKind::Congestion => &["controller"],
            PolicyKind::Acks => &["acknowledgements"],
            PolicyKind::Set | PolicyKind::Scheduler | PolicyKind::Paths | PolicyKind::Protection => &[],
        }
    }

    /// Returns the kind that has this name, or had it formerly.
    pub fn named(name: &str) -> Option<PolicyKind> {
        let has = |kind: &PolicyKind| kind.field() == name || kind.former().contains(&name);
        PolicyKind::ALL.into_iter().find(has)
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PolicyKind::Set => "policy set",
            PolicyKind::Scheduler => "scheduler",
            PolicyKind::Congestion => "congestion controller",
            PolicyKind::Acks => "acknowledgement policy",
            PolicyKind::Paths => "path manager",
            PolicyKind::Protection => "protection policy",
        })
    }
}

/// What can be said of a policy without making one.
///
/// ```
/// # use hawser_policy::{ParameterInfo, PolicyInfo};
/// PolicyInfo::new("ecf", "may wait for the fast path when that finishes the queue sooner")
///     .source("Lim and others, CoNEXT 2017")
///     .parameter(ParameterInfo::number("beta", 0.0..=10.0, 0.25).meaning("hysteresis of waiting"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PolicyInfo {
    /// Its name.
    pub name: String,
    /// Other names under which it is found.
    pub aliases: Vec<String>,
    /// One line on what it does; may be empty.
    pub summary: String,
    /// Where it was published; may be empty.
    pub source: String,
    /// The path manager that belongs to it, if it is a set that has one of its own.
    pub paths: Option<PolicySpec>,
    /// What can be set.
    pub parameters: Vec<ParameterInfo>,
}

impl PolicyInfo {
    /// A policy without parameters.
    pub fn new(name: &str, summary: &str) -> Self {
        PolicyInfo {
            name: name.to_owned(),
            aliases: Vec::new(),
            summary: summary.to_owned(),
            source: String::new(),
            paths: None,
            parameters: Vec::new(),
        }
    }

    /// Another name for it.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Self {
        self.aliases.push(alias.to_owned());
        self
    }

    /// Where it was published.
    #[must_use]
    pub fn source(mut self, source: &str) -> Self {
        source.clone_into(&mut self.source);
        self
    }

    /// Of a set: the path manager that belongs to it, which the driver is to use unless another one is chosen.
    #[must_use]
    pub fn paths(mut self, spec: PolicySpec) -> Self {
        self.paths = Some(spec);
        self
    }

    /// Something that can be set. One of the same name is replaced.
    #[must_use]
    pub fn parameter(mut self, parameter: ParameterInfo) -> Self {
        self.parameters.retain(|known| known.name != parameter.name);
        self.parameters.push(parameter);
        self
    }
}
