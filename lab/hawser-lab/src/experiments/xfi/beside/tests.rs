use hawser_core::PathStats;
use hawser_policy::PathId;

use super::*;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A receiver that had so many bytes in order and so many behind a gap, while so many were in flight over the cellular link and
/// over the WiFi.
fn progress(samples: &[(u64, u64, u64, u64, u64)]) -> Progress {
    let mut progress = Progress::default();
    for &(ms, bytes, waiting, cellular, wifi) in samples {
        progress.flow(&FlowSample { at: at(ms), flow: "main", bytes, completed: 0, waiting });
        for (id, link, in_flight) in [(0, CELLULAR, cellular), (1, WIFI, wifi)] {
            let mut stats = PathStats::default();
            stats.bytes_in_flight = in_flight;
            progress.path(&PathSample { at: at(ms), flow: "main", path: PathId(id), link, stats: &stats });
        }
    }
    progress
}

/// The WiFi goes at 100 ms with 300 bytes in flight, of which the sender hears at 120 ms.
const DEPARTURE: [(u64, u64, u64, u64, u64); 4] =
    [(95, 1_000, 0, 200, 300), (100, 1_000, 0, 200, 300), (110, 1_100, 0, 200, 400), (120, 1_200, 0, 300, 0)];

#[test]
fn a_departure_is_made_good_once_all_that_was_sent_before_has_come() {
    let mut samples = DEPARTURE.to_vec();
    samples.extend([(300, 1_650, 500, 100, 0), (400, 2_000, 0, 100, 0)]);
    // 1,100 in order, 200 and 400 in flight: what the sender had sent when it heard of it is at most 1,700.
    assert_eq!(progress(&samples).made_good(at(100)), Some(at(400)));
}

#[test]
fn what_never_comes_is_never_made_good() {
    assert_eq!(progress(&DEPARTURE).made_good(at(100)), None);
}

#[test]
fn a_stall_that_begins_after_all_is_made_good_is_another_ones() {
    let mut samples = DEPARTURE.to_vec();
    samples.extend([(300, 1_800, 0, 100, 0), (400, 1_900, 0, 100, 200), (900, 2_500, 0, 100, 200)]);
    let progress = progress(&samples);
    let over = progress.made_good(at(100)).expect("all has come");
    assert_eq!(over, at(300));
    let stall = progress.stall(at(100), over).expect("it is watched");
    assert!((stall.since - 0.180).abs() < 1e-9, "{}", stall.since);
    let all = progress.stall(at(100), at(3_100)).expect("it is watched");
    assert!((all.since - 0.500).abs() < 1e-9, "{}", all.since);
    assert!(progress.longest_outside(&[(at(100), over)]) > 0.499);
    assert!(progress.longest_outside(&[(at(100), at(3_100))]) < 0.006);
}
