use hawser_policy::QueueView;

use super::*;
use crate::testing::{path, view_at};

const NONE: [u64; 0] = [];

/// A path of 40 ms whose acknowledgements wait.
struct Bed {
    thin: ThinReturn,
    now: u64,
    window: u64,
}

impl Bed {
    fn new(window: u64) -> Self {
        Bed { thin: ThinReturn::default(), now: 0, window }
    }

    /// For so many ms acknowledgements wait for so long; returns the thresholds that the peer is asked for.
    fn wait(&mut self, duration: u64, back_ms: u64, forward_ms: u64) -> Vec<u64> {
        let mut commands = Vec::new();
        for _ in 0..duration / 10 {
            self.now += 10;
            let one = path(1, 40, 0).with(|path| {
                path.latest_rtt = Duration::from_millis(40 + back_ms + forward_ms); // The clocks differ by a second.
                path.one_way_delay = Some(Duration::from_millis(1_020 + forward_ms));
                path.congestion_window = self.window;
            });
            let one = one.with(|path| path.bytes_in_flight = self.window);
            let paths = [one];
            let view = view_at(Time::from_millis(self.now), &paths, QueueView::default());
            if self.thin.is_due(view.now) {
                self.thin.look(&view, &mut commands);
            }
        }
        let threshold = |command: &Command| match command {
            Command::RequestAckFrequency(frequency) => Some(frequency.ack_eliciting_threshold),
            _ => None,
        };
        commands.iter().filter_map(threshold).collect()
    }
}

#[test]
fn fewer_are_asked_for_while_the_way_back_is_full_and_as_many_as_before_when_it_is_empty() {
    let mut bed = Bed::new(1_000_000);
    assert_eq!(bed.wait(1_000, 0, 0), NONE);
    assert_eq!(bed.wait(1_000, 60, 0), [9]);
    assert_eq!(bed.wait(60_000, 60, 0), NONE);
    assert_eq!(bed.wait(9_900, 0, 0), NONE, "it may be empty because of that");
    assert_eq!(bed.wait(1_000, 0, 0), [1]);
    assert_eq!(bed.wait(1_000, 60, 0), [9]);
    assert_eq!(bed.wait(19_900, 0, 0), NONE, "twice as long the second time");
    assert_eq!(bed.wait(1_000, 0, 0), [1]);
}

#[test]
fn a_queue_of_data_is_not_one_of_acknowledgements_and_short_waits_are_none() {
    let mut bed = Bed::new(1_000_000);
    assert_eq!(bed.wait(1_000, 0, 0), NONE);
    assert_eq!(bed.wait(5_000, 0, 300), NONE, "data waits");
    assert_eq!(bed.wait(5_000, 14, 0), NONE, "a radio that takes turns");
    for _ in 0..20 {
        assert_eq!(bed.wait(150, 100, 0), NONE, "three looks");
        assert_eq!(bed.wait(50, 0, 0), NONE);
    }
}

#[test]
fn an_eighth_of_a_window_has_an_acknowledgement_at_least() {
    for (datagrams, threshold) in [(200, 9), (40, 4), (10, 1)] {
        let mut bed = Bed::new(datagrams * crate::testing::DATAGRAM);
        bed.wait(1_000, 0, 0);
        assert_eq!(bed.wait(1_000, 60, 0), [threshold], "{datagrams} datagrams");
        bed.window = 16 * crate::testing::DATAGRAM;
        let shrunk = if threshold > 1 { vec![1] } else { vec![] };
        assert_eq!(bed.wait(1_000, 60, 0), shrunk);
    }
}

#[test]
fn peers_that_do_not_tell_when_packets_arrive_are_asked_for_nothing() {
    let mut thin = ThinReturn::default();
    let mut commands = Vec::new();
    for ms in 0..1_000 {
        let one = path(1, 40, 0).with(|path| path.latest_rtt = Duration::from_millis(40 + ms));
        thin.look(&view_at(Time::from_millis(ms), &[one], QueueView::default()), &mut commands);
    }
    assert!(commands.is_empty());
}
