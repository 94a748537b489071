use std::fmt::Write;

use hawser_policy::{PathEvent, PathId};
use proptest::prelude::*;

use super::LifeCycle::{Abandoning, Active, Closed, Draining, Suspect, Unused, Validating};
use super::LifeEvent::{
    AbandonedByPeer, AbandonedLocally, Answered, FellSilent, HeardAgain, Opened, PeriodOver, Validated,
    ValidationFailed,
};
use super::{IllegalMove, LifeCycle, LifeEvent};

const STATES: [LifeCycle; 7] = [Unused, Validating, Active, Suspect, Abandoning, Draining, Closed];
const EVENTS: [LifeEvent; 9] = [
    Opened,
    Validated,
    ValidationFailed,
    FellSilent,
    Answered,
    HeardAgain,
    AbandonedLocally,
    AbandonedByPeer,
    PeriodOver,
];

#[test]
fn table() {
    let mut text = String::new();
    for state in STATES {
        writeln!(text, "{state:?}").unwrap();
        for event in EVENTS {
            let mut next = state;
            let to = next.apply(event).map_or("illegal".to_owned(), |step| {
                if step.from == step.to { "stays".to_owned() } else { format!("{:?}", step.to) }
            });
            writeln!(text, "  {event:?}: {to}").unwrap();
        }
    }
    assert_eq!(text.trim_end(), include_str!("table.txt").trim_end());
}

#[test]
fn illegal_move_changes_nothing_and_says_what_was_wrong() {
    let mut state = Closed;
    let error = state.apply(Opened).unwrap_err();
    assert_eq!(error, IllegalMove { state: Closed, event: Opened });
    assert_eq!(error.to_string(), "a path in state Closed cannot take the event Opened");
    assert_eq!(state, Closed);
}

#[test]
fn both_ends_abandon_at_once() {
    let mut state = Active;
    let reports: Vec<_> = [AbandonedLocally, AbandonedByPeer, AbandonedByPeer, PeriodOver]
        .into_iter()
        .filter_map(|event| state.apply(event).unwrap().report(PathId(3)))
        .collect();
    assert_eq!(reports, [PathEvent::Closed(PathId(3))]);
    assert_eq!(state, Closed);
}

//= multipath-3.1-7
#[test]
fn response_after_abandonment_establishes_nothing() {
    for abandon in [AbandonedLocally, AbandonedByPeer] {
        let mut state = Unused;
        state.apply(Opened).unwrap();
        assert_eq!(state.apply(abandon).unwrap().report(PathId(1)), Some(PathEvent::Closed(PathId(1))));
        assert_eq!(state.apply(Validated).unwrap().report(PathId(1)), None);
        assert!(state.is_abandoned() && !state.can_send() && state.can_receive());
        assert_eq!(state.policy_state(), None);
    }
}

#[test]
fn unused_path_can_be_abandoned_without_a_word_to_the_application() {
    let mut state = Unused;
    assert_eq!(state.apply(AbandonedByPeer).unwrap().report(PathId(2)), None);
    assert_eq!(state, Draining);
}

proptest! {
    #[test]
    fn any_events(events in prop::collection::vec(0..EVENTS.len(), 0..60), peer_first: bool) {
        let mut state = Unused;
        let mut reports = Vec::new();
        let mut was_abandoned = false;
        for event in events.into_iter().map(|index| EVENTS[index]) {
            let before = state;
            match state.apply(event) {
                Ok(step) => reports.extend(step.report(PathId(1))),
                Err(_) => prop_assert_eq!(state, before),
            }
            prop_assert!(!was_abandoned || state.is_abandoned(), "{before:?} came back to life by {event:?}");
            was_abandoned = state.is_abandoned();
        }
        let abandon = if peer_first { AbandonedByPeer } else { AbandonedLocally };
        reports.extend(state.apply(abandon).unwrap().report(PathId(1)));
        reports.extend(state.apply(PeriodOver).unwrap().report(PathId(1)));
        prop_assert_eq!(state, Closed);

        let closed = reports.iter().filter(|report| matches!(report, PathEvent::Closed(_))).count();
        let established = reports.iter().filter(|report| matches!(report, PathEvent::Established(_))).count();
        prop_assert!(closed <= 1 && established <= closed);
        if closed == 1 {
            prop_assert_eq!(reports.last(), Some(&PathEvent::Closed(PathId(1))));
        }
    }
}
