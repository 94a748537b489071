//! The applications that there are, by name.

use std::fmt;

use hawser_policy::{ParameterError, ParameterInfo, Parameters, PolicySpec};

use crate::{Application, layered, live, tiles};

/// What can be said of an application without running one.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationInfo {
    /// Its name.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// What can be set.
    pub parameters: Vec<ParameterInfo>,
    /// Streams that its receiving end has to allow at a time; drivers allow what they always do if that is more.
    pub streams: u64,
    make: Make,
}

/// Makes the sending and the receiving end.
#[derive(Clone, Copy, Debug)]
struct Make {
    sender: fn(&Parameters, u64) -> Box<dyn Application>,
    receiver: fn(&Parameters) -> Box<dyn Application>,
}

// What is declared is compared, not the code.
impl PartialEq for Make {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// All applications.
pub fn catalogue() -> Vec<ApplicationInfo> {
    vec![
        ApplicationInfo {
            name: "live",
            summary: "a live video: frames are sent when they are made, and played at the other end",
            parameters: live::parameters(),
            streams: 1,
            make: Make { sender: live::publisher, receiver: live::viewer },
        },
        ApplicationInfo {
            name: "layered",
            summary: "a video of a base and two enhancement layers, of which late ones are left out",
            parameters: layered::parameters(),
            streams: 3,
            make: Make { sender: layered::sender, receiver: layered::receiver },
        },
        ApplicationInfo {
            name: "tiles",
            summary: "360-degree video in tiles, each of use until its deadline only",
            parameters: tiles::parameters(),
            streams: tiles::STREAMS,
            make: Make { sender: tiles::sender, receiver: tiles::receiver },
        },
    ]
}

/// The application that a text chooses.
///
/// # Errors
/// [`ChooseError`], whose message says what could have been chosen.
pub fn choose(spec: &PolicySpec) -> Result<Choice, ChooseError> {
    let mut known = catalogue();
    let Some(at) = known.iter().position(|info| info.name.eq_ignore_ascii_case(spec.name())) else {
        let known = known.iter().map(|info| info.name).collect();
        return Err(ChooseError::Unknown { name: spec.name().to_owned(), known });
    };
    let info = known.swap_remove(at);
    let parameters = Parameters::read(&info.parameters, spec)
        .map_err(|error| ChooseError::Parameter { application: Box::new(info.clone()), error })?;
    Ok(Choice { text: spec.to_string(), info, parameters })
}

/// An application with its parameters, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    text: String,
    info: ApplicationInfo,
    parameters: Parameters,
}

impl Choice {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.info.name
    }

    /// Streams that its receiving end has to allow at a time.
    pub fn streams(&self) -> u64 {
        self.info.streams
    }

    /// The end that sends. All that is random follows from `seed`.
    pub fn sender(&self, seed: u64) -> Box<dyn Application> {
        (self.info.make.sender)(&self.parameters, seed)
    }

    /// The end that receives.
    pub fn receiver(&self) -> Box<dyn Application> {
        (self.info.make.receiver)(&self.parameters)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text chooses no application.
#[derive(Clone, Debug, PartialEq)]
pub enum ChooseError {
    /// None has this name.
    Unknown {
        /// The name given.
        name: String,
        /// Those that exist.
        known: Vec<&'static str>,
    },
    /// A parameter that it does not have, or a value that it cannot take.
    Parameter {
        /// The application.
        application: Box<ApplicationInfo>,
        /// What is wrong.
        error: ParameterError,
    },
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChooseError::Unknown { name, known } => {
                write!(f, "there is no application named \"{name}\"; known are: {}", known.join(", "))
            }
            ChooseError::Parameter { application, error: ParameterError::Unknown(parameter) } => {
                let known: Vec<String> = application.parameters.iter().map(ToString::to_string).collect();
                let name = application.name;
                write!(f, "{name} has no parameter \"{parameter}\"; it has: {}", known.join(", "))
            }
            ChooseError::Parameter { application, error: ParameterError::Value { parameter, found } } => {
                write!(
                    f,
                    "{}: expected {} for \"{}\" (default {}), found \"{found}\"",
                    application.name,
                    parameter.allowed(),
                    parameter.name,
                    parameter.default
                )
            }
            ChooseError::Parameter { application, error: ParameterError::File { parameter, reason } } => {
                write!(f, "{}: \"{parameter}\": {reason}", application.name)
            }
            ChooseError::Parameter { application, .. } => {
                write!(f, "{}: a parameter is wrong", application.name)
            }
        }
    }
}

impl std::error::Error for ChooseError {}
