//! One document over another: what the upper one says replaces what the lower one says, field by field.

use super::policy_fields;
use super::{Content, DIRECTED, DIRECTIONS, Entry, NAMED, Node, Result, Table};

/// Tables without names that are merged field by field.
const PLAIN: [&str; 2] = ["transport", "limits"];

/// Turns `[link.wifi0]` into `[[link]]` with a `name`, likewise for all tables with names. Fields get their present names.
pub(super) fn normalise(table: &mut Table) -> Result<()> {
    for kind in NAMED {
        let Some(node) = table.get_mut(kind) else { continue };
        let origin = node.origin.clone();
        match &mut node.content {
            Content::Array(_) => {}
            // A scenario has one grid as a rule: `[grid]` with its `name` is enough.
            Content::Table(single)
                if kind == "grid" && single.get("name").is_some_and(|n| n.table().is_none()) =>
            {
                let only = Node { origin, content: Content::Table(std::mem::take(single)) };
                node.content = Content::Array(vec![only]);
            }
            Content::Table(by_name) => {
                let items = std::mem::take(by_name).entries.into_iter();
                node.content =
                    Content::Array(items.map(|entry| with_name(kind, entry)).collect::<Result<_>>()?);
            }
            _ => {
                let message = format!("expected [[{kind}]], or [{kind}.NAME], found {}", node.kind());
                return Err(origin.error(kind, message));
            }
        }
    }
    policy_fields::rename(table)
}

fn with_name(kind: &str, mut entry: Entry) -> Result<Node> {
    let path = format!("{kind}.{}", entry.key);
    let Some(table) = entry.value.table_mut() else {
        let message = format!(
            "expected a table; {kind}s are written as [[{kind}]], with two brackets, or as [{kind}.NAME]"
        );
        return Err(entry.key_origin.error(&path, message));
    };
    if let Some(name) = table.get("name") {
        let message = format!("the name is given by [{path}] already");
        return Err(name.origin.error(&format!("{path}.name"), message));
    }
    let name = Node { origin: entry.key_origin.clone(), content: Content::String(entry.key) };
    table.entries.insert(0, Entry { key: "name".to_owned(), key_origin: entry.key_origin, value: name });
    Ok(entry.value)
}

/// Lays `upper` over `lower`. Both are normalised.
pub(super) fn merge(lower: &mut Table, upper: Table) {
    for entry in upper.entries {
        let Some(below) = lower.get_mut(&entry.key) else {
            lower.entries.push(entry);
            continue;
        };
        match (&mut below.content, entry.value.content) {
            (Content::Array(below), Content::Array(above)) if NAMED.contains(&entry.key.as_str()) => {
                merge_named(&entry.key, below, above);
            }
            (Content::Table(below), Content::Table(above)) if PLAIN.contains(&entry.key.as_str()) => {
                above.entries.into_iter().for_each(|entry| below.set(entry));
            }
            (_, content) => {
                *below = Node { origin: entry.value.origin, content };
            }
        }
    }
}

fn merge_named(kind: &str, below: &mut Vec<Node>, above: Vec<Node>) {
    // Two of the same name in one file are a mistake, which the reader reports: they are not merged.
    let inherited = below.len();
    let mut merged = vec![false; inherited];
    for node in above {
        let place = below[..inherited]
            .iter()
            .position(|other| node.name().is_some() && other.name() == node.name())
            .filter(|&index| !std::mem::replace(&mut merged[index], true));
        match (place, node.content) {
            (Some(index), Content::Table(above)) => {
                below[index].origin = node.origin;
                if let Some(below) = below[index].table_mut() {
                    merge_item(kind, below, above);
                }
            }
            (_, content) => below.push(Node { origin: node.origin, content }),
        }
    }
}

fn merge_item(kind: &str, below: &mut Table, above: Table) {
    for entry in above.entries {
        if !DIRECTED.contains(&kind) {
            below.set(entry);
        } else if !DIRECTIONS.contains(&entry.key.as_str()) {
            set_both_directions(below, entry);
        } else {
            match (below.get_mut(&entry.key).and_then(Node::table_mut), entry.value.content) {
                (Some(below), Content::Table(above)) => {
                    above.entries.into_iter().for_each(|entry| below.set(entry));
                }
                (_, content) => {
                    let value = Node { origin: entry.value.origin, content };
                    below.set(Entry { value, ..entry });
                }
            }
        }
    }
}

/// Sets a field of a link as a whole: what was said below about a single direction no longer holds.
pub(super) fn set_both_directions(item: &mut Table, entry: Entry) {
    for direction in DIRECTIONS {
        if let Some(table) = item.get_mut(direction).and_then(Node::table_mut) {
            table.remove(&entry.key);
        }
    }
    item.set(entry);
}
