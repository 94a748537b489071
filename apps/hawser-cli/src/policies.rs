//! `hawser policies`: lists policies and their parameters.

mod new;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde::Serialize;

use hawser::policy::PolicyInfo;
use hawser::policy::{ParameterInfo, ParameterRange, ParameterValue};
use hawser::{PolicyKind, Registry};
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::policy_options::option;
use hawser_command::report::{Channel, print};

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns that the meaning of a parameter needs next to the rest; with fewer it goes below.
const MEANING_WIDTH: usize = 30;

const EXAMPLES: &str = "\
A policy is chosen by its name, with parameters behind commas: the same text for all commands, in scenarios ([transport], [[flow]]) \
and sweeps, and in code.

Examples:
  hawser policies
  hawser policies cubic
  hawser policies new nearest
  hawser sim run scenarios/wifi-lte.toml --scheduler ecf,beta=0.5 --congestion cubic,beta=0.8";

/// `hawser policies`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Policies {
    /// Only the policies of this name
    name: Option<String>,
    #[command(subcommand)]
    command: Option<PoliciesCommand>,
}

#[derive(Subcommand, Debug)]
enum PoliciesCommand {
    /// Begin a crate with a policy of your own: code, tests, a command that has it, a plan to compare it by
    New(new::New),
}

/// What is printed with `--json`, per policy.
#[derive(Debug, Serialize)]
struct PolicyReport<'a> {
    /// The field in which it is chosen.
    kind: &'static str,
    /// The option that chooses it.
    option: String,
    name: &'a str,
    aliases: &'a [String],
    /// Whether it is used when nobody chooses.
    default: bool,
    summary: &'a str,
    source: &'a str,
    parameters: Vec<ParameterReport<'a>>,
}

#[derive(Debug, Serialize)]
struct ParameterReport<'a> {
    name: &'a str,
    /// `number`, `integer`, `duration`, `rate`, `flag`, `choice` or `file`.
    kind: &'static str,
    unit: &'a str,
    /// Least and most, as they are written; none for flags, choices and files.
    range: Option<[String; 2]>,
    /// What may be given, of flags and choices.
    choices: Vec<String>,
    default: String,
    meaning: &'a str,
    source: &'a str,
}

/// # Errors
/// There is no policy of this name; those of `new`.
pub(crate) fn run(arguments: &Policies, registry: &Registry, output: Output) -> Result<(), Failure> {
    if let Some(PoliciesCommand::New(arguments)) = &arguments.command {
        return new::run(arguments, registry, output);
    }
    let is_meant = |kind: PolicyKind, info: &PolicyInfo| {
        let found = |name: &String| registry.policy(kind, name).is_some_and(|found| found.name == info.name);
        arguments.name.as_ref().is_none_or(found)
    };
    let kinds = PolicyKind::ALL.map(|kind| {
        let infos = registry.policies(kind).into_iter().filter(|info| is_meant(kind, info));
        (kind, infos.collect::<Vec<_>>())
    });
    if let Some(name) = arguments.name.as_ref().filter(|_| kinds.iter().all(|(_, infos)| infos.is_empty())) {
        return Err(unknown(registry, name));
    }
    let is_default = |kind, info: &PolicyInfo| {
        registry.policy(kind, "default").is_some_and(|default| default.name == info.name)
    };
    if output.json {
        let mut reports = Vec::new();
        for (kind, infos) in &kinds {
            reports.extend(infos.iter().map(|info| report(*kind, info, is_default(*kind, info))));
        }
        Channel::Stdout.print(&reports);
        return Ok(());
    }
    let mut text = String::new();
    for (kind, infos) in kinds.iter().filter(|(_, infos)| !infos.is_empty()) {
        let _ = writeln!(text, "{kind}: {} NAME, `{}` in scenarios\n", option(*kind), kind.field());
        for info in infos {
            describe(&mut text, info, is_default(*kind, info));
        }
    }
    print(text.trim_end());
    Ok(())
}

fn unknown(registry: &Registry, name: &str) -> Failure {
    if let Some((bare, _)) = name.split_once(',')
        && PolicyKind::ALL.iter().any(|kind| registry.policy(*kind, bare).is_some())
    {
        let words =
            format!("expected the name of a policy alone, found \"{name}\"; try hawser policies {bare}");
        return Failure::new(Exit::Usage, words);
    }
    let known: BTreeSet<&str> = PolicyKind::ALL.iter().flat_map(|kind| registry.names(*kind)).collect();
    // A third of the letters may be wrong; of short words one.
    let most = (name.chars().count() / 3).max(1);
    let nearest = known.iter().map(|one| (strsim::levenshtein(name, one), *one)).min();
    let words = match nearest.filter(|(distance, _)| *distance <= most) {
        Some((_, meant)) => format!("there is no policy named \"{name}\" (did you mean \"{meant}\"?)"),
        None => {
            let known: Vec<&str> = known.into_iter().collect();
            format!("there is no policy named \"{name}\"; known are: {}", known.join(", "))
        }
    };
    Failure::new(Exit::Usage, words)
}

fn report(kind: PolicyKind, info: &PolicyInfo, default: bool) -> PolicyReport<'_> {
    PolicyReport {
        kind: kind.field(),
        option: option(kind),
        name: &info.name,
        aliases: &info.aliases,
        default,
        summary: &info.summary,
        source: &info.source,
        parameters: info.parameters.iter().map(parameter).collect(),
    }
}

fn parameter(info: &ParameterInfo) -> ParameterReport<'_> {
    let range = |least: ParameterValue, most: ParameterValue| Some([least.to_string(), most.to_string()]);
    let (kind, range, choices) = match &info.range {
        ParameterRange::Number(r) => {
            ("number", range(ParameterValue::Number(*r.start()), ParameterValue::Number(*r.end())), vec![])
        }
        ParameterRange::Integer(r) => {
            ("integer", range(ParameterValue::Integer(*r.start()), ParameterValue::Integer(*r.end())), vec![])
        }
        ParameterRange::Duration(r) => (
            "duration",
            range(ParameterValue::Duration(*r.start()), ParameterValue::Duration(*r.end())),
            vec![],
        ),
        ParameterRange::Rate(r) => {
            ("rate", range(ParameterValue::Rate(*r.start()), ParameterValue::Rate(*r.end())), vec![])
        }
        ParameterRange::Flag => ("flag", None, vec!["true".to_owned(), "false".to_owned()]),
        ParameterRange::Choice(words) => ("choice", None, words.clone()),
        ParameterRange::File => ("file", None, vec![]),
        _ => ("other", None, vec![]),
    };
    ParameterReport {
        name: &info.name,
        kind,
        unit: &info.unit,
        range,
        choices,
        default: info.default.to_string(),
        meaning: &info.meaning,
        source: &info.source,
    }
}

/// A policy in words: what it does, where it was published, and a line per parameter.
fn describe(text: &mut String, info: &PolicyInfo, is_default: bool) {
    let mark = if is_default { " (default)" } else { "" };
    let _ = writeln!(text, "  {}{mark}", info.name);
    let mut summary = info.summary.clone();
    if !info.source.is_empty() {
        let _ = write!(summary, " [{}]", info.source);
    }
    paragraph(text, &" ".repeat(6), summary.trim());
    let widest = |column: &dyn Fn(&ParameterInfo) -> usize| info.parameters.iter().map(column).max();
    let name = widest(&|parameter| parameter.name.chars().count()).unwrap_or_default();
    let default = widest(&|parameter| parameter.default.to_string().chars().count()).unwrap_or_default();
    let allowed = widest(&|parameter| parameter.allowed().chars().count()).unwrap_or_default();
    for parameter in &info.parameters {
        let first = format!(
            "      {:<name$} = {:<default$}  {:<allowed$}  ",
            parameter.name,
            parameter.default.to_string(),
            parameter.allowed()
        );
        let mut meaning = parameter.meaning.clone();
        if !parameter.source.is_empty() {
            let _ = write!(meaning, " [{}]", parameter.source);
        }
        if first.chars().count() + MEANING_WIDTH > WIDTH {
            let _ = writeln!(text, "{}", first.trim_end());
            paragraph(text, &" ".repeat(10), &meaning);
        } else {
            paragraph(text, &first, &meaning);
        }
    }
    text.push('\n');
}

/// Words in lines of at most [`WIDTH`] columns behind `first`, further lines indented as far.
fn paragraph(text: &mut String, first: &str, words: &str) {
    let indent = first.chars().count();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        let length =
            line.trim_end().chars().count().max(indent) + usize::from(!is_empty) + word.chars().count();
        if !is_empty && length > WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    if !line.trim().is_empty() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
