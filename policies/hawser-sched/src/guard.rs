//! A learned scheduler may learn nonsense: somebody has to notice.

use std::time::Duration;

use hawser_policy::{
    Command, Commands, Decision, Earliest, Event, FeatureId, Figures, Interests, Message, ParameterInfo,
    Parameters, Scheduler, SendView, Time, Trace,
};

use crate::EarliestArrival;

/// Progress below this share of what it was counts as collapsed.
const COLLAPSED: f64 = 0.5;

/// So many windows in a row, or it was chance.
const WINDOWS: u32 = 2;

/// The shortest window over which progress is measured.
const SHORTEST_WINDOW: Duration = Duration::from_millis(400);

/// The fallback must be so much better, or the network is to blame.
const BETTER: f64 = 1.25;

/// How long the fallback decides the first time, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// What the memory of former progress loses in each window.
const FORGETTING: f64 = 0.98;

/// A learned scheduler and the one that takes over when it fails: [`EarliestArrival`].
///
/// What is watched is progress, bytes acknowledged per second while data is queued. If it stays below half of what it was, the
/// fallback decides for two seconds. If that brings a quarter more, the learned one failed, and is left out twice as long the
/// next time; if not, the network changed, and what is possible now is the new measure. Each change is told to the application
/// (a [`Message`] of [`FeatureId::SCHEDULER_GUARD`] with one byte: 1 when the fallback takes over, 0 when it hands back).
///
/// A guard that only counts changes nothing, and says how often it would have.
pub struct Guard {
    learned: Box<dyn Scheduler>,
    fallback: EarliestArrival,
    acts: bool,
    watch: Watch,
}

/// Progress, and what follows from it.
#[derive(Clone, Debug, Default)]
struct Watch {
    /// The window: its start, and what was acknowledged by then.
    window: Option<(Time, u64)>,
    /// The best progress so far, little by little forgotten, in bytes per second.
    best: f64,
    /// Windows in a row that were too low.
    low: u32,
    fallback: Option<Fallback>,
    pause: Duration,
    firings: u64,
}

/// The fallback decides.
#[derive(Clone, Copy, Debug)]
struct Fallback {
    until: Time,
    /// What progress had come down to.
    collapsed: f64,
    /// The best since.
    best: f64,
}

/// What a window led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    TakesOver,
    HandsBack,
}

impl Guard {
    /// Guards a scheduler; one that does not act only counts.
    pub fn new(learned: Box<dyn Scheduler>, acts: bool) -> Self {
        Guard { learned, fallback: EarliestArrival::default(), acts, watch: Watch::default() }
    }

    /// How often the fallback took over, or would have.
    pub fn firings(&self) -> u64 {
        self.watch.firings
    }

    /// The parameter of a learned scheduler that asks for a guard.
    pub(crate) fn parameter() -> ParameterInfo {
        ParameterInfo::flag("guard", false)
            .meaning("the default scheduler takes over while progress has collapsed")
            .source("Hawser")
    }

    /// The scheduler, guarded if that is asked for.
    pub(crate) fn around(learned: Box<dyn Scheduler>, parameters: &Parameters) -> Box<dyn Scheduler> {
        if parameters.flag("guard") { Box::new(Guard::new(learned, true)) } else { learned }
    }

    fn is_out(&self) -> bool {
        self.acts && self.watch.fallback.is_some()
    }

    fn tell(&self, turn: Turn, view: &SendView<'_>, commands: &mut Commands) {
        let fell = turn == Turn::TakesOver;
        commands.push(Command::Tell(Message::reliable(FeatureId::SCHEDULER_GUARD, [u8::from(fell)])));
        if fell {
            // What the learned one set of pacing is not the fallback's.
            let paths = view.paths.iter().map(|path| path.id);
            commands.extend(paths.map(|path| Command::ScalePacing { path, percent: 100 }));
        }
    }
}

impl Watch {
    /// Looks at progress; says who decides from now on if that changes.
    fn note(&mut self, view: &SendView<'_>) -> Option<Turn> {
        let acked = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_acked));
        let is_limited = view.queue.total() == 0;
        let (started, before) = *self.window.get_or_insert((view.now, acked));
        // A path that went took its bytes along.
        if is_limited || acked < before {
            self.window = None;
            return None;
        }
        let slowest = view.preferred().map(|path| path.smoothed_rtt).max().unwrap_or_default();
        let span = view.now.since(started);
        if span < slowest.saturating_mul(4).max(SHORTEST_WINDOW) {
            return None;
        }
        self.window = Some((view.now, acked));
        self.judge((acked - before) as f64 / span.as_secs_f64(), view.now)
    }

    fn judge(&mut self, progress: f64, now: Time) -> Option<Turn> {
        if let Some(fallback) = &mut self.fallback {
            fallback.best = fallback.best.max(progress);
            let Fallback { until, collapsed, best } = *fallback;
            if now < until {
                return None;
            }
            let failed = best > BETTER * collapsed;
            self.pause = if failed { self.pause.saturating_mul(2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
            (self.best, self.low, self.fallback) = (best, 0, None);
            return Some(Turn::HandsBack);
        }
        if progress >= COLLAPSED * self.best {
            self.best = progress.max(self.best * FORGETTING);
            self.low = 0;
            return None;
        }
        self.low += 1;
        if self.low < WINDOWS {
            return None;
        }
        self.firings += 1;
        self.pause = self.pause.max(FIRST_PAUSE);
        self.fallback = Some(Fallback { until: now + self.pause, collapsed: progress, best: 0.0 });
        Some(Turn::TakesOver)
    }
}

impl Scheduler for Guard {
    fn name(&self) -> &'static str {
        self.learned.name()
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let turn = self.watch.note(view);
        if let Some(turn) = turn.filter(|_| self.acts) {
            self.tell(turn, view, commands);
        }
        if self.is_out() {
            self.fallback.schedule(view, commands)
        } else {
            self.learned.schedule(view, commands)
        }
    }

    fn set_trace(&mut self, trace: &Trace) {
        self.learned.set_trace(trace);
    }

    fn fill_figures(&self, figures: &mut Figures) {
        self.learned.fill_figures(figures);
        figures.word("decides", if self.is_out() { "default" } else { self.learned.name() });
    }

    fn interests(&self) -> Interests {
        if self.acts {
            self.learned.interests() | self.fallback.interests()
        } else {
            self.learned.interests()
        }
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        // Who does not decide goes on learning.
        let interest = event.interest();
        if self.learned.interests().contains(interest) {
            self.learned.on_event(event, commands);
        }
        if self.acts && self.fallback.interests().contains(interest) {
            self.fallback.on_event(event, commands);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        Earliest::NONE.or(self.learned.next_timeout()).or(self.fallback.next_timeout()).time()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.learned.on_timeout(view, commands);
    }
}

#[cfg(test)]
mod tests;
