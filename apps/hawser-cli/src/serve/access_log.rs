//! A line for each request: for people, or for programs.

use clap::ValueEnum;
use hawser::{LoggedAddress, Printable};
use serde::{Serialize, Serializer};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use hawser_command::output::Output;
use hawser_command::units;

/// How requests are logged.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessLog {
    /// A line of text with the time in UTC
    #[default]
    Text,
    /// A JSON object in a line
    Json,
    /// Nothing
    None,
}

/// A request and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    #[serde(serialize_with = "as_text")]
    pub(super) remote: LoggedAddress,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    /// Of the file, whichever way it went.
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    /// Why it was broken off, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) broken_off: Option<String>,
}

/// A client that made no request, since its handshake failed.
#[derive(Debug, Serialize)]
struct Refusal<'a> {
    #[serde(serialize_with = "as_text")]
    remote: LoggedAddress,
    refused: &'a str,
}

/// An entry or refusal with its time.
#[derive(Serialize)]
struct Timed<'a, T> {
    time: &'a str,
    #[serde(flatten)]
    entry: &'a T,
}

impl AccessLog {
    /// Logs a request on standard error.
    pub(super) fn write(self, entry: &Entry<'_>, output: Output) {
        let line = match self {
            AccessLog::None => return,
            AccessLog::Text => text(&now(), entry),
            AccessLog::Json => json(entry),
        };
        output.remark(line);
    }

    /// Logs on standard error why a client was refused.
    pub(super) fn refuse(self, remote: LoggedAddress, reason: &str, output: Output) {
        match self {
            AccessLog::None => {}
            AccessLog::Text => output.remark(format_args!("{} {remote} no connection: {reason}", now())),
            AccessLog::Json => output.remark(json(&Refusal { remote, refused: reason })),
        }
    }
}

/// A line for programs.
fn json(entry: &impl Serialize) -> String {
    serde_json::to_string(&Timed { time: &now(), entry }).unwrap_or_default()
}

fn as_text<S: Serializer>(address: &LoggedAddress, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
}

/// The time of day in UTC (RFC 3339).
fn now() -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

fn text(time: &str, entry: &Entry<'_>) -> String {
    let end = entry.broken_off.as_ref().map(|reason| format!(" broken off: {reason}")).unwrap_or_default();
    format!(
        "{time} {} {} {} {} {} {:.3} s{end}",
        entry.remote,
        Printable::new(entry.method),
        Printable::new(entry.path),
        entry.status,
        units::bytes(entry.bytes),
        entry.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_time_and_json_is_what_programs_read() {
        let remote = LoggedAddress("192.0.2.1:50".parse().unwrap());
        let entry = Entry {
            remote,
            method: "GET",
            path: "/a\u{1b}\"b",
            status: 200,
            bytes: 3,
            seconds: 0.0125,
            broken_off: None,
        };
        let line = text("2026-01-02T03:04:05Z", &entry);
        assert!(line.starts_with("2026-01-02T03:04:05Z 192.0.2.0:50 GET /a"), "{line}");
        assert!(line.ends_with(" 200 3 B 0.013 s") && !line.contains('\u{1b}'), "{line}");
        let json = serde_json::to_string(&Timed { time: "t", entry: &entry }).unwrap();
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((read["time"].as_str(), read["path"].as_str()), (Some("t"), Some("/a\u{1b}\"b")));
        assert!(!json.contains('\n') && read.get("broken_off").is_none());
        let refusal = Refusal { remote, refused: "it has expired" };
        let json = serde_json::to_string(&Timed { time: "t", entry: &refusal }).unwrap();
        assert_eq!(json, r#"{"time":"t","remote":"192.0.2.0:50","refused":"it has expired"}"#);
        assert!(now().ends_with('Z') && now().len() >= 20);
    }
}
