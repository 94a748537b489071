//! One-way delays from receive timestamps against the truth of the links.

use std::time::Duration;

use hawser_link::{DirectionConfig, MILLISECOND};
use hawser_policy::{PathId, PathStatus};
use hawser_sim::Verdict;
use hawser_sim::testing::{client_address, link};

use crate::common::{Net, config, download, finish, open, server_side};

/// Times are reported in units of 2^3 microseconds.
const RESOLUTION: Duration = Duration::from_micros(8);

/// A download in which both ends ask for receive timestamps.
fn network(seed: u64, length: u64) -> Net {
    let transport = config("minrtt", "cubic").with(|transport| transport.receive_timestamps = Some(32));
    download(seed, transport, length)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One-way delays of the server on a path, as they change, until the download is over.
fn samples(network: &mut Net, path: PathId) -> Vec<Duration> {
    let mut samples = Vec::new();
    let deadline = network.now() + Duration::from_secs(60);
    network.run_until(deadline, |network| {
        let stats = network.server.first_connection().and_then(|connection| connection.path_stats(path));
        samples.extend(stats.and_then(|stats| stats.one_way_delay));
        samples.dedup();
        network.client.application.finished_at.is_some()
    });
    samples
}

fn range(samples: &[Duration]) -> (Duration, Duration) {
    (*samples.iter().min().expect("some"), *samples.iter().max().expect("some"))
}

/// Round trips of 50 and 75 ms; but towards the client it is the first path that is slower, by 25 ms. There are no queues.
#[test]
fn they_tell_apart_what_round_trips_do_not() {
    for seed in 1..=5 {
        let mut network = network(seed, 3_000_000);
        let delay = |delay| DirectionConfig::with_delay(delay * MILLISECOND);
        network.add_link(client_address(0).ip(), &delay(10), &delay(40));
        network.add_link(client_address(1).ip(), &delay(60), &delay(15));
        let second = open(&mut network, 1, PathStatus::Available);
        finish(&mut network, 20);
        let mut delay_of = |path| server_side(&mut network).path_stats(path).and_then(|s| s.one_way_delay);
        let (first, second) =
            (delay_of(PathId::ZERO).expect("reported"), delay_of(second).expect("reported"));
        let error = first.abs_diff(second + millis(25));
        assert!(error <= 2 * RESOLUTION, "seed {seed}: {first:?} and {second:?}, off by {error:?}");
    }
}

/// Every sample of a link without a queue is its delay plus the constant, also while the way back is slower by 50 ms.
#[test]
fn the_way_back_does_not_matter() {
    let mut network = network(7, 3_000_000);
    let delay = DirectionConfig::with_delay(30 * MILLISECOND);
    network.add_link(client_address(0).ip(), &delay, &delay);
    let server = hawser_sim::testing::SERVER;
    network.set_filter(move |now, _, packet| {
        let back = packet.tuple.remote == server && now.as_secs_f64() > 0.3;
        if back { Verdict::Delay(millis(50)) } else { Verdict::Pass }
    });
    let samples = samples(&mut network, PathId::ZERO);
    let stats = server_side(&mut network).path_stats(PathId::ZERO).expect("it carried the data");
    assert!(stats.smoothed_rtt > stats.min_rtt + millis(20), "{stats:?}");
    let (least, most) = range(&samples);
    assert!(most - least <= RESOLUTION, "{least:?} to {most:?}");
}

/// A loss-based controller fills the queue of 100 ms before it backs off, and that is what is seen.
#[test]
fn a_queue_is_seen_in_full() {
    let mut network = network(3, 20_000_000);
    network.add_link(client_address(0).ip(), &link(20, 25), &link(20, 25));
    let samples = samples(&mut network, PathId::ZERO);
    let (least, most) = range(&samples);
    println!("{} samples, {:?}", samples.len(), most - least);
    assert!(samples.len() > 500);
    assert!((millis(97)..=millis(102)).contains(&(most - least)), "{:?}", most - least);
}
