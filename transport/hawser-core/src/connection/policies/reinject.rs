//! What is in flight on one path, for another one.

use hawser_policy::PathId;

use super::Targets;
use crate::connection::frames::{SentFrame, SentStream};
use crate::connection::paths::life_cycle::LifeCycle;
use crate::connection::paths::path::Path;
use crate::connection::paths::settled::{Doubts, Numbers};
use crate::connection::recovery::SentPacket;
use crate::connection::streams::{Carried, Streams};

/// What goes from one path to another.
#[derive(Clone, Copy)]
pub(super) struct Reinjection {
    pub(super) from: PathId,
    pub(super) to: PathId,
    pub(super) max_bytes: u64,
    /// Whether the newest is wanted, rather than the oldest.
    pub(super) newest: bool,
}

/// Queues what is in flight on a path for another one, which answers for it from then on: schedulers order this where they
/// no longer count on the first, and the loss of the second transmission must not wait for that of the first to be noticed.
/// What another path has taken over already is left out and does not count, so that a scheduler can order it piece by piece.
///
/// Returns `None` if there are no two such paths, otherwise how many packets were looked at.
pub(super) fn reinject(targets: &mut Targets<'_>, wanted: Reinjection) -> Option<u64> {
    let Reinjection { from, to, .. } = wanted;
    let Targets { paths, streams, .. } = targets;
    if from == to || paths.get(to).is_none() {
        return None;
    }
    let mut settled = std::mem::take(&mut paths.get_mut(from)?.settled);
    let mut ranges = Vec::new();
    let (source, target) = (paths.get(from)?, paths.get(to)?);
    let doubts = Doubts { clearances: target.copies.clearances(), shared_losses: streams.shared_losses() };
    let mut numbers = settled.for_path(to, doubts, |id| paths.get(id).is_some());
    numbers.trim(&source.space.sent);
    let mut walk = Walk { source, target, streams, left: wanted.max_bytes, looked_at: 0 };
    walk.run(wanted.newest, &mut numbers, &mut ranges);
    let looked_at = walk.looked_at;
    paths.get_mut(from)?.settled = settled;
    let target = paths.get_mut(to)?;
    for range in ranges {
        streams.on_copy_queued(&range, from);
        target.queue_copy(range);
    }
    Some(looked_at)
}

/// The walk over the packets in flight.
struct Walk<'a> {
    source: &'a Path,
    target: &'a Path,
    streams: &'a mut Streams,
    /// Bytes that are still wanted.
    left: u64,
    looked_at: u64,
}

impl Walk<'_> {
    /// Fills in the ranges to be queued, oldest first.
    fn run(&mut self, newest: bool, numbers: &mut Numbers<'_>, ranges: &mut Vec<SentStream>) {
        if self.target.life() != LifeCycle::Active {
            return;
        }
        let room = self.target.copies.room();
        let sent = &self.source.space.sent;
        let mut next = if newest { u64::MAX } else { 0 };
        while self.left > 0 {
            let found = if newest { numbers.newest(sent, next) } else { numbers.oldest(sent, next) };
            let Some(packet) = found else { break };
            self.looked_at += 1;
            let number = packet.packet_number;
            let before = ranges.len();
            self.take(packet, ranges);
            if ranges.len() > room {
                ranges.truncate(before);
                break;
            }
            // What lies between two packets was settled otherwise.
            numbers.settle(match newest {
                true if next == u64::MAX => number..number + 1,
                true => number..next,
                false => next..number + 1,
            });
            next = if newest { number } else { number + 1 };
        }
        if newest {
            ranges.reverse();
        }
    }

    /// Adds what another path should carry of a packet.
    fn take(&mut self, packet: &SentPacket, ranges: &mut Vec<SentStream>) {
        if packet.resent {
            return;
        }
        for frame in &packet.frames {
            let SentFrame::Stream(range) = frame else { continue };
            if self.streams.answers_for(range) && !self.is_there(range) {
                self.left = self.left.saturating_sub(u64::from(range.length));
                ranges.push(SentStream { copy: false, ..*range });
            }
        }
    }

    /// Whether the other path carries a range as well, and both answer for it: where a message left on two paths at once, both have it.
    fn is_there(&self, range: &SentStream) -> bool {
        match self.streams.is_carried(range, self.target.id) {
            Carried::No => false,
            Carried::Yes => true,
            Carried::Unknown => in_flight(self.target).any(|other| is_same(range, other)),
        }
    }
}

/// The ranges of streams that are in flight on a path. What was retransmitted already is in flight elsewhere.
fn in_flight(path: &Path) -> impl Iterator<Item = &SentStream> {
    let packets = path.space.sent.iter().filter(|packet| !packet.resent);
    packets.flat_map(|packet| &packet.frames).filter_map(|frame| match frame {
        SentFrame::Stream(range) => Some(range),
        _ => None,
    })
}

/// Whether one transmission has all that the other one has, and both answer for it.
fn is_same(range: &SentStream, other: &SentStream) -> bool {
    let contains = other.offset <= range.offset && range.end() <= other.end() && (other.fin || !range.fin);
    other.id == range.id && other.round == range.round && contains
}
