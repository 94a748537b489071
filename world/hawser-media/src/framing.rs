//! How frames lie in a stream: a preface, then for each frame a header and its body. Headers tell where bodies end, so a body
//! may have gaps and the next header is found all the same; preface and headers must arrive.

use std::time::Duration;

use hawser_policy::Time;

use crate::video::FrameKind;

/// Bytes of the preface: `HWLV`, a version, and the time from asking for the connection to having it, in microseconds.
pub const PREFACE_LENGTH: usize = 13;
/// Bytes of a header.
pub const HEADER_LENGTH: usize = 17;
/// The largest body that is believed: a second of 1 Gbit/s.
pub const MAX_BODY: u32 = 125_000_000;

const MAGIC: [u8; 5] = *b"HWLV\x01";

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the frame.
    pub number: u32,
    /// Its kind.
    pub kind: FrameKind,
    /// Bytes of the body that follows.
    pub size: u32,
    /// When it was written, by the clock of the sender.
    pub written_at: Time,
}

/// The preface of a stream whose connection took so long.
pub fn preface(connecting: Duration) -> [u8; PREFACE_LENGTH] {
    let mut bytes = [0; PREFACE_LENGTH];
    bytes[..5].copy_from_slice(&MAGIC);
    let micros = u64::try_from(connecting.as_micros()).unwrap_or(u64::MAX);
    bytes[5..].copy_from_slice(&micros.to_be_bytes());
    bytes
}

/// How long the connection took; `None` if this is no preface.
pub fn read_preface(bytes: &[u8; PREFACE_LENGTH]) -> Option<Duration> {
    let micros = bytes.strip_prefix(&MAGIC)?.first_chunk().copied().map(u64::from_be_bytes)?;
    Some(Duration::from_micros(micros))
}

impl Header {
    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4] = u8::from(self.kind == FrameKind::Key);
        bytes[5..9].copy_from_slice(&self.size.to_be_bytes());
        bytes[9..].copy_from_slice(&self.written_at.as_nanos().to_be_bytes());
        bytes
    }

    /// From bytes; `None` if they are no header.
    pub fn decode(bytes: &[u8; HEADER_LENGTH]) -> Option<Self> {
        let number = u32::from_be_bytes(*bytes.first_chunk()?);
        let kind = match bytes[4] {
            1 => FrameKind::Key,
            0 => FrameKind::Delta,
            _ => return None,
        };
        let size = u32::from_be_bytes(*bytes[5..].first_chunk()?);
        let nanos = u64::from_be_bytes(*bytes[9..].first_chunk()?);
        (size <= MAX_BODY).then_some(Header { number, kind, size, written_at: Time::from_nanos(nanos) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_survive_the_wire(number: u32, is_key: bool, size in 0..=MAX_BODY, nanos: u64) {
            let kind = if is_key { FrameKind::Key } else { FrameKind::Delta };
            let header = Header { number, kind, size, written_at: Time::from_nanos(nanos) };
            prop_assert_eq!(Header::decode(&header.encode()), Some(header));
        }

        #[test]
        fn what_is_no_header_is_refused_or_encodes_to_itself(bytes: [u8; HEADER_LENGTH]) {
            if let Some(header) = Header::decode(&bytes) {
                prop_assert_eq!(header.encode(), bytes);
            }
        }
    }

    #[test]
    fn a_preface_tells_how_long_the_connection_took() {
        let bytes = preface(Duration::from_micros(71_234));
        assert_eq!(read_preface(&bytes), Some(Duration::from_micros(71_234)));
        assert_eq!(read_preface(&[7; PREFACE_LENGTH]), None);
    }
}
