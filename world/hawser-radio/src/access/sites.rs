//! The sites that a host may choose from, and the rule by which it leaves one for another.

use crate::RadioError;
use crate::error::Check;
use crate::math::nanos;
use crate::profile::{Event, EventKind, ForecastSamples, Profile, Sample, Steps, gaps, layered};

/// When a host leaves a cell, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct HandOver {
    /// The cell is left when its mean signal falls below this, dBm, and another is stronger; `inf` always takes the
    /// strongest. Default -90 (MAMS, ToN 2024, section V).
    pub threshold_dbm: f64,
    /// How much stronger the other has to be, dB. Default 0.
    pub hysteresis_db: f64,
    /// How long nothing is carried, seconds. Default 0.05 (LTE; WiFi 0.2).
    pub outage: f64,
    /// Below this, dBm, the host is detached; `-inf` never. Default `-inf`.
    pub detach_dbm: f64,
    /// Whether the new cell gives a new address. Default `false`.
    pub new_address: bool,
}

impl Default for HandOver {
    fn default() -> Self {
        HandOver {
            threshold_dbm: -90.0,
            hysteresis_db: 0.0,
            outage: 0.05,
            detach_dbm: f64::NEG_INFINITY,
            new_address: false,
        }
    }
}

impl HandOver {
    pub(super) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.that(
            !self.threshold_dbm.is_nan(),
            "hand_over.threshold_dbm",
            self.threshold_dbm,
            "dBm or inf",
        )?;
        check.not_negative("hand_over.hysteresis_db", self.hysteresis_db)?;
        check.not_negative("hand_over.outage", self.outage)?;
        check.that(!self.detach_dbm.is_nan(), "hand_over.detach_dbm", self.detach_dbm, "dBm or -inf")
    }
}

/// What a site would give a host at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Its number.
    pub site: u64,
    /// Received power, dBm.
    pub rss_dbm: f64,
    /// Signal over noise, dB.
    pub snr_db: f64,
    /// bit/s.
    pub rate: u64,
    /// Loss probability per packet on the whole way, 0 to 1.
    pub loss: f64,
}

/// What every site near the way of a host would give, so that the host may be attached to another one than its handover rule
/// chose: `looks` at even intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Sites {
    /// Nanoseconds from look to look.
    pub(crate) step: u64,
    /// By what rule a site is left.
    pub(crate) rule: HandOver,
    /// One way, nanoseconds, the same behind every site.
    pub(crate) delay: u64,
    /// At each look the sites near the host.
    pub(crate) looks: Vec<Vec<Reach>>,
}

impl Sites {
    /// The sites near the host at a time, in nanoseconds; unordered.
    pub fn within_reach(&self, at: u64) -> &[Reach] {
        let last = self.looks.len().saturating_sub(1);
        self.looks.get(((at / self.step) as usize).min(last)).map_or(&[], Vec::as_slice)
    }

    /// What a site would give at a time; `None` when it is far away.
    pub fn reach(&self, at: u64, site: u64) -> Option<&Reach> {
        self.within_reach(at).iter().find(|reach| reach.site == site)
    }

    /// The profile of the host's link when it is attached to this site at `at`: nothing is carried for `outage` nanoseconds,
    /// and from then on the rule of the scene holds again, which leaves the site when it is too weak. What came before is
    /// taken from `profile`, and so is its name. `None` when the site is far away.
    pub fn attached(&self, profile: &Profile, at: u64, site: u64, outage: u64) -> Option<Profile> {
        let first = *self.reach(at, site)?;
        let mut busy_until = at + outage;
        let mut events = vec![
            Event { at, kind: EventKind::HandOverStart, cell: Some(site) },
            Event { at: busy_until, kind: EventKind::HandOverEnd, cell: Some(site) },
        ];
        let mut silent = vec![(at, busy_until)];
        let mut steps = Steps::new();
        // A step function begins at zero; nobody asks for what was before.
        steps.push(self.sample(0, &first));
        let mut serving = Some(site);
        for index in at / self.step + 1..self.looks.len() as u64 {
            let now = index * self.step;
            let within = self.within_reach(now);
            if now >= busy_until {
                let heard: Vec<(u64, f64)> = within.iter().map(|it| (it.site, it.rss_dbm)).collect();
                let best = heard.iter().copied().fold(None, stronger);
                let before = serving;
                serving = choose(serving, &heard, best, &self.rule);
                let change = note_change(before, serving, now, &self.rule, &mut events, &mut silent);
                busy_until = change.unwrap_or(busy_until);
            }
            let reach = serving.and_then(|site| within.iter().find(|it| it.site == site));
            steps.push(match reach {
                Some(reach) => self.sample(now, reach),
                None => Sample { at: now, rate: 0, delay: self.delay, loss: 1.0, up: false },
            });
        }
        let samples = layered(&steps.finish(), &[], &gaps(&silent));
        let earlier = profile.events.iter().filter(|event| event.at < at).copied();
        Some(Profile {
            name: profile.name.clone(),
            up: samples.clone(),
            down: samples.clone(),
            events: earlier.chain(events).collect(),
            forecast: ForecastSamples { up: samples.clone(), down: samples },
            positions: profile.positions.clone(),
            sites: profile.sites.clone(),
        })
    }

    fn sample(&self, at: u64, reach: &Reach) -> Sample {
        Sample { at, rate: reach.rate, delay: self.delay, loss: reach.loss, up: true }
    }
}

/// The stronger of two sites, the first of equals.
pub(super) fn stronger(best: Option<(u64, f64)>, next: (u64, f64)) -> Option<(u64, f64)> {
    match best {
        Some(known) if known.1 >= next.1 => best,
        _ => Some(next),
    }
}

/// The cell that serves from now on.
pub(super) fn choose(
    serving: Option<u64>,
    heard: &[(u64, f64)],
    best: Option<(u64, f64)>,
    rule: &HandOver,
) -> Option<u64> {
    let (best_id, best_rss) = best.filter(|best| best.1 >= rule.detach_dbm)?;
    let Some(current) = serving else { return Some(best_id) };
    let Some(&(_, rss)) = heard.iter().find(|known| known.0 == current) else { return Some(best_id) };
    let leave = rss < rule.threshold_dbm && best_id != current && best_rss > rss + rule.hysteresis_db;
    if leave { Some(best_id) } else { Some(current) }
}

/// Writes down what a change of cell means; returns until when no further change is looked for.
pub(super) fn note_change(
    before: Option<u64>,
    after: Option<u64>,
    at: u64,
    rule: &HandOver,
    events: &mut Vec<Event>,
    gaps: &mut Vec<(u64, u64)>,
) -> Option<u64> {
    let mut note = |at, kind, cell| events.push(Event { at, kind, cell });
    match (before, after) {
        (None, None) => None,
        (None, Some(_)) => {
            note(at, EventKind::Attach, after);
            None
        }
        (Some(_), None) => {
            note(at, EventKind::Detach, before);
            None
        }
        (Some(old), Some(new)) if old == new => None,
        (Some(_), Some(_)) => {
            let end = at + nanos(rule.outage);
            note(at, EventKind::HandOverStart, after);
            note(end, EventKind::HandOverEnd, after);
            if rule.new_address {
                note(end, EventKind::AddressChange, after);
            }
            gaps.push((at, end));
            Some(end)
        }
    }
}
