//! Which policies a connection is to have.

use crate::{PolicyKind, PolicySpec};

/// The policies of a connection by name: a set, or parts, or a set of which some parts are exchanged.
///
/// It has the same fields on the command line (`--policy`, `--scheduler`, `--congestion`, ...), in `[transport]` and `[[flow]]` of
/// a scenario, and here; a [`Registry`](crate::Registry) makes policies of it. What is not said is left to the set, and
/// without a set to the entries called `default`.
///
/// ```
/// # use hawser_policy::{Composition, PolicyKind};
/// let mut wanted = Composition::of("ecf".parse()?);
/// wanted.set(PolicyKind::Congestion, "cubic,beta=0.8".parse()?);
/// assert_eq!(wanted.to_string(), "policy = ecf, congestion = cubic,beta=0.8");
/// # Ok::<(), hawser_policy::SpecError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Composition {
    /// A policy set, or a scheduler that stands for itself with the defaults of everything else.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub policy: Option<PolicySpec>,
    /// Which path carries what.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub scheduler: Option<PolicySpec>,
    /// How much may be in flight on each path.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub congestion: Option<PolicySpec>,
    /// When and where acknowledgements leave.
    #[cfg_attr(
        feature = "serde",
        serde(alias = "acknowledgements", skip_serializing_if = "Option::is_none")
    )]
    pub acks: Option<PolicySpec>,
    /// Which paths exist.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub paths: Option<PolicySpec>,
    /// How strongly data is protected.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub protection: Option<PolicySpec>,
}

impl Composition {
    /// One name for everything.
    pub fn of(policy: PolicySpec) -> Self {
        Composition { policy: Some(policy), ..Composition::default() }
    }

    /// What is said of one kind.
    pub fn get(&self, kind: PolicyKind) -> Option<&PolicySpec> {
        match kind {
            PolicyKind::Set => self.policy.as_ref(),
            PolicyKind::Scheduler => self.scheduler.as_ref(),
            PolicyKind::Congestion => self.congestion.as_ref(),
            PolicyKind::Acks => self.acks.as_ref(),
            PolicyKind::Paths => self.paths.as_ref(),
            PolicyKind::Protection => self.protection.as_ref(),
        }
    }

    /// Says something of one kind.
    pub fn set(&mut self, kind: PolicyKind, spec: PolicySpec) {
        let part = match kind {
            PolicyKind::Set => &mut self.policy,
            PolicyKind::Scheduler => &mut self.scheduler,
            PolicyKind::Congestion => &mut self.congestion,
            PolicyKind::Acks => &mut self.acks,
            PolicyKind::Paths => &mut self.paths,
            PolicyKind::Protection => &mut self.protection,
        };
        *part = Some(spec);
    }

    /// Everything that is said, the set first.
    pub fn parts(&self) -> impl Iterator<Item = (PolicyKind, &PolicySpec)> {
        PolicyKind::ALL.into_iter().filter_map(|kind| Some((kind, self.get(kind)?)))
    }

    /// This over a more general one, such as a flow's over that of the whole scenario: parts that are not said here are
    /// those of `general`, unless a `policy` is named here, which then stands for all of them.
    #[must_use]
    pub fn over(&self, general: &Composition) -> Composition {
        if self.policy.is_some() {
            return self.clone();
        }
        let mut result = general.clone();
        self.parts().for_each(|(kind, spec)| result.set(kind, spec.clone()));
        result
    }
}

/// Writes what is said, such as `scheduler = ecf, congestion = cubic,beta=0.8`; nothing if nothing is.
impl std::fmt::Display for Composition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (kind, spec)) in self.parts().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{} = {spec}", kind.field())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> PolicySpec {
        text.parse().unwrap()
    }

    #[test]
    fn the_special_goes_over_the_general_part_by_part_and_a_set_replaces_all() {
        let mut general = Composition::of(spec("mams"));
        general.set(PolicyKind::Congestion, spec("olia"));
        let mut special = Composition::default();
        special.set(PolicyKind::Scheduler, spec("ecf"));
        assert_eq!(special.over(&general).to_string(), "policy = mams, scheduler = ecf, congestion = olia");
        assert_eq!(Composition::default().over(&general), general);
        let other = Composition::of(spec("late,period=1s"));
        assert_eq!(other.over(&general), other);
    }
}
