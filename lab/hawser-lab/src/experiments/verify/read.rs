//! Reads acceptance lists from TOML. Names of runs, policies, groups, programs and metrics are checked here, before anything
//! runs; what is wrong is told with the line.

mod items;
mod runs;
mod text;

use std::collections::BTreeMap;
use std::path::Path;

use hawser_policy::PolicyKind;
use toml::Spanned;

use super::error::{ListError, unknown};
use super::figure::Plot;
use super::list::{List, NamedPolicy, Program, Runs, System};
use super::names::{Members, Names};
use crate::experiments::ExperimentError;
use text::ListText;

/// What lists may name that is written in Rust.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Programs that measure.
    pub programs: &'static [&'static [Program]],
    /// Drawings of their own.
    pub plots: &'static [&'static [Plot]],
}

/// Something wrong at a byte of the text.
struct Wrong {
    at: usize,
    message: String,
}

type Result<T> = std::result::Result<T, Wrong>;

/// Whatever went wrong with something, at its place.
fn at<T, S>(place: &Spanned<S>, result: std::result::Result<T, String>) -> Result<T> {
    result.map_err(|message| Wrong { at: place.span().start, message })
}

/// Reads the list in a file.
///
/// # Errors
/// [`ExperimentError`]: the file cannot be read, or something in it is wrong.
pub fn read_file(path: &Path, known: Known) -> std::result::Result<List, ExperimentError> {
    let failed = |error: std::io::Error| ExperimentError::NotRead(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ok(read(&text, &path.display().to_string(), known)?)
}

/// Reads a list. `file` is its name for messages.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(text: &str, file: &str, known: Known) -> std::result::Result<List, ListError> {
    let lines = Lines(text);
    let parsed: std::result::Result<ListText, _> = toml::from_str(text);
    let read = parsed.map_err(|error| Wrong {
        at: error.span().map_or(0, |span| span.start),
        message: error.message().to_owned(),
    });
    read.and_then(|parsed| build(parsed, file, known, lines)).map_err(|wrong| ListError {
        file: file.to_owned(),
        line: lines.of(wrong.at),
        message: wrong.message,
    })
}

/// Which line a byte is on.
#[derive(Clone, Copy)]
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn of(self, at: usize) -> usize {
        let before = &self.0.as_bytes()[..at.min(self.0.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

fn build(text: ListText, file: &str, known: Known, lines: Lines<'_>) -> Result<List> {
    let system = at(&text.system, system(text.system.get_ref()))?;
    let defaults = defaults(&text)?;
    let (mut policies, compare) = runs::policies(&text, &system, lines)?;
    let all = runs::all(&text, &compare, &mut policies, &system, known, lines)?;
    let groups = groups(&text, &compare, &all, &policies)?;
    let names = Names { policies: &policies, runs: &all, groups: &groups };
    let items = items::all(&text, &names, lines)?;
    let figures = items::figures(&text, &names, &compare, known)?;
    Ok(List {
        name: text.name,
        file: file.to_owned(),
        title: text.title,
        source: text.source,
        system,
        defaults,
        policies,
        runs: all,
        items,
        figures,
    })
}

fn system(table: &BTreeMap<String, String>) -> std::result::Result<System, String> {
    let mut fields = table.iter();
    match (fields.next(), fields.next()) {
        (Some((key, policy)), None) => Ok(System { key: key.clone(), policy: policy.clone() }),
        _ => Err(
            "expected the field that is verified and its value, such as \"transport.scheduler\" = \"mams\""
                .to_owned(),
        ),
    }
}

/// `congestion = "cubic"`: what is used where nobody chooses.
fn defaults(text: &ListText) -> Result<Vec<(PolicyKind, String)>> {
    let read = |(field, name): (&Spanned<String>, &String)| {
        let kind = PolicyKind::named(field.get_ref());
        let known = PolicyKind::ALL.into_iter().map(PolicyKind::field);
        let kind = kind.ok_or_else(|| unknown("kind of policy", field.get_ref(), known));
        Ok((at(field, kind)?, name.clone()))
    };
    text.defaults.iter().map(read).collect()
}

/// The groups of the file, and the lists of policies that are compared, which are groups as well.
fn groups(
    text: &ListText,
    compare: &runs::Compare,
    runs: &[Runs],
    policies: &[NamedPolicy],
) -> Result<BTreeMap<String, Members>> {
    let numbered = |names: Vec<String>| names.into_iter().zip(0u32..).map(|(name, at)| (name, f64::from(at)));
    let mut groups: BTreeMap<String, Members> =
        compare.iter().map(|(name, all)| (name.clone(), numbered(all.clone()).collect())).collect();
    let is_known = |name: &str| {
        runs.iter().any(|runs| runs.name == name) || policies.iter().any(|policy| policy.alias == name)
    };
    for (name, value) in &text.groups {
        let known_runs = runs.iter().map(|runs| runs.name.as_str());
        let members = at(value, members(value.get_ref(), runs))?;
        if let Some((member, _)) = members.iter().find(|(member, _)| !is_known(member)) {
            at(value, Err(unknown("runs", member, known_runs)))?;
        }
        if members.is_empty() {
            at(value, Err("expected at least one member".to_owned()))?;
        }
        groups.insert(name.clone(), members);
    }
    Ok(groups)
}

/// `["up-20", "km-*"]`, or `{ loss-1 = 1, loss-2 = 2 }`, which is put in the order of the numbers.
fn members(value: &toml::Value, runs: &[Runs]) -> std::result::Result<Members, String> {
    let wrong = || "expected an array of names, or a table of names with numbers".to_owned();
    if let Some(table) = value.as_table() {
        let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|it| it as f64));
        let members = table.iter().map(|(name, value)| Some((name.clone(), number(value)?)));
        let mut members: Members = members.collect::<Option<_>>().ok_or_else(wrong)?;
        members.sort_by(|one, other| one.1.total_cmp(&other.1));
        return Ok(members);
    }
    let mut names: Vec<String> = Vec::new();
    for entry in value.as_array().ok_or_else(wrong)? {
        let entry = entry.as_str().ok_or_else(wrong)?;
        match entry.split_once('*') {
            None => names.push(entry.to_owned()),
            Some((before, after)) => {
                let fits = |name: &&str| {
                    name.len() >= entry.len() - 1 && name.starts_with(before) && name.ends_with(after)
                };
                names.extend(runs.iter().map(|runs| runs.name.as_str()).filter(fits).map(str::to_owned));
            }
        }
    }
    Ok(names.into_iter().zip(0u32..).map(|(name, at)| (name, f64::from(at))).collect())
}

#[cfg(test)]
mod tests;
