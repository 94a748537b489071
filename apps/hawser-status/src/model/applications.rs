//! What applications say of themselves: classes of traffic, users, live streams.

use serde::{Deserialize, Serialize};

use super::Connection;

/// Traffic of one class, of programs that relay: at a gateway that of all users, elsewhere that of this machine's programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowClass {
    /// Its name: `tcp`, `udp`, and of packets of tunnels `ip-real-time` and `ip-bulk`.
    pub name: String,
    /// TCP connections and UDP targets that are open; of packets the flows that were heard of in the last half minute.
    pub flows: u64,
    /// Bytes that left for the other end, without headers of HTTP and QUIC.
    pub bytes_sent: u64,
    /// Bytes that came from there.
    pub bytes_received: u64,
    /// Packets that came and wait for those before them.
    pub queued: u64,
    /// Packets that were dropped since a queue was full.
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
    /// Bytes that left for the user, without headers of HTTP and QUIC.
    #[serde(default)]
    pub bytes_sent: u64,
    /// Bytes that came from the user.
    #[serde(default)]
    pub bytes_received: u64,
    /// Now, of the connections that are listed.
    #[serde(default)]
    pub rate_sent_bps: f64,
    /// Now, of the connections that are listed.
    #[serde(default)]
    pub rate_received_bps: f64,
    /// The links over which the user comes, of the connections that are listed; at most [`MAX_USER_LINKS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<UserLink>,
}

/// Links of a user that are listed.
pub const MAX_USER_LINKS: usize = 16;

/// A link of a user, as the gateway sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserLink {
    /// The address from which it comes.
    pub name: String,
    /// Now.
    pub rate_sent_bps: f64,
    /// Now.
    pub rate_received_bps: f64,
    /// Smoothed round-trip time.
    pub smoothed_rtt_ms: f64,
    /// Lost share of about the last thousand packets.
    pub loss: f64,
    /// Whether nothing comes over it although something should.
    pub silent: bool,
}

impl User {
    /// Adds what the connections of the user that are among these say: rates and links.
    pub fn add_connections(&mut self, all: &[Connection]) {
        for connection in all.iter().filter(|connection| self.connections.contains(&connection.id)) {
            self.rate_sent_bps += connection.rate_sent_bps;
            self.rate_received_bps += connection.rate_received_bps;
            let room = MAX_USER_LINKS.saturating_sub(self.links.len());
            self.links.extend(connection.paths.iter().take(room).map(|path| UserLink {
                name: path.name.clone(),
                rate_sent_bps: path.rate_sent_bps,
                rate_received_bps: path.rate_received_bps,
                smoothed_rtt_ms: path.smoothed_rtt_ms,
                loss: path.loss,
                silent: path.is_silent(),
            }));
        }
        self.links.sort_by(|a, b| a.name.cmp(&b.name));
    }
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
