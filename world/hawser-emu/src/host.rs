//! What the emulator needs from this host, and reading scenario files.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use hawser_scenario::Scenario;

use crate::error::EmuError;

/// A side of the emulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// Has all links.
    Client,
    /// Is reached over all links.
    Server,
}

impl Host {
    /// `client` or `server`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Checks that an emulation can be started here, without starting one.
///
/// # Errors
/// Names the first thing that is missing and what to do about it.
pub fn check_host() -> Result<(), EmuError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(EmuError::NotRoot);
    }
    OpenOptions::new().read(true).write(true).open("/dev/net/tun").map_err(EmuError::NoTun)?;
    let answer = Command::new("ip").arg("-V").stdin(Stdio::null()).output();
    match answer {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(EmuError::NoIp),
        Err(source) => Err(EmuError::Spawn { command: "ip".to_owned(), source }),
        Ok(_) => Ok(()),
    }
}

/// Reads a scenario file. Files named in it are looked up relative to its folder.
///
/// # Errors
/// Fails when a file cannot be read or has a mistake; the message names file, line and field.
pub fn load_scenario(path: &Path) -> Result<Scenario, EmuError> {
    load_scenario_with(path, &[])
}

/// Reads a scenario file and replaces values in it, each by a `KEY=VALUE` such as `link.wifi0.rate=20 Mbit/s`.
///
/// # Errors
/// Fails as [`load_scenario`] does, and on an override of what does not exist.
pub fn load_scenario_with(path: &Path, overrides: &[String]) -> Result<Scenario, EmuError> {
    Ok(hawser_scenario::load(path, overrides)?)
}
