//! WiFi that comes and goes beside a steady cellular link (item 14): how soon it is used, what its going costs, and what restarts,
//! one connection and several paths make of the same drive.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_link::Direction;
use hawser_policy::Time;
use hawser_scenario::{Scenario, ScenarioLink};
use hawser_sim::run::{FlowSample, LinkSample, NoRecorder, Outcome, PathSample, Recorder};

use crate::experiments::verify::{Measured, Request};

pub(super) const WIFI: &str = "wifi0";
pub(super) const CELLULAR: &str = "lte0";
/// How closely progress is looked at.
const STEP: Duration = Duration::from_millis(5);
/// The time after the bound over which the use of a WiFi that has come is taken.
const USE: Duration = Duration::from_millis(500);
/// An arrival shorter than this cannot be judged.
const LEAST_LIFE: Duration = Duration::from_secs(2);
/// After a departure the receiver is watched for so long.
const WATCHED: Duration = Duration::from_secs(3);
/// The peer's largest delay of acknowledgements, which a probe timeout includes (RFC 9002 section 6.2.1).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Steady WiFi that comes and goes: use after three round trips and the validation of the path, stalls at its going.
pub(super) fn arrivals(request: &Request<'_>) -> Result<Measured, String> {
    let scenario = request.scenario(&[])?;
    let run = watch(request, &scenario)?;
    let shares = run.used_shares(&scenario);
    let measured = with_stalls(Measured::of(&run.outcome), &run, &scenario);
    Ok(measured
        .with("arrivals", shares.len() as f64)
        .with("used_share_least", shares.iter().copied().fold(f64::NAN, f64::min))
        .with("used_share_mean", shares.iter().sum::<f64>() / shares.len() as f64))
}

/// Encounters of a city beside the cellular link: stalls at each departure, and connections that broke.
pub(super) fn departures(request: &Request<'_>) -> Result<Measured, String> {
    let mut all = Measured::new("");
    for file in request.scenarios {
        let scenario = request.scenario_of(file, &[])?;
        let run = watch(request, &scenario)?;
        let name = file.trim_start_matches("xfi-city-").trim_end_matches(".toml");
        let measured = with_stalls(Measured::new(""), &run, &scenario);
        let of_city = measured.metrics.into_iter().map(|(metric, value)| (format!("{name}.{metric}"), value));
        all.metrics.extend(of_city);
        all.trace_hash.push_str(&run.outcome.trace_hash);
    }
    Ok(all)
}

/// The same drives with a connection for each address, one connection over WiFi alone, several paths, and the cellular link alone.
pub(super) fn modes(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    for file in request.scenarios {
        let scenario = request.scenario_of(file, &[])?;
        let name = file.trim_start_matches("xfi-city-").trim_end_matches(".toml");
        let wifi = number(&scenario, WIFI)?;
        let cellular = number(&scenario, CELLULAR)?;
        let over = |links: &[usize]| {
            let mut scenario = scenario.clone();
            scenario.flows[0].links = links.to_vec();
            // One connection outlives the holes: the longest of them last minutes.
            scenario.transport.idle_timeout = Some(600_000_000_000);
            scenario
        };
        for (mode, scenario) in [
            ("restart", restarts(&scenario, wifi)),
            ("one_connection", over(&[wifi])),
            ("multipath", over(&[wifi, cellular])),
            ("cellular", over(&[cellular])),
        ] {
            let outcome = request.simulation(&scenario)?.run(&mut NoRecorder);
            let bytes: u64 = outcome.flows.iter().map(|flow| flow.bytes).sum();
            measured = measured.with(format!("{name}.{mode}_mb"), bytes as f64 / 1e6);
        }
    }
    Ok(measured)
}

fn number(scenario: &Scenario, name: &str) -> Result<usize, String> {
    let found = scenario.links.iter().position(|link| link.name == name);
    found.ok_or_else(|| format!("{} has no link {name}", scenario.name))
}

/// What the thesis' tool does: a flow from each address to its end, with a connection of its own.
fn restarts(scenario: &Scenario, wifi: usize) -> Scenario {
    let mut restarts = scenario.clone();
    let Some(flow) = restarts.flows.pop() else { return restarts };
    let lives = lives(&scenario.links[wifi], end(scenario));
    restarts.flows.extend(lives.into_iter().enumerate().map(|(index, (from, until))| {
        let mut flow = flow.clone();
        flow.name = format!("address-{index}");
        flow.links = vec![wifi];
        (flow.start, flow.stop) = (from, Some(until));
        flow
    }));
    restarts
}

fn end(scenario: &Scenario) -> u64 {
    scenario.duration.map_or(0, |duration| duration.as_nanos() as u64)
}

/// When the interface has an address: from, until.
fn lives(link: &ScenarioLink, end: u64) -> Vec<(u64, u64)> {
    let outages = &link.up.outages;
    let (mut lives, mut now) = (Vec::new(), 0);
    loop {
        let from = outages.next_up(now);
        if from >= end {
            return lives;
        }
        let until = outages.next_down(from).unwrap_or(end).min(end);
        lives.push((from, until));
        now = until;
        if until >= end {
            return lives;
        }
    }
}

/// A run that was watched.
struct Watched {
    outcome: Outcome,
    progress: Progress,
}

fn watch(request: &Request<'_>, scenario: &Scenario) -> Result<Watched, String> {
    let mut progress = Progress::default();
    let outcome = request.simulation(scenario)?.run(&mut progress);
    Ok(Watched { outcome, progress })
}

/// Progress of the receiver, and what it came over.
#[derive(Default)]
struct Progress {
    /// When bytes in order became more, and how many they were then.
    advanced: Vec<(Time, u64)>,
    /// Probe timeout of the cellular path, by time.
    probe_timeouts: Vec<(Time, Duration)>,
    /// Bytes that WiFi has delivered to the car, by time.
    over_wifi: BTreeMap<Time, u64>,
    /// What has left the sender, by time.
    sent: Vec<Sent>,
}

/// What has left the sender at a time.
struct Sent {
    at: Time,
    /// At least as far as this in the stream: what has arrived, and what is in flight on any path as the sender sees it.
    up_to: u64,
    /// In flight over the WiFi.
    over_wifi: u64,
}

impl Recorder for Progress {
    fn sample_interval(&self) -> Option<Duration> {
        Some(STEP)
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        if sample.bytes > self.advanced.last().map_or(0, |(_, bytes)| *bytes) {
            self.advanced.push((sample.at, sample.bytes));
        }
        self.sent.push(Sent { at: sample.at, up_to: sample.bytes + sample.waiting, over_wifi: 0 });
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        if sample.link == CELLULAR {
            let spread = (4 * sample.stats.rtt_variance).max(Duration::from_millis(1));
            self.probe_timeouts.push((sample.at, sample.stats.smoothed_rtt + spread + MAX_ACK_DELAY));
        }
        if let Some(sent) = self.sent.last_mut() {
            sent.up_to += sample.stats.bytes_in_flight;
            sent.over_wifi += if sample.link == WIFI { sample.stats.bytes_in_flight } else { 0 };
        }
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        if sample.link == WIFI && sample.direction == Direction::Down {
            self.over_wifi.insert(sample.at, sample.delivered_bytes);
        }
    }
}

impl Progress {
    /// When the receiver has everything, in order, that had left the sender before it heard that the WiFi is gone: what it waits for
    /// from then on did not go with it.
    fn made_good(&self, gone: Time) -> Option<Time> {
        let since = self.sent.partition_point(|sent| sent.at < gone).saturating_sub(1);
        let mut up_to = 0;
        for sent in self.sent.get(since..)? {
            up_to = up_to.max(sent.up_to);
            // The sender has heard of it: nothing counts as in flight there any more.
            if sent.at >= gone && sent.over_wifi == 0 {
                break;
            }
        }
        let (at, _) = self.advanced.get(self.advanced.partition_point(|(_, bytes)| *bytes < up_to))?;
        Some(*at)
    }

    /// The stalls that begin between the going of the WiFi and `until`; the first has begun at the last byte before.
    fn stall(&self, from: Time, until: Time) -> Option<Stall> {
        let first = self.advanced.partition_point(|(at, _)| *at < from);
        let pairs = || Some(self.advanced.get(first.checked_sub(1)?..)?.windows(2));
        let longest = |since: Time| {
            let within = pairs()?.take_while(|pair| pair[0].0 < until);
            within.map(|pair| pair[1].0.since(pair[0].0.max(since)).as_secs_f64()).reduce(f64::max)
        };
        let before = self.probe_timeouts.partition_point(|(at, _)| *at < from);
        let (_, timeout) = self.probe_timeouts.get(before.checked_sub(1)?)?;
        Some(Stall {
            whole: longest(Time::ZERO)?,
            since: longest(from)?,
            probe_timeout: timeout.as_secs_f64(),
        })
    }

    /// The longest time without progress, in seconds, that has nothing in common with these periods.
    fn longest_outside(&self, periods: &[(Time, Time)]) -> f64 {
        let outside = self.advanced.windows(2).filter(|pair| {
            let (start, end) = (pair[0].0, pair[1].0);
            periods.iter().all(|&(from, until)| end <= from || until <= start)
        });
        outside.map(|pair| pair[1].0.since(pair[0].0).as_secs_f64()).fold(0.0, f64::max)
    }

    fn over_wifi_until(&self, at: Time) -> u64 {
        self.over_wifi.range(..=at).next_back().map_or(0, |(_, bytes)| *bytes)
    }
}

/// Seconds without progress after a departure.
struct Stall {
    /// The longest time without progress, also that which began before, at the poor edge of the coverage.
    whole: f64,
    /// The longest time without progress since the address went: what its going has caused.
    since: f64,
    /// Probe timeout of the cellular path when it went.
    probe_timeout: f64,
}

impl Watched {
    /// For each arrival the share of the WiFi's rate that is used after three round trips and one for the validation of the path.
    fn used_shares(&self, scenario: &Scenario) -> Vec<f64> {
        let Ok(wifi) = number(scenario, WIFI) else { return Vec::new() };
        let link = &scenario.links[wifi];
        let lives = lives(link, end(scenario));
        let long = lives.iter().filter(|(from, until)| until - from >= LEAST_LIFE.as_nanos() as u64);
        long.filter_map(|(from, _)| {
            let one_way = |direction: Direction| link.direction(direction).delay.base.value_at(*from);
            let rtt = one_way(Direction::Up) + one_way(Direction::Down);
            let bound = Time::from_nanos(from + 4 * rtt);
            let used = self.progress.over_wifi_until(bound + USE) - self.progress.over_wifi_until(bound);
            let capacity = |at: Time| link.down.rate.capacity_bits(at.as_nanos());
            let possible = capacity(bound + USE)? - capacity(bound)?;
            Some(8.0 * used as f64 / possible as f64)
        })
        .collect()
    }
}

/// The longest stalls at departures, in milliseconds and in probe timeouts of the cellular path.
///
/// The sheet asks what the going of an address causes. It causes what happens while something is missing that went with it, or
/// while the WiFi is away. Once it is back and all of that is made good, a stall is the new encounter's, whose rate collapses with
/// data queued: such ones come at any time of an encounter, and longer ones, as the longest elsewhere shows. What there is within three
/// seconds of a departure, whatever the cause, is kept beside (R6).
fn with_stalls(measured: Measured, run: &Watched, scenario: &Scenario) -> Measured {
    let end = end(scenario);
    let lives = number(scenario, WIFI).map(|wifi| lives(&scenario.links[wifi], end)).unwrap_or_default();
    let arrivals = lives.iter().skip(1).map(|(from, _)| *from).chain([end]);
    let gone = lives.iter().zip(arrivals).filter(|((_, until), _)| *until < end);
    let (mut caused, mut after, mut periods) = (Vec::new(), Vec::new(), Vec::new());
    for (&(_, until), arrival) in gone {
        let from = Time::from_nanos(until);
        let away = Time::from_nanos(arrival).min(from + WATCHED);
        let over = run.progress.made_good(from).unwrap_or(Time::from_nanos(end)).max(away);
        periods.push((from, over));
        caused.extend(run.progress.stall(from, over));
        after.extend(run.progress.stall(from, from + WATCHED));
    }
    let most = |stalls: &[Stall], of: fn(&Stall) -> f64| stalls.iter().map(of).fold(0.0, f64::max);
    let broken = run.outcome.flows.iter().filter(|flow| flow.error.is_some()).count();
    measured
        .with("departures", caused.len() as f64)
        .with("longest_stall_with_edge_ms", 1e3 * most(&caused, |stall| stall.whole))
        .with("longest_stall_ms", 1e3 * most(&caused, |stall| stall.since))
        .with("longest_stall_pto", most(&caused, |stall| stall.since / stall.probe_timeout))
        .with("longest_stall_within_3_s_ms", 1e3 * most(&after, |stall| stall.since))
        .with("longest_stall_within_3_s_pto", most(&after, |stall| stall.since / stall.probe_timeout))
        .with("longest_stall_elsewhere_ms", 1e3 * run.progress.longest_outside(&periods))
        .with("new_handshakes", broken as f64)
}

#[cfg(test)]
mod tests;
