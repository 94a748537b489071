//! Keys in variables of the environment.

use crate::exit::Failure;

/// What a variable says. One that is empty says nothing: that is how scripts and units switch a variable off.
///
/// # Errors
/// When it is no text.
pub fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(Failure::usage(format!("{name}: {error}"))),
    }
}
