//! What decoders are set up with: codecs as containers name them, parameter sets, sizes of pictures.
//!
//! Sources: H.264, H.265 and the AV1 specification for the first fields of their parameter sets; ISO/IEC 14496-15 for the records in
//! which MP4 and FLV carry them; RFC 6381 for the names that browsers ask for.

pub mod aac;
mod av1;
mod avc;
mod bits;
mod hevc;
#[cfg(test)]
mod tests;

use bytes::{BufMut, Bytes, BytesMut};

use self::aac::AacConfig;

/// The start code before each unit of H.264 and H.265 in a stream of bytes.
const START_CODE: [u8; 4] = [0, 0, 0, 1];
/// Units of one frame at most: a frame has a unit for each of its slices.
const MAX_UNITS: usize = 1_024;

/// How pictures or sound are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// H.264.
    Avc,
    /// H.265.
    Hevc,
    /// AV1.
    Av1,
    /// AAC.
    Aac,
    /// Opus.
    Opus,
    /// MP3, which needs no set-up.
    Mp3,
}

impl Codec {
    /// Whether it is one of pictures.
    pub fn is_video(self) -> bool {
        matches!(self, Codec::Avc | Codec::Hevc | Codec::Av1)
    }
}

/// A decoder's set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How it is coded.
    pub codec: Codec,
    /// The decoder's record as MP4 carries it: `avcC`, `hvcC`, `av1C`, `AudioSpecificConfig`, `OpusHead`.
    pub record: Bytes,
}

impl Setup {
    /// Width and height of the picture in pixels.
    pub fn picture_size(&self) -> Option<(u32, u32)> {
        let set_of = |kind: u8| hevc::sets(&self.record)?.into_iter().find(|set| hevc::kind(set) == kind);
        match self.codec {
            Codec::Avc => avc::size(avc::sets(&self.record)?.first()?),
            Codec::Hevc => hevc::size(set_of(hevc::SEQUENCE_SET)?),
            Codec::Av1 => av1::size(&self.record),
            Codec::Aac | Codec::Opus | Codec::Mp3 => None,
        }
    }

    /// Samples per second and channels of the sound.
    pub fn sound(&self) -> Option<(u32, u8)> {
        match self.codec {
            Codec::Aac => AacConfig::read(&self.record).map(|config| (config.rate, config.channels)),
            // Opus has 48,000 whatever it was made of (RFC 7845 section 4).
            Codec::Opus => Some((48_000, *self.record.get(9)?)),
            Codec::Avc | Codec::Hevc | Codec::Av1 | Codec::Mp3 => None,
        }
    }

    /// The name by which browsers know it (RFC 6381); `None` if the record says too little.
    pub fn browser_name(&self) -> Option<String> {
        let record = &self.record;
        match self.codec {
            Codec::Avc => {
                let [profile, constraints, level] = *record.get(1..)?.first_chunk()?;
                Some(format!("avc1.{profile:02x}{constraints:02x}{level:02x}"))
            }
            Codec::Hevc => hevc_name(record),
            Codec::Av1 => {
                let [first, second] = *record.get(1..)?.first_chunk()?;
                let tier = if second & 0x80 == 0 { 'M' } else { 'H' };
                let depth = match (second & 0x40 != 0, second & 0x20 != 0) {
                    (false, _) => 8,
                    (true, false) => 10,
                    (true, true) => 12,
                };
                Some(format!("av01.{}.{:02}{tier}.{depth:02}", first >> 5, first & 31))
            }
            Codec::Aac => Some(format!("mp4a.40.{}", AacConfig::read(record)?.object)),
            Codec::Opus => Some("opus".to_owned()),
            Codec::Mp3 => None,
        }
    }

    /// The parameter sets as a stream of bytes has them before a key frame, each behind a start code; empty where frames need none.
    pub fn parameter_sets(&self) -> Bytes {
        let sets = match self.codec {
            Codec::Avc => avc::sets(&self.record),
            Codec::Hevc => hevc::sets(&self.record),
            Codec::Av1 | Codec::Aac | Codec::Opus | Codec::Mp3 => None,
        };
        let mut bytes = BytesMut::new();
        for set in sets.unwrap_or_default() {
            bytes.put_slice(&START_CODE);
            bytes.put_slice(set);
        }
        bytes.freeze()
    }

    /// The set-up of H.264 or H.265 from the units of a key frame, if all parameter sets are among them.
    pub fn of_units(codec: Codec, units: &[&[u8]]) -> Option<Setup> {
        let avc = |kind: u8| units.iter().find(|unit| unit.first().is_some_and(|first| first & 0x1f == kind));
        let hevc = |kind: u8| units.iter().find(|unit| hevc::kind(unit) == kind);
        let record = match codec {
            Codec::Avc => avc::record(avc(7)?, avc(8)?)?,
            Codec::Hevc => {
                let sets = [hevc(hevc::VIDEO_SET)?, hevc(hevc::SEQUENCE_SET)?, hevc(hevc::PICTURE_SET)?];
                hevc::record(sets.map(|set| *set))?
            }
            Codec::Av1 | Codec::Aac | Codec::Opus | Codec::Mp3 => return None,
        };
        Some(Setup { codec, record })
    }
}

/// RFC 6381 and ISO/IEC 14496-15 annex E.3.
fn hevc_name(record: &[u8]) -> Option<String> {
    use std::fmt::Write as _;
    let front: [u8; 12] = *record.get(1..)?.first_chunk()?;
    let space = ["", "A", "B", "C"][usize::from(front[0] >> 6)];
    let compatibility = u32::from_be_bytes(*front[1..].first_chunk()?).reverse_bits();
    let tier = if front[0] & 0x20 == 0 { 'L' } else { 'H' };
    let mut name = format!("hvc1.{space}{}.{compatibility:X}.{tier}{}", front[0] & 31, front[11]);
    let constraints = &front[5..11];
    let length = constraints.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for byte in &constraints[..length] {
        let _ = write!(name, ".{byte:X}");
    }
    Some(name)
}

/// The units of a frame whose units stand behind their lengths of four bytes, as in MP4 and FLV. Ends where it is broken.
pub fn units_by_length(mut frame: &[u8]) -> Vec<&[u8]> {
    let mut units = Vec::new();
    while let Some(length) = frame.first_chunk().map(|length| u32::from_be_bytes(*length) as usize) {
        let Some(unit) = frame.get(4..).and_then(|rest| rest.get(..length)) else { break };
        if units.len() == MAX_UNITS {
            break;
        }
        if !unit.is_empty() {
            units.push(unit);
        }
        frame = &frame[4 + length..];
    }
    units
}

/// The units of a frame whose units stand behind start codes.
pub fn units_by_start_code(frame: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at + 3 <= frame.len() && starts.len() <= MAX_UNITS {
        match frame[at..at + 3] {
            [0, 0, 1] => {
                starts.push(at + 3);
                at += 3;
            }
            [_, _, last] if last > 1 => at += 3,
            _ => at += 1,
        }
    }
    let ends = starts.iter().skip(1).map(|start| start - 3).chain([frame.len()]);
    let unit = |(start, end): (&usize, usize)| {
        let unit = &frame[*start..end];
        // Zeros before the next start code belong to none of them.
        let length = unit.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &unit[..length]
    };
    starts.iter().zip(ends).map(unit).filter(|unit| !unit.is_empty()).take(MAX_UNITS).collect()
}

/// What a unit of H.264 or H.265 is to a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A slice of a picture that is decodable by itself.
    KeySlice,
    /// A slice of another picture.
    Slice,
    /// A parameter set.
    ParameterSet,
    /// Where a picture begins.
    Delimiter,
    /// Anything else.
    Other,
}

/// What a unit is.
pub fn unit_kind(codec: Codec, unit: &[u8]) -> UnitKind {
    let first = unit.first().copied().unwrap_or(0);
    match codec {
        Codec::Avc => match first & 0x1f {
            5 => UnitKind::KeySlice,
            1..=4 => UnitKind::Slice,
            7 | 8 | 13 => UnitKind::ParameterSet,
            9 => UnitKind::Delimiter,
            _ => UnitKind::Other,
        },
        Codec::Hevc => match hevc::kind(unit) {
            16..=21 => UnitKind::KeySlice,
            0..=9 => UnitKind::Slice,
            32..=34 => UnitKind::ParameterSet,
            35 => UnitKind::Delimiter,
            _ => UnitKind::Other,
        },
        _ => UnitKind::Other,
    }
}

/// A frame with its units behind start codes, from one with lengths.
pub fn with_start_codes(frame: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(frame.len() + 16);
    for unit in units_by_length(frame) {
        bytes.put_slice(&START_CODE);
        bytes.put_slice(unit);
    }
    bytes.freeze()
}

/// A frame with its units behind lengths of four bytes.
pub fn with_lengths<'a>(units: impl IntoIterator<Item = &'a [u8]>) -> Bytes {
    let mut bytes = BytesMut::new();
    for unit in units {
        bytes.put_u32(unit.len() as u32);
        bytes.put_slice(unit);
    }
    bytes.freeze()
}
