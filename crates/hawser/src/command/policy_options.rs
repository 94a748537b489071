//! Policies by name, as options of a command: the same texts as in `[transport]` of a scenario.

use clap::{Args, Command};

use crate::command::exit::Failure;
use crate::{Composition, PolicyKind, PolicySpec, Registry};

/// Under what the options stand: the heading must not reach those that follow.
const HEADING: &str = "Policies (NAME or NAME,KEY=VALUE,...; see `hawser policies`)";

/// Which policies a connection has.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PolicyOptions {
    /// A scheduler with the defaults of everything else, or a policy set
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    policy: Option<PolicySpec>,
    /// How data is spread over the paths
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    scheduler: Option<PolicySpec>,
    /// Congestion controller of each path
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    cc: Option<PolicySpec>,
    /// When and where acknowledgements leave
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    acks: Option<PolicySpec>,
    /// Which paths exist
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    path_manager: Option<PolicySpec>,
    /// How strongly data is protected
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    protection: Option<PolicySpec>,
}

/// The help of a command and those below it names the policies that this registry has.
pub(crate) fn with_names(mut command: Command, registry: &Registry) -> Command {
    for kind in PolicyKind::ALL {
        let id = option(kind).trim_start_matches("--").replace('-', "_");
        let argument = command.get_arguments().find(|argument| argument.get_id() == id.as_str());
        if let Some(what) = argument.and_then(|argument| argument.get_help()).map(ToString::to_string) {
            command = command.mut_arg(id, |argument| argument.help(help(registry, &what, kind)));
        }
    }
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    below
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |below| with_names(below, registry)))
}

/// The policies of a kind, with the one that is used by default.
fn help(registry: &Registry, what: &str, kind: PolicyKind) -> String {
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
    pub(crate) fn composition(&self, registry: &Registry) -> Result<Composition, Failure> {
        let composition = Composition {
            policy: self.policy.clone(),
            scheduler: self.scheduler.clone(),
            congestion: self.cc.clone(),
            acknowledgements: self.acks.clone(),
            paths: self.path_manager.clone(),
            protection: self.protection.clone(),
        };
        for (kind, spec) in composition.parts() {
            check(registry, kind, spec, option(kind))?;
        }
        Ok(composition)
    }

    /// The same, and what the environment says of the rest.
    pub(crate) fn with_environment(&self, registry: &Registry) -> Result<Composition, Failure> {
        let mut composition = self.composition(registry)?;
        for (kind, variable) in ENVIRONMENT {
            let Ok(text) = std::env::var(variable) else { continue };
            if composition.get(kind).is_some() || text.is_empty() {
                continue;
            }
            let wrong = |error| Failure::usage(format!("{variable}: {error}"));
            let spec: PolicySpec = text.parse().map_err(wrong)?;
            check(registry, kind, &spec, variable)?;
            composition.set(kind, spec);
        }
        Ok(composition)
    }

    /// The scheduler that is chosen: as such, or as the policy.
    pub(crate) fn scheduler(&self, registry: &Registry) -> Result<Option<PolicySpec>, Failure> {
        let composition = self.with_environment(registry)?;
        let is_set = registry.resolve(&composition).policy.is_some();
        let policy = composition.policy.filter(|_| !is_set);
        Ok(composition.scheduler.or(policy))
    }

    /// What is said as overrides of a scenario.
    pub(crate) fn overrides(&self, registry: &Registry) -> Result<Vec<String>, Failure> {
        let fields = self.fields(registry)?;
        Ok(fields.into_iter().map(|(field, spec)| format!("{field}={spec}")).collect())
    }

    /// What is said as fields of scenarios and their values.
    pub(crate) fn fields(&self, registry: &Registry) -> Result<Vec<(String, String)>, Failure> {
        let composition = self.composition(registry)?;
        let field = |(kind, spec): (PolicyKind, &PolicySpec)| {
            (format!("transport.{}", kind.field()), spec.to_string())
        };
        Ok(composition.parts().map(field).collect())
    }
}

fn check(registry: &Registry, kind: PolicyKind, spec: &PolicySpec, place: &str) -> Result<(), Failure> {
    let wrong = |error| Failure::usage(format!("{place}: {error}"));
    registry.check(kind, spec).map_err(wrong)
}
