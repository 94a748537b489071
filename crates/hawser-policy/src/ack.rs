use std::time::Duration;

use crate::{PathId, PathState, PathView, Time};

/// An ack-eliciting packet arrived and its acknowledgement is pending.
#[derive(Clone, Copy, Debug)]
pub struct AckOpportunity {
    /// When.
    pub now: Time,
    /// The path it arrived on.
    pub path: PathId,
    /// Ack-eliciting packets received on that path and not yet acknowledged, this one included.
    pub unacknowledged: u64,
    /// Whether it arrived out of order.
    pub out_of_order: bool,
    /// Whether it carried an ECN congestion mark.
    pub congestion_marked: bool,
    /// The delay we promised never to exceed.
    pub max_ack_delay: Duration,
}

/// When to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDecision {
    /// With the next datagram, at once.
    Now,
    /// Not later than after this delay; the core never waits longer than `max_ack_delay`.
    Within(Duration),
}

/// Decides when acknowledgements leave and on which path.
pub trait AckPolicy: Send {
    /// When to acknowledge.
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision;

    /// The path on which acknowledgements for `acked` leave. `None`: the same path.
    fn return_path(&mut self, now: Time, acked: PathId, paths: &[PathView]) -> Option<PathId>;
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

/// Every `every` ack-eliciting packets, at once on reordering that the peer should know of and on congestion marks,
/// else within `max_ack_delay` (RFC 9000 section 13.2.1). Acknowledgements return on the active path with the least
/// smoothed round-trip time that was heard from just now, so that a slow path's sender learns soonest and no
/// acknowledgement is lost with a link that has died; else on their own path.
#[derive(Clone, Copy, Debug)]
pub struct DefaultAckPolicy {
    /// Ack-eliciting packets per acknowledgement, at least 1.
    pub every: u64,
}

/// How lately a path must have been heard from to carry the acknowledgements of another one.
const HEARD_JUST_NOW: Duration = Duration::from_millis(25);

impl Default for DefaultAckPolicy {
    fn default() -> Self {
        DefaultAckPolicy { every: 2 }
    }
}

impl AckPolicy for DefaultAckPolicy {
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        if opportunity.unacknowledged >= self.every
            || opportunity.out_of_order
            || opportunity.congestion_marked
        {
            AckDecision::Now
        } else {
            AckDecision::Within(opportunity.max_ack_delay)
        }
    }

    fn return_path(&mut self, now: Time, acked: PathId, paths: &[PathView]) -> Option<PathId> {
        paths
            .iter()
            .filter(|path| path.state == PathState::Active && path.has_rtt_sample)
            .filter(|path| {
                path.id == acked || path.heard_at.is_some_and(|heard| now.since(heard) <= HEARD_JUST_NOW)
            })
            .min_by_key(|path| (path.smoothed_rtt, path.id != acked, path.id))
            .map(|path| path.id)
    }
}
