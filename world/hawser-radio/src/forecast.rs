use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    AttachmentPoint, Forecast, HandOver, LinkCandidate, LinkDirection, LinkId, LinkKind, LinkObserver,
    LinkState, MAX_LINK_CANDIDATES, Rate, Signal, Time,
};

use crate::access::Reach;
use crate::profile::{Event, EventKind, Profile, Sample, sample_at};
use crate::random::{Draws as _, Random, mix};

/// How good a forecaster is. All of them see the forecast only, never the channel's draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForecastQuality {
    /// Knows the forecast at every time.
    Perfect,
    /// Knows what held a while ago, and takes the future to come that much later, too.
    Delayed(Duration),
    /// Capacity is off by a factor with this relative standard deviation, drawn again for each 100 ms that is asked for.
    Noisy {
        /// For example 0.2.
        deviation: f64,
        /// Of the errors.
        seed: u64,
    },
    /// Knows nothing.
    Absent,
}

/// Which direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Two questions within this time get the same error.
const ERROR_GRID: u64 = 100_000_000;

/// A [`LinkObserver`] over the outlooks of profiles, for the host at their moving end: it sends on `forecast.up`.
#[derive(Clone, Debug)]
pub struct ProfileObserver {
    links: Vec<(LinkId, Arc<Profile>)>,
    kind: LinkKind,
    quality: ForecastQuality,
    horizon: Duration,
}

impl ProfileObserver {
    /// Watches some links. Forecasts end at a horizon of 1 s: beyond it, the last value holds.
    pub fn new(links: impl IntoIterator<Item = (LinkId, Arc<Profile>)>, quality: ForecastQuality) -> Self {
        let links = links.into_iter().collect();
        ProfileObserver { links, kind: LinkKind::Unknown, quality, horizon: Duration::from_secs(1) }
    }

    /// Says what carries these links: whether they are served by cells (the default), access points or satellites.
    #[must_use]
    pub fn with_kind(mut self, kind: LinkKind) -> Self {
        self.kind = kind;
        self
    }

    /// Changes how far ahead it sees.
    #[must_use]
    pub fn with_horizon(mut self, horizon: Duration) -> Self {
        self.horizon = horizon;
        self
    }

    /// The state at a time, as far as the host knows of it at `now`.
    fn state(&self, now: Time, link: LinkId, at: Time) -> Option<LinkState> {
        let profile = &self.links.iter().find(|known| known.0 == link)?.1;
        let late = match self.quality {
            ForecastQuality::Absent => return None,
            ForecastQuality::Delayed(by) => by,
            ForecastQuality::Perfect | ForecastQuality::Noisy { .. } => Duration::ZERO,
        };
        let seen_until = (now + self.horizon - late).as_nanos();
        let at = (at - late).as_nanos();
        let up = sample_at(&profile.forecast.up, at)?;
        let down = sample_at(&profile.forecast.down, at);
        let hand_over = foreseen_hand_over(profile, at, seen_until).map(|(event, end)| {
            HandOver::new(Time::from_nanos(event.at) + late).with(|hand_over| {
                hand_over.to = event.cell.map(|number| self.point(number));
                hand_over.interruption = end.map(|end| Duration::from_nanos(end - event.at));
            })
        });
        Some(LinkState::default().with(|state| {
            state.is_up = up.up;
            state.uplink = self.direction(up, link, at, Direction::Up);
            state.downlink =
                down.map(|down| self.direction(down, link, at, Direction::Down)).unwrap_or_default();
            state.attached_to = profile.serving_at(at).map(|number| self.point(number));
            state.channel = None;
            state.hand_over = hand_over;
            state.position = profile.position_at(at);
            state.signal = self.signal(profile, at);
            state.candidates = self.candidates(profile, at);
        }))
    }

    /// Of what serves the link, where the model knows of it.
    fn signal(&self, profile: &Profile, at: u64) -> Signal {
        let serving = profile.serving_at(at);
        let reach = profile.sites.as_ref().zip(serving).and_then(|(sites, site)| sites.reach(at, site));
        reach.map_or(Signal::default(), signal_of)
    }

    /// The strongest of what could serve it.
    fn candidates(&self, profile: &Profile, at: u64) -> Vec<LinkCandidate> {
        let mut within: Vec<&Reach> = profile.sites.iter().flat_map(|sites| sites.within_reach(at)).collect();
        within.sort_by(|one, other| other.rss_dbm.total_cmp(&one.rss_dbm));
        within.truncate(MAX_LINK_CANDIDATES);
        let candidate =
            |reach: &Reach| LinkCandidate { point: self.point(reach.site), signal: signal_of(reach) };
        within.into_iter().map(candidate).collect()
    }

    fn direction(&self, sample: &Sample, link: LinkId, at: u64, direction: Direction) -> LinkDirection {
        LinkDirection::default().with(|made| {
            made.capacity = Some(Rate::from_bits_per_second(self.capacity(sample, link, at, direction)));
            made.loss = Some(sample.loss);
            made.delay = Some(Duration::from_nanos(sample.delay));
        })
    }

    fn capacity(&self, sample: &Sample, link: LinkId, at: u64, direction: Direction) -> u64 {
        if !sample.up {
            return 0;
        }
        let ForecastQuality::Noisy { deviation, seed } = self.quality else { return sample.rate };
        let key = mix(at / ERROR_GRID) ^ mix(u64::from(link.0) << 40);
        let name = match direction {
            Direction::Up => "forecast",
            Direction::Down => "forecast down",
        };
        let error = 1.0 + deviation * Random::new(seed ^ key, name).normal();
        (sample.rate as f64 * error.max(0.0)) as u64
    }

    fn point(&self, number: u64) -> AttachmentPoint {
        attachment_point(self.kind, number)
    }
}

fn signal_of(reach: &Reach) -> Signal {
    Signal::default().with(|signal| {
        signal.strength_dbm = Some(reach.rss_dbm);
        signal.snr_db = Some(reach.snr_db);
    })
}

/// What serves a link of this kind, by the number that a model gives it: WiFi links have access points, satellite terminals
/// satellites, all others cells.
pub fn attachment_point(kind: LinkKind, number: u64) -> AttachmentPoint {
    match kind {
        LinkKind::Satellite => AttachmentPoint::Satellite(number),
        LinkKind::Wifi => {
            let [.., a, b, c, d, e] = number.to_be_bytes();
            // Locally administered: no manufacturer's BSSID is like it.
            AttachmentPoint::AccessPoint([2, a, b, c, d, e])
        }
        _ => AttachmentPoint::Cell(number),
    }
}

/// The first handover after `from` that the forecast has, and when it ends. Others are the channel's chance.
fn foreseen_hand_over(profile: &Profile, from: u64, until: u64) -> Option<(&Event, Option<u64>)> {
    let first = profile.events.partition_point(|event| event.at <= from);
    let later = profile.events.get(first..)?;
    let is_foreseen =
        |event: &Event| sample_at(&profile.forecast.up, event.at).is_some_and(|sample| !sample.up);
    let position = later
        .iter()
        .take_while(|event| event.at <= until)
        .position(|event| event.kind == EventKind::HandOverStart && is_foreseen(event))?;
    let end = later.get(position..)?.iter().find(|event| event.kind == EventKind::HandOverEnd);
    Some((later.get(position)?, end.map(|event| event.at)))
}

impl LinkObserver for ProfileObserver {
    fn observe(&mut self, now: Time, link: LinkId) -> Option<LinkState> {
        self.state(now, link, now)
    }

    fn forecast(&mut self, now: Time, link: LinkId, at: Time) -> Option<Forecast> {
        let seen = at.min(now + self.horizon).max(now);
        let state = self.state(now, link, seen)?;
        let capacity = state.uplink.capacity.map_or(0.0, |rate| rate.bits_per_second() as f64);
        let capacity_deviation = match self.quality {
            ForecastQuality::Perfect => Some(0.0),
            ForecastQuality::Noisy { deviation, .. } => Some(deviation * capacity),
            ForecastQuality::Delayed(_) | ForecastQuality::Absent => None,
        };
        Some(Forecast::new(at, state).with(|forecast| forecast.capacity_deviation = capacity_deviation))
    }
}

#[cfg(test)]
mod tests;
