//! Values for tests: datagrams of 1000 bytes, so that windows read as packets.

pub(crate) mod bottleneck;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, GroupId, LimitedBy, Loss, LossCause, PathId, Rate, Registry,
    Sibling, Snapshot, SpuriousLoss, Time,
};

pub(crate) const DATAGRAM: u16 = 1000;

pub(crate) fn init(initial_window: u64) -> ControllerInit {
    ControllerInit {
        path: PathId::ZERO,
        now: Time::ZERO,
        max_datagram_size: DATAGRAM,
        initial_window,
        link: None,
        remote: SocketAddr::from((Ipv4Addr::LOCALHOST, 443)),
        seed: 0,
        snapshot: None,
    }
}

/// Everything that this crate registers.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry
}

/// The controller that a text names.
pub(crate) fn build_with(spec: &str, init: &ControllerInit) -> Box<dyn CongestionController> {
    registry().congestion(spec).expect("a controller and parameters that exist").build(init)
}

/// An acknowledgement of `bytes` at `now` with round-trip time `rtt`, all of them sent in this epoch.
pub(crate) fn ack(now: Time, bytes: u64, rtt: Duration) -> Ack {
    Ack {
        now,
        bytes,
        bytes_in_recovery: 0,
        packets: bytes.div_ceil(u64::from(DATAGRAM)),
        largest_acked: 0,
        largest_sent_at: now - rtt,
        bytes_in_flight: 0,
        received_on: PathId::ZERO,
        latest_rtt: Some(rtt),
        raw_rtt: Some(rtt),
        smoothed_rtt: rtt,
        rtt_variance: Duration::ZERO,
        min_rtt: rtt,
        reorders: false,
        one_way_delay: None,
        limited_by: LimitedBy::CongestionWindow,
        delivered: bytes,
        delivery: None,
        ecn_ce: 0,
    }
}

pub(crate) fn loss(now: Time, cause: LossCause, new_epoch: bool) -> Loss {
    Loss {
        now,
        cause,
        bytes: u64::from(DATAGRAM),
        packets: 1,
        largest_sent_at: now,
        largest_lost: 0,
        bytes_in_flight: 0,
        inflight_at_send: 0,
        lost_since_sent: 0,
        limited_by: LimitedBy::Nothing,
        new_epoch,
    }
}

/// A lost packet came back, with which the epoch `undone` had no reason.
pub(crate) fn spurious(now: Time, undone: Option<usize>) -> SpuriousLoss {
    SpuriousLoss { now, bytes: u64::from(DATAGRAM), undone }
}

/// A usable path of the only bottleneck group.
pub(crate) fn sibling(id: u32, packets: u64, rtt_ms: u64) -> Sibling {
    Sibling {
        path: PathId(id),
        group: GroupId(0),
        congestion_window: packets * u64::from(DATAGRAM),
        smoothed_rtt: Duration::from_millis(rtt_ms),
        min_rtt: Duration::from_millis(rtt_ms),
        usable: true,
        max_datagram_size: DATAGRAM,
        delivery_rate: None,
        max_delivery_rate: None,
        acked_since_loss: 0,
        acked_between_losses: 0,
        loss_ppm: 0,
    }
}

/// A predecessor past slow start: window 80 kB, 60 kB in flight, 10 Mbit/s over at least 40 ms (50 kB).
pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        now: Time::from_secs(1),
        congestion_window: 80_000,
        slow_start_threshold: 40_000,
        pacing_rate: None,
        smoothed_rtt: Duration::from_millis(50),
        rtt_variance: Duration::from_millis(5),
        min_rtt: Duration::from_millis(40),
        min_rtt_at: Time::ZERO,
        max_delivery_rate: Some(Rate::from_megabits_per_second(10)),
        bytes_in_flight: 60_000,
        pipe_full: false,
        window_before_loss: None,
    }
}
