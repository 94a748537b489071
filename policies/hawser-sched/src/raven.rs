use hawser_policy::{
    Assignment, Commands, Decision, ParameterInfo, Parameters, PathView, PolicyInfo, Scheduler, SendView,
};

use crate::allowance::Allowance;
use crate::choose::{by_rtt, explore, explored, fastest_sendable, mask};
use crate::placement::datagram;

/// What can be set of [`Raven`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RavenParameters {
    /// Deviations that are added to the mean delay for its tail.
    pub deviations: f64,
    /// The most copies, as a share of the bytes sent.
    pub budget: f64,
}

impl Default for RavenParameters {
    fn default() -> Self {
        RavenParameters { deviations: 2.0, budget: 0.1 }
    }
}

/// RAVEN's selective duplication (Lee, Flinn, Noble: MobiCom 2018), within a data budget.
///
/// Data goes on the path with the lowest round-trip time. It is copied to the second path if the tail that is to be expected
/// of the best one, the mean delay and some deviations, exceeds the mean of the second: then the copy has a fair chance to
/// arrive first. Copies are paid from a budget, a share of what was sent; what is not used adds up to a window.
#[derive(Clone, Copy, Debug)]
pub struct Raven {
    parameters: RavenParameters,
    allowance: Allowance,
}

impl Default for Raven {
    fn default() -> Self {
        Raven::with_parameters(RavenParameters::default())
    }
}

impl Raven {
    /// Its name in the registry.
    pub const NAME: &'static str = "raven";

    /// With other parameters.
    pub fn with_parameters(parameters: RavenParameters) -> Self {
        Raven { parameters, allowance: Allowance::default() }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        Raven::with_parameters(RavenParameters {
            deviations: parameters.number("deviations"),
            budget: parameters.number("budget"),
        })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = RavenParameters::default();
        PolicyInfo::new(Self::NAME, "copies what the best path may deliver later than the second would")
            .source("Lee, Flinn and Noble, MobiCom 2018")
            .parameter(
                ParameterInfo::number("deviations", 0.0..=100.0, default.deviations)
                    .meaning("added to the mean delay of the best path for its tail")
                    .source("Lee 2018; the value is Hawser's"),
            )
            .parameter(
                ParameterInfo::number("budget", 0.0..=1.0, default.budget)
                    .meaning("the most copies, as a share of the bytes sent")
                    .source("Hawser"),
            )
    }

    /// Whether the tail of `best` is longer than the mean of `second`.
    fn is_at_risk(&self, best: &PathView, second: &PathView) -> bool {
        let tail =
            best.smoothed_rtt.as_secs_f64() + self.parameters.deviations * best.rtt_variance.as_secs_f64();
        tail > second.smoothed_rtt.as_secs_f64()
    }
}

impl Scheduler for Raven {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        self.allowance.settle(view, self.parameters.budget);
        if let Some(decision) = explore(view) {
            return decision;
        }
        let Some(path) = fastest_sendable(view) else { return Decision::Wait(None) };
        if view.queue.total() == 0 {
            return Decision::Wait(None);
        }
        let next = Assignment::next(path.id);
        let second = explored(view).filter(|other| other.id != path.id).min_by_key(|other| by_rtt(other));
        let size = datagram(path);
        match second {
            Some(second) if self.is_at_risk(path, second) && self.allowance.left() >= size => {
                // In whole datagrams, of what there is.
                let most = (self.allowance.left() / size * size).min(path.sendable());
                let max_bytes = most.min(view.queue.total()).max(size);
                let copies = mask(view, |other| other.id == second.id);
                Decision::Send(next.with(|assignment| {
                    assignment.max_bytes = max_bytes;
                    assignment.copies = copies;
                }))
            }
            Some(second) if self.is_at_risk(path, second) => {
                // The next datagram may be worth a copy again.
                Decision::Send(next.with(|assignment| assignment.max_bytes = 8 * size))
            }
            _ => Decision::Send(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use hawser_policy::{PathId, PathMask, Segment, SendQueue};

    use super::*;
    use crate::testing::{next, path, view};

    fn jittery(variance: u64, sent: u64) -> [PathView; 2] {
        let mut paths = [path(1, 20, 50_000), path(2, 60, 50_000)];
        paths[0].rtt_variance = Duration::from_millis(variance);
        paths[0].bytes_sent = sent;
        paths
    }

    /// 20 + 2 * 21 ms against 60 ms; a tenth of 50 kB.
    #[test]
    fn a_tail_beyond_the_second_path_is_worth_a_copy() {
        let decide = |variance, sent| {
            Raven::default().schedule(&view(&jittery(variance, sent), 90_000), &mut Vec::new())
        };
        assert_eq!(decide(19, 50_000), next(1));
        let copies = PathMask::NONE.with(1);
        let copied = Assignment::next(PathId(1)).with(|assignment| {
            assignment.max_bytes = 5_000;
            assignment.copies = copies;
        });
        assert_eq!(decide(21, 50_000), Decision::Send(copied));
    }

    /// A queue of a connection that has copied so much.
    struct Copied(u64);

    impl SendQueue for Copied {
        fn segments(&self, _: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {}

        fn copied_bytes(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn copies_stay_within_the_budget() {
        let mut raven = Raven::default();
        let (mut copied, mut sent) = (0, 0);
        while sent < 10_000_000 {
            let paths = jittery(21, sent + copied);
            let queue = Copied(copied);
            let view = view(&paths, 90_000).with(|view| view.segments = &queue);
            let Decision::Send(assignment) = raven.schedule(&view, &mut Vec::new()) else {
                panic!("there is room");
            };
            let bytes = assignment.max_bytes.min(50_000);
            sent += bytes;
            copied += if assignment.copies == PathMask::NONE { 0 } else { bytes };
        }
        let share = copied as f64 / (sent + copied) as f64;
        assert!((0.09..=0.1).contains(&share), "{share}");
    }
}
