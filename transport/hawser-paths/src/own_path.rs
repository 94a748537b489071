use hawser_policy::{
    AckDecision, AckOpportunity, AckPolicy, ParameterInfo, PathId, PolicyInfo, ReturnPath, Time,
};

/// RFC 9000 section 13.2.2: an acknowledgement for every second packet.
pub(crate) const EVERY: u64 = 2;

/// The most packets that may go unacknowledged: more and a sender with a small window waits for the longest delay.
const MOST: u64 = 64;

/// Every second ack-eliciting packet or as the peer asks, at once on reordering that the peer should know of and on congestion marks, else
/// within `max_ack_delay` (RFC 9000 section 13.2.1); on the path on which the packets arrived.
#[derive(Clone, Copy, Debug)]
pub struct OwnPath {
    every: u64,
}

impl OwnPath {
    /// Its name in the registry.
    pub const NAME: &'static str = "own-path";

    /// Acknowledges every `every` ack-eliciting packets, at least 1.
    pub fn new(every: u64) -> Self {
        OwnPath { every }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "acknowledgements return on the path of the packets")
            .source("RFC 9000 section 13.2")
            .parameter(every())
    }
}

/// The parameter that says how many packets an acknowledgement is for.
pub(crate) fn every() -> ParameterInfo {
    ParameterInfo::integer("every", 1..=MOST, EVERY)
        .unit("packets")
        .meaning("acknowledge at once after so many")
        .source("RFC 9000 section 13.2.2")
}

/// When to acknowledge (RFC 9000 section 13.2.1), as often as the peer asks if it does (draft-ietf-quic-ack-frequency
/// section 4).
//= rfc9000-13.2.2-1: every second ack-eliciting packet is acknowledged
#[inline]
pub(crate) fn decide(every: u64, opportunity: &AckOpportunity) -> AckDecision {
    let wanted = opportunity.requested_threshold.map_or(every, |threshold| threshold.saturating_add(1));
    if opportunity.unacknowledged >= wanted || opportunity.out_of_order || opportunity.congestion_marked {
        AckDecision::Now
    } else {
        AckDecision::Within(opportunity.max_ack_delay)
    }
}

impl AckPolicy for OwnPath {
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        decide(self.every, opportunity)
    }

    fn return_path(&mut self, _now: Time, _acked: PathId, _paths: &[ReturnPath]) -> Option<PathId> {
        None
    }
}
