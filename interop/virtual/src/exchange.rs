use bytes::Bytes;
use hawser_policy::Time;
use hawser_sim::pattern;

/// What came of a read.
pub enum Piece {
    /// The next bytes.
    Data(Bytes),
    /// Nothing now.
    Blocked,
    /// The peer has finished and everything was read.
    End,
}

/// Lets both ends of an [endless](Exchange::endless) transfer send `more` bytes and finish.
pub fn wind_up(one: &mut Exchange, other: &mut Exchange, more: u64) {
    (one.length, other.length) = (one.sent + more, other.sent + more);
    (one.expected, other.expected) = (other.length, one.length);
}

/// A stream of any of the stacks, open in both directions.
pub trait ByteStream {
    /// Takes a part of `data`; zero when nothing fits now.
    ///
    /// # Errors
    /// The stack's error in words.
    fn write(&mut self, data: &[u8]) -> Result<usize, String>;

    /// Ends the sending direction.
    ///
    /// # Errors
    /// The stack's error in words.
    fn finish(&mut self) -> Result<(), String>;

    /// The next bytes in order.
    ///
    /// # Errors
    /// The stack's error in words.
    fn read(&mut self) -> Result<Piece, String>;
}

/// One end of a transfer in both directions: sends [`pattern`] and checks that the peer sends it too.
#[derive(Debug)]
pub struct Exchange {
    /// Bytes to send; [`u64::MAX`] until [`wind_up`] names a number.
    length: u64,
    /// Bytes to receive; likewise.
    expected: u64,
    sent: u64,
    finished_sending: bool,
    /// Bytes received in order.
    pub received: u64,
    /// When the peer's end of the stream had been read.
    pub ended_at: Option<Time>,
    /// Offset of the first wrong byte.
    pub corrupt_at: Option<u64>,
    /// What a stack refused, with its reason.
    pub failures: Vec<String>,
    /// How the connection ended, in the words of the stack.
    pub closed: Option<String>,
    /// What happened to paths, in the words of the stack.
    pub path_events: Vec<(Time, String)>,
}

impl Exchange {
    /// An end that sends `length` bytes and expects as many.
    pub fn new(length: u64) -> Self {
        Exchange {
            length,
            expected: length,
            sent: 0,
            finished_sending: false,
            received: 0,
            ended_at: None,
            corrupt_at: None,
            failures: Vec::new(),
            closed: None,
            path_events: Vec::new(),
        }
    }

    /// An end that sends as fast as it can until [`wind_up`].
    pub fn endless() -> Self {
        Exchange::new(u64::MAX)
    }

    /// Whether everything expected has arrived intact, with the end of the stream.
    pub fn is_complete(&self) -> bool {
        self.ended_at.is_some()
            && self.received == self.expected
            && self.corrupt_at.is_none()
            && self.failures.is_empty()
    }

    /// Writes and reads as much as the stream allows.
    pub fn drive(&mut self, now: Time, stream: &mut dyn ByteStream) {
        if let Err(error) = self.pull(now, stream) {
            self.failures.push(format!("reading at {}: {error}", self.received));
        }
        if let Err(error) = self.push(stream) {
            self.failures.push(format!("writing at {}: {error}", self.sent));
        }
    }

    fn push(&mut self, stream: &mut dyn ByteStream) -> Result<(), String> {
        let mut block = [0; 8 * 1024];
        while self.sent < self.length {
            let size = (self.length - self.sent).min(block.len() as u64) as usize;
            for (offset, byte) in (self.sent..).zip(&mut block[..size]) {
                *byte = pattern(offset);
            }
            match stream.write(&block[..size])? {
                0 => return Ok(()),
                taken => self.sent += taken as u64,
            }
        }
        if self.sent == self.length && !self.finished_sending {
            self.finished_sending = true;
            stream.finish()?;
        }
        Ok(())
    }

    fn pull(&mut self, now: Time, stream: &mut dyn ByteStream) -> Result<(), String> {
        while self.ended_at.is_none() {
            match stream.read()? {
                Piece::Data(bytes) => {
                    let wrong =
                        (self.received..).zip(&bytes).find(|(offset, byte)| pattern(*offset) != **byte);
                    self.corrupt_at = self.corrupt_at.or(wrong.map(|(offset, _)| offset));
                    self.received += bytes.len() as u64;
                }
                Piece::Blocked => break,
                Piece::End => self.ended_at = Some(now),
            }
        }
        Ok(())
    }
}
