//! A fragment: samples that are decodable with what stood before.

use bytes::{BufMut, Bytes, BytesMut};

use super::boxes::{boxed, full};

/// Data offsets, durations, sizes, flags and composition times of all samples (ISO/IEC 14496-12 section 8.8.8).
const RUN_FLAGS: u32 = 0x1 | 0x100 | 0x200 | 0x400 | 0x800;
/// Offsets count from the first byte of the fragment.
const BASE_IS_FRAGMENT: u32 = 0x2_0000;
/// A sample that depends on no other, and one that depends on others.
const KEY: u32 = 0x200_0000;
const DEPENDENT: u32 = 0x101_0000;
/// Seconds from 1900, with which NTP begins, to 1970.
const NTP_OFFSET: u64 = 2_208_988_800;

/// One sample with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedSample {
    /// When it is decoded, in milliseconds.
    pub time: u64,
    /// Milliseconds until the next one.
    pub duration: u32,
    /// Milliseconds from decoding to showing it.
    pub composition: i32,
    /// Whether it is decodable by itself.
    pub is_key: bool,
    /// Its bytes.
    pub data: Bytes,
}

/// Samples of one track that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The track.
    pub track: u32,
    /// The samples, at least one.
    pub samples: Vec<TimedSample>,
}

/// Says when the first sample of a track was made (`prft`, ISO/IEC 14496-12 section 8.16.5), in milliseconds since 1970.
pub fn reference_time(track: u32, sample_time: u64, made_at_ms: u64) -> Bytes {
    let mut out = BytesMut::new();
    let seconds = made_at_ms / 1_000 + NTP_OFFSET;
    let fraction = ((made_at_ms % 1_000) << 32) / 1_000;
    // Flags 0: when the encoder took it in.
    full(&mut out, b"prft", 1, 0, |out| {
        out.put_u32(track);
        out.put_u64((seconds & 0xffff_ffff) << 32 | fraction);
        out.put_u64(sample_time);
    });
    out.freeze()
}

/// A fragment of these runs.
pub fn fragment(sequence: u32, runs: &[Run]) -> Bytes {
    let size: usize = runs.iter().flat_map(|run| &run.samples).map(|sample| sample.data.len() + 16).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    // Where each run says where its data begins.
    let mut offsets = Vec::with_capacity(runs.len());
    boxed(&mut out, b"moof", |out| {
        full(out, b"mfhd", 0, 0, |out| out.put_u32(sequence));
        for run in runs {
            boxed(out, b"traf", |out| {
                full(out, b"tfhd", 0, BASE_IS_FRAGMENT, |out| out.put_u32(run.track));
                let start = run.samples.first().map_or(0, |sample| sample.time);
                full(out, b"tfdt", 1, 0, |out| out.put_u64(start));
                full(out, b"trun", 1, RUN_FLAGS, |out| {
                    out.put_u32(run.samples.len() as u32);
                    offsets.push(out.len());
                    out.put_u32(0);
                    for sample in &run.samples {
                        out.put_u32(sample.duration);
                        out.put_u32(sample.data.len() as u32);
                        out.put_u32(if sample.is_key { KEY } else { DEPENDENT });
                        out.put_i32(sample.composition);
                    }
                });
            });
        }
    });
    let mut data_at = out.len() + 8;
    for (at, run) in offsets.into_iter().zip(runs) {
        out[at..at + 4].copy_from_slice(&(data_at as u32).to_be_bytes());
        data_at += run.samples.iter().map(|sample| sample.data.len()).sum::<usize>();
    }
    boxed(&mut out, b"mdat", |out| {
        runs.iter().flat_map(|run| &run.samples).for_each(|sample| out.put_slice(&sample.data));
    });
    out.freeze()
}
