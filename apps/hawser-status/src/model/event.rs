//! Something that happened.

use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts events of the program, from 1: a gap shows that some were missed.
    pub seq: u64,
    /// When it was seen, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// What.
    pub kind: EventKind,
    /// Id of the connection that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Path id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<u32>,
    /// Link or path that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In words.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A connection began.
    ConnectionOpened,
    /// A connection ended.
    ConnectionClosed,
    /// A path carries data now.
    PathOpened,
    /// A path fell silent with data outstanding.
    PathSuspect,
    /// A path brings nothing any more while others do.
    PathStalled,
    /// It answers again.
    PathRecovered,
    /// A path ended.
    PathClosed,
    /// A path is used regularly, or as a backup, from now on.
    PathUse,
    /// A link appeared.
    LinkUp,
    /// A link went.
    LinkDown,
    /// A link is paused, resumed or a backup by order.
    LinkUse,
    /// A link is served by something else.
    Attached,
    /// A handover is forecast.
    Handover,
    /// Another scheduler places data.
    Scheduler,
    /// Another congestion controller.
    Controller,
    /// A budget is used up, or a new period began.
    Budget,
    /// The program stops.
    Drain,
}
