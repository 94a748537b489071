use std::sync::Arc;

use hawser_policy::{
    Commands, Decision, Event, Figures, Interests, MessageOrigin, ParameterInfo, Parameters, PolicyInfo,
    Scheduler, SchedulerFactory, SendView,
};

mod mode;
mod runs;
mod standby;

pub use mode::{MAX_MODE_CLASSES, Mode};
use mode::{ModeChange, Rules};
use runs::Runs;
use standby::Standby;

use crate::earliest_arrival::Warned;
use crate::{EarliestArrival, Redundant};

/// What can be set of [`Modes`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModesParameters {
    /// What a connection is for, but for the classes that say otherwise.
    pub mode: Mode,
    /// A class of streams and datagrams with a mode of its own; `None` without such a class.
    pub class: Option<(u32, Mode)>,
    /// In mode `low-latency`: a queue no longer than this is a message, and is copied. Bytes.
    pub message: u64,
    /// In mode `low-latency`: the most copies, as a share of the bytes sent.
    pub budget: f64,
}

impl Default for ModesParameters {
    fn default() -> Self {
        ModesParameters { mode: Mode::Aggregate, class: None, message: 128_000, budget: 0.6 }
    }
}

/// The default scheduler and what else a connection may be for: for each class of streams, and to be changed while it runs.
///
/// | mode | what it does |
/// |---|---|
/// | [`Aggregate`](Mode::Aggregate) | [`EarliestArrival`]: all paths carry what there is |
/// | [`LowLatency`](Mode::LowLatency) | the same for one message after the other: every short queue is copied, to any second path that is not metered, within a larger budget |
/// | [`Redundant`](Mode::Redundant) | [`Redundant`]: everything on every path |
/// | [`Backup`](Mode::Backup) | one path carries everything; the others stand by until it falls silent |
///
/// The application changes it with messages to the policies of its end ([`Mode::for_connection`],
/// [`Mode::for_class`], [`Mode::forget_class`]); the next decision follows it. The head of the queue is sent by the rule of its own
/// class. While that waits for a better path, what follows of another class is sent by its rule.
pub struct Modes {
    rules: Rules,
    aggregate: EarliestArrival,
    low_latency: EarliestArrival,
    redundant: Redundant,
    standby: Standby,
    /// The mode of what was sent last: its rule looks after what is in flight when nothing is queued.
    last: Mode,
}

impl Modes {
    /// Its name in the registry.
    pub const NAME: &'static str = "modes";

    /// With these parameters.
    pub fn new(parameters: ModesParameters) -> Self {
        Modes {
            rules: Rules::new(parameters.mode, parameters.class),
            aggregate: EarliestArrival::default(),
            low_latency: EarliestArrival::for_messages(parameters.message, parameters.budget),
            redundant: Redundant::default(),
            standby: Standby::default(),
            last: parameters.mode,
        }
    }

    pub(crate) fn read(parameters: &Parameters) -> Arc<dyn SchedulerFactory> {
        let mode_of = |name: &str| Mode::from_name(parameters.choice(name)).unwrap_or_default();
        let class = u32::try_from(parameters.integer("class")).unwrap_or(0);
        let parameters = ModesParameters {
            mode: mode_of("mode"),
            class: (class != 0).then(|| (class, mode_of("class_mode"))),
            message: parameters.integer("message"),
            budget: parameters.number("budget"),
        };
        Arc::new(Warned { warnings: true, build: move || Box::new(Modes::new(parameters)) as Box<_> })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = ModesParameters::default();
        let names = || Mode::ALL.iter().map(|mode| mode.name());
        PolicyInfo::new(
            Self::NAME,
            "the default, low-latency, redundant or backup; by class, and changed live",
        )
        .source("Hawser")
        .parameter(ParameterInfo::choice("mode", names()).meaning("what the connection is for"))
        .parameter(
            ParameterInfo::integer("class", 0..=u64::from(u32::MAX), 0)
                .meaning("streams and datagrams of this class have a mode of their own; 0 is none"),
        )
        .parameter(ParameterInfo::choice("class_mode", names()).meaning("the mode of that class"))
        .parameter(
            ParameterInfo::integer("message", 0..=u64::from(u32::MAX), default.message)
                .unit("bytes")
                .meaning("low-latency copies what is queued if it is no more than this"),
        )
        .parameter(
            ParameterInfo::number("budget", 0.0..=1.0, default.budget)
                .meaning("the most copies of low-latency, as a share of the bytes sent"),
        )
    }

    /// By the rule of one mode.
    fn decide(&mut self, mode: Mode, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.last = mode;
        match mode {
            Mode::Aggregate => self.aggregate.schedule(view, commands),
            Mode::LowLatency => self.low_latency.schedule(view, commands),
            Mode::Redundant => self.redundant.schedule(view, commands),
            Mode::Backup => self.standby.schedule(view, commands),
        }
    }

    /// Run after run, until one is sent.
    fn decide_by_class(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let runs = Runs::new(view, &self.rules);
        let mut look = None;
        for (position, run) in runs.iter().enumerate() {
            let decision = self.decide(run.mode, &run.view(view), commands);
            match decision {
                Decision::Send(assignment) => match run.place(view, assignment, position == 0) {
                    Some(placed) => return Decision::Send(placed),
                    None => continue,
                },
                Decision::Wait(at) => look = [look, at].into_iter().flatten().min(),
            }
        }
        Decision::Wait(look)
    }
}

impl Scheduler for Modes {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if !self.rules.has_classes() {
            return self.decide(self.rules.default_mode(), view, commands);
        }
        if view.queue.total() == 0 {
            return self.decide(self.last, view, commands);
        }
        self.decide_by_class(view, commands)
    }

    fn fill_figures(&self, figures: &mut Figures) {
        figures.word("mode", self.rules.default_mode().name());
    }

    fn interests(&self) -> Interests {
        Interests::PATHS | Interests::IDLE | Interests::LINKS | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        match event {
            Event::Message { origin: MessageOrigin::Application, message, .. } => {
                if let Some(change) = ModeChange::read(message) {
                    self.rules.apply(change);
                }
            }
            Event::Path { .. } | Event::Link(_) | Event::Message { .. } => {
                self.aggregate.on_event(event, commands);
                self.low_latency.on_event(event, commands);
                self.standby.on_event(event);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
