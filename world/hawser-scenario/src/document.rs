//! A scenario as a tree of values, each of which knows where it was written.
//!
//! Several sources make one document: the file, the files it includes, and `--set` overrides. They are merged here,
//! so that the reader sees one tree, and a message about any part of it still names the right file and line.

mod grid;
mod include;
mod merge;
mod overrides;
mod policy_fields;

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ScenarioError;
use crate::files::Files;

pub(crate) use grid::segment_name;
pub(crate) use include::join;
pub(crate) use policy_fields::sets_policy;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The tables whose entries have names: they are merged name by name.
pub(crate) const NAMED: [&str; 5] = ["link", "segment", "flow", "scene", "grid"];
/// Those among them whose fields may be given for each direction.
const DIRECTED: [&str; 3] = ["link", "segment", "grid"];
/// The tables of a direction.
const DIRECTIONS: [&str; 2] = ["up", "down"];

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) content: Content,
}

/// A TOML value. Numbers keep their text: what they mean depends on the field.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    String(String),
    Integer { digits: String, radix: u32 },
    Float(String),
    Boolean(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// Entries in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_origin: Origin,
    pub(crate) value: Node,
}

/// A place in one of the sources.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    source: Arc<SourceName>,
    line: Option<usize>,
}

#[derive(Debug)]
struct SourceName {
    /// As messages call it.
    display: String,
    /// As the scenario's [`Files`] know it; files named in it are relative to its folder.
    path: String,
}

impl Origin {
    /// The beginning of a file. `path` is relative to the scenario.
    pub(crate) fn file(display: &str, path: &str) -> Self {
        Origin {
            source: Arc::new(SourceName { display: display.to_owned(), path: path.to_owned() }),
            line: Some(1),
        }
    }

    /// An override on the command line.
    pub(crate) fn command_line(text: &str) -> Self {
        let source = SourceName { display: format!("--set {text}"), path: String::new() };
        Origin { source: Arc::new(source), line: None }
    }

    pub(crate) fn error(&self, field: &str, message: impl Into<String>) -> ScenarioError {
        ScenarioError {
            file: self.source.display.clone(),
            line: self.line,
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// What the scenario's [`Files`] call a file that is named at this place.
    pub(crate) fn resolve(&self, name: &str) -> String {
        join(&self.source.path, name)
    }

    /// What messages call a file that is named at this place.
    fn display(&self, name: &str) -> String {
        join(&self.source.display, name)
    }

    /// The line in its file; `None` for an override.
    pub(crate) fn line(&self) -> Option<usize> {
        self.line
    }

    /// Whether both were written in the same file, or in the same override.
    pub(crate) fn is_written_with(&self, other: &Origin) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }

    /// Whether this is an override on the command line.
    pub(crate) fn is_override(&self) -> bool {
        self.line.is_none()
    }

    fn at_line(&self, line: usize) -> Self {
        Origin { source: self.source.clone(), line: Some(line) }
    }
}

impl Node {
    pub(crate) fn kind(&self) -> &'static str {
        match self.content {
            Content::String(_) => "string",
            Content::Integer { .. } => "integer",
            Content::Float(_) => "float",
            Content::Boolean(_) => "boolean",
            Content::Datetime => "datetime",
            Content::Array(_) => "array",
            Content::Table(_) => "table",
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The `name` inside, if this is a table that has one.
    fn name(&self) -> Option<&str> {
        match &self.table()?.get("name")?.content {
            Content::String(name) => Some(name),
            _ => None,
        }
    }

    fn convert(value: &Spanned<DeValue<'_>>, place: &Place) -> Self {
        let origin = place.origin(value.span().start);
        let content = match value.get_ref() {
            DeValue::String(text) => Content::String(text.clone().into_owned()),
            DeValue::Integer(number) => {
                Content::Integer { digits: number.as_str().replace('_', ""), radix: number.radix() }
            }
            DeValue::Float(number) => Content::Float(number.as_str().replace('_', "")),
            DeValue::Boolean(value) => Content::Boolean(*value),
            DeValue::Datetime(_) => Content::Datetime,
            DeValue::Array(items) => {
                Content::Array(items.iter().map(|item| Node::convert(item, place)).collect())
            }
            DeValue::Table(table) => Content::Table(Table::convert(table, place)),
        };
        Node { origin, content }
    }
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Puts a value in the place of the one of the same key, or behind the others.
    fn set(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|other| other.key == entry.key) {
            Some(other) => *other = entry,
            None => self.entries.push(entry),
        }
    }

    fn convert(table: &DeTable<'_>, place: &Place) -> Self {
        // The order of the file, so that the first mistake in it is the one reported.
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Entry {
            key: <_ as AsRef<str>>::as_ref(key.get_ref()).to_owned(),
            key_origin: place.origin(key.span().start),
            value: Node::convert(value, place),
        };
        Table { entries: pairs.into_iter().map(entry).collect() }
    }
}

/// Turns positions in a text into lines.
struct Place {
    origin: Origin,
    /// Where each line begins; none for an override.
    line_starts: Vec<usize>,
}

impl Place {
    fn new(origin: &Origin, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        let line_starts = match origin.line {
            Some(_) => std::iter::once(0).chain(breaks).collect(),
            None => Vec::new(),
        };
        Place { origin: origin.clone(), line_starts }
    }

    fn origin(&self, position: usize) -> Origin {
        match self.line_starts.partition_point(|&start| start <= position) {
            0 => self.origin.clone(),
            line => self.origin.at_line(line),
        }
    }
}

/// Reads one file, without its includes.
fn parse(text: &str, origin: &Origin) -> Result<Table> {
    let place = Place::new(origin, text);
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or_else(|| origin.clone(), |span| place.origin(span.start));
        at.error("", format!("not valid TOML: {}", error.message()))
    })?;
    Ok(Table::convert(document.get_ref(), &place))
}

/// The whole document: the file with what it includes, overrides, and the segments of its grids.
pub(crate) fn assemble(text: &str, file: &str, overrides: &[String], files: &mut dyn Files) -> Result<Node> {
    let path = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let origin = Origin::file(file, path);
    let mut table = include::with_includes(text, &origin, &mut include::Includes::of(path), files)?;
    // Segments of a grid can be overridden one by one, so grids come first, with what is said about them.
    let (of_grids, others): (Vec<_>, Vec<_>) =
        overrides.iter().partition(|text| text.trim_start().starts_with("grid."));
    let (parameters, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|text| policy_fields::is_parameter(text));
    for text in of_grids {
        overrides::apply(&mut table, text)?;
    }
    grid::expand(&mut table)?;
    for text in others.into_iter().chain(parameters) {
        overrides::apply(&mut table, text)?;
    }
    Ok(Node { origin, content: Content::Table(table) })
}
