//! What the emulator needs from this host, and reading scenario files.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use hawser_link::Scenario;

use crate::error::EmuError;

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
    let text = fs::read_to_string(path)
        .map_err(|source| EmuError::ReadScenario { path: path.to_owned(), source })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut read_file = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    Ok(Scenario::parse(&text, &path.display().to_string(), &mut read_file)?)
}
