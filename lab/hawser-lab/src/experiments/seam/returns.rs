//! How soon data flows again when an only link is back from an outage.

use std::time::Duration;

use hawser_learn::Random;
use hawser_policy::Time;
use hawser_sim::run::{Probes, Series};

use crate::experiments::verify::{Measured, Request};

/// Of the link of the scenario: two ways of 20 ms.
const ROUND_TRIP: Duration = Duration::from_millis(40);
/// Shortest and longest outage.
const OUTAGES: (f64, f64) = (0.05, 30.0);
/// Outages of a run.
const NUMBER: usize = 8;
/// Between two of them the path has this time, and up to a second more: the phase.
const PAUSE: f64 = 2.5;
/// Between two looks at what has arrived.
const STEP: Duration = Duration::from_millis(1);

/// Begin and end of outages, in order. Half of the lengths are spread evenly over orders of magnitude, half over seconds.
fn outages(random: &mut Random) -> Vec<(Time, Time)> {
    let (shortest, longest) = OUTAGES;
    let mut at = 0.0;
    let mut draw = |number: usize| {
        let share = random.fraction();
        // Between 50 ms and as many doublings of it as the longest has, or evenly.
        let doublings = 9.0 * share;
        let length = match number % 2 {
            0 => (shortest * f64::from(1 << doublings as u32) * (1.0 + doublings.fract())).min(longest),
            _ => shortest + (longest - shortest) * share,
        };
        at += PAUSE + random.fraction();
        let began = at;
        at += length;
        (Time::from_micros((began * 1e6) as u64), Time::from_micros((at * 1e6) as u64))
    };
    (0..NUMBER).map(&mut draw).collect()
}

/// When data arrived in order first after a moment, as far as samples of what had arrived show it.
fn first_after(moment: Time, bytes: &Series) -> Option<Time> {
    // What is seen at a sample arrived since the one before.
    let mut pairs = bytes.points().windows(2);
    pairs.find(|pair| pair[1].0 > moment && pair[1].1 != pair[0].1).map(|pair| pair[1].0)
}

/// Runs a scenario with one link `a0` that goes eight times, for 50 ms to 30 s.
pub(super) fn returns(request: &Request<'_>) -> Result<Measured, String> {
    let outages = outages(&mut Random::new(request.seed));
    let field = |(from, to): &(Time, Time)| {
        format!("{{ from = \"{} us\", to = \"{} us\" }}", from.as_nanos() / 1_000, to.as_nanos() / 1_000)
    };
    let listed: Vec<String> = outages.iter().map(field).collect();
    let end = outages.last().map_or(0, |(_, to)| to.as_nanos() / 1_000) + 4_000_000;
    let own = [
        request.chosen(),
        format!("link.a0.outage=[{}]", listed.join(", ")),
        format!("duration=\"{end} us\""),
    ];
    let probes = Probes::every(STEP, &["flow.*.bytes"]).map_err(|error| error.to_string())?;
    let (outcome, probes) = request.sampled(&own, probes)?;
    let (_, bytes) = probes.each("flow.", ".bytes").next().ok_or("there is no flow")?;
    // What has not come by the end took that long at least.
    let end = Time::from_micros(end);
    let took = |(_, back): &(Time, Time)| first_after(*back, bytes).unwrap_or(end).since(*back);
    let took: Vec<Duration> = outages.iter().map(took).collect();
    let bound = ROUND_TRIP * 3 / 2 + Duration::from_millis(200);
    let late = took.iter().filter(|took| **took > bound + STEP).count();
    let slowest = took.iter().max().copied().unwrap_or_default();
    Ok(Measured::of_run(&outcome)
        .with("returns", took.len() as f64)
        .with("late_returns", late as f64)
        .with("slowest_ms", slowest.as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_as_long_as_asked_and_apart() {
        for seed in 1..=200 {
            let outages = outages(&mut Random::new(seed));
            assert_eq!(outages.len(), NUMBER);
            assert!(outages[0].0 >= Time::from_millis(2_500));
            assert!(outages.iter().all(|(from, to)| {
                (Duration::from_millis(50)..=Duration::from_secs(30)).contains(&to.since(*from))
            }));
            assert!(
                outages.windows(2).all(|pair| pair[1].0.since(pair[0].1) >= Duration::from_millis(2_499))
            );
        }
    }
}
