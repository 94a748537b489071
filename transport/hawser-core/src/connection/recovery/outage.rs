//! Outages: silences that ended with an answer.
//!
//! A silence begins with a probe timeout. It ends when a packet is acknowledged that left after that. Where the link was gone in
//! between, everything that left into the silence is lost, and that says nothing about how much the path carries: RFC 9002 would
//! halve the window, or call it persistent congestion and begin again with two packets, once for each tunnel, handover or
//! obstruction. Here window, rate and estimates stay as they were before.
//!
//! What speaks for an outage is a loss that no queue explains: a probe that went into a path on which nothing else was, or a
//! whole flight without a single survivor. And what was lost between packets that arrived was not lost to the outage.
//!
//! Without multipath this does not apply: such a connection does as the RFC says.

use std::ops::RangeInclusive;
use std::time::Duration;

use hawser_policy::{LimitedBy, Outage, Rate, Time};

use super::PathRecovery;
use super::sent::SentPacket;
use super::space::{PacketNumberSpace, SpaceKind};

#[cfg(test)]
mod tests;

/// Packets in a row, all lost, that are more than the end of a burst that overflowed a queue: more than the first window.
const WHOLE_FLIGHT: usize = 10;

/// For how many round trips after an outage the rate is bounded.
const REFILL_ROUND_TRIPS: u32 = 16;
/// And where outages come so often that they cut that short, at most: what the bound lets through beyond what the path carries is in
/// its queue when the next one comes.
const LONGEST_REFILL: u32 = 64;

/// What is known of silences of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Silences {
    present: Option<Silence>,
    /// The last outage that ended: packets with these numbers were lost to it, if they were lost.
    ended: Option<(RangeInclusive<u64>, Time)>,
    /// How fast packets leave after it.
    refill: Option<Refill>,
}

/// Nothing that left since it began was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Silence {
    since: Time,
    /// Packets from this number on left after the first probe timeout.
    probes_from: u64,
}

/// How fast packets may leave after an outage.
#[derive(Clone, Copy, Debug)]
struct Refill {
    rate: Rate,
    began: Time,
    round_trip: Duration,
    /// For so many of these.
    round_trips: u32,
}

impl Refill {
    fn is_over(&self, now: Time) -> bool {
        now.since(self.began) >= self.round_trip * self.round_trips
    }

    /// It grows with time, to twice the rate in the end: the path may carry more than was seen.
    fn bound(&self, now: Time) -> Rate {
        let end = (self.round_trip * self.round_trips).as_micros().max(1) as u64;
        let passed = (now.since(self.began).as_micros() as u64).min(end);
        self.rate.scaled(end + passed, end)
    }
}

/// Losses of one detection that an outage explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutageTally {
    pub(super) bytes: u64,
    pub(super) packets: u64,
}

impl Silences {
    /// Whether a lost packet was lost to an outage.
    #[inline]
    pub(super) fn explain(&self, packet: &SentPacket) -> bool {
        self.ended.as_ref().is_some_and(|(numbers, _)| numbers.contains(&packet.packet_number))
    }
}

impl PathRecovery {
    /// A probe timeout expired, or a silent path is probed: a silence begins, if none did.
    pub(crate) fn begin_silence(&mut self, space: &PacketNumberSpace) {
        if space.kind != SpaceKind::Application || self.silences.present.is_some() {
            return;
        }
        self.silences.present = Some(Silence { since: self.last_progress, probes_from: space.end() });
        // The rates that probes find are lower bounds.
        self.delivery.on_limited(self.bytes_in_flight, LimitedBy::Application);
    }

    /// Whether a silence has not ended.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.silences.present.is_some()
    }

    /// Whether an acknowledgement says nothing about the path now: the newest packet that it names left before the silence, and the
    /// peer held it back for longer than it would without need. Such a one was lost and repeated on another path.
    #[inline]
    pub(super) fn is_stale(&self, newest: Option<u64>, delay: Duration) -> bool {
        let Some(silence) = self.silences.present else { return false };
        newest.is_some_and(|number| number < silence.probes_from) && delay > self.rtt.max_ack_delay()
    }

    /// Packets were acknowledged, `acked`. `largest_before` was acknowledged before.
    #[cold]
    pub(super) fn end_silence(
        &mut self,
        space: &PacketNumberSpace,
        largest_before: Option<u64>,
        acked: &[SentPacket],
        now: Time,
    ) {
        let Some(silence) = self.silences.present else { return };
        let is_probe = |number: &u64| *number >= silence.probes_from;
        let numbers = || acked.iter().map(|packet| packet.packet_number);
        // What left before says nothing about whether the path answers now.
        let Some(answered) = numbers().filter(is_probe).min() else { return };
        self.silences.present = None;
        let arrived = numbers().filter(|number| !is_probe(number)).max().max(largest_before);
        let first = arrived.map_or(0, |number| number + 1);
        let sent = &space.sent;
        let probe_lost =
            sent.oldest_from(silence.probes_from).is_some_and(|packet| packet.packet_number < answered);
        let flight = sent.iter_from(first).take_while(|packet| packet.packet_number < silence.probes_from);
        if probe_lost || flight.take(WHOLE_FLIGHT).count() == WHOLE_FLIGHT {
            self.silences.ended = Some((first..=answered, silence.since));
            // Where many are lost at random it was chance, and no queue is refilled.
            if !self.recent_loss.is_heavy() {
                self.refill(now);
            }
            self.delivery.restart(now);
        }
    }

    /// The whole window is free and the path's queue empty. At the rate that fits a full queue it would be full again within a round
    /// trip, to be lost to the next outage: for a while little more leaves than the path was seen to deliver. A sender that had
    /// little to send has not seen that; a quarter of the window per round trip is not too much. Nor is less than was allowed after
    /// the outage before, if that is not long ago.
    fn refill(&mut self, now: Time) {
        let round_trip = self.rtt.smoothed().max(Duration::from_micros(1));
        let quarter = Rate::from_bytes_over(self.controller.window() / 4, round_trip);
        let before = self.silences.refill;
        let rate =
            quarter.max(self.delivery.max_rate().max(before.map(|refill| refill.rate)).unwrap_or(quarter));
        let round_trips = before.map_or(REFILL_ROUND_TRIPS, |cut| (cut.round_trips * 2).min(LONGEST_REFILL));
        self.silences.refill = Some(Refill { rate, began: now, round_trip, round_trips });
    }

    /// The rate that pacing may not exceed now, and the bytes that may be in flight: an eighth more than fit at that rate without a
    /// queue, so that little leaves after acknowledgements stop. With the smoothed round trip the bound would grow with the queue that it
    /// lets through. It grows while the path answers only: in a silence more would leave into it.
    #[inline]
    pub(super) fn refill_bounds(&mut self, now: Time) -> Option<(Rate, u64)> {
        let now = now.min(self.last_progress);
        self.silences.refill.take_if(|refill| refill.is_over(now));
        let refill = self.silences.refill.as_ref()?;
        let rate = refill.bound(now);
        // At first there is no queue, and what was lost has to go out again at once. Where packets overtake each other, the least is that
        // of the luckiest one.
        let is_first = now.since(refill.began) < refill.round_trip;
        let round_trip = match is_first || self.reordering.packet_threshold().is_none() {
            true => self.rtt.smoothed(),
            false => self.rtt.min(),
        };
        Some((rate, rate.bytes_in(round_trip) / 8 * 9))
    }

    /// Whether less may be in flight after an outage than the controller's window allows: it does not grow then, being unused
    /// (RFC 9002 section 7.8). It would without a bound, since all losses are those of outages.
    #[inline]
    pub(super) fn is_refilled_slowly(&self) -> bool {
        self.silences.refill.is_some() && self.window < self.controller.window()
    }

    /// Tells the controller of an outage, of which these losses were found.
    pub(super) fn signal_outage(&mut self, tally: &OutageTally, now: Time) {
        let told = tally.packets > 0 && !self.retired;
        let Some((_, since)) = self.silences.ended.as_ref().filter(|_| told) else { return };
        self.controller.on_outage(&Outage::default().with(|outage| {
            outage.now = now;
            outage.since = *since;
            outage.bytes = tally.bytes;
            outage.packets = tally.packets;
            outage.bytes_in_flight = self.bytes_in_flight;
        }));
        self.refresh_limits(now);
    }
}
