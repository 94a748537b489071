//! Lines from a regular file, a FIFO or a Unix socket, none of which needs to be there, or to stay.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hawser_policy::Time;
use nix::libc::O_NONBLOCK;
use socket2::{Domain, SockAddr, Socket, Type};

/// The longest line, in bytes.
pub(super) const MAX_LINE: usize = 16 * 1024;
/// Bytes read at once; of a file that is longer when it is opened, only this much of its end counts.
const READ_LIMIT: u64 = 256 * 1024;
/// Between attempts to open what is not there.
const RETRY: Duration = Duration::from_secs(1);

/// What the source gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A line without its end, its number since the source was opened, and how old it is at most.
    Line { number: u64, text: Vec<u8>, age: Duration },
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong { number: u64 },
}

/// A path at which lines can be read.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    open: Option<Open>,
    next_attempt: Time,
    /// Whether it was said that there is nothing to open.
    is_missing_told: bool,
}

#[derive(Debug)]
struct Open {
    stream: Stream,
    /// Device and inode: another file of the same name is another source.
    identity: (u64, u64),
    /// The line that is being read.
    partial: Vec<u8>,
    /// Whether the rest of the line is to be passed over.
    is_skipping: bool,
    lines: u64,
}

#[derive(Debug)]
enum Stream {
    File { file: File, offset: u64, modified: SystemTime, is_first: bool },
    Fifo(File),
    Socket(Socket),
}

impl Source {
    pub(super) fn new(path: PathBuf) -> Self {
        Source { path, open: None, next_attempt: Time::ZERO, is_missing_told: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what there is, at most 256 KiB; opens the source if need be. Never waits.
    pub(super) fn poll(&mut self, now: Time, wall_clock: SystemTime) -> Vec<Input> {
        let metadata = std::fs::metadata(&self.path);
        let is_same = |open: &Open| metadata.as_ref().is_ok_and(|found| identity(found) == open.identity);
        if self.open.as_ref().is_some_and(|open| !is_same(open)) {
            self.open = None;
        }
        if self.open.is_none() && now >= self.next_attempt {
            self.next_attempt = now + RETRY;
            match metadata.and_then(|found| Open::new(&self.path, &found)) {
                Ok(open) => {
                    tracing::debug!(path = %self.path.display(), "link states are read");
                    (self.open, self.is_missing_told) = (Some(open), false);
                }
                Err(error) if !std::mem::replace(&mut self.is_missing_told, true) => {
                    tracing::warn!(path = %self.path.display(), %error, "no link states; trying again each second");
                }
                Err(_) => {}
            }
        }
        let mut inputs = Vec::new();
        if let Some(open) = &mut self.open
            && let Err(error) = open.read(wall_clock, &mut inputs)
        {
            tracing::debug!(path = %self.path.display(), %error, "the source of link states is gone");
            self.open = None;
        }
        inputs
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Open {
    fn new(path: &Path, metadata: &Metadata) -> io::Result<Open> {
        let kind = metadata.file_type();
        let stream = if kind.is_socket() {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            socket.connect(&SockAddr::unix(path)?)?;
            Stream::Socket(socket)
        } else if kind.is_fifo() {
            // Without this flag opening waits for a writer.
            Stream::Fifo(OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?)
        } else {
            let file = OpenOptions::new().read(true).open(path)?;
            let offset = metadata.len().saturating_sub(READ_LIMIT);
            Stream::File { file, offset, modified: SystemTime::UNIX_EPOCH, is_first: true }
        };
        // A file that is read from the middle begins with the rest of a line.
        let is_skipping = matches!(stream, Stream::File { offset, .. } if offset > 0);
        Ok(Open { stream, identity: identity(metadata), partial: Vec::new(), is_skipping, lines: 0 })
    }

    fn read(&mut self, wall_clock: SystemTime, inputs: &mut Vec<Input>) -> io::Result<()> {
        match &mut self.stream {
            Stream::File { file, offset, modified, is_first } => {
                let metadata = file.metadata()?;
                let changed = metadata.modified()?;
                // Rewritten in place: it is shorter, or as long as before and yet changed.
                if metadata.len() < *offset || (metadata.len() == *offset && changed != *modified) {
                    *offset = 0;
                    (self.partial, self.is_skipping, self.lines) = (Vec::new(), false, 0);
                }
                // What is there when it is opened is as old as the file.
                let age = wall_clock.duration_since(changed).unwrap_or_default();
                let age = if std::mem::take(is_first) { age } else { Duration::ZERO };
                file.seek(SeekFrom::Start(*offset))?;
                let mut bytes = Vec::new();
                *offset += file.take(READ_LIMIT).read_to_end(&mut bytes)? as u64;
                *modified = file.metadata()?.modified()?;
                self.cut(&bytes, age, inputs);
                Ok(())
            }
            Stream::Fifo(file) => {
                let (bytes, is_end) = read_some(file)?;
                self.cut(&bytes, Duration::ZERO, inputs);
                if is_end {
                    self.on_writer_gone(inputs);
                }
                Ok(())
            }
            Stream::Socket(socket) => {
                let (bytes, is_end) = read_some(socket)?;
                self.cut(&bytes, Duration::ZERO, inputs);
                if is_end {
                    self.on_writer_gone(inputs);
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                Ok(())
            }
        }
    }

    fn cut(&mut self, bytes: &[u8], age: Duration, inputs: &mut Vec<Input>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            if !self.is_skipping {
                self.partial.extend_from_slice(text);
            }
            if self.partial.len() > MAX_LINE {
                self.partial = Vec::new();
                self.is_skipping = true;
                inputs.push(Input::TooLong { number: self.lines + 1 });
            }
            if is_whole {
                self.end_line(age, inputs);
            }
        }
    }

    /// The writer is gone: a line that it did not end is one all the same, and the next writer begins another.
    fn on_writer_gone(&mut self, inputs: &mut Vec<Input>) {
        if self.is_skipping || !self.partial.is_empty() {
            self.end_line(Duration::ZERO, inputs);
        }
    }

    fn end_line(&mut self, age: Duration, inputs: &mut Vec<Input>) {
        self.lines += 1;
        let text = std::mem::take(&mut self.partial);
        let was_skipped = std::mem::take(&mut self.is_skipping);
        if !was_skipped && !text.trim_ascii().is_empty() {
            inputs.push(Input::Line { number: self.lines, text, age });
        }
    }
}

/// Reads without waiting, up to the limit. Returns whether the other end is closed.
fn read_some(stream: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    match stream.take(READ_LIMIT).read_to_end(&mut bytes) {
        Ok(_) => {
            let is_end = (bytes.len() as u64) < READ_LIMIT;
            Ok((bytes, is_end))
        }
        // What was read before is kept by `read_to_end`.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok((bytes, false)),
        Err(error) => Err(error),
    }
}
