//! QUIC and multipath QUIC wire format: bytes to values and back.
//!
//! This crate knows how things look on the wire and nothing else. It holds no state, knows no time, does no I/O and
//! no cryptography: whether a packet is authentic, expected or timely is for its caller to say.
//!
//! # The idea
//!
//! * **Reading borrows.** A [`Reader`] walks over received bytes; [`frame::FrameIter`] yields [`Frame`]s whose data
//!   are slices of the payload. Everything is checked when it is decoded, so that what an iterator over ranges or
//!   timestamps yields later needs no more checks. No input makes it panic, allocate, or work longer than in
//!   proportion to its length.
//! * **Writing is in place.** A [`Writer`] fills a buffer of the caller, checks every length, and patches lengths that
//!   become known only later. A write that fails leaves it where it was.
//! * **A packet is read in two steps**, because header protection hides a part of its header: see [`packet`].
//! * **Every number has one home**, [`codepoints`].
//!
//! # Types
//!
//! Path ids are `u32`, since the multipath extension ends them at 2^32 - 1; larger ones are a decoding error. Stream
//! ids, offsets, packet numbers and error codes are `u64` of which 62 bits are used, as variable-length integers
//! carry.
//!
//! # What is spoken
//!
//! QUIC versions 1 (RFC 8999, 9000, 9001) and 2 (RFC 9369), version information (RFC 9368), DATAGRAM (RFC 9221),
//! the greased QUIC bit (RFC 9287), multipath (draft-ietf-quic-multipath-21), ACK_FREQUENCY, RESET_STREAM_AT, receive timestamps and address discovery.

pub mod cid;
pub mod codepoints;
pub mod frame;
mod nonce;
pub mod packet;
pub mod reader;
pub mod transport_parameters;
pub mod varint;
pub mod version;
pub mod writer;

pub use cid::{ConnectionId, StatelessResetToken};
pub use frame::{Frame, FrameError, FrameErrorKind, FrameIter};
pub use nonce::multipath_nonce;
pub use packet::{
    PacketError, PacketType, PartialHeader, PlainHeader, ProtectedHeader, TruncatedPacketNumber,
};
pub use reader::{Reader, UnexpectedEnd};
pub use transport_parameters::{Role, TransportParameterError, TransportParameters};
pub use version::Version;
pub use writer::{BufferTooShort, VarintPlaceholder, VarintSize, Writer};
