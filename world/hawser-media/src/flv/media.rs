//! What tags carry of the first track, without the bytes in which FLV packs it.

use bytes::{Buf, Bytes};

use super::enhanced::Packet;
use super::{Role, Tag, TagKind};
use crate::codec::{Codec, Setup};

/// A decoder's set-up, or something to decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Media {
    /// The set-up.
    Setup(Setup),
    /// A picture, or a piece of sound.
    Sample(Sample),
}

/// Something to decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How it is coded.
    pub codec: Codec,
    /// Milliseconds from decoding to showing it.
    pub composition: i32,
    /// Whether it is decodable by itself.
    pub is_key: bool,
    /// Its bytes.
    pub data: Bytes,
}

impl Tag {
    /// What it carries; `None` for data, other tracks than the first, and codecs that are not known.
    pub fn media(&self) -> Option<Media> {
        let role = self.role();
        let (codec, head, composition) = if self.is_enhanced() {
            let packet = Packet::read(self.kind, &self.data).filter(|packet| packet.is_of_first_track())?;
            (codec_of(&packet.codec)?, packet.head, packet.composition(&self.data))
        } else {
            legacy(self.kind, &self.data)?
        };
        if codec.is_video() != (self.kind == TagKind::Video) {
            return None;
        }
        let mut data = self.data.clone();
        data.advance(head.min(data.len()));
        match role {
            Role::VideoHeader | Role::AudioHeader => Some(Media::Setup(Setup { codec, record: data })),
            Role::KeyFrame | Role::DeltaFrame | Role::Audio => {
                let is_key = role != Role::DeltaFrame;
                (!data.is_empty()).then_some(Media::Sample(Sample { codec, composition, is_key, data }))
            }
            Role::Script | Role::Other => None,
        }
    }
}

/// Codec, bytes before what a decoder takes, and composition time, of a tag without Enhanced RTMP.
fn legacy(kind: TagKind, data: &[u8]) -> Option<(Codec, usize, i32)> {
    let first = *data.first()?;
    match (kind, first & 0x0f, first >> 4) {
        (TagKind::Video, 7, _) => Some((Codec::Avc, 5, signed(data.get(2..)?.first_chunk()?))),
        (TagKind::Video, 12, _) => Some((Codec::Hevc, 5, signed(data.get(2..)?.first_chunk()?))),
        (TagKind::Audio, _, 10) => Some((Codec::Aac, 2, 0)),
        (TagKind::Audio, _, 2) => Some((Codec::Mp3, 1, 0)),
        _ => None,
    }
}

fn codec_of(name: &[u8; 4]) -> Option<Codec> {
    match name {
        b"avc1" => Some(Codec::Avc),
        b"hvc1" => Some(Codec::Hevc),
        b"av01" => Some(Codec::Av1),
        b"mp4a" => Some(Codec::Aac),
        b"Opus" => Some(Codec::Opus),
        b".mp3" => Some(Codec::Mp3),
        _ => None,
    }
}

/// A number of 24 bits.
pub(super) fn signed(bytes: &[u8; 3]) -> i32 {
    i32::from_be_bytes([bytes[0], bytes[1], bytes[2], 0]) >> 8
}
