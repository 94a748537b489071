//! What the words of a claim stand for: policies, runs, metrics, groups.

use std::collections::BTreeMap;

use super::error::unknown;
use super::list::{NamedPolicy, Runs};
use super::metric::{Metric, Policy};
use super::metrics;

/// What stands for the system among policies.
pub(super) const SYSTEM: &str = "@system";
/// Members of a group: runs or policies, each with a number, by default its position.
pub(super) type Members = Vec<(String, f64)>;

/// A group that stands for one of its members, and the number of that.
pub(super) type Bound = (String, String, f64);

/// The names of a list.
pub(super) struct Names<'a> {
    pub(super) policies: &'a [NamedPolicy],
    pub(super) runs: &'a [Runs],
    pub(super) groups: &'a BTreeMap<String, Members>,
}

impl Names<'_> {
    /// The policy that a name stands for.
    ///
    /// # Errors
    /// There is no such policy.
    pub(super) fn policy(&self, name: &str) -> Result<Policy, String> {
        if name == SYSTEM {
            return Ok(Policy::System);
        }
        let found = self.policies.iter().find(|policy| policy.alias == name);
        found.map(|policy| Policy::Named(policy.text.clone())).ok_or_else(|| {
            let known = self.policies.iter().map(|policy| policy.alias.as_str());
            unknown("policy", name, [SYSTEM].into_iter().chain(known))
        })
    }

    /// The members of a group.
    ///
    /// # Errors
    /// There is no such group.
    pub(super) fn group(&self, name: &str) -> Result<&Members, String> {
        self.groups.get(name).ok_or_else(|| unknown("group", name, self.groups.keys().map(String::as_str)))
    }

    /// What `[POLICY.]RUNS.METRIC` stands for. `bound` has groups that stand for a member.
    ///
    /// # Errors
    /// Runs, policy or metric do not exist, or the runs are not made with the policy.
    pub(super) fn metric(&self, text: &str, bound: &[Bound]) -> Result<Metric, String> {
        // A name may have dots: the longest that fits counts.
        for (at, _) in text.match_indices('.').rev() {
            let name = standing(&text[..at], bound);
            let Ok(policy) = self.policy(name) else { continue };
            if let Some((runs, metric)) = self.runs_of(&text[at + 1..], bound) {
                return self.checked(runs, policy, metric, name);
            }
        }
        match self.runs_of(text, bound) {
            Some((runs, metric)) => self.checked(runs, Policy::System, metric, SYSTEM),
            None => {
                let known = self.runs.iter().map(|runs| runs.name.as_str());
                Err(unknown("runs", text.split('.').next().unwrap_or(text), known))
            }
        }
    }

    /// The runs whose name a text begins with, and what follows it.
    fn runs_of<'t>(&self, text: &'t str, bound: &[Bound]) -> Option<(&Runs, &'t str)> {
        text.match_indices('.').rev().find_map(|(at, _)| {
            let name = standing(&text[..at], bound);
            Some((self.runs.iter().find(|runs| runs.name == name)?, &text[at + 1..]))
        })
    }

    fn checked(&self, runs: &Runs, policy: Policy, metric: &str, name: &str) -> Result<Metric, String> {
        metrics::check(runs, metric)?;
        if !runs.policies.contains(&policy) {
            return Err(format!("the runs {} are not made with {name}", runs.name));
        }
        Ok(Metric { runs: runs.name.clone(), policy, name: metric.to_owned() })
    }
}

/// What a name stands for: a member, where it is that of a group.
fn standing<'a>(name: &'a str, bound: &'a [Bound]) -> &'a str {
    bound.iter().rev().find(|it| it.0 == name).map_or(name, |it| it.1.as_str())
}
