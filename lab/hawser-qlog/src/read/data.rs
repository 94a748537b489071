//! The members of events that are used. All may be missing: no two implementations write the same.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::number::Number;

/// A packet that was sent, received or lost.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Packet {
    #[serde(default)]
    header: Header,
    // Older drafts have these here.
    #[serde(default)]
    packet_type: Option<String>,
    #[serde(default)]
    packet_number: Option<Number>,
    #[serde(default)]
    packet_size: Option<Number>,
    #[serde(default)]
    path_id: Option<Number>,
    #[serde(default)]
    raw: Raw,
    #[serde(default)]
    pub(crate) frames: Vec<Frame>,
}

#[derive(Debug, Default, Deserialize)]
struct Header {
    #[serde(default)]
    packet_type: Option<String>,
    #[serde(default)]
    packet_number: Option<Number>,
    #[serde(default)]
    packet_size: Option<Number>,
    #[serde(default)]
    path_id: Option<Number>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Raw {
    #[serde(default)]
    length: Option<Number>,
    #[serde(default)]
    payload_length: Option<Number>,
}

impl Packet {
    /// Its number.
    pub(crate) fn number(&self) -> Option<u64> {
        self.header.packet_number.or(self.packet_number).map(Number::whole)
    }

    /// The path that its header names.
    pub(crate) fn path(&self) -> Option<u64> {
        self.header.path_id.or(self.path_id).map(Number::whole)
    }

    /// Bytes of the datagram.
    pub(crate) fn size(&self) -> u64 {
        let size = self.raw.length.or(self.header.packet_size).or(self.packet_size);
        size.map(Number::whole).unwrap_or(0)
    }

    /// Whether it belongs to the handshake, whose packet numbers are others.
    pub(crate) fn is_of_handshake(&self) -> bool {
        let kind = self.header.packet_type.as_deref().or(self.packet_type.as_deref()).unwrap_or("1RTT");
        !matches!(kind.to_ascii_lowercase().as_str(), "1rtt" | "0rtt" | "unknown" | "")
    }
}

/// A frame.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Frame {
    #[serde(default)]
    frame_type: serde_json::Value,
    #[serde(default, alias = "id")]
    stream_id: Option<Number>,
    #[serde(default)]
    offset: Option<Number>,
    #[serde(default)]
    length: Option<Number>,
    #[serde(default)]
    fin: bool,
    #[serde(default)]
    raw: Raw,
    #[serde(default)]
    acked_ranges: Vec<Vec<Number>>,
    #[serde(default)]
    path_id: Option<Number>,
}

/// Stream data in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamData {
    pub(crate) stream: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) fin: bool,
}

impl Frame {
    fn kind(&self) -> &str {
        self.frame_type.as_str().unwrap_or_default()
    }

    /// The stream data that it has.
    pub(crate) fn stream_data(&self) -> Option<StreamData> {
        if !self.kind().eq_ignore_ascii_case("stream") {
            return None;
        }
        let length = self.raw.payload_length.or(self.length).or(self.raw.length);
        Some(StreamData {
            stream: self.stream_id?.whole(),
            offset: self.offset.map_or(0, Number::whole),
            length: length.map_or(0, Number::whole),
            fin: self.fin,
        })
    }

    /// The path whose packets it acknowledges, and which.
    pub(crate) fn acked(&self) -> Option<(u64, impl Iterator<Item = (u64, u64)> + '_)> {
        if !matches!(self.kind(), "ack" | "ACK" | "path_ack" | "ack_mp" | "mp_ack") {
            return None;
        }
        let ranges = self.acked_ranges.iter().filter_map(|range| {
            let (first, last) = (range.first()?.whole(), range.last()?.whole());
            Some((first.min(last), first.max(last)))
        });
        Some((self.path_id.map_or(0, Number::whole), ranges))
    }
}

/// Packets that were acknowledged.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Acked {
    #[serde(default)]
    pub(crate) packet_number_space: Option<String>,
    #[serde(default)]
    pub(crate) path_id: Option<Number>,
    #[serde(default)]
    pub(crate) packet_numbers: Vec<Number>,
}

/// Figures of recovery, times in microseconds after [`in_unit`](Self::in_unit).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Metrics {
    #[serde(default)]
    pub(crate) path_id: Option<Number>,
    #[serde(default)]
    pub(crate) min_rtt: Option<Number>,
    #[serde(default)]
    pub(crate) smoothed_rtt: Option<Number>,
    #[serde(default)]
    pub(crate) latest_rtt: Option<Number>,
    #[serde(default, alias = "cwnd")]
    pub(crate) congestion_window: Option<Number>,
    #[serde(default)]
    pub(crate) bytes_in_flight: Option<Number>,
}

impl Metrics {
    /// With times in microseconds.
    pub(super) fn in_unit(mut self, unit_us: f64) -> Self {
        for time in [&mut self.min_rtt, &mut self.smoothed_rtt, &mut self.latest_rtt] {
            *time = time.map(|Number(value)| Number(value * unit_us));
        }
        self
    }
}

/// Another state.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Moved {
    #[serde(default)]
    pub(crate) path_id: Option<Number>,
    #[serde(default)]
    pub(crate) new: Option<String>,
    #[serde(default)]
    pub(crate) trigger: Option<String>,
}

/// Addresses of a path.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Tuple {
    #[serde(default, alias = "tuple_id")]
    id: Option<serde_json::Value>,
    #[serde(default)]
    path_id: Option<Number>,
    #[serde(default, alias = "path_local")]
    tuple_local: BTreeMap<String, serde_json::Value>,
    #[serde(default, alias = "path_remote")]
    tuple_remote: BTreeMap<String, serde_json::Value>,
}

impl Tuple {
    /// Which path.
    pub(crate) fn path(&self) -> Option<u64> {
        let by_name = || match self.id.as_ref()?.as_str()? {
            "" => Some(0),
            name => name.parse().ok(),
        };
        self.path_id.map(Number::whole).or_else(by_name)
    }

    /// Our address, without its port.
    pub(crate) fn local(&self) -> Option<String> {
        address(&self.tuple_local)
    }

    /// The peer's address, without its port.
    pub(crate) fn remote(&self) -> Option<String> {
        address(&self.tuple_remote)
    }
}

fn address(end: &BTreeMap<String, serde_json::Value>) -> Option<String> {
    ["ip_v4", "ip_v6", "ip"].iter().find_map(|key| end.get(*key)?.as_str()).map(str::to_owned)
}
