//! The end that looks and orders.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::protocol::{Answer, Hello, Line, Order, Outcome, Request, VERSION};

/// The longest line of a program: a status of as many connections as one lists.
const MAX_LINE: u64 = 16 << 20;
/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a program did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at this path.
    #[error("no program listens at {}: {source}", path.display())]
    Connect {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the program has gone: {0}")]
    Lost(io::Error),
    /// It ended.
    #[error("the program has ended")]
    Ended,
    /// Something else speaks there.
    #[error("what listens there is no Hawser program: {0}")]
    Protocol(String),
    /// It speaks another version.
    #[error("the program speaks version {0} of the control protocol, this one version {VERSION}")]
    Version(u32),
    /// It said no.
    #[error("{0}")]
    Refused(String),
}

/// A connection to the control socket of a program.
#[derive(Debug)]
pub struct Client {
    hello: Hello,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
    /// Lines that came while an answer was waited for, at most [`MAX_WAITING`].
    waiting: std::collections::VecDeque<Line>,
    requests: u64,
}

/// Samples and events that wait while an answer is waited for; the oldest give way.
const MAX_WAITING: usize = 256;

impl Client {
    /// Connects to the socket at this path.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn connect(path: &Path) -> Result<Self, ClientError> {
        let failed = |source| ClientError::Connect { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).await.map_err(failed)?;
        let (read, writer) = stream.into_split();
        let hello = Hello { version: VERSION, program: crate::model::Program::default() };
        let mut client = Client {
            hello,
            reader: BufReader::new(read),
            writer,
            line: Vec::new(),
            waiting: std::collections::VecDeque::new(),
            requests: 0,
        };
        match tokio::time::timeout(PATIENCE, client.read()).await {
            Ok(Ok(Line::Hello(hello))) if hello.version == VERSION => client.hello = hello,
            Ok(Ok(Line::Hello(hello))) => return Err(ClientError::Version(hello.version)),
            Ok(Ok(_)) => return Err(ClientError::Protocol("it says no hello".to_owned())),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(ClientError::Protocol("it says nothing".to_owned())),
        }
        Ok(client)
    }

    /// Who answers.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ask(&mut self, order: Order) -> Result<Outcome, ClientError> {
        let id = self.send(order).await?;
        tokio::time::timeout(PATIENCE, self.answer(id))
            .await
            .map_err(|error| ClientError::Lost(error.into()))?
    }

    async fn answer(&mut self, id: u64) -> Result<Outcome, ClientError> {
        loop {
            match self.read().await? {
                Line::Answer(Answer { id: of, outcome }) if of == id => {
                    return match outcome {
                        Outcome::Error(reason) => Err(ClientError::Refused(reason)),
                        outcome => Ok(outcome),
                    };
                }
                line => {
                    if self.waiting.len() == MAX_WAITING {
                        self.waiting.pop_front();
                    }
                    self.waiting.push_back(line);
                }
            }
        }
    }

    /// Asks without waiting; the answer comes among the [lines](Self::next). Returns its id.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn send(&mut self, order: Order) -> Result<u64, ClientError> {
        self.requests += 1;
        let request = Request { id: self.requests.into(), order };
        let mut text = serde_json::to_vec(&request).map_err(|error| ClientError::Lost(error.into()))?;
        text.push(b'\n');
        self.writer.write_all(&text).await.map_err(ClientError::Lost)?;
        Ok(self.requests)
    }

    /// The next line: a sample, an event, or an answer. Safe to drop while it waits.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn next(&mut self) -> Result<Line, ClientError> {
        match self.waiting.pop_front() {
            Some(line) => Ok(line),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Result<Line, ClientError> {
        let room = MAX_LINE.saturating_sub(self.line.len() as u64);
        (&mut self.reader).take(room).read_until(b'\n', &mut self.line).await.map_err(ClientError::Lost)?;
        if self.line.last() != Some(&b'\n') {
            return Err(match self.line.len() as u64 >= MAX_LINE {
                true => ClientError::Protocol("a line is too long".to_owned()),
                false => ClientError::Ended,
            });
        }
        let line = std::mem::take(&mut self.line);
        serde_json::from_slice(&line).map_err(|error| ClientError::Protocol(error.to_string()))
    }
}
