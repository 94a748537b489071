//! CoDel, "controlled delay": RFC 8289.

use super::{Backlog, Fifo};
use crate::frame::Frame;
use crate::link_log::LinkLog;
use crate::stats::DropCause;
use crate::time::{MILLISECOND, Nanos};
use crate::waiting::Waiting;

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// Standing delay that is accepted, nanoseconds.
    pub target: Nanos,
    /// How long the delay must stay above the target before packets are dropped, nanoseconds: about the longest
    /// round-trip time of the flows.
    pub interval: Nanos,
    /// Mark packets that understand ECN instead of dropping them.
    pub ecn: bool,
}

impl Default for CoDel {
    /// 5 ms and 100 ms (RFC 8289 section 4), without ECN.
    fn default() -> Self {
        Self { target: 5 * MILLISECOND, interval: 100 * MILLISECOND, ecn: false }
    }
}

/// The state of the control law (RFC 8289 section 5.3), apart from the packets, so that each flow of FQ-CoDel can
/// have one.
#[derive(Debug, Clone, Default)]
pub(super) struct CoDelState {
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Nanos>,
    dropping: bool,
    /// Time of the next drop while dropping.
    drop_next: Nanos,
    /// Drops since dropping began.
    count: u64,
    /// `count` when dropping began last.
    last_count: u64,
}

/// After a pause of less than so many intervals dropping resumes at the pace where it had stopped.
const RESUME_INTERVALS: u64 = 16;

impl CoDelState {
    /// The next packet of `fifo` to be sent at `now`, after the drops that the control law wants.
    pub(super) fn dequeue<P: Frame>(
        &mut self,
        fifo: &mut Fifo<P>,
        now: Nanos,
        parameters: &CoDel,
        mtu: u32,
        log: &mut LinkLog<P>,
    ) -> Option<Waiting<P>> {
        let Some((mut packet, mut late)) = self.take(fifo, now, parameters, mtu) else {
            self.dropping = false;
            return None;
        };
        if !self.dropping {
            if !late {
                return Some(packet);
            }
            self.begin(now, parameters);
            if parameters.ecn && log.mark(&mut packet) {
                return Some(packet);
            }
            log.drop(now, DropCause::Aqm, packet);
            return self.take(fifo, now, parameters, mtu).map(|(packet, _)| packet);
        }
        self.dropping = late;
        // A slow link may have several drops to catch up with.
        while self.dropping && now >= self.drop_next {
            self.count += 1;
            if parameters.ecn && log.mark(&mut packet) {
                self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                break;
            }
            log.drop(now, DropCause::Aqm, packet);
            let Some(next) = self.take(fifo, now, parameters, mtu) else {
                self.dropping = false;
                return None;
            };
            (packet, late) = next;
            self.dropping = late;
            if late {
                self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
            }
        }
        Some(packet)
    }

    /// Enters the dropping state, at the pace of last time if that was a moment ago.
    fn begin(&mut self, now: Nanos, parameters: &CoDel) {
        let pace = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < RESUME_INTERVALS * parameters.interval;
        self.dropping = true;
        self.count = if pace > 1 && recent { pace } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, parameters.interval, self.count);
    }

    /// Takes a packet and says whether the delay has been above the target for an interval.
    fn take<P>(
        &mut self,
        fifo: &mut Fifo<P>,
        now: Nanos,
        parameters: &CoDel,
        mtu: u32,
    ) -> Option<(Waiting<P>, bool)> {
        let Some(packet) = fifo.pop() else {
            self.first_above = None;
            return None;
        };
        let sojourn = now - packet.arrived;
        if sojourn < parameters.target || fifo.backlog().bytes <= u64::from(mtu) {
            self.first_above = None;
            return Some((packet, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(parameters.interval));
                Some((packet, false))
            }
            Some(time) => Some((packet, now >= time)),
        }
    }
}

/// `interval / sqrt(count)` after `time`: drops come faster until the delay gives in.
fn control_law(time: Nanos, interval: Nanos, count: u64) -> Nanos {
    // The square root of IEEE 754 is exact to the last bit, the same on any machine.
    time.saturating_add((interval as f64 / (count.max(1) as f64).sqrt()) as Nanos)
}

/// One CoDel queue.
#[derive(Debug)]
pub(super) struct CoDelQueue<P> {
    parameters: CoDel,
    mtu: u32,
    state: CoDelState,
    fifo: Fifo<P>,
}

impl<P: Frame> CoDelQueue<P> {
    pub(super) fn new(parameters: CoDel, mtu: u32) -> Self {
        Self { parameters, mtu, state: CoDelState::default(), fifo: Fifo::new() }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    pub(super) fn push(&mut self, packet: Waiting<P>) {
        self.fifo.push(packet);
    }

    pub(super) fn pop(&mut self, now: Nanos, log: &mut LinkLog<P>) -> Option<Waiting<P>> {
        self.state.dequeue(&mut self.fifo, now, &self.parameters, self.mtu, log)
    }
}
