//! Response functions: the mean window at a loss rate, against the formulas.

use std::time::Duration;

use hawser_policy::Time;

use crate::testing::bottleneck::{Link, Network};
use crate::testing::build_with;

const RTT: Duration = Duration::from_millis(100);

/// The mean window in datagrams where one of `every` packets is lost on a link that is never full.
fn mean_window(spec: &str, every: u64, seconds: u64) -> f64 {
    let mut link = Link::new(1_000.0, 10_000_000);
    link.loss_every = Some(every);
    let mut network = Network::new(vec![link]);
    network.add(|init| build_with(spec, init), (0, 0), RTT, (Time::ZERO, Time::FAR_FUTURE));
    network.run(Time::from_secs(seconds / 5));
    network.forget();
    network.run(Time::from_secs(seconds / 5 + seconds));
    network.goodput(0) * 1e6 / 8.0 / 1_000.0 * RTT.as_secs_f64()
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 0.12, "{actual} instead of {expected}");
}

/// sqrt(3 / 2p): 38.7 at one in a thousand.
#[test]
fn new_reno() {
    assert_near(mean_window("newreno", 1_000, 300), 1_500f64.sqrt());
}

/// RFC 9438 equation 5 with C = 0.4, beta = 0.7: (C 3.7 / 1.2)^(1/4) RTT^(3/4) / p^(3/4) = 187 at one in ten thousand.
/// Fast convergence, which the formula leaves out, takes a tenth (205 without it).
#[test]
fn cubic() {
    let expected = (0.4f64 * 3.7 / 1.2).powf(0.25) * 0.1f64.powf(0.75) * 10_000f64.powf(0.75);
    assert_near(mean_window("cubic", 10_000, 300), expected);
}

/// Where the round trip is short, or loss frequent, CUBIC follows Reno (section 4.3): here 1.2 / p^(1/2) again.
#[test]
fn cubic_where_reno_is_faster() {
    assert_near(mean_window("cubic", 200, 300), 300f64.sqrt());
}
