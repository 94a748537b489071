//! How far a simulation has come, on a terminal.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hawser_emu::Scenario;
use hawser_policy::{Note, Time};
use hawser_sim::run::{FlowSample, LinkSample, PacketRecord, PathSample, Recorder};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use hawser_command::output::Output;

/// Simulated time between looks, if the recorder takes no samples.
const LOOK: Duration = Duration::from_secs(1);
/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A recorder that also shows the simulated time.
pub(super) struct Shown<'a, R> {
    recorder: &'a mut R,
    bar: Option<ProgressBar>,
    began: Instant,
}

impl<'a, R: Recorder> Shown<'a, R> {
    /// Of a run of this scenario.
    pub(super) fn new(recorder: &'a mut R, scenario: &Scenario, output: Output) -> Self {
        let is_wanted = std::io::stderr().is_terminal() && !output.quiet && output.verbose == 0;
        let bar = is_wanted.then(|| {
            let duration = scenario.duration;
            let bar = ProgressBar::with_draw_target(
                duration.map(|duration| duration.as_secs()),
                ProgressDrawTarget::hidden(),
            );
            let template = if duration.is_some() {
                "{bar:32} {pos} of {len} s simulated, {elapsed} so far"
            } else {
                "{pos} s simulated, {elapsed} so far"
            };
            // A template that is not understood leaves the default one.
            bar.with_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Shown { recorder, bar, began: Instant::now() }
    }

    fn show(&self, at: Time) {
        if let Some(bar) = &self.bar {
            if bar.is_hidden() && self.began.elapsed() >= PATIENCE {
                bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            }
            bar.set_position(at.as_nanos() / 1_000_000_000);
        }
    }
}

impl<R> Drop for Shown<'_, R> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl<R: Recorder> Recorder for Shown<'_, R> {
    fn sample_interval(&self) -> Option<Duration> {
        self.recorder.sample_interval().or(self.bar.is_some().then_some(LOOK))
    }

    fn goes_on(&mut self) -> bool {
        self.recorder.goes_on()
    }

    fn wants_packets(&self) -> bool {
        self.recorder.wants_packets()
    }

    fn wants_deliveries(&self) -> bool {
        self.recorder.wants_deliveries()
    }

    fn wants_notes(&self) -> Vec<&'static str> {
        self.recorder.wants_notes()
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        self.show(sample.at);
        if self.recorder.sample_interval().is_some() {
            self.recorder.flow(sample);
        }
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        if self.recorder.sample_interval().is_some() {
            self.recorder.path(sample);
        }
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        if self.recorder.sample_interval().is_some() {
            self.recorder.link(sample);
        }
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        self.recorder.packet(record);
    }

    fn note(&mut self, flow: &str, note: Note) {
        self.recorder.note(flow, note);
    }

    fn settled(&mut self, label: u64, delivered: Option<Time>) {
        self.recorder.settled(label, delivered);
    }
}
