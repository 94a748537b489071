//! A path, and why it does what it does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// All reasons.
    pub const ALL: [LimitedBy; 7] = [
        LimitedBy::Nothing,
        LimitedBy::Application,
        LimitedBy::Scheduler,
        LimitedBy::FlowControl,
        LimitedBy::CongestionWindow,
        LimitedBy::Pacing,
        LimitedBy::Amplification,
    ];

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

// Serde asks by reference.
fn is_false(value: &bool) -> bool {
    !value
}
