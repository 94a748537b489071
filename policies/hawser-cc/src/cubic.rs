mod parameters;

use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Figures, Loss, Outage, Parameters, Sent, Siblings, Snapshot,
    Time,
};

pub use parameters::CubicParameters;
pub(crate) use parameters::describe;

use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

/// RFC 9438 section 4.2: largest growth per round trip.
const MAX_GROWTH: f64 = 1.5;

/// CUBIC (RFC 9438) with HyStart++ (RFC 9406) in the first slow start.
///
/// After a reduction the window follows a cubic of *time*: fast back towards the window where loss occurred, flat
/// around it, then faster and faster beyond. Growth does not depend on the round-trip time, so long paths fill as
/// quickly as short ones. Where Reno would be faster (short, thin paths), it follows Reno.
pub type Cubic = WindowBased<CubicRule>;

/// The rule of [`Cubic`].
#[derive(Clone, Debug)]
pub struct CubicRule {
    parameters: CubicParameters,
    avoidance: Avoidance,
    /// The part of the curve that it grows by: 1 by itself.
    part: f64,
}

/// What congestion avoidance remembers; all windows in bytes.
#[derive(Clone, Debug, Default)]
pub struct Avoidance {
    /// W_max: where the plateau lies. `None` before the first congestion.
    plateau: Option<f64>,
    /// cwnd_prior: window at the last congestion, without the correction of fast convergence.
    window_at_loss: f64,
    /// The current stage; `None` until the first acknowledgement that opens the window after a reduction.
    epoch: Option<Epoch>,
}

/// One stage of congestion avoidance, between two reductions.
#[derive(Clone, Debug)]
struct Epoch {
    /// Time in the stage during which the window was in use.
    elapsed: Duration,
    /// Until when `elapsed` is counted.
    counted_to: Time,
    /// K: seconds from the start of the stage to the plateau.
    time_to_plateau: f64,
    plateau: f64,
    /// W_est: the window Reno would have.
    reno_window: f64,
}

impl Epoch {
    fn start(now: Time, window: &Window, plateau: Option<f64>, c: f64) -> Epoch {
        let current = window.exact();
        // Without a loss behind us (HyStart++ ended slow start), or already above it, the plateau is here.
        let plateau = plateau.unwrap_or(current).max(current);
        Epoch {
            elapsed: Duration::ZERO,
            counted_to: now,
            time_to_plateau: libm::cbrt((plateau - current) / window.datagram() / c),
            plateau,
            reno_window: current,
        }
    }

    /// RFC 9438 equation 1, in bytes.
    fn cubic_window(&self, at: Duration, datagram: f64, c: f64) -> f64 {
        let offset = at.as_secs_f64() - self.time_to_plateau;
        c * offset.powi(3) * datagram + self.plateau
    }
}

impl Cubic {
    /// Its name in the registry.
    pub const NAME: &'static str = "cubic";

    /// A controller for a new or a running path. A successor on a running path starts with its plateau at the
    /// window it takes over.
    pub fn new(init: &ControllerInit) -> Self {
        Cubic::with_parameters(init, CubicParameters::default())
    }

    /// The same with other parameters than those of RFC 9438.
    pub fn with_parameters(init: &ControllerInit, parameters: CubicParameters) -> Self {
        WindowBased::start(init, CubicRule::new(parameters))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        Box::new(Cubic::with_parameters(init, CubicParameters::read(parameters)))
    }
}

impl CubicRule {
    pub(crate) fn new(parameters: CubicParameters) -> Self {
        CubicRule { parameters, avoidance: Avoidance::default(), part: 1.0 }
    }

    /// For a path that is a part of one flow, whose windows grow together as that of one: this part of what it would grow by itself.
    pub(crate) fn set_part(&mut self, part: f64) {
        self.part = part;
    }

    /// A congestion event.
    pub(crate) fn cut(&mut self, window: &mut Window) {
        let current = window.exact();
        // Fast convergence (RFC 9438 section 4.7): a flow whose plateau sinks makes room for others.
        let CubicParameters { beta, fast_convergence, .. } = self.parameters;
        let sinking = fast_convergence && self.avoidance.plateau.is_some_and(|plateau| current < plateau);
        self.avoidance = Avoidance {
            plateau: Some(if sinking { current * (1.0 + beta) / 2.0 } else { current }),
            window_at_loss: current,
            epoch: None,
        };
        window.reduce(beta);
    }
}

impl Rule for CubicRule {
    type Memory = Avoidance;

    fn name(&self) -> &'static str {
        Cubic::NAME
    }

    fn hystart(&self) -> bool {
        self.parameters.hystart
    }

    fn on_sent(&mut self, sent: &Sent) {
        // RFC 9438 section 5.8: time without anything in flight does not count.
        if sent.bytes_in_flight <= sent.bytes
            && let Some(epoch) = &mut self.avoidance.epoch
        {
            epoch.counted_to = epoch.counted_to.max(sent.now);
        }
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        let ack = acked.ack;
        let (current, datagram) = (window.exact(), window.datagram());
        let CubicParameters { beta, c, .. } = self.parameters;
        let c = self.part * c;
        let Avoidance { plateau, window_at_loss, ref mut epoch } = self.avoidance;
        let epoch = epoch.get_or_insert_with(|| Epoch::start(ack.now, window, plateau, c));
        epoch.elapsed = epoch.elapsed.saturating_add(ack.now.since(epoch.counted_to));
        epoch.counted_to = ack.now;

        // RFC 9438 section 4.3: the additive increase that gives AIMD with `beta` the average window of Reno; once past
        // the old window, Reno's own slope.
        let fair = 3.0 * (1.0 - beta) / (1.0 + beta);
        let alpha = if epoch.reno_window >= window_at_loss { 1.0 } else { fair };
        epoch.reno_window += self.part * alpha * datagram * bytes / current;

        if epoch.cubic_window(epoch.elapsed, datagram, c) < epoch.reno_window {
            let reno_window = epoch.reno_window;
            window.set(current.max(reno_window));
        } else {
            let in_one_round = epoch.elapsed.saturating_add(ack.smoothed_rtt);
            let target = epoch.cubic_window(in_one_round, datagram, c).clamp(current, MAX_GROWTH * current);
            // One acknowledgement may cover a whole window, but not more than the growth of one round.
            window.grow((target - current) * (bytes / current).min(1.0));
        }
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        self.cut(window);
    }

    /// RFC 9438 section 5.8: time in which the application left the window unused does not count either; otherwise the cubic
    /// runs ahead and the window jumps when data comes.
    fn on_unused(&mut self, ack: &Ack) {
        if let Some(epoch) = &mut self.avoidance.epoch {
            epoch.counted_to = ack.now;
        }
    }

    /// Nor does the time of an outage.
    fn on_outage(&mut self, outage: &Outage) {
        if let Some(epoch) = &mut self.avoidance.epoch {
            epoch.counted_to = epoch.counted_to.max(outage.now);
        }
    }

    fn on_persistent_congestion(&mut self) {
        self.avoidance.epoch = None;
    }

    fn memory(&self) -> Avoidance {
        self.avoidance.clone()
    }

    /// RFC 9438 section 4.9: as if nothing had happened.
    fn undo(&mut self, memory: Avoidance, now: Time) {
        self.avoidance = memory;
        if let Some(epoch) = &mut self.avoidance.epoch {
            epoch.counted_to = now;
        }
    }

    /// The curve begins where the window is now.
    fn on_raised(&mut self) {
        self.avoidance.epoch = None;
    }

    fn restart(&mut self) {
        self.avoidance = Avoidance::default();
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.window_before_loss = self.avoidance.plateau.map(|plateau| plateau as u64);
    }

    fn fill_figures(&self, figures: &mut Figures) {
        if let Some(plateau) = self.avoidance.plateau {
            figures.number("plateau_bytes", plateau);
        }
        if let Some(epoch) = &self.avoidance.epoch {
            figures.number("to_plateau_s", epoch.time_to_plateau - epoch.elapsed.as_secs_f64());
            figures.number("reno_window_bytes", epoch.reno_window);
        }
    }
}

#[cfg(test)]
mod response;
#[cfg(test)]
mod tests;
