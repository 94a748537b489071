//! Whether a path carries ECN marks, and what they say (RFC 9000 section 13.4).

use hawser_wire::frame::EcnCounts;

use crate::tuple::Ecn;

#[cfg(test)]
mod tests;

/// Packets marked before the path has proved that it carries marks (RFC 9000 appendix A.4).
const TESTING_PACKETS: u32 = 10;

/// Counts one received packet.
//= rfc9000-13.4.1-1: ECN marks are reported
#[inline]
pub(crate) fn count(counts: &mut EcnCounts, ecn: Option<Ecn>) {
    match ecn {
        None => {}
        Some(Ecn::Ect0) => counts.ect0 += 1,
        Some(Ecn::Ect1) => counts.ect1 += 1,
        Some(Ecn::Ce) => counts.ce += 1,
    }
}

/// Where validation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnState {
    /// The first packets carry marks.
    Testing,
    /// Enough marked packets are out; no more until an acknowledgement tells.
    Unknown,
    /// Marks arrive and come back.
    Capable,
    /// They do not, or the peer's counts cannot be true; or ECN is switched off.
    Failed,
}

/// What an ACK frame says about marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnReport {
    /// Marked packets that it newly acknowledges, of the present 4-tuple.
    pub(crate) newly_marked: u64,
    /// Its counts.
    pub(crate) counts: Option<EcnCounts>,
    /// Counts of the ACK frame before, of the same packet number space.
    pub(crate) previous: EcnCounts,
    /// Packets ever marked in this packet number space.
    pub(crate) marked_total: u64,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EcnVerdict {
    /// Packets newly reported with a congestion mark.
    pub(crate) congestion_marks: u64,
    /// Validation failed just now.
    pub(crate) failed: bool,
}

/// ECN validation of one path.
#[derive(Clone, Debug)]
pub(crate) struct EcnValidator {
    state: EcnState,
    marked_sent: u32,
    marked_lost: u32,
}

impl EcnValidator {
    /// Begins testing, or not.
    pub(crate) fn new(enabled: bool) -> Self {
        let state = if enabled { EcnState::Testing } else { EcnState::Failed };
        EcnValidator { state, marked_sent: 0, marked_lost: 0 }
    }

    /// Where validation stands.
    #[cfg(any(test, feature = "qlog"))]
    pub(crate) fn state(&self) -> EcnState {
        self.state
    }

    /// The mark for the next packet.
    #[inline]
    pub(crate) fn mark(&self) -> Option<Ecn> {
        matches!(self.state, EcnState::Testing | EcnState::Capable).then_some(Ecn::Ect0)
    }

    /// A marked packet left. The mark of a batch is asked for once, so more of them may follow those of the test.
    #[inline]
    pub(crate) fn on_marked_sent(&mut self) {
        if matches!(self.state, EcnState::Testing | EcnState::Unknown) {
            self.marked_sent += 1;
            if self.marked_sent >= TESTING_PACKETS {
                self.state = EcnState::Unknown;
            }
        }
    }

    /// A marked packet was lost. If all of them are, marks may be the reason (RFC 9000 section 13.4.2).
    pub(crate) fn on_marked_lost(&mut self) {
        if matches!(self.state, EcnState::Testing | EcnState::Unknown) {
            self.marked_lost += 1;
            if self.marked_lost >= self.marked_sent.max(TESTING_PACKETS) {
                self.state = EcnState::Failed;
            }
        }
    }

    /// An ACK frame that raised the largest acknowledged number. (Others may come out of order: their counts can
    /// be older than those seen.)
    //= rfc9000-13.4.2.2-2: ECN ends if validation fails later
    pub(crate) fn on_report(&mut self, report: &EcnReport) -> EcnVerdict {
        if self.state == EcnState::Failed {
            return EcnVerdict::default();
        }
        let Some(counts) = report.counts else {
            // Section 13.4.2.1: marked packets are acknowledged, but the peer reports no marks.
            return if report.newly_marked > 0 { self.fail() } else { EcnVerdict::default() };
        };
        if !is_plausible(&counts, report) {
            return self.fail();
        }
        if report.newly_marked > 0 {
            self.state = EcnState::Capable;
        }
        let congestion_marks =
            if self.state == EcnState::Capable { counts.ce.saturating_sub(report.previous.ce) } else { 0 };
        EcnVerdict { congestion_marks, failed: false }
    }

    //= rfc9000-13.4.2.2-1: ECN ends if validation fails
    fn fail(&mut self) -> EcnVerdict {
        self.state = EcnState::Failed;
        EcnVerdict { congestion_marks: 0, failed: true }
    }
}

/// RFC 9000 section 13.4.2.1. We mark ECT(0) only, so any ECT(1) is a network's or a liar's work.
fn is_plausible(counts: &EcnCounts, report: &EcnReport) -> bool {
    let (Some(ect0), Some(ce)) =
        (counts.ect0.checked_sub(report.previous.ect0), counts.ce.checked_sub(report.previous.ce))
    else {
        return false;
    };
    if counts.ect1 > 0 {
        return false;
    }
    let risen = ect0.saturating_add(ce);
    risen >= report.newly_marked && counts.ect0.saturating_add(counts.ce) <= report.marked_total
}
