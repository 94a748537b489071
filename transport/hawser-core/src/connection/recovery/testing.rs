//! Test support: a controller with a fixed window that writes down how it is called, and a path with one space.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Decision, LimitedBy, Loss, Outage, PathId, Scheduler,
    SchedulerInit, SendView, Siblings, Snapshot, SpuriousLoss, Tag, Time,
};
use hawser_wire::frame::EcnCounts;

use super::acknowledge::AckOutcome;
use super::{
    AckInfo, DeliveryState, PacketKind, PacketNumberSpace, PathIdentity, PathRecovery, SentPacket, SpaceKind,
};
use crate::config::TransportConfig;
use crate::connection::frames::SentFrames;
use crate::connection::receive_times::Arrivals;
use crate::error::TransportError;

pub(super) const DATAGRAM: u16 = 1200;
pub(super) const WINDOW: u64 = 1000 * DATAGRAM as u64;

/// A call of a controller.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Ack(Ack),
    Loss(Loss),
    Outage(Outage),
    Spurious(SpuriousLoss),
    Reset,
    Return(Snapshot),
    Created(Option<Snapshot>),
}

pub(super) type CallLog = Arc<Mutex<Vec<Call>>>;

#[derive(Debug)]
struct FixedWindow {
    window: u64,
    calls: CallLog,
}

impl FixedWindow {
    fn note(&self, call: Call) {
        self.calls.lock().expect("no test panics while it writes").push(call);
    }
}

impl CongestionController for FixedWindow {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn on_ack(&mut self, ack: &Ack, _siblings: &Siblings<'_>) {
        self.note(Call::Ack(*ack));
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        self.note(Call::Loss(*loss));
    }

    fn on_outage(&mut self, outage: &Outage) {
        self.note(Call::Outage(*outage));
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.note(Call::Spurious(*spurious));
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.note(Call::Reset);
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.note(Call::Return(*before));
    }

    fn on_max_datagram_size(&mut self, _bytes: u16) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window
    }
}

struct NoScheduler;

impl Scheduler for NoScheduler {
    fn name(&self) -> &'static str {
        "none"
    }

    fn schedule(&mut self, _view: &SendView<'_>, _commands: &mut Vec<hawser_policy::Command>) -> Decision {
        Decision::Wait(None)
    }
}

/// A factory of fixed windows that write into `calls`.
pub(super) fn fixed_window(
    window: u64,
    calls: &CallLog,
) -> impl Fn(&ControllerInit) -> Box<dyn CongestionController> + Send + Sync + 'static {
    let calls = Arc::clone(calls);
    move |init| {
        let controller = FixedWindow { window, calls: Arc::clone(&calls) };
        controller.note(Call::Created(init.snapshot));
        Box::new(controller) as Box<dyn CongestionController>
    }
}

pub(super) fn config(window: u64, calls: &CallLog) -> TransportConfig {
    let scheduler = |_: &SchedulerInit| Box::new(NoScheduler) as Box<dyn Scheduler>;
    TransportConfig::new(Arc::new(scheduler), Arc::new(fixed_window(window, calls)))
}

pub(super) fn identity() -> PathIdentity {
    PathIdentity { path: PathId::ZERO, link: None, remote: ([192, 0, 2, 1], 443).into(), seed: 1 }
}

/// An ack-eliciting packet of [`DATAGRAM`] bytes.
pub(super) fn packet(packet_number: u64, sent_at: Time) -> SentPacket {
    SentPacket {
        packet_number,
        sent_at,
        bytes: DATAGRAM,
        ack_eliciting: true,
        in_flight: true,
        kind: PacketKind::Normal,
        ecn_marked: false,
        resent: false,
        tuple_generation: 0,
        delivery: DeliveryState::default(),
        limited_by: LimitedBy::Nothing,
        tag: Tag::default(),
        frames: SentFrames::new(),
    }
}

pub(super) fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

pub(super) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A path with one packet number space, handshake confirmed, `max_ack_delay` 25 ms.
pub(super) struct Bench {
    pub(super) recovery: PathRecovery,
    pub(super) space: PacketNumberSpace,
    pub(super) calls: CallLog,
    pub(super) acked: Vec<SentPacket>,
    pub(super) lost: Vec<SentPacket>,
    next: u64,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(SpaceKind::Application, WINDOW)
    }

    pub(super) fn with(kind: SpaceKind, window: u64) -> Self {
        let calls = CallLog::default();
        let config = config(window, &calls);
        let factory = fixed_window(window, &calls);
        let mut recovery = PathRecovery::new(Time::ZERO, &identity(), &factory, &config, millis(25));
        if kind == SpaceKind::Application {
            recovery.on_handshake_confirmed();
        }
        let space = PacketNumberSpace::new(kind);
        Bench { recovery, space, calls, acked: Vec::new(), lost: Vec::new(), next: 0 }
    }

    /// Sends a packet with the next number (none is skipped within the first few dozen).
    pub(super) fn send(&mut self, now: Time) -> u64 {
        self.send_with(now, |_| {})
    }

    pub(super) fn send_with(&mut self, now: Time, change: impl FnOnce(&mut SentPacket)) -> u64 {
        // A random value that puts the first gap as late as it can be.
        let number = self.space.next_packet_number(31);
        let mut packet = packet(number, now);
        packet.tuple_generation = self.recovery.tuple_generation();
        change(&mut packet);
        self.recovery.on_packet_sent(&mut self.space, packet);
        self.next = number + 1;
        number
    }

    pub(super) fn send_many(&mut self, now: Time, count: u64) {
        for _ in 0..count {
            self.send(now);
        }
    }

    pub(super) fn ack(&mut self, now: Time, ranges: &[RangeInclusive<u64>]) -> AckOutcome {
        self.try_ack(now, ranges, None).expect("a valid acknowledgement")
    }

    pub(super) fn try_ack(
        &mut self,
        now: Time,
        ranges: &[RangeInclusive<u64>],
        ecn: Option<EcnCounts>,
    ) -> Result<AckOutcome, TransportError> {
        let largest = *ranges[0].end();
        let ranges = ranges.iter().cloned();
        let info = AckInfo {
            received_on: PathId::ZERO,
            largest,
            delay: Duration::ZERO,
            ranges,
            ecn,
            arrivals: Arrivals::NONE,
        };
        let (acked, lost) = (&mut self.acked, &mut self.lost);
        self.recovery.on_ack(&mut self.space, info, now, &Siblings::NONE, acked, lost)
    }

    pub(super) fn detect_lost(&mut self, now: Time) {
        self.recovery.detect_lost(&mut self.space, now, &Siblings::NONE, &mut self.lost);
    }

    /// Makes the smoothed RTT `rtt` by acknowledging one packet.
    pub(super) fn settle_rtt(&mut self, rtt: Duration) -> Time {
        let number = self.send(Time::ZERO);
        self.ack(Time::ZERO + rtt, &[number..=number]);
        self.clear();
        Time::ZERO + rtt
    }

    pub(super) fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.calls.lock().expect("unpoisoned").clear();
    }

    pub(super) fn lost_numbers(&self) -> Vec<u64> {
        self.lost.iter().map(|packet| packet.packet_number).collect()
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("unpoisoned").clone()
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        self.calls()
            .into_iter()
            .filter_map(|call| if let Call::Loss(loss) = call { Some(loss) } else { None })
            .collect()
    }

    pub(super) fn acks(&self) -> Vec<Ack> {
        self.calls()
            .into_iter()
            .filter_map(|call| if let Call::Ack(ack) = call { Some(ack) } else { None })
            .collect()
    }
}
