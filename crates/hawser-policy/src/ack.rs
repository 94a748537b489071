use std::time::Duration;

use crate::{LinkId, PathId, PathState, Time};

/// How often acknowledgements are wanted (draft-ietf-quic-ack-frequency section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// Ack-eliciting packets that may arrive without an acknowledgement: 1 asks for one acknowledgement per two packets,
    /// as usual, 0 for one per packet.
    pub ack_eliciting_threshold: u64,
    /// Longest delay of an acknowledgement.
    pub max_ack_delay: Duration,
    /// A gap of so many packets is acknowledged at once; 1 any gap, as usual; 0 none.
    pub reordering_threshold: u64,
}

/// An ack-eliciting packet arrived and its acknowledgement is pending.
#[derive(Clone, Copy, Debug)]
pub struct AckOpportunity {
    /// When.
    pub now: Time,
    /// The path it arrived on.
    pub path: PathId,
    /// Ack-eliciting packets received on that path and not yet acknowledged, this one included.
    pub unacknowledged: u64,
    /// Whether it arrived out of order, by more than the peer tolerates.
    pub out_of_order: bool,
    /// Whether it carried an ECN congestion mark that the peer wants to hear of at once; if it asked for fewer
    /// acknowledgements, only the first mark after packets without.
    pub congestion_marked: bool,
    /// The delay we promised never to exceed, or the one that the peer asked for.
    pub max_ack_delay: Duration,
    /// How often the peer asked to be told, if it did. To be obeyed as far as there is no reason not to.
    pub requested: Option<AckFrequency>,
}

/// When to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDecision {
    /// With the next datagram, at once.
    Now,
    /// Not later than after this delay; the core never waits longer than `max_ack_delay`.
    Within(Duration),
}

/// A path on which acknowledgements could leave, at one moment.
///
/// Less than a [`PathView`](crate::PathView), because the choice is made for every acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct ReturnPath {
    /// Its id.
    pub id: PathId,
    /// The local link it leaves through, when the driver told.
    pub link: Option<LinkId>,
    /// Life-cycle state.
    pub state: PathState,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Whether `smoothed_rtt` rests on at least one sample.
    pub has_rtt_sample: bool,
    /// When a datagram last arrived on it; `None` before the first.
    pub heard_at: Option<Time>,
}

/// Decides when acknowledgements leave and on which path.
pub trait AckPolicy: Send {
    /// When to acknowledge.
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision;

    /// The path on which acknowledgements for `acked` leave. `None`: the same path.
    fn return_path(&mut self, now: Time, acked: PathId, paths: &[ReturnPath]) -> Option<PathId>;
}

/// Makes acknowledgement policies, one per connection.
pub trait AckPolicyFactory: Send + Sync {
    /// A policy for a new connection.
    fn build(&self) -> Box<dyn AckPolicy>;
}

impl<F> AckPolicyFactory for F
where
    F: Fn() -> Box<dyn AckPolicy> + Send + Sync,
{
    fn build(&self) -> Box<dyn AckPolicy> {
        self()
    }
}

/// Every second ack-eliciting packet or as the peer asks, at once on reordering that the peer should know of and on congestion marks, else
/// within `max_ack_delay` (RFC 9000 section 13.2.1).
///
/// Acknowledgements return on the active path with the least smoothed round-trip time that was heard from just now, so
/// that a slow path's sender learns soonest; else on their own path. They change over to another path only if its
/// round trips are shorter by a quarter: changes are gaps in what arrives at the sender. One in 10 ms takes its own path in any case: when
/// the link that carries them dies, it takes with it whatever it carried since, and the senders of all other paths
/// would stand still until that is noticed here.
#[derive(Clone, Debug)]
pub struct DefaultAckPolicy {
    every: u64,
    /// Where acknowledgements returned last.
    current: Option<PathId>,
    /// When acknowledgements for a path last took that path.
    on_own_path: Vec<(PathId, Time)>,
}

/// How lately a path must have been heard from to carry the acknowledgements of another one.
const HEARD_JUST_NOW: Duration = Duration::from_millis(25);

/// How often acknowledgements take their own path at least.
const OWN_PATH_INTERVAL: Duration = Duration::from_millis(10);

impl Default for DefaultAckPolicy {
    fn default() -> Self {
        DefaultAckPolicy::new(2)
    }
}

impl DefaultAckPolicy {
    /// Acknowledges every `every` ack-eliciting packets, at least 1.
    pub fn new(every: u64) -> Self {
        DefaultAckPolicy { every, current: None, on_own_path: Vec::new() }
    }

    /// Whether acknowledgements for a path are to take that path now; notes it if they are.
    fn own_path_is_due(&mut self, now: Time, id: PathId, paths: &[ReturnPath]) -> bool {
        match self.on_own_path.iter_mut().find(|(known, _)| *known == id) {
            Some((_, last)) if now.since(*last) < OWN_PATH_INTERVAL => false,
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
}

impl AckPolicy for DefaultAckPolicy {
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        let every = opportunity
            .requested
            .map_or(self.every, |requested| requested.ack_eliciting_threshold.saturating_add(1));
        if opportunity.unacknowledged >= every || opportunity.out_of_order || opportunity.congestion_marked {
            AckDecision::Now
        } else {
            AckDecision::Within(opportunity.max_ack_delay)
        }
    }

    fn return_path(&mut self, now: Time, acked: PathId, paths: &[ReturnPath]) -> Option<PathId> {
        let is_trusted = |path: &&ReturnPath| {
            let just_heard = || path.heard_at.is_some_and(|heard| now.since(heard) <= HEARD_JUST_NOW);
            let has_sample = path.state == PathState::Active && path.has_rtt_sample;
            has_sample && (path.id == acked || just_heard())
        };
        let trusted = || paths.iter().filter(is_trusted);
        let quickest = trusted().min_by_key(|path| (path.smoothed_rtt, path.id != acked, path.id))?;
        let current = trusted().find(|path| Some(path.id) == self.current);
        let stays = current.filter(|path| path.smoothed_rtt * 3 <= quickest.smoothed_rtt * 4);
        let chosen = stays.unwrap_or(quickest).id;
        self.current = Some(chosen);
        Some(if chosen != acked && self.own_path_is_due(now, acked, paths) { acked } else { chosen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(id: u32, rtt: u64, heard: u64) -> ReturnPath {
        ReturnPath {
            id: PathId(id),
            link: None,
            state: PathState::Active,
            smoothed_rtt: Duration::from_millis(rtt),
            has_rtt_sample: true,
            heard_at: Some(Time::from_millis(heard)),
        }
    }

    #[test]
    fn acknowledgements_return_on_the_quickest_path_and_now_and_then_on_their_own() {
        let mut policy = DefaultAckPolicy::default();
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
