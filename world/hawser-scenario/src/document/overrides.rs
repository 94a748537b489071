//! `--set link.wifi0.rate=20 Mbit/s`: one value replaced.

use toml::de::DeValue;

use super::merge::set_both_directions;
use super::policy_fields::{expand, present_name};
use super::{Content, DIRECTED, DIRECTIONS, Entry, NAMED, Node, Origin, Place, Result, Table};

/// Stands for every name in `link.*.rate`.
const EVERY: &str = "*";

/// Replaces what `KEY=VALUE` names. The document is normalised.
pub(super) fn apply(document: &mut Table, text: &str) -> Result<()> {
    let origin = Origin::command_line(text);
    let Some((key, value)) = text.split_once('=') else {
        return Err(origin.error("", "expected KEY=VALUE, such as link.wifi0.rate=20 Mbit/s"));
    };
    let mut keys: Vec<&str> = key.trim().split('.').map(str::trim).collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(origin.error("", format!("{key:?} is no path; expected names with dots between them")));
    }
    if let ["transport", field, ..] | ["flow", _, field, ..] = &mut keys[..] {
        *field = present_name(field);
    }
    let value = node(value.trim(), &origin);
    match keys[..] {
        ["version" | "include", ..] => Err(origin.error(keys[0], "cannot be set from outside of the file")),
        [kind, name, ref fields @ ..] if NAMED.contains(&kind) => {
            set_named(document, &origin, kind, name, fields, &value)
        }
        [kind] if NAMED.contains(&kind) => {
            Err(origin.error(kind, format!("say which {kind} and field: {kind}.NAME.FIELD=VALUE")))
        }
        _ => set_in(document, &origin, &keys, "", &value),
    }
}

/// The value as TOML; as a string when it is none.
fn node(text: &str, origin: &Origin) -> Node {
    match DeValue::parse(text) {
        Ok(value) => Node::convert(&value, &Place::new(origin, text)),
        Err(_) => Node { origin: origin.clone(), content: Content::String(text.to_owned()) },
    }
}

fn set_named(
    document: &mut Table,
    origin: &Origin,
    kind: &str,
    name: &str,
    fields: &[&str],
    value: &Node,
) -> Result<()> {
    let path = format!("{kind}.{name}");
    let Some(Content::Array(items)) = document.get_mut(kind).map(|node| &mut node.content) else {
        return Err(origin.error(&path, format!("the scenario has no [[{kind}]]")));
    };
    let mut names: Vec<String> = items.iter().filter_map(|item| item.name().map(str::to_owned)).collect();
    let mut found = false;
    for item in items.iter_mut().filter(|item| name == EVERY || item.name() == Some(name)) {
        let Some(table) = item.table_mut() else { continue };
        found = true;
        match fields {
            [] | ["name"] => {
                let message = format!(
                    "a {kind} cannot be replaced or renamed; set one of its fields: {path}.FIELD=VALUE"
                );
                return Err(origin.error(&path, message));
            }
            [field] if DIRECTED.contains(&kind) && !DIRECTIONS.contains(field) => {
                set_both_directions(table, entry(field, origin, value.clone()));
            }
            _ => set_in(table, origin, fields, &path, value)?,
        }
    }
    if found {
        return Ok(());
    }
    const MOST_NAMES: usize = 12;
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(origin.error(&path, format!("there is no {kind} {name:?}; there are: {}{more}", names.join(", "))))
}

fn entry(key: &str, origin: &Origin, value: Node) -> Entry {
    Entry { key: key.to_owned(), key_origin: origin.clone(), value }
}

/// Sets `keys` below a table; tables on the way are made. What nobody knows is refused by the reader.
fn set_in(table: &mut Table, origin: &Origin, keys: &[&str], path: &str, value: &Node) -> Result<()> {
    let (Some((first, rest)), true) = (keys.split_first(), keys.len() > 1) else {
        keys.iter().for_each(|key| table.set(entry(key, origin, value.clone())));
        return Ok(());
    };
    if table.get(first).is_none() {
        let empty = Node { origin: origin.clone(), content: Content::Table(Table::default()) };
        table.set(entry(first, origin, empty));
    }
    let path = if path.is_empty() { (*first).to_owned() } else { format!("{path}.{first}") };
    match table.get_mut(first) {
        Some(node) => set_below(node, origin, rest, &path, value),
        None => Ok(()),
    }
}

fn set_below(node: &mut Node, origin: &Origin, keys: &[&str], path: &str, value: &Node) -> Result<()> {
    expand(node, path);
    let kind = node.kind();
    match (&mut node.content, keys) {
        (Content::Table(table), _) => set_in(table, origin, keys, path, value),
        (Content::Array(items), [index, rest @ ..]) => {
            let count = items.len();
            let path = format!("{path}[{index}]");
            let Some(item) = index.parse::<usize>().ok().and_then(|index| items.get_mut(index)) else {
                let message = format!("expected the number of an item below {count}, found {index:?}");
                return Err(origin.error(&path, message));
            };
            if rest.is_empty() {
                *item = value.clone();
                return Ok(());
            }
            set_below(item, origin, rest, &path, value)
        }
        _ => Err(origin.error(path, format!("is no table but a {kind}, so nothing in it can be set"))),
    }
}
