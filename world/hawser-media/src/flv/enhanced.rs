//! The bytes with which Enhanced RTMP begins the body of a tag.
//!
//! Version 1 has a packet type and four characters of a codec. Version 2 may put modifiers before them (`ModEx`), and may
//! have several tracks (`Multitrack`), whose packet type then follows.

use super::{Role, TagKind, frame};

/// Packet types (Enhanced RTMP v2, "ExVideoTagHeader" and "ExAudioTagHeader").
const SEQUENCE_START: u8 = 0;
const CODED_FRAMES: u8 = 1;
const SEQUENCE_END: u8 = 2;
const CODED_FRAMES_X: u8 = 3;
/// A sequence start of MPEG-2 TS, of video; of audio the packet type of several tracks.
const VIDEO_TS_START: u8 = 5;
const VIDEO_MULTITRACK: u8 = 6;
const AUDIO_MULTITRACK: u8 = 5;
const AUDIO_MULTICHANNEL: u8 = 4;
const MOD_EX: u8 = 7;
/// Kinds of multitrack: one track, several with one codec, and several with a codec each.
const ONE_TRACK: u8 = 0;
const MANY_CODECS: u8 = 2;
/// Modifiers of one packet. One is defined.
const MAX_MODIFIERS: usize = 8;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Its type, behind all modifiers.
    kind: u8,
    /// The track that it belongs to, or the first one of several.
    pub(super) track: u8,
    /// Bytes before what a decoder takes.
    pub(super) head: usize,
    /// Four characters.
    pub(super) codec: [u8; 4],
    /// Whether other tracks follow in it.
    has_more: bool,
    has_composition: bool,
}

impl Packet {
    /// Reads the front of a tag's body; `None` if it ends too early or makes no sense.
    pub(super) fn read(media: TagKind, data: &[u8]) -> Option<Self> {
        let mut at = 1;
        let mut take = |length: usize| {
            let bytes = data.get(at..at + length);
            at += length;
            bytes
        };
        let mut kind = data.first()? & 0x0f;
        for _ in 0..MAX_MODIFIERS {
            if kind != MOD_EX {
                break;
            }
            let size = match take(1)?[0] {
                u8::MAX => usize::from(u16::from_be_bytes(*take(2)?.first_chunk()?)),
                size => usize::from(size),
            };
            take(size + 1)?;
            kind = take(1)?[0] & 0x0f;
        }
        let multitrack = if media == TagKind::Audio { AUDIO_MULTITRACK } else { VIDEO_MULTITRACK };
        let mut track = 0;
        let mut has_more = false;
        let mut codec = [0; 4];
        if kind == multitrack {
            let tracks = take(1)?[0];
            kind = tracks & 0x0f;
            if tracks >> 4 != MANY_CODECS {
                codec.copy_from_slice(take(4)?);
            }
            track = take(1)?[0];
            if tracks >> 4 == MANY_CODECS {
                codec.copy_from_slice(take(4)?);
            }
            if tracks >> 4 != ONE_TRACK {
                has_more = true;
                take(3)?;
            }
        } else {
            codec.copy_from_slice(take(4)?);
        }
        // A composition time.
        let has_composition =
            media == TagKind::Video && kind == CODED_FRAMES && matches!(&codec, b"avc1" | b"hvc1" | b"vvc1");
        if has_composition {
            let _ = take(3);
        }
        Some(Packet { kind, track, head: at, codec, has_more, has_composition })
    }

    /// Whether all of it belongs to the first track.
    pub(super) fn is_of_first_track(&self) -> bool {
        self.track == 0 && !self.has_more
    }

    /// Milliseconds from decoding to showing what is in this tag.
    pub(super) fn composition(&self, data: &[u8]) -> i32 {
        let bytes = self.head.checked_sub(3).and_then(|at| data.get(at..)?.first_chunk());
        bytes.filter(|_| self.has_composition).map_or(0, super::media::signed)
    }

    /// The role of a video packet whose body begins with this byte, which has the type of the frame. A player begins with
    /// the key frames of the first track; what other tracks have always arrives.
    pub(super) fn video_role(self, first: u8) -> Role {
        match self.kind {
            SEQUENCE_START | VIDEO_TS_START => Role::VideoHeader,
            CODED_FRAMES | CODED_FRAMES_X if self.track == 0 => frame((first >> 4) & 7),
            // The end of a sequence, colours, and what is not known.
            _ => Role::Other,
        }
    }

    /// The role of an audio packet.
    pub(super) fn audio_role(self) -> Role {
        match self.kind {
            SEQUENCE_START => Role::AudioHeader,
            SEQUENCE_END | AUDIO_MULTICHANNEL => Role::Other,
            _ => Role::Audio,
        }
    }
}
