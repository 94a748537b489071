//! Traces for others: a scenario with its series, mahimahi files, a table.

mod error;
mod mahimahi;
mod scenario;
mod table;

pub use error::ExportError;
use std::path::PathBuf;

pub use mahimahi::{mahimahi_files, to_mahimahi};
pub use scenario::{SCENARIO_MARK, ScenarioOptions, scenario_files, to_scenario};
pub use table::to_table;

use super::Trace;
use crate::data::table::write_file;

/// A file that is not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Where it belongs.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// Writes files, the first one last: it may name the others. Returns where they are, in their order.
///
/// # Errors
/// Fails when a file cannot be written; those after it are there then.
pub fn write_drafts(drafts: Vec<Draft>) -> Result<Vec<PathBuf>, ExportError> {
    for Draft { path, text } in drafts.iter().rev() {
        write_file(path, text.as_bytes())?;
    }
    Ok(drafts.into_iter().map(|draft| draft.path).collect())
}

/// A name for the files and the interface of a link: a letter and up to 14 letters, digits, - or _, different
/// from those before.
fn plain_names(trace: &Trace) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for link in &trace.links {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let mut base: String = link.name.chars().map(plain).collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
            base.insert_str(0, "link");
        }
        let shortened = |suffix: &str| format!("{}{suffix}", &base[..base.len().min(15 - suffix.len())]);
        let mut name = shortened("");
        let mut count = 1;
        while names.contains(&name) || name == "lo" {
            count += 1;
            name = shortened(&count.to_string());
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::trace::LinkTrace;

    #[test]
    fn names_fit_interfaces() {
        let names = ["lo", "Verizon LTE short (1)", "Verizon LTE short (2)", "5g", "ä"];
        let links = names.map(LinkTrace::new).to_vec();
        let trace = Trace { name: String::new(), links, duration: 1, notes: Vec::new() };
        assert_eq!(plain_names(&trace), ["lo2", "Verizon-LTE-sho", "Verizon-LTE-sh2", "link5g", "link-"]);
    }
}
