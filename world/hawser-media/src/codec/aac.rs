//! AAC: its configuration (ISO/IEC 14496-3 section 1.6.2.1), and the frames of ADTS (section 1.A.2.2).

use bytes::{BufMut, Bytes, BytesMut};

use super::bits::Bits;

/// Samples per second by index.
const RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
/// Bytes of a header of ADTS without a check sum.
pub(super) const ADTS_HEADER: usize = 7;
/// Samples of a frame.
pub const FRAME_SAMPLES: u32 = 1_024;

/// What a decoder is to be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AacConfig {
    /// Kind of AAC: 2 is "low complexity".
    pub object: u8,
    /// Samples per second, before any band replication.
    pub rate: u32,
    /// Channels; 0 if the stream itself says how many.
    pub channels: u8,
}

impl AacConfig {
    /// Reads a decoder's configuration (`AudioSpecificConfig`).
    pub fn read(record: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(record);
        let object = match bits.number(5)? {
            31 => 32 + bits.number(6)?,
            object => object,
        };
        let rate = match bits.number(4)? {
            15 => bits.number(24)?,
            index => *RATES.get(index as usize)?,
        };
        let channels = bits.number(4)?;
        (rate > 0).then_some(AacConfig { object: object as u8, rate, channels: channels as u8 })
    }

    /// The header with which a frame of so many bytes stands in ADTS; `None` if that cannot say what this is.
    pub fn adts_header(&self, size: usize) -> Option<[u8; ADTS_HEADER]> {
        let index = RATES.iter().position(|rate| *rate == self.rate)? as u8;
        let length = u32::try_from(size + ADTS_HEADER).ok().filter(|length| *length < 1 << 13)?;
        // Band replication is not told in ADTS: its core is "low complexity".
        let profile = if (1..=4).contains(&self.object) { self.object - 1 } else { 1 };
        let channels = self.channels & 7;
        Some([
            0xff,
            0xf1,
            profile << 6 | index << 2 | channels >> 2,
            channels << 6 | (length >> 11) as u8,
            (length >> 3) as u8,
            (length << 5) as u8 | 0x1f,
            0xfc,
        ])
    }

    /// The configuration of a decoder (`AudioSpecificConfig`) of two bytes.
    pub fn record(&self) -> Option<Bytes> {
        let index = RATES.iter().position(|rate| *rate == self.rate)? as u16;
        let mut record = BytesMut::new();
        record.put_u16(u16::from(self.object & 31) << 11 | index << 7 | u16::from(self.channels & 15) << 3);
        Some(record.freeze())
    }
}

/// The first frame of ADTS in these bytes: configuration, bytes of its header and of all of it. `None` if it is none.
pub fn adts_frame(data: &[u8]) -> Option<(AacConfig, usize, usize)> {
    let header: &[u8; ADTS_HEADER] = data.first_chunk()?;
    if header[0] != 0xff || header[1] & 0xf6 != 0xf0 {
        return None;
    }
    let rate = *RATES.get(usize::from(header[2] >> 2 & 15))?;
    let channels = (header[2] & 1) << 2 | header[3] >> 6;
    let config = AacConfig { object: (header[2] >> 6) + 1, rate, channels };
    let head = if header[1] & 1 == 1 { ADTS_HEADER } else { ADTS_HEADER + 2 };
    let length = usize::from(header[3] & 3) << 11 | usize::from(header[4]) << 3 | usize::from(header[5]) >> 5;
    (length >= head).then_some((config, head, length))
}
