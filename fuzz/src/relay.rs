//! What encoders, services, publishers, relays and players say to `hawser live`: RTMP, FLV, transport streams, streams of units, SRT.
//!
//! The first byte of an input chooses what it is, the rest is that, or a script that makes it. What must hold: no panic, an end;
//! how a stream is cut changes nothing; memory stays below what came and a constant, work in proportion to what came; no tag is
//! larger than any may be; what was understood means the same when it is written and read again; what is written of tags for
//! players can be read.

mod life;
mod rtmp;
mod srt;
mod tags;
mod ts;
mod units;
mod words;

use hawser_wire::Reader;

use crate::memory::Bounds;

/// Ways to cut a stream.
const CUTS: [usize; 3] = [1, 7, 190];

/// What a reader of a stream may hold and do.
const BOUNDS: Bounds = Bounds { held: 64 << 10, held_per_byte: 32, work: 128 << 10, work_per_byte: 256 };

/// One of the readers.
pub fn relay(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match which % 11 {
        0 => rtmp::encoder(rest),
        1 => rtmp::service(rest),
        2 => rtmp::honest(rest),
        3 => tags::flv(rest),
        4 => ts::stream(rest),
        5 => ts::datagrams(rest),
        6 => units::stream(rest),
        7 => life::of_tags(rest),
        8 => srt::port(rest),
        9 => srt::call(rest),
        _ => words::words(rest),
    }
}

/// The next bytes of a script, behind their length.
fn piece<'a>(script: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = script.read_u8().ok()?;
    script.read_bytes(usize::from(length).min(script.remaining())).ok()
}
