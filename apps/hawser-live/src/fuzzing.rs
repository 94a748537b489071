//! What encoders, publishers, relays and players say, without a connection, for fuzzing (feature `fuzzing`).

mod srt;

pub use self::srt::{SrtCall, SrtPort};

use bytes::Bytes;
use hawser_media::broadcast::Unit;

use super::formats::{Format, Muxer, Written};
use super::protocol::{Answer, Request};
use super::{hls, hook, udp};
use hawser_command::report::to_json;

/// What a publisher or a player asks for, as it is written; `None` if that is no request.
pub fn request(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Request>(line).ok().map(|request| to_json(&request))
}

/// What a relay answers, as it is written; `None` if that is no answer.
pub fn answer(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Answer>(line).ok().map(|answer| to_json(&answer))
}

/// The key in a stream id of SRT.
pub fn srt_key(stream_id: &[u8]) -> String {
    super::srt::key_of(stream_id)
}

/// The packets of a transport stream in a datagram, plain or in RTP.
pub fn packets(datagram: &[u8]) -> Option<&[u8]> {
    udp::packets(datagram)
}

/// The segment and the part that a player of HLS waits for.
pub fn awaited(query: &str) -> Option<(u64, Option<usize>)> {
    hls::awaited(query)
}

/// The name of a stream before the ending that says its format.
pub fn name(path: &str) -> Option<&str> {
    Format::of_name(path).map(|(name, _)| name)
}

/// The status that a hook answers with.
pub fn hook_status(answer: &[u8]) -> Option<u16> {
    hook::status_of(answer)
}

/// What one player over HTTP is sent.
pub struct Player(Muxer);

impl Player {
    /// One of each format: FLV, MP4, a transport stream.
    pub fn all() -> [Self; 3] {
        [Format::Flv, Format::Mp4, Format::Ts].map(|format| Player(Muxer::new(format)))
    }

    /// The bytes of a unit; `None`: the stream ends, since decoders need another set-up.
    pub fn write(&mut self, unit: Unit) -> Option<Bytes> {
        match self.0.write(unit) {
            Written::Bytes(bytes) | Written::Begin(_, bytes) => Some(bytes),
            Written::Ends => None,
        }
    }
}
