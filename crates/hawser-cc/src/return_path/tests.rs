use super::*;
use crate::testing::ack;

fn by(path: u32, at_ms: u64, rtt_ms: u64) -> Ack {
    let rtt = Duration::from_millis(rtt_ms);
    Ack { received_on: PathId(path), ..ack(Time::from_millis(at_ms), 1_000, rtt) }
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
