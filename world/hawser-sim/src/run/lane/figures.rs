//! What became of packets, in figures that users know.

use std::time::Duration;

use hawser_media::Measure;
use hawser_policy::Time;
use hawser_scenario::Direction;

use super::Part;
use super::source::Source;

/// A packet that has not come after this is lost: no call waits for it.
const LOST: Duration = Duration::from_secs(1);
/// Beyond the least delay seen: what the buffer of a call evens out.
const LATE: Duration = Duration::from_millis(150);

/// A packet that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sent: Time,
    pub(super) delay: Duration,
}

/// Names of the figures of a part in a direction.
macro_rules! names {
    ($of:literal) => {
        [
            concat!($of, "_delay_least"),
            concat!($of, "_delay_p50"),
            concat!($of, "_delay_p99"),
            concat!($of, "_jitter"),
            concat!($of, "_late"),
            concat!($of, "_lost"),
        ]
    };
}

fn names(part: Part, direction: Direction) -> [&'static str; 6] {
    match (part, direction) {
        (Part::Call, Direction::Down) => names!("call_down"),
        (Part::Call, Direction::Up) => names!("call_up"),
        (Part::Game, Direction::Down) => names!("game_down"),
        (Part::Game, Direction::Up) => names!("game_up"),
        (Part::Udp, Direction::Down) => names!("udp_down"),
        (Part::Udp, Direction::Up) => names!("udp_up"),
    }
}

/// What became of the packets that were sent long enough ago to have come or be lost. Those that are lost count in quantiles as one
/// second, so that a path which loses what is late does not look quick.
pub(super) fn figures(source: &Source, heard: &[Arrival], direction: Direction, now: Time) -> Vec<Measure> {
    let Some(until) = now.as_nanos().checked_sub(LOST.as_nanos() as u64).map(Time::from_nanos) else {
        return Vec::new();
    };
    let sent = source.sent_until(until);
    let came = |arrival: &&Arrival| arrival.sent <= until && arrival.delay < LOST;
    let delays: Vec<Duration> = heard.iter().filter(came).map(|arrival| arrival.delay).collect();
    let lost = sent.saturating_sub(delays.len() as u64);
    let Some(least) = delays.iter().min().copied().filter(|_| sent > 0) else {
        return Vec::new();
    };
    let late = delays.iter().filter(|delay| **delay > least + LATE).count();
    let changes = delays.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
    let jitter = changes.sum::<Duration>().as_secs_f64() / delays.len() as f64;
    let mut sorted = delays;
    sorted.sort_unstable();
    let ms = |delay: Duration| delay.as_secs_f64() * 1e3;
    let quantile = |share: f64| {
        let rank = ((sent as f64 * share).ceil() as usize).max(1);
        sorted.get(rank - 1).copied().unwrap_or(LOST)
    };
    let share = |count: f64| count / sent as f64;
    let values = [
        (ms(least), "ms"),
        (ms(quantile(0.5)), "ms"),
        (ms(quantile(0.99)), "ms"),
        (jitter * 1e3, "ms"),
        (share(late as f64), ""),
        (share(lost as f64), ""),
    ];
    let named = names(source.part(), direction).into_iter().zip(values);
    named.map(|(name, (value, unit))| Measure::new(name, value, unit)).collect()
}

#[cfg(test)]
mod tests {
    use hawser_scenario::MixPackets;

    use super::*;

    fn value(measures: &[Measure], key: &str) -> f64 {
        measures.iter().find(|measure| measure.key() == key).unwrap().value
    }

    #[test]
    fn lost_packets_count_as_late_ones_and_the_last_second_does_not() {
        let every = Duration::from_millis(20);
        let mut source = Source::new(Part::Call, MixPackets { size: 160, every });
        source.start(Time::ZERO);
        let mut heard = Vec::new();
        // Two of the 150 packets before the last second are lost, one is late, the others take 10 and 12 ms in turn.
        for number in 0..200_u64 {
            let sent = Time::from_millis(20 * number);
            assert_eq!(source.next_due(sent).map(|packet| packet.len()), Some(188));
            let delay = match number {
                7 | 8 => continue,
                9 => 300,
                number => 10 + 2 * (number % 2),
            };
            heard.push(Arrival { sent, delay: Duration::from_millis(delay) });
        }
        let measures = figures(&source, &heard, Direction::Up, Time::from_millis(3_990));
        let of = |name: &str| value(&measures, name);
        assert_eq!([of("call_up_delay_least_ms"), of("call_up_delay_p50_ms")], [10.0, 12.0]);
        assert_eq!(of("call_up_delay_p99_ms"), 1e3, "more than one in a hundred is lost");
        assert_eq!([of("call_up_late"), of("call_up_lost")], [1.0 / 150.0, 2.0 / 150.0]);
        assert!(
            (of("call_up_jitter_ms") - (2.0 * 145.0 + 288.0 + 290.0) / 148.0).abs() < 0.1,
            "{measures:?}"
        );
    }

    #[test]
    fn a_part_of_which_nothing_came_has_no_figures() {
        let mut source = Source::new(Part::Game, MixPackets { size: 100, every: Duration::from_millis(33) });
        source.start(Time::ZERO);
        assert!(figures(&source, &[], Direction::Down, Time::from_millis(5_000)).is_empty());
    }
}
