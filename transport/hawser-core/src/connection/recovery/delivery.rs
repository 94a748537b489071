//! Delivery rate (draft-ietf-ccwg-bbr section 4.1): how fast the path carried what was just acknowledged.
//!
//! A sample is the volume delivered between two acknowledgements over the longer of the time it took to send it and
//! the time it took to be acknowledged. The longer of both keeps compressed ACKs and bursts from pretending a rate.
//! Rounds, counted here as well, are the packet-timed round trips that filters elsewhere use as their clock.

use std::time::Duration;

use hawser_policy::{DeliverySample, LimitedBy, Rate, Time};

use super::sent::SentPacket;

#[cfg(test)]
mod tests;

/// Rounds over which the largest rate is remembered.
const MAX_FILTER_ROUNDS: usize = 10;

/// What a packet notes when it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryState {
    /// Bytes delivered on the path by then.
    pub(crate) delivered: u64,
    /// When the last of them was acknowledged.
    pub(crate) delivered_at: Time,
    /// When the first packet of the flight it belongs to left.
    pub(crate) first_sent_at: Time,
    /// Bytes in flight, itself included; at most `u32::MAX`. Zero in a packet that noted nothing.
    pub(crate) inflight: u32,
    /// Bytes lost on the path by then, modulo 2^32.
    pub(crate) lost: u32,
}

/// The sample of one ACK frame while its packets are being gone through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleBuilder {
    newest: Option<Newest>,
}

/// The newest packet of a sample.
#[derive(Clone, Copy, Debug)]
struct Newest {
    state: DeliveryState,
    limited_by: LimitedBy,
    sent_at: Time,
    packet_number: u64,
}

/// Delivery-rate estimation of one path.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryRateEstimator {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    /// Samples are limited by the sender until this many bytes are delivered; 0 when they are not.
    limited_until: u64,
    /// What limits them.
    limited_by: LimitedBy,
    round: u64,
    round_ends_at: u64,
    smoothed: Option<Rate>,
    /// Largest sample of each of the last rounds, by round modulo length.
    round_max: [Rate; MAX_FILTER_ROUNDS],
}

impl DeliveryRateEstimator {
    /// Nothing delivered.
    pub(crate) fn new(now: Time) -> Self {
        DeliveryRateEstimator {
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            limited_until: 0,
            limited_by: LimitedBy::Nothing,
            round: 0,
            round_ends_at: 0,
            smoothed: None,
            round_max: [Rate::ZERO; MAX_FILTER_ROUNDS],
        }
    }

    /// A packet leaves. `in_flight_before` excludes it.
    #[inline]
    pub(crate) fn on_packet_sent(&mut self, now: Time, bytes: u64, in_flight_before: u64) -> DeliveryState {
        if in_flight_before == 0 {
            // A new flight: the silence before it is not the path's doing.
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        DeliveryState {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            inflight: u32::try_from(in_flight_before + bytes).unwrap_or(u32::MAX),
            lost: self.lost as u32,
        }
    }

    /// What holds the sender back, if it is not the network.
    #[inline]
    pub(crate) fn limited_by(&self) -> LimitedBy {
        self.limited_by
    }

    /// The sender stopped although window and pacer would have let it go on.
    #[inline]
    pub(crate) fn on_limited(&mut self, in_flight: u64, by: LimitedBy) {
        self.limited_until = (self.delivered + in_flight).max(1);
        self.limited_by = by;
    }

    /// The path is back after an outage: what is sent from now on is measured without the time before.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.limited_until, self.limited_by) = (0, LimitedBy::Nothing);
        (self.first_sent_at, self.delivered_at) = (now, now);
    }

    /// A packet in flight was acknowledged.
    #[inline]
    pub(crate) fn on_packet_acked(&mut self, sample: &mut SampleBuilder, packet: &SentPacket, now: Time) {
        self.delivered += u64::from(packet.bytes);
        self.delivered_at = now;
        // Packets that left before the path moved to their 4-tuple noted nothing.
        if packet.delivery.inflight == 0 {
            return;
        }
        let newer = sample
            .newest
            .is_none_or(|it| (packet.sent_at, packet.packet_number) > (it.sent_at, it.packet_number));
        if newer {
            sample.newest = Some(Newest {
                state: packet.delivery,
                limited_by: packet.limited_by,
                sent_at: packet.sent_at,
                packet_number: packet.packet_number,
            });
        }
    }

    /// A packet in flight was lost.
    pub(crate) fn on_packet_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// A packet that was lost is there after all.
    pub(crate) fn on_spurious_loss(&mut self, bytes: u64, now: Time) {
        self.lost = self.lost.saturating_sub(bytes);
        self.delivered += bytes;
        self.delivered_at = now;
    }

    /// All packets of the ACK frame were gone through. Returns the sample, if it has one, and whether a round began.
    pub(crate) fn finish(
        &mut self,
        sample: SampleBuilder,
        min_rtt: Duration,
    ) -> (Option<DeliverySample>, bool) {
        let Some(Newest { state, limited_by, sent_at, .. }) = sample.newest else { return (None, false) };
        if self.limited_until != 0 && self.delivered > self.limited_until {
            (self.limited_until, self.limited_by) = (0, LimitedBy::Nothing);
        }
        let round_began = state.delivered >= self.round_ends_at;
        if round_began {
            self.round += 1;
            self.round_ends_at = self.delivered;
            self.round_max[self.slot()] = Rate::ZERO;
        }
        self.first_sent_at = self.first_sent_at.max(sent_at);
        let send_elapsed = sent_at.since(state.first_sent_at);
        let ack_elapsed = self.delivered_at.since(state.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - state.delivered;
        // Shorter than the path can be: the rate would be overestimated.
        let reliable = interval >= min_rtt && !interval.is_zero();
        let rate = reliable.then(|| Rate::from_bytes_over(delivered, interval));
        if let Some(rate) = rate {
            self.note_rate(rate, limited_by.leaves_window_unused());
        }
        let sample = DeliverySample::default().with(|sample| {
            sample.rate = rate;
            sample.delivered = delivered;
            sample.prior_delivered = state.delivered;
            sample.inflight_at_send = u64::from(state.inflight);
            sample.lost = self.lost_since(&state);
            sample.limited_by = limited_by;
        });
        (Some(sample), round_began)
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes lost since a packet noted `state`.
    pub(crate) fn lost_since(&self, state: &DeliveryState) -> u64 {
        u64::from((self.lost as u32).wrapping_sub(state.lost))
    }

    /// Packet-timed round trips so far.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// Recent rate, smoothed over about eight samples. A sample taken while the application had little to send
    /// counts only when it is larger.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.smoothed
    }

    /// Largest rate of the last ten rounds.
    pub(crate) fn max_rate(&self) -> Option<Rate> {
        self.smoothed.and(self.round_max.iter().copied().max())
    }

    fn note_rate(&mut self, rate: Rate, is_lower_bound: bool) {
        let slot = self.slot();
        self.round_max[slot] = self.round_max[slot].max(rate);
        self.smoothed = Some(match self.smoothed {
            None => rate,
            Some(smoothed) if is_lower_bound && rate < smoothed => smoothed,
            Some(smoothed) => {
                let (old, new) = (smoothed.bits_per_second(), rate.bits_per_second());
                Rate::from_bits_per_second(old - old / 8 + new / 8)
            }
        });
    }

    fn slot(&self) -> usize {
        (self.round % MAX_FILTER_ROUNDS as u64) as usize
    }
}
