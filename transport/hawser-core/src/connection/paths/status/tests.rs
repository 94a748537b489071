use hawser_policy::{PathId, PathStatus};
use hawser_wire::Frame;

use super::StatusExchange;
use crate::connection::frames::PathControl;
use crate::connection::paths::testing::write;

fn status(sequence_number: u64, status: hawser_wire::frame::PathStatus) -> Frame<'static> {
    Frame::PathStatus { path_id: 2, sequence_number, status }
}

//= multipath-4.3-1, multipath-4.3-3
#[test]
fn only_the_newest_wish_is_repeated() {
    let mut exchange = StatusExchange::new(PathId(2));
    assert!(!exchange.pending(), "the default need not be said");

    exchange.set(PathStatus::Backup);
    let first = write(|w, f| exchange.write(w, f));
    assert_eq!(first.decode(), [status(0, hawser_wire::frame::PathStatus::Backup)]);
    assert_eq!(first.controls(), [PathControl::Status { path: PathId(2), sequence: 0 }]);
    assert!(!exchange.pending());

    exchange.set(PathStatus::Available);
    let second = write(|w, f| exchange.write(w, f));
    assert_eq!(second.decode(), [status(1, hawser_wire::frame::PathStatus::Available)]);

    exchange.on_lost(0);
    assert!(!exchange.pending(), "something newer was said");
    exchange.on_lost(1);
    assert!(exchange.pending());
    exchange.on_acked(1);
    assert!(!exchange.pending(), "it arrived after all");
    exchange.on_lost(1);
    assert!(!exchange.pending());
}

//= multipath-4.3-2
#[test]
fn late_frames_of_the_peer_are_ignored() {
    let mut exchange = StatusExchange::new(PathId(2));
    assert_eq!(exchange.peer(), None);
    assert!(exchange.on_frame(5, PathStatus::Backup));
    assert!(!exchange.on_frame(4, PathStatus::Available));
    assert!(!exchange.on_frame(5, PathStatus::Available));
    assert_eq!(exchange.effective(), PathStatus::Backup);
    assert!(!exchange.on_frame(6, PathStatus::Backup), "no change");
    assert!(exchange.on_frame(7, PathStatus::Available));
    assert_eq!(exchange.effective(), PathStatus::Available);
    exchange.set(PathStatus::Backup);
    assert_eq!(exchange.effective(), PathStatus::Backup);
}

#[test]
fn nothing_is_said_of_an_abandoned_path() {
    let mut exchange = StatusExchange::new(PathId(2));
    exchange.set(PathStatus::Backup);
    write(|w, f| exchange.write(w, f));
    exchange.stop();
    exchange.on_lost(0);
    assert!(!exchange.pending());
    exchange.set(PathStatus::Available);
    assert!(!exchange.pending() && write(|w, f| exchange.write(w, f)).is_empty());
}
