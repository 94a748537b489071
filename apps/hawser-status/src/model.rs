//! The status of a running program: what views, metrics and `--json` outputs show, as serde types.
//!
//! Bytes are UDP payload bytes unless said otherwise, rates are in bit/s, times in milliseconds, shares from 0 to 1. What is not
//! known is absent in JSON. Readers must ignore fields that they do not know; [`VERSION`] rises when a field changes its meaning
//! or goes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// A path of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Its number on the wire.
    pub id: u32,
    /// Link, or address of the peer at a server.
    pub name: String,
    /// Local address.
    pub local: String,
    /// Remote address.
    pub remote: String,
    /// Where it stands in its life.
    pub state: PathState,
    /// Whether it is used only when no other path works.
    pub backup: bool,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Now.
    pub rate_sent_bps: f64,
    /// Now.
    pub rate_received_bps: f64,
    /// Newest round-trip time.
    pub rtt_ms: f64,
    /// Smoothed.
    pub smoothed_rtt_ms: f64,
    /// Smallest.
    pub min_rtt_ms: f64,
    /// Mean deviation.
    pub rtt_variance_ms: f64,
    /// One-way delay to the peer, with an offset that is unknown and the same for all paths of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_ms: Option<f64>,
    /// Lost share of about the last thousand packets.
    pub loss: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub packets_spuriously_lost: u64,
    /// A packet counts as lost when one sent so many numbers later is acknowledged; none on a path that reorders, where time tells.
    pub reordering_packets: Option<u64>,
    /// Congestion window in bytes.
    pub window_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Estimate of what stands in queues of the network: what is in flight beyond delivery rate times smallest round-trip time.
    pub queue_bytes: u64,
    /// The same in time: smoothed beyond smallest round-trip time.
    pub queue_ms: f64,
    /// Recent delivery rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_bps: Option<f64>,
    /// Rate of the pacer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_bps: Option<f64>,
    /// Why the sender last stopped.
    pub limited_by: LimitedBy,
    /// Whether the controller is in slow start.
    pub slow_start: bool,
    /// Congestion controller.
    pub controller: String,
    /// What the controller says of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Figure>,
    /// Reductions of the window.
    pub congestion_events: u64,
    /// Congestion marks (ECN) that the peer reported.
    pub congestion_marks: u64,
    /// Bytes of copies that wait for it.
    pub copies_queued_bytes: u64,
    /// Datagram size in use.
    pub mtu: u16,
    /// Probe timeouts.
    pub probe_timeouts: u64,
    /// Times it fell silent with data outstanding.
    pub times_suspect: u64,
    /// How long nothing has arrived on it; absent before the first datagram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<f64>,
    /// Whether it brought data until a moment ago, and brings nothing while other paths of the connection do. An end that only
    /// receives has nothing outstanding by which a path could be [`PathState::Suspect`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub stalled: bool,
}

impl Path {
    /// Whether nothing comes over it although something should.
    pub fn is_silent(&self) -> bool {
        self.stalled || self.state == PathState::Suspect
    }
}

/// Where a path stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathState {
    /// Opened, and not answered yet.
    Validating,
    /// Usable.
    #[default]
    Active,
    /// Silent although data is outstanding; others carry its data.
    Suspect,
}

/// Why a sender stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// It has not stopped.
    #[default]
    Nothing,
    /// Nothing was left to send.
    Application,
    /// The scheduler gave the path none of what was queued.
    Scheduler,
    /// The peer's flow control.
    FlowControl,
    /// The congestion window was full.
    CongestionWindow,
    /// The pacer.
    Pacing,
    /// The peer's address is not validated.
    Amplification,
}

impl LimitedBy {
    /// Returns the word of JSON and metrics.
    pub fn word(self) -> &'static str {
        match self {
            LimitedBy::Nothing => "nothing",
            LimitedBy::Application => "application",
            LimitedBy::Scheduler => "scheduler",
            LimitedBy::FlowControl => "flow_control",
            LimitedBy::CongestionWindow => "congestion_window",
            LimitedBy::Pacing => "pacing",
            LimitedBy::Amplification => "amplification",
        }
    }
}

/// What a policy says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number; its unit is the end of its name.
    Number(f64),
    /// A word.
    Word(String),
}

/// Traffic of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowClass {
    /// Its name, such as `interactive`.
    pub name: String,
    /// Flows that exist.
    pub flows: u64,
    /// Bytes that left.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// Packets or messages that wait.
    pub queued: u64,
    /// Those that were dropped.
    pub dropped: u64,
}

/// A user of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// As in the file of users.
    pub name: String,
    /// Tunnels that are open: TCP connections, and targets of UDP.
    pub tunnels: u64,
    /// The most that may be.
    pub most_tunnels: u64,
    /// Connections on which the user's key was shown, by id.
    #[serde(default)]
    pub connections: Vec<String>,
}

/// A live stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveStream {
    /// `publish`, `relay` or `play`.
    pub role: String,
    /// Frames so far.
    pub frames: u64,
    /// Bytes so far.
    pub bytes: u64,
    /// Frames some of whose bytes did not come.
    pub padded_frames: u64,
    /// Frames, audio and headers that are missing.
    pub missing: u64,
    /// Those that were skipped since a receiver was too slow.
    pub skipped: u64,
    /// Players.
    pub players: u64,
    /// Mean delay of all frames, from the encoder to here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<f64>,
}

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

// Serde asks by reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
