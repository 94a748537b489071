//! How units lie in a stream of QUIC: a preface, then for each unit a header, the bytes that name its codec, and its body.
//!
//! ```text
//! Preface { "HWLV" (32), Version (8) = 2, 0 (64) }
//! Unit {
//!   Number (32), Kind (8), Size (32), Written (64),       as the header of a frame in framing.rs
//!   Tag (8), Timestamp (32), Origin (32), Padded (32), Age (32), Flags (8), Head Length (8),
//!   Head (..),                                            reliable, with the header
//!   Body (..)                                             Size - Head Length bytes
//! }
//! ```
//!
//! Headers tell where bodies end, so that a body may have gaps and the next header is found all the same. Only bodies of
//! delta frames may; the reader fills them with zeros, so that the tag keeps its size (4D-MAP, gap padding).

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hawser_policy::{FrameInfo, Reliability, SegmentKind, Time};

use super::Unit;
use crate::flv::{MAX_TAG, Role, Tag, TagKind};
use crate::framing::PREFACE_LENGTH;

/// What a stream of units begins with.
pub const PREFACE: [u8; PREFACE_LENGTH] = *b"HWLV\x02\0\0\0\0\0\0\0\0";
/// Bytes of a header.
pub const HEADER_LENGTH: usize = 17 + 19;
/// In the number under which policies know the header of a unit; the body has the number of the unit.
pub const HEADER_ID: u64 = 1 << 33;

/// Another encoder begins with this unit.
const RESTARTS: u8 = 1;
/// The stream is over for good: what follows it, if anything, is another one.
const ENDS: u8 = 2;
const FLAGS: u8 = RESTARTS | ENDS;

/// What of frames may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing: every byte arrives.
    Reliable,
    /// Bodies of delta frames: by the policy, and if they are older than the deadline.
    Timely {
        /// After which nothing of a delta frame is sent any more.
        deadline: Option<Duration>,
    },
}

/// A piece to be written with what policies should know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// For [`write_frame`](crate::Transport::write_frame).
    pub info: FrameInfo,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The pieces of a unit: its header, and its body unless that is empty. `previous` is the number of the frame before it, if
/// that is of the same group of pictures.
pub fn parts(now: Time, unit: &Unit, previous: Option<u32>, delivery: Delivery) -> [Part; 2] {
    let mut body = unit.tag.data.clone();
    let head = body.split_to(unit.tag.head_length());
    let mut header = BytesMut::with_capacity(HEADER_LENGTH + head.len());
    put_header(&mut header, now, unit, if unit.restarts { RESTARTS } else { 0 }, head.len());
    header.put_slice(&head);
    let id = u64::from(unit.number);
    let header = Part { info: reliable(HEADER_ID | id, SegmentKind::Signalling), bytes: header.freeze() };
    let info = match (unit.role, delivery) {
        (Role::DeltaFrame, Delivery::Timely { deadline }) => {
            reliable(id, SegmentKind::DeltaFrame).with(|frame| {
                frame.reliability = Reliability::UntilDeadline;
                frame.deadline = deadline.map(|deadline| now + deadline);
                frame.dependencies = previous.into_iter().map(u64::from).collect();
            })
        }
        (Role::DeltaFrame, Delivery::Reliable) => reliable(id, SegmentKind::DeltaFrame),
        (Role::KeyFrame, _) => reliable(id, SegmentKind::KeyFrame),
        (Role::Audio, _) => reliable(id, SegmentKind::Audio),
        _ => reliable(id, SegmentKind::Signalling),
    };
    [header, Part { info, bytes: body }]
}

/// What is written when nothing follows.
pub fn end(now: Time) -> Part {
    let tag = Tag { kind: TagKind::Script, timestamp: 0, data: Bytes::new() };
    let unit = Unit {
        tag,
        role: Role::Other,
        origin: 0,
        number: 0,
        padded: 0,
        restarts: false,
        age: 0,
        came_at: now,
        is_alone: false,
    };
    let mut header = BytesMut::with_capacity(HEADER_LENGTH);
    put_header(&mut header, now, &unit, ENDS, 0);
    Part { info: reliable(u64::MAX >> 2, SegmentKind::Signalling), bytes: header.freeze() }
}

fn reliable(id: u64, kind: SegmentKind) -> FrameInfo {
    FrameInfo::default().with(|frame| {
        frame.id = id;
        frame.kind = kind;
        frame.reliability = Reliability::Reliable;
    })
}

fn put_header(header: &mut BytesMut, now: Time, unit: &Unit, flags: u8, head: usize) {
    header.put_u32(unit.number);
    header.put_u8(match unit.role {
        Role::DeltaFrame => 0,
        Role::KeyFrame => 1,
        Role::Audio => 2,
        Role::Script | Role::VideoHeader | Role::AudioHeader => 3,
        Role::Other => 4,
    });
    header.put_u32(unit.tag.data.len() as u32);
    header.put_u64(now.as_nanos());
    header.put_u8(unit.tag.kind.to_byte());
    header.put_u32(unit.tag.timestamp);
    header.put_u32(unit.origin);
    header.put_u32(unit.padded);
    header.put_u32(unit.age);
    header.put_u8(flags);
    // No head is longer than that (flv.rs).
    header.put_u8(head as u8);
}

/// What is no stream of units. None of these happens to a sound sender: nobody may give up headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another protocol, or another version of it.
    #[error("the stream does not begin as one of `hawser live` of this version")]
    Preface,
    /// A header that makes no sense.
    #[error("the header of a tag makes no sense")]
    Header,
    /// A tag larger than [`MAX_TAG`].
    #[error("a tag of {0} bytes; the most that is taken is {MAX_TAG}")]
    TooLarge(u32),
    /// Bytes that must arrive did not.
    #[error("{0} bytes are missing that may not be given up: of a header, a key frame or audio")]
    Missing(u64),
}

/// A unit that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Itself.
    pub unit: Unit,
    /// When it was written, by the clock of the sender.
    pub written_at: Time,
    /// Bytes of the body that came on this hop; policies know the body by the number of the unit.
    pub received: u64,
    /// Bytes of the body that did not.
    pub lacking: u64,
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A unit.
    Unit(Arrival),
    /// The end of the stream, said by the sender.
    End,
}

/// Reads units from the pieces of a stream. It keeps one unit at most, so [`MAX_TAG`] bytes.
#[derive(Debug)]
pub struct UnitReader {
    stage: Stage,
    filled: BytesMut,
}

#[derive(Clone, Debug)]
enum Stage {
    Preface,
    Header,
    Head(Header),
    Body { header: Header, lacking: u64 },
}

#[derive(Clone, Debug)]
struct Header {
    /// Without data.
    unit: Unit,
    written_at: Time,
    size: usize,
    head: usize,
    is_delta: bool,
}

impl Default for UnitReader {
    fn default() -> Self {
        UnitReader { stage: Stage::Preface, filled: BytesMut::new() }
    }
}

impl UnitReader {
    /// Takes bytes off the front of `data` and returns what they complete; `None` when all were taken.
    ///
    /// # Errors
    /// [`WireError`]: the stream cannot be read any further.
    pub fn read(&mut self, data: &mut Bytes) -> Result<Option<Found>, WireError> {
        loop {
            let wanted = self.wanted() - self.filled.len();
            let taken = data.split_to(wanted.min(data.len()));
            self.filled.extend_from_slice(&taken);
            if taken.len() < wanted {
                return Ok(None);
            }
            if let Some(found) = self.advance()? {
                return Ok(Some(found));
            }
        }
    }

    /// So many bytes will not come. May complete several units: call it again with 0 until it returns `None`.
    ///
    /// # Errors
    /// [`WireError::Missing`] if they may not be given up.
    pub fn skip(&mut self, length: &mut u64) -> Result<Option<Found>, WireError> {
        if *length == 0 {
            return Ok(None);
        }
        let room = (self.wanted() - self.filled.len()) as u64;
        let Stage::Body { header, lacking } = &mut self.stage else {
            return Err(WireError::Missing(*length));
        };
        if !header.is_delta {
            return Err(WireError::Missing(*length));
        }
        let padding = room.min(*length);
        *length -= padding;
        *lacking += padding;
        self.filled.put_bytes(0, padding as usize);
        if padding < room { Ok(None) } else { self.advance() }
    }

    /// Whether the reader is between two units.
    pub fn is_between(&self) -> bool {
        matches!(self.stage, Stage::Preface | Stage::Header) && self.filled.is_empty()
    }

    /// Bytes that the stage needs.
    fn wanted(&self) -> usize {
        match &self.stage {
            Stage::Preface => PREFACE.len(),
            Stage::Header => HEADER_LENGTH,
            Stage::Head(header) => header.head,
            Stage::Body { header, .. } => header.size,
        }
    }

    /// The stage has all that it needs.
    fn advance(&mut self) -> Result<Option<Found>, WireError> {
        match self.stage.clone() {
            Stage::Preface => {
                if self.filled[..] != PREFACE {
                    return Err(WireError::Preface);
                }
                self.begin(Stage::Header);
            }
            Stage::Header => {
                let bytes = std::mem::take(&mut self.filled);
                match read_header(&bytes)? {
                    Some(header) => self.begin(Stage::Head(header)),
                    None => {
                        self.begin(Stage::Header);
                        return Ok(Some(Found::End));
                    }
                }
            }
            // The head stays where it is: it is the front of the tag.
            Stage::Head(header) => self.stage = Stage::Body { header, lacking: 0 },
            Stage::Body { header, lacking } => {
                let Header { mut unit, written_at, size, head, .. } = header;
                // A buffer of its own: a small unit does not keep that of a large one before it.
                unit.tag.data = std::mem::take(&mut self.filled).freeze();
                let padded = u32::try_from(lacking).unwrap_or(u32::MAX);
                unit.padded = unit.padded.saturating_add(padded);
                self.stage = Stage::Header;
                let received = (size - head) as u64 - lacking;
                return Ok(Some(Found::Unit(Arrival { unit, written_at, received, lacking })));
            }
        }
        Ok(None)
    }

    fn begin(&mut self, stage: Stage) {
        self.filled.clear();
        self.stage = stage;
    }
}

/// `None`: the end.
fn read_header(mut bytes: &[u8]) -> Result<Option<Header>, WireError> {
    let number = bytes.get_u32();
    let kind = bytes.get_u8();
    let size = bytes.get_u32();
    let written_at = Time::from_nanos(bytes.get_u64());
    let tag = TagKind::from_byte(bytes.get_u8()).ok_or(WireError::Header)?;
    let (timestamp, origin, padded, age) =
        (bytes.get_u32(), bytes.get_u32(), bytes.get_u32(), bytes.get_u32());
    let (flags, head) = (bytes.get_u8(), usize::from(bytes.get_u8()));
    if flags & !FLAGS != 0 || kind > 4 || head > size as usize {
        return Err(WireError::Header);
    }
    if flags & ENDS != 0 {
        return if size == 0 { Ok(None) } else { Err(WireError::Header) };
    }
    if size as usize > MAX_TAG {
        return Err(WireError::TooLarge(size));
    }
    let role = match (kind, tag) {
        (0, TagKind::Video) => Role::DeltaFrame,
        (1, TagKind::Video) => Role::KeyFrame,
        (2, TagKind::Audio) => Role::Audio,
        (3, TagKind::Video) => Role::VideoHeader,
        (3, TagKind::Audio) => Role::AudioHeader,
        (3, TagKind::Script) => Role::Script,
        (4, _) => Role::Other,
        _ => return Err(WireError::Header),
    };
    let tag = Tag { kind: tag, timestamp, data: Bytes::new() };
    let unit = Unit {
        tag,
        role,
        origin,
        number,
        padded,
        restarts: flags & RESTARTS != 0,
        age,
        came_at: Time::ZERO,
        is_alone: false,
    };
    let size = size as usize;
    Ok(Some(Header { unit, written_at, size, head, is_delta: role == Role::DeltaFrame }))
}
