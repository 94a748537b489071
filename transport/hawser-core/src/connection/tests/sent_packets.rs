//! What planner and builder made of it: one end is polled by hand, and its packets are read. The null session encrypts nothing.

use std::time::Duration;

use hawser_policy::{PathId, Side};
use hawser_wire::frame::FrameIter;

use super::pair::{Pair, Settings};
use crate::endpoint::Transmit;
use crate::{Connection, FourTuple};

/// Of a sealed packet.
const TAG: usize = 16;
/// First byte and connection id of a 1-RTT packet.
const SHORT_HEADER: usize = 1 + 8;

/// What one call of `poll_transmit` gave.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) tuple: FourTuple,
    pub(super) datagrams: Vec<Vec<u8>>,
}

impl Batch {
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.datagrams.iter().map(Vec::len).collect()
    }

    /// The kinds of the frames of each datagram, which is a 1-RTT packet.
    pub(super) fn frames(&self) -> Vec<Vec<String>> {
        self.datagrams.iter().map(|datagram| frame_kinds(datagram)).collect()
    }
}

/// The kinds of the frames of a 1-RTT packet, in order.
pub(super) fn frame_kinds(packet: &[u8]) -> Vec<String> {
    assert!(packet[0] & 0x80 == 0, "a short header");
    let number = usize::from(packet[0] & 3) + 1;
    let payload = &packet[SHORT_HEADER + number..packet.len() - TAG];
    FrameIter::new(payload)
        .map(|frame| {
            let text = format!("{:?}", frame.expect("well formed"));
            text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
        })
        .collect()
}

/// Both ends with this many paths besides the first, with nothing left to do: datagram sizes are known as well.
pub(super) fn at_rest(paths: u16) -> Pair {
    let mut pair = Pair::connected(Settings::default());
    for n in 1..=paths {
        pair.open(n);
    }
    pair.run(Duration::from_secs(3));
    for side in [Side::Client, Side::Server] {
        assert_eq!(poll(&mut pair, side).map(|batch| batch.frames()), None, "{side:?}");
    }
    pair
}

/// The next batch of one end. It does not reach the other.
pub(super) fn poll(pair: &mut Pair, side: Side) -> Option<Batch> {
    let (now, mut buffer) = (pair.now, Vec::new());
    let Transmit { tuple, size, segment_size, .. } =
        pair.end(side).connection.as_mut()?.poll_transmit(now, &mut buffer)?;
    let datagrams = buffer[..size].chunks(segment_size.unwrap_or(size)).map(<[u8]>::to_vec).collect();
    Some(Batch { tuple, datagrams })
}

/// A stream of the client with so many bytes, all of them queued.
pub(super) fn queue(connection: &mut Connection, bytes: usize) {
    let id = connection.open_stream(false).expect("streams are left");
    assert_eq!(connection.write(id, &vec![7; bytes]), Ok(bytes));
}

/// Sends until the windows are full.
pub(super) fn fill_windows(pair: &mut Pair) {
    queue(pair.client(), 25_000);
    for _ in 0..1_000 {
        pair.now += Duration::from_micros(50);
        while poll(pair, Side::Client).is_some() {}
    }
    let full =
        |id| pair.client.connection.as_ref().unwrap().paths.get(id).unwrap().recovery.window_left() < 1_452;
    assert!(full(PathId::ZERO));
}
