//! Reads TOML tables field by field, remembering which fields exist so that errors can name them.

use std::cell::RefCell;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::error::{ScenarioError, Source};
use crate::time::Nanos;
use crate::units;

/// A table whose fields are taken one by one; [`Fields::finish`] complains about the rest.
pub(super) struct Fields<'a> {
    source: Source<'a>,
    path: String,
    span: Range<usize>,
    entries: Vec<Entry<'a>>,
    /// Every name that was asked for: these are the allowed fields.
    asked: RefCell<Vec<&'static str>>,
}

struct Entry<'a> {
    key: &'a str,
    key_span: Range<usize>,
    value: Value<'a>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: Source<'a>,
    pub(super) path: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

type Result<T> = std::result::Result<T, ScenarioError>;

impl<'a> Fields<'a> {
    pub(super) fn new(source: Source<'a>, path: String, span: Range<usize>, table: &'a DeTable<'a>) -> Self {
        let mut entries: Vec<Entry<'a>> = table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().as_ref();
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                let value = Value { source, path, span: value.span(), value: value.get_ref() };
                Entry { key: name, key_span: key.span(), value }
            })
            .collect();
        // The order of the file, so that the first mistake in it is the one reported.
        entries.sort_by_key(|entry| entry.key_span.start);
        Self { source, path, span, entries, asked: RefCell::default() }
    }

    /// The field `name`, if it is there.
    pub(super) fn optional(&self, name: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().push(name);
        self.entries.iter().find(|entry| entry.key == name).map(|entry| entry.value.clone())
    }

    /// The field `name`; `example` shows how to write it.
    pub(super) fn required(&self, name: &'static str, example: &str) -> Result<Value<'a>> {
        self.optional(name)
            .ok_or_else(|| self.error(format!("the field `{name}` is missing; write `{name} = {example}`")))
    }

    /// Fails on the first field that nobody asked for.
    pub(super) fn finish(self) -> Result<()> {
        let mut asked = self.asked.take();
        asked.sort_unstable();
        asked.dedup();
        match self.entries.iter().find(|entry| !asked.contains(&entry.key)) {
            None => Ok(()),
            Some(entry) => {
                let message = format!("unknown field; allowed here: {}", asked.join(", "));
                Err(self.source.error(&entry.key_span, &entry.value.path, message))
            }
        }
    }

    /// An error about the table as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> ScenarioError {
        self.source.error(&self.span, &self.path, message)
    }

    /// Another name for the table in messages, such as the name of a link instead of its number.
    pub(super) fn rename(&mut self, path: String) {
        for entry in &mut self.entries {
            entry.value.path = format!("{path}.{}", entry.key);
        }
        self.path = path;
    }
}

impl<'a> Value<'a> {
    pub(super) fn error(&self, message: impl Into<String>) -> ScenarioError {
        self.source.error(&self.span, &self.path, message)
    }

    fn expected(&self, what: &str) -> ScenarioError {
        self.error(format!("expected {what}, found {}", self.value.type_str()))
    }

    pub(super) fn string(&self) -> Result<&'a str> {
        match self.value {
            DeValue::String(text) => Ok(text.as_ref()),
            _ => Err(self.expected("a string in quotes")),
        }
    }

    pub(super) fn as_string(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T> {
        let text = self.string()?;
        choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.error(format!("unknown value {text:?}; allowed: {}", names.join(", ")))
        })
    }

    pub(super) fn integer(&self, allowed: std::ops::RangeInclusive<u64>) -> Result<u64> {
        let what = format!("a whole number from {} to {}", allowed.start(), allowed.end());
        let DeValue::Integer(number) = self.value else { return Err(self.expected(&what)) };
        let digits = number.as_str().replace('_', "");
        match u64::from_str_radix(&digits, number.radix()) {
            Ok(value) if allowed.contains(&value) => Ok(value),
            _ => Err(self.error(format!("expected {what}, found {}", number.as_str()))),
        }
    }

    /// A number of 1 or more, such as a mean burst length.
    pub(super) fn at_least_one(&self) -> Result<f64> {
        match self.number()? {
            value if value >= 1.0 && value.is_finite() => Ok(value),
            value => Err(self.error(format!("expected a number of 1 or more, found {value}"))),
        }
    }

    fn number(&self) -> Result<f64> {
        let text = match self.value {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.expected("a number")),
        };
        text.replace('_', "").parse().map_err(|_| self.expected("a number"))
    }

    pub(super) fn duration(&self) -> Result<Nanos> {
        self.text_quantity("a duration such as \"15 ms\"", units::parse_duration)
    }

    /// A duration above zero.
    pub(super) fn positive_duration(&self) -> Result<Nanos> {
        match self.duration()? {
            0 => Err(self.error("expected a duration above zero")),
            duration => Ok(duration),
        }
    }

    pub(super) fn rate(&self) -> Result<u64> {
        self.text_quantity("a rate such as \"40 Mbit/s\"", units::parse_rate)
    }

    pub(super) fn size(&self) -> Result<u64> {
        match self.value {
            DeValue::Integer(_) => self.integer(1..=u64::from(u32::MAX)),
            _ => self.text_quantity("a size such as \"250 kB\"", units::parse_size),
        }
    }

    pub(super) fn probability(&self) -> Result<f64> {
        if let DeValue::String(text) = self.value {
            return units::parse_probability(text).map_err(|message| self.error(message));
        }
        match self.number()? {
            value if (0.0..=1.0).contains(&value) => Ok(value),
            value => {
                Err(self.error(format!("expected a probability from 0.0 to 1.0 or \"1 %\", found {value}")))
            }
        }
    }

    fn text_quantity<T>(&self, what: &str, parse: fn(&str) -> std::result::Result<T, String>) -> Result<T> {
        match self.value {
            DeValue::String(text) => parse(text).map_err(|message| self.error(message)),
            _ => Err(self.expected(&format!("{what}, with its unit and in quotes"))),
        }
    }

    pub(super) fn fields(&self) -> Result<Fields<'a>> {
        match self.value {
            DeValue::Table(table) => {
                Ok(Fields::new(self.source, self.path.clone(), self.span.clone(), table))
            }
            _ => Err(self.expected("a table")),
        }
    }

    pub(super) fn array(&self) -> Result<Vec<Value<'a>>> {
        let DeValue::Array(items) = self.value else { return Err(self.expected("an array")) };
        let item = |(index, item): (usize, &'a toml::Spanned<DeValue<'a>>)| Value {
            source: self.source,
            path: format!("{}[{index}]", self.path),
            span: item.span(),
            value: item.get_ref(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }
}
