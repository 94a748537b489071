//! What the two ends of a measurement say to each other.
//!
//! A client opens a bidirectional stream and writes a [`Request`], one line of JSON; the server answers with an [`Answer`],
//! one line too.
//!
//! * A **flow** is a connection of its own with one stream. Behind its line the sender - the client, or for `down` the
//!   server - writes bytes that mean nothing, until the connection ends.
//! * For an **upload** the client writes records behind its line, one per line, and ends the stream. For each the server
//!   writes a [`Receipt`] as soon as the record is on its disk, or was before.

use bytes::{Bytes, BytesMut};
use hawser_lab::data::measure::{Configuration, RecordId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hawser::{RecvStream, SendStream};
use hawser_command::exit::{Exit, Failure};
use hawser_command::lines::{self, LineError};
use hawser_command::profile::Profile;
use hawser_command::report::to_json;

/// Application protocol.
pub(super) const PROFILE: Profile<'static> = Profile::of_streams(b"hawser-measure");
/// Longest request, answer or receipt.
pub(super) const MAX_LINE: usize = 16 << 10;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// To measure.
    Flow(FlowRequest),
    /// To hand over records.
    Upload,
}

/// One flow of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlowRequest {
    /// Record of the session.
    pub(super) session: RecordId,
    /// Number of the flow in it.
    pub(super) index: u32,
    /// What the session is like.
    pub(super) configuration: Configuration,
}

/// What the server says to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// It agrees.
    Ready,
    /// It does not, in words.
    Refused(String),
}

/// What became of a record that was uploaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Receipt {
    /// It is on the server's disk: the client may remove it.
    Stored(RecordId),
    /// It is not, in words.
    Refused(String),
}

/// A message as a line.
pub(super) fn line(message: &impl Serialize) -> String {
    let mut line = to_json(message);
    line.push('\n');
    line
}

/// Writes a message.
pub(super) async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), Failure> {
    stream.write_all(line(message).as_bytes()).await.map_err(|error| broken(&error))
}

/// The connection failed.
pub(super) fn broken(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::ConnectionLost, format!("the measurement broke off: {error}"))
}

/// The lines of a stream, and what is behind them.
pub(super) struct Lines(lines::Lines);

impl Lines {
    pub(super) fn new(stream: RecvStream) -> Self {
        Lines(lines::Lines::new(stream))
    }

    /// The next line without its end, of at most `most` bytes; `None` at the end of the stream.
    pub(super) async fn next(&mut self, most: usize) -> Result<Option<BytesMut>, Failure> {
        self.0.next(most).await.map_err(|error| failure(&error))
    }

    /// The next line as a message; `None` at the end of the stream.
    pub(super) async fn message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        self.0.message(MAX_LINE).await.map_err(|error| failure(&error))
    }

    /// What was read behind the last line, and the rest of the stream.
    pub(super) fn into_rest(self) -> (Bytes, RecvStream) {
        self.0.into_rest()
    }
}

fn failure(error: &LineError) -> Failure {
    match error {
        LineError::Read(error) => broken(error),
        error => Failure::new(Exit::Handshake, error.words("measure")),
    }
}
