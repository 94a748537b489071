use super::HandOver;
use super::engine::{choose, note_change, stronger};
use crate::profile::{Event, EventKind, ForecastSamples, Profile, Sample, Steps, gaps, layered};

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
