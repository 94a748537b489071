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

use crate::command::exit::{Exit, Failure};
use crate::command::report::to_json;
use crate::{RecvStream, SendStream};

/// Application protocol.
pub(super) const ALPN: &[u8] = b"hawser-measure";
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
pub(super) struct Lines {
    stream: RecvStream,
    buffer: BytesMut,
    /// Bytes of the buffer in which there is no end of a line.
    searched: usize,
    is_over: bool,
}

impl Lines {
    pub(super) fn new(stream: RecvStream) -> Self {
        Lines { stream, buffer: BytesMut::new(), searched: 0, is_over: false }
    }

    /// The next line without its end, of at most `most` bytes; `None` at the end of the stream.
    pub(super) async fn next(&mut self, most: usize) -> Result<Option<BytesMut>, Failure> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.is_over {
                return Ok(None);
            }
            if self.buffer.len() > most {
                return Err(Failure::new(
                    Exit::Handshake,
                    format!("the other end sent a line above {most} bytes"),
                ));
            }
            match self
                .stream
                .read_chunk(most + 1 - self.buffer.len())
                .await
                .map_err(|error| broken(&error))?
            {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => self.is_over = true,
            }
        }
    }

    /// The next line as a message; `None` at the end of the stream.
    pub(super) async fn message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        let Some(line) = self.next(MAX_LINE).await? else { return Ok(None) };
        let wrong = |error| {
            let text = format!("the other end does not speak this version of `hawser measure`: {error}");
            Failure::new(Exit::Handshake, text)
        };
        serde_json::from_slice(&line).map(Some).map_err(wrong)
    }

    /// What was read behind the last line, and the rest of the stream.
    pub(super) fn into_rest(self) -> (Bytes, RecvStream) {
        (self.buffer.freeze(), self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};

    /// The lines of this text, as the other end reads them.
    async fn read(text: &'static [u8], most: usize) -> Vec<Result<BytesMut, Failure>> {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let trust = Trust::Pins(vec![identity.pin().unwrap()]);
        let config = ServerConfig::builder(identity).alpn([ALPN]).build().unwrap();
        let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let config = ClientConfig::builder().trust(trust).alpn([ALPN]).build().unwrap();
        let client = Endpoint::client(config, Links::All).unwrap();
        let (ours, theirs) = tokio::join!(client.connect(server.listening()[0], "localhost"), async {
            server.accept().await.unwrap().await
        });
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        let (mut send, _receive) = ours.open_bi().await.unwrap();
        send.write_all(text).await.unwrap();
        send.finish().unwrap();
        let mut lines = Lines::new(theirs.accept_bi().await.unwrap().1);
        let mut found = Vec::new();
        while let Some(line) = lines.next(most).await.transpose() {
            let is_over = line.is_err();
            found.push(line);
            if is_over {
                break;
            }
        }
        found
    }

    #[tokio::test]
    async fn a_line_has_a_longest_length() {
        let lines = read(b"first\nsecond\nunfinished", 100).await;
        let lines: Vec<BytesMut> = lines.into_iter().map(Result::unwrap).collect();
        assert_eq!(lines, ["first", "second"], "what has no end is no line");
        let lines = read(&[b'x'; 5000], 100).await;
        assert!(
            matches!(&lines[..], [Err(failure)] if failure.message.contains("above 100 bytes")),
            "{lines:?}"
        );
    }
}
