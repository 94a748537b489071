use super::*;
use crate::testing::ack;

fn by(path: u32, at_ms: u64, rtt_ms: u64) -> Ack {
    let rtt = Duration::from_millis(rtt_ms);
    ack(Time::from_millis(at_ms), 1_000, rtt).with(|ack| ack.received_on = PathId(path))
}

#[test]
fn samples_of_another_return_path_are_left_out() {
    let mut usual = ReturnPath::default();
    let of = |usual: &mut ReturnPath, path, at, rtt| {
        usual.sample(&by(path, at, rtt)).map(|sample| (sample.adjusted.as_millis(), sample.changed))
    };
    assert_eq!(of(&mut usual, 0, 0, 50), Some((50, false)));
    assert_eq!(of(&mut usual, 1, 10, 20), None);
    assert_eq!(of(&mut usual, 0, 20, 51), Some((51, false)));
    // Path 0 brings nothing any more: from half a second on the other one counts, with a mark that it is another.
    assert_eq!(of(&mut usual, 1, 520, 20), None);
    assert_eq!(of(&mut usual, 1, 530, 20), Some((20, true)));
    assert_eq!(of(&mut usual, 1, 540, 21), Some((21, false)));
    assert_eq!(of(&mut usual, 0, 550, 50), None);
}

/// A path begins with acknowledgements on itself, until the peer knows of a quicker way back. What comes first must not leave out
/// all that follows for half a second, in which slow start would see no queue.
#[test]
fn the_return_path_of_the_first_sample_is_not_yet_the_usual_one() {
    let mut usual = ReturnPath::default();
    let of = |usual: &mut ReturnPath, path, at, rtt| {
        usual.sample(&by(path, at, rtt)).map(|sample| (sample.adjusted.as_millis(), sample.changed))
    };
    assert_eq!(of(&mut usual, 1, 0, 61), Some((61, false)));
    assert_eq!(of(&mut usual, 0, 40, 41), None);
    assert_eq!(of(&mut usual, 0, 41, 41), Some((41, true)), "two samples against one");
    for at in 42..60 {
        assert_eq!(of(&mut usual, 0, at, 41), Some((41, false)));
    }
    // By now it is the usual one, and a few of another say nothing.
    for at in 60..90 {
        assert_eq!(of(&mut usual, 1, at, 61), None);
    }
    assert_eq!(of(&mut usual, 0, 90, 42), Some((42, false)));
}
