//! The key to a server that lets not everybody store files.

use std::path::Path;

use crate::site::check_key;
use hawser_command::environment::variable;
use hawser_command::exit::Failure;

/// The variable that may hold it.
const VARIABLE: &str = "HAWSER_KEY";
/// Most bytes of its file.
const MAX_FILE: u64 = 4096;

/// From the file, or else from the environment.
pub(super) fn find(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let (text, name) = match file {
        Some(path) => (read(path).map_err(|error| Failure::read(path, &error))?, path.display().to_string()),
        None => match variable(VARIABLE)? {
            Some(text) => (text, VARIABLE.to_owned()),
            None => return Ok(None),
        },
    };
    let key = check_key(text.trim()).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok(Some(key.to_owned()))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::Read::take(std::fs::File::open(path)?, MAX_FILE), &mut text)?;
    Ok(text)
}
