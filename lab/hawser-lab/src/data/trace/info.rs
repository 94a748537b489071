//! What a trace amounts to.

use std::collections::BTreeMap;
use std::fmt;

use hawser_link::{Direction, MILLISECOND, Nanos, SECOND};
use serde::Serialize;

use super::statistics::{correlation, share_below, together};
use super::{DirectionTrace, Distribution, Event, EventKind, LinkTrace, Trace};

/// Below this a link is of little use: 1 Mbit/s, the limit that the literature on drives uses.
const POOR: f64 = 1e6;
/// Shorter times between two delivery chances are no outage.
const SHORTEST_GAP: Nanos = 100 * MILLISECOND;

/// Figures about a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Info {
    /// Name of the trace.
    pub name: String,
    /// Time that it covers.
    pub duration_seconds: f64,
    /// Its links.
    pub links: Vec<LinkInfo>,
    /// Every two links whose rate is known in the same direction.
    pub pairs: Vec<PairInfo>,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

/// Figures about a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkInfo {
    /// Its name.
    pub name: String,
    /// Its directions, as far as they were measured; one called `both` if they are the same.
    pub directions: Vec<DirectionInfo>,
    /// Handovers, if there are marks.
    pub hand_overs: Option<HandOverInfo>,
    /// Share of the time per radio technology.
    pub technologies: BTreeMap<String, f64>,
}

/// Figures about one direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionInfo {
    /// `up` (client to server), `down` or `both`.
    pub direction: &'static str,
    /// Bit/s over time, outages counted as zero.
    pub rate_bps: Option<Distribution>,
    /// One-way delay in ms.
    pub delay_ms: Option<Distribution>,
    /// Mean loss over time.
    pub loss: Option<f64>,
    /// Share of the time with less than 1 Mbit/s.
    pub share_below_1mbps: Option<f64>,
    /// Times without service.
    pub outages: OutageInfo,
}

/// Times without service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutageInfo {
    /// How many.
    pub count: usize,
    /// Share of the time.
    pub share: f64,
    /// The longest, in seconds.
    pub longest_seconds: f64,
}

/// Changes of the cell or satellite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HandOverInfo {
    /// How many.
    pub count: usize,
    /// How often.
    pub per_minute: f64,
    /// How long they took, in ms.
    pub duration_ms: Distribution,
}

/// Two links at the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairInfo {
    /// Their names.
    pub links: [String; 2],
    /// The direction.
    pub direction: &'static str,
    /// Share of the time in which both have less than 1 Mbit/s.
    pub joint_share_below_1mbps: f64,
    /// What it would be if they had nothing to do with each other.
    pub independent_share: f64,
    /// Pearson's correlation of the rates.
    pub rate_correlation: Option<f64>,
}

impl Info {
    /// Of a trace.
    pub fn of(trace: &Trace) -> Self {
        let duration = trace.duration;
        let links = trace.links.iter().map(|link| LinkInfo::of(link, duration)).collect();
        Self {
            name: trace.name.clone(),
            duration_seconds: seconds(duration),
            links,
            pairs: pairs(trace),
            notes: trace.notes.clone(),
        }
    }
}

impl LinkInfo {
    fn of(link: &LinkTrace, duration: Nanos) -> Self {
        let measured = link.directions().into_iter().filter(|(_, direction)| direction.is_measured());
        Self {
            name: link.name.clone(),
            directions: measured
                .map(|(name, direction)| DirectionInfo::of(name, direction, duration))
                .collect(),
            hand_overs: HandOverInfo::of(link, duration),
            technologies: technologies(&link.events, duration),
        }
    }
}

impl DirectionInfo {
    fn of(name: &'static str, direction: &DirectionTrace, duration: Nanos) -> Self {
        let service = direction.service(duration);
        let loss = direction.losses(duration);
        let gaps = direction.gaps(duration, SHORTEST_GAP);
        let lengths = || gaps.iter().map(|gap| gap.1 - gap.0);
        Self {
            direction: name,
            rate_bps: service.as_ref().and_then(|pieces| Distribution::of(pieces, 1.0)),
            delay_ms: direction
                .delays(duration)
                .and_then(|pieces| Distribution::of(&pieces, 1.0 / MILLISECOND as f64)),
            loss: loss.and_then(|pieces| Distribution::of(&pieces, 1.0)).map(|loss| loss.mean),
            share_below_1mbps: service.as_ref().map(|pieces| share_below(pieces, POOR)),
            outages: OutageInfo {
                count: gaps.len(),
                share: lengths().sum::<Nanos>() as f64 / duration.max(1) as f64,
                longest_seconds: seconds(lengths().max().unwrap_or(0)),
            },
        }
    }
}

impl HandOverInfo {
    fn of(link: &LinkTrace, duration: Nanos) -> Option<Self> {
        let lengths: Vec<f64> =
            link.hand_overs().map(|event| (event.to - event.from) as f64 / MILLISECOND as f64).collect();
        Some(Self {
            count: lengths.len(),
            per_minute: lengths.len() as f64 / (seconds(duration) / 60.0),
            duration_ms: Distribution::of_values(lengths)?,
        })
    }
}

/// Share of the time of each radio technology; each holds until the next.
fn technologies(events: &[Event], duration: Nanos) -> BTreeMap<String, f64> {
    let changes: Vec<(Nanos, &str)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Technology(name) => Some((event.from, name.as_str())),
            EventKind::HandOver => None,
        })
        .collect();
    let mut shares = BTreeMap::new();
    for (index, &(from, name)) in changes.iter().enumerate() {
        // An event may lie behind the last sample.
        let to = changes.get(index + 1).map_or(duration, |next| next.0.min(duration));
        *shares.entry(name.to_owned()).or_default() +=
            to.saturating_sub(from) as f64 / duration.max(1) as f64;
    }
    shares
}

fn pairs(trace: &Trace) -> Vec<PairInfo> {
    let mut pairs = Vec::new();
    for (index, first) in trace.links.iter().enumerate() {
        for second in &trace.links[index + 1..] {
            for direction in Direction::BOTH {
                let rates = [first, second].map(|link| link.direction(direction).service(trace.duration));
                let [Some(a), Some(b)] = rates else { continue };
                let total: f64 = together(&a, &b).map(|both| both.0).sum();
                let poor = together(&a, &b).filter(|both| both.1 < POOR && both.2 < POOR);
                pairs.push(PairInfo {
                    links: [first.name.clone(), second.name.clone()],
                    direction: direction.name(),
                    joint_share_below_1mbps: poor.map(|both| both.0).fold(0.0, |a, b| a + b) / total.max(1.0),
                    independent_share: share_below(&a, POOR) * share_below(&b, POOR),
                    rate_correlation: correlation(&a, &b),
                });
            }
        }
    }
    pairs
}

fn seconds(time: Nanos) -> f64 {
    time as f64 / SECOND as f64
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links =
            if self.links.len() == 1 { "1 link".to_owned() } else { format!("{} links", self.links.len()) };
        writeln!(f, "{}: {:.1} s, {links}", self.name, self.duration_seconds)?;
        self.rates(f)?;
        self.delays(f)?;
        self.outages(f)?;
        self.events(f)?;
        for pair in &self.pairs {
            let correlation = pair.rate_correlation.map_or("-".to_owned(), |value| format!("{value:.2}"));
            writeln!(
                f,
                "\n{} and {}, {}: both below 1 Mbit/s {:.1} % of the time ({:.1} % if independent); correlation of rates {correlation}",
                pair.links[0],
                pair.links[1],
                pair.direction,
                pair.joint_share_below_1mbps * 100.0,
                pair.independent_share * 100.0
            )?;
        }
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl Info {
    fn directions(&self) -> impl Iterator<Item = (&LinkInfo, &DirectionInfo)> {
        self.links.iter().flat_map(|link| link.directions.iter().map(move |direction| (link, direction)))
    }

    fn rates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (link, direction) in self.directions() {
            let Some(rate) = &direction.rate_bps else { continue };
            if std::mem::take(&mut first) {
                writeln!(
                    f,
                    "\n{:<20}{:<6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}",
                    "rate, Mbit/s", "", "mean", "p5", "median", "p95", "max", "below 1"
                )?;
            }
            let [mean, p5, median, p95, max] =
                [rate.mean, rate.p5, rate.median, rate.p95, rate.max].map(|rate| rate / 1e6);
            let poor = direction.share_below_1mbps.unwrap_or(0.0) * 100.0;
            writeln!(
                f,
                "{:<20}{:<6}{mean:>9.2}{p5:>9.2}{median:>9.2}{p95:>9.2}{max:>9.2}{poor:>10.1} %",
                link.name, direction.direction
            )?;
        }
        Ok(())
    }

    fn delays(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (link, direction) in self.directions() {
            if direction.delay_ms.is_none() && direction.loss.is_none() {
                continue;
            }
            if std::mem::take(&mut first) {
                writeln!(
                    f,
                    "\n{:<20}{:<6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}",
                    "one-way delay, ms", "", "mean", "p5", "median", "p95", "max", "loss"
                )?;
            }
            let delay = |value: fn(&Distribution) -> f64| {
                direction.delay_ms.as_ref().map_or("-".to_owned(), |delay| format!("{:.1}", value(delay)))
            };
            let loss = direction.loss.map_or("-".to_owned(), |loss| format!("{:.2} %", loss * 100.0));
            writeln!(
                f,
                "{:<20}{:<6}{:>9}{:>9}{:>9}{:>9}{:>9}{loss:>12}",
                link.name,
                direction.direction,
                delay(|delay| delay.mean),
                delay(|delay| delay.p5),
                delay(|delay| delay.median),
                delay(|delay| delay.p95),
                delay(|delay| delay.max)
            )?;
        }
        Ok(())
    }

    fn outages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (link, direction) in self.directions() {
            if direction.rate_bps.is_none() && direction.outages.count == 0 {
                continue;
            }
            if std::mem::take(&mut first) {
                writeln!(
                    f,
                    "\n{:<20}{:<6}{:>9}{:>9}{:>11}",
                    "without service", "", "times", "share", "longest"
                )?;
            }
            let OutageInfo { count, share, longest_seconds } = direction.outages;
            writeln!(
                f,
                "{:<20}{:<6}{count:>9}{:>7.2} %{longest_seconds:>9.2} s",
                link.name,
                direction.direction,
                share * 100.0
            )?;
        }
        Ok(())
    }

    fn events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for link in &self.links {
            if let Some(hand_overs) = &link.hand_overs {
                let HandOverInfo { count, per_minute, duration_ms } = hand_overs;
                writeln!(
                    f,
                    "\n{}: {count} handovers, {per_minute:.1} per minute; median {:.0} ms, p95 {:.0} ms, longest {:.0} ms",
                    link.name, duration_ms.median, duration_ms.p95, duration_ms.max
                )?;
            }
            if !link.technologies.is_empty() {
                let share = |(name, share): (&String, &f64)| format!("{name} {:.0} %", share * 100.0);
                let shares: Vec<String> = link.technologies.iter().map(share).collect();
                writeln!(f, "{}: {} of the time", link.name, shares.join(", "))?;
            }
        }
        Ok(())
    }
}
