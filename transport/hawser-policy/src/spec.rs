//! The text that names a policy: `name,key=value,...`.

use std::fmt;
use std::str::FromStr;

/// Bytes of a text that names a policy. It may come from a configuration file or from the peer.
const LONGEST_TEXT: usize = 1_000;
/// Characters of the name of a policy or parameter.
const LONGEST_NAME: usize = 64;

/// The name of a policy and the values of its parameters, as a user writes them: `cubic,beta=0.8`.
///
/// Whether such a policy and such parameters exist is known to a [`Registry`](crate::Registry). A name consists of
/// letters, digits and `-_.+*`, a parameter of letters, digits, `-` and `_`; a value is any text without a comma. Blanks
/// around each of them do not count. [`Display`](fmt::Display) writes what [`FromStr`] reads.
///
/// ```
/// # use hawser_policy::PolicySpec;
/// let spec: PolicySpec = "cubic, beta = 0.8".parse()?;
/// assert_eq!((spec.name(), spec.value("beta")), ("cubic", Some("0.8")));
/// assert_eq!(spec.to_string(), "cubic,beta=0.8");
/// # Ok::<(), hawser_policy::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
pub struct PolicySpec {
    name: String,
    /// Parameter and value, each parameter once.
    values: Vec<(String, String)>,
}

/// Why a text names no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is longer than any that is meant.
    TooLong {
        /// Its bytes.
        found: usize,
    },
    /// What stands in front of the first comma is no name.
    Name {
        /// What was found.
        found: String,
    },
    /// What stands between two commas does not set a parameter.
    Parameter {
        /// What was found.
        found: String,
    },
    /// A parameter is given twice.
    Twice {
        /// Which.
        parameter: String,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::TooLong { found } => {
                write!(f, "expected at most {LONGEST_TEXT} bytes that name a policy, found {found}")
            }
            SpecError::Name { found } => write!(
                f,
                "{found:?} cannot name a policy; expected a word such as \"minrtt\", with parameters \
                 \"cubic,beta=0.8\""
            ),
            SpecError::Parameter { found } => {
                write!(f, "expected PARAMETER=VALUE after each comma, such as \"beta=0.8\", found {found:?}")
            }
            SpecError::Twice { parameter } => write!(f, "the parameter \"{parameter}\" is given twice"),
        }
    }
}

impl std::error::Error for SpecError {}

impl PolicySpec {
    /// A policy with the defaults of all its parameters.
    ///
    /// # Errors
    /// [`SpecError::Name`] if this is no name.
    pub fn new(name: &str) -> Result<Self, SpecError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+*".contains(c);
        if is_word(name, is_part) {
            Ok(PolicySpec { name: name.to_owned(), values: Vec::new() })
        } else {
            Err(SpecError::Name { found: name.to_owned() })
        }
    }

    /// The same with a value for one more parameter, in place of the one that it had.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] if either text could not be read back.
    pub fn with(mut self, parameter: &str, value: impl fmt::Display) -> Result<Self, SpecError> {
        let value = value.to_string();
        check_parameter(parameter, &value)?;
        match self.values.iter_mut().find(|(known, _)| known == parameter) {
            Some((_, known)) => *known = value,
            None => self.values.push((parameter.to_owned(), value)),
        }
        Ok(self)
    }

    /// The name, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of a parameter's value; `None`: its default.
    pub fn value(&self, parameter: &str) -> Option<&str> {
        self.values().find(|(known, _)| *known == parameter).map(|(_, value)| value)
    }

    /// Parameters and the texts of their values, in the order in which they were written.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(parameter, value)| (parameter.as_str(), value.as_str()))
    }
}

fn is_word(text: &str, is_part: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(is_part)
}

/// Whether both could stand in a text and would be read back as they are.
fn check_parameter(name: &str, value: &str) -> Result<(), SpecError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_value = !value.is_empty() && value.trim() == value && !value.contains([',', '\n', '\r']);
    if is_word(name, is_part) && is_value {
        Ok(())
    } else {
        Err(SpecError::Parameter { found: format!("{name}={value}") })
    }
}

impl FromStr for PolicySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.len() > LONGEST_TEXT {
            return Err(SpecError::TooLong { found: text.len() });
        }
        let mut parts = text.split(',').map(str::trim);
        let mut spec = PolicySpec::new(parts.next().unwrap_or_default())?;
        for part in parts {
            let Some((parameter, value)) = part.split_once('=') else {
                return Err(SpecError::Parameter { found: part.to_owned() });
            };
            let (parameter, value) = (parameter.trim_end(), value.trim_start());
            if spec.value(parameter).is_some() {
                return Err(SpecError::Twice { parameter: parameter.to_owned() });
            }
            spec = spec.with(parameter, value)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.values.iter().try_for_each(|(parameter, value)| write!(f, ",{parameter}={value}"))
    }
}

impl From<&PolicySpec> for PolicySpec {
    fn from(spec: &PolicySpec) -> Self {
        spec.clone()
    }
}

impl From<PolicySpec> for String {
    fn from(spec: PolicySpec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<&str> for PolicySpec {
    type Error = SpecError;

    fn try_from(text: &str) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl TryFrom<&String> for PolicySpec {
    type Error = SpecError;

    fn try_from(text: &String) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl TryFrom<String> for PolicySpec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
