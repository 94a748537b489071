//! What a file says: keys, values, and the lines they are on.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{is_switch, key_of};
use hawser_command::exit::Failure;

/// A key and what it is set to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Counted from 1.
    line: usize,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Switch(bool),
    One(String),
    Many(Vec<String>),
}

/// The entries of a text, by line.
///
/// # Errors
/// In words that go behind the name of the file.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        format!(":{line}: {}", error.message())
    })?;
    let mut entries = Vec::new();
    for (key, value) in table.get_ref() {
        let line = line_of(key.span().start);
        let name = key.get_ref().to_string();
        let value = read(value).map_err(|what| format!(":{line}: {name}: {what}"))?;
        entries.push(Entry { key: name, line, value });
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

fn read(value: &Spanned<DeValue<'_>>) -> Result<Value, String> {
    match value.get_ref() {
        DeValue::Boolean(is_on) => Ok(Value::Switch(*is_on)),
        DeValue::Array(values) => {
            let values = values.iter().map(|value| one(value.get_ref()));
            values.collect::<Result<_, _>>().map(Value::Many)
        }
        value => one(value).map(Value::One),
    }
}

fn one(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => Err(
            "expected a string, a number, true or false, or a list of strings and numbers; there are no sections".to_owned(),
        ),
    }
}

impl Entry {
    /// What is wrong with it, and where it stands.
    pub(super) fn failure(&self, path: &Path, what: &str) -> Failure {
        Failure::usage(format!("{}:{}: {what}", path.display(), self.line))
    }

    /// What stands for it on a command line.
    pub(super) fn words(&self, argument: &Arg) -> Result<Vec<OsString>, String> {
        let key = key_of(argument);
        let takes_many = matches!(argument.get_action(), ArgAction::Append);
        let word = |value: &String| match argument.get_long() {
            Some(long) => OsString::from(format!("--{long}={value}")),
            None => OsString::from(value),
        };
        match (&self.value, is_switch(argument)) {
            (Value::Switch(true), true) => Ok(vec![format!("--{key}").into()]),
            (Value::Switch(false), true) => Ok(Vec::new()),
            (_, true) => Err(format!("{key} is either true or false")),
            (Value::Switch(_), false) => Err(format!("{key} takes a value, not true or false")),
            (Value::One(value), false) => Ok(vec![word(value)]),
            (Value::Many(values), false) if takes_many => Ok(values.iter().map(word).collect()),
            (Value::Many(_), false) => Err(format!("{key} takes one value, not a list")),
        }
    }

    /// The value as it may stand in a file.
    pub(super) fn written(&self) -> String {
        match &self.value {
            Value::Switch(is_on) => is_on.to_string(),
            Value::One(value) => quoted(value),
            Value::Many(values) => {
                format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A value in TOML: a number, or a string.
pub(crate) fn quoted(value: &str) -> String {
    if value.parse::<i64>().is_ok_and(|number| number.to_string() == value) {
        return value.to_owned();
    }
    toml::Value::String(value.to_owned()).to_string()
}
