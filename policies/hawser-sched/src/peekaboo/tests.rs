use hawser_policy::{PacketReport, PathId, QueueView};

use super::*;
use crate::testing::{path, view_at};

fn waiting() -> QueueView {
    QueueView::default().with(|queue| {
        queue.unsent = 1 << 30;
        queue.connection_window_left = 1 << 30;
    })
}

/// Asks every 10 ms while the fast path is full, until it has learned; `delay` is that of packets that leave while it sends or
/// waits.
fn learn(peekaboo: &mut Peekaboo, delay: impl Fn(bool) -> Duration) -> Vec<bool> {
    let mut decisions = Vec::new();
    let mut paths = [path(1, 20, 0), path(2, 100, 50_000)];
    for number in 0..2_000 {
        let now = Time::from_millis(10 * number);
        paths[0].bytes_sent += 10_000;
        let decision = peekaboo.schedule(&view_at(now, &paths, waiting()), &mut Vec::new());
        if peekaboo.learner.deployment().is_some() {
            break;
        }
        let sends = matches!(decision, Decision::Send(_));
        decisions.push(sends);
        let report = PacketReport::default().with(|report| {
            report.now = now + delay(sends);
            report.path = PathId(1);
            report.packet_number = number;
            report.bytes = 10_000;
            report.sent_at = now;
            report.bytes_in_flight_at_send = 0;
            report.tag = Tag(peekaboo.learner.step());
            report.ranges = &[];
        });
        peekaboo.on_event(&Event::Acked(&report), &mut Vec::new());
    }
    decisions
}

/// A step lasts three times max(2 * 20, 100) ms, so 30 decisions.
#[test]
fn learning_steps_send_and_wait_in_turns() {
    let decisions = learn(&mut Peekaboo::default(), |_| Duration::from_millis(50));
    assert_eq!(decisions[..30], [true; 30]);
    assert_eq!(decisions[30..60], [false; 30]);
    assert_eq!(decisions[60..90], [true; 30]);
}

/// 4 MB are a round; the other arm is tried once in ten times.
#[test]
fn what_was_better_in_learning_is_followed() {
    for sending_is_better in [true, false] {
        let mut peekaboo = Peekaboo::default();
        let delay = |sends| Duration::from_millis(if sends == sending_is_better { 20 } else { 200 });
        let figures = |peekaboo: &Peekaboo| {
            let mut figures = Figures::default();
            peekaboo.fill_figures(&mut figures);
            figures.iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(figures(&peekaboo), ["arms"], "nothing is known yet");
        learn(&mut peekaboo, delay);
        assert!(figures(&peekaboo).contains(&"follow_wait"));
        let paths = [path(1, 20, 0), path(2, 100, 50_000)];
        let sends = (0..200)
            .filter(|_| {
                let view = view_at(Time::from_secs(60), &paths, waiting());
                matches!(peekaboo.schedule(&view, &mut Vec::new()), Decision::Send(_))
            })
            .count();
        let expected = if sending_is_better { 160..=200 } else { 0..=40 };
        assert!(expected.contains(&sends), "{sending_is_better}: {sends} of 200");
    }
}

/// Features are window, bytes in flight and send window per round trip: 100 kB per 20 ms are 5 MB/s.
#[test]
fn circumstances_are_rates_of_both_paths() {
    let paths = [path(1, 20, 0), path(2, 100, 50_000)];
    let queue = waiting().with(|queue| queue.connection_window_left = 50_000);
    let context = context(&view_at(Time::ZERO, &paths, queue), [&paths[0], &paths[1]]);
    assert_eq!(context, [5.0, 5.0, 10.0, 1.0, 0.5, 2.0]);
}
