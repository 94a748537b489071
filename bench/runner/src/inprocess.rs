//! Client and server in one process, in virtual time: numbers that no neighbour can disturb.

use std::process::Command;

use bench_harness::Error;
use serde_json::Value;

use crate::Arguments;
use crate::launch::Launcher;
use crate::results;

/// Runs `bench-inprocess` and repeats what it says.
pub(crate) fn report(arguments: &Arguments, launcher: &Launcher) -> Result<(), Error> {
    let binary = launcher.binary("inprocess");
    let mut reports = Vec::new();
    for part in ["memory", "allocations", "instructions", "acknowledgements", "status"] {
        let output = Command::new(&binary)
            .arg(part)
            .output()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("bench-inprocess {part} failed ({})", output.status).into());
        }
        reports.push(serde_json::from_slice::<Value>(&output.stdout)?);
    }
    results::write(&arguments.out, "memory", (), reports)
}
