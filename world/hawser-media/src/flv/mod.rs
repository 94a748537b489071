//! FLV: the tags in which live video travels between encoders, relays and players.
//!
//! Source: Adobe Flash Video File Format Specification 10.1, annex E; for codecs named by four characters the Enhanced RTMP
//! specification (v1 and v2). An RTMP message of audio, video or data has the body of a tag, so one type serves both.

mod enhanced;
mod media;
mod read;
#[cfg(test)]
mod tests;
mod times;
mod write;

use bytes::Bytes;

use self::enhanced::Packet;
pub use media::{Media, Sample};
pub use read::{FlvError, FlvReader};
pub use times::PlayerTimes;
pub use write::{FlvWriter, file_header};

/// The largest tag that is taken, in bytes: a key frame of ten seconds of 6 Mbit/s.
pub const MAX_TAG: usize = 8 << 20;

/// What a tag carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// Audio (8).
    Audio,
    /// Video (9).
    Video,
    /// Metadata in AMF (18).
    Script,
}

impl TagKind {
    /// The type byte of a tag, which is that of the RTMP message as well.
    pub fn to_byte(self) -> u8 {
        match self {
            TagKind::Audio => 8,
            TagKind::Video => 9,
            TagKind::Script => 18,
        }
    }

    /// The kind of this type byte.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            8 => Some(TagKind::Audio),
            9 => Some(TagKind::Video),
            18 => Some(TagKind::Script),
            _ => None,
        }
    }
}

/// What a tag is to its decoder, and so how carefully it must be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `onMetaData` and other data.
    Script,
    /// What the video decoder needs before any frame (sequence header).
    VideoHeader,
    /// What the audio decoder needs before any frame.
    AudioHeader,
    /// A video frame that is decodable by itself.
    KeyFrame,
    /// A video frame that needs earlier ones. The only role whose body may have gaps.
    DeltaFrame,
    /// Audio.
    Audio,
    /// Anything else: end of sequence, colour information, commands to the player.
    Other,
}

impl Role {
    /// Whether a decoder needs the latest one of these before anything that follows.
    pub fn is_header(self) -> bool {
        matches!(self, Role::Script | Role::VideoHeader | Role::AudioHeader)
    }

    /// Whether it is a frame of the picture.
    pub fn is_frame(self) -> bool {
        matches!(self, Role::KeyFrame | Role::DeltaFrame)
    }
}

/// A tag without its framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// What it carries.
    pub kind: TagKind,
    /// Decoding time in milliseconds, from any origin; it wraps after 49 days.
    pub timestamp: u32,
    /// Its body, with the bytes that name codec and packet type.
    pub data: Bytes,
}

impl Tag {
    /// What it is to its decoder.
    pub fn role(&self) -> Role {
        let (first, second) = (self.data.first().copied(), self.data.get(1).copied());
        match (self.kind, first) {
            (TagKind::Script, _) => Role::Script,
            (_, None) => Role::Other,
            (TagKind::Audio, Some(first)) if first >> 4 == 9 => {
                Packet::read(self.kind, &self.data).map_or(Role::Other, |packet| packet.audio_role())
            }
            (TagKind::Video, Some(first)) if first & 0x80 != 0 => {
                Packet::read(self.kind, &self.data).map_or(Role::Other, |packet| packet.video_role(first))
            }
            (TagKind::Audio, Some(first)) => audio_role(first, second),
            (TagKind::Video, Some(first)) => video_role(first, second),
        }
    }

    /// The track that it belongs to, where there are several.
    pub fn track(&self) -> u8 {
        if self.is_enhanced() {
            Packet::read(self.kind, &self.data).map_or(0, |packet| packet.track)
        } else {
            0
        }
    }

    fn is_enhanced(&self) -> bool {
        match (self.kind, self.data.first()) {
            (TagKind::Video, Some(first)) => first & 0x80 != 0,
            (TagKind::Audio, Some(first)) => first >> 4 == 9,
            _ => false,
        }
    }

    /// Bytes at the front that tell a decoder what follows: they are never given up, so that what is left of a frame is
    /// still a frame of its codec (4D-MAP, Discard: "only its header is sent").
    pub fn head_length(&self) -> usize {
        let length = match (self.kind, self.data.first()) {
            (TagKind::Video, Some(first)) if first & 0x80 != 0 => {
                Packet::read(self.kind, &self.data).map_or(1, |packet| packet.head)
            }
            // Codec 7 is AVC: packet type and composition time. 12 is what HEVC uses in practice.
            (TagKind::Video, Some(first)) if matches!(first & 0x0f, 7 | 12) => 5,
            _ => 1,
        };
        length.min(self.data.len()).min(u8::MAX.into())
    }
}

fn audio_role(first: u8, second: Option<u8>) -> Role {
    // AAC, whose second byte is 0 before its configuration.
    if first >> 4 == 10 && second == Some(0) { Role::AudioHeader } else { Role::Audio }
}

fn video_role(first: u8, second: Option<u8>) -> Role {
    match (first & 0x0f, second) {
        (7 | 12, Some(0)) => Role::VideoHeader,
        (7 | 12, Some(1)) => frame(first >> 4),
        (7 | 12, _) => Role::Other,
        _ => frame(first >> 4),
    }
}

/// The role of a frame of this type.
fn frame(kind: u8) -> Role {
    match kind {
        1 => Role::KeyFrame,
        2 | 3 => Role::DeltaFrame,
        _ => Role::Other,
    }
}
