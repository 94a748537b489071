//! No controller allocates once it runs: neither for an acknowledgement nor for a loss or a packet that leaves.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, DeliverySample, GroupId, LimitedBy, Loss, LossCause, PathId,
    PolicyKind, Rate, Registry, Sent, Sibling, Siblings, Time,
};

const DATAGRAM: u64 = 1_200;
const RTT: Duration = Duration::from_millis(40);
/// Packets in flight, acknowledged one by one; every so many packets one is lost.
const FLIGHT: u64 = 100;
const LOSS_EVERY: u64 = 997;
const SPACING: Duration = Duration::from_micros(400);

fn init() -> ControllerInit {
    ControllerInit::new(PathId::ZERO, Time::ZERO, SocketAddr::from((Ipv4Addr::LOCALHOST, 443))).with(|init| {
        init.max_datagram_size = DATAGRAM as u16;
        init.initial_window = 10 * DATAGRAM;
        init.seed = 1;
    })
}

fn sibling(path: u32) -> Sibling {
    Sibling::default().with(|sibling| {
        sibling.path = PathId(path);
        sibling.group = GroupId(0);
        sibling.congestion_window = FLIGHT * DATAGRAM;
        sibling.smoothed_rtt = RTT;
        sibling.min_rtt = RTT;
        sibling.usable = true;
        sibling.max_datagram_size = DATAGRAM as u16;
        sibling.delivery_rate = Some(Rate::from_megabits_per_second(20));
        sibling.max_delivery_rate = Some(Rate::from_megabits_per_second(24));
        sibling.acked_since_loss = 500_000;
        sibling.acked_between_losses = 900_000;
        sibling.loss_ppm = 1_000;
    })
}

fn sent(number: u64) -> Sent {
    Sent::default().with(|sent| {
        sent.now = Time::ZERO + SPACING * number as u32;
        sent.packet_number = number;
        sent.bytes = DATAGRAM;
        sent.bytes_in_flight = FLIGHT * DATAGRAM;
        sent.limited_by = LimitedBy::Nothing;
    })
}

/// The acknowledgement of a packet a round-trip time after it left, a little later each time the queue swings.
fn ack(number: u64) -> Ack {
    let sent_at = Time::ZERO + SPACING * number as u32;
    let rtt = RTT + Duration::from_micros(number * 7 % 9_000);
    let delivered = number * DATAGRAM;
    Ack::default().with(|ack| {
        ack.now = sent_at + rtt;
        ack.bytes = DATAGRAM;
        ack.bytes_in_recovery = 0;
        ack.packets = 1;
        ack.largest_acked = number;
        ack.largest_sent_at = sent_at;
        ack.bytes_in_flight = (FLIGHT - 1) * DATAGRAM;
        ack.received_on = PathId::ZERO;
        ack.latest_rtt = Some(rtt);
        ack.raw_rtt = Some(rtt);
        ack.smoothed_rtt = rtt;
        ack.rtt_variance = Duration::from_millis(2);
        ack.min_rtt = RTT;
        ack.reorders = false;
        ack.one_way_delay = Some(rtt / 2);
        ack.limited_by = LimitedBy::CongestionWindow;
        ack.delivered = delivered;
        ack.delivery = Some(DeliverySample::default().with(|sample| {
            sample.rate = Some(Rate::from_bytes_over(FLIGHT * DATAGRAM, rtt));
            sample.delivered = FLIGHT * DATAGRAM;
            sample.prior_delivered = delivered.saturating_sub(FLIGHT * DATAGRAM);
            sample.inflight_at_send = FLIGHT * DATAGRAM;
        }));
        ack.ecn_ce = u64::from(number.is_multiple_of(501));
    })
}

fn loss(number: u64) -> Loss {
    Loss::new(Time::ZERO + SPACING * number as u32 + RTT, LossCause::Loss).with(|loss| {
        loss.bytes = DATAGRAM;
        loss.packets = 1;
        loss.largest_sent_at = Time::ZERO + SPACING * number as u32;
        loss.largest_lost = number;
        loss.bytes_in_flight = (FLIGHT - 1) * DATAGRAM;
        loss.inflight_at_send = FLIGHT * DATAGRAM;
        loss.lost_since_sent = DATAGRAM;
        loss.limited_by = LimitedBy::Nothing;
        loss.new_epoch = true;
    })
}

fn drive(controller: &mut dyn CongestionController, numbers: std::ops::Range<u64>, siblings: &Siblings<'_>) {
    for number in numbers {
        controller.on_sent(&sent(number + FLIGHT));
        if number % LOSS_EVERY == LOSS_EVERY - 1 {
            controller.on_loss(&loss(number), siblings);
        } else {
            controller.on_ack(&ack(number), siblings);
        }
        std::hint::black_box((controller.window(), controller.pacing_rate()));
    }
}

/// Half a minute, in which the BBR family probes for bandwidth and round-trip time and window-based controllers are cut dozens of
/// times. What a controller needs it may fetch in the first round trips.
#[test]
fn no_controller_allocates_per_acknowledgement() {
    let mut registry = Registry::new();
    hawser_cc::register(&mut registry);
    let paths = [sibling(0), sibling(1)];
    let siblings = Siblings { own: PathId::ZERO, paths: &paths };
    for name in registry.names(PolicyKind::Congestion) {
        let mut controller = registry.congestion(name).expect("is registered").build(&init());
        drive(controller.as_mut(), 1..4 * FLIGHT, &siblings);
        let counted = allocation_counter::measure(|| {
            drive(controller.as_mut(), 4 * FLIGHT..80_000, &siblings);
        });
        assert_eq!(counted.count_total, 0, "{name} allocates {} bytes", counted.bytes_total);
    }
}

/// The counter counts.
#[test]
fn an_allocation_is_seen() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![0u8; 100])));
    assert_eq!((counted.count_total, counted.bytes_total), (1, 100));
}
