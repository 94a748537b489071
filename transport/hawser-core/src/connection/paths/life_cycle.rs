//! The life of an outer path, as a table.

use hawser_policy::{PathEvent, PathId, PathState};

/// Where an outer path stands.
///
/// ```text
///                 Opened            Validated          FellSilent
///     Unused -------------> Validating -------> Active <--------> Suspect
///       |                       |                 |    Answered      |
///       |                       |                 |    Validated     |
///       +-----------------------+-----------------+------------------+
///                               |                 |
///      AbandonedLocally,        |                 |  AbandonedByPeer
///      ValidationFailed         v                 v
///                          Abandoning --------> Draining
///                               |  AbandonedByPeer |
///                               |                  |
///                               +----> Closed <----+
///                                    PeriodOver
/// ```
///
/// From `Abandoning` on nothing leads back: whatever is still heard of the path is taken in and changes nothing
/// (draft-ietf-quic-multipath-21 section 4: frames for such a path are silently ignored).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LifeCycle {
    /// Connection ids may have been exchanged; no packet was sent or received.
    Unused,
    /// A PATH_CHALLENGE is out.
    Validating,
    /// In use.
    Active,
    /// Silent although something should have been acknowledged.
    Suspect,
    /// We said PATH_ABANDON, the peer has not yet.
    Abandoning,
    /// The peer said PATH_ABANDON; late packets are still recognised.
    Draining,
    /// Forgotten but for its id, which is never used again.
    Closed,
}

/// What can happen to an outer path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LifeEvent {
    /// We send on it, or received on it, for the first time.
    Opened,
    /// Its 4-tuple was validated, at first or after a migration.
    Validated,
    /// No 4-tuple of it could be validated. PATH_ABANDON must be sent (draft-ietf-quic-multipath-21 section 3.1).
    ValidationFailed,
    /// Acknowledgements stay away.
    FellSilent,
    /// An acknowledgement for the path arrived.
    Answered,
    /// A packet of the peer came over a path that had fallen silent.
    HeardAgain,
    /// We give it up and send PATH_ABANDON.
    AbandonedLocally,
    /// The peer's PATH_ABANDON arrived.
    AbandonedByPeer,
    /// The time to keep an abandoned path is over.
    PeriodOver,
}

use LifeCycle::{Abandoning, Active, Closed, Draining, Suspect, Unused, Validating};
use LifeEvent::{
    AbandonedByPeer, AbandonedLocally, Answered, FellSilent, HeardAgain, Opened, PeriodOver, Validated,
    ValidationFailed,
};

/// Every legal move. A pair that is not listed is a mistake of the caller.
const MOVES: &[(LifeCycle, LifeEvent, LifeCycle)] = &[
    (Unused, Opened, Validating),
    (Unused, AbandonedLocally, Abandoning),
    (Unused, AbandonedByPeer, Draining),
    (Validating, Validated, Active),
    (Validating, ValidationFailed, Abandoning),
    // The timer of the validation, not silence, ends a path that never worked.
    (Validating, FellSilent, Validating),
    // RFC 9000 section 8.2.3: an acknowledgement validates nothing.
    (Validating, Answered, Validating),
    (Validating, AbandonedLocally, Abandoning),
    (Validating, AbandonedByPeer, Draining),
    (Active, Validated, Active),
    (Active, ValidationFailed, Abandoning),
    (Active, FellSilent, Suspect),
    (Active, Answered, Active),
    (Active, AbandonedLocally, Abandoning),
    (Active, AbandonedByPeer, Draining),
    (Suspect, Validated, Active),
    (Suspect, ValidationFailed, Abandoning),
    (Suspect, FellSilent, Suspect),
    (Suspect, Answered, Active),
    (Suspect, HeardAgain, Active),
    (Suspect, AbandonedLocally, Abandoning),
    (Suspect, AbandonedByPeer, Draining),
    (Abandoning, Validated, Abandoning),
    (Abandoning, ValidationFailed, Abandoning),
    (Abandoning, FellSilent, Abandoning),
    (Abandoning, Answered, Abandoning),
    (Abandoning, AbandonedLocally, Abandoning),
    (Abandoning, AbandonedByPeer, Draining),
    (Abandoning, PeriodOver, Closed),
    (Draining, Validated, Draining),
    (Draining, ValidationFailed, Draining),
    (Draining, FellSilent, Draining),
    (Draining, Answered, Draining),
    (Draining, AbandonedLocally, Draining),
    (Draining, AbandonedByPeer, Draining),
    (Draining, PeriodOver, Closed),
    (Closed, Validated, Closed),
    (Closed, ValidationFailed, Closed),
    (Closed, FellSilent, Closed),
    (Closed, Answered, Closed),
    (Closed, AbandonedLocally, Closed),
    (Closed, AbandonedByPeer, Closed),
    (Closed, PeriodOver, Closed),
];

/// A move that the table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path in state {state:?} cannot take the event {event:?}")]
pub(crate) struct IllegalMove {
    pub(crate) state: LifeCycle,
    pub(crate) event: LifeEvent,
}

/// A move that was made; `from` and `to` may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: LifeCycle,
    pub(crate) to: LifeCycle,
}

impl Move {
    /// What the path manager and the application should hear. "Closed" is said when the abandonment begins, once,
    /// and only of a path that was opened; after it nothing more is said of the path.
    pub(crate) fn report(self, path: PathId) -> Option<PathEvent> {
        match (self.from, self.to) {
            (Validating, Active) => Some(PathEvent::Established(path)),
            (Active, Suspect) => Some(PathEvent::Suspect(path)),
            (Suspect, Active) => Some(PathEvent::Recovered(path)),
            (Validating | Active | Suspect, Abandoning | Draining) => Some(PathEvent::Closed(path)),
            _ => None,
        }
    }
}

impl LifeCycle {
    /// Takes an event.
    ///
    /// # Errors
    /// [`IllegalMove`] if the table has no such move; the state is then as before.
    //= multipath-3.1-4: a server validates the addresses of a new path before it sends data
    pub(crate) fn apply(&mut self, event: LifeEvent) -> Result<Move, IllegalMove> {
        let from = *self;
        let found = MOVES.iter().find(|(state, on, _)| (*state, *on) == (from, event));
        let &(_, _, to) = found.ok_or(IllegalMove { state: from, event })?;
        *self = to;
        Ok(Move { from, to })
    }

    /// Whether packets may be sent on it. After PATH_ABANDON none may (draft-ietf-quic-multipath-21 section 3.4).
    //= multipath-3.4-2: an endpoint that sends PATH_ABANDON sends nothing more on the path
    #[inline]
    pub(crate) fn can_send(self) -> bool {
        matches!(self, Validating | Active | Suspect)
    }

    /// Whether packets received on it are still processed and acknowledged.
    #[inline]
    pub(crate) fn can_receive(self) -> bool {
        self != Closed
    }

    /// Whether it was given up by either end.
    #[inline]
    pub(crate) fn is_abandoned(self) -> bool {
        matches!(self, Abandoning | Draining | Closed)
    }

    /// What policies see; `None` if they do not see the path at all.
    #[inline]
    pub(crate) fn policy_state(self) -> Option<PathState> {
        match self {
            Validating => Some(PathState::Validating),
            Active => Some(PathState::Active),
            Suspect => Some(PathState::Suspect),
            Unused | Abandoning | Draining | Closed => None,
        }
    }
}

#[cfg(test)]
mod tests;
