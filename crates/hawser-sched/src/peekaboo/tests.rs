use hawser_policy::{PacketReport, PathId, QueueView};

use super::round::trust;
use super::*;
use crate::testing::{path, view_at};

const QUEUE: QueueView = QueueView {
    unsent: 1 << 30,
    retransmit: 0,
    datagrams: 0,
    datagram_count: 0,
    repair: 0,
    connection_window_left: 1 << 30,
};

/// Asks every 10 ms while the fast path is full; `delay` is that of packets sent in steps that send or wait.
fn learn(peekaboo: &mut Peekaboo, delay: impl Fn(usize) -> Duration) -> Vec<bool> {
    let mut decisions = Vec::new();
    let mut paths = [path(1, 20, 0), path(2, 100, 50_000)];
    for number in 0..2_000 {
        if matches!(peekaboo.phase, Phase::Deploy(_)) {
            break;
        }
        let now = Time::from_millis(10 * number);
        paths[0].bytes_sent += 10_000;
        let decision = peekaboo.schedule(&view_at(now, &paths, QUEUE), &mut Vec::new());
        decisions.push(matches!(decision, Decision::Send(_)));
        let Phase::Learn(round) = &peekaboo.phase else { break };
        let (arm, tag) = (round.arm(), round.tag());
        let report = PacketReport {
            now: now + delay(arm),
            path: PathId(1),
            packet_number: number,
            bytes: 10_000,
            sent_at: now,
            bytes_in_flight_at_send: 0,
            tag,
            ranges: &[],
            one_way_delay: None,
        };
        peekaboo.on_event(&Event::Acked(&report), &mut Vec::new());
    }
    decisions
}

fn deployment(peekaboo: &Peekaboo) -> Deployment {
    match peekaboo.phase {
        Phase::Deploy(deployment) => deployment,
        Phase::Learn(_) => panic!("still learning"),
    }
}

/// A step lasts three times max(2 * 20, 100) ms, so 30 decisions.
#[test]
fn learning_steps_send_and_wait_in_turns() {
    let decisions = learn(&mut Peekaboo::default(), |_| Duration::from_millis(50));
    assert_eq!(decisions[..30], [true; 30]);
    assert_eq!(decisions[30..60], [false; 30]);
    assert_eq!(decisions[60..90], [true; 30]);
}

#[test]
fn what_was_better_in_learning_is_followed() {
    for better in [TRANSMIT, WAIT] {
        let mut peekaboo = Peekaboo::default();
        let delay = |arm| Duration::from_millis(if arm == better { 20 } else { 200 });
        learn(&mut peekaboo, delay);
        let found = deployment(&peekaboo);
        assert_eq!(found.sending_won, if better == TRANSMIT { 1.0 } else { 0.0 });
        assert_eq!((found.follow[better], found.follow[1 - better]), (0.9, 0.1));
        // The bandit says so as well; the other arm is tried once in ten times.
        let paths = [path(1, 20, 0), path(2, 100, 50_000)];
        let sends = (0..200)
            .filter(|_| {
                let view = view_at(Time::from_secs(60), &paths, QUEUE);
                matches!(peekaboo.schedule(&view, &mut Vec::new()), Decision::Send(_))
            })
            .count();
        let expected = if better == TRANSMIT { 160..=200 } else { 0..=40 };
        assert!(expected.contains(&sends), "{better}: {sends} of 200");
    }
}

#[test]
fn between_the_bounds_the_errors_decide() {
    assert_eq!([0.71, 0.7, 0.3, 0.29].map(|won| trust(won, 0.4)), [0.9, 0.4, 0.4, 0.1]);
}

#[test]
fn decisions_that_drift_away_start_a_new_round() {
    let drift = |sending, waiting| {
        let decisions = [sending, waiting];
        Deployment { sending_won: 0.8, follow: [0.9, 0.1], decisions }.has_drifted()
    };
    assert!(!drift(660, 140) && !drift(0, 799), "not far enough, not enough");
    assert!(drift(510, 290));
}

/// Features are window, bytes in flight and send window per round trip: 100 kB per 20 ms are 5 MB/s.
#[test]
fn circumstances_are_rates_of_both_paths() {
    let paths = [path(1, 20, 0), path(2, 100, 50_000)];
    let queue = QueueView { connection_window_left: 50_000, ..QUEUE };
    let context = context(&view_at(Time::ZERO, &paths, queue), [&paths[0], &paths[1]]);
    assert_eq!(context, [5.0, 5.0, 10.0, 1.0, 0.5, 2.0]);
}
