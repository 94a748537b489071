//! Reads tables field by field, remembering which fields exist so that errors can name them.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use hawser_link::{MICROSECOND, Nanos};

use super::units;
use crate::document::{Content, Node, Origin, Table};
use crate::error::ScenarioError;
use crate::nearest::nearest;

/// A table whose fields are taken one by one; [`Fields::finish`] complains about the rest.
pub(crate) struct Fields<'a> {
    origin: &'a Origin,
    path: String,
    table: &'a Table,
    /// Every name that was asked for: these are the allowed fields.
    asked: RefCell<Vec<&'static str>>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(crate) struct Value<'a> {
    pub(crate) path: String,
    node: &'a Node,
}

type Result<T> = std::result::Result<T, ScenarioError>;

/// Shortest time between two changes of a model. What changes faster is beyond what packets can tell, and a simulation
/// would compute changes only: `limits.events` counts packets and timers, not those.
const SHORTEST_INTERVAL: Nanos = MICROSECOND;

/// Fields of a table that are listed where one is missing.
const MOST_LISTED: usize = 4;

impl<'a> Fields<'a> {
    pub(crate) fn new(origin: &'a Origin, path: String, table: &'a Table) -> Self {
        Self { origin, path, table, asked: RefCell::default() }
    }

    /// The field `name`, if it is there.
    pub(crate) fn optional(&self, name: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().push(name);
        self.table.get(name).map(|node| self.value(name, node))
    }

    /// The field `name`, read by `read`, if it is there.
    pub(crate) fn read<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Value<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.optional(name).map(|value| read(&value)).transpose()
    }

    /// The field `name`, read by `read`, or `default`.
    pub(crate) fn read_or<T>(
        &self,
        name: &'static str,
        default: T,
        read: impl FnOnce(&Value<'a>) -> Result<T>,
    ) -> Result<T> {
        Ok(self.read(name, read)?.unwrap_or(default))
    }

    /// The field `name`; `example` shows how to write it.
    pub(crate) fn required(&self, name: &'static str, example: &str) -> Result<Value<'a>> {
        self.optional(name).ok_or_else(|| {
            self.missing(&[name], &format!("the field `{name}` is missing; write `{name} = {example}`"))
        })
    }

    /// The error that none of these fields is there, or not the right ones. A field that nobody asked for and whose name is like one of
    /// them is what is wrong; the fields of a short table are listed.
    pub(crate) fn missing(&self, wanted: &[&'static str], message: &str) -> ScenarioError {
        let asked = self.asked.borrow();
        let unknown = self.table.entries.iter().filter(|entry| !asked.contains(&entry.key.as_str()));
        for entry in unknown {
            if let Some(meant) = nearest(&entry.key, wanted.iter().copied()) {
                let message = format!("unknown field; did you mean `{meant}`?");
                return entry.key_origin.error(&self.path_of(&entry.key), message);
            }
        }
        let found: Vec<String> = self.table.entries.iter().map(|entry| format!("`{}`", entry.key)).collect();
        match found.len() {
            1..=MOST_LISTED => self.error(format!("{message}; found: {}", found.join(", "))),
            _ => self.error(message),
        }
    }

    /// All fields, for tables whose keys are free.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + '_ {
        self.table.entries.iter().map(|entry| (entry.key.as_str(), self.value(&entry.key, &entry.value)))
    }

    /// Fails on the first field that nobody asked for.
    pub(crate) fn finish(self) -> Result<()> {
        let mut asked = self.asked.take();
        asked.sort_unstable();
        asked.dedup();
        match self.table.entries.iter().find(|entry| !asked.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => {
                let meant = nearest(&entry.key, asked.iter().copied());
                let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
                let message = format!("unknown field; {meant}allowed here: {}", asked.join(", "));
                Err(entry.key_origin.error(&self.path_of(&entry.key), message))
            }
        }
    }

    /// An error about the table as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> ScenarioError {
        self.origin.error(&self.path, message)
    }

    /// Another name for the table in messages, such as the name of a link instead of its number.
    pub(crate) fn rename(&mut self, path: String) {
        self.path = path;
    }

    fn value(&self, name: &str, node: &'a Node) -> Value<'a> {
        Value { path: self.path_of(name), node }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn error(&self, message: impl Into<String>) -> ScenarioError {
        self.node.origin.error(&self.path, message)
    }

    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    pub(crate) fn expected(&self, what: &str) -> ScenarioError {
        self.error(format!("expected {what}, found {}", self.node.kind()))
    }

    /// The name under which the scenario's [`Files`](crate::Files) know the file that this value names.
    pub(crate) fn file(&self) -> Result<String> {
        Ok(self.node.origin.resolve(self.string()?))
    }

    pub(crate) fn string(&self) -> Result<&'a str> {
        self.as_string().ok_or_else(|| self.expected("a string in quotes"))
    }

    pub(crate) fn as_string(&self) -> Option<&'a str> {
        match &self.node.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it comes from the command line and not from a file.
    pub(crate) fn is_override(&self) -> bool {
        self.node.origin.is_override()
    }

    pub(crate) fn is_table(&self) -> bool {
        self.node.table().is_some()
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.node.content, Content::Array(_))
    }

    pub(crate) fn boolean(&self) -> Result<bool> {
        match self.node.content {
            Content::Boolean(value) => Ok(value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T> {
        let text = self.string()?;
        choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.error(format!("unknown value {text:?}; allowed: {}", names.join(", ")))
        })
    }

    pub(crate) fn integer(&self, allowed: RangeInclusive<u64>) -> Result<u64> {
        let what = match (allowed.start(), allowed.end()) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("a whole number from {least} to {most}"),
        };
        let Content::Integer { digits, radix } = &self.node.content else { return Err(self.expected(&what)) };
        match u64::from_str_radix(digits, *radix) {
            Ok(value) if allowed.contains(&value) => Ok(value),
            _ => Err(self.error(format!("expected {what}, found {digits}"))),
        }
    }

    /// A number of 1 or more, such as a mean burst length.
    pub(crate) fn at_least_one(&self) -> Result<f64> {
        match self.number()? {
            value if value >= 1.0 => Ok(value),
            value => Err(self.error(format!("expected a number of 1 or more, found {value}"))),
        }
    }

    /// A number within bounds.
    pub(crate) fn within(&self, allowed: RangeInclusive<f64>) -> Result<f64> {
        match self.number()? {
            value if allowed.contains(&value) => Ok(value),
            value => Err(self.error(format!(
                "expected a number from {} to {}, found {value}",
                allowed.start(),
                allowed.end()
            ))),
        }
    }

    /// Any number that is one: no infinity.
    pub(crate) fn number(&self) -> Result<f64> {
        let value = match &self.node.content {
            Content::Integer { digits, radix: 10 } => digits.parse().ok(),
            Content::Integer { digits, radix } => {
                i64::from_str_radix(digits, *radix).ok().map(|value| value as f64)
            }
            Content::Float(text) => text.parse().ok(),
            _ => return Err(self.expected("a number")),
        };
        value.filter(|value: &f64| value.is_finite()).ok_or_else(|| self.error("expected a finite number"))
    }

    pub(crate) fn duration(&self) -> Result<Nanos> {
        self.text_quantity("a duration such as \"15 ms\"", units::parse_duration)
    }

    /// A duration above zero.
    pub(crate) fn positive_duration(&self) -> Result<Nanos> {
        match self.duration()? {
            0 => Err(self.error(format!(
                "expected a duration above zero and at most 100 years, found {:?}",
                self.as_string().unwrap_or_default()
            ))),
            duration => Ok(duration),
        }
    }

    /// The time between two changes of a model, or the period of what comes back.
    pub(crate) fn interval(&self) -> Result<Nanos> {
        match self.duration()? {
            interval if interval >= SHORTEST_INTERVAL => Ok(interval),
            _ => Err(self.error(format!(
                "expected at least \"1 us\", found {:?}",
                self.as_string().unwrap_or_default()
            ))),
        }
    }

    pub(crate) fn rate(&self) -> Result<u64> {
        self.text_quantity("a rate such as \"40 Mbit/s\"", units::parse_rate)
    }

    /// A rate above zero.
    pub(crate) fn positive_rate(&self) -> Result<u64> {
        match self.rate()? {
            0 => Err(self.error("expected a rate above zero")),
            rate => Ok(rate),
        }
    }

    /// Bytes, within bounds: a plain number, or a text with its unit.
    pub(crate) fn size_within(&self, allowed: RangeInclusive<u64>) -> Result<u64> {
        let (size, found) = match &self.node.content {
            Content::Integer { digits, radix } => (u64::from_str_radix(digits, *radix).ok(), digits.clone()),
            _ => {
                let size = self.text_quantity("a size such as \"250 kB\"", units::parse_size)?;
                (Some(size), format!("{:?}", self.as_string().unwrap_or_default()))
            }
        };
        size.filter(|size| allowed.contains(size)).ok_or_else(|| {
            self.error(format!("expected {} to {} bytes, found {found}", allowed.start(), allowed.end()))
        })
    }

    pub(crate) fn probability(&self) -> Result<f64> {
        if let Some(text) = self.as_string() {
            return units::parse_probability(text).map_err(|message| self.error(message));
        }
        match self.number()? {
            value if (0.0..=1.0).contains(&value) => Ok(value),
            value => {
                Err(self.error(format!("expected a probability from 0.0 to 1.0 or \"1 %\", found {value}")))
            }
        }
    }

    pub(crate) fn text_quantity<T>(
        &self,
        what: &str,
        parse: fn(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        match self.as_string() {
            Some(text) => parse(text).map_err(|message| self.error(message)),
            None => Err(self.expected(&format!("{what}, with its unit and in quotes"))),
        }
    }

    pub(crate) fn fields(&self) -> Result<Fields<'a>> {
        match self.node.table() {
            Some(table) => Ok(Fields::new(&self.node.origin, self.path.clone(), table)),
            None => Err(self.expected("a table")),
        }
    }

    pub(crate) fn array(&self) -> Result<Vec<Value<'a>>> {
        let Content::Array(items) = &self.node.content else { return Err(self.expected("an array")) };
        let item = |(index, node): (usize, &'a Node)| Value { path: format!("{}[{index}]", self.path), node };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The items of an array, each read by `read`.
    pub(crate) fn list<T>(&self, read: impl FnMut(&Value<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.array()?.iter().map(read).collect()
    }
}
