//! `hawser wifi report`.

use hawser_lab::data::table::write_file;
use hawser_lab::data::wifi::WifiReport;
use hawser_wifi::air::Encounter;

use super::Report;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::Channel;

/// Makes the page.
pub(super) fn run(arguments: &Report, output: Output) -> Result<(), Failure> {
    let mut encounters: Vec<Encounter> = Vec::new();
    for file in &arguments.files {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::read(file, &error))?;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let encounter = serde_json::from_str(line).map_err(|error| {
                let reason = format!("{}, line {number}: no attempt: {error}", file.display());
                Failure::new(Exit::NotRead, reason)
            })?;
            encounters.push(encounter);
        }
    }
    if encounters.is_empty() {
        return Err(Failure::new(Exit::NotRead, "there is no attempt in these files"));
    }
    let report = WifiReport::of(&encounters);
    let file = &arguments.output;
    write_file(file, report.html().as_bytes()).map_err(|error| Failure::of_table(&error))?;
    if output.json {
        Channel::Stdout.print(&report);
    } else {
        output.remark(format_args!("{} written", file.display()));
    }
    Ok(())
}
