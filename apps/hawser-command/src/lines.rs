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

/// Cuts what comes into lines of a bounded length, and charges each for at least so many bytes.
#[derive(Debug)]
pub struct Cutter {
    buffer: BytesMut,
    /// Bytes of the buffer in which there is no end of a line.
    searched: usize,
    /// What came, less what lines are to have.
    credit: usize,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter { buffer: BytesMut::new(), searched: 0, credit: FIRST_LINES * LEAST_LENGTH }
    }
}

impl Cutter {
    /// Lines that so many bytes pay for.
    pub fn most_lines(bytes: usize) -> usize {
        FIRST_LINES + bytes / LEAST_LENGTH
    }

    /// Takes what came next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line without its end, of at most `most` bytes; `None` until more comes.
    ///
    /// # Errors
    /// [`LineError::TooLong`] and [`LineError::TooShort`].
    pub fn next(&mut self, most: usize) -> Result<Option<BytesMut>, LineError> {
        let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let length = self.searched + end.unwrap_or(self.buffer.len() - self.searched);
        if length > most {
            return Err(LineError::TooLong { most });
        }
        if end.is_none() {
            self.searched = length;
            return Ok(None);
        }
        let mut line = self.buffer.split_to(length + 1);
        let credit = (self.credit + line.len()).checked_sub(LEAST_LENGTH);
        self.credit = credit.ok_or(LineError::TooShort)?;
        line.truncate(length);
        self.searched = 0;
        Ok(Some(line))
    }

    /// Bytes that may come before the line is longer than `most`.
    fn room(&self, most: usize) -> usize {
        (most + 1).saturating_sub(self.buffer.len())
    }
}

/// The lines of a stream, and what is behind them.
pub struct Lines {
    stream: RecvStream,
    cutter: Cutter,
    is_over: bool,
}

impl Lines {
    /// Reads lines from this stream.
    pub fn new(stream: RecvStream) -> Self {
        Lines { stream, cutter: Cutter::default(), is_over: false }
    }

    /// The next line without its end, of at most `most` bytes; `None` at the end of the stream.
    pub async fn next(&mut self, most: usize) -> Result<Option<BytesMut>, LineError> {
        loop {
            if let Some(line) = self.cutter.next(most)? {
                return Ok(Some(line));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.stream.read_chunk(self.cutter.room(most)).await.map_err(LineError::Read)? {
                Some(chunk) => self.cutter.push(&chunk),
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
        (self.cutter.buffer.freeze(), self.stream)
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

    /// However a stream is cut: a line that is too long is one whether its end has come or not.
    #[test]
    fn a_line_is_too_long_wherever_it_is_cut() {
        let text = b"0123456789012345678901234567890123\n01234567890\n";
        for piece in 1..=text.len() {
            let (mut cutter, mut lengths) = (Cutter::default(), Vec::new());
            let error = text.chunks(piece).find_map(|piece| {
                cutter.push(piece);
                loop {
                    match cutter.next(34 - 24 * lengths.len()) {
                        Ok(Some(line)) => lengths.push(line.len()),
                        Ok(None) => return None,
                        Err(error) => return Some(error),
                    }
                }
            });
            assert!(matches!(error, Some(LineError::TooLong { most: 10 })), "{piece}: {error:?}");
            assert_eq!(lengths, [34], "{piece}");
        }
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
