use thiserror::Error;

/// Why a model could not produce a profile.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RadioError {
    /// A parameter has a value that no such link can have.
    #[error("{model}: {parameter} = {got} is impossible: expected {expected}")]
    Parameter {
        /// The model, as [`Model::name`](crate::Model::name) gives it, or the part of it.
        model: &'static str,
        /// The field.
        parameter: &'static str,
        /// What it held.
        got: String,
        /// What it may hold.
        expected: &'static str,
    },
    /// A text that a model reads (positions, orbital elements, a measurement) is malformed.
    #[error("{what}, line {line}: {reason}")]
    Text {
        /// What was read.
        what: &'static str,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing can be received: no satellite above the mask, no site in reach.
    #[error("{model}: {reason}")]
    NoCoverage {
        /// The model.
        model: &'static str,
        /// What is missing, and where.
        reason: String,
    },
    /// The profile would have no length.
    #[error("{model}: the duration is zero: expected at least one nanosecond")]
    NoDuration {
        /// The model.
        model: &'static str,
    },
}

/// Collects the checks of one model, so that a message names model, field and allowed values.
#[derive(Clone, Copy)]
pub(crate) struct Check(pub(crate) &'static str);

impl Check {
    pub(crate) fn fail<T>(
        self,
        parameter: &'static str,
        got: impl ToString,
        expected: &'static str,
    ) -> Result<T, RadioError> {
        Err(RadioError::Parameter { model: self.0, parameter, got: got.to_string(), expected })
    }

    pub(crate) fn that(
        self,
        holds: bool,
        parameter: &'static str,
        got: impl ToString,
        expected: &'static str,
    ) -> Result<(), RadioError> {
        if holds { Ok(()) } else { self.fail(parameter, got, expected) }
    }

    pub(crate) fn positive(self, parameter: &'static str, value: f64) -> Result<(), RadioError> {
        self.that(value.is_finite() && value > 0.0, parameter, value, "a finite number above 0")
    }

    pub(crate) fn not_negative(self, parameter: &'static str, value: f64) -> Result<(), RadioError> {
        self.that(value.is_finite() && value >= 0.0, parameter, value, "a finite number, 0 or above")
    }

    pub(crate) fn finite(self, parameter: &'static str, value: f64) -> Result<(), RadioError> {
        self.that(value.is_finite(), parameter, value, "a finite number")
    }

    pub(crate) fn share(self, parameter: &'static str, value: f64) -> Result<(), RadioError> {
        self.that((0.0..=1.0).contains(&value), parameter, value, "a share from 0 to 1")
    }

    pub(crate) fn range(self, parameter: &'static str, range: (f64, f64)) -> Result<(), RadioError> {
        let (low, high) = range;
        let holds = low.is_finite() && high.is_finite() && low >= 0.0 && low <= high;
        self.that(holds, parameter, format!("{low}..{high}"), "two finite numbers, 0 <= first <= second")
    }

    pub(crate) fn duration(self, duration_ns: u64) -> Result<(), RadioError> {
        if duration_ns == 0 { Err(RadioError::NoDuration { model: self.0 }) } else { Ok(()) }
    }
}
