//! What a client knows of the future of its links.

use std::time::Duration;

use hawser_core::Connection;
use hawser_policy::{Forecast, LinkId, LinkObserver, LinkUpdate, Time};
use hawser_radio::{ProfileObserver, Sender};
use hawser_scenario::ScenarioLink;

/// How often a link is observed.
const INTERVAL: Duration = Duration::from_millis(100);
/// How far ahead forecasts look (MMQUIC: half a second and a second).
const HORIZONS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// The observers of the links whose future is known.
pub(super) struct LinkForecasts {
    observers: Vec<(LinkId, ProfileObserver)>,
    next_update: Time,
}

impl LinkForecasts {
    /// Of these links, with their numbers; `None` when nothing is known of any.
    pub(super) fn of<'a>(links: impl Iterator<Item = (usize, &'a ScenarioLink)>) -> Option<Self> {
        let observer = |(index, link): (usize, &'a ScenarioLink)| {
            let outlook = link.outlook.as_ref()?;
            let id = LinkId(index as u32);
            Some((id, ProfileObserver::new([(id, outlook.profile.clone())], Sender::Host, outlook.quality)))
        };
        let observers: Vec<_> = links.filter_map(observer).collect();
        (!observers.is_empty()).then_some(LinkForecasts { observers, next_update: Time::ZERO })
    }

    pub(super) fn next_update(&self) -> Time {
        self.next_update
    }

    /// Tells the policies of the connection what the links do now and will do, if that is due.
    pub(super) fn update(&mut self, now: Time, connection: &mut Connection) {
        if now < self.next_update {
            return;
        }
        self.next_update = now + INTERVAL;
        for (link, observer) in &mut self.observers {
            let Some(state) = observer.observe(now, *link) else { continue };
            let forecasts: Vec<Forecast> =
                HORIZONS.iter().filter_map(|ahead| observer.forecast(now, *link, now + *ahead)).collect();
            connection.link_update(&LinkUpdate { now, link: *link, state, forecasts: &forecasts });
        }
    }
}
