//! A bulk sender: what it has in flight, what it hears, and what its controller is told.

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::{CongestionController, DeliverySample, LimitedBy, LossCause, Rate, Sent, Siblings, Time};

use super::BYTES;
use crate::testing::{ack, loss};

pub(super) struct Packet {
    sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    inflight: u64,
    lost: u64,
    done: bool,
}

/// A bulk sender.
pub(crate) struct Flow {
    pub(crate) controller: Box<dyn CongestionController>,
    pub(crate) link: usize,
    /// Flows of one connection are siblings.
    pub(crate) connection: usize,
    pub(crate) rtt: Duration,
    starts: Time,
    pub(super) stops: Time,
    pub(super) first: u64,
    pub(super) packets: VecDeque<Packet>,
    pub(super) in_flight: u64,
    next_send: Time,
    last_ack_at: Time,
    pub(super) heard_at: Time,
    delivered_at: Time,
    first_sent_at: Time,
    pub(super) srtt: Duration,
    variance: Duration,
    pub(super) min_rtt: Duration,
    recovery_until: u64,
    pub(super) since_loss: u64,
    pub(super) between_losses: u64,
    pub(super) peak_rate: Rate,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(crate) sent: u64,
    /// Queueing delays of its packets since the last [`Network::forget`].
    pub(crate) waits: Vec<Duration>,
    pub(super) delivered_before: u64,
    pub(super) sent_before: u64,
    pub(super) lost_before: u64,
}

/// Where a flow belongs, and its round-trip time without queue.
pub(super) struct Place {
    pub(super) link: usize,
    pub(super) connection: usize,
    pub(super) rtt: Duration,
}

impl Flow {
    pub(super) fn new(
        controller: Box<dyn CongestionController>,
        Place { link, connection, rtt }: Place,
        starts: Time,
        stops: Time,
    ) -> Flow {
        Flow {
            controller,
            link,
            connection,
            rtt,
            starts,
            stops,
            first: 0,
            packets: VecDeque::new(),
            in_flight: 0,
            next_send: starts,
            last_ack_at: starts,
            heard_at: starts,
            delivered_at: starts,
            first_sent_at: starts,
            srtt: Duration::ZERO,
            variance: Duration::ZERO,
            min_rtt: Duration::MAX,
            recovery_until: 0,
            since_loss: 0,
            between_losses: 0,
            peak_rate: Rate::ZERO,
            delivered: 0,
            lost: 0,
            sent: 0,
            waits: Vec::new(),
            delivered_before: 0,
            sent_before: 0,
            lost_before: 0,
        }
    }

    pub(super) fn may_send(&self, now: Time) -> bool {
        now >= self.starts
            && now < self.stops
            && now >= self.next_send
            && self.in_flight + BYTES <= self.controller.window()
    }

    /// A packet leaves; returns its number.
    pub(super) fn register_sent(&mut self, now: Time) -> u64 {
        if self.in_flight == 0 {
            (self.first_sent_at, self.delivered_at, self.heard_at) = (now, now, now);
        }
        let number = self.first + self.packets.len() as u64;
        self.in_flight += BYTES;
        self.sent += 1;
        self.packets.push_back(Packet {
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            inflight: self.in_flight,
            lost: self.lost,
            done: false,
        });
        self.controller.on_sent(&Sent::default().with(|sent| {
            sent.now = now;
            sent.packet_number = number;
            sent.bytes = BYTES;
            sent.bytes_in_flight = self.in_flight;
            sent.limited_by = LimitedBy::Nothing;
        }));
        number
    }

    /// When a packet is acknowledged that left the queue then, after this wait. Packets do not overtake each other.
    pub(super) fn acknowledged_at(&mut self, left: Time, wait: Duration) -> Time {
        self.waits.push(wait);
        self.last_ack_at = (left + self.rtt).max(self.last_ack_at);
        self.last_ack_at
    }

    /// When the next packet may leave, if that is later.
    pub(super) fn pace(&mut self, now: Time) -> Option<Time> {
        let rate = self.pacing()?;
        self.next_send = self.next_send.max(now - Duration::from_millis(1)) + rate.time_for(BYTES);
        Some(self.next_send).filter(|at| *at > now)
    }

    pub(super) fn timeout(&self) -> Duration {
        (self.srtt * 3).max(self.rtt * 3) + Duration::from_millis(25)
    }

    fn pacing(&self) -> Option<Rate> {
        self.controller.pacing_rate().or_else(|| {
            // As the core does (RFC 9002 section 7.7).
            let scale = if self.controller.in_slow_start() { (289, 100) } else { (5, 4) };
            (!self.srtt.is_zero())
                .then(|| Rate::from_bytes_over(self.controller.window(), self.srtt).scaled(scale.0, scale.1))
        })
    }

    fn on_rtt(&mut self, rtt: Duration) {
        if self.srtt.is_zero() {
            (self.srtt, self.variance) = (rtt, rtt / 2);
        } else {
            self.variance = (self.variance * 3 + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
        }
        self.min_rtt = self.min_rtt.min(rtt);
    }

    pub(super) fn acknowledge(&mut self, number: u64, now: Time, siblings: &Siblings<'_>) {
        let Some(at) = number.checked_sub(self.first).map(|at| at as usize) else { return };
        if self.packets.get(at).is_none_or(|packet| packet.done) {
            return;
        }
        let packet = &mut self.packets[at];
        packet.done = true;
        let (sent_at, prior, inflight, lost_then) =
            (packet.sent_at, packet.delivered, packet.inflight, packet.lost);
        let interval = sent_at.since(packet.first_sent_at).max(now.since(packet.delivered_at));
        self.in_flight -= BYTES;
        self.delivered += BYTES;
        self.since_loss += BYTES;
        (self.delivered_at, self.heard_at, self.first_sent_at) = (now, now, self.first_sent_at.max(sent_at));
        let rtt = now - sent_at;
        self.on_rtt(rtt);
        if number >= 3 {
            self.lose_before(number - 2, now, siblings);
        }
        let rate =
            (interval >= self.min_rtt).then(|| Rate::from_bytes_over(self.delivered - prior, interval));
        self.peak_rate = self.peak_rate.max(rate.unwrap_or(Rate::ZERO));
        let done = self.packets.iter().take_while(|packet| packet.done).count();
        let heard = ack(now, BYTES, rtt).with(|ack| {
            ack.bytes_in_recovery = if number < self.recovery_until { BYTES } else { 0 };
            ack.largest_acked = number;
            ack.settled = self.first + done as u64;
            ack.largest_sent_at = sent_at;
            ack.bytes_in_flight = self.in_flight;
            ack.smoothed_rtt = self.srtt;
            ack.rtt_variance = self.variance;
            ack.min_rtt = self.min_rtt;
            ack.delivered = self.delivered;
            ack.delivery = Some(DeliverySample::default().with(|sample| {
                sample.rate = rate;
                sample.delivered = self.delivered - prior;
                sample.prior_delivered = prior;
                sample.inflight_at_send = inflight;
                sample.lost = self.lost - lost_then;
            }));
        });
        self.controller.on_ack(&heard, siblings);
        self.trim();
    }

    pub(super) fn lose_before(&mut self, end: u64, now: Time, siblings: &Siblings<'_>) {
        let (first, mut packets, mut oldest, mut newest) = (self.first, 0, None, None);
        for (offset, packet) in self.packets.iter_mut().enumerate() {
            let number = first + offset as u64;
            if number >= end {
                break;
            }
            if !packet.done {
                packet.done = true;
                packets += 1;
                oldest.get_or_insert(number);
                newest = Some((number, packet.sent_at, packet.inflight, packet.lost));
            }
        }
        let Some((number, largest_sent_at, inflight_at_send, lost_then)) = newest else { return };
        let bytes = packets * BYTES;
        self.in_flight -= bytes;
        self.lost += bytes;
        let new_epoch = number >= self.recovery_until;
        if new_epoch {
            self.recovery_until = first + self.packets.len() as u64;
            (self.between_losses, self.since_loss) = (self.since_loss, 0);
        }
        let found = loss(now, LossCause::Loss, new_epoch).with(|loss| {
            loss.bytes = bytes;
            loss.packets = packets;
            loss.largest_sent_at = largest_sent_at;
            (loss.smallest_lost, loss.largest_lost) = (oldest.unwrap_or(number), number);
            loss.bytes_in_flight = self.in_flight;
            loss.inflight_at_send = inflight_at_send;
            loss.lost_since_sent = self.lost - lost_then;
        });
        self.controller.on_loss(&found, siblings);
        self.trim();
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.done) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
