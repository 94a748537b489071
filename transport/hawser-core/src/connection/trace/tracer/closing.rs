//! How a connection ended, in qlog's words.

use std::fmt;

use super::json::Json;
use crate::connection::close::CloseReason;
use crate::{Code, ConnectionError};

/// The members of `quic:connection_closed` for a close of our own.
pub(super) fn write_local(json: &mut Json, reason: &CloseReason) {
    json.text("initiator", "local");
    match reason {
        CloseReason::Transport(error) => {
            write_error(json, "connection_error", error.code);
            write_reason(json, &error.reason);
            json.text("trigger", "error");
        }
        CloseReason::Application { code, reason } => {
            json.text("application_error", "unknown");
            json.number("error_code", *code);
            write_reason(json, &String::from_utf8_lossy(reason));
            json.text("trigger", "application");
        }
    }
}

/// The members of `quic:connection_closed` for an end that we did not decide on.
pub(super) fn write_remote(json: &mut Json, error: &ConnectionError) {
    match error {
        ConnectionError::PeerTransport(error) => {
            json.text("initiator", "remote");
            write_error(json, "connection_error", error.code);
            write_reason(json, &error.reason);
            json.text("trigger", if error.code == Code::NO_ERROR { "unspecified" } else { "error" });
        }
        ConnectionError::PeerApplication { code, reason } => {
            json.text("initiator", "remote");
            json.text("application_error", "unknown");
            json.number("error_code", *code);
            write_reason(json, &String::from_utf8_lossy(reason));
            json.text("trigger", "application");
        }
        ConnectionError::Reset => {
            json.text("initiator", "remote");
            json.text("trigger", "stateless_reset");
        }
        ConnectionError::TimedOut => {
            json.text("initiator", "local");
            json.text("trigger", "idle_timeout");
        }
        ConnectionError::VersionMismatch { .. } => {
            json.text("initiator", "local");
            json.text("trigger", "version_mismatch");
        }
        ConnectionError::Transport(_) | ConnectionError::LocallyClosed => json.text("initiator", "local"),
    }
}

/// A transport error code: its name, or "unknown" and the number.
pub(super) fn write_error(json: &mut Json, member: &str, code: Code) {
    match (code.name(), code.0) {
        (Some(name), _) => json.plain(member, format_args!("{}", Lower(name))),
        (None, 0x100..=0x1ff) => json.plain(member, format_args!("crypto_error_{:#05x}", code.0)),
        (None, number) => {
            json.text(member, "unknown");
            json.number("error_code", number);
        }
    }
}

fn write_reason(json: &mut Json, reason: &str) {
    if !reason.is_empty() {
        json.text("reason", reason);
    }
}

/// A registered name in lower case.
struct Lower(&'static str);

impl fmt::Display for Lower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.chars().try_for_each(|character| f.write_char(character.to_ascii_lowercase()))
    }
}
