//! Which packets in flight another path need not be asked about again when it is to take over.
//!
//! A scheduler that counts on a path no longer orders piece by piece what another one is to carry. To go through the whole
//! flight for each piece would cost the square of the window. So each path remembers, for each path that took over from it, the
//! packets that were seen to: what was in them is acknowledged, or answered for by a later transmission, or the other path
//! carries it, or is about to. An order then begins where the one before ended.

use std::ops::Range;

use hawser_policy::PathId;

use crate::connection::range_set::RangeSet;
use crate::connection::recovery::{SentPacket, SentPackets};

/// What makes packets that were seen to worth another look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubts {
    /// Copies that waited for the other path were dropped so often.
    pub(crate) clearances: u64,
    /// A transmission of something for which another one still answers was lost so often.
    pub(crate) shared_losses: u64,
}

/// See the module. In each pair of paths for the one that takes over.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    by: PathId,
    doubts: Doubts,
    /// Packet numbers.
    numbers: RangeSet,
}

impl Settled {
    /// What was seen to for `by`. `is_open` says which paths there still are; others are forgotten.
    pub(crate) fn for_path(
        &mut self,
        by: PathId,
        doubts: Doubts,
        is_open: impl Fn(PathId) -> bool,
    ) -> Numbers<'_> {
        if let Some(at) = self.entries.iter().position(|entry| entry.by == by) {
            let entry = &mut self.entries[at];
            if entry.doubts != doubts {
                (entry.doubts, entry.numbers) = (doubts, RangeSet::default());
            }
            return Numbers(&mut self.entries[at].numbers);
        }
        self.entries.retain(|entry| is_open(entry.by));
        self.entries.push(Entry { by, doubts, numbers: RangeSet::default() });
        let last = self.entries.len() - 1;
        Numbers(&mut self.entries[last].numbers)
    }

    /// Gives back memory of a burst that is over.
    pub(crate) fn shrink(&mut self) {
        self.entries = Vec::new();
    }
}

/// The packets of one path that were seen to for one other path.
pub(crate) struct Numbers<'a>(&'a mut RangeSet);

impl Numbers<'_> {
    /// Forgets what is in flight no more.
    pub(crate) fn trim(&mut self, sent: &SentPackets) {
        let oldest = sent.oldest().map_or(u64::MAX, |packet| packet.packet_number);
        self.0.remove(0..oldest);
    }

    /// The oldest packet in flight from a number on that was not seen to.
    pub(crate) fn oldest<'p>(&self, sent: &'p SentPackets, mut from: u64) -> Option<&'p SentPacket> {
        loop {
            let packet = sent.oldest_from(from)?;
            match self.0.range_with(packet.packet_number) {
                Some(settled) => from = settled.end,
                None => return Some(packet),
            }
        }
    }

    /// The newest packet in flight below a number that was not seen to.
    pub(crate) fn newest<'p>(&self, sent: &'p SentPackets, mut below: u64) -> Option<&'p SentPacket> {
        loop {
            let packet = sent.newest_below(below)?;
            match self.0.range_with(packet.packet_number) {
                Some(settled) => below = settled.start,
                None => return Some(packet),
            }
        }
    }

    /// These were seen to. With those between them that are in flight no more, most are one range.
    pub(crate) fn settle(&mut self, numbers: Range<u64>) {
        self.0.insert(numbers);
    }
}
