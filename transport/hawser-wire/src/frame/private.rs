//! Hawser's own frames. Both ends have to list the feature of such a frame before it may be sent
//! ([`codepoints::private`](crate::codepoints::private)).

use super::FrameErrorKind;
use crate::reader::Reader;
use crate::varint;
use crate::writer::{BufferTooShort, Sink};

/// How a [`PolicyMessage`] is to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageDelivery {
    /// The newest of its feature and path replaces all older ones.
    Latest = 0,
    /// All arrive, in the order of their sequence numbers.
    Reliable = 1,
    /// As [`MessageDelivery::Latest`], but rides with acknowledgements: alone it draws none.
    WithAcks = 2,
}

/// A message from a policy to the one at the other end.
///
/// ```text
/// POLICY_MESSAGE Frame {
///   Type (i) = 0x28a75e10,
///   Feature (i),
///   Flags (8),              // 0x03: delivery; 0x04: a path id follows; others 0
///   [Path Identifier (i)],
///   Sequence Number (i),
///   Length (i),
///   Payload (..),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyMessage<'a> {
    /// Whose message it is.
    pub feature: u64,
    /// How it is to be delivered.
    pub delivery: MessageDelivery,
    /// The path it is about; `None` if about none in particular.
    pub path_id: Option<u32>,
    /// Rises with every message of this feature, delivery and path.
    pub sequence_number: u64,
    /// What the policies have to say. Its form is theirs.
    pub payload: &'a [u8],
}

/// A stream range that will never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSkip {
    /// The stream meant.
    pub stream_id: u64,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// Its length in bytes, at least 1.
    pub length: u64,
}

const DELIVERY_MASK: u8 = 0x03;
const WITH_PATH: u8 = 0x04;

impl<'a> PolicyMessage<'a> {
    /// Its exact size as a frame without the payload, in bytes, for a payload of `length` bytes.
    pub const fn header_len(&self, length: usize) -> usize {
        let path = match self.path_id {
            Some(path_id) => varint::len(path_id as u64),
            None => 0,
        };
        varint::len(crate::codepoints::private::POLICY_MESSAGE)
            + varint::len(self.feature)
            + 1
            + path
            + varint::len(self.sequence_number)
            + varint::len(length as u64)
    }

    pub(super) fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        sink.varint(self.feature)?;
        let with_path = if self.path_id.is_some() { WITH_PATH } else { 0 };
        sink.byte(self.delivery as u8 | with_path)?;
        if let Some(path_id) = self.path_id {
            sink.varint(u64::from(path_id))?;
        }
        sink.varint(self.sequence_number)?;
        sink.varint(self.payload.len() as u64)?;
        sink.bytes(self.payload)
    }

    pub(super) fn decode(r: &mut Reader<'a>) -> Result<Self, FrameErrorKind> {
        let feature = r.read_varint()?;
        let flags = r.read_u8()?;
        let delivery = match flags & DELIVERY_MASK {
            _ if flags & !(DELIVERY_MASK | WITH_PATH) != 0 => {
                return Err(FrameErrorKind::MessageFlags(flags));
            }
            0 => MessageDelivery::Latest,
            1 => MessageDelivery::Reliable,
            2 => MessageDelivery::WithAcks,
            _ => return Err(FrameErrorKind::MessageFlags(flags)),
        };
        let path_id = if flags & WITH_PATH != 0 { Some(super::decode::read_path_id(r)?) } else { None };
        Ok(Self {
            feature,
            delivery,
            path_id,
            sequence_number: r.read_varint()?,
            payload: r.read_varint_prefixed()?,
        })
    }
}

impl StreamSkip {
    /// The offset just past the range, in bytes.
    pub const fn end(&self) -> u64 {
        // Checked when decoded.
        self.offset.saturating_add(self.length)
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, FrameErrorKind> {
        let skip = Self { stream_id: r.read_varint()?, offset: r.read_varint()?, length: r.read_varint()? };
        if skip.length == 0 {
            return Err(FrameErrorKind::EmptySkip);
        }
        if skip.end() > varint::MAX {
            return Err(FrameErrorKind::DataTooFar { offset: skip.offset, length: skip.length });
        }
        Ok(skip)
    }
}
