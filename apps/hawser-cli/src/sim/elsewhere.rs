//! `hawser sim sweep --on ray`: the cells run as tasks of Ray, by the Python package `hawser`.

use std::path::Path;
use std::process::{Command, ExitCode};

use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;

/// Names the interpreter that has the package `hawser`.
const PYTHON: &str = "HAWSER_PYTHON";

/// Where the cells of a sweep run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere(String);

impl std::str::FromStr for Elsewhere {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_address = text.strip_prefix("ray://").is_some_and(|address| address.contains(':'));
        if text == "ray" || text == "ray:auto" || is_address {
            return Ok(Elsewhere(text.to_owned()));
        }
        Err("expected ray, ray:auto or ray://HOST:PORT".to_owned())
    }
}

/// Has the package run the plan; `policies` are those of all cells, by field.
///
/// # Errors
/// There is no such interpreter, or it has no package `hawser`.
pub(crate) fn sweep(
    on: &Elsewhere,
    plan: &Path,
    out: &Path,
    workers: Option<u16>,
    policies: &[(String, String)],
    output: Output,
) -> Result<ExitCode, Failure> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    let advice = format!("`pip install ./python[ray]` in an environment, and {PYTHON} names its interpreter");
    let mut command = Command::new(&python);
    command.args(["-m", "hawser", "sweep"]).arg(plan).arg("--on").arg(&on.0).arg("--out").arg(out);
    if let Some(workers) = workers {
        command.args(["--workers", &workers.to_string()]);
    }
    for (field, policy) in policies {
        let kind = field.strip_prefix("transport.").unwrap_or(field);
        command.arg(format!("--{kind}")).arg(policy);
    }
    if output.json {
        command.arg("--json");
    }
    // It is in the same group: Ctrl-C in a terminal reaches it, too.
    let ended = command.status().map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("cannot start {shown}: {error}; --on needs the Python package hawser: {advice}"),
        )
    })?;
    match ended.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        // What Python ends with when it finds no module.
        Some(1) if !has_package(&python) => Err(Failure::new(
            Exit::Failure,
            format!("{shown} has no package hawser, which --on needs: {advice}"),
        )),
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        None => Ok(ExitCode::from(Exit::Signal as u8)),
    }
}

fn has_package(python: &std::ffi::OsStr) -> bool {
    let find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('hawser.__main__') is None)";
    Command::new(python).args(["-c", find]).output().is_ok_and(|done| done.status.success())
}
