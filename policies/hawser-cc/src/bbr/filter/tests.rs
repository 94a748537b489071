use super::*;

#[test]
fn a_round_ends_with_the_first_packet_sent_in_it() {
    let mut rounds = Rounds::default();
    // Ten packets leave, then one for each that is acknowledged.
    let mut starts = Vec::new();
    for acked in 1..=40u64 {
        let prior = acked.saturating_sub(10);
        rounds.on_ack(prior, acked);
        if rounds.started {
            starts.push(acked);
        }
    }
    assert_eq!(starts, [1, 11, 21, 31]);
}

#[test]
fn two_slots_forget_the_cycle_before_last() {
    let mut filter = TwoSlotMax::default();
    filter.update(5.0);
    filter.advance();
    filter.update(3.0);
    assert_eq!(filter.max(), 5.0);
    filter.advance();
    assert_eq!(filter.max(), 3.0);
    // Nothing was measured: nothing is forgotten.
    filter.advance();
    filter.advance();
    assert_eq!(filter.max(), 3.0);
}

#[test]
fn a_window_of_rounds_forgets_the_oldest() {
    let mut window = RoundWindow::new(3);
    for value in [7.0, 4.0, 5.0] {
        window.next_round();
        window.raise(value);
    }
    assert_eq!((window.max(), window.min()), (Some(7.0), Some(4.0)));
    window.next_round();
    assert_eq!(window.max(), Some(5.0));
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut pipe = FullPipe::default();
    for bandwidth in [100.0, 200.0, 249.0, 249.0] {
        pipe.on_round(bandwidth);
        assert!(!pipe.reached, "{bandwidth}");
    }
    pipe.on_round(249.0);
    assert!(pipe.reached && pipe.now);
    pipe.restart(0.0);
    assert!(pipe.reached && !pipe.now, "it was full once");
}

/// At 1,000 bytes per second heaps of 300 bytes every 300 ms are 300 bytes more than a steady stream explains.
#[test]
fn heaps_of_acknowledgements_are_seen() {
    let mut aggregation = Aggregation::new(Time::ZERO);
    for heap in 1..=4u64 {
        aggregation.on_ack(&AggregatedAck {
            now: Time::from_millis(300 * heap),
            acked: 300.0,
            bandwidth: 1_000.0,
            window: 10_000.0,
            round_start: heap == 1,
            pipe_full: true,
        });
    }
    assert_eq!(aggregation.buckets[1], 300.0);
    // No more than 100 ms of the bandwidth.
    assert_eq!(aggregation.extra(1_000.0), 100.0);
}
