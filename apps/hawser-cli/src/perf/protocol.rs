//! What the two ends of a measurement say to each other.
//!
//! The client opens a bidirectional stream and writes the [`Request`], one line of JSON. The sender - the client, or with
//! `reverse` the server - then opens the unidirectional streams it announced and fills them, or sends datagrams. When the
//! sender has finished, the server writes its [`Outcome`] as one line of JSON and ends the stream. Each unidirectional
//! stream begins with nothing in particular; datagrams carry a number (8 bytes) and the sender's clock in nanoseconds
//! (8 bytes), both big-endian. After the last datagram the sender opens one empty unidirectional stream. A stream that is
//! reset has run out of time; what came of it counts.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hawser::{RecvStream, SendStream};
use hawser_command::exit::{Exit, Failure};
use hawser_command::profile::Profile;
use hawser_command::report::to_json;

/// Application protocol.
pub(super) const PROFILE: Profile<'static> =
    Profile { alpn: b"hawser-perf", controller: None, tune: &|_| {} };
/// Longest measurement, in seconds.
pub(super) const MAX_SECONDS: f64 = 3600.0;
/// Longest line.
const MAX_LINE: usize = 64 << 10;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    /// The server sends.
    pub(super) reverse: bool,
    /// Datagrams instead of streams.
    pub(super) datagram: bool,
    /// Streams at the same time.
    pub(super) streams: u32,
    /// How long to send, unless `bytes` is given.
    pub(super) seconds: f64,
    /// How much to send, over all streams.
    pub(super) bytes: Option<u64>,
    /// Bit/s to send at most, in total.
    pub(super) bitrate: Option<u64>,
}

/// What the server did or saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Bytes it sent or received.
    pub(super) bytes: u64,
    /// From the first to the last of them.
    pub(super) seconds: f64,
    /// Datagrams it sent or received.
    pub(super) datagrams: Option<DatagramCounts>,
    /// Why nothing was measured.
    pub(super) error: Option<String>,
}

/// Of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DatagramCounts {
    /// Sent or received.
    pub(super) count: u64,
    /// Received after one with a larger number.
    pub(super) out_of_order: u64,
    /// Mean deviation of the transit time (RFC 3550 section 6.4.1), in milliseconds.
    pub(super) jitter_ms: f64,
}

/// Writes a message and ends the stream.
pub(super) async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), Failure> {
    let mut line = to_json(message);
    line.push('\n');
    stream.write_all(line.as_bytes()).await.map_err(|error| broken(&error))?;
    let _ = stream.finish();
    Ok(())
}

/// Reads a message.
pub(super) async fn read<T: DeserializeOwned>(stream: &mut RecvStream) -> Result<T, Failure> {
    let line = stream.read_to_end(MAX_LINE).await.map_err(|error| broken(&error))?;
    serde_json::from_slice(&line).map_err(|error| {
        Failure::new(
            Exit::Handshake,
            format!("the other end does not speak this version of `hawser perf`: {error}"),
        )
    })
}

/// The connection failed.
pub(super) fn broken(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::ConnectionLost, format!("the measurement broke off: {error}"))
}
