use std::time::Duration;

use hawser_policy::{
    AckDecision, AckOpportunity, AckPolicy, ParameterInfo, Parameters, PathId, PathState, PolicyInfo,
    ReturnPath, Time,
};

use crate::own_path::{self, EVERY};

/// Every second ack-eliciting packet or as the peer asks, at once on reordering that the peer should know of and on congestion marks, else
/// within `max_ack_delay` (RFC 9000 section 13.2.1); on the quickest path.
///
/// Acknowledgements return on the active path with the least smoothed round-trip time that was heard from just now, so
/// that a slow path's sender learns soonest; else on their own path. They change over to another path only if its
/// round trips are shorter by a quarter: changes are gaps in what arrives at the sender. One in 10 ms takes its own path
/// in any case: when the link that carries them dies, it takes with it whatever it carried since, and the senders of all
/// other paths would stand still until that is noticed here.
///
/// A peer of another implementation gets them on their own path: with one estimate of the round trip for each path, what returns on
/// another one misleads it, and its BBR lost a third of what it carries over 50 and 5 Mbit/s.
#[derive(Clone, Debug)]
pub struct FastestReturn {
    parameters: FastestReturnParameters,
    /// Where acknowledgements returned last.
    current: Option<PathId>,
    /// Whether the peer is of another implementation.
    is_foreign: bool,
    /// When acknowledgements for a path last took that path.
    on_own_path: Vec<(PathId, Time)>,
}

/// What can be set of [`FastestReturn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastestReturnParameters {
    /// Ack-eliciting packets after which an acknowledgement leaves at once, at least 1.
    pub every: u64,
    /// How long ago at most a path was heard from to carry the acknowledgements of another one.
    pub heard_within: Duration,
    /// How often acknowledgements take their own path at least.
    pub own_path_interval: Duration,
    /// By what share of the present one's another path's round-trip time must be shorter to take over, 0 to 1.
    pub advantage: f64,
    /// Whether the acknowledgements for peers of other implementations take the quickest path as well.
    pub foreign: bool,
}

impl Default for FastestReturnParameters {
    fn default() -> Self {
        FastestReturnParameters {
            every: EVERY,
            heard_within: Duration::from_millis(25),
            own_path_interval: Duration::from_millis(10),
            advantage: 0.25,
            foreign: true,
        }
    }
}

impl FastestReturnParameters {
    /// Those of a spec such as `fastest-return,every=4`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        FastestReturnParameters {
            every: parameters.integer("every"),
            heard_within: parameters.duration("heard_within"),
            own_path_interval: parameters.duration("own_path_interval"),
            advantage: parameters.number("advantage"),
            foreign: parameters.flag("foreign"),
        }
    }
}

impl Default for FastestReturn {
    fn default() -> Self {
        FastestReturn::with_parameters(FastestReturnParameters::default())
    }
}

impl FastestReturn {
    /// Its name in the registry; the entry `default` is the same.
    pub const NAME: &'static str = "fastest-return";

    /// A policy for one connection.
    pub fn with_parameters(parameters: FastestReturnParameters) -> Self {
        FastestReturn { parameters, current: None, is_foreign: false, on_own_path: Vec::new() }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = FastestReturnParameters::default();
        let longest = Duration::from_secs(10);
        PolicyInfo::new(Self::NAME, "acknowledgements return on the quickest path that was just heard from")
            .alias("default")
            .source("Hawser")
            .parameter(own_path::every())
            .parameter(
                ParameterInfo::duration("heard_within", Duration::ZERO..=longest, default.heard_within)
                    .meaning("how long ago at most the return path was heard from"),
            )
            .parameter(
                ParameterInfo::duration(
                    "own_path_interval",
                    Duration::ZERO..=longest,
                    default.own_path_interval,
                )
                .meaning("how often acknowledgements take their own path at least"),
            )
            .parameter(
                ParameterInfo::number("advantage", 0.0..=1.0, default.advantage)
                    .meaning("share by which another path's round trip must be shorter to take over"),
            )
            .parameter(
                ParameterInfo::flag("foreign", default.foreign).meaning(
                    "peers of other implementations get acknowledgements on the quickest path as well",
                ),
            )
    }

    /// Whether acknowledgements for a path are to take that path now; notes it if they are.
    fn own_path_is_due(&mut self, now: Time, id: PathId, paths: &[ReturnPath]) -> bool {
        let interval = self.parameters.own_path_interval;
        match self.on_own_path.iter_mut().find(|(known, _)| *known == id) {
            Some((_, last)) if now.since(*last) < interval => false,
            Some((_, last)) => {
                *last = now;
                true
            }
            None => {
                self.on_own_path.retain(|(known, _)| paths.iter().any(|path| path.id == *known));
                self.on_own_path.push((id, now));
                true
            }
        }
    }

    /// Whether `quickest` is not so much quicker than `current` that it takes over.
    fn stays(&self, current: &ReturnPath, quickest: &ReturnPath) -> bool {
        // In thousandths and nanoseconds, since this is asked for every acknowledgement.
        let share = 1_000 - (self.parameters.advantage * 1_000.0) as u64;
        current.id == quickest.id
            || nanos(current.smoothed_rtt).saturating_mul(share)
                <= nanos(quickest.smoothed_rtt).saturating_mul(1_000)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl AckPolicy for FastestReturn {
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        own_path::decide(self.parameters.every, opportunity)
    }

    fn return_path(&mut self, now: Time, acked: PathId, paths: &[ReturnPath]) -> Option<PathId> {
        if self.is_foreign && !self.parameters.foreign {
            return None;
        }
        let heard_within = self.parameters.heard_within;
        let is_trusted = |path: &&ReturnPath| {
            let just_heard = || path.heard_at.is_some_and(|heard| now.since(heard) <= heard_within);
            let has_sample = path.state == PathState::Active && path.has_rtt_sample;
            has_sample && (path.id == acked || just_heard())
        };
        let trusted = || paths.iter().filter(is_trusted);
        let quickest = trusted().min_by_key(|path| (nanos(path.smoothed_rtt), path.id != acked, path.id))?;
        let current = trusted().find(|path| Some(path.id) == self.current);
        let stays = current.filter(|path| self.stays(path, quickest));
        let chosen = stays.unwrap_or(quickest).id;
        self.current = Some(chosen);
        Some(if chosen != acked && self.own_path_is_due(now, acked, paths) { acked } else { chosen })
    }

    fn on_foreign_peer(&mut self) {
        self.is_foreign = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(id: u32, rtt: u64, heard: u64) -> ReturnPath {
        ReturnPath::new(PathId(id)).with(|path| {
            path.link = None;
            path.state = PathState::Active;
            path.smoothed_rtt = Duration::from_millis(rtt);
            path.has_rtt_sample = true;
            path.heard_at = Some(Time::from_millis(heard));
        })
    }

    /// Where the acknowledgements of path 2 return when path 1 was heard from `silence` ms ago, after one on its own path
    /// `since` ms ago.
    fn returns(parameters: FastestReturnParameters, rtts: [u64; 2], silence: u64, since: u64) -> u32 {
        let mut policy = FastestReturn::with_parameters(parameters);
        let ask = |policy: &mut FastestReturn, ms: u64| {
            let paths = [path(1, rtts[0], ms - silence), path(2, rtts[1], ms)];
            policy.return_path(Time::from_millis(ms), PathId(2), &paths).unwrap().0
        };
        policy.current = Some(PathId(2));
        ask(&mut policy, 1_000);
        policy.current = Some(PathId(2));
        ask(&mut policy, 1_000 + since)
    }

    #[test]
    fn parameters_say_when_acknowledgements_leave_their_own_path() {
        let default = FastestReturnParameters::default();
        assert_eq!(returns(default, [20, 70], 25, 9), 1);
        assert_eq!(returns(default, [20, 70], 26, 9), 2, "not heard from");
        let trusting = FastestReturnParameters { heard_within: Duration::from_millis(40), ..default };
        assert_eq!(returns(trusting, [20, 70], 40, 9), 1);
        let careful = FastestReturnParameters { own_path_interval: Duration::from_millis(5), ..default };
        assert_eq!([returns(careful, [20, 70], 0, 4), returns(careful, [20, 70], 0, 5)], [1, 2]);
        assert_eq!(returns(default, [75, 100], 0, 1), 2, "shorter by a quarter is not enough");
        assert_eq!(returns(default, [74, 100], 0, 1), 1);
        let eager = FastestReturnParameters { advantage: 0.1, ..default };
        assert_eq!([returns(eager, [90, 100], 0, 1), returns(eager, [89, 100], 0, 1)], [2, 1]);
    }

    #[test]
    fn a_peer_of_another_implementation_gets_acknowledgements_on_their_own_path() {
        for foreign in [false, true] {
            let parameters = FastestReturnParameters { foreign, ..FastestReturnParameters::default() };
            let mut policy = FastestReturn::with_parameters(parameters);
            policy.on_foreign_peer();
            let paths = [path(1, 20, 100), path(2, 70, 100)];
            policy.return_path(Time::from_millis(100), PathId(2), &paths);
            let chosen = policy.return_path(Time::from_millis(101), PathId(2), &paths);
            assert_eq!(chosen, foreign.then_some(PathId(1)));
        }
    }

    #[test]
    fn acknowledgements_return_on_the_quickest_path_and_now_and_then_on_their_own() {
        let mut policy = FastestReturn::default();
        let mut returns = |ms: u64, acked: u32, heard: u64| {
            let paths = [path(1, 20, heard), path(2, 70, ms)];
            policy.return_path(Time::from_millis(ms), PathId(acked), &paths).map(|id| id.0)
        };
        assert_eq!(returns(100, 2, 100), Some(2), "the first shows that the way is open");
        assert_eq!(returns(101, 2, 100), Some(1));
        assert_eq!(returns(109, 2, 100), Some(1));
        assert_eq!(returns(110, 2, 100), Some(2), "10 ms are over");
        assert_eq!(returns(111, 2, 100), Some(1));
        assert_eq!(returns(115, 2, 100), Some(1));
        assert_eq!(returns(119, 2, 90), Some(2), "the quicker path fell silent");
        assert_eq!(returns(119, 1, 90), Some(1), "the quickest path has nothing to choose");
    }
}
