use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::Frame;

use super::{
    MAX_PENDING_RESPONSES, MAX_VALIDATION_DEBT, ResponseEffect, ResponseQueue, TupleValidation,
    VALIDATION_BURST, VALIDATION_INTERVAL, ValidationFailure, ValidationPacer,
};
use crate::FourTuple;
use crate::connection::arrival::Arrival;
use crate::connection::paths::testing::{millis, tuple, write, write_in};

/// A datagram of its own.
fn arrival(tuple: FourTuple, datagram_bytes: usize) -> Arrival {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = millis(0);
    let datagram_number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Arrival { now, tuple, ecn: None, received_at: now, datagram_bytes, datagram_number }
}

const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

fn challenge(validation: &mut TupleValidation, now: Time, n: u8, full_size: bool) -> bool {
    let written = write(|w, _| {
        validation.write(now, [n; 8], full_size, w);
    });
    assert!(written.is_empty() || written.decode() == [Frame::PathChallenge([n; 8])]);
    !written.is_empty()
}

//= rfc9000-8.2.1-2, rfc9000-8.2.4-1, rfc9000-8.2.4-2
#[test]
fn repeated_with_back_off_then_given_up() {
    let mut validation = TupleValidation::new(millis(1000), PROBE_TIMEOUT);
    assert!(!challenge(&mut validation, millis(999), 0, true), "not before its start");
    let sent: Vec<u64> = (1000..1300)
        .filter(|at| {
            validation.failure(millis(*at)).is_none() && challenge(&mut validation, millis(*at), 1, true)
        })
        .collect();
    assert_eq!(sent, [1000, 1025, 1075, 1175]);
    assert_eq!(validation.timeout(), millis(1300));
    assert_eq!(validation.failure(millis(1299)), None);
    assert_eq!(validation.failure(millis(1300)), Some(ValidationFailure::Unreachable));
}

//= rfc9000-8.2.1-3
#[test]
fn any_of_the_challenges_may_be_answered_and_no_other() {
    let mut validation = TupleValidation::new(millis(0), PROBE_TIMEOUT);
    challenge(&mut validation, millis(0), 1, true);
    challenge(&mut validation, millis(100), 2, true);
    assert_eq!(validation.on_response(millis(120), [3; 8]), ResponseEffect::None);
    assert_eq!(validation.on_response(millis(120), [1; 8]), ResponseEffect::Complete);
}

//= multipath-3.1-6, rfc9000-8.2.1-4, rfc9000-8.2.1-5, rfc9000-8.2.3-1, rfc9000-14-1, rfc9000-14.2-4
#[test]
fn short_challenge_proves_the_address_and_is_followed_by_a_full_one() {
    let mut validation = TupleValidation::new(millis(0), PROBE_TIMEOUT);
    challenge(&mut validation, millis(0), 1, false);
    assert_eq!(validation.on_response(millis(40), [1; 8]), ResponseEffect::AddressProven);
    assert!(challenge(&mut validation, millis(40), 2, true));
    assert_eq!(validation.failure(millis(339)), None, "a period of its own");
    assert_eq!(validation.failure(millis(340)), Some(ValidationFailure::DatagramsTooSmall));
    assert_eq!(validation.on_response(millis(339), [2; 8]), ResponseEffect::Complete);
}

/// Who answers a small challenge and is silent from then on is out of coverage: that says nothing about sizes.
#[test]
fn large_challenges_were_too_large_only_if_something_was_heard_meanwhile() {
    let mut validation = TupleValidation::new(millis(0), PROBE_TIMEOUT);
    challenge(&mut validation, millis(0), 1, false);
    validation.on_response(millis(40), [1; 8]);
    let failure = validation.failure(millis(340)).unwrap();
    assert_eq!(validation.began(), millis(40));
    assert!(failure.is_doubtful(validation.began(), Some(millis(40))), "{failure:?}");
    assert!(!failure.is_doubtful(validation.began(), Some(millis(90))), "{failure:?}");
    let unreachable = ValidationFailure::Unreachable;
    assert!(unreachable.is_doubtful(millis(40), Some(millis(90))));
    assert!(
        !unreachable.is_doubtful(millis(40), Some(millis(30))) && !unreachable.is_doubtful(millis(40), None)
    );
}

#[test]
fn a_challenge_that_does_not_fit_stays_due() {
    let mut validation = TupleValidation::new(millis(0), PROBE_TIMEOUT);
    assert!(write_in(8, |w, _| assert!(!validation.write(millis(0), [1; 8], true, w))).is_empty());
    assert!(validation.is_due(millis(0)));
}

#[test]
fn validations_are_paced() {
    let mut pacer = ValidationPacer::new(Duration::from_millis(999));
    let now = Time::from_secs(10);
    for _ in 0..VALIDATION_BURST {
        assert_eq!(pacer.begin(now), now);
    }
    assert_eq!(pacer.begin(now), now + VALIDATION_INTERVAL);
    assert_eq!(pacer.begin(now), now + VALIDATION_INTERVAL * 2);
    for _ in 0..1_000 {
        assert!(pacer.begin(now) <= now + VALIDATION_INTERVAL * MAX_VALIDATION_DEBT, "debt is bounded");
    }
    let later = now + Duration::from_secs(60);
    assert_eq!(pacer.begin(later), later);
}

//= multipath-3.1-5, rfc9000-8.2.2-1, rfc9000-8.2.2-3, rfc9000-8.2.2-7, rfc9000-19.17-1
#[test]
fn answers_go_where_the_challenge_came_from() {
    let (home, other) = (tuple(1, 1000), tuple(2, 2000));
    let mut queue = ResponseQueue::default();
    queue.push(&arrival(home, 1200), [1; 8]);
    queue.push(&arrival(other, 100), [2; 8]);
    queue.push(&arrival(home, 1200), [3; 8]);
    assert_eq!(queue.tuples().next(), Some(home));
    let written = write(|w, _| assert!(queue.write(home, w)));
    assert_eq!(written.decode(), [Frame::PathResponse([1; 8]), Frame::PathResponse([3; 8])]);
    assert!(written.frames.is_empty(), "never repeated");
    assert_eq!(queue.tuples().next(), Some(other));
    assert_eq!(queue.allowance(other), 300);
    assert!(!queue.clone().write(home, &mut hawser_wire::Writer::new(&mut [0; 100])));
}

#[test]
fn a_flood_of_challenges_is_capped() {
    let mut queue = ResponseQueue::default();
    for n in 0..=255 {
        queue.push(&arrival(tuple(n, 1), 1200), [n; 8]);
        assert!(queue.pending.len() <= MAX_PENDING_RESPONSES);
    }
    assert_eq!(queue.pending.len(), MAX_PENDING_RESPONSES);
    assert_eq!(queue.pending.back().map(|response| response.data), Some([255; 8]), "the newest stays");
}

//= multipath-3.4-2
#[test]
fn no_answer_after_abandonment() {
    let mut queue = ResponseQueue::default();
    queue.push(&arrival(tuple(1, 1), 1200), [1; 8]);
    queue.stop();
    queue.push(&arrival(tuple(1, 1), 1200), [2; 8]);
    assert_eq!(queue.tuples().next(), None);
}
