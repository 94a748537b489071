use super::*;
use crate::testing::{ack, loss};
use hawser_policy::{LimitedBy, LossCause};

const RTT: Duration = Duration::from_millis(50);

fn settings() -> UnitSettings {
    UnitSettings { acks: 20, round_trips: 1.0, memory: Duration::from_secs(60) }
}

/// Acknowledgements of 1000 bytes, so many ms apart, from a moment on; returns the first unit and how many came before it.
fn feed(collector: &mut Collector, from_ms: u64, every_ms: u64, rtt: Duration) -> (u64, Measured) {
    (0..1_000)
        .find_map(|n| {
            let ack = ack(Time::from_millis(from_ms + n * every_ms), 1_000, rtt);
            collector.on_ack(&ack).map(|unit| (n, unit))
        })
        .expect("there is one")
}

#[test]
fn a_unit_takes_twenty_acknowledgements_and_a_round_trip() {
    let mut collector = Collector::new(settings());
    // The first begins it; 20 more end it, 200 ms later: 20 kB.
    let (acks, unit) = feed(&mut collector, 0, 10, RTT);
    assert_eq!((acks, unit.duration), (20, Duration::from_millis(200)));
    assert!((unit.tput - 0.8).abs() < 1e-12 && unit.loss == 0.0);
    assert!((unit.delay - 50.0).abs() < 1e-9 && (unit.delay_min - 50.0).abs() < 1e-9);
    assert_eq!(unit.tput_max, unit.tput);
    // At one per ms twenty are not a round trip yet. The next unit begins where the last one ended.
    let (acks, unit) = feed(&mut collector, 201, 1, RTT);
    assert_eq!((acks, unit.duration), (49, RTT));
    let mut literal = Collector::new(UnitSettings { round_trips: 0.0, ..settings() });
    assert_eq!(feed(&mut literal, 0, 1, RTT).0, 20);
}

#[test]
fn losses_are_a_rate_and_scales_are_remembered_for_a_minute() {
    let mut collector = Collector::new(settings());
    let (_, fast) = feed(&mut collector, 0, 10, RTT);
    collector.on_loss(&loss(Time::from_millis(205), LossCause::Loss, true));
    let (_, slow) = feed(&mut collector, 220, 20, 2 * RTT);
    // 1000 bytes in 400 ms.
    assert!((slow.loss - 0.02).abs() < 1e-12, "{}", slow.loss);
    assert_eq!((slow.tput_max, slow.delay_min), (fast.tput, 50.0));
    assert!((slow.delay - 100.0).abs() < 1e-9);
    let (_, later) = feed(&mut collector, 90_000, 20, 2 * RTT);
    assert!((later.delay_min - 100.0).abs() < 1e-9 && later.tput_max < fast.tput);
    collector.reset();
    assert!((feed(&mut collector, 90_500, 20, 3 * RTT).1.delay_min - 150.0).abs() < 1e-9);
}

#[test]
fn what_comes_right_after_a_switch_does_not_count() {
    let mut collector = Collector::new(settings());
    collector.restart(Some(Time::from_millis(100)));
    let (acks, unit) = feed(&mut collector, 0, 10, RTT);
    assert_eq!((acks, unit.duration), (30, Duration::from_millis(200)));
}

#[test]
fn an_idle_sender_makes_no_units() {
    let mut collector = Collector::new(settings());
    for n in 0..200 {
        // Two of three.
        let limited_by = if n % 3 == 0 { LimitedBy::CongestionWindow } else { LimitedBy::Application };
        let ack = ack(Time::from_millis(10 * n), 1_000, RTT).with(|ack| ack.limited_by = limited_by);
        assert_eq!(collector.on_ack(&ack), None);
    }
}

#[test]
fn features_have_their_ratios() {
    let unit = DataUnit {
        path: PathId(0),
        at: Time::ZERO,
        duration: RTT,
        group: GroupId(0),
        running: Choice::Coupled,
        tput: 8.0,
        loss: 2.0,
        delay: 60.0,
        delay_min: 40.0,
        tput_max: 16.0,
    };
    assert_eq!(unit.features(), [8.0, 2.0, 60.0, 40.0, 16.0, 0.5, 0.2, 1.5]);
}
