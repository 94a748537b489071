//! Formats in which players take a stream.

use bytes::Bytes;
use hawser_media::broadcast::Unit;
use hawser_media::flv::{FlvWriter, file_header};
use hawser_media::mp4::{Mp4Event, Mp4Muxer};
use hawser_media::ts::TsMuxer;

/// Headers that wait for what follows them.
const MAX_HELD: usize = 64;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// FLV: every codec that encoders may send
    Flv,
    /// Fragmented MP4: what browsers play
    Mp4,
    /// An MPEG transport stream: H.264 or HEVC with AAC
    Ts,
}

impl Format {
    /// The format that stands behind the last dot of a name, and the name before it.
    pub(super) fn of_name(path: &str) -> Option<(&str, Self)> {
        let (name, ending) = path.rsplit_once('.')?;
        let format = match ending {
            "flv" => Format::Flv,
            "mp4" => Format::Mp4,
            "ts" => Format::Ts,
            _ => return None,
        };
        Some((name, format))
    }

    /// Its media type; `None` if that depends on what is in the stream.
    pub(super) fn media_type(self) -> Option<&'static str> {
        match self {
            Format::Flv => Some("video/x-flv"),
            Format::Mp4 => None,
            Format::Ts => Some("video/mp2t"),
        }
    }
}

/// What a unit makes of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Bytes to write, perhaps none.
    Bytes(Bytes),
    /// The first bytes, and the media type that was not known before.
    Begin(String, Bytes),
    /// It ends here: decoders need another set-up, with which another one begins.
    Ends,
}

/// Units as bytes of a format.
pub(super) enum Muxer {
    Flv(FlvMuxer),
    Mp4(Mp4Muxer),
    Ts(TsMuxer),
}

impl Muxer {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Flv => Muxer::Flv(FlvMuxer::default()),
            Format::Mp4 => Muxer::Mp4(Mp4Muxer::default()),
            Format::Ts => Muxer::Ts(TsMuxer::default()),
        }
    }

    /// What is to be written now.
    pub(super) fn write(&mut self, unit: Unit) -> Written {
        match self {
            Muxer::Flv(muxer) => Written::Bytes(muxer.write(unit)),
            Muxer::Ts(muxer) => Written::Bytes(muxer.push(&unit.tag)),
            Muxer::Mp4(muxer) => match muxer.push(&unit.tag, made_at_ms(&unit)) {
                Mp4Event::Nothing => Written::Bytes(Bytes::new()),
                Mp4Event::Begin(kind, bytes) => Written::Begin(kind, bytes),
                Mp4Event::Bytes(bytes) => Written::Bytes(bytes),
                Mp4Event::Changed => Written::Ends,
            },
        }
    }
}

/// Milliseconds since 1970 by this machine's clock.
pub(super) fn wall_clock_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// When the encoder handed a unit over that is here now, by this machine's clock.
pub(super) fn made_at_ms(unit: &Unit) -> u64 {
    wall_clock_ms().saturating_sub(u64::from(unit.age) / 10)
}

/// Units as FLV.
#[derive(Default)]
pub(super) struct FlvMuxer {
    writer: FlvWriter,
    /// Headers that came before everything else: their own time is that of their source's beginning, so they get that of what
    /// they stand before.
    held: Vec<Unit>,
    has_begun: bool,
}

impl FlvMuxer {
    fn write(&mut self, unit: Unit) -> Bytes {
        if self.has_begun {
            return self.writer.write(&unit.tag);
        }
        if unit.role.is_header() {
            if self.held.len() < MAX_HELD {
                self.held.push(unit);
            }
            return Bytes::new();
        }
        self.has_begun = true;
        let mut bytes = file_header(!unit.is_alone).to_vec();
        for mut header in std::mem::take(&mut self.held) {
            header.tag.timestamp = unit.tag.timestamp;
            bytes.extend_from_slice(&self.writer.write(&header.tag));
        }
        bytes.extend_from_slice(&self.writer.write(&unit.tag));
        bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use hawser_media::flv::{FlvReader, Tag, TagKind};

    use super::*;

    fn unit(tag: Tag) -> Unit {
        Unit {
            role: tag.role(),
            tag,
            origin: 1,
            number: 0,
            padded: 0,
            restarts: false,
            age: 0,
            came_at: hawser::policy::Time::ZERO,
            is_alone: false,
        }
    }

    #[test]
    fn a_late_player_begins_at_time_zero_with_headers() {
        let tag = |kind, timestamp, data: &'static [u8]| {
            unit(Tag { kind, timestamp, data: Bytes::from_static(data) })
        };
        let mut muxer = FlvMuxer::default();
        assert!(muxer.write(tag(TagKind::Video, 7, b"\x17\0\0\0\0")).is_empty());
        let mut reader = FlvReader::default();
        reader.push(&muxer.write(tag(TagKind::Video, 90_000, b"\x17\x01\0\0\0")));
        reader.push(&muxer.write(tag(TagKind::Video, 90_040, b"\x27\x01\0\0\0")));
        let times: Vec<u32> =
            std::iter::from_fn(|| reader.next_tag().unwrap()).map(|tag| tag.timestamp).collect();
        assert_eq!(times, [0, 0, 40]);
        // Of audio alone the file says so, since a player would wait for the picture.
        let sound = Unit { is_alone: true, ..tag(TagKind::Audio, 50, b"\xaf\x01") };
        assert_eq!(FlvMuxer::default().write(sound)[..5], *b"FLV\x01\x04");
    }

    #[test]
    fn a_name_says_its_format() {
        assert_eq!(Format::of_name("a.key.flv"), Some(("a.key", Format::Flv)));
        assert_eq!(Format::of_name("key.mp4"), Some(("key", Format::Mp4)));
        assert_eq!(Format::of_name("key.ts"), Some(("key", Format::Ts)));
        assert_eq!((Format::of_name("key"), Format::of_name("a.key")), (None, None));
    }
}
