//! What publishers, relays and players say to each other.
//!
//! The client opens a bidirectional stream and writes its [`Request`], one line of JSON; the server writes its [`Answer`].
//! Then the end that sends, the publisher or the relay, opens one unidirectional stream of units
//! ([`hawser_media::broadcast::wire`]).

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hawser::{Connection, ConnectionError, Printable, RecvStream, SendStream};
use hawser_command::exit::{Exit, Failure};
use hawser_command::report::to_json;

/// Application protocol.
pub(super) const ALPN: &[u8] = b"hawser-live";
/// Longest line.
const MAX_LINE: usize = 4 << 10;
/// How long the first words of a client may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The other end is done.
pub(super) const CODE_DONE: u64 = 0;
/// Another publisher has the stream now.
pub(super) const CODE_REPLACED: u64 = 1;
/// The key was not right.
pub(super) const CODE_REFUSED: u64 = 2;
/// What was sent made no sense.
pub(super) const CODE_BROKEN: u64 = 3;

/// The key has expired.
pub(super) const CODE_EXPIRED: u64 = 4;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// To send the stream with this key.
    Publish(String),
    /// To receive it.
    Play(String),
}

/// What the server says to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
}

/// Asks, and waits for the answer.
pub(super) async fn ask(connection: &Connection, request: &Request) -> Result<(), Failure> {
    let asking = async {
        let (mut send, mut receive) = connection.open_bi().await?;
        write(&mut send, request).await?;
        read::<Answer>(&mut receive).await
    };
    let answer = tokio::time::timeout(PATIENCE, asking).await.map_err(|_| {
        Failure::new(Exit::NoAnswer, format!("the relay did not answer within {} s", PATIENCE.as_secs()))
    })??;
    match answer.refused {
        None => Ok(()),
        Some(why) => {
            Err(Failure::new(Exit::Forbidden, format!("the relay refused: {}", Printable::new(&why))))
        }
    }
}

/// Writes a line and ends the stream.
pub(super) async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), Failure> {
    let line = to_json(message) + "\n";
    stream.write_all(line.as_bytes()).await.map_err(|error| broken(&error))?;
    let _ = stream.finish();
    Ok(())
}

/// Reads a line.
pub(super) async fn read<T: DeserializeOwned>(stream: &mut RecvStream) -> Result<T, Failure> {
    let line = stream.read_to_end(MAX_LINE).await.map_err(|error| broken(&error))?;
    serde_json::from_slice(&line).map_err(|error| {
        let text = format!("the other end does not speak this version of `hawser live`: {error}");
        Failure::new(Exit::Handshake, text)
    })
}

fn broken(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::ConnectionLost, error.to_string())
}

/// Why a connection ended, as a failure: final if the other end has decided so.
pub(super) fn ended(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::PeerApplication { code: CODE_REPLACED, .. } => {
            Failure::new(Exit::Forbidden, "another publisher with the same key took the stream over")
        }
        ConnectionError::PeerApplication { code: CODE_EXPIRED, .. } => {
            Failure::new(Exit::Forbidden, "the stream key has expired")
        }
        ConnectionError::PeerApplication { code: CODE_BROKEN, reason } => {
            Failure::new(Exit::Failure, format!("the other end says: {}", Printable::new(reason)))
        }
        error => Failure::new(Exit::ConnectionLost, format!("the connection was lost: {error}")),
    }
}
