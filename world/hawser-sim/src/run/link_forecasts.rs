//! What a client knows of the future of its links.

use std::sync::Arc;
use std::time::Duration;

use hawser_link::Outages;
use hawser_policy::{HandOver, LinkId, LinkKind, LinkObserver, LinkState, LinkUpdate, Time};
use hawser_radio::{ForecastQuality, Profile, ProfileObserver};
use hawser_scenario::{ForecastSource, Medium, ScenarioLink};

use super::attachments::Attachments;

/// How often a link is observed.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far ahead outages are foreseen, as those of a scene.
const HORIZON: Duration = Duration::from_secs(1);

/// The links of which something is known, and when they are observed next.
pub(super) struct LinkForecasts {
    links: Vec<Observed>,
    next_update: Time,
}

/// A link that is observed.
struct Observed {
    link: LinkId,
    metered: bool,
    source: Source,
}

enum Source {
    /// A scene knows it, or what it follows since it was attached elsewhere.
    Profile { observer: ProfileObserver, profile: Arc<Profile>, quality: ForecastQuality, kind: LinkKind },
    /// Its outages are known, so much later than they are.
    Outages { outages: Outages, late: Duration },
    /// Nothing is known of it but where it could be attached.
    Routes,
    /// Nothing is known of it but what it costs.
    Metered,
}

impl Source {
    fn of(id: LinkId, link: &ScenarioLink) -> Option<Self> {
        if let Some(ForecastSource { profile, quality }) = &link.forecasts {
            let kind = link_kind(link.medium);
            let observer = observer(id, profile, *quality, kind);
            return Some(Source::Profile { observer, profile: profile.clone(), quality: *quality, kind });
        }
        if let Some(late) = link.foreseen_outages {
            return Some(Source::Outages { outages: link.up.outages.clone(), late });
        }
        let is_routed = link.attach_outage.is_some() && link.via.alternatives.len() > 1;
        is_routed.then_some(Source::Routes).or(link.metered.then_some(Source::Metered))
    }
}

fn observer(
    link: LinkId,
    profile: &Arc<Profile>,
    quality: ForecastQuality,
    kind: LinkKind,
) -> ProfileObserver {
    ProfileObserver::new([(link, profile.clone())], quality).with_kind(kind)
}

impl LinkForecasts {
    /// Of these links, with their numbers; `None` when nothing is known of any.
    pub(super) fn of<'a>(links: impl Iterator<Item = (usize, &'a ScenarioLink)>) -> Option<Self> {
        let observed = |(index, link): (usize, &'a ScenarioLink)| {
            let id = LinkId(index as u32);
            Some(Observed { link: id, metered: link.metered, source: Source::of(id, link)? })
        };
        let links: Vec<_> = links.filter_map(observed).collect();
        (!links.is_empty()).then_some(LinkForecasts { links, next_update: Time::ZERO })
    }

    pub(super) fn next_update(&self) -> Time {
        self.next_update
    }

    /// Says what the links do now and will do, if that is due.
    pub(super) fn update(
        &mut self,
        now: Time,
        attachments: &Attachments,
        mut tell: impl FnMut(&LinkUpdate<'_>),
    ) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + INTERVAL;
        for Observed { link, metered, source } in &mut self.links {
            let (state, forecasts) = match source {
                Source::Profile { observer, profile, quality, kind } => {
                    let newer = attachments.profile(link.0 as usize);
                    if let Some(newer) = newer.filter(|newer| !Arc::ptr_eq(newer, profile)) {
                        *observer = self::observer(*link, &newer, *quality, *kind);
                        *profile = newer;
                    }
                    let Some(state) = observer.observe(now, *link) else { continue };
                    (state, observer.forecasts(now, *link))
                }
                Source::Outages { outages, late } => (before_outage(outages, *late, now), Vec::new()),
                Source::Routes => {
                    let Some((point, candidates)) = attachments.routes(link.0 as usize) else { continue };
                    let state = LinkState::default().with(|state| {
                        state.attached_to = Some(point);
                        state.candidates = candidates;
                    });
                    (state, Vec::new())
                }
                Source::Metered => (LinkState::default(), Vec::new()),
            };
            tell(&LinkUpdate::new(now, *link, &state).with(|update| {
                update.forecasts = &forecasts;
                update.metered = *metered;
            }));
        }
    }
}

/// What a host knows that foresees outages, so much later than they are.
fn before_outage(outages: &Outages, late: Duration, now: Time) -> LinkState {
    let seen = now - late;
    let is_up = !outages.is_down(seen.as_nanos());
    let next = outages.next_down(seen.as_nanos()).map(Time::from_nanos);
    let next = next.filter(|next| is_up && *next <= seen + HORIZON);
    let hand_over = next.map(|at| {
        let ends = Time::from_nanos(outages.next_up(at.as_nanos()));
        HandOver::new(at + late).with(|hand_over| hand_over.interruption = Some(ends.since(at)))
    });
    LinkState::default().with(|state| {
        state.is_up = is_up;
        state.hand_over = hand_over;
    })
}

/// A medium of scenarios, as policies know it.
pub(super) fn link_kind(medium: Medium) -> LinkKind {
    match medium {
        Medium::Wired => LinkKind::Wired,
        Medium::Wifi => LinkKind::Wifi,
        Medium::Cellular => LinkKind::Cellular,
        Medium::Satellite => LinkKind::Satellite,
        Medium::Unknown => LinkKind::Unknown,
    }
}
