//! What the policy `sscc` decides, as JSON lines: bottleneck groups, controllers, and the Data Units that they follow from.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hawser_cc::sscc::{Choice, DataUnit, Experience, Observer};
use hawser_policy::{GroupId, PathId, Side, Time};
use serde_json::{Value, json};

use hawser_command::output::Output;

/// Writes a line for each of them. Times are seconds since the process began.
pub(crate) struct SsccLog {
    path: PathBuf,
    /// None once writing has failed, which is said once.
    file: Mutex<Option<BufWriter<File>>>,
    output: Output,
}

impl SsccLog {
    pub(crate) fn create(path: &Path, output: Output) -> io::Result<SsccLog> {
        let file = Mutex::new(Some(BufWriter::new(File::create(path)?)));
        Ok(SsccLog { path: path.to_owned(), file, output })
    }

    /// Decisions are seldom, and written at once; units wait for the next one, or the end.
    fn write(&self, side: Side, at: Time, mut line: Value, at_once: bool) {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = slot.as_mut() else { return };
        let side = if side == Side::Server { "server" } else { "client" };
        line["at"] = json!(at.as_secs_f64());
        line["side"] = json!(side);
        // In one piece: what a killed process leaves ends with a whole line.
        let line = format!("{line}\n");
        let written =
            file.write_all(line.as_bytes()).and_then(|()| if at_once { file.flush() } else { Ok(()) });
        if let Err(error) = written {
            self.output.remark(format_args!("hawser: {}: {error}; no more is logged", self.path.display()));
            *slot = None;
        }
    }
}

impl Observer for SsccLog {
    fn on_unit(&self, side: Side, unit: &DataUnit) {
        let line = json!({
            "event": "unit", "path": unit.path.0, "seconds": unit.duration.as_secs_f64(), "group": unit.group.0,
            "controller": unit.running.to_string(), "tput_mbps": unit.tput, "loss_mbps": unit.loss,
            "delay_ms": unit.delay, "delay_min_ms": unit.delay_min, "tput_max_mbps": unit.tput_max,
        });
        self.write(side, unit.at, line, false);
    }

    fn on_experience(&self, side: Side, known: &Experience) {
        let line = json!({
            "event": "reward", "path": known.unit.path.0, "controller": known.chosen.to_string(), "reward": known.reward,
        });
        self.write(side, known.outcome.at, line, false);
    }

    fn on_group(&self, side: Side, now: Time, path: PathId, group: GroupId) {
        self.write(side, now, json!({ "event": "group", "path": path.0, "group": group.0 }), true);
    }

    fn on_controller(&self, side: Side, now: Time, path: PathId, from: Option<Choice>, to: Choice) {
        let from = from.map(|from| from.to_string());
        let line =
            json!({ "event": "controller", "path": path.0, "from": from, "controller": to.to_string() });
        self.write(side, now, line, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_reached_the_file_is_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let log = SsccLog::create(&file, Output::default()).unwrap();
        for second in 0..200 {
            let line = json!({ "event": "unit", "delay_ms": 41.464_046_449_999_99 });
            log.write(Side::Server, Time::from_secs(second), line, false);
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.len() > 4_096 && text.ends_with('\n'), "{} bytes", text.len());
    }

    #[test]
    fn decisions_are_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let log = SsccLog::create(&file, Output::default()).unwrap();
        log.on_group(Side::Server, Time::from_secs(3), PathId(1), GroupId(1));
        log.on_controller(Side::Client, Time::from_secs(4), PathId(0), None, Choice::Coupled);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({ "event": "group", "at": 3.0, "side": "server", "path": 1, "group": 1 }));
        assert_eq!((lines[1]["controller"].as_str(), lines[1]["from"].as_str()), (Some("olia"), None));
    }
}
