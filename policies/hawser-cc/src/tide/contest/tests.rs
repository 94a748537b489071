use super::*;

const RTT: Duration = Duration::from_millis(40);
const REST: Duration = Duration::from_secs(2);

fn seen(now: Time, queue: f64) -> Seen {
    Seen { now, rate: 5e6, base: 0.04, queue, is_whole: true, least_window: 4_000.0 }
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

/// What a look next to others finds where this much of a queue of 100 ms is left. `is_whole`: at the rate that the path had alone.
fn look(left: f64, is_whole: bool) -> Option<Verdict> {
    let mut contest = Contest::new(Time::ZERO);
    contest.enter(Time::ZERO);
    let mut now = Time::from_secs(10);
    for _ in 0..AFTER_LOSS {
        now += RTT;
        contest.on_shared_round(&Seen { is_whole, ..seen(now, 0.1) }, 0.1, 0.07, false);
    }
    let window = contest.dip_window().expect("a look");
    (0..60).find_map(|_| {
        now += Duration::from_millis(10);
        contest.on_ack(now, now - RTT, window, left, 0.04)
    })
}

/// A CUBIC that has just made room leaves 0.15 to 0.25 of the queue.
#[test]
fn a_queue_that_fell_to_a_fifth_was_its_own_at_the_whole_rate_only() {
    assert_eq!(look(0.02, true), Some(Verdict::Own));
    assert_eq!(look(0.02, false), Some(Verdict::Shared));
    assert_eq!(look(0.009, false), Some(Verdict::Own));
}

#[test]
fn a_dip_is_routine_where_only_the_delay_without_queue_was_not_seen() {
    let now = Time::from_secs(1);
    let routine = |queue: f64, quiet: f64, fallen: bool| {
        let mut contest = Contest::new(Time::ZERO);
        contest.on_own_round(&seen(now, queue), 0.08, quiet, fallen);
        contest.dip_window().map(|_| contest.dip_pace().is_some())
    };
    assert_eq!(routine(0.05, 0.9, false), None);
    assert_eq!(routine(0.05, 1.1, false), Some(true));
    assert_eq!(routine(0.05, 0.1, true), Some(false));
    let (mut contest, mut now) = (Contest::new(Time::ZERO), Time::ZERO);
    assert_eq!(dip(&mut contest, &mut now, 0.09), Some(Verdict::Shared));
    contest.is_contested(Verdict::Shared, now, RTT, REST);
    contest.on_own_round(&seen(now + AGAIN_AT_LEAST, 0.05), 0.08, 1.1, false);
    assert!(contest.dip_window().is_some() && contest.dip_pace().is_none(), "one that decides");
}
