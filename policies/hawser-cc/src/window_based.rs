//! What all controllers with a window and a threshold have in common: slow start, recovery, undoing, a change of path.

use std::fmt;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Figures, GroupId, Loss, LossCause, Outage, Rate, Sent,
    Siblings, Snapshot, SpuriousLoss, Time,
};

use crate::return_path::{ReturnPath, RttSample};
use crate::slow_start::SlowStart;
use crate::window::{Window, bytes_that_count};

/// An acknowledgement, and the round-trip sample of it that can be compared with earlier ones.
pub struct Acked<'a> {
    pub(crate) ack: &'a Ack,
    pub(crate) rtt: Option<RttSample>,
    /// Bytes that may open the window: none from before the recovery epoch, none while the window is not used.
    pub(crate) bytes: f64,
    pub(crate) siblings: &'a Siblings<'a>,
}

/// What one controller adds: how the window grows in congestion avoidance, and what congestion takes of it.
pub trait Rule: Clone + fmt::Debug + Send + 'static {
    /// What to go back to when losses turn out to be reordering, besides the window.
    type Memory: Clone + fmt::Debug + Default + Send;

    fn name(&self) -> &'static str;

    /// Whether a rising round-trip time ends the first slow start (RFC 9406).
    fn hystart(&self) -> bool;

    fn is_coupled(&self) -> bool {
        false
    }

    /// The bottleneck group in which the rule places its path.
    fn group(&self) -> GroupId {
        GroupId::default()
    }

    fn on_sent(&mut self, _sent: &Sent) {}

    /// Each acknowledgement, before the window grows. Controllers that judge by delay may move the window here, or end slow
    /// start.
    fn measure(&mut self, _window: &mut Window, _acked: &Acked<'_>) {}

    /// `bytes`, more than zero, were acknowledged in congestion avoidance.
    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64);

    /// The path was silent for a while through no fault of the sender.
    fn on_outage(&mut self, _outage: &Outage) {}

    /// An acknowledgement that opens nothing.
    fn on_unused(&mut self, _ack: &Ack) {}

    /// A recovery epoch begins.
    fn reduce(&mut self, window: &mut Window, loss: &Loss, siblings: &Siblings<'_>);

    fn on_persistent_congestion(&mut self) {}

    fn memory(&self) -> Self::Memory {
        Self::Memory::default()
    }

    fn undo(&mut self, _memory: Self::Memory, _now: Time) {}

    /// The last reduction stays, but the window would have been larger before it.
    fn on_raised(&mut self) {}

    /// Another network path: nothing measured holds.
    fn restart(&mut self);

    /// Takes over from another controller, or what was known of a 4-tuple to which the path is back.
    fn seed(&mut self, _from: &Snapshot) {}

    fn fill_snapshot(&self, _snapshot: &mut Snapshot) {}

    /// What the rule adds to the phase and the threshold.
    fn fill_figures(&self, _figures: &mut Figures) {}

    fn pacing_rate(&self, _window: &Window) -> Option<Rate> {
        None
    }
}

/// Reductions that can be undone.
const UNDOABLE: usize = 4;

/// A reduction, and what was before.
#[derive(Clone, Debug)]
struct Reduction<M> {
    window: Window,
    memory: M,
    /// What it left of the window.
    factor: f64,
}

/// A controller with a window and a slow-start threshold that follows the rule `R`.
#[derive(Clone, Debug)]
pub struct WindowBased<R: Rule> {
    pub(crate) rule: R,
    window: Window,
    slow_start: SlowStart,
    return_path: ReturnPath,
    /// The last reductions, newest first, to go back to if the losses turn out to be reordering.
    reductions: [Option<Reduction<R::Memory>>; UNDOABLE],
    initial_window: u64,
}

impl<R: Rule> WindowBased<R> {
    /// A controller for a new or a running path.
    pub(crate) fn start(init: &ControllerInit, mut rule: R) -> Self {
        if let Some(snapshot) = &init.snapshot {
            rule.seed(snapshot);
        }
        WindowBased {
            window: Window::new(init),
            slow_start: SlowStart::new(rule.hystart()),
            return_path: ReturnPath::default(),
            reductions: [const { None }; UNDOABLE],
            initial_window: init.initial_window,
            rule,
        }
    }
}

impl<R: Rule> WindowBased<R> {
    /// Undoes the reduction `at`, counted from the last one. Those after it would have been made from a larger window.
    fn undo(&mut self, at: usize, now: Time) {
        let Some(Reduction { mut window, memory, .. }) = self.reductions.get_mut(at).and_then(Option::take)
        else {
            return;
        };
        if at == 0 {
            self.window.restore(&window);
            self.rule.undo(memory, now);
            return;
        }
        for later in self.reductions[..at].iter_mut().rev().flatten() {
            later.window.restore(&window);
            window = later.window;
            window.reduce(later.factor);
        }
        self.window.restore(&window);
        self.rule.on_raised();
    }
}

impl<R: Rule> CongestionController for WindowBased<R> {
    fn name(&self) -> &'static str {
        self.rule.name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.slow_start.on_sent(sent.packet_number);
        self.rule.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let rtt = self.return_path.sample(ack);
        let acked = Acked { ack, rtt, bytes: bytes_that_count(ack), siblings };
        self.rule.measure(&mut self.window, &acked);
        let mut left = acked.bytes;
        if self.window.in_slow_start() {
            left = self.slow_start.on_ack(&mut self.window, ack, rtt, left);
        }
        if left > 0.0 {
            self.rule.avoid(&mut self.window, &acked, left);
        } else {
            self.rule.on_unused(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        if loss.new_epoch {
            let (window, memory) = (self.window, self.rule.memory());
            self.rule.reduce(&mut self.window, loss, siblings);
            let factor = (self.window.exact() / window.exact()).min(1.0);
            self.reductions.rotate_right(1);
            self.reductions[0] = Some(Reduction { window, memory, factor });
        }
        if loss.cause == LossCause::Persistent {
            self.reductions = [const { None }; UNDOABLE];
            self.rule.on_persistent_congestion();
            self.window.collapse();
        }
    }

    fn on_outage(&mut self, outage: &Outage) {
        self.rule.on_outage(outage);
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        if let Some(at) = spurious.undone {
            self.undo(at, spurious.now);
        }
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.window.restart(self.initial_window);
        self.rule.restart();
        self.slow_start = SlowStart::new(self.rule.hystart());
        self.return_path = ReturnPath::default();
        self.reductions = [const { None }; UNDOABLE];
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.window.take_over(before);
        self.rule.seed(before);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.window.set_datagram(bytes);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold()
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rule.pacing_rate(&self.window)
    }

    fn bottleneck_group(&self) -> GroupId {
        self.rule.group()
    }

    fn wants_siblings(&self) -> bool {
        self.rule.is_coupled()
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        self.rule.fill_snapshot(snapshot);
    }

    fn fill_figures(&self, figures: &mut Figures) {
        figures.word("phase", if self.window.in_slow_start() { "slow start" } else { "avoidance" });
        // It is infinite before the first congestion.
        if self.window.threshold() < u64::MAX {
            figures.number("threshold_bytes", self.window.threshold() as f64);
        }
        self.rule.fill_figures(figures);
    }
}

/// Round trips counted by packet numbers: one ends when a packet is acknowledged that left after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketRounds {
    last_sent: u64,
    /// The round lasts until this packet is acknowledged; `None` before the first acknowledgement.
    end: Option<u64>,
}

impl PacketRounds {
    pub(crate) fn on_sent(&mut self, packet_number: u64) {
        self.last_sent = self.last_sent.max(packet_number);
    }

    /// Whether this acknowledgement ends a round.
    pub(crate) fn on_ack(&mut self, largest_acked: u64) -> bool {
        let over = self.end.is_some_and(|end| largest_acked >= end);
        if over || self.end.is_none() {
            self.end = Some(self.last_sent);
        }
        over
    }
}
