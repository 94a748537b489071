//! Fragmented MP4: what browsers play through their Media Source Extensions, what HLS has in its segments, and a file that is
//! whole up to its last fragment wherever its writer died.
//!
//! Source: ISO/IEC 14496-12 (ISO base media file format), 14496-14 and -15 (MP4, H.264, H.265), AV1 and Opus in ISOBMFF. Times are
//! milliseconds, as those of tags.

mod boxes;
mod fragment;
mod header;
mod muxer;
mod segments;
#[cfg(test)]
mod tests;

pub use fragment::{Run, TimedSample, fragment, reference_time};
pub use header::Tracks;
pub use muxer::{Mp4Event, Mp4Muxer};
pub use segments::{Part, SegmentEvent, Segmenter};

/// Ids of the tracks.
pub const VIDEO: u32 = 1;
/// Of the sound.
pub const AUDIO: u32 = 2;
/// Units of a second.
pub const TIMESCALE: u32 = 1_000;
