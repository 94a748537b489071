//! Errors of a scenario file: file, line, field, and what was expected.

use std::fmt;
use std::ops::Range;

/// What is wrong with a scenario file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// Name of the file as given by the caller.
    pub file: String,
    /// Line, counted from 1; `None` when the file could not be read at all.
    pub line: Option<usize>,
    /// Path of the field, such as `link.wifi0.up.rate`; empty when the file as a whole is meant.
    pub field: String,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(formatter, ": {}", self.field)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// The text of a scenario, to turn positions into lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(
        &self,
        span: &Range<usize>,
        field: &str,
        message: impl Into<String>,
    ) -> ScenarioError {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or_default();
        ScenarioError {
            file: self.file.to_owned(),
            line: Some(before.matches('\n').count() + 1),
            field: field.to_owned(),
            message: message.into(),
        }
    }
}
