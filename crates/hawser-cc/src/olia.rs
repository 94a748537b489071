use hawser_policy::{
    Ack, CongestionController, ControllerInit, Loss, LossCause, ParameterInfo, Parameters, PolicyInfo, Sent,
    Sibling, Siblings, Snapshot, Time,
};

use crate::slow_start::SlowStart;
use crate::window::{Window, bytes_that_count};

/// draft-khalili-mptcp-congestion-control-05 section 2: the decrease is TCP's.
const LOSS_REDUCTION: f64 = 0.5;

/// What can be set of [`Olia`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OliaParameters {
    /// What remains of the window after congestion.
    pub beta: f64,
    /// Whether a rising round-trip time ends the first slow start (RFC 9406).
    pub hystart: bool,
}

impl Default for OliaParameters {
    fn default() -> Self {
        OliaParameters { beta: LOSS_REDUCTION, hystart: true }
    }
}

impl OliaParameters {
    /// Those of a spec such as `olia,beta=0.7`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        OliaParameters { beta: parameters.number("beta"), hystart: parameters.flag("hystart") }
    }
}

/// OLIA (Khalili 2013; draft-khalili-mptcp-congestion-control-05): coupled increase over the paths of a connection.
///
/// Together the paths take no more from a shared bottleneck than one flow would, and what they take moves to the best
/// paths. Paths are coupled when they are usable and in the same bottleneck group as this one; without a detector all
/// are in `GroupId(0)` and so coupled with each other. Slow start and decrease are those of a single path.
#[derive(Clone, Debug)]
pub struct Olia {
    parameters: OliaParameters,
    window: Window,
    slow_start: SlowStart,
    before_loss: Option<Window>,
    initial_window: u64,
}

impl Olia {
    /// Its name in the registry.
    pub const NAME: &'static str = "olia";

    /// A controller for a new or a running path. The loss-interval counters live in the core's path
    /// ([`Sibling::acked_since_loss`]) and so survive a swap.
    pub fn new(init: &ControllerInit) -> Self {
        Olia::with_parameters(init, OliaParameters::default())
    }

    /// The same with other parameters.
    pub fn with_parameters(init: &ControllerInit, parameters: OliaParameters) -> Self {
        Olia {
            parameters,
            window: Window::new(init),
            slow_start: SlowStart::new(parameters.hystart),
            before_loss: None,
            initial_window: init.initial_window,
        }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = OliaParameters::default();
        PolicyInfo::new(Olia::NAME, "coupled: paths through one bottleneck take the share of one flow")
            .source("Khalili and others, IEEE/ACM Transactions on Networking 2013")
            .parameter(
                ParameterInfo::number("beta", 0.1..=0.95, default.beta)
                    .meaning("what remains of the window after congestion")
                    .source("draft-khalili-mptcp-congestion-control-05 section 2"),
            )
            .parameter(crate::slow_start::hystart(default.hystart))
    }

    /// Growth in datagrams per acknowledged datagram: w/rtt^2 / (sum of w/rtt)^2 + alpha/w.
    fn increase(&self, siblings: &Siblings<'_>) -> f64 {
        let packets = self.window.exact() / self.window.datagram();
        let Some(own) = siblings.own_entry().filter(|own| own.usable) else {
            return 1.0 / packets; // alone: Reno
        };
        let coupled = || siblings.paths.iter().filter(|other| other.usable && other.group == own.group);
        let own_rtt = rtt(own);
        let rates: f64 = coupled()
            .map(|path| if path.path == own.path { packets / own_rtt } else { window(path) / rtt(path) })
            .sum();
        packets / (own_rtt * own_rtt) / (rates * rates) + alpha(own, coupled) / packets
    }
}

/// The term that moves windows from the largest ones (M) to the best paths that do not have one (B without M).
fn alpha<'a, I>(own: &Sibling, coupled: impl Fn() -> I) -> f64
where
    I: Iterator<Item = &'a Sibling>,
{
    // Whole datagrams: windows that differ by a fraction are equally large.
    let largest = coupled().map(|path| window(path) as u64).max().unwrap_or(0);
    let best = coupled().map(quality).fold(0.0, f64::max);
    let has_largest = |path: &Sibling| window(path) as u64 == largest;
    let is_deprived = |path: &Sibling| quality(path) >= best && !has_largest(path);

    let deprived = coupled().filter(|path| is_deprived(path)).count();
    if deprived == 0 {
        return 0.0;
    }
    let paths = coupled().count() as f64;
    if is_deprived(own) {
        1.0 / (paths * deprived as f64)
    } else if has_largest(own) {
        -1.0 / (paths * coupled().filter(|path| has_largest(path)).count() as f64)
    } else {
        0.0
    }
}

/// l/rtt^2 with l the bytes between losses, as deployed in kernels (draft-khalili-mptcp-congestion-control-05: l^2/rtt).
fn quality(path: &Sibling) -> f64 {
    path.acked_since_loss.max(path.acked_between_losses) as f64 / (rtt(path) * rtt(path))
}

/// Window in datagrams.
fn window(path: &Sibling) -> f64 {
    path.congestion_window as f64 / f64::from(path.max_datagram_size.max(1))
}

/// Round-trip time in seconds; a microsecond stands in for the zero that only a broken view has.
fn rtt(path: &Sibling) -> f64 {
    path.smoothed_rtt.as_secs_f64().max(1e-6)
}

impl CongestionController for Olia {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.slow_start.on_sent(sent.packet_number);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let mut acked = bytes_that_count(ack);
        if self.window.in_slow_start() {
            acked = self.slow_start.on_ack(&mut self.window, ack, acked);
        }
        if acked > 0.0 {
            // `increase` is per datagram and may be negative; bytes cancel against the datagram size.
            self.window.step(acked * self.increase(siblings));
        }
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        if loss.new_epoch {
            self.before_loss = Some(self.window);
            self.window.reduce(self.parameters.beta);
        }
        if loss.cause == LossCause::Persistent {
            self.before_loss = None;
            self.window.collapse();
        }
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if let Some(before) = self.before_loss.take() {
            self.window.restore(&before);
        }
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.window.restart(self.initial_window);
        self.slow_start = SlowStart::new(self.parameters.hystart);
        self.before_loss = None;
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.window.take_over(before);
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

    fn wants_siblings(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
