//! Lines of text on a stream, of a bounded length.

use bytes::{Bytes, BytesMut};
use serde::de::DeserializeOwned;

use hawser::{ReadError, RecvStream};

/// Bytes that lines have on average at least: each is parsed, looked at and perhaps answered, however short it is.
const LEAST_LENGTH: usize = 32;
/// Lines that may be shorter at first.
const FIRST_LINES: usize = 64;

/// Why there is no next line.
#[derive(Debug)]
pub enum LineError {
    /// It is longer than it may be.
    TooLong {
        /// Bytes that it may have.
        most: usize,
    },
    /// There are too many short ones.
    TooShort,
    /// It is no message of this protocol.
    Message(serde_json::Error),
    /// The stream or the connection is lost.
    Read(ReadError),
}

impl LineError {
    /// What is wrong, where the other end should be `hawser COMMAND`.
    pub fn words(&self, command: &str) -> String {
        match self {
            LineError::TooLong { most } => format!("the other end sent a line above {most} bytes"),
            LineError::TooShort => {
                format!("the other end sent lines of less than {LEAST_LENGTH} bytes, again and again")
            }
            LineError::Message(error) => {
                format!("the other end does not speak this version of `hawser {command}`: {error}")
            }
            LineError::Read(error) => error.to_string(),
        }
    }
}

/// The lines of a stream, and what is behind them.
pub struct Lines {
    stream: RecvStream,
    buffer: BytesMut,
    /// Bytes of the buffer in which there is no end of a line.
    searched: usize,
    is_over: bool,
    /// What came, less what lines are to have.
    credit: usize,
}

impl Lines {
    /// Reads lines from this stream.
    pub fn new(stream: RecvStream) -> Self {
        Lines {
            stream,
            buffer: BytesMut::new(),
            searched: 0,
            is_over: false,
            credit: FIRST_LINES * LEAST_LENGTH,
        }
    }

    /// The next line without its end, of at most `most` bytes; `None` at the end of the stream.
    pub async fn next(&mut self, most: usize) -> Result<Option<BytesMut>, LineError> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                let credit = (self.credit + line.len()).checked_sub(LEAST_LENGTH);
                self.credit = credit.ok_or(LineError::TooShort)?;
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.is_over {
                return Ok(None);
            }
            if self.buffer.len() > most {
                return Err(LineError::TooLong { most });
            }
            match self.stream.read_chunk(most + 1 - self.buffer.len()).await.map_err(LineError::Read)? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => self.is_over = true,
            }
        }
    }

    /// The next line of at most `most` bytes as a message; `None` at the end of the stream.
    pub async fn message<T: DeserializeOwned>(&mut self, most: usize) -> Result<Option<T>, LineError> {
        let Some(line) = self.next(most).await? else { return Ok(None) };
        parse(&line).map(Some)
    }

    /// What was read behind the last line, and the rest of the stream.
    pub fn into_rest(self) -> (Bytes, RecvStream) {
        (self.buffer.freeze(), self.stream)
    }
}

/// A line as a message.
pub fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    serde_json::from_slice(line).map_err(LineError::Message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};

    const PROTOCOL: &[u8] = b"lines";

    /// The lines of this text, as the other end reads them.
    async fn read(text: &'static [u8], most: usize) -> Vec<Result<BytesMut, LineError>> {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let trust = Trust::Pins(vec![identity.pin().unwrap()]);
        let config = ServerConfig::builder(identity).alpn([PROTOCOL]).build().unwrap();
        let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let config = ClientConfig::builder().trust(trust).alpn([PROTOCOL]).build().unwrap();
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
        assert!(matches!(&lines[..], [Err(LineError::TooLong { most: 100 })]), "{lines:?}");
    }

    /// A line of a byte costs as much as one of thirty.
    #[tokio::test]
    async fn lines_have_a_least_length_in_the_long_run() {
        let lines = read(&[b'\n'; 5000], 100).await;
        let count = lines.iter().filter(|line| line.is_ok()).count();
        assert!((FIRST_LINES..FIRST_LINES + 4).contains(&count), "{count} lines");
        assert!(matches!(lines.last(), Some(Err(LineError::TooShort))));
        let long = read(b"0123456789012345678901234567890\n0123456789012345678901234567890\n", 100).await;
        assert_eq!(long.len(), 2);
    }
}
