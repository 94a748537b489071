//! What a server and a player say to each other.
//!
//! The player opens a bidirectional stream, on which both write lines of JSON: the player what it wants ([`Wish`]), the server
//! what it has ([`Said`]). Each tile comes on a unidirectional stream of its own: a head of ten bytes, then the picture, all of
//! it one frame (`write_frame`).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::film::Shape;
use hawser::{ConnectionError, Printable, ReadError, RecvStream, SendStream, WriteError};
use hawser_command::exit::{Exit, Failure};
use hawser_command::lines::{self, LineError};
use hawser_command::report::to_json;

/// Application protocol.
pub(super) const ALPN: &[u8] = b"hawser-vr360";
/// Longest line: all tiles of the largest grid in six bytes each.
pub(super) const MAX_LINE: usize = 64 << 10;
/// Largest picture of a tile.
pub(super) const MAX_PICTURE: usize = 16 << 20;
/// Bytes before the picture: chunk, tile, length.
pub(super) const HEAD: usize = 10;

/// The other end is done.
pub(super) const CODE_DONE: u64 = 0;
/// What was sent made no sense.
pub(super) const CODE_BROKEN: u64 = 3;

/// What a player wants of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Wish {
    /// Its number; behind the last one the film starts again.
    pub(super) chunk: u32,
    /// Milliseconds from now until the chunk is over, and its tiles are of no use any more.
    pub(super) left_ms: u32,
    /// The tiles that will be seen, as far as can be told.
    pub(super) view: Vec<u16>,
    /// Those that may be seen if the head turns otherwise.
    pub(super) margin: Vec<u16>,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// At first: what there is.
    Film(Shape),
    /// A tile has arrived: which paths carried how many bytes of it.
    Carried {
        /// Of which chunk.
        chunk: u32,
        /// Which one.
        tile: u16,
        /// Ids of paths, and bytes.
        paths: Vec<(u32, u64)>,
    },
}

/// What stands before a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) chunk: u32,
    pub(super) tile: u16,
    /// Bytes of the picture.
    pub(super) length: u32,
}

impl Head {
    pub(super) fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&self.chunk.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.tile.to_be_bytes());
        bytes[6..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// `None` if the picture would be larger than any.
    pub(super) fn decode(bytes: [u8; HEAD]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, i, j] = bytes;
        let head = Head {
            chunk: u32::from_be_bytes([a, b, c, d]),
            tile: u16::from_be_bytes([e, f]),
            length: u32::from_be_bytes([g, h, i, j]),
        };
        (head.length as usize <= MAX_PICTURE).then_some(head)
    }
}

/// Writes a line.
pub(super) async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), Failure> {
    let line = to_json(message) + "\n";
    stream.write_all(line.as_bytes()).await.map_err(|error| match error {
        WriteError::ConnectionLost(error) => ended(&error),
        error => Failure::new(Exit::ConnectionLost, error.to_string()),
    })
}

/// Reads messages.
pub(super) struct Lines(lines::Lines);

impl Lines {
    pub(super) fn new(stream: RecvStream) -> Self {
        Lines(lines::Lines::new(stream))
    }

    /// The next message; `None` at the end of the stream. Empty lines are passed over: one opens the stream.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        loop {
            match self.0.next(MAX_LINE).await.map_err(failure)? {
                None => return Ok(None),
                Some(line) if line.is_empty() => {}
                Some(line) => return lines::parse(&line).map(Some).map_err(failure),
            }
        }
    }
}

fn failure(error: LineError) -> Failure {
    match error {
        LineError::Read(ReadError::ConnectionLost(error)) => ended(&error),
        LineError::Read(error) => Failure::new(Exit::ConnectionLost, error.to_string()),
        error => Failure::new(Exit::Handshake, error.words("vr360")),
    }
}

/// Why a connection ended, as a failure.
pub(super) fn ended(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::PeerApplication { code: CODE_DONE, .. } => {
            Failure::new(Exit::ConnectionLost, "the other end has stopped")
        }
        ConnectionError::PeerApplication { code: CODE_BROKEN, reason } => {
            Failure::new(Exit::Failure, format!("the other end says: {}", Printable::new(reason)))
        }
        error => Failure::new(Exit::ConnectionLost, format!("the connection was lost: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_wire_and_have_a_cap() {
        let head = Head { chunk: 70_000, tile: 71, length: 12_345 };
        assert_eq!(Head::decode(head.encode()), Some(head));
        assert_eq!(Head::decode(Head { length: u32::MAX, ..head }.encode()), None);
    }
}
