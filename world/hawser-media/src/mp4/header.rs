//! What stands before the first fragment: which tracks there are, and how they are decoded.

use bytes::{BufMut, Bytes, BytesMut};

use super::boxes::{boxed, descriptor, full};
use super::{AUDIO, TIMESCALE, VIDEO};
use crate::codec::{Codec, Setup};

/// The matrix that changes nothing.
const MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];
/// "und", in three letters of five bits.
const LANGUAGE: u16 = 0x55c4;

/// The tracks of a stream: pictures, sound, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracks {
    /// The pictures.
    pub video: Option<Setup>,
    /// The sound.
    pub audio: Option<Setup>,
}

impl Tracks {
    /// Whether a track of this codec can be written: MP3 has no set-up, and the others must say sizes and rates.
    pub fn can_have(setup: &Setup) -> bool {
        let is_readable =
            if setup.codec.is_video() { setup.picture_size().is_some() } else { setup.sound().is_some() };
        is_readable && setup.browser_name().is_some()
    }

    /// The media type with the names of codecs, as browsers want to know it before they play.
    pub fn media_type(&self) -> String {
        let kind = if self.video.is_some() { "video/mp4" } else { "audio/mp4" };
        let names: Vec<String> =
            self.video.iter().chain(&self.audio).filter_map(Setup::browser_name).collect();
        format!("{kind}; codecs=\"{}\"", names.join(","))
    }

    /// What a decoder takes before the first fragment.
    pub fn header(&self) -> Bytes {
        let mut out = BytesMut::new();
        boxed(&mut out, b"ftyp", |out| {
            out.put_slice(b"iso6\0\0\0\0iso6cmfcmp41");
        });
        boxed(&mut out, b"moov", |out| {
            full(out, b"mvhd", 0, 0, |out| {
                out.put_slice(&[0; 8]);
                out.put_u32(TIMESCALE);
                out.put_u32(0);
                out.put_u32(0x1_0000);
                out.put_u16(0x100);
                out.put_slice(&[0; 10]);
                MATRIX.iter().for_each(|value| out.put_u32(*value));
                out.put_slice(&[0; 24]);
                // The id of the next track, if there were one.
                out.put_u32(AUDIO + 1);
            });
            self.video.iter().for_each(|setup| track(out, VIDEO, setup));
            self.audio.iter().for_each(|setup| track(out, AUDIO, setup));
            boxed(out, b"mvex", |out| {
                for id in self.ids() {
                    full(out, b"trex", 0, 0, |out| {
                        [id, 1, 0, 0, 0].iter().for_each(|value| out.put_u32(*value));
                    });
                }
            });
        });
        out.freeze()
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        self.video.iter().map(|_| VIDEO).chain(self.audio.iter().map(|_| AUDIO))
    }
}

fn track(out: &mut BytesMut, id: u32, setup: &Setup) {
    let size = setup.picture_size().unwrap_or((0, 0));
    boxed(out, b"trak", |out| {
        // Enabled, in the movie, and in its preview.
        full(out, b"tkhd", 0, 7, |out| {
            out.put_slice(&[0; 8]);
            out.put_u32(id);
            out.put_slice(&[0; 4 + 4 + 8 + 2 + 2]);
            out.put_u16(if setup.codec.is_video() { 0 } else { 0x100 });
            out.put_u16(0);
            MATRIX.iter().for_each(|value| out.put_u32(*value));
            out.put_u32(size.0 << 16);
            out.put_u32(size.1 << 16);
        });
        boxed(out, b"mdia", |out| {
            full(out, b"mdhd", 0, 0, |out| {
                out.put_slice(&[0; 8]);
                out.put_u32(TIMESCALE);
                out.put_u32(0);
                out.put_u16(LANGUAGE);
                out.put_u16(0);
            });
            full(out, b"hdlr", 0, 0, |out| {
                out.put_u32(0);
                out.put_slice(if setup.codec.is_video() { b"vide" } else { b"soun" });
                out.put_slice(&[0; 13]);
            });
            boxed(out, b"minf", |out| media(out, setup, size));
        });
    });
}

fn media(out: &mut BytesMut, setup: &Setup, size: (u32, u32)) {
    if setup.codec.is_video() {
        full(out, b"vmhd", 0, 1, |out| out.put_slice(&[0; 8]));
    } else {
        full(out, b"smhd", 0, 0, |out| out.put_slice(&[0; 4]));
    }
    boxed(out, b"dinf", |out| {
        full(out, b"dref", 0, 0, |out| {
            out.put_u32(1);
            // In this file.
            full(out, b"url ", 0, 1, |_| {});
        });
    });
    boxed(out, b"stbl", |out| {
        full(out, b"stsd", 0, 0, |out| {
            out.put_u32(1);
            if setup.codec.is_video() {
                picture_entry(out, setup, size);
            } else {
                sound_entry(out, setup);
            }
        });
        // All samples are in fragments.
        for kind in [b"stts", b"stsc", b"stco"] {
            full(out, kind, 0, 0, |out| out.put_u32(0));
        }
        full(out, b"stsz", 0, 0, |out| out.put_slice(&[0; 8]));
    });
}

fn picture_entry(out: &mut BytesMut, setup: &Setup, size: (u32, u32)) {
    let (kind, record) = match setup.codec {
        Codec::Hevc => (b"hvc1", b"hvcC"),
        Codec::Av1 => (b"av01", b"av1C"),
        _ => (b"avc1", b"avcC"),
    };
    boxed(out, kind, |out| {
        out.put_slice(&[0, 0, 0, 0, 0, 0, 0, 1]);
        out.put_slice(&[0; 16]);
        out.put_u16(size.0 as u16);
        out.put_u16(size.1 as u16);
        // 72 dots per inch.
        out.put_u32(0x48_0000);
        out.put_u32(0x48_0000);
        out.put_u32(0);
        out.put_u16(1);
        out.put_slice(&[0; 32]);
        out.put_u16(24);
        out.put_u16(0xffff);
        boxed(out, record, |out| out.put_slice(&setup.record));
    });
}

fn sound_entry(out: &mut BytesMut, setup: &Setup) {
    let (rate, channels) = setup.sound().unwrap_or((48_000, 2));
    let kind = if setup.codec == Codec::Opus { b"Opus" } else { b"mp4a" };
    boxed(out, kind, |out| {
        out.put_slice(&[0, 0, 0, 0, 0, 0, 0, 1]);
        out.put_slice(&[0; 8]);
        out.put_u16(u16::from(channels.max(1)));
        out.put_u16(16);
        out.put_u32(0);
        // Rates of 65,536 and more do not fit, and stand in the record.
        out.put_u32(u32::from(u16::try_from(rate).unwrap_or(0)) << 16);
        if setup.codec == Codec::Opus {
            opus_record(out, &setup.record, channels);
        } else {
            full(out, b"esds", 0, 0, |out| elementary_stream(out, &setup.record));
        }
    });
}

/// ISO/IEC 14496-1 section 7.2.6.5, of AAC.
fn elementary_stream(out: &mut BytesMut, record: &[u8]) {
    descriptor(out, 3, |out| {
        out.put_slice(&[0, 0, 0]);
        descriptor(out, 4, |out| {
            out.put_slice(&[0x40, 0x15, 0, 0, 0]);
            out.put_slice(&[0; 8]);
            descriptor(out, 5, |out| out.put_slice(record));
        });
        descriptor(out, 6, |out| out.put_u8(2));
    });
}

/// "Encapsulation of Opus in ISO Base Media File Format" section 4.3.2: that of Ogg with other ends first, and without channel
/// mappings.
fn opus_record(out: &mut BytesMut, head: &[u8], channels: u8) {
    let number = |at: usize| head.get(at..at + 2).map_or([0, 0], |bytes| [bytes[1], bytes[0]]);
    boxed(out, b"dOps", |out| {
        out.put_u8(0);
        out.put_u8(channels);
        out.put_slice(&number(10));
        out.put_slice(&number(14));
        out.put_slice(&number(12));
        out.put_slice(&number(16));
        out.put_u8(0);
    });
}
