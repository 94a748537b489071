//! Policies by name, as options of a command: the same texts as in `[transport]` of a scenario.

use clap::Args;
use hawser::{Composition, PolicyKind, PolicySpec};

use crate::exit::Failure;

/// Which policies a connection has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Policies (NAME or NAME,KEY=VALUE,...; see `hawser policies`)")]
pub(crate) struct PolicyOptions {
    /// A policy set, or a scheduler with the defaults of everything else
    #[arg(long, value_name = "SPEC")]
    policy: Option<PolicySpec>,
    /// How data is spread over the paths
    #[arg(long, value_name = "SPEC", help = help("How data is spread over the paths", PolicyKind::Scheduler))]
    scheduler: Option<PolicySpec>,
    /// Congestion controller of each path
    #[arg(long, value_name = "SPEC", help = help("Congestion control of each path", PolicyKind::Congestion))]
    cc: Option<PolicySpec>,
    /// When and where acknowledgements leave
    #[arg(long, value_name = "SPEC", help = help("When and where acknowledgements leave", PolicyKind::Acknowledgements))]
    acks: Option<PolicySpec>,
    /// Which paths exist
    #[arg(long, value_name = "SPEC", help = help("Which paths exist", PolicyKind::Paths))]
    path_manager: Option<PolicySpec>,
    /// How strongly data is protected
    #[arg(long, value_name = "SPEC", help = help("How strongly data is protected", PolicyKind::Protection))]
    protection: Option<PolicySpec>,
}

/// The policies of a kind, with the one that is used by default.
fn help(what: &str, kind: PolicyKind) -> String {
    let registry = hawser::policies();
    let names: Vec<&str> = registry.names(kind).collect();
    if names.is_empty() {
        return format!("{what}; none is known");
    }
    let default = registry.policy(kind, "default").map(|info| format!(". Default: {}", info.name));
    format!("{what}: {}{}", names.join(", "), default.unwrap_or_default())
}

/// The option that chooses a policy of this kind.
pub(crate) fn option(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Set => "--policy",
        PolicyKind::Scheduler => "--scheduler",
        PolicyKind::Congestion => "--cc",
        PolicyKind::Acknowledgements => "--acks",
        PolicyKind::Paths => "--path-manager",
        PolicyKind::Protection => "--protection",
    }
}

/// Where a transfer looks for what no option says.
const ENVIRONMENT: [(PolicyKind, &str); 3] = [
    (PolicyKind::Set, "HAWSER_POLICY"),
    (PolicyKind::Scheduler, "HAWSER_SCHEDULER"),
    (PolicyKind::Congestion, "HAWSER_CC"),
];

impl PolicyOptions {
    /// What is said, all of which exists.
    ///
    /// # Errors
    /// For a policy or parameter that does not exist, with those that do.
    pub(crate) fn composition(&self) -> Result<Composition, Failure> {
        let composition = Composition {
            policy: self.policy.clone(),
            scheduler: self.scheduler.clone(),
            congestion: self.cc.clone(),
            acknowledgements: self.acks.clone(),
            paths: self.path_manager.clone(),
            protection: self.protection.clone(),
        };
        for (kind, spec) in composition.parts() {
            check(kind, spec, option(kind))?;
        }
        Ok(composition)
    }

    /// The same, and what the environment says of the rest.
    pub(crate) fn with_environment(&self) -> Result<Composition, Failure> {
        let mut composition = self.composition()?;
        for (kind, variable) in ENVIRONMENT {
            let Ok(text) = std::env::var(variable) else { continue };
            if composition.get(kind).is_some() || text.is_empty() {
                continue;
            }
            let wrong = |error| Failure::usage(format!("{variable}: {error}"));
            let spec: PolicySpec = text.parse().map_err(wrong)?;
            check(kind, &spec, variable)?;
            composition.set(kind, spec);
        }
        Ok(composition)
    }

    /// What is said as overrides of a scenario.
    pub(crate) fn overrides(&self) -> Result<Vec<String>, Failure> {
        let composition = self.composition()?;
        Ok(composition.parts().map(|(kind, spec)| format!("transport.{}={spec}", kind.field())).collect())
    }
}

fn check(kind: PolicyKind, spec: &PolicySpec, place: &str) -> Result<(), Failure> {
    let wrong = |error| Failure::usage(format!("{place}: {error}"));
    hawser::policies().check(kind, spec).map_err(wrong)
}
