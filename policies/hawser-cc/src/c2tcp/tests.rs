use super::*;
use crate::testing::bottleneck::{BDP, Link, RTT, alone, measure};
use crate::testing::{ack, init};

fn rule(spec: &str) -> C2tcpRule {
    let spec: hawser_policy::PolicySpec = spec.parse().unwrap();
    let parameters = Parameters::read(&C2tcpRule::info().parameters, &spec).unwrap();
    let setpoint = parameters.number("setpoint");
    C2tcpRule {
        cubic: CubicRule::new(CubicParameters::read(&parameters)),
        setpoint,
        first_setpoint: setpoint,
        target: parameters.duration("target"),
        min_rtt: Some(0.1),
        bad: None,
        sum: 0.0,
        samples: 0,
        adapt_at: None,
    }
}

fn sample(rule: &mut C2tcpRule, window: &mut Window, at_ms: u64, rtt_ms: u64) {
    let rtt = Duration::from_millis(rtt_ms);
    let ack = ack(Time::from_millis(at_ms), 1_000, rtt);
    let sample = crate::return_path::RttSample { adjusted: rtt, raw: rtt, changed: false };
    rule.measure(window, &Acked { ack: &ack, rtt: Some(sample), bytes: 1_000.0, siblings: &Siblings::NONE });
}

/// 100 ms at least, setpoint 150 ms: what is over it for 150 ms collapses the window, then 150 / sqrt(2) ms later again.
#[test]
fn delay_over_the_setpoint_collapses_the_window_ever_sooner() {
    let (mut rule, mut window) = (rule("c2tcp"), Window::new(&init(100_000)));
    window.set_threshold_here();
    for at in [0, 149] {
        sample(&mut rule, &mut window, at, 160);
        assert_eq!(window.bytes(), 100_000, "at {at}");
    }
    sample(&mut rule, &mut window, 150, 160);
    assert_eq!((window.bytes(), window.threshold()), (2_000, 70_000));
    window.set(50_000.0);
    sample(&mut rule, &mut window, 256, 160);
    assert_eq!(window.bytes(), 50_000, "150 / 1.414 = 106.07 ms");
    sample(&mut rule, &mut window, 257, 160);
    assert_eq!(window.bytes(), 2_000);
    // A good sample ends it.
    window.set(100_000.0);
    window.set_threshold_here();
    sample(&mut rule, &mut window, 300, 150);
    assert_eq!(window.bytes(), 100_010, "one hundredth of a datagram on top of CUBIC");
    sample(&mut rule, &mut window, 301, 160);
    sample(&mut rule, &mut window, 449, 160);
    assert_eq!(window.bytes(), 100_010);
}

/// A handover to a cell that is farther away: two datagrams have no queue, and still take longer than the setpoint.
#[test]
fn a_path_that_got_longer_does_not_keep_the_window_at_its_minimum() {
    let (mut rule, mut window) = (rule("c2tcp"), Window::new(&init(100_000)));
    window.set_threshold_here();
    let mut collapses = 0;
    for at in 0..200 {
        let before = window.bytes();
        sample(&mut rule, &mut window, at * 20, 240);
        collapses += u32::from(window.bytes() < before);
    }
    assert_eq!(collapses, 1);
    assert_eq!(rule.min_rtt, Some(0.24));
    assert!(window.bytes() >= 2_000);
}

/// Mean 100 ms under a target of 150: + 50 / 200; 200 over 150: - 2 * 50 / 150, at least one.
#[test]
fn the_setpoint_follows_the_target() {
    let mut rule = rule("c2tcp,target=150ms");
    rule.adapt(Time::ZERO, 0.1);
    rule.adapt(Time::from_millis(500), 0.1);
    assert!((rule.setpoint - 1.75).abs() < 1e-9, "{}", rule.setpoint);
    rule.adapt(Time::from_millis(1_000), 0.2);
    assert!((rule.setpoint - (1.75 - 2.0 / 3.0)).abs() < 1e-9, "{}", rule.setpoint);
    rule.adapt(Time::from_millis(1_500), 0.3);
    assert_eq!(rule.setpoint, 1.0);
}

/// The queue of a deep buffer stays under half of the least round-trip time, where CUBIC fills it.
#[test]
fn the_guard_bounds_the_queue() {
    let guarded = measure(alone("c2tcp", Link::new(40.0, 8 * BDP)), 10, 30);
    assert!(guarded.mean_wait(0) < RTT.as_secs_f64() * 1e3 / 2.0, "{}", guarded.mean_wait(0));
    assert!(guarded.utilisation(40.0) > 0.9, "{}", guarded.utilisation(40.0));
    let cubic = measure(alone("cubic", Link::new(40.0, 8 * BDP)), 10, 30);
    assert!(cubic.mean_wait(0) > 5.0 * guarded.mean_wait(0));
}
