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
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
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
    /// Ack-eliciting packets that the peer asked to let pass without an acknowledgement
    /// ([`AckFrequency::ack_eliciting_threshold`]), if it did. To be followed as far as there is no reason not to.
    pub requested_threshold: Option<u64>,
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
#[non_exhaustive]
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

impl ReturnPath {
    /// Returns an active path of which nothing else is known.
    pub fn new(id: PathId) -> Self {
        ReturnPath {
            id,
            link: None,
            state: PathState::Active,
            smoothed_rtt: Duration::ZERO,
            has_rtt_sample: false,
            heard_at: None,
        }
    }
}

/// Decides when acknowledgements leave and on which path.
pub trait AckPolicy: Send {
    /// When to acknowledge.
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision;

    /// The path on which acknowledgements for `acked` leave. `None`: the same path.
    fn return_path(&mut self, now: Time, acked: PathId, paths: &[ReturnPath]) -> Option<PathId>;

    /// Told once, before anything is acknowledged on a second path: the peer is of another implementation, since it lists no features of
    /// Hawser. Nothing is known of how it keeps round-trip times; with one estimate for each path, acknowledgements that return on
    /// different paths mislead its congestion control. By default nothing follows.
    fn on_foreign_peer(&mut self) {}
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
