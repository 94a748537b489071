//! The commands of README and docs, tried with the real definition of the command line: every subcommand and option that a page names
//! exists, and every value that is not a placeholder is valid. `tests/command/documented.rs` runs the blocks marked `run`.

mod markdown;
mod shell;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use hawser::{PolicyKind, Registry};
use hawser_command::policy_options;

use markdown::Snippet;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the book: README and docs, and those of folders that it includes.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    let others =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "apps/README.md", "apps/hawser-cli/README.md"];
    pages.extend(others.map(|name| root.join(name)));
    pages.sort();
    pages
}

fn snippets() -> Vec<(String, Snippet)> {
    let all = pages().into_iter().flat_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        markdown::snippets(&text).into_iter().map(move |snippet| (name.clone(), snippet))
    });
    all.collect()
}

/// `[--hours N]`, which may be left out, as if it were not.
fn without_brackets(word: &str) -> &str {
    let word = word.strip_prefix("[").filter(|rest| rest.starts_with('-')).unwrap_or(word);
    word.strip_suffix("]").filter(|rest| !rest.contains('[')).unwrap_or(word)
}

/// What stands for a value of the reader's: `HOST`, `PIN`, `N`, `HOST:4435`, `FILE.toml`, `LINK=1GB`.
fn is_placeholder(value: &str) -> bool {
    let first: String = value.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    !first.is_empty() && first.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// A policy that is chosen by a name which none has: the command finds out when it runs.
fn unknown_policy(registry: &Registry, words: &[&str]) -> Option<String> {
    let chosen = words.windows(2).flat_map(|pair| PolicyKind::ALL.map(|kind| (kind, pair[0], pair[1])));
    let mut named = chosen.filter(|(kind, option, _)| *option == policy_options::option(*kind));
    named.find_map(|(kind, option, spec)| {
        let name = spec.split(',').next().unwrap_or_default();
        let is_known = registry.policy(kind, name).is_some() || is_placeholder(name);
        (!is_known).then(|| format!("no policy for {option} is called {name}"))
    })
}

/// Why the command would refuse these words, which begin with `hawser`; what a snippet leaves out is not missed.
fn refusal(registry: &Registry, command: &clap::Command, words: &[String]) -> Option<String> {
    let words: Vec<&str> =
        words.iter().map(|word| without_brackets(word)).filter(|it| *it != "...").collect();
    let Some(error) = command.clone().try_get_matches_from(&words).err() else {
        return unknown_policy(registry, &words);
    };
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand => None,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match error.get(ContextKind::InvalidValue) {
            // An option at the end of a snippet, without its value.
            None => None,
            Some(ContextValue::String(value))
                if value.is_empty() || value.contains("...") || is_placeholder(value) =>
            {
                None
            }
            Some(_) => Some(first_lines(&error)),
        },
        _ => Some(first_lines(&error)),
    }
}

fn first_lines(error: &clap::Error) -> String {
    error.to_string().split("\n\n").next().unwrap_or_default().to_owned()
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    let registry = hawser::policies();
    let command = crate::whole_command(&registry);
    let (mut wrong, mut tried, mut subcommands) = (Vec::new(), 0, BTreeSet::new());
    for (page, snippet) in snippets() {
        for words in shell::commands(&snippet.text, "hawser") {
            tried += 1;
            subcommands.extend(words.get(1).cloned());
            if let Some(why) = refusal(&registry, &command, &words) {
                wrong.push(format!("{page}:{}: {}\n    {why}", snippet.line, words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried} are not understood:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 300, "only {tried} commands found");
    for name in ["serve", "get", "put", "proxy", "tunnel", "gateway", "live", "sim", "lab", "trace", "wifi"] {
        assert!(subcommands.contains(name), "no page shows `hawser {name}`");
    }
}

#[test]
fn every_target_and_script_of_the_documentation_exists() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ']))
        .filter_map(|line| {
            line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')).map(|(name, _)| name)
        })
        .collect();
    let mut wrong = Vec::new();
    for (page, snippet) in snippets() {
        for words in shell::commands(&snippet.text, "make") {
            let options = ["-", "="];
            let named = words.iter().skip(1).filter(|word| {
                !options.iter().any(|sign| word.contains(sign) && !targets.contains(word.as_str()))
            });
            let unknown = named.filter(|word| !targets.contains(word.as_str()) && !is_placeholder(word));
            wrong.extend(unknown.map(|word| format!("{page}:{}: make {word}", snippet.line)));
        }
        for word in snippet.text.split_whitespace().filter(|word| word.starts_with("scripts/")) {
            let name = word.trim_end_matches(['`', '\'', '"', ';', ',', ')', ':', '.']);
            if !is_placeholder(&name["scripts/".len()..])
                && !name.contains(['*', '<'])
                && !root().join(name).exists()
            {
                wrong.push(format!("{page}:{}: {name}", snippet.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_option_that_does_not_exist_is_found() {
    let registry = hawser::policies();
    let command = crate::whole_command(&registry);
    let refused = |text: &str| {
        let commands = shell::commands(text, "hawser");
        assert!(!commands.is_empty(), "{text}");
        commands.iter().find_map(|words| refusal(&registry, &command, words))
    };
    for wrong in [
        "hawser get --no-such-option URL",
        "hawser fetch URL",
        "hawser get --congestion no-such-controller https://h/f",
        "FOO=1 hawser sim run FILE --no-such > out.txt 2>&1 &",
        "$ hawser sim run a.toml | hawser nothing",
        "hawser emu run FILE --server 'hawser serve --nothing' -- true",
        "hawser emu run FILE -- hawser get --nothing URL",
    ] {
        assert!(refused(wrong).is_some(), "{wrong}");
    }
    for right in [
        "hawser get -O --pin PIN https://HOST:4433/FILE      # a comment with --options",
        "hawser proxy ... --status-http 127.0.0.1:9090",
        "hawser sim run a.toml --seed N",
        "car$ hawser measure client HOST --pin 'sha256//...' && hawser trace import measured -o drive",
        "hawser gateway user add alice > alice.key && hawser gateway",
        "hawser forward HOST \\\n    -L 9000:ingest.example:9000/udp",
    ] {
        assert_eq!(refused(right), None, "{right}");
    }
}
