//! What a client knows of the future of its links.

use std::time::Duration;

use hawser_policy::{LinkId, LinkKind, LinkObserver, LinkUpdate, Time};
use hawser_radio::ProfileObserver;
use hawser_scenario::{Medium, ScenarioLink};

/// How often a link is observed.
const INTERVAL: Duration = Duration::from_millis(100);

/// The observers of the links whose future is known.
pub(super) struct LinkForecasts {
    observers: Vec<(LinkId, ProfileObserver)>,
    next_update: Time,
}

impl LinkForecasts {
    /// Of these links, with their numbers; `None` when nothing is known of any.
    pub(super) fn of<'a>(links: impl Iterator<Item = (usize, &'a ScenarioLink)>) -> Option<Self> {
        let observer = |(index, link): (usize, &'a ScenarioLink)| {
            let forecasts = link.forecasts.as_ref()?;
            let id = LinkId(index as u32);
            let observer = ProfileObserver::new([(id, forecasts.profile.clone())], forecasts.quality);
            Some((id, observer.with_kind(link_kind(link.medium))))
        };
        let observers: Vec<_> = links.filter_map(observer).collect();
        (!observers.is_empty()).then_some(LinkForecasts { observers, next_update: Time::ZERO })
    }

    pub(super) fn next_update(&self) -> Time {
        self.next_update
    }

    /// Says what the links do now and will do, if that is due.
    pub(super) fn update(&mut self, now: Time, mut tell: impl FnMut(&LinkUpdate<'_>)) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + INTERVAL;
        for (link, observer) in &mut self.observers {
            let Some(state) = observer.observe(now, *link) else { continue };
            let forecasts = observer.forecasts(now, *link);
            tell(&LinkUpdate { now, link: *link, state: &state, forecasts: &forecasts });
        }
    }
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
