//! What the links of a scenario could have carried, and when they were weak or gone.

use std::time::Duration;

use hawser_link::{DirectionConfig, Nanos, RateModel, SECOND, nanos};
use hawser_scenario::{Direction, Scenario, ScenarioLink};

/// Resolution of fades.
const STEP: Nanos = SECOND / 10;
/// A link fades when its rate is below this part of its highest.
const FADED: f64 = 0.5;

/// What is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing arrives.
    Out,
    /// Less than half of the highest rate.
    Faded,
}

/// A time of trouble, seconds since the start of the schedules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// What is wrong.
    pub trouble: Trouble,
    /// From.
    pub from: f64,
    /// Until.
    pub to: f64,
}

/// Times of trouble of one direction of a link until `end` seconds, in order for each kind.
pub fn troubles(link: &DirectionConfig, end: f64) -> Vec<Band> {
    let end = hawser_link::seconds(end);
    let mut bands = Vec::new();
    let mut time = 0;
    while let Some(from) = link.outages.next_down(time).filter(|&from| from < end) {
        time = link.outages.next_up(from).min(end);
        bands.push(band(Trouble::Out, from, time));
        if time >= end {
            break;
        }
    }
    bands.extend(fades(link, end));
    bands
}

fn fades(link: &DirectionConfig, end: Nanos) -> Vec<Band> {
    let (RateModel::Scheduled(series), Some(peak)) = (&link.rate, link.rate.peak()) else {
        return Vec::new();
    };
    let mut bands = Vec::new();
    let mut since = None;
    let mut time = 0;
    while time < end {
        let faded = (series.value_at(time) as f64) < peak as f64 * FADED && !link.outages.is_down(time);
        match (faded, since) {
            (true, None) => since = Some(time),
            (false, Some(from)) => {
                bands.push(band(Trouble::Faded, from, time));
                since = None;
            }
            _ => {}
        }
        time += STEP;
    }
    bands.extend(since.map(|from| band(Trouble::Faded, from, end)));
    bands
}

fn band(trouble: Trouble, from: Nanos, to: Nanos) -> Band {
    let seconds = |time: Nanos| time as f64 / SECOND as f64;
    Band { trouble, from: seconds(from), to: seconds(to) }
}

/// Mean rate to the client of the links chosen in each 100 ms until `end` seconds, outages counted as zero, bit/s;
/// `None` when one is unlimited. Random rates count with the steps that they take with the seed of the scenario.
pub fn capacity(scenario: &Scenario, links: &[usize], end: f64) -> Option<Vec<f64>> {
    let until = hawser_link::seconds(end) + STEP;
    let realised = |link: &ScenarioLink| {
        link.direction(Direction::Down).realised(scenario.seed_of(&link.name, Direction::Down), until)
    };
    let directions: Vec<_> =
        links.iter().filter_map(|link| scenario.links.get(*link)).map(realised).collect();
    let steps = (end * SECOND as f64 / STEP as f64).ceil() as u64;
    let rate = |step: u64| {
        let bits: Option<f64> =
            directions.iter().map(|link| bits_up(link, step * STEP, (step + 1) * STEP)).sum();
        Some(bits? * SECOND as f64 / STEP as f64)
    };
    (0..steps).map(rate).collect()
}

/// Bits that a direction carries in a span of time, in which it may go down and up.
fn bits_up(link: &DirectionConfig, from: Nanos, to: Nanos) -> Option<f64> {
    let (mut time, mut bits) = (from, 0.0);
    while time < to {
        let up = link.outages.next_up(time).min(to);
        let down = link.outages.next_down(up).unwrap_or(to).min(to);
        bits += bits_between(&link.rate, up, down)?;
        time = down.max(up);
    }
    Some(bits)
}

fn bits_between(rate: &RateModel, from: Nanos, to: Nanos) -> Option<f64> {
    let RateModel::Scheduled(series) = rate else {
        return Some(rate.capacity_bits(to)?.saturating_sub(rate.capacity_bits(from)?) as f64);
    };
    let (mut time, mut bits) = (from, 0.0);
    while time < to {
        let next = series.next_change(time).unwrap_or(to).min(to);
        bits += series.value_at(time) as f64 * (next - time) as f64 / SECOND as f64;
        time = next;
    }
    Some(bits)
}

/// How long `bytes` take over the links chosen when `efficiency` of their rate is used; `None` when that is
/// never, not within ten minutes, or when a link is unlimited.
pub fn estimate(scenario: &Scenario, links: &[usize], bytes: u64, efficiency: f64) -> Option<Duration> {
    let end = Duration::from_secs(600);
    let mut missing = bytes as f64 * 8.0 / efficiency;
    for (step, rate) in capacity(scenario, links, end.as_secs_f64())?.iter().enumerate() {
        missing -= rate * STEP as f64 / SECOND as f64;
        if missing <= 0.0 {
            return Some(Duration::from_nanos((step as u64 + 1) * STEP));
        }
    }
    None
}

/// Mean rate of all links together to the client from the start until `seconds`, bit/s.
pub fn sum_of_links(scenario: &Scenario, seconds: f64) -> Option<u64> {
    let until = Duration::try_from_secs_f64(seconds).ok().filter(|until| nanos(*until) > 0)?;
    scenario.mean_rate(Direction::Down, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = r#"
            version = 1
            [[link]]
            name = "a"
            rate = { steps = [["0 s", "40 Mbit/s"], ["2 s", "10 Mbit/s"], ["3 s", "40 Mbit/s"]] }
            outage = [{ from = "5 s", to = "6 s" }]
            [[link]]
            name = "b"
            rate = "8 Mbit/s"
        "#;
        Scenario::parse(text, "test", &mut |_| Err(String::new())).expect("a good scenario")
    }

    #[test]
    fn troubles_are_found() {
        let found = troubles(&scenario().links[0].down, 5.5);
        let expected = [
            Band { trouble: Trouble::Out, from: 5.0, to: 5.5 },
            Band { trouble: Trouble::Faded, from: 2.0, to: 3.0 },
        ];
        assert_eq!(found, expected);
        assert_eq!(troubles(&scenario().links[1].down, 10.0), []);
    }

    #[test]
    fn capacity_follows_the_schedule() {
        let rates = capacity(&scenario(), &[0, 1], 6.5).expect("limited");
        assert_eq!(rates.len(), 65);
        for (index, megabits) in [(0, 48.0), (25, 18.0), (35, 48.0), (55, 8.0), (64, 48.0)] {
            assert!((rates[index] / 1e6 - megabits).abs() < 0.01, "{index}: {}", rates[index]);
        }
    }

    #[test]
    fn estimates_count_what_is_missing() {
        let estimate = |bytes| estimate(&scenario(), &[1], bytes, 0.8).map(|it| it.as_secs_f64());
        assert_eq!(estimate(8_000_000), Some(10.0));
        assert_eq!(estimate(80_000_000_000), None);
    }
}
