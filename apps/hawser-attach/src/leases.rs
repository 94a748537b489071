//! The file with the leases of earlier visits.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use hawser_lab::data::table::write_file;
use hawser_wifi::dhcp::{Lease, Leases};

use hawser_command::output::Output;

/// Leases, and where they are kept.
#[derive(Debug)]
pub(super) struct LeaseFile {
    file: PathBuf,
    leases: Leases,
    output: Output,
    is_told: bool,
}

impl LeaseFile {
    /// Reads the file. One that cannot be read costs an exchange per network, not the command.
    pub(super) fn open(file: PathBuf, output: Output) -> LeaseFile {
        let leases = match std::fs::read_to_string(&file) {
            Ok(text) => Leases::from_json(&text).unwrap_or_else(|error| {
                // It may be something else that was named by mistake.
                let kept = match hawser_files::put_aside(&file, "corrupt") {
                    Ok(aside) => format!("kept as {}", aside.display()),
                    Err(error) => format!("and cannot be kept: {error}"),
                };
                output.remark(format_args!("{}: {error}; {kept}", file.display()));
                Leases::default()
            }),
            Err(_) => Leases::default(),
        };
        LeaseFile { file, leases, output, is_told: false }
    }

    /// The lease of a network, unless it has expired by the wall clock.
    pub(super) fn get(&self, ssid: &str) -> Option<Lease> {
        self.leases.get(ssid, unix()).cloned()
    }

    /// Keeps a lease. That it cannot be written is said once.
    pub(super) fn put(&mut self, ssid: &str, lease: Lease) {
        self.leases.put(ssid, lease, unix());
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let _ = folder.map(std::fs::create_dir_all);
        if let Err(error) = write_file(&self.file, self.leases.to_json().as_bytes())
            && !self.is_told
        {
            self.is_told = true;
            self.output.remark(format_args!("leases are not kept: {error}"));
        }
    }
}

fn unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
