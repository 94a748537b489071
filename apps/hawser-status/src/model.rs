//! The status of a running program: what views, metrics and `--json` outputs show, as serde types.
//!
//! Bytes are UDP payload bytes unless said otherwise, rates are in bit/s, times in milliseconds, shares from 0 to 1. What is not
//! known is absent in JSON. Readers must ignore fields that they do not know; [`VERSION`] rises when a field changes its meaning
//! or goes.

mod applications;
mod event;
mod path;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::applications::{FlowClass, LiveStream, MAX_USER_LINKS, User, UserLink};
pub use self::event::{Event, EventKind};
pub use self::path::{Figure, LimitedBy, Path, PathState};

/// The version of [`Status`] and [`Event`].
pub const VERSION: u32 = 1;

/// A running program at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`VERSION`] of the program.
    pub version: u32,
    /// When, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// How long the program has been running.
    pub uptime_ms: u64,
    /// Which program.
    pub program: Program,
    /// Whether it stops: what runs goes on, and nothing new is taken.
    #[serde(default)]
    pub draining: bool,
    /// Address of the web page, if there is one; everybody who has it may see the status. Absent in what the page is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Of all connections that it ever had.
    pub totals: Totals,
    /// Links that it chooses, by name; empty for a server.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Connections, the busiest first.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Connections that exist and are not listed: there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections_left_out: u64,
    /// Traffic by class, where the program sorts it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<FlowClass>,
    /// Users of a gateway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Live streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<LiveStream>,
}

/// A program that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The subcommand, such as `proxy` or `live publish`.
    pub command: String,
    /// Version of Hawser.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

/// Sums over connections, those that ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Connections that exist.
    pub connections: u64,
    /// Connections that it ever had.
    pub connections_ever: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub packets_spuriously_lost: u64,
    /// Times that paths fell silent with data outstanding.
    pub times_suspect: u64,
    /// Bytes of streams sent for the first time.
    #[serde(default)]
    pub stream_bytes_sent: u64,
    /// Sent again.
    #[serde(default)]
    pub stream_bytes_retransmitted: u64,
    /// Sent as copies on another path.
    #[serde(default)]
    pub stream_bytes_copied: u64,
    /// Repair symbols sent (a number).
    #[serde(default)]
    pub repair_symbols_sent: u64,
    /// Now.
    pub rate_sent_bps: f64,
    /// Now.
    pub rate_received_bps: f64,
}

/// A link of this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Interface, or the address by which it was chosen.
    pub name: String,
    /// `wired`, `wifi`, `cellular`, `satellite` or `unknown`.
    pub kind: String,
    /// Addresses that may be used.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// What it is used for.
    pub usage: LinkUsage,
    /// Whether it is there now.
    pub up: bool,
    /// Bytes sent over it by connections that exist or existed.
    pub bytes_sent: u64,
    /// Bytes received over it.
    pub bytes_received: u64,
    /// Now.
    pub rate_sent_bps: f64,
    /// Now.
    pub rate_received_bps: f64,
    /// What is known of its radio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// What it may carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// What a link is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkUsage {
    /// Regularly.
    #[default]
    Available,
    /// When no other link works.
    Backup,
    /// Not at all, until it is resumed.
    Paused,
}

/// What a modem or WiFi adapter says of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radio {
    /// Received power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength_dbm: Option<f64>,
    /// Signal-to-noise ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snr_db: Option<f64>,
    /// What serves it, such as `cell 1234`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<String>,
    /// Channel number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// What it is said to carry towards the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_bps: Option<f64>,
    /// And from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downlink_bps: Option<f64>,
    /// The next handover, as far as it is forecast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

/// A handover to come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// In how long.
    pub in_ms: f64,
    /// To what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How long nothing will be carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruption_ms: Option<f64>,
}

/// What a link may carry in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Bytes of IP packets, both directions.
    pub cap_bytes: u64,
    /// Of these, used in the period that runs.
    pub used_bytes: u64,
    /// And left.
    #[serde(default)]
    pub left_bytes: u64,
    /// Length of a period in seconds.
    pub period_s: u64,
    /// Whether nothing more goes over the link before the next period.
    pub resting: bool,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Names it in requests, as long as it exists.
    pub id: String,
    /// `client` or `server`: which end this program is.
    pub side: String,
    /// The peer's address on its first path.
    pub remote: String,
    /// The name by which the client asked for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Application protocol (ALPN).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// `QUICv1` or `QUICv2`.
    pub quic: String,
    /// Whether both ends speak multipath.
    pub multipath: bool,
    /// Where it stands in its life.
    pub state: ConnectionState,
    /// User of a gateway whose key it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The scheduler that places data.
    pub scheduler: String,
    /// What the scheduler says of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler_figures: BTreeMap<String, Figure>,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Now.
    pub rate_sent_bps: f64,
    /// Now.
    pub rate_received_bps: f64,
    /// Bytes of streams and datagrams that wait to be sent.
    pub queued_bytes: u64,
    /// Stream bytes that the peer's flow control still allows, those that wait included.
    pub window_left_bytes: u64,
    /// Memory that its buffers take, roughly.
    pub buffered_bytes: u64,
    /// What became of stream data.
    pub data: Data,
    /// What each link, or each address of the peer at a server, has carried, also over paths that ended.
    #[serde(default)]
    pub carried: Vec<Carried>,
    /// The paths that exist.
    #[serde(default)]
    pub paths: Vec<Path>,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// The handshake goes on.
    Handshaking,
    /// It carries data.
    #[default]
    Open,
    /// It was closed; what is late is waited for.
    Closing,
}

/// What became of the stream data of a connection, in bytes where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Sent for the first time.
    pub sent: u64,
    /// Acknowledged.
    pub acked: u64,
    /// Sent again.
    pub retransmitted: u64,
    /// Sent as copies on another path.
    pub copied: u64,
    /// Copies whose original had arrived before.
    pub copied_needlessly: u64,
    /// Discarded: not sent, or lost and not sent again.
    pub discarded: u64,
    /// Received for the first time.
    pub received: u64,
    /// Received again.
    pub duplicate: u64,
    /// Of the peer, passed by readers as gaps.
    pub missed: u64,
    /// Repair symbols sent (a number).
    pub repair_symbols_sent: u64,
    /// Repair symbols received (a number).
    pub repair_symbols_received: u64,
    /// Lost on the way here and restored from repair symbols.
    pub recovered: u64,
    /// Lost on the way to the peer and restored there.
    pub recovered_by_peer: u64,
}

/// What went over one link in the life of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Link, or address of the peer.
    pub name: String,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

// Serde asks by reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
