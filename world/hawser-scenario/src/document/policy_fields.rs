//! Fields that name a policy: `transport.congestion = "cubic,beta=0.8"`.

use hawser_policy::{PolicyKind, PolicySpec};

use super::{Content, Entry, Node, Origin, Result, Table};

/// Returns the present name of a field of `[transport]` or of a flow.
pub(super) fn present_name(field: &str) -> &str {
    PolicyKind::named(field).map_or(field, |kind| kind.field())
}

/// Gives the fields of `[transport]` and of all flows their present names. The document is normalised.
pub(super) fn rename(document: &mut Table) -> Result<()> {
    if let Some(transport) = document.get_mut("transport").and_then(Node::table_mut) {
        rename_in(transport, "transport")?;
    }
    let Some(Content::Array(flows)) = document.get_mut("flow").map(|node| &mut node.content) else {
        return Ok(());
    };
    for flow in flows {
        let path = format!("flow.{}", flow.name().unwrap_or_default());
        if let Some(flow) = flow.table_mut() {
            rename_in(flow, &path)?;
        }
    }
    Ok(())
}

fn rename_in(table: &mut Table, path: &str) -> Result<()> {
    for kind in PolicyKind::ALL {
        let present = kind.field();
        for former in kind.former() {
            let both = table.get(present).is_some();
            let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == *former) else { continue };
            if both {
                let message = format!("is the former name of `{present}`, which is given as well");
                return Err(entry.key_origin.error(&format!("{path}.{former}"), message));
            }
            present.clone_into(&mut entry.key);
        }
    }
    Ok(())
}

/// Whether an override sets a parameter of a policy, as `transport.congestion.beta` does. Such overrides come last: they
/// hold for whatever policy others choose.
pub(super) fn is_parameter(text: &str) -> bool {
    let key = text.split_once('=').map_or(text, |(key, _)| key);
    let keys: Vec<&str> = key.split('.').map(str::trim).collect();
    match keys[..] {
        ["transport", field, _] | ["flow", _, field, _] => is_policy(field),
        _ => false,
    }
}

/// Whether the field of this path names a policy, or is a parameter of one.
pub(crate) fn sets_policy(path: &str) -> bool {
    let keys: Vec<&str> = path.split('.').map(str::trim).collect();
    match keys[..] {
        ["transport", field, ..] | ["flow", _, field, ..] => is_policy(field),
        _ => false,
    }
}

fn is_policy(field: &str) -> bool {
    PolicyKind::named(field).is_some()
}

/// Makes a table of a policy's text, so that a parameter can be set in it: `{ name = "cubic", beta = "0.8" }`. `path` is
/// that of the field. A text that names no policy stays as it is.
pub(super) fn expand(node: &mut Node, path: &str) {
    let is_field = path.rsplit_once('.').is_some_and(|(table, field)| {
        (table == "transport" || table.starts_with("flow.")) && is_policy(field)
    });
    let Content::String(text) = &node.content else { return };
    let Some(spec) = Some(text).filter(|_| is_field).and_then(|text| text.parse::<PolicySpec>().ok()) else {
        return;
    };
    let entry = |key: &str, value: &str| entry(key, value, &node.origin);
    let values = spec.values().map(|(parameter, value)| entry(parameter, value));
    let entries = std::iter::once(entry("name", spec.name())).chain(values).collect();
    node.content = Content::Table(Table { entries });
}

fn entry(key: &str, value: &str, origin: &Origin) -> Entry {
    let value = Node { origin: origin.clone(), content: Content::String(value.to_owned()) };
    Entry { key: key.to_owned(), key_origin: origin.clone(), value }
}
