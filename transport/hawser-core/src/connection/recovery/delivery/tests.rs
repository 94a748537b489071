use hawser_policy::LimitedBy;

use super::super::testing::{millis, ms, packet};
use super::*;

const BYTES: u64 = 1200;

struct Flow {
    estimator: DeliveryRateEstimator,
    flight: std::collections::VecDeque<SentPacket>,
    next: u64,
    in_flight: u64,
}

impl Flow {
    fn new() -> Self {
        Flow {
            estimator: DeliveryRateEstimator::new(ms(0)),
            flight: Default::default(),
            next: 0,
            in_flight: 0,
        }
    }

    fn send(&mut self, now: Time) {
        let mut packet = packet(self.next, now);
        packet.delivery = self.estimator.on_packet_sent(now, BYTES, self.in_flight);
        packet.limited_by = self.estimator.limited_by();
        self.flight.push_back(packet);
        self.next += 1;
        self.in_flight += BYTES;
    }

    fn ack(&mut self, now: Time, count: usize) -> Option<DeliverySample> {
        let mut builder = SampleBuilder::default();
        for packet in self.flight.drain(..count) {
            self.in_flight -= BYTES;
            self.estimator.on_packet_acked(&mut builder, &packet, now);
        }
        self.estimator.finish(builder, millis(20)).0
    }
}

#[test]
fn a_steady_flow_shows_its_rate() {
    let mut flow = Flow::new();
    // A packet per millisecond (9.6 Mbit/s), acknowledged 20 ms later.
    for now in 0..200 {
        flow.send(ms(now));
        if now >= 20 {
            flow.ack(ms(now), 1);
        }
    }
    let rate = flow.estimator.rate().expect("samples").megabits_per_second();
    assert!((9.0..10.3).contains(&rate), "{rate} Mbit/s");
    let max = flow.estimator.max_rate().expect("samples").megabits_per_second();
    assert!((9.5..10.3).contains(&max), "{max} Mbit/s");
    // 180 ms of acknowledgements in round trips of 20 ms.
    assert!((8..=11).contains(&flow.estimator.round()), "{} rounds", flow.estimator.round());
}

#[test]
fn compressed_acks_do_not_pretend_a_rate() {
    let mut flow = Flow::new();
    for now in 0..100 {
        flow.send(ms(now));
    }
    // All at once after a pause: sent over 99 ms, acknowledged within nothing.
    let sample = flow.ack(ms(119), 100).expect("a sample");
    let rate = sample.rate.expect("longer than a round trip").megabits_per_second();
    assert!(rate < 9.8, "{rate} Mbit/s");
}

#[test]
fn an_interval_shorter_than_the_path_gives_no_rate_but_volume_and_round() {
    let mut flow = Flow::new();
    flow.send(ms(0));
    flow.send(ms(0));
    let sample = flow.ack(ms(5), 2).expect("its packets are of this 4-tuple");
    assert_eq!((sample.rate, sample.delivered, sample.inflight_at_send), (None, 2 * BYTES, 2 * BYTES));
    assert_eq!((sample.prior_delivered, flow.estimator.round(), flow.estimator.rate()), (0, 1, None));
    flow.send(ms(10));
    let sample = flow.ack(ms(30), 1).expect("a packet of this 4-tuple");
    assert_eq!((sample.rate, sample.delivered), (Some(Rate::from_bytes_over(BYTES, millis(20))), BYTES));
    assert_eq!((sample.prior_delivered, flow.estimator.round()), (2 * BYTES, 2));
}

#[test]
fn application_limited_samples_raise_the_estimate_but_never_lower_it() {
    let mut flow = Flow::new();
    for _ in 0..100 {
        flow.send(ms(0));
    }
    flow.ack(ms(20), 100);
    let full = flow.estimator.rate();
    flow.send(ms(100));
    flow.estimator.on_limited(BYTES, LimitedBy::Application);
    flow.send(ms(101));
    flow.ack(ms(121), 1);
    let limited = flow.ack(ms(122), 1).expect("a sample");
    assert_eq!(limited.limited_by, LimitedBy::Application);
    // The first of them left before the limit was noted.
    assert!(flow.estimator.rate() < full);
    let before = flow.estimator.rate();
    flow.estimator.on_limited(0, LimitedBy::Scheduler);
    flow.send(ms(200));
    assert!(flow.ack(ms(250), 1).is_some_and(|sample| sample.limited_by == LimitedBy::Scheduler));
    assert_eq!(flow.estimator.rate(), before);
    flow.send(ms(300));
    assert!(
        flow.ack(ms(350), 1).is_some_and(|sample| sample.limited_by == LimitedBy::Nothing),
        "the limit has passed"
    );
}

#[test]
fn the_largest_rate_is_forgotten_after_ten_rounds() {
    let mut flow = Flow::new();
    for _ in 0..100 {
        flow.send(ms(0));
    }
    flow.ack(ms(20), 100);
    let peak = flow.estimator.max_rate();
    let mut now = 100;
    for round in 1..=MAX_FILTER_ROUNDS {
        assert_eq!(flow.estimator.max_rate(), peak, "round {round}");
        flow.send(ms(now));
        flow.ack(ms(now + 40), 1);
        now += 100;
    }
    assert!(flow.estimator.max_rate() < peak);
}

#[test]
fn losses_since_sending_are_counted() {
    let mut flow = Flow::new();
    flow.estimator.on_packet_lost(1200);
    flow.send(ms(0));
    flow.estimator.on_packet_lost(2400);
    assert_eq!(flow.ack(ms(20), 1).map(|sample| (sample.lost, sample.inflight_at_send)), Some((2400, 1200)));
}
