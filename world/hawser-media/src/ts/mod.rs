//! MPEG transport streams: what SRT carries, what UDP brings from hardware encoders, and what most players read.
//!
//! Source: ISO/IEC 13818-1 (systems), with the types of H.264, H.265 and AAC in ADTS. AV1 and Opus have no place in what is
//! written.

mod mux;
mod read;
mod section;
#[cfg(test)]
mod tests;

pub use mux::{TsMuxer, can_carry};
pub use read::{TsCounts, TsReader};

/// Bytes of a packet.
pub const PACKET: usize = 188;
/// With which each packet begins.
pub const SYNC: u8 = 0x47;
/// Ticks of a millisecond.
const TICKS: u64 = 90;
/// Times have 33 bits.
const TIME_MASK: u64 = (1 << 33) - 1;

/// Types of streams (table 2-34).
const AVC: u8 = 0x1b;
const HEVC: u8 = 0x24;
const AAC: u8 = 0x0f;
