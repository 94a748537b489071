//! `hawser doctor`: what on this machine would hurt, and the command that fixes it.

mod host;
mod links;
mod machine;
mod system;

use clap::Args;
use serde::Serialize;

use self::machine::Machine;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::count;

const EXAMPLES: &str = "\
Without HOST it looks at this machine only, and sends nothing. `sysctl -w` lasts until the next start; a file in /etc/sysctl.d keeps it.

Examples:
  hawser doctor                     what would hurt, each with the command that fixes it
  hawser doctor --pin 'PIN' example.org:4433 --silence 27   the way to a server as well: UDP, MTU, ECN, NAT
  hawser doctor --json | jq '.[] | select(.state != \"ok\")'";

/// Arguments of `hawser doctor`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    #[command(flatten)]
    way: host::HostOptions,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Nothing to do.
    Ok,
    /// It costs something, or will when links fail.
    Warning,
    /// Something will not work.
    Bad,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// What, in a few words.
    check: String,
    state: State,
    /// What was found, and what it means.
    found: String,
    /// The command that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn ok(check: &str, found: impl Into<String>) -> Self {
        Finding { check: check.to_owned(), state: State::Ok, found: found.into(), fix: None }
    }

    fn warning(check: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into()).filter(|fix| !fix.is_empty());
        Finding { check: check.to_owned(), state: State::Warning, found: found.into(), fix }
    }

    fn bad(check: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Finding { state: State::Bad, ..Finding::warning(check, found, fix) }
    }
}

/// Takes findings, and prints each as it comes; as JSON all of them at the end.
struct Findings {
    output: Output,
    all: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, finding: Finding) {
        if !self.output.json {
            print(line(&finding));
        }
        self.all.push(finding);
    }

    fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }
}

/// Looks at everything. Ends with a failure if something will not work.
pub(crate) fn run(arguments: &Doctor, output: Output) -> Result<(), Failure> {
    let machine = Machine::this();
    let mut findings = Findings { output, all: Vec::new() };
    findings.extend(links::check(&machine));
    findings.extend(system::check(&machine));
    if let Some(host) = &arguments.way.host {
        host::check(host, &arguments.way, &mut findings)?;
    }
    let findings = findings.all;
    let bad = findings.iter().filter(|finding| finding.state == State::Bad).count();
    if output.json {
        Channel::Stdout.print(&findings);
    }
    if bad == 0 {
        return Ok(());
    }
    Err(Failure { is_told: output.json, ..Failure::new(Exit::Failure, count(bad, "problem")) })
}

fn line(finding: &Finding) -> String {
    let state = match finding.state {
        State::Ok => "ok     ",
        State::Warning => "warning",
        State::Bad => "BAD    ",
    };
    let fix = finding.fix.as_ref().map(|fix| format!("\n           {fix}")).unwrap_or_default();
    format!("{state}  {}: {}{fix}", finding.check, finding.found)
}
