//! What the tests of several parts need.

use hawser_policy::Time;
use hawser_wire::{ConnectionId, Frame, FrameIter, StatelessResetToken, Writer};

use super::IssuedCid;
use crate::FourTuple;
use crate::connection::frames::{PathControl, SentFrame, SentFrames};

/// The payload of a packet and the record of it.
pub(super) struct Written {
    payload: Vec<u8>,
    pub(super) frames: SentFrames,
}

impl Written {
    /// What the peer reads.
    pub(super) fn decode(&self) -> Vec<Frame<'_>> {
        if self.is_empty() {
            return Vec::new();
        }
        FrameIter::new(&self.payload).map(|frame| frame.expect("our own frames are well formed")).collect()
    }

    /// What recovery would report as acknowledged or lost.
    pub(super) fn controls(&self) -> Vec<PathControl> {
        let control = |frame: &SentFrame| match frame {
            SentFrame::PathControl(control) => *control,
            other => panic!("not a frame of paths: {other:?}"),
        };
        self.frames.iter().map(control).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }
}

/// Lets a part write into a packet with room for `room` bytes.
pub(super) fn write_in(room: usize, write: impl FnOnce(&mut Writer<'_>, &mut SentFrames)) -> Written {
    let mut buffer = vec![0xff; room];
    let mut writer = Writer::new(&mut buffer);
    let mut frames = SentFrames::new();
    write(&mut writer, &mut frames);
    let payload = writer.into_written().to_vec();
    Written { payload, frames }
}

/// Lets a part write into a packet of the usual size.
pub(super) fn write(write: impl FnOnce(&mut Writer<'_>, &mut SentFrames)) -> Written {
    write_in(1200, write)
}

/// The `n`-th connection id of a made-up series.
pub(super) fn cid(n: u64) -> ConnectionId {
    ConnectionId::new(&n.to_be_bytes()).expect("8 bytes are allowed")
}

/// Its token.
pub(super) fn token(n: u64) -> StatelessResetToken {
    StatelessResetToken((u128::from(n) << 64 | 0x5eed).to_be_bytes())
}

/// Issues the series from `first` on.
pub(super) fn issuer(first: u64) -> impl FnMut() -> IssuedCid {
    let mut next = first;
    move || {
        next += 1;
        IssuedCid { id: cid(next - 1), reset_token: token(next - 1) }
    }
}

/// A 4-tuple whose remote end is 192.0.2.`host`:`port`.
pub(super) fn tuple(host: u8, port: u16) -> FourTuple {
    FourTuple { local: ([198, 51, 100, 1], 4433).into(), remote: ([192, 0, 2, host], port).into() }
}

pub(super) fn millis(n: u64) -> Time {
    Time::from_millis(n)
}
