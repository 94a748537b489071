//! At the sender: applies decisions and reports paths.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_policy::{
    Agent, Command, Commands, ErasureCode, Event, FeatureId, Interests, MessageOrigin, PacketReport, PathId,
    Protection, ProtectionPolicy, ProtectionView, SegmentKind, SendView, Time,
};

use super::loss_events::LossEvents;
use super::messages::{PathDecision, PathReport};
use super::parameters::QcMabFec;

/// Paths that are remembered.
const MAX_PATHS: usize = 64;
/// Source symbols of a block: with a redundancy of 0.3 it has 18 repair symbols, and a shorter one its share, rounded up.
const BLOCK: u16 = 60;
/// How long a block waits for a window that holds its layer up; the end of the layer ends it sooner.
const SPAN: Duration = Duration::from_millis(50);

/// What protection and agent have in common.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<Path>>>);

pub(super) struct Path {
    id: PathId,
    pub(super) decision: Option<PathDecision>,
    /// Decisions, and the first frame of each.
    pub(super) begun: [Option<(u32, u32)>; PathReport::MAX_DECISIONS],
    newest_frame: Option<u32>,
    losses: LossEvents,
    most_in_flight: u64,
    /// Data was acknowledged since the last report.
    is_active: bool,
}

impl Path {
    pub(super) fn new(id: PathId) -> Self {
        Path {
            id,
            decision: None,
            begun: [None; PathReport::MAX_DECISIONS],
            newest_frame: None,
            losses: LossEvents::default(),
            most_in_flight: 0,
            is_active: false,
        }
    }

    /// Data of a frame is sent. The decision that is known when it begins is the frame's: most of its base layer, which goes
    /// first, is sent under it, whatever comes before its last layers have left.
    pub(super) fn on_frame(&mut self, frame: u32) {
        if self.newest_frame.is_some_and(|newest| newest >= frame) {
            return;
        }
        self.newest_frame = Some(frame);
        let Some(decision) = self.decision else { return };
        if self.begun.iter().flatten().next_back().is_some_and(|(id, _)| *id == decision.id) {
            return;
        }
        match self.begun.iter_mut().find(|entry| entry.is_none()) {
            Some(entry) => *entry = Some((decision.id, frame)),
            None => {
                self.begun.rotate_left(1);
                self.begun[PathReport::MAX_DECISIONS - 1] = Some((decision.id, frame));
            }
        }
    }

    fn report(&mut self, view: &SendView<'_>) -> Option<PathReport> {
        let path = view.path(self.id)?;
        let (newest_frame, clamp) =
            (self.newest_frame?, |value: u64| u32::try_from(value).unwrap_or(u32::MAX));
        if !std::mem::take(&mut self.is_active) {
            return None;
        }
        let most = std::mem::take(&mut self.most_in_flight);
        Some(PathReport {
            window: clamp(path.congestion_window),
            in_flight: clamp(most),
            round_trip: path.smoothed_rtt,
            // The window was never filled: more would have fitted.
            app_limited: most + u64::from(path.max_datagram_size) <= path.congestion_window,
            loss_ppm: (self.losses.rate() * 1e6) as u32,
            newest_frame,
            decisions: self.begun,
        })
    }
}

impl Shared {
    fn paths(&self) -> MutexGuard<'_, Vec<Path>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, id: PathId, change: impl FnOnce(&mut Path) -> T) -> Option<T> {
        let mut paths = self.paths();
        let at = paths.iter().position(|path| path.id == id).or_else(|| {
            (paths.len() < MAX_PATHS).then(|| {
                paths.push(Path::new(id));
                paths.len() - 1
            })
        })?;
        Some(change(&mut paths[at]))
    }
}

/// Protects what the receiver wants protected.
pub(super) struct Decided {
    pub(super) shared: Shared,
    pub(super) fec: QcMabFec,
    pub(super) redundancy: f64,
}

impl ProtectionPolicy for Decided {
    fn name(&self) -> &'static str {
        super::QcMab::NAME
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        // A header is retransmitted; a block of its own would double it.
        if view.segment.kind == SegmentKind::Signalling {
            return None;
        }
        let frame = view.segment.id.and_then(|id| u32::try_from(id).ok())?;
        let wanted = self.shared.with(view.path, |path| {
            path.on_frame(frame);
            path.decision.is_some_and(|decision| decision.fec)
        });
        let is_on = match self.fec {
            QcMabFec::Learned => wanted.unwrap_or(false),
            QcMabFec::On => true,
            QcMabFec::Off => false,
        };
        is_on.then(|| {
            Protection::new(
                ErasureCode::ReedSolomon,
                BLOCK,
                (f64::from(BLOCK) * self.redundancy).round().max(1.0) as u16,
                SPAN,
            )
            .with(|protection| protection.path = Some(view.path))
        })
    }
}

/// Takes decisions, and reports paths in each period in which they carried something.
pub(super) struct Reporter {
    pub(super) shared: Shared,
    pub(super) period: Duration,
    pub(super) next: Option<Time>,
}

impl Reporter {
    fn on_packet(&mut self, report: &PacketReport<'_>, is_lost: bool) {
        let PacketReport { now, path, bytes_in_flight_at_send, ranges, .. } = *report;
        self.shared.with(path, |known| {
            known.losses.on_packet(report.sent_at, is_lost, now.since(report.sent_at));
            known.most_in_flight = known.most_in_flight.max(bytes_in_flight_at_send);
            known.is_active |= !ranges.is_empty();
        });
        if !ranges.is_empty() && self.next.is_none() {
            self.next = Some(now + self.period);
        }
    }
}

impl Agent for Reporter {
    fn interests(&self) -> Interests {
        Interests::ACKED | Interests::LOST | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        match event {
            Event::Acked(report) => self.on_packet(report, false),
            Event::Lost(report) => self.on_packet(report, true),
            Event::Message { origin: MessageOrigin::Peer, message, .. }
                if message.feature == FeatureId::PATH_DECISION =>
            {
                let Some((decision, path)) = PathDecision::decode(&message.payload).zip(message.path) else {
                    return;
                };
                self.shared.with(path, |known| {
                    let is_newer = known.decision.is_none_or(|before| decision.id > before.id);
                    known.decision = if is_newer { Some(decision) } else { known.decision };
                });
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let mut is_active = false;
        for path in self.shared.paths().iter_mut() {
            if let Some(report) = path.report(view) {
                is_active = true;
                commands.push(Command::Send(report.message(path.id)));
            }
        }
        // What is idle wakes it with its next acknowledgement.
        self.next = is_active.then(|| view.now + self.period);
    }
}
