//! `hawser config`: files of options, checked and shown.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command, Subcommand};

use super::text::{Entry, quoted};
use super::{COMMANDS, OPTION, find, inserted, is_switch, key_of, keys, read_with_above, words_of};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::count;

/// What can be done about a file of options.
#[derive(Subcommand, Debug)]
pub(crate) enum ConfigCommand {
    /// Say whether a command understands a file (--config), and on which line it does not
    Check(Checked),
    /// Print a file with every option of a command, its default and what it does; with FILE, as that sets them
    Show(Shown),
}

/// A command and a file.
#[derive(Args, Debug)]
pub(crate) struct Checked {
    /// The command: serve, proxy, forward, tunnel, gateway, live publish, live relay, measure server, measure client
    #[arg(required = true, num_args = 1..=2)]
    command: Vec<String>,
    /// The file
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
}

/// A command, and perhaps a file.
#[derive(Args, Debug)]
pub(crate) struct Shown {
    /// The command: serve, proxy, forward, tunnel, gateway, live publish, live relay, measure server, measure client
    #[arg(required = true, num_args = 1..=2)]
    command: Vec<String>,
    /// A file whose values are shown
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Checks or shows.
pub(crate) fn run(what: &ConfigCommand, command: &Command, output: Output) -> Result<(), Failure> {
    match what {
        ConfigCommand::Check(Checked { command: names, file }) => {
            let below = named(command, names)?;
            let entries = read_with_above(command, &slices(names), &below, file)?;
            let words = ["hawser".to_owned()].into_iter().chain(names.iter().cloned());
            let option = format!("--{OPTION}");
            let words = words.chain([option, file.display().to_string()]).map(Into::into).collect();
            let whole = inserted(words, words_of(&entries, file)?);
            super::check(command, &whole, file, &entries)?;
            if let Err(error) = command.clone().try_get_matches_from(whole) {
                let text = error.render().to_string();
                let reason = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
                let reason: Vec<&str> = reason.split_whitespace().collect();
                return Err(Failure::usage(format!("{}: {}", file.display(), reason.join(" "))));
            }
            if output.json {
                let keys: Vec<&str> = entries.iter().map(|(entry, _)| entry.key.as_str()).collect();
                Channel::Stdout.print(&serde_json::json!({ "file": file, "keys": keys }));
            }
            output.remark(format_args!(
                "{}: {}, all understood",
                file.display(),
                count(entries.len(), "option")
            ));
            Ok(())
        }
        ConfigCommand::Show(Shown { command: names, file }) => {
            let below = named(command, names)?;
            let entries = file.as_deref().map_or_else(
                || Ok(Vec::new()),
                |file: &Path| read_with_above(command, &slices(names), &below, file),
            )?;
            print(template(&names.join(" "), &below, &entries).trim_end());
            Ok(())
        }
    }
}

fn slices(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn named(command: &Command, names: &[String]) -> Result<Command, Failure> {
    let words = slices(names);
    let known = COMMANDS.contains(&&words[..]).then(|| find(command, &words)).flatten();
    known.ok_or_else(|| {
        let all: Vec<String> = COMMANDS.iter().map(|names| names.join(" ")).collect();
        Failure::usage(format!(
            "`hawser {}` takes no file of options; these do: {}",
            names.join(" "),
            all.join(", ")
        ))
    })
}

/// A file with every key of a command; those that are not set are comments.
pub(super) fn template(names: &str, command: &Command, entries: &[(Entry, Arg)]) -> String {
    let mut text = format!(
        "# Options of `hawser {names}`, which reads this file with --config. Keys that are comments are not set.\n"
    );
    let (mut first, options): (Vec<&Arg>, Vec<&Arg>) =
        keys(command).partition(|argument| argument.is_positional());
    first.extend(options);
    for argument in first {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "\n# {}", help.replace('\n', "\n# "));
        let key = key_of(argument);
        let set = entries.iter().find(|(entry, _)| entry.key == key);
        let _ = match set {
            Some((entry, _)) => writeln!(text, "{key} = {}", entry.written()),
            None => writeln!(text, "#{key} = {}", example(argument)),
        };
    }
    text
}

/// The default of an option, or what its value is called.
fn example(argument: &Arg) -> String {
    if is_switch(argument) {
        return "false".to_owned();
    }
    let values: Vec<String> =
        argument.get_default_values().iter().map(|value| quoted(&value.to_string_lossy())).collect();
    let name =
        argument.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
    match (values.first(), matches!(argument.get_action(), ArgAction::Append)) {
        (None, true) => format!("[{}]", quoted(name)),
        (None, false) => quoted(name),
        (Some(_), true) => format!("[{}]", values.join(", ")),
        (Some(value), false) => value.clone(),
    }
}
