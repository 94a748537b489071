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
    ControllerInit::new(PathId::ZERO, Time::ZERO, SocketAddr::from((Ipv4Addr::LOCALHOST, 443))).with(|init| {
        init.max_datagram_size = DATAGRAM;
        init.initial_window = initial_window;
    })
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
    Ack::default().with(|ack| {
        ack.now = now;
        ack.bytes = bytes;
        ack.bytes_in_recovery = 0;
        ack.packets = bytes.div_ceil(u64::from(DATAGRAM));
        ack.largest_acked = 0;
        ack.largest_sent_at = now - rtt;
        ack.bytes_in_flight = 0;
        ack.received_on = PathId::ZERO;
        ack.latest_rtt = Some(rtt);
        ack.raw_rtt = Some(rtt);
        ack.smoothed_rtt = rtt;
        ack.rtt_variance = Duration::ZERO;
        ack.min_rtt = rtt;
        ack.reorders = false;
        ack.one_way_delay = None;
        ack.limited_by = LimitedBy::CongestionWindow;
        ack.delivered = bytes;
        ack.delivery = None;
        ack.ecn_ce = 0;
    })
}

pub(crate) fn loss(now: Time, cause: LossCause, new_epoch: bool) -> Loss {
    Loss::new(now, cause).with(|loss| {
        loss.bytes = u64::from(DATAGRAM);
        loss.packets = 1;
        loss.largest_sent_at = now;
        loss.largest_lost = 0;
        loss.bytes_in_flight = 0;
        loss.inflight_at_send = 0;
        loss.lost_since_sent = 0;
        loss.limited_by = LimitedBy::Nothing;
        loss.new_epoch = new_epoch;
    })
}

/// A lost packet came back, with which the epoch `undone` had no reason.
pub(crate) fn spurious(now: Time, undone: Option<usize>) -> SpuriousLoss {
    SpuriousLoss::default().with(|late| {
        late.now = now;
        late.bytes = u64::from(DATAGRAM);
        late.undone = undone;
    })
}

/// A usable path of the only bottleneck group.
pub(crate) fn sibling(id: u32, packets: u64, rtt_ms: u64) -> Sibling {
    Sibling::default().with(|sibling| {
        sibling.path = PathId(id);
        sibling.group = GroupId(0);
        sibling.congestion_window = packets * u64::from(DATAGRAM);
        sibling.smoothed_rtt = Duration::from_millis(rtt_ms);
        sibling.min_rtt = Duration::from_millis(rtt_ms);
        sibling.usable = true;
        sibling.max_datagram_size = DATAGRAM;
        sibling.delivery_rate = None;
        sibling.max_delivery_rate = None;
        sibling.acked_since_loss = 0;
        sibling.acked_between_losses = 0;
        sibling.loss_ppm = 0;
    })
}

/// A predecessor past slow start: window 80 kB, 60 kB in flight, 10 Mbit/s over at least 40 ms (50 kB).
pub(crate) fn snapshot() -> Snapshot {
    Snapshot::new(Time::from_secs(1), 80_000).with(|snapshot| {
        snapshot.slow_start_threshold = 40_000;
        snapshot.pacing_rate = None;
        snapshot.smoothed_rtt = Duration::from_millis(50);
        snapshot.rtt_variance = Duration::from_millis(5);
        snapshot.min_rtt = Duration::from_millis(40);
        snapshot.min_rtt_at = Time::ZERO;
        snapshot.max_delivery_rate = Some(Rate::from_megabits_per_second(10));
        snapshot.bytes_in_flight = 60_000;
        snapshot.pipe_full = false;
        snapshot.window_before_loss = None;
    })
}
