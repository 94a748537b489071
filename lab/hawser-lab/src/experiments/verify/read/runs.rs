//! Runs and policies of a list.

use std::collections::BTreeMap;

use toml::{Spanned, Table, Value};

use super::super::error::unknown;
use super::super::list::{NamedPolicy, Program, Runs, Seeds, System};
use super::super::metric::Policy;
use super::super::names::SYSTEM;
use super::items::NO_CONTROL;
use super::text::{ListText, RunsText};
use super::{Known, Lines, Result, Wrong, at};

/// Runs of one table with what varies.
const MOST_RUNS: usize = 1_000;

type Said<T> = std::result::Result<T, String>;
/// Lists of policies, by name.
pub(super) type Compare = BTreeMap<String, Vec<String>>;
/// What stands for the placeholders in a table of runs.
type Placeholders = Vec<(String, String)>;

/// Policies with names, and the lists of such names.
pub(super) fn policies(
    text: &ListText,
    system: &System,
    lines: Lines<'_>,
) -> Result<(Vec<NamedPolicy>, Compare)> {
    let mut policies = Vec::new();
    for (alias, value) in &text.policies {
        let (policy, set) = at(alias, named(value))?;
        let line = lines.of(alias.span().start);
        policies.push(NamedPolicy { alias: alias.get_ref().clone(), text: policy, set, line });
    }
    let mut compare = BTreeMap::new();
    for (name, members) in &text.compare {
        let line = lines.of(name.span().start);
        at(name, members.iter().try_for_each(|member| declare(member, line, system, &mut policies)))?;
        compare.insert(name.get_ref().clone(), members.clone());
    }
    let controls = text.item.iter().filter_map(|item| item.control.as_ref()).chain(&text.control);
    for name in controls.filter(|name| name.get_ref() != NO_CONTROL) {
        let line = lines.of(name.span().start);
        at(name, declare(name.get_ref(), line, system, &mut policies))?;
    }
    Ok((policies, compare))
}

/// `"mams,selection=off"`, or `{ policy = "sedpf", set = { .. } }`.
fn named(value: &Value) -> Said<(String, Vec<String>)> {
    let wrong = || "expected a policy, or { policy = \"..\", set = { .. } }".to_owned();
    if let Some(text) = value.as_str() {
        return Ok((text.to_owned(), Vec::new()));
    }
    let table = value.as_table().ok_or_else(wrong)?;
    let policy = table.get("policy").and_then(Value::as_str).ok_or_else(wrong)?;
    let set = match table.get("set") {
        None => Vec::new(),
        Some(set) => overrides(set.as_table().ok_or_else(wrong)?, &[]),
    };
    if table.keys().any(|key| key != "policy" && key != "set") {
        return Err(wrong());
    }
    Ok((policy.to_owned(), set))
}

/// A policy without parameters needs no name of its own, where the registry says which there are.
fn declare(name: &str, line: usize, system: &System, policies: &mut Vec<NamedPolicy>) -> Said<()> {
    if name == SYSTEM || policies.iter().any(|policy| policy.alias == name) {
        return Ok(());
    }
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    if !system.key.starts_with("transport.") || !is_plain {
        let known = policies.iter().map(|policy| policy.alias.as_str());
        return Err(unknown("policy", name, [SYSTEM].into_iter().chain(known)) + "; [policies] names them");
    }
    policies.push(NamedPolicy { alias: name.to_owned(), text: name.to_owned(), set: Vec::new(), line });
    Ok(())
}

/// All runs in the order of the file, with what varies written out.
pub(super) fn all(
    text: &ListText,
    compare: &Compare,
    policies: &mut Vec<NamedPolicy>,
    system: &System,
    known: Known,
    lines: Lines<'_>,
) -> Result<Vec<Runs>> {
    let settings = &text.settings;
    let mut in_order: Vec<_> = text.runs.iter().collect();
    in_order.sort_by_key(|(name, _)| name.span().start);
    let mut all: Vec<Runs> = Vec::new();
    for (name, text) in in_order {
        let line = lines.of(name.span().start);
        let program = text.program.as_ref().map(|program| at(program, find(known, program.get_ref())));
        let program = program.transpose()?;
        let chosen = chosen(text, compare)?;
        let place = text.policies.as_ref().map_or(name.span().start, |policies| policies.span().start);
        let declared = chosen.iter().try_for_each(|policy| declare(policy, line, system, policies));
        declared.map_err(|message| Wrong { at: place, message })?;
        let of = |alias: &String| match policies.iter().find(|policy| policy.alias == *alias) {
            Some(policy) => Policy::Named(policy.text.clone()),
            None => Policy::System,
        };
        let chosen: Vec<Policy> = chosen.iter().map(of).collect();
        let tables = tables(text, settings)?;
        for placeholders in combinations(&text.vary)? {
            let runs = at(name, one(name.get_ref(), text, program, &placeholders))?;
            let set = tables.iter().flat_map(|table| overrides(table, &placeholders)).collect();
            if all.iter().any(|known| known.name == runs.name) {
                at(name, Err(format!("the runs {} are there twice", runs.name)))?;
            }
            all.push(Runs { set, policies: chosen.clone(), line, ..runs });
        }
    }
    Ok(all)
}

/// The fields that runs set: shared ones, then their own.
fn tables<'a>(text: &'a RunsText, settings: &'a BTreeMap<String, Table>) -> Result<Vec<&'a Table>> {
    let shared = |name: &Spanned<String>| {
        let known = settings.keys().map(String::as_str);
        at(name, settings.get(name.get_ref()).ok_or_else(|| unknown("settings", name.get_ref(), known)))
    };
    let shared = text.settings.iter().map(shared).collect::<Result<Vec<&Table>>>()?;
    Ok(shared.into_iter().chain([&text.set]).collect())
}

fn find(known: Known, name: &str) -> Said<&'static Program> {
    let programs = || known.programs.iter().copied().flatten();
    let found = programs().find(|program| program.name == name);
    found.ok_or_else(|| unknown("program", name, programs().map(|program| program.name)))
}

/// The aliases of the policies of runs.
fn chosen(text: &RunsText, compare: &Compare) -> Result<Vec<String>> {
    match &text.policies {
        Some(value) => at(value, policy_list(value.get_ref(), compare)),
        None => Ok(vec![SYSTEM.to_owned()]),
    }
}

/// The name of a list of policies, or an array of policies.
pub(super) fn policy_list(value: &Value, compare: &Compare) -> Said<Vec<String>> {
    let wrong = || "expected the name of a list in [compare], or an array of policies".to_owned();
    if let Some(name) = value.as_str() {
        let known = compare.keys().map(String::as_str);
        return compare.get(name).cloned().ok_or_else(|| unknown("list of policies", name, known));
    }
    let members = value.as_array().ok_or_else(wrong)?.iter();
    members.map(|member| member.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

fn one(
    name: &str,
    text: &RunsText,
    program: Option<&'static Program>,
    placeholders: &[(String, String)],
) -> Said<Runs> {
    let filled = |text: &String| fill(text, placeholders);
    let scenarios: Vec<String> = text.scenario.iter().chain(&text.scenarios).map(filled).collect();
    if scenarios.is_empty() && program.is_none() {
        return Err("expected a `scenario` or a `program`".to_owned());
    }
    let name = fill(name, placeholders);
    if name.contains(['{', '}', '*']) || name.is_empty() {
        return Err(format!("expected a name without {{, }} and *, found {name:?}"));
    }
    let seeds = text.seeds.map_or(Seeds::ONCE, |[default, full]| Seeds { default, full });
    if seeds.default == 0 || seeds.full == 0 {
        return Err("expected at least one seed".to_owned());
    }
    Ok(Runs { name, scenarios, set: Vec::new(), program, policies: Vec::new(), seeds, line: 0 })
}

/// `vary = { km = [80, 100], mhz = [{ mhz = 5, queue = 1075 }, ..] }`: all combinations, the first name slowest. A table gives
/// the value of its own name, and of more names that go with it.
fn combinations(vary: &BTreeMap<String, Spanned<Vec<Value>>>) -> Result<Vec<Placeholders>> {
    let mut all = vec![Placeholders::new()];
    for (axis, values) in vary {
        let mut next = Vec::new();
        for known in &all {
            for value in values.get_ref() {
                let more = at(values, placeholders(axis, value))?;
                next.push(known.iter().cloned().chain(more).collect());
            }
        }
        all = next;
        if all.is_empty() || all.len() > MOST_RUNS {
            at(values, Err(format!("expected 1 to {MOST_RUNS} combinations, found {}", all.len())))?;
        }
    }
    Ok(all)
}

fn placeholders(axis: &str, value: &Value) -> Said<Placeholders> {
    let Some(table) = value.as_table() else { return Ok(vec![(axis.to_owned(), plain(value))]) };
    if !table.contains_key(axis) {
        return Err(format!("expected a value for {axis} in each table"));
    }
    Ok(table.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
}

/// Strings without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn fill(text: &str, placeholders: &[(String, String)]) -> String {
    placeholders
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Fields and their values, as they stand in an override `KEY=VALUE`.
fn overrides(table: &Table, placeholders: &[(String, String)]) -> Vec<String> {
    let field = |(key, value): (&String, &Value)| {
        let text = match value.as_str() {
            // In quotes only where the bare text would mean something else.
            Some(text) => {
                let filled = fill(text, placeholders);
                let means_else = filled == text && format!("x = {text}").parse::<Table>().is_ok();
                if means_else { value.to_string() } else { filled }
            }
            None => fill(&value.to_string(), placeholders),
        };
        format!("{}={text}", fill(key, placeholders))
    };
    table.iter().map(field).collect()
}
