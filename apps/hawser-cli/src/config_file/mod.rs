//! Options in a file: `--config FILE` of commands that run for long.
//!
//! Each key is the name of an option, without its dashes, or of a positional argument in lower case; `true` gives an option that takes
//! no value. What a file says is put behind the words of the command line, unless the same option, or one that it excludes, is there
//! or in the environment. So each value is checked where those of the command line are, and a new option of a command is a new key.

mod show;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use hawser_command::exit::Failure;

pub(crate) use show::{ConfigCommand, run};
use text::Entry;
pub(crate) use text::quoted;

/// The commands that take a file.
const COMMANDS: [&[&str]; 10] = [
    &["serve"],
    &["proxy"],
    &["forward"],
    &["tunnel"],
    &["tunnel", "check"],
    &["gateway"],
    &["live", "publish"],
    &["live", "relay"],
    &["measure", "server"],
    &["measure", "client"],
];
const OPTION: &str = "config";
/// Options of which an environment variable says the same.
const VARIABLES: [(&str, &str); 4] = [
    ("key_file", "HAWSER_KEY"),
    ("key", "HAWSER_LIVE_KEY"),
    ("qlog", "QLOGDIR"),
    ("keylog", "SSLKEYLOGFILE"),
];
/// What is no key: it says what is printed, or does something else.
const NEVER: [&str; 7] = [OPTION, "help", "version", "json", "quiet", "verbose", "cleanup"];
/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Returns the command with `--config` where it is understood.
pub(crate) fn with_option(command: Command) -> Command {
    COMMANDS.iter().fold(command, |command, names| add_option(command, names))
}

fn add_option(command: Command, names: &[&str]) -> Command {
    match names.split_first() {
        Some((name, rest)) => command.mut_subcommand(*name, |below| add_option(below, rest)),
        None => command.arg(
            Arg::new(OPTION)
                .long(OPTION)
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Read options from this file (TOML): each key is the name of one. The command line and the environment go before it")
                .long_help(
                    "Read options from this file (TOML): each key is the name of one, such as `listen = \"[::]:443\"`, `nat = true`, \
                     `dns = [\"9.9.9.9\"]`. The command line and the environment go before it. `hawser config show COMMAND` prints a \
                     file with every key",
                ),
        ),
    }
}

/// Returns the words of the command line together with those of the file that they name, if they name one.
///
/// # Errors
/// When the file cannot be read, is no TOML, or has a key that is no option of the command; or when a value is wrong.
pub(crate) fn expand(command: &Command, words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let relaxed = relaxed(command.clone());
    let Ok(matches) = relaxed.try_get_matches_from(&words) else { return Ok(words) };
    let (names, matches) = leaf(&matches);
    if !COMMANDS.contains(&&names[..]) {
        return Ok(words);
    }
    let Some(path) = matches.get_one::<PathBuf>(OPTION) else { return Ok(words) };
    let Some(below) = find(command, &names) else { return Ok(words) };
    let entries = read_with_above(command, &names, &below, path)?;
    let given = |argument: &Arg| is_given(matches, argument);
    // Either may name the other as what it excludes.
    let excluded = |argument: &Arg| {
        let names = |one: &Arg, other: &Arg| {
            below.get_arg_conflicts_with(one).into_iter().any(|it| it.get_id() == other.get_id())
        };
        below
            .get_arguments()
            .filter(|other| given(other))
            .any(|other| names(argument, other) || names(other, argument))
    };
    let mut added = Vec::new();
    for (entry, argument) in &entries {
        if !given(argument) && !excluded(argument) {
            added.extend(entry.words(argument).map_err(|what| entry.failure(path, &what))?);
        }
    }
    let whole = inserted(words, added);
    check(command, &whole, path, &entries)?;
    Ok(whole)
}

/// The command with nothing that has to be there, which finds out what is.
fn relaxed(command: Command) -> Command {
    fn optional(command: Command) -> Command {
        command.mut_args(|argument| argument.required(false)).mut_subcommands(optional)
    }
    optional(command).ignore_errors(true).subcommand_required(false)
}

/// The subcommand that is meant, and what it was given.
fn leaf(matches: &ArgMatches) -> (Vec<&str>, &ArgMatches) {
    let (mut names, mut matches) = (Vec::new(), matches);
    while let Some((name, below)) = matches.subcommand() {
        names.push(name);
        matches = below;
    }
    (names, matches)
}

/// The subcommand of these names.
fn find(command: &Command, names: &[&str]) -> Option<Command> {
    let mut command = command.clone();
    // Global options are those of subcommands as well, once it is built.
    command.build();
    names.iter().try_fold(&command, |command, name| command.find_subcommand(name)).cloned()
}

fn is_given(matches: &ArgMatches, argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    let source = matches.try_contains_id(id).ok().and_then(|_| matches.value_source(id));
    let is_in_environment = || {
        VARIABLES
            .iter()
            .any(|(of, name)| *of == id && std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    };
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable)) || is_in_environment()
}

/// What a file says to a command; where it is one for the command above it, what it says to that one must be right as well.
fn read_with_above(
    command: &Command,
    names: &[&str],
    below: &Command,
    path: &Path,
) -> Result<Vec<(Entry, Arg)>, Failure> {
    let names = names.split_last().map_or(names, |(_, above)| above);
    let Some(above) = find(command, names).filter(|_| COMMANDS.contains(&names)) else {
        return read(path, below, None);
    };
    let entries = read(path, below, Some(&above))?;
    let all = read(path, &above, Some(below))?;
    let words: Vec<OsString> = ["hawser"].iter().chain(names).map(OsString::from).collect();
    check(command, &inserted(words, words_of(&all, path)?), path, &all)?;
    Ok(entries)
}

/// What stands for some entries on a command line.
fn words_of(entries: &[(Entry, Arg)], path: &Path) -> Result<Vec<OsString>, Failure> {
    let mut words = Vec::new();
    for (entry, argument) in entries {
        words.extend(entry.words(argument).map_err(|what| entry.failure(path, &what))?);
    }
    Ok(words)
}

/// What a file says to a command, which may be one for the command above it.
fn read(path: &Path, command: &Command, above: Option<&Command>) -> Result<Vec<(Entry, Arg)>, Failure> {
    let length = std::fs::metadata(path).map_err(|error| Failure::read(path, &error))?.len();
    if length > MAX_FILE {
        return Err(Failure::usage(format!(
            "{}: more than {MAX_FILE} bytes; is this a configuration?",
            path.display()
        )));
    }
    let content = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    let entries =
        text::entries(&content).map_err(|what| Failure::usage(format!("{}{what}", path.display())))?;
    let known: Vec<&Arg> = keys(command).collect();
    let mut found = Vec::new();
    for entry in entries {
        match known.iter().find(|argument| has_key(argument, &entry.key)) {
            Some(argument) => found.push((entry, (*argument).clone())),
            // Of a file for the command above: `tunnel check` reads that of `tunnel`.
            None if above.is_some_and(|above| keys(above).any(|argument| has_key(argument, &entry.key))) => {}
            None => return Err(entry.failure(path, &unknown(&entry.key, &known, command))),
        }
    }
    Ok(found)
}

/// The arguments of a command that a file may have.
fn keys(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| {
        let is_option = argument.get_long().is_some() || argument.is_positional();
        is_option && !NEVER.contains(&argument.get_id().as_str())
    })
}

/// The name of an argument in a file.
fn key_of(argument: &Arg) -> &str {
    argument.get_long().unwrap_or(argument.get_id().as_str())
}

/// Returns true if an argument has this name in a file, or had it formerly.
fn has_key(argument: &Arg, key: &str) -> bool {
    key_of(argument) == key || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&key))
}

fn unknown(key: &str, known: &[&Arg], command: &Command) -> String {
    let alike = |argument: &&&Arg| {
        let name = key_of(argument);
        name == key.replace('_', "-") || distance(name, key) <= 2
    };
    let hint = known
        .iter()
        .find(alike)
        .map_or_else(String::new, |argument| format!(" (did you mean \"{}\"?)", key_of(argument)));
    let name = command.get_bin_name().unwrap_or(command.get_name()).replacen("hawser ", "", 1);
    format!("hawser {name} has no option \"{key}\"{hint}; `hawser config show {name}` prints all")
}

/// How many letters have to be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (b, cell) in other.iter().zip(row.iter_mut().skip(1)) {
            let change = diagonal + usize::from(a != *b);
            diagonal = *cell;
            left = change.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The words with others behind them, but before what follows `--`.
fn inserted(mut words: Vec<OsString>, added: Vec<OsString>) -> Vec<OsString> {
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(at..at, added);
    words
}

/// Finds a value that is wrong where it stands in the file. Other errors are those of the command line.
fn check(
    command: &Command,
    words: &[OsString],
    path: &Path,
    entries: &[(Entry, Arg)],
) -> Result<(), Failure> {
    let Err(error) = command.clone().try_get_matches_from(words) else { return Ok(()) };
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return Ok(()) };
    let name = argument.split([' ', '=']).next().unwrap_or_default();
    let names = |(_, of): &&(Entry, Arg)| {
        of.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long))
            || (of.is_positional() && argument.contains(&format!("{of}")))
    };
    let Some((entry, _)) = entries.iter().find(names) else { return Ok(()) };
    let text = error.render().to_string();
    let reason =
        text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").replace('\n', " ");
    Err(entry.failure(path, &reason))
}

/// Whether an argument is given or not, and takes no value.
fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse)
}

#[cfg(test)]
mod tests;
