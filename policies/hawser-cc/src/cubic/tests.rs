use hawser_policy::{LimitedBy, LossCause};

use super::*;
use crate::testing::{ack, init, loss, snapshot, spurious};

const RTT: Duration = Duration::from_millis(100);
const NONE: &Siblings<'static> = &Siblings::NONE;

/// Acknowledges a full window every `rtt` for `rounds` rounds.
fn run(controller: &mut Cubic, now: &mut Time, rounds: u32, rtt: Duration) {
    for _ in 0..rounds {
        controller.on_ack(&ack(*now, controller.window(), rtt), NONE);
        *now += rtt;
    }
}

fn after_loss(window: u64) -> Cubic {
    let mut controller = Cubic::new(&init(window));
    controller.on_loss(&loss(Time::ZERO, LossCause::Loss, true), NONE);
    controller
}

/// W(t) = 0.4 (t - K)^3 + 100 with K = cbrt(30 / 0.4) = 4.21716 s, worked out by hand.
#[test]
fn window_follows_the_cubic() {
    let mut controller = after_loss(100_000);
    assert_eq!((controller.window(), controller.slow_start_threshold()), (70_000, 70_000));
    let mut now = Time::from_millis(200);
    // The acknowledgement at t sets the window for t + RTT.
    for (rounds, expected) in [(10, 86_681), (10, 95_640), (22, 99_999), (78, 288_571)] {
        run(&mut controller, &mut now, rounds, RTT);
        assert!(
            controller.window().abs_diff(expected) < 20,
            "at {now}: {} instead of {expected}",
            controller.window()
        );
    }
}

/// 10 datagrams over 10 ms: the cubic has reached 7.4 after 100 ms, Reno is faster. Its window is 7 + 6 * 0.52941 =
/// 10.176 after six rounds, past the window at the loss, then one datagram per round.
#[test]
fn short_paths_follow_reno() {
    let mut controller = after_loss(10_000);
    let mut now = Time::from_millis(20);
    run(&mut controller, &mut now, 6, Duration::from_millis(10));
    assert_eq!(controller.window(), 10_176);
    run(&mut controller, &mut now, 4, Duration::from_millis(10));
    assert_eq!(controller.window(), 14_176);
}

#[test]
fn a_sinking_plateau_converges_fast() {
    let mut controller = after_loss(100_000);
    controller.on_loss(&loss(Time::from_secs(1), LossCause::EcnMark, true), NONE);
    let mut taken = snapshot();
    controller.fill_snapshot(&mut taken);
    // 70 kB is under the plateau of 100 kB: the new one is 70 * (1 + 0.7) / 2.
    assert_eq!((controller.window(), taken.window_before_loss), (49_000, Some(59_500)));
}

#[test]
fn without_fast_convergence_the_plateau_is_where_the_loss_was() {
    let parameters = CubicParameters { fast_convergence: false, ..CubicParameters::default() };
    let mut controller = Cubic::with_parameters(&init(100_000), parameters);
    controller.on_loss(&loss(Time::ZERO, LossCause::Loss, true), NONE);
    controller.on_loss(&loss(Time::from_secs(1), LossCause::Loss, true), NONE);
    let mut taken = snapshot();
    controller.fill_snapshot(&mut taken);
    assert_eq!((controller.window(), taken.window_before_loss), (49_000, Some(70_000)));
}

/// W(t) = 3.2 (t - K)^3 + 100 with K = cbrt(20 / 3.2) = 1.84202 s: eight times the default's `c` halves the time to the
/// plateau. Worked out by hand.
#[test]
fn c_and_beta_shape_the_cubic() {
    let parameters = CubicParameters { c: 3.2, beta: 0.8, ..CubicParameters::default() };
    let mut controller = Cubic::with_parameters(&init(100_000), parameters);
    controller.on_loss(&loss(Time::ZERO, LossCause::Loss, true), NONE);
    assert_eq!(controller.window(), 80_000);
    let mut now = Time::from_millis(200);
    // The acknowledgement at t sets the window for t + RTT.
    for (rounds, expected) in [(10, 98_089), (8, 99_999), (12, 104_968)] {
        run(&mut controller, &mut now, rounds, RTT);
        assert!(
            controller.window().abs_diff(expected) < 20,
            "at {now}: {} instead of {expected}",
            controller.window()
        );
    }
}

#[test]
fn growth_per_round_is_bounded() {
    let mut controller = after_loss(100_000);
    controller.on_ack(&ack(Time::ZERO, 1_000, RTT), NONE);
    // A silent minute later the cubic stands at 0.4 * 55.8^3 + 100 = 69 000 datagrams.
    controller.on_ack(&ack(Time::from_secs(60), 70_000, RTT), NONE);
    assert!(controller.window() <= 106_000, "{}", controller.window());
}

#[test]
fn time_without_use_of_the_window_does_not_count() {
    let mut busy = after_loss(100_000);
    let mut now = Time::ZERO;
    run(&mut busy, &mut now, 5, RTT);
    let (mut idle, mut limited) = (busy.clone(), busy.clone());
    run(&mut busy, &mut now, 1, RTT);

    // Thirty seconds of trickle, then the same acknowledgement.
    for tenth in 5..305 {
        let trickle = ack(Time::from_millis(tenth * 100), 1_000, RTT)
            .with(|ack| ack.limited_by = LimitedBy::Application);
        limited.on_ack(&trickle, NONE);
    }
    limited.on_ack(&ack(Time::from_millis(30_500), limited.window(), RTT), NONE);
    assert_eq!(limited.window(), busy.window());

    // Thirty seconds of silence: the clock starts again when the first packet leaves.
    let sent_at = Time::from_secs(30);
    let sent = Sent::default().with(|sent| {
        sent.now = sent_at;
        sent.packet_number = 1;
        sent.bytes = 1_000;
        sent.bytes_in_flight = 1_000;
        sent.limited_by = LimitedBy::Nothing;
    });
    idle.on_sent(&sent);
    idle.on_ack(&ack(sent_at + RTT, idle.window(), RTT), NONE);
    assert_eq!(idle.window(), busy.window());
}

#[test]
fn spurious_loss_restores_window_and_curve() {
    let mut controller = after_loss(100_000);
    let mut now = Time::ZERO;
    run(&mut controller, &mut now, 10, RTT);
    let mut undisturbed = controller.clone();
    controller.on_loss(&loss(now, LossCause::Loss, true), NONE);
    assert!(controller.window() < undisturbed.window());
    controller.on_spurious_loss(&spurious(now - RTT, Some(0)));
    run(&mut controller, &mut now.clone(), 10, RTT);
    run(&mut undisturbed, &mut now, 10, RTT);
    assert_eq!(controller.window(), undisturbed.window());
}

#[test]
fn persistent_congestion_then_slow_start_to_the_reduced_window() {
    let mut controller = after_loss(100_000);
    controller.on_loss(&loss(Time::ZERO, LossCause::Persistent, false), NONE);
    assert_eq!((controller.window(), controller.slow_start_threshold()), (2_000, 70_000));
    let mut now = Time::from_secs(1);
    run(&mut controller, &mut now, 5, RTT);
    assert_eq!(controller.window(), 64_000);
}

#[test]
fn a_successor_stays_at_the_window_it_takes_over() {
    let mut start = init(10_000);
    start.snapshot = Some(snapshot());
    let mut controller = Cubic::new(&start);
    assert_eq!((controller.window(), controller.in_slow_start()), (60_000, false));
    let mut now = Time::from_secs(1);
    run(&mut controller, &mut now, 1, RTT);
    // W(0.1) = 0.4 * 0.001 above the plateau, Reno's slope of one datagram per round is faster.
    assert_eq!(controller.window(), 61_000);
}
