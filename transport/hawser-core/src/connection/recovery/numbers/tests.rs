use proptest::prelude::*;

use super::*;
use crate::error::Code;

#[test]
fn a_packet_that_was_never_sent_cannot_be_acknowledged() {
    let mut numbers = PacketNumbers::new(false);
    for expected in 0..3 {
        assert_eq!(numbers.take(7), expected);
    }
    assert_eq!(numbers.check_acknowledged(&(0..=2)), Ok(()));
    let error = numbers.check_acknowledged(&(1..=3)).expect_err("3 was not sent");
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
    assert_eq!(error.reason, "acknowledged packet 3, but only packets below 3 were sent");
}

#[test]
fn the_handshake_has_no_gaps() {
    let mut numbers = PacketNumbers::new(false);
    for expected in 0..10_000 {
        assert_eq!(numbers.take(expected), expected);
    }
}

//= rfc9000-12.3-1, rfc9000-12.3-2
#[test]
fn gaps_come_soon_and_then_rarely() {
    let mut numbers = PacketNumbers::new(true);
    let sent = (0..1_000_000u64).map(|i| numbers.take(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).count() as u64;
    let gaps = numbers.end() - sent;
    assert!((12..40).contains(&gaps), "{gaps} gaps");
    assert!(numbers.skipped.len() <= MAX_SKIPPED);
}

proptest! {
    /// Every number is either handed out or refused in an acknowledgement.
    #[test]
    fn an_optimistic_receiver_is_caught(rng in prop::collection::vec(any::<u64>(), 600)) {
        let mut numbers = PacketNumbers::new(true);
        let sent: Vec<u64> = rng.into_iter().map(|rng| numbers.take(rng)).collect();
        prop_assert!(sent.windows(2).all(|pair| pair[0] < pair[1]));
        let gaps: Vec<u64> = (0..numbers.end()).filter(|number| sent.binary_search(number).is_err()).collect();
        prop_assert!(gaps.first().is_some_and(|&first| (1..=FIRST_PERIOD).contains(&first)));
        for &number in &sent {
            prop_assert!(numbers.check_acknowledged(&(number..=number)).is_ok());
        }
        for &gap in &gaps {
            prop_assert_eq!(numbers.skipped_between(&(gap..gap + 1)), 1);
            let error = numbers.check_acknowledged(&(gap - 1..=gap + 1)).expect_err("a gap");
            prop_assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
        }
        prop_assert!(numbers.check_acknowledged(&(0..=numbers.end() - 1)).is_err());
    }
}
