use std::time::Duration;

use hawser_policy::PathId;
use hawser_wire::Frame;

use super::Abandonment;
use crate::Code;
use crate::connection::frames::PathControl;
use crate::connection::paths::testing::{millis, write, write_in};

const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

//= multipath-3.4-1, multipath-4.2-1
#[test]
fn repeated_until_acknowledged() {
    let mut abandonment = Abandonment::by_us(PathId(4), Code(0x3e));
    assert!(write_in(3, |w, f| abandonment.write(w, f)).is_empty());
    assert!(abandonment.pending(), "it did not fit");
    let written = write(|w, f| abandonment.write(w, f));
    assert_eq!(written.decode(), [Frame::PathAbandon { path_id: 4, error_code: 0x3e }]);
    assert_eq!(written.controls(), [PathControl::Abandon(PathId(4))]);
    assert!(write(|w, f| abandonment.write(w, f)).is_empty());
    abandonment.on_lost();
    assert!(abandonment.pending());
    write(|w, f| abandonment.write(w, f));
    abandonment.on_acked(millis(500), PROBE_TIMEOUT);
    abandonment.on_lost();
    assert!(!abandonment.pending());
}

/// The path that carried it may be out of coverage.
#[test]
fn every_probe_says_it_until_one_is_acknowledged() {
    let mut abandonment = Abandonment::by_us(PathId(4), Code(0x3e));
    for _ in 0..3 {
        let written = write(|w, f| abandonment.write_again(w, f));
        assert_eq!(written.decode(), [Frame::PathAbandon { path_id: 4, error_code: 0x3e }]);
        assert!(!abandonment.pending(), "other packets need not");
    }
    abandonment.on_acked(millis(500), PROBE_TIMEOUT);
    assert!(write(|w, f| abandonment.write_again(w, f)).is_empty());
}

//= multipath-3.4-5, multipath-3.4-6
#[test]
fn kept_three_probe_timeouts_after_the_answer() {
    let mut abandonment = Abandonment::by_us(PathId(1), Code::NO_ERROR);
    write(|w, f| abandonment.write(w, f));
    assert_eq!(abandonment.timeout(), None, "the peer may not know");
    abandonment.on_acked(millis(100), PROBE_TIMEOUT);
    assert_eq!(abandonment.timeout(), Some(millis(400)), "it must answer within that time");
    abandonment.on_peer(millis(200), PROBE_TIMEOUT);
    assert_eq!(abandonment.timeout(), Some(millis(500)));
    abandonment.on_peer(millis(450), PROBE_TIMEOUT);
    assert_eq!(abandonment.timeout(), Some(millis(500)), "a repetition prolongs nothing");
}

//= multipath-3.4-4
#[test]
fn crossing_abandonments_are_both_answered() {
    // The local one is lost while the peer's is under way: the peer's is no answer, it still waits for one.
    let mut abandonment = Abandonment::by_us(PathId(1), Code(0x3e76));
    write(|w, f| abandonment.write(w, f));
    abandonment.on_peer(millis(10), PROBE_TIMEOUT);
    abandonment.on_lost();
    assert!(abandonment.pending());
    assert_eq!(abandonment.timeout(), None);
    write(|w, f| abandonment.write(w, f));
    abandonment.on_acked(millis(900), PROBE_TIMEOUT);
    assert_eq!(abandonment.timeout(), Some(millis(310)));
}

//= multipath-3.4-4
#[test]
fn answer_to_the_peer() {
    let mut abandonment = Abandonment::by_peer(PathId(7), millis(0), PROBE_TIMEOUT);
    let written = write(|w, f| abandonment.write(w, f));
    assert_eq!(written.decode(), [Frame::PathAbandon { path_id: 7, error_code: 0 }]);
    abandonment.on_acked(millis(50), PROBE_TIMEOUT);
    assert_eq!(abandonment.timeout(), Some(millis(300)));
}
