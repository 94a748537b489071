//! Policies by name, as options of a command: the same texts as in `[transport]` of a scenario.

use clap::{Args, Command};

use crate::exit::{Exit, Failure};
use hawser::{Composition, PolicyError, PolicyKind, PolicySpec, Registry};

/// Under what the options stand: the heading must not reach those that follow.
const HEADING: &str = "Policies (NAME or NAME,KEY=VALUE,...; see `hawser policies`)";

/// Which policies a connection has.
#[derive(Args, Clone, Debug, Default)]
pub struct PolicyOptions {
    /// A scheduler with the defaults of everything else, or a policy set
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    policy: Option<PolicySpec>,
    /// How data is spread over the paths
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    scheduler: Option<PolicySpec>,
    /// Congestion controller of each path
    #[arg(long, alias = "cc", value_name = "SPEC", help_heading = HEADING)]
    congestion: Option<PolicySpec>,
    /// When and where acknowledgements leave
    #[arg(long, value_name = "SPEC", help_heading = HEADING, hide_short_help = true)]
    acks: Option<PolicySpec>,
    /// Which paths exist
    #[arg(long, alias = "path-manager", value_name = "SPEC", help_heading = HEADING, hide_short_help = true)]
    paths: Option<PolicySpec>,
    /// How strongly data is protected
    #[arg(long, value_name = "SPEC", help_heading = HEADING, hide_short_help = true)]
    protection: Option<PolicySpec>,
}

/// The help of a command and those below it names the policies that this registry has.
/// `controllers`: the subcommands that use another congestion controller than the registry's by default, and which.
pub fn with_names(
    mut command: Command,
    registry: &Registry,
    controllers: &[(&str, Option<&str>)],
) -> Command {
    let mut below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in below.drain(..) {
        let own = controllers.iter().find(|(command, _)| *command == name).and_then(|(_, own)| *own);
        command = command.mut_subcommand(&name, |below| with_names_below(below, registry, own));
    }
    command
}

/// The same for a command below others; `controller` is the one that they use by default, if it is not the registry's.
fn with_names_below(mut command: Command, registry: &Registry, controller: Option<&str>) -> Command {
    for kind in PolicyKind::ALL {
        let own = controller.filter(|_| kind == PolicyKind::Congestion);
        let id = kind.field();
        let argument = command.get_arguments().find(|argument| argument.get_id() == id);
        if let Some(what) = argument.and_then(|argument| argument.get_help()).map(ToString::to_string) {
            command = command.mut_arg(id, |argument| argument.help(help(registry, &what, kind, own)));
        }
    }
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    below.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| with_names_below(below, registry, controller))
    })
}

/// The policies of a kind, with the one that is used by default: the command's own, or the registry's.
fn help(registry: &Registry, what: &str, kind: PolicyKind, own: Option<&str>) -> String {
    let names: Vec<&str> = registry.names(kind).collect();
    if names.is_empty() {
        return format!("{what}; none is known");
    }
    let default = match own.and_then(|own| known(registry, kind, own)) {
        Some(own) => Some(own.to_string()),
        None => registry.policy(kind, "default").map(|info| info.name.clone()),
    };
    let default = default.map(|name| format!(". Default: {name}"));
    format!("{what}: {}{}", names.join(", "), default.unwrap_or_default())
}

/// Returns the option that chooses a policy of this kind.
pub fn option(kind: PolicyKind) -> String {
    format!("--{}", kind.field())
}

/// Returns the variables in which a transfer looks for what no option says: the present one, then former ones.
fn variables(kind: PolicyKind) -> Vec<String> {
    let former: &[&str] = if kind == PolicyKind::Congestion { &["cc"] } else { &[] };
    let names = [kind.field()].into_iter().chain(former.iter().copied());
    names.map(|name| format!("HAWSER_{}", name.to_uppercase())).collect()
}

impl PolicyOptions {
    /// What is said, all of which exists.
    ///
    /// # Errors
    /// For a policy or parameter that does not exist, with those that do.
    pub fn composition(&self, registry: &Registry) -> Result<Composition, Failure> {
        let composition = Composition::default().with(|composition| {
            composition.policy = self.policy.clone();
            composition.scheduler = self.scheduler.clone();
            composition.congestion = self.congestion.clone();
            composition.acks = self.acks.clone();
            composition.paths = self.paths.clone();
            composition.protection = self.protection.clone();
        });
        for (kind, spec) in composition.parts() {
            check(registry, kind, spec, &option(kind))?;
        }
        Ok(composition)
    }

    /// The same, and what the environment says of the rest.
    pub fn with_environment(&self, registry: &Registry) -> Result<Composition, Failure> {
        let mut composition = self.composition(registry)?;
        let variables = |kind| variables(kind).into_iter().map(move |variable| (kind, variable));
        for (kind, variable) in PolicyKind::ALL.into_iter().flat_map(variables) {
            let Ok(text) = std::env::var(&variable) else { continue };
            if composition.get(kind).is_some() || text.is_empty() {
                continue;
            }
            let wrong = |error| Failure::usage(format!("{variable}: {error}"));
            let spec: PolicySpec = text.parse().map_err(wrong)?;
            check(registry, kind, &spec, &variable)?;
            composition.set(kind, spec);
        }
        Ok(composition)
    }

    /// The same, with this controller where nothing that is said brings one.
    pub fn with_controller(&self, registry: &Registry, name: &str) -> Result<Composition, Failure> {
        Ok(or_controller(self.with_environment(registry)?, registry, name))
    }

    /// The scheduler that is chosen: as such, or as the policy.
    pub fn scheduler(&self, registry: &Registry) -> Result<Option<PolicySpec>, Failure> {
        let composition = self.with_environment(registry)?;
        let is_set = registry.resolve(&composition).policy.is_some();
        let policy = composition.policy.filter(|_| !is_set);
        Ok(composition.scheduler.or(policy))
    }

    /// What is said as overrides of a scenario.
    pub fn overrides(&self, registry: &Registry) -> Result<Vec<String>, Failure> {
        let fields = self.fields(registry)?;
        Ok(fields.into_iter().map(|(field, spec)| format!("{field}={spec}")).collect())
    }

    /// What is said as fields of scenarios and their values.
    pub fn fields(&self, registry: &Registry) -> Result<Vec<(String, String)>, Failure> {
        let composition = self.composition(registry)?;
        let field = |(kind, spec): (PolicyKind, &PolicySpec)| {
            (format!("transport.{}", kind.field()), spec.to_string())
        };
        Ok(composition.parts().map(field).collect())
    }
}

/// With this controller, such as `bbr` or `tide,bound=50ms`, if it exists, where neither a controller nor a policy set is chosen.
fn or_controller(mut composition: Composition, registry: &Registry, text: &str) -> Composition {
    let is_set = registry.resolve(&composition).policy.is_some();
    if !is_set && composition.congestion.is_none() {
        composition.congestion = known(registry, PolicyKind::Congestion, text);
    }
    composition
}

/// The policy that a text of this program chooses, if the registry has it.
fn known(registry: &Registry, kind: PolicyKind, text: &str) -> Option<PolicySpec> {
    text.parse().ok().filter(|spec| registry.check(kind, spec).is_ok())
}

fn check(registry: &Registry, kind: PolicyKind, spec: &PolicySpec, place: &str) -> Result<(), Failure> {
    registry.check(kind, spec).map_err(|error| failure(place, &error))
}

/// Why a policy cannot be had, said of the option or variable that chose it.
pub fn failure(place: &str, error: &PolicyError) -> Failure {
    let exit = if matches!(error, PolicyError::File { .. }) { Exit::NotRead } else { Exit::Usage };
    Failure::new(exit, format!("{place}: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn each_kind_has_one_name_and_understands_former_ones() {
        let read = |words: &[&str]| {
            let command = PolicyOptions::augment_args(Command::new("x").no_binary_name(true));
            let matches = command.try_get_matches_from(words).expect("known options");
            let options = PolicyOptions::from_arg_matches(&matches).expect("policies");
            options.composition(&hawser::policies()).expect("these exist").to_string()
        };
        for kind in PolicyKind::ALL {
            let name = if kind == PolicyKind::Protection { "fixed" } else { "default" };
            if known(&hawser::policies(), kind, name).is_some() {
                assert_eq!(read(&[&option(kind), name]), format!("{} = {name}", kind.field()));
            }
        }
        let former = read(&["--cc", "cubic", "--path-manager", "default"]);
        assert_eq!(former, "congestion = cubic, paths = default");
        assert_eq!(variables(PolicyKind::Congestion), ["HAWSER_CONGESTION", "HAWSER_CC"]);
        assert_eq!(variables(PolicyKind::Acks), ["HAWSER_ACKS"]);
    }

    #[test]
    fn a_commands_controller_is_used_where_nothing_else_brings_one() {
        let registry = hawser::policies();
        let controller = |options: PolicyOptions| {
            let composition = options.composition(&registry).expect("these exist");
            or_controller(composition, &registry, "bbr").congestion.map(|spec| spec.to_string())
        };
        let spec = |text: &str| Some(text.parse().expect("a name"));
        assert_eq!(controller(PolicyOptions::default()).as_deref(), Some("bbr"));
        let cubic = PolicyOptions { congestion: spec("cubic,beta=0.8"), ..PolicyOptions::default() };
        assert_eq!(controller(cubic).as_deref(), Some("cubic,beta=0.8"));
        // The default of a scheduler is not its own, that of a set is.
        let scheduler = PolicyOptions { policy: spec("minrtt"), ..PolicyOptions::default() };
        assert_eq!(controller(scheduler).as_deref(), Some("bbr"));
        let set = PolicyOptions { policy: spec("4d-map"), ..PolicyOptions::default() };
        assert_eq!(controller(set), None);
        let tuned = or_controller(Composition::default(), &registry, "tide,bound=50ms");
        assert_eq!(tuned.congestion.map(|spec| spec.to_string()).as_deref(), Some("tide,bound=50ms"));
        let own = hawser_policy::Registry::new();
        assert_eq!(or_controller(Composition::default(), &own, "bbr").congestion, None, "it does not exist");
    }
}
