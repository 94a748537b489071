//! The help of the whole command: subcommands by who needs them.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

/// Headings, and the subcommands below each.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Use several links",
        &["proxy", "forward", "tunnel", "gateway", "get", "put", "serve", "live", "vr360", "wifi"],
    ),
    ("Watch it run, and set it up", &["top", "ctl", "doctor", "config", "pin", "generate"]),
    (
        "Measure links, and study transports",
        &["perf", "measure", "trace", "qlog", "sim", "emu", "scenario", "lab", "policies"],
    ),
];

/// Returns the command with a help that lists its subcommands by group, each with the first line of its own help. `--help` prints
/// as much as `-h`, a screen; `hawser help` prints all.
pub(crate) fn grouped(command: Command) -> Command {
    let width = command.get_subcommands().map(|below| below.get_name().len()).max().unwrap_or(0);
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}:");
        let shown = |name: &&&str| command.find_subcommand(name).is_none_or(|below| !below.is_hide_set());
        for name in names.iter().filter(shown) {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(text, "  {name:width$}  {}", about.unwrap_or_default());
        }
    }
    text.push_str("\n`hawser help COMMAND` explains one.\n{options}{after-help}");
    let own = help_option(ArgAction::HelpShort)
        .help("Print this; `hawser help` has an example and the exit codes as well");
    // Without the option of the library, which all commands lose then.
    command.help_template(text).disable_help_flag(true).mut_subcommands(with_help).arg(own)
}

fn help_option(action: ArgAction) -> Arg {
    Arg::new("help").short('h').long("help").action(action).help_heading(None::<&str>)
}

/// Returns the command with `-h` and `--help`, and all below it.
fn with_help(command: Command) -> Command {
    let own = help_option(ArgAction::Help)
        .help("Print help (see more with '--help')")
        .long_help("Print help (see a summary with '-h')");
    command.mut_subcommands(with_help).arg(own)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_subcommand_is_in_one_group() {
        let command = crate::Cli::command();
        let known: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "one is listed twice");
    }

    #[test]
    fn help_fits_a_screen() {
        let printed = |words: &str| {
            let words = ["hawser"].into_iter().chain(words.split(' '));
            let result = grouped(crate::Cli::command()).try_get_matches_from(words);
            result.expect_err("help is no command").render().to_string()
        };
        let text = printed("--help");
        assert_eq!(text, printed("-h"));
        for command in ["get", "lab verify"] {
            let [short, long] = ["-h", "--help"].map(|option| printed(&format!("{command} {option}")));
            assert!(short.lines().count() < long.lines().count(), "{short}");
            assert_eq!(long, printed(&format!("help {command}")));
        }
        assert!(text.lines().count() <= 40, "{text}");
        assert!(printed("help").contains("Exit codes"));
        assert!(text.contains("Use several links:\n  proxy     Let programs"), "{text}");
    }
}
