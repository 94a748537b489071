//! What can be set of a policy, and the values that it gets.

mod file;
mod value;

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

pub use file::{FileContents, PolicyFile};
pub use value::ParameterValue;

use crate::{PolicySpec, Rate};

/// What values a parameter may take.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterRange {
    /// A number from least to most.
    Number(RangeInclusive<f64>),
    /// A whole number from least to most.
    Integer(RangeInclusive<u64>),
    /// A duration from shortest to longest, written with its unit: `20ms`.
    Duration(RangeInclusive<Duration>),
    /// A rate from lowest to highest, written with its unit: `10Mbit`.
    Rate(RangeInclusive<Rate>),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(Vec<String>),
    /// The name of a file, which the program reads for the policy ([`Registry::read_with`](crate::Registry::read_with)).
    File,
}

/// One thing that can be set of a policy.
///
/// ```
/// # use hawser_policy::ParameterInfo;
/// let beta = ParameterInfo::number("beta", 0.1..=0.95, 0.7)
///     .meaning("what remains of the window after congestion")
///     .source("RFC 9438 section 4.6");
/// assert_eq!(beta.to_string(), "beta (0.1 to 0.95, default 0.7)");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name in a [`PolicySpec`].
    pub name: String,
    /// What it may be.
    pub range: ParameterRange,
    /// What it is if nobody sets it. Within the range.
    pub default: ParameterValue,
    /// What it is measured in, such as `datagrams`; empty if it has no unit, or if its values carry one.
    pub unit: String,
    /// One line on what it does; may be empty.
    pub meaning: String,
    /// Where its range or default comes from: a standard's section, a paper's equation; may be empty.
    pub source: String,
}

impl ParameterInfo {
    /// A number. The default counts as the nearest one within the range.
    pub fn number(name: &str, range: RangeInclusive<f64>, default: f64) -> Self {
        let default = default.max(*range.start()).min(*range.end());
        Self::new(name, ParameterRange::Number(range), ParameterValue::Number(default))
    }

    /// A whole number.
    pub fn integer(name: &str, range: RangeInclusive<u64>, default: u64) -> Self {
        let default = default.max(*range.start()).min(*range.end());
        Self::new(name, ParameterRange::Integer(range), ParameterValue::Integer(default))
    }

    /// A duration.
    pub fn duration(name: &str, range: RangeInclusive<Duration>, default: Duration) -> Self {
        let default = default.max(*range.start()).min(*range.end());
        Self::new(name, ParameterRange::Duration(range), ParameterValue::Duration(default))
    }

    /// A rate.
    pub fn rate(name: &str, range: RangeInclusive<Rate>, default: Rate) -> Self {
        let default = default.max(*range.start()).min(*range.end());
        Self::new(name, ParameterRange::Rate(range), ParameterValue::Rate(default))
    }

    /// A switch.
    pub fn flag(name: &str, default: bool) -> Self {
        Self::new(name, ParameterRange::Flag, ParameterValue::Flag(default))
    }

    /// One of several words; the first one is the default.
    pub fn choice<'a>(name: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let default = words.first().cloned().unwrap_or_default();
        Self::new(name, ParameterRange::Choice(words), ParameterValue::Choice(default))
    }

    /// A file; none by default.
    pub fn file(name: &str) -> Self {
        Self::new(name, ParameterRange::File, ParameterValue::File(None))
    }

    fn new(name: &str, range: ParameterRange, default: ParameterValue) -> Self {
        let (unit, meaning, source) = Default::default();
        ParameterInfo { name: name.to_owned(), range, default, unit, meaning, source }
    }

    /// What it is measured in.
    #[must_use]
    pub fn unit(mut self, unit: &str) -> Self {
        unit.clone_into(&mut self.unit);
        self
    }

    /// One line on what it does.
    #[must_use]
    pub fn meaning(mut self, meaning: &str) -> Self {
        meaning.clone_into(&mut self.meaning);
        self
    }

    /// Where range or default come from.
    #[must_use]
    pub fn source(mut self, source: &str) -> Self {
        source.clone_into(&mut self.source);
        self
    }

    /// What may be given, in words: `0.1 to 0.95`, `1 to 64 datagrams`, `true or false`.
    pub fn allowed(&self) -> String {
        match &self.range {
            ParameterRange::Number(range) => self.span(range.start(), range.end()),
            ParameterRange::Integer(range) => self.span(range.start(), range.end()),
            ParameterRange::Duration(range) => {
                self.span(&ParameterValue::Duration(*range.start()), &ParameterValue::Duration(*range.end()))
            }
            ParameterRange::Rate(range) => {
                self.span(&ParameterValue::Rate(*range.start()), &ParameterValue::Rate(*range.end()))
            }
            ParameterRange::Flag => "true or false".to_owned(),
            ParameterRange::Choice(words) => words.join(" or "),
            ParameterRange::File => "a file".to_owned(),
        }
    }

    fn span(&self, least: &dyn fmt::Display, most: &dyn fmt::Display) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{least} to {most}{unit}")
    }

    /// Returns the value that a text stands for; `None` if it is not of this kind, out of range, or the name of a file: the registry has
    /// those read.
    pub fn read(&self, text: &str) -> Option<ParameterValue> {
        match &self.range {
            ParameterRange::Number(range) => {
                let number = text.parse().ok().filter(|number| range.contains(number));
                number.map(ParameterValue::Number)
            }
            ParameterRange::Integer(range) => {
                let number = text.parse().ok().filter(|number| range.contains(number));
                number.map(ParameterValue::Integer)
            }
            ParameterRange::Duration(range) => {
                let duration = value::read_duration(text).filter(|duration| range.contains(duration));
                duration.map(ParameterValue::Duration)
            }
            ParameterRange::Rate(range) => {
                value::read_rate(text).filter(|rate| range.contains(rate)).map(ParameterValue::Rate)
            }
            ParameterRange::Flag => match text {
                "true" | "yes" | "on" => Some(ParameterValue::Flag(true)),
                "false" | "no" | "off" => Some(ParameterValue::Flag(false)),
                _ => None,
            },
            ParameterRange::Choice(words) => {
                let word = words.iter().find(|word| word.eq_ignore_ascii_case(text));
                word.cloned().map(ParameterValue::Choice)
            }
            ParameterRange::File => None,
        }
    }
}

impl fmt::Display for ParameterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, default {})", self.name, self.allowed(), self.default)
    }
}

/// A text that does not fit what a policy declares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterError {
    /// The policy has no such parameter.
    Unknown(String),
    /// Not of the parameter's kind, or out of its range.
    Value {
        /// The parameter.
        parameter: Box<ParameterInfo>,
        /// What was given.
        found: String,
    },
    /// A file that cannot be read, or does not hold what the policy needs.
    File {
        /// The parameter.
        parameter: String,
        /// What is wrong, with the name of the file.
        reason: String,
    },
}

/// The values of all parameters that a policy declares, checked: what a factory is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(Vec<(String, ParameterValue)>);

impl Parameters {
    /// The default of every parameter.
    pub fn defaults(declared: &[ParameterInfo]) -> Self {
        Parameters(declared.iter().map(|info| (info.name.clone(), info.default.clone())).collect())
    }

    /// What `spec` says, and the defaults of what it does not mention. Files are not read.
    ///
    /// # Errors
    /// [`ParameterError`] for the first parameter that is not declared or does not fit.
    pub fn read(declared: &[ParameterInfo], spec: &PolicySpec) -> Result<Self, ParameterError> {
        Self::read_with(declared, spec, &|_, _| Err("files of policies are not read here".to_owned()))
    }

    /// The same; `load` returns the contents of a file that a parameter names, or what is wrong with it: parameter, name of the file.
    pub(crate) fn read_with(
        declared: &[ParameterInfo],
        spec: &PolicySpec,
        load: &dyn Fn(&str, &str) -> Result<FileContents, String>,
    ) -> Result<Self, ParameterError> {
        let mut parameters = Parameters::defaults(declared);
        for (name, text) in spec.values() {
            let of_name = declared.iter().zip(&mut parameters.0).find(|(info, _)| info.name == name);
            let Some((info, (_, value))) = of_name else {
                return Err(ParameterError::Unknown(name.to_owned()));
            };
            if info.range == ParameterRange::File {
                let contents = load(name, text)
                    .map_err(|reason| ParameterError::File { parameter: name.to_owned(), reason })?;
                *value = ParameterValue::File(Some(PolicyFile::new(text, contents)));
                continue;
            }
            *value = info.read(text).ok_or_else(|| ParameterError::Value {
                parameter: Box::new(info.clone()),
                found: text.to_owned(),
            })?;
        }
        Ok(parameters)
    }

    /// The value of a [number](ParameterInfo::number).
    ///
    /// # Panics
    /// This and the methods below, if the policy did not declare a parameter of that name and kind: a mistake in the
    /// program, which no input can cause and every use of the policy shows.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            ParameterValue::Number(number) => *number,
            other => wrong_kind(name, "number", other),
        }
    }

    /// The value of an [integer](ParameterInfo::integer).
    pub fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            ParameterValue::Integer(number) => *number,
            other => wrong_kind(name, "integer", other),
        }
    }

    /// The value of a [duration](ParameterInfo::duration).
    pub fn duration(&self, name: &str) -> Duration {
        match self.get(name) {
            ParameterValue::Duration(duration) => *duration,
            other => wrong_kind(name, "duration", other),
        }
    }

    /// The value of a [rate](ParameterInfo::rate).
    pub fn rate(&self, name: &str) -> Rate {
        match self.get(name) {
            ParameterValue::Rate(rate) => *rate,
            other => wrong_kind(name, "rate", other),
        }
    }

    /// The value of a [flag](ParameterInfo::flag).
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            ParameterValue::Flag(flag) => *flag,
            other => wrong_kind(name, "flag", other),
        }
    }

    /// The value of a [choice](ParameterInfo::choice), spelled as it was declared.
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            ParameterValue::Choice(word) => word,
            other => wrong_kind(name, "choice", other),
        }
    }

    /// The contents of a [file](ParameterInfo::file); `None` if none was given.
    ///
    /// # Panics
    /// Also if the program reads this file as something else than a `T`.
    pub fn file<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        match self.get(name) {
            ParameterValue::File(file) => file.as_ref().map(PolicyFile::contents),
            other => wrong_kind(name, "file", other),
        }
    }

    fn get(&self, name: &str) -> &ParameterValue {
        let value = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("the policy declares no parameter {name:?}"))
    }
}

fn wrong_kind(name: &str, asked: &str, found: &ParameterValue) -> ! {
    panic!("the parameter {name:?} is declared with the value {found}, which is no {asked}")
}

#[cfg(test)]
mod tests;
