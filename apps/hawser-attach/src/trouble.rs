//! Why an attachment cannot go on.

use std::io::{Error, ErrorKind};

use super::control::ControlError;
use hawser_command::exit::{Exit, Failure};

/// Why a session with wpa_supplicant ended.
pub(super) enum Trouble {
    Control(ControlError),
    /// The interface is gone, or another one has its name.
    Removed,
    Failure(Failure),
}

impl From<ControlError> for Trouble {
    fn from(error: ControlError) -> Self {
        Trouble::Control(error)
    }
}

/// What the kernel refuses about an interface.
pub(super) fn cannot(interface: &str, what: &str, error: &Error) -> Trouble {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => "; it takes root, or CAP_NET_RAW and CAP_NET_ADMIN",
        _ => "",
    };
    Trouble::Failure(Failure::new(Exit::Failure, format!("{interface}: cannot {what}: {error}{hint}")))
}
