use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Commands, Decision, Event, Feedback, Interests, ParameterInfo, Parameters, PathId,
    PathView, PolicyInfo, Scheduler, SendView, Time,
};

use crate::choose::{by_rtt, explore, fastest_and_sendable, fastest_sendable};

/// What can be set of [`Xlink`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XlinkParameters {
    /// With less than this in the player's buffer everything is re-injected.
    pub low: Duration,
    /// With more than this, nothing.
    pub high: Duration,
    /// Whether to re-inject as long as the player said nothing.
    pub without_feedback: bool,
}

impl Default for XlinkParameters {
    fn default() -> Self {
        XlinkParameters {
            low: Duration::from_millis(500),
            high: Duration::from_secs(2),
            without_feedback: true,
        }
    }
}

/// XLINK's re-injection, driven by the player's buffer (Zheng, Ma, Liu and others: SIGCOMM 2021).
///
/// New data goes on the path with the lowest round-trip time. When all of it has left, what is still in flight on a slower
/// path and would be there later than a copy on a faster one is re-injected there, if the player needs it: with two
/// thresholds for what it has buffered, always below the lower one, never above the upper one, and between them only if the
/// buffer would be empty before what is in flight arrives (section 5.2 of the paper).
///
/// The player's buffer comes as [`Feedback::Quality`], in seconds.
#[derive(Clone, Debug)]
pub struct Xlink {
    parameters: XlinkParameters,
    /// What the player had buffered, and when it said so.
    buffered: Option<(Duration, Time)>,
    /// Up to which time what was sent on a path has been copied.
    copied: Vec<(PathId, Time)>,
}

impl Default for Xlink {
    fn default() -> Self {
        Xlink::with_parameters(XlinkParameters::default())
    }
}

impl Xlink {
    /// Its name in the registry.
    pub const NAME: &'static str = "xlink";

    /// With other parameters.
    pub fn with_parameters(parameters: XlinkParameters) -> Self {
        Xlink { parameters, buffered: None, copied: Vec::new() }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        Xlink::with_parameters(XlinkParameters {
            low: parameters.duration("low"),
            high: parameters.duration("high"),
            without_feedback: parameters.flag("without_feedback"),
        })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let (default, most) = (XlinkParameters::default(), Duration::from_secs(600));
        PolicyInfo::new(Self::NAME, "re-injects what blocks the player, when its buffer runs low")
            .source("Zheng and others, SIGCOMM 2021")
            .parameter(
                ParameterInfo::duration("low", Duration::ZERO..=most, default.low)
                    .meaning("with less buffered everything is re-injected")
                    .source("Zheng 2021, section 5.2; the value is Hawser's"),
            )
            .parameter(
                ParameterInfo::duration("high", Duration::ZERO..=most, default.high)
                    .meaning("with more buffered nothing is")
                    .source("Zheng 2021, section 5.2; the value is Hawser's"),
            )
            .parameter(
                ParameterInfo::flag("without_feedback", default.without_feedback)
                    .meaning("re-inject as long as the player said nothing"),
            )
    }

    /// Double thresholding: whether the player needs re-injection.
    fn is_wanted(&self, view: &SendView<'_>) -> bool {
        let Some((buffered, at)) = self.buffered else { return self.parameters.without_feedback };
        // It has played since.
        let left = buffered.saturating_sub(view.now.since(at));
        if left < self.parameters.low {
            return true;
        }
        let slowest = view
            .preferred()
            .filter(|path| path.bytes_in_flight > 0)
            .map(|path| path.smoothed_rtt.saturating_add(path.rtt_variance))
            .max();
        left <= self.parameters.high && slowest.is_some_and(|delivery| left < delivery)
    }

    /// Copies what a slower path has in flight and will not deliver before a copy would be there.
    fn reinject(&mut self, view: &SendView<'_>, to: &PathView, commands: &mut Commands) {
        for from in view.preferred().filter(|from| from.id != to.id && by_rtt(to) < by_rtt(from)) {
            let Some(oldest) = from.oldest_in_flight else { continue };
            let is_sooner =
                view.now + to.smoothed_rtt < oldest + from.smoothed_rtt.saturating_add(from.rtt_variance);
            let known = self.copied.iter().position(|(path, _)| *path == from.id);
            let is_copied = known.is_some_and(|at| oldest <= self.copied[at].1);
            if !is_sooner || is_copied {
                continue;
            }
            match known {
                Some(at) => self.copied[at].1 = view.now,
                None => self.copied.push((from.id, view.now)),
            }
            commands.push(Command::Reinject { from: from.id, to: to.id, max_bytes: u64::MAX });
        }
    }
}

impl Scheduler for Xlink {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        if view.queue.total() > 0 {
            let path = fastest_sendable(view);
            return path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)));
        }
        if let Some((_, to)) = fastest_and_sendable(view).filter(|_| self.is_wanted(view)) {
            self.reinject(view, to, commands);
        }
        Decision::Wait(None)
    }

    fn interests(&self) -> Interests {
        Interests::IDLE | Interests::FEEDBACK | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match *event {
            Event::Feedback { now, feedback: Feedback::Quality { value } } => {
                // Anything else is no buffer level.
                let seconds = value.is_finite().then(|| value.clamp(0.0, 86_400.0));
                self.buffered = seconds.map(|seconds| (Duration::from_secs_f64(seconds), now));
            }
            Event::Path { path, .. } => self.copied.retain(|(copied, _)| *copied != path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{next, path, view, view_at};
    use hawser_policy::QueueView;

    /// 20 and 100 ms; on the slow path something left at 0 ms. Now it is 10 ms: a copy would be there at 30 ms.
    fn ask(xlink: &mut Xlink, buffered: Option<f64>) -> Commands {
        let mut paths = [path(1, 20, 50_000), path(2, 100, 50_000)];
        paths.iter_mut().for_each(|path| path.oldest_in_flight = Some(Time::ZERO));
        let mut commands = Vec::new();
        if let Some(value) = buffered {
            let feedback = Feedback::Quality { value };
            xlink.on_event(&Event::Feedback { now: Time::ZERO, feedback: &feedback }, &mut commands);
        }
        let view = view_at(Time::from_millis(10), &paths, QueueView::default());
        assert_eq!(xlink.schedule(&view, &mut commands), Decision::Wait(None));
        commands
    }

    fn copy() -> Commands {
        vec![Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: u64::MAX }]
    }

    #[test]
    fn the_player_says_whether_copies_are_worth_it() {
        let low = XlinkParameters { low: Duration::from_millis(50), ..XlinkParameters::default() };
        for (buffered, expected) in [
            (None, copy()),
            (Some(0.04), copy()),
            // Between the thresholds: less than the 100 ms that delivery takes, or more.
            (Some(0.09), copy()),
            (Some(1.0), vec![]),
            (Some(9.0), vec![]),
            (Some(f64::NAN), copy()),
        ] {
            assert_eq!(ask(&mut Xlink::with_parameters(low), buffered), expected, "{buffered:?}");
        }
        let silent = XlinkParameters { without_feedback: false, ..low };
        assert_eq!(ask(&mut Xlink::with_parameters(silent), None), vec![]);
    }

    #[test]
    fn nothing_is_copied_twice() {
        let mut xlink = Xlink::default();
        assert_eq!(ask(&mut xlink, None), copy());
        assert_eq!(ask(&mut xlink, None), vec![]);
    }

    #[test]
    fn new_data_goes_on_the_fast_path() {
        let paths = [path(1, 100, 50_000), path(2, 20, 50_000)];
        assert_eq!(Xlink::default().schedule(&view(&paths, 5_000), &mut Vec::new()), next(2));
    }
}
