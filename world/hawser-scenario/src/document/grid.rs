//! `[grid]`: an N x N core of wired links, written out as segments.

use super::{Content, Entry, Node, Origin, Result, Table};

/// Nodes on a side: more than any published grid.
const LARGEST: u64 = 64;

/// The segment that leads from node `(row, column)` to its neighbour on the right or below.
pub(crate) fn segment_name(grid: &str, row: u64, column: u64, right: bool) -> String {
    format!("{grid}-{row}-{column}-{}", if right { "right" } else { "down" })
}

/// Adds the segments of all grids, below those that the file names itself. The document is normalised.
pub(super) fn expand(document: &mut Table) -> Result<()> {
    let Some(Content::Array(grids)) = document.get("grid").map(|node| &node.content) else { return Ok(()) };
    let mut segments = Vec::new();
    let Some(origin) = document.get("grid").map(|node| node.origin.clone()) else { return Ok(()) };
    for grid in grids {
        let Some(table) = grid.table() else {
            return Err(grid.origin.error("grid", format!("expected a table, found {}", grid.kind())));
        };
        let Some(name) = grid.name() else {
            return Err(grid.origin.error("grid", "the field `name` is missing; write `name = \"core\"`"));
        };
        let size = size(grid, table, name)?;
        for row in 0..size {
            for column in 0..size {
                if column + 1 < size {
                    segments.push(segment(table, segment_name(name, row, column, true)));
                }
                if row + 1 < size {
                    segments.push(segment(table, segment_name(name, row, column, false)));
                }
            }
        }
    }
    let mut below = Table::default();
    let array = Node { origin: origin.clone(), content: Content::Array(segments) };
    below.set(Entry { key: "segment".to_owned(), key_origin: origin, value: array });
    if let Some(own) = document.remove("segment") {
        super::merge::merge(&mut below, Table { entries: vec![own] });
    }
    below.entries.into_iter().for_each(|entry| document.set(entry));
    Ok(())
}

fn size(grid: &Node, table: &Table, name: &str) -> Result<u64> {
    let error = |origin: &Origin| {
        origin.error(&format!("grid.{name}.size"), format!("expected a whole number from 2 to {LARGEST}"))
    };
    let Some(node) = table.get("size") else { return Err(error(&grid.origin)) };
    match &node.content {
        Content::Integer { digits, radix } => u64::from_str_radix(digits, *radix)
            .ok()
            .filter(|size| (2..=LARGEST).contains(size))
            .ok_or_else(|| error(&node.origin)),
        _ => Err(error(&node.origin)),
    }
}

/// A segment with the fields of the grid.
fn segment(grid: &Table, name: String) -> Node {
    let mut fields = grid.clone();
    fields.remove("size");
    let mut origin = None;
    for entry in fields.entries.iter_mut().filter(|entry| entry.key == "name") {
        entry.value.content = Content::String(name.clone());
        origin = Some(entry.value.origin.clone());
    }
    let origin = origin.unwrap_or_else(|| Origin::file("", ""));
    Node { origin, content: Content::Table(fields) }
}
