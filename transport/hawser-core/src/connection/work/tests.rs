use std::time::Duration;

use super::*;

#[test]
fn no_more_is_spent_than_was_paid_in() {
    let mut work = Work::new();
    assert!(work.pay(1, MOST / 8));
    assert!(!work.pay(1, ENTRY));
    work.earn(10);
    assert!(work.pay(10, PER_BYTE));
    assert!(!work.pay(usize::MAX, u64::MAX));
    work.earn(usize::MAX);
    assert!(work.pay(1, MOST) && !work.pay(1, 1));
    assert_eq!(work.spent(), MOST / 8 + 10 * PER_BYTE + MOST);
}

#[test]
fn a_debt_is_paid_off_by_time_or_by_what_arrives() {
    let mut work = Work::new();
    let now = Time::from_secs(1);
    assert!(work.is_tolerable(now) && !work.is_overdrawn(now));
    work.charge(MOST / 8 + 1_000_000);
    assert!(work.is_tolerable(now) && work.is_overdrawn(now));
    assert!(!work.pay(1, 1), "nothing is done on credit");
    assert!(work.is_overdrawn(now + Duration::from_micros(999)));
    assert!(!work.is_overdrawn(now + Duration::from_micros(1_000)));
    work.charge(PER_PACKET + 100 * PER_BYTE);
    work.earn_packet(100);
    assert!(!work.is_overdrawn(now + Duration::from_micros(1_000)));
}

#[test]
fn who_overdraws_again_and_again_is_not_tolerated() {
    let (mut work, mut now) = (Work::new(), Time::from_secs(1));
    let mut overdraw = |work: &mut Work| {
        work.charge(2 * MOST);
        let is_tolerable = work.is_tolerable(now);
        now += Duration::from_secs(1);
        assert!(!work.is_overdrawn(now));
        is_tolerable
    };
    assert!((0..MAX_OVERDRAFTS).all(|_| overdraw(&mut work)));
    assert!(!overdraw(&mut work));
    // Who behaves in between is forgiven.
    work.earn(usize::MAX >> 10);
    assert!(overdraw(&mut work));
}

/// Every sequence of five steps: nothing is saved up beyond the cap, nobody has both credit and debt, and what was spent was paid in or
/// is owed.
#[test]
fn every_short_sequence_keeps_the_account_in_order() {
    type Step = fn(&mut Work, &mut Time);
    const STEPS: [Step; 7] = [
        |work, _| work.earn_packet(1_150),
        |work, _| work.earn_sent(),
        |work, _| work.earn(usize::MAX),
        |work, _| {
            let _ = work.pay(3, MOST / 8);
        },
        |work, _| work.charge(MOST / 2),
        |work, _| work.charge(1 << 60),
        |work, now| {
            *now += Duration::from_millis(5);
            let _ = work.is_tolerable(*now) && work.is_overdrawn(*now);
        },
    ];
    for number in 0..STEPS.len().pow(5) {
        let (mut work, mut now) = (Work::new(), Time::from_secs(1));
        for step in 0..5 {
            let before = (work.credit, work.debt, work.spent);
            let which = number / STEPS.len().pow(step) % STEPS.len();
            STEPS[which](&mut work, &mut now);
            assert!(work.credit <= MOST && (work.credit == 0 || work.debt == 0), "{number}: {work:?}");
            let spends = (3..6).contains(&which);
            assert!(work.spent >= before.2 && (spends || work.spent == before.2), "{number}: {work:?}");
            if which == 3 {
                assert_eq!((before.0 - work.credit, work.debt), (work.spent - before.2, before.1));
            }
            if !spends {
                assert!(work.debt <= before.1, "{number}: nobody owes more by what arrives or by waiting");
            }
        }
    }
}
