//! What the policy `sscc` decides, as JSON lines: bottleneck groups, controllers, and the Data Units that they follow from.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hawser_policy::{Figure, Note, Side, Time, TraceSink};
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

impl TraceSink for SsccLog {
    fn note(&self, note: &Note) {
        let Some(event) = note.name.strip_prefix("sscc.") else { return };
        let mut line = json!({ "event": event, "path": note.path.map(|path| path.0) });
        for (name, value) in &note.values {
            line[name] = match value {
                Figure::Word(word) => json!(word),
                Figure::Number(group) if *name == "group" => json!(*group as u32),
                Figure::Number(value) => json!(value),
                _ => Value::Null,
            };
        }
        self.write(note.side, note.at, line, matches!(event, "group" | "controller"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hawser_policy::{PathId, Trace};

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
        let log: Arc<dyn TraceSink> = Arc::new(log);
        let [server, client] = [Side::Server, Side::Client].map(|side| Trace::new(side, vec![log.clone()]));
        server.note(Time::from_secs(3), "sscc.group", Some(PathId(1)), || [("group", 1u32.into())]);
        client
            .note(Time::from_secs(4), "sscc.controller", Some(PathId(0)), || [("controller", "olia".into())]);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({ "event": "group", "at": 3.0, "side": "server", "path": 1, "group": 1 }));
        assert_eq!((lines[1]["controller"].as_str(), lines[1]["from"].as_str()), (Some("olia"), None));
    }
}
