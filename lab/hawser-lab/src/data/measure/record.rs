//! What is recorded, as it stands in files: a JSON object each.
//!
//! Times within a record (`_ms`) are of a monotonic clock and count from the beginning of the record, `run_ms` from that of
//! the run; only `unix` is of the wall clock, so that a clock that jumps changes no duration. What is not known is absent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Configuration, Pool, Samples};

/// Longest record, in bytes: 64 flows with full samples have less.
pub const MAX_RECORD: usize = 4 << 20;

/// Identity of a record, which never changes: `NNNNNNNNNN-RRRRRRRRRRRRRRRR`, its number in its store, and the run. Ids of a store
/// sort by age. Also the name of its file, and nothing else can be one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordId(String);

/// Identity of a run: 16 hexadecimal digits, drawn when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(pub u64);

/// Text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id: expected 10 decimal digits, a hyphen and 16 hexadecimal digits, or these 16 alone")]
pub struct UnknownId(String);

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// That a client ran.
    Run(Run),
    /// A session of a client: what was measured on a link while it had an address, or a part of that.
    Session(Session),
    /// What the server saw of one flow of a session.
    ServerFlow(ServerFlow),
    /// Where the client was.
    Track(Track),
}

/// That a client ran: from its beginning to its end or, if it was killed, to a moment shortly before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Identity.
    pub id: RecordId,
    /// The run.
    pub run: RunId,
    /// When it began, seconds since 1970.
    pub unix: f64,
    /// How long it lasted.
    pub length_ms: f64,
    /// Whether it came to its end.
    pub ended: bool,
    /// Version of the program.
    pub version: String,
    /// What was drawn from, and the seed.
    pub pool: Pool,
    /// See `pool`.
    pub seed: u64,
    /// The interfaces that were watched.
    pub interfaces: Vec<String>,
}

/// What was measured between two ends in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Identity.
    pub id: RecordId,
    /// The run.
    pub run: RunId,
    /// The interface.
    pub interface: String,
    /// Its address; a session has one only.
    pub address: String,
    /// The how-manieth address that the interface had in this run, from 0: an association.
    pub association: u64,
    /// The how-manieth session of the association, from 0. The first begins with the address.
    pub attempt: u32,
    /// Whether the address was there before the program was: how long it has been is not known.
    #[serde(default)]
    pub present_at_start: bool,
    /// When the record begins, seconds since 1970: for the first session of an association when the kernel told of the
    /// address, for a later one the end of the one before.
    pub unix: f64,
    /// The same since the beginning of the run.
    pub run_ms: f64,
    /// What was measured.
    pub configuration: Configuration,
    /// The server's address.
    pub server: String,
    /// When the first datagram left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_packet_ms: Option<f64>,
    /// When the last datagram left before the session was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_packet_ms: Option<f64>,
    /// When the kernel told that the address is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_down_ms: Option<f64>,
    /// When all flows were stopped, or when the record was last written.
    pub stopped_ms: f64,
    /// Whether any flow was connected.
    pub ok: bool,
    /// How it ended.
    pub end: Ending,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its flows.
    pub flows: Vec<Flow>,
    /// What the radio said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// Where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Records of this store that found no room so far.
    #[serde(default)]
    pub dropped: u64,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The address went.
    AddressGone,
    /// Its time was over.
    TimeOver,
    /// The server was lost, or never there.
    ServerLost,
    /// The server refused.
    Refused,
    /// The user stopped the program.
    Stopped,
    /// The program was killed; the record is as it was when last written.
    Interrupted,
}

/// One flow, a connection of its own, as the client saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its number in the session.
    pub index: u32,
    /// When it began to connect.
    pub began_ms: f64,
    /// When the handshake was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_ms: Option<f64>,
    /// What this end saw.
    #[serde(flatten)]
    pub measured: Measured,
}

/// One flow as the server saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerFlow {
    /// Identity.
    pub id: RecordId,
    /// The session that it belongs to.
    pub session: RecordId,
    /// Its number in it.
    pub index: u32,
    /// What was measured.
    pub configuration: Configuration,
    /// When it began, seconds since 1970, by the server's clock.
    pub unix: f64,
    /// From its beginning to the last byte that arrived or was acknowledged.
    pub length_ms: f64,
    /// Where the client seemed to be.
    pub client: String,
    /// What this end saw.
    #[serde(flatten)]
    pub measured: Measured,
}

/// What an end saw of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Payload that the application got (the receiving end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// Payload that was acknowledged (the sending end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked_bytes: Option<u64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Of these, declared lost and not acknowledged later.
    pub packets_lost: u64,
    /// Smallest round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_ms: Option<f64>,
    /// How it went over time.
    pub samples: Samples,
}

/// What a source of link states said during a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radio {
    /// The access point's BSSID, cell or satellite at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    /// Radio channel at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// The first signal strength.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_dbm: Option<f64>,
    /// Mean of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_dbm: Option<f64>,
    /// Their standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_db: Option<f64>,
    /// How many there were.
    pub count: u64,
}

/// Where the client was during a session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Fixes.
    pub fixes: u64,
    /// Of the first, degrees.
    pub latitude: f64,
    /// See `latitude`.
    pub longitude: f64,
    /// Along the fixes.
    pub distance_m: f64,
    /// Mean speed: that distance over the time from the first fix to the last; absent with one fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
    /// Corners of the box around all fixes: least latitude and longitude, greatest latitude and longitude.
    pub bounds: [f64; 4],
}

/// Where the client was over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Identity.
    pub id: RecordId,
    /// The run.
    pub run: RunId,
    /// Fixes: time since the beginning of the run (ms), latitude and longitude (degrees), altitude (m).
    pub fixes: Vec<(f64, f64, f64, Option<f64>)>,
    /// Along the fixes, from the last one of the track before.
    pub distance_m: f64,
}

impl RecordId {
    /// Digits of the number.
    const DIGITS: usize = 10;

    /// An id of a run.
    pub fn new(number: u64, run: RunId) -> Self {
        let number = number % 10_u64.pow(Self::DIGITS as u32);
        RecordId(format!("{number:0width$}-{run}", width = Self::DIGITS))
    }

    /// The run.
    pub fn run(&self) -> Option<RunId> {
        self.0.split_once('-')?.1.parse().ok()
    }

    /// The number in its store.
    pub fn number(&self) -> u64 {
        self.0.get(..Self::DIGITS).and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}

impl FromStr for RecordId {
    type Err = UnknownId;

    fn from_str(text: &str) -> Result<Self, UnknownId> {
        let is_number =
            |digits: &str| digits.len() == Self::DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
        match text.split_once('-') {
            Some((number, run)) if is_number(number) && RunId::from_str(run).is_ok() => {
                Ok(RecordId(text.to_owned()))
            }
            _ => Err(UnknownId(text.chars().take(40).collect())),
        }
    }
}

impl FromStr for RunId {
    type Err = UnknownId;

    fn from_str(text: &str) -> Result<Self, UnknownId> {
        let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        match u64::from_str_radix(text, 16) {
            Ok(number) if text.len() == 16 && text.bytes().all(is_digit) => Ok(RunId(number)),
            _ => Err(UnknownId(text.chars().take(40).collect())),
        }
    }
}

impl TryFrom<String> for RecordId {
    type Error = UnknownId;

    fn try_from(text: String) -> Result<Self, UnknownId> {
        text.parse()
    }
}

impl TryFrom<String> for RunId {
    type Error = UnknownId;

    fn try_from(text: String) -> Result<Self, UnknownId> {
        text.parse()
    }
}

impl From<RecordId> for String {
    fn from(id: RecordId) -> String {
        id.0
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> String {
        run.to_string()
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Record {
    /// Its identity.
    pub fn id(&self) -> &RecordId {
        match self {
            Record::Run(run) => &run.id,
            Record::Session(session) => &session.id,
            Record::ServerFlow(flow) => &flow.id,
            Record::Track(track) => &track.id,
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &[u8]) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// As one line, with its end.
    pub fn line(&self) -> Vec<u8> {
        // Only string keys and numbers that exist: this can not fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
