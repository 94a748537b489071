//! What is said on the control socket: one JSON object in each line, both ways (`docs/control.md`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Event, LinkUsage, Program, Status};

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// The longest line of a client in bytes.
pub const MAX_LINE: usize = 16 << 10;
/// The shortest interval of samples in milliseconds.
pub const MIN_INTERVAL_MS: u64 = 50;
/// The longest.
pub const MAX_INTERVAL_MS: u64 = 60_000;

/// A line of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Comes back in the answer: any JSON value.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub id: Value,
    /// What is wanted.
    #[serde(flatten)]
    pub order: Order,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Order {
    /// The status now.
    Status,
    /// Samples and events from now on, until the client closes the socket. Sent again, it changes the interval.
    Watch {
        /// Milliseconds between samples, 50 to 60,000.
        #[serde(default = "default_interval")]
        interval_ms: u64,
        /// The number of the last event that the client knows; without it, the last 20 come first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_event: Option<u64>,
    },
    /// Uses a link otherwise: `available`, `backup` or `paused`.
    Link {
        /// Its name; at a server the address of a peer.
        name: String,
        /// What for.
        #[serde(rename = "use")]
        usage: LinkUsage,
    },
    /// Exchanges the scheduler.
    Scheduler {
        /// Such as `ecf,beta=0.5`.
        spec: String,
        /// Of this connection; without it, of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<String>,
    },
    /// Divides what connections with two paths send: so much over this link, the rest over the other (scheduler `fixed-split`).
    Share {
        /// Link; at a server the address of a peer.
        name: String,
        /// Its share, 0 to 100 %.
        percent: u8,
        /// Of this connection; without it, of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<String>,
    },
    /// Exchanges the congestion controller.
    Controller {
        /// Such as `cubic`.
        spec: String,
        /// Of paths over this link, or to this peer; without it, of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Of this connection; without it, of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<String>,
    },
    /// What connections are for.
    Mode {
        /// `aggregate`, `low-latency`, `redundant` or `backup`.
        mode: String,
        /// Streams and datagrams of this class only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<u32>,
        /// Of this connection; without it, of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<String>,
    },
    /// Writes a trace (qlog) of a connection from now on.
    Qlog {
        /// Which.
        connection: String,
        /// A file that does not exist yet, as the program names it.
        file: String,
        /// The most bytes of it.
        #[serde(default = "default_qlog_bytes")]
        max_bytes: u64,
    },
    /// Stops the program as its first Ctrl-C does.
    Drain,
}

fn default_interval() -> u64 {
    500
}

fn default_qlog_bytes() -> u64 {
    256 << 20
}

/// A line of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line of all.
    Hello(Hello),
    /// The answer to a request.
    Answer(Answer),
    /// To one who watches.
    Sample(Box<Status>),
    /// To one who watches.
    Event(Event),
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the protocol.
    pub version: u32,
    /// The program.
    pub program: Program,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// That of the request.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub id: Value,
    /// What it gave.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// One of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The status that was asked for.
    Status(Box<Status>),
    /// It was done; what, in words.
    Done(String),
    /// It was not done; why, in words.
    Error(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_documented() {
        let read = |text: &str| serde_json::from_str::<Request>(text).map(|request| request.order);
        assert_eq!(read(r#"{"do":"status"}"#).unwrap(), Order::Status);
        let watch = Order::Watch { interval_ms: 500, after_event: None };
        assert_eq!(read(r#"{"id":7,"do":"watch"}"#).unwrap(), watch);
        let link = Order::Link { name: "wlan0".to_owned(), usage: LinkUsage::Paused };
        assert_eq!(read(r#"{"do":"link","name":"wlan0","use":"paused"}"#).unwrap(), link);
        for wrong in [r#"{"do":"explode"}"#, "{}", "[]", r#"{"do":"link","name":"wlan0","use":"gone"}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn answers_carry_the_id_of_the_request() {
        let answer = Answer { id: "x".into(), outcome: Outcome::Done("ok".to_owned()) };
        let text = serde_json::to_string(&Line::Answer(answer.clone())).unwrap();
        assert_eq!(text, r#"{"answer":{"id":"x","done":"ok"}}"#);
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), Line::Answer(answer));
    }
}
