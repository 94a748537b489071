//! Frames with deadlines over two links, one of which dies for a while: what arrives, when, and what does not.

#[allow(dead_code)] // Its `main` prints; here it is measured.
#[path = "../examples/frames_with_deadlines.rs"]
mod film;

use std::time::Duration;

use film::{Film, Sending};
use hawser_policy::Time;

/// The stream has no hole: each byte is data or a gap, in order, and both ends count alike.
fn check(film: &Film) {
    let mut at = 0;
    for (_, piece, _) in &film.pieces {
        assert_eq!(piece.start, at);
        at = piece.end;
    }
    assert_eq!(at, film.frames.iter().map(|frame| frame.range.end).max().unwrap_or(0));
    let gaps: Vec<_> = film.pieces.iter().filter(|(_, _, is_data)| !is_data).collect();
    let missed: u64 = gaps.iter().map(|(_, gap, _)| gap.end - gap.start).sum();
    println!("{} gaps, {missed} bytes; {} bytes discarded", gaps.len(), film.bytes_discarded);
    assert_eq!(missed, film.bytes_missed);
    // What was taken for lost may have arrived all the same.
    assert!(missed <= film.bytes_discarded);
    // Gaps come with the outage, from 3 to 5 s, and until the link is found to be back; and in the first half second, while
    // little is known of the paths.
    for (at, gap, _) in gaps {
        let millis = at.since(Time::ZERO).as_millis();
        assert!((1_000..1_500).contains(&millis) || (3_000..6_500).contains(&millis), "{gap:?} at {at}");
    }
}

#[test]
fn frames_that_expire_are_gaps_and_do_not_hold_up_others() {
    let [deadlines, scheduled, reliable] =
        [Sending::Deadlines, Sending::Scheduled, Sending::Reliable].map(|sending| {
            let film = film::run(sending, |_| {});
            let (complete, worst) = (film.complete(), [false, true].map(|is_key| film.worst_delay(is_key)));
            println!("{sending:?}: {complete} of {} frames, at worst after {worst:?}", film.frames.len());
            check(&film);
            film
        });
    assert_eq!((reliable.complete(), reliable.bytes_discarded), (reliable.frames.len(), 0));
    assert!(reliable.worst_delay(false) > Duration::from_millis(600), "the outage builds a backlog");
    for film in [&deadlines, &scheduled] {
        // A frame that left in time may stand in the link's queue of 100 ms, or be lost and be sent again in time.
        assert!(film.worst_delay(false) < Duration::from_millis(450), "{:?}", film.worst_delay(false));
        assert!(film.bytes_missed > 0);
        assert!(film.frames.iter().filter(|frame| frame.is_key).all(|frame| frame.complete_at.is_some()));
    }
    // 180 frames have both links. In the outage nearly every frame loses its end, unless some are left out as a whole: the
    // link that is left carries two thirds of the film.
    assert!(deadlines.complete() >= 190, "{}", deadlines.complete());
    assert!(scheduled.complete() >= 215, "{}", scheduled.complete());
    assert!(scheduled.complete() >= deadlines.complete() + 15, "{}", deadlines.complete());
}
