use std::time::Duration;

use super::*;
use crate::testing::ack;

/// Acknowledgements of a train of `packets` that left this far apart and came that far apart, microseconds. The first one begins the
/// round.
fn train(packets: u64, left: u64, came: u64, window: f64) -> Step {
    let mut startup = Startup::default();
    let mut last = Step::Grow;
    for at in 0..packets {
        let sent = Time::from_secs(1) + Duration::from_micros(at * left);
        let now = Time::from_secs(1) + Duration::from_millis(40) + Duration::from_micros(at * came);
        let heard = ack(now, 1_000, now.since(sent)).with(|ack| ack.largest_sent_at = sent);
        let seen = Seen { round_over: at == 0, datagram: 1_000.0, window, base: 0.04, rate: 1e6 };
        last = startup.on_ack(&heard, &seen);
        if last != Step::Grow {
            break;
        }
    }
    last
}

#[test]
fn a_train_that_comes_as_it_left_goes_on() {
    assert_eq!(train(60, 200, 200, 60_000.0), Step::Grow);
}

/// 1000 bytes each 200 us are 5 MB/s, 200 kB in 40 ms.
#[test]
fn a_stretched_train_shows_the_capacity() {
    let Step::Full(Some(capacity)) = train(60, 80, 200, 60_000.0) else { panic!("not seen") };
    assert!((capacity - 5e6).abs() < 1e3, "{capacity}");
}

/// A window of a tenth of the product: first it has to come closer.
#[test]
fn a_short_train_far_below_the_product_does_not_count() {
    assert_eq!(train(60, 80, 200, 20_000.0), Step::Grow);
}

#[test]
fn three_rounds_without_growth_end_it() {
    let mut startup = Startup::default();
    let seen = Seen { round_over: true, datagram: 1_000.0, window: 100_000.0, base: 0.04, rate: 1e6 };
    let steps: Vec<Step> = (1..=4)
        .map(|round| {
            startup.on_ack(&ack(Time::from_millis(round * 40), 1_000, Duration::from_millis(40)), &seen)
        })
        .collect();
    assert_eq!(steps, [Step::Grow, Step::Grow, Step::Grow, Step::Full(None)]);
}
