//! FTRL-WRR: the shares of the paths are learned from what they carry together.

mod change;
mod learner;
mod pacing;
mod parameters;
mod steps;

use std::time::Duration;

use hawser_learn::Random;
use hawser_policy::{
    Assignment, Commands, Decision, Event, Figure, Figures, Interests, LimitedBy, PathChange, PathId,
    PolicyInfo, Scheduler, SendView, Time, Trace,
};

pub use pacing::paced_rates;
pub use parameters::{FtrlLearner, FtrlPacing, FtrlStepTime, FtrlWrrParameters};
pub use steps::step_loss;

use crate::choose::{explore, fastest_sendable};
use crate::dispatch::{Dispatch, step_of};
use crate::fixed_split::{are_preferred, note_preferred};
use crate::placement::datagram;
use change::ChangeWatch;
use learner::Learner;
use steps::{Step, Steps};

/// The second step begins so long after the first (Li 2024, section 3.1): probing and slow start come first.
const FIRST_STEP: Duration = Duration::from_millis(200);

/// With so much queued once, this end is a bulk sender, and learning starts.
const BULK: u64 = 64 * 1024;

/// Steps with fewer packets acknowledged teach nothing.
const FEWEST_PACKETS: u64 = 10;

/// FTRL-WRR (D. Li, "FTRL-WRR: Learning-Based Two-Path Scheduler for LEO Networks", University of Victoria 2024).
///
/// Throughput over the share of the first path has one peak, at its share of the bandwidth. A follow-the-regularised-leader
/// learner plays a share in each timestep, about a round trip long, and sees its loss: how far the throughput, less what went
/// elsewhere than planned, stays behind the bandwidth of both paths. ADWIN2 watches the ratio of their bandwidths and lets the
/// learner explore again when it changes. Smooth weighted round robin turns the share into a path for each packet.
///
/// Over three and more paths the learner works on the simplex (chapter 5), starting from the ratio of the bandwidths. Until
/// this end sends in bulk, and over a single path, it is [`MinRtt`](crate::MinRtt).
#[derive(Debug)]
pub struct FtrlWrr {
    parameters: FtrlWrrParameters,
    random: Random,
    /// Whether this end ever had much to send.
    bulk: bool,
    /// What is learned of the paths that data goes over.
    learning: Option<Learning>,
    dispatch: Dispatch,
    trace: Trace,
}

#[derive(Debug)]
struct Learning {
    /// In order of id; the share of the first one is what is learned.
    paths: Vec<PathId>,
    learner: Learner,
    steps: Steps,
    watch: ChangeWatch,
}

impl Default for FtrlWrr {
    fn default() -> Self {
        FtrlWrr::new(FtrlWrrParameters::default(), 0)
    }
}

impl FtrlWrr {
    /// Its name in the registry.
    pub const NAME: &'static str = "ftrl-wrr";

    /// With other parameters; the seed is for directions of exploration over three and more paths.
    pub fn new(parameters: FtrlWrrParameters, seed: u64) -> Self {
        FtrlWrr {
            parameters,
            random: Random::new(seed),
            bulk: false,
            learning: None,
            dispatch: Dispatch::new(parameters.redirect),
            trace: Trace::default(),
        }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Starts over with the paths that there are now.
    fn start(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let mut paths = Vec::new();
        note_preferred(&mut paths, view);
        let rates = paths.iter().map(|id| rate(view, *id));
        let learner = Learner::new(&self.parameters, rates);
        let mut learning = Learning {
            watch: ChangeWatch::new(paths.len(), self.parameters.cut_test()),
            steps: Steps::new(paths.len()),
            paths,
            learner,
        };
        learning.play(view, &mut self.random, &mut self.dispatch);
        pacing::set(&learning.paths, self.parameters.pacing, view, |at| learning.steps.share(at), commands);
        self.learning = Some(learning);
    }

    /// What follows from the time and from what was acknowledged: the next step.
    fn advance(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let Some(learning) = &mut self.learning else { return };
        learning.note_rates(view, &self.trace);
        let is_next = if learning.steps.is_first() {
            view.now >= learning.steps.started() + FIRST_STEP
        } else {
            let patience = learning.patience(view);
            match learning.steps.take_complete(view.now, patience) {
                Some(step) => {
                    learning.learn(&step, &self.parameters, view.now, &self.trace);
                    true
                }
                None => false,
            }
        };
        if is_next {
            learning.play(view, &mut self.random, &mut self.dispatch);
            pacing::set(
                &learning.paths,
                self.parameters.pacing,
                view,
                |at| learning.steps.share(at),
                commands,
            );
        }
    }
}

impl Learning {
    /// Begins the next step.
    fn play(&mut self, view: &SendView<'_>, random: &mut Random, dispatch: &mut Dispatch) {
        let played = self.learner.play(self.steps.next_number(), random);
        let size = |id: PathId| view.path(id).map_or(1, datagram);
        dispatch.set(self.paths.iter().enumerate().map(|(at, id)| (*id, played.share(at), size(*id))));
        self.steps.begin(played, view.now);
    }

    /// Largest bandwidths of the step, and whether their ratio changed.
    fn note_rates(&mut self, view: &SendView<'_>, trace: &Trace) {
        for (at, id) in self.paths.iter().enumerate() {
            let rate = rate(view, *id);
            self.steps.note_rate(at, rate);
            self.watch.note(at, rate);
        }
        if let Some(change) = self.watch.check(view.now) {
            let forgotten = change.crosses_middle && self.learner.forget();
            self.learner.restart();
            trace.note(view.now, "ftrl-wrr.reset", None, || {
                let (before, after) = (change.before.into(), change.after.into());
                [("before", before), ("after", after), ("forgotten", forgotten.into())]
            });
        }
    }

    /// When a step counts as complete although acknowledgements are missing.
    fn patience(&self, view: &SendView<'_>) -> Duration {
        let slowest = view.preferred().map(|path| path.smoothed_rtt).max().unwrap_or_default();
        slowest.saturating_mul(4).max(Duration::from_secs(1))
    }

    fn learn(&mut self, step: &Step, parameters: &FtrlWrrParameters, now: Time, trace: &Trace) {
        // A sender that had less to send, and a handful of packets, say nothing about the paths.
        let teaches = !step.app_limited && step.packets() >= FEWEST_PACKETS;
        let loss = if teaches { step.loss(parameters.step_time, now) } else { None };
        if let Some(loss) = loss {
            self.learner.update(&step.played, loss);
        }
        trace.note(now, "ftrl-wrr.step", None, || {
            // Shares of the first path: as played, in what was acknowledged, where the learner stands now. A step that taught nothing has no
            // loss.
            let mut values = vec![
                ("step", Figure::Number(step.number as f64)),
                ("played", step.played.share(0).into()),
                ("carried", step.carried(0).into()),
                ("center", self.learner.center().into()),
                ("redirected", step.redirected().into()),
            ];
            values.extend(loss.map(|loss| ("loss", loss.into())));
            values
        });
    }
}

/// The delivery rate of a path in bit/s; 0 before its first sample.
fn rate(view: &SendView<'_>, id: PathId) -> f64 {
    let rate = view.path(id).and_then(|path| path.delivery_rate);
    rate.map_or(0.0, |rate| rate.bits_per_second() as f64)
}

impl Scheduler for FtrlWrr {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        self.bulk |= view.queue.total() >= BULK;
        let known = |learning: &Learning| are_preferred(&learning.paths, view);
        if !self.bulk || view.preferred().count() < 2 || view.preferred().any(|path| !path.has_rtt_sample) {
            let path = fastest_sendable(view);
            return path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)));
        }
        if self.learning.as_ref().is_some_and(known) {
            self.advance(view, commands);
        } else {
            self.start(view, commands);
        }
        let step = self.learning.as_ref().map_or(0, |learning| learning.steps.number());
        self.dispatch.decide(view, step)
    }

    fn set_trace(&mut self, trace: &Trace) {
        self.trace = trace.clone();
    }

    fn fill_figures(&self, figures: &mut Figures) {
        if let Some(learning) = &self.learning {
            figures.number("share_of_first_path", learning.learner.center());
        }
    }

    fn interests(&self) -> Interests {
        Interests::SENT | Interests::ACKED | Interests::LOST | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Some(learning) = &mut self.learning else { return };
        let position = |path: PathId| learning.paths.iter().position(|known| *known == path);
        match event {
            Event::Sent(sent) if step_of(sent.tag) > 0 => {
                self.dispatch.on_sent(sent.path, sent.tag);
                let idle = matches!(sent.limited_by, LimitedBy::Application | LimitedBy::FlowControl);
                if let Some(at) = position(sent.path) {
                    learning.steps.on_sent(at, sent.packet_number, sent.tag, idle);
                }
            }
            Event::Acked(report) => {
                if let Some(at) = position(report.path) {
                    learning.steps.on_acked(at, report.packet_number, report.bytes, report.tag);
                }
            }
            Event::Lost(report) => {
                if let Some(at) = position(report.path) {
                    learning.steps.on_lost(at, report.packet_number);
                }
            }
            Event::Path { path, change: PathChange::Abandoned, .. } if learning.paths.contains(path) => {
                self.learning = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
