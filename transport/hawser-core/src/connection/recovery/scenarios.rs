//! A sender with a full window on a link that loses or reorders, in virtual time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use hawser_policy::AckDecision;

use super::testing::{Bench, millis, ms};
use super::*;

/// One way 20 ms each, plus jitter; a constant window of 40 datagrams; the receiver acknowledges every second packet.
struct Link {
    bench: Bench,
    received: ReceivedPackets,
    /// By arrival time and a tie-breaker: packet numbers to the receiver, ACK frames to the sender.
    packets: BTreeMap<(Time, u64), u64>,
    acks: BTreeMap<(Time, u64), Vec<RangeInclusive<u64>>>,
    loss_permille: u64,
    jitter: Duration,
    random: u64,
    sent: u64,
    longest_gap: Duration,
}

impl Link {
    fn new(loss_permille: u64, jitter: Duration, seed: u64) -> Self {
        Link {
            bench: Bench::with(SpaceKind::Application, 40 * 1200),
            received: ReceivedPackets::default(),
            packets: BTreeMap::new(),
            acks: BTreeMap::new(),
            loss_permille,
            jitter,
            random: seed,
            sent: 0,
            longest_gap: Duration::ZERO,
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below.max(1)
    }

    /// When what leaves now arrives, unless it is lost.
    fn arrival(&mut self, now: Time) -> Option<(Time, u64)> {
        self.sent += 1;
        if self.random(1000) < self.loss_permille {
            return None;
        }
        let jitter = Duration::from_nanos(self.random(self.jitter.as_nanos() as u64));
        Some((now + millis(20) + jitter, self.sent))
    }

    fn send(&mut self, now: Time) {
        let number = self.bench.send(now);
        if let Some(arrival) = self.arrival(now) {
            self.packets.insert(arrival, number);
        }
    }

    fn deliver(&mut self, now: Time) {
        while let Some(entry) = self.packets.first_entry().filter(|entry| entry.key().0 <= now) {
            let number = entry.remove();
            let received = self.received.on_received(number, now, true, None);
            let at_once = received.out_of_order || self.received.unacknowledged() >= 2;
            let decision = if at_once { AckDecision::Now } else { AckDecision::Within(millis(25)) };
            self.received.on_decision(decision, now, millis(25));
        }
        if self.received.is_due(now) {
            let ranges = self.received.ack_ranges().collect();
            self.received.on_ack_sent();
            if let Some(arrival) = self.arrival(now) {
                self.acks.insert(arrival, ranges);
            }
        }
        while let Some(entry) = self.acks.first_entry().filter(|entry| entry.key().0 <= now) {
            let ranges = entry.remove();
            self.longest_gap = self.longest_gap.max(self.bench.recovery.silent_for(now));
            self.bench.ack(now, &ranges);
        }
    }

    fn run(&mut self, duration: Duration) {
        let mut now = ms(0);
        while now < Time::ZERO + duration {
            self.deliver(now);
            if self.bench.recovery.loss_timer(&self.bench.space).is_some_and(|at| at <= now) {
                self.bench.detect_lost(now);
            }
            if self
                .bench
                .recovery
                .pto_timer(&self.bench.space, BackOff::WITHOUT_DATA)
                .is_some_and(|at| at <= now)
            {
                self.bench.recovery.on_pto(0);
                self.send(now);
            }
            while self.bench.recovery.can_send(now, 1200) {
                self.send(now);
            }
            now += Duration::from_micros(500);
        }
    }
}

#[test]
fn twelve_percent_loss_both_ways_does_not_stall_the_path() {
    for seed in 0..10 {
        let mut link = Link::new(120, Duration::ZERO, seed);
        link.run(Duration::from_secs(20));
        let totals = link.bench.recovery.totals;
        // 40 datagrams per 40 ms would be 20,000; losses that wait for their detection hold some of the window.
        assert!(totals.packets_acked > 12_000, "seed {seed}: {} delivered", totals.packets_acked);
        assert!(link.longest_gap < millis(200), "seed {seed}: {:?} without an answer", link.longest_gap);
        let share = link.bench.recovery.recent_loss.ppm();
        assert!((80_000..170_000).contains(&share), "seed {seed}: {share} ppm");
        assert_eq!(totals.packets_spurious, 0, "seed {seed}: nothing is reordered");
    }
}

#[test]
fn jitter_is_not_taken_for_loss() {
    for seed in 0..10 {
        let mut link = Link::new(0, millis(15), seed);
        link.run(Duration::from_secs(2));
        // What was declared lost last is still on its way.
        link.deliver(ms(2_020));
        link.deliver(ms(2_060));
        link.deliver(ms(2_100));
        let totals = link.bench.recovery.totals;
        assert!(totals.packets_lost > 0, "seed {seed}: three packets are too few here");
        assert_eq!(totals.packets_lost, totals.packets_spurious, "seed {seed}");
        let share = totals.packets_lost * 1000 / totals.packets_sent;
        assert!(share < 20, "seed {seed}: {} of {} lost", totals.packets_lost, totals.packets_sent);
    }
}

#[test]
fn a_dead_link_is_silent_and_answers_when_it_returns() {
    let mut link = Link::new(0, millis(1), 7);
    link.run(Duration::from_secs(1));
    let timeout = link.bench.recovery.probe_timeout();
    let now = ms(1_000);
    link.packets.clear();
    link.acks.clear();
    assert!(link.bench.recovery.silent_for(now + timeout * 3) >= timeout * 3);
    // The window is full of lost packets; only probes go out.
    assert!(link.bench.recovery.window_left() < 1200);
    let probe = link.bench.send(ms(3_000));
    let outcome = link.bench.ack(ms(3_040), &[probe..=probe]);
    assert!(outcome.newly_acked);
    assert_eq!((link.bench.recovery.bytes_in_flight(), link.bench.recovery.pto_count()), (0, 0));
}
