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
    ControllerInit {
        path: PathId::ZERO,
        now: Time::ZERO,
        max_datagram_size: DATAGRAM as u16,
        initial_window: 10 * DATAGRAM,
        link: None,
        remote: SocketAddr::from((Ipv4Addr::LOCALHOST, 443)),
        seed: 1,
        snapshot: None,
    }
}

fn sibling(path: u32) -> Sibling {
    Sibling {
        path: PathId(path),
        group: GroupId(0),
        congestion_window: FLIGHT * DATAGRAM,
        smoothed_rtt: RTT,
        min_rtt: RTT,
        usable: true,
        max_datagram_size: DATAGRAM as u16,
        delivery_rate: Some(Rate::from_megabits_per_second(20)),
        max_delivery_rate: Some(Rate::from_megabits_per_second(24)),
        acked_since_loss: 500_000,
        acked_between_losses: 900_000,
        loss_ppm: 1_000,
    }
}

fn sent(number: u64) -> Sent {
    Sent {
        now: Time::ZERO + SPACING * number as u32,
        packet_number: number,
        bytes: DATAGRAM,
        bytes_in_flight: FLIGHT * DATAGRAM,
        limited_by: LimitedBy::Nothing,
    }
}

/// The acknowledgement of a packet a round-trip time after it left, a little later each time the queue swings.
fn ack(number: u64) -> Ack {
    let sent_at = Time::ZERO + SPACING * number as u32;
    let rtt = RTT + Duration::from_micros(number * 7 % 9_000);
    let delivered = number * DATAGRAM;
    Ack {
        now: sent_at + rtt,
        bytes: DATAGRAM,
        bytes_in_recovery: 0,
        packets: 1,
        largest_acked: number,
        largest_sent_at: sent_at,
        bytes_in_flight: (FLIGHT - 1) * DATAGRAM,
        received_on: PathId::ZERO,
        latest_rtt: Some(rtt),
        raw_rtt: Some(rtt),
        smoothed_rtt: rtt,
        rtt_variance: Duration::from_millis(2),
        min_rtt: RTT,
        reorders: false,
        one_way_delay: Some(rtt / 2),
        limited_by: LimitedBy::CongestionWindow,
        delivered,
        delivery: Some(DeliverySample {
            rate: Some(Rate::from_bytes_over(FLIGHT * DATAGRAM, rtt)),
            delivered: FLIGHT * DATAGRAM,
            prior_delivered: delivered.saturating_sub(FLIGHT * DATAGRAM),
            inflight_at_send: FLIGHT * DATAGRAM,
            lost: 0,
            limited_by: LimitedBy::Nothing,
        }),
        ecn_ce: u64::from(number.is_multiple_of(501)),
    }
}

fn loss(number: u64) -> Loss {
    Loss {
        now: Time::ZERO + SPACING * number as u32 + RTT,
        cause: LossCause::Loss,
        bytes: DATAGRAM,
        packets: 1,
        largest_sent_at: Time::ZERO + SPACING * number as u32,
        largest_lost: number,
        bytes_in_flight: (FLIGHT - 1) * DATAGRAM,
        inflight_at_send: FLIGHT * DATAGRAM,
        lost_since_sent: DATAGRAM,
        limited_by: LimitedBy::Nothing,
        new_epoch: true,
    }
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
