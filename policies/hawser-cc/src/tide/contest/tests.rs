use super::*;

const RTT: Duration = Duration::from_millis(40);
const REST: Duration = Duration::from_secs(2);

fn seen(now: Time, queue: f64) -> Seen {
    Seen { now, rate: 5e6, base: 0.04, queue, least_window: 4_000.0 }
}

/// Rounds above the limit until a dip begins, and what it finds when its packets meet this queue.
fn dip(contest: &mut Contest, now: &mut Time, met: f64) -> Option<Verdict> {
    for _ in 0..8 {
        if contest.dip_window().is_some() {
            break;
        }
        *now += RTT;
        contest.on_own_round(&seen(*now, 0.1), 0.08, 0.0, false);
    }
    let window = contest.dip_window().expect("a dip");
    assert!((window - 170_000.0).abs() < 1.0, "{window}");
    for _ in 0..60 {
        *now += Duration::from_millis(10);
        let verdict = contest.on_ack(*now, *now - RTT, window, met, 0.04);
        if verdict.is_some() {
            return verdict;
        }
    }
    None
}

#[test]
fn one_long_round_is_no_reason_for_a_dip() {
    let mut contest = Contest::new(Time::ZERO);
    contest.on_own_round(&seen(Time::from_secs(1), 0.1), 0.08, 0.0, false);
    contest.on_own_round(&seen(Time::from_secs(2), 0.05), 0.08, 0.0, false);
    contest.on_own_round(&seen(Time::from_secs(3), 0.1), 0.08, 0.0, false);
    assert_eq!(contest.dip_window(), None);
}

#[test]
fn a_queue_that_goes_in_a_dip_was_its_own() {
    let (mut contest, mut now) = (Contest::new(Time::ZERO), Time::ZERO);
    assert_eq!(dip(&mut contest, &mut now, 0.0), Some(Verdict::Own));
    assert!(!contest.is_contested(Verdict::Own, now, RTT, REST));
}

/// Two dips: a capacity that fell amid the first one looks the same.
#[test]
fn a_queue_that_stays_in_two_dips_is_filled_by_others() {
    let (mut contest, mut now) = (Contest::new(Time::ZERO), Time::ZERO);
    for decided in [false, true] {
        assert_eq!(dip(&mut contest, &mut now, 0.09), Some(Verdict::Shared));
        assert_eq!(contest.is_contested(Verdict::Shared, now, RTT, REST), decided);
    }
}

#[test]
fn others_are_gone_after_three_dips_that_found_nobody() {
    let mut contest = Contest::new(Time::ZERO);
    contest.enter(Time::ZERO);
    let released: Vec<bool> =
        (0..3).map(|_| contest.is_released(Verdict::Own, Time::from_secs(1), RTT)).collect();
    assert_eq!(released, [false, false, true]);
    contest.enter(Time::ZERO);
    for verdict in [Verdict::Own, Verdict::Own, Verdict::Shared, Verdict::Own] {
        assert!(!contest.is_released(verdict, Time::from_secs(1), RTT));
    }
}

/// A dip in which nothing comes back is given up: it must not hold a path down.
#[test]
fn a_dip_without_acknowledgements_ends() {
    let mut contest = Contest::new(Time::ZERO);
    for at in 1..=2 {
        contest.on_own_round(&seen(Time::from_secs(at), 0.1), 0.08, 0.0, false);
    }
    assert!(contest.dip_window().is_some());
    assert_eq!(contest.on_ack(Time::from_secs(10), Time::ZERO, 1e6, 0.1, 0.04), None);
    assert_eq!(contest.dip_window(), None);
}

/// A flow that reacts to losses alone fills the queue until it overflows.
#[test]
fn a_long_queue_that_becomes_short_and_stays_so_is_nobody_elses() {
    let release = |queue: f64, longest: f64| {
        let mut contest = Contest::new(Time::ZERO);
        contest.enter(Time::ZERO);
        let far = Time::from_secs(1);
        (0..60u64).find_map(|round| {
            let seen = seen(far + RTT.saturating_mul(round as u32), queue);
            contest.next_check = Time::FAR_FUTURE;
            contest.on_shared_round(&seen, longest, 0.07, false)
        })
    };
    assert_eq!(release(0.06, 0.3), Some(Release::Held));
    assert_eq!(release(0.1, 0.3), None);
    // Not where it cannot be longer.
    assert_eq!(release(0.06, 0.08), None);
    assert_eq!(release(0.0, 0.08), Some(Release::Room));
}

#[test]
fn whether_it_had_the_path_is_known_after_a_dip_that_found_nobody() {
    let (mut contest, mut now) = (Contest::new(Time::ZERO), Time::ZERO);
    assert_eq!(dip(&mut contest, &mut now, 0.09), Some(Verdict::Shared));
    contest.is_contested(Verdict::Shared, now, RTT, REST);
    assert!(!contest.had_path());
    assert_eq!(dip(&mut contest, &mut now, 0.0), Some(Verdict::Own));
    assert!(contest.had_path());
}
