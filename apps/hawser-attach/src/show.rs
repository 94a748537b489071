//! An attempt as a line: for people, and in a file.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use hawser_command::exit::Failure;
use hawser_wifi::Phase;
use hawser_wifi::air::Encounter;

/// Appends a line to a file, which is made if it is not there.
///
/// # Errors
/// When it cannot be written.
pub(super) fn append(file: &Path, line: &str) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut open| writeln!(open, "{line}")).map_err(|error| Failure::write(file, &error))
}

/// `12.4 s  Fastweb 02:00:5e:00:00:07, 2437 MHz, -63 dBm: up after 0.71 s (..), 10.64.0.3, used for 12.1 s`.
pub(super) fn line(encounter: &Encounter) -> String {
    let mut text = format!("{:9.2} s  ", encounter.at_s);
    // A cable has neither name nor frequency.
    if encounter.mhz > 0 {
        let _ = write!(
            text,
            "{} {}, {} MHz, {:.0} dBm: ",
            encounter.ssid, encounter.bssid, encounter.mhz, encounter.dbm
        );
    } else {
        let _ = write!(text, "{}: ", encounter.bssid);
    }
    let _ = match encounter.failed_in {
        Some(phase) => write!(text, "failed in {} after {:.2} s", phase.name(), encounter.total_s()),
        None => write!(text, "up after {:.2} s", encounter.total_s()),
    };
    let phases: Vec<String> = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some(format!("{} {}", phase.name(), time(encounter.phase_s(phase)?))))
        .collect();
    let _ = write!(text, " ({})", phases.join(", "));
    if let Some(address) = encounter.address {
        let known = if encounter.is_known_address { " as before" } else { "" };
        let _ = write!(text, ", {address}{known}");
    }
    if encounter.up_s > 0.0 {
        let _ = write!(text, ", used for {:.1} s", encounter.up_s);
    }
    text
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", 1e3 * seconds) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_each_phase_took() {
        let json = r#"{"client":"xfi","at_s":12.4,"ssid":"net","bssid":"02:00:5e:00:00:07","mhz":2437,"dbm":-63.0,
            "phases_ms":{"scan":1300.0,"authenticate":3.2,"dhcp":120.0},"resent":0,"address":"10.64.0.3","up_s":12.1}"#;
        let encounter: Encounter = serde_json::from_str(json).unwrap();
        let text = line(&encounter);
        assert!(text.ends_with(
            "up after 0.12 s (scan 1.3 s, authenticate 3 ms, dhcp 120 ms), 10.64.0.3, used for 12.1 s"
        ));
        let failed = Encounter { failed_in: Some(Phase::Dhcp), address: None, ..encounter };
        assert!(line(&failed).contains("failed in dhcp after 0.12 s"));
    }
}
