//! What is known of the links beyond that they exist: an observer is asked, connections are told what is new.

mod json_lines;
mod record;
mod source;

use std::fmt;

use hawser_policy::{
    Forecast, LinkId, LinkInfo, LinkObserver, LinkState, LinkUpdate, MAX_LINK_CANDIDATES, Time,
};

pub use self::json_lines::LinkStateFile;

/// Reads one line of a source of link states at a time since 1970, for fuzzing (feature `fuzzing`): what it says of a link,
/// if anything, or a sentence that says what is wrong.
///
/// # Errors
/// When the line is none.
#[cfg(feature = "fuzzing")]
pub fn read_line(
    line: &[u8],
    unix: std::time::Duration,
) -> Result<Option<(LinkState, Vec<Forecast>)>, String> {
    let reading = record::Reading { now: Time::from_secs(100), unix, age: std::time::Duration::ZERO };
    match record::Record::read(line, reading) {
        Ok(record) => Ok(record.map(|record| (record.state, record.forecasts))),
        Err(error) => Err(error.to_string()),
    }
}

/// What the observer says of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkNews {
    pub(crate) link: LinkId,
    state: LinkState,
    metered: bool,
    forecasts: Vec<Forecast>,
}

impl LinkNews {
    /// The state now.
    pub(crate) fn state(&self) -> &LinkState {
        &self.state
    }

    /// As policies are told.
    pub(crate) fn update(&self, now: Time) -> LinkUpdate<'_> {
        LinkUpdate::new(now, self.link, &self.state).with(|update| {
            update.forecasts = &self.forecasts;
            update.metered = self.metered;
        })
    }
}

/// The newest word on each link, and what connections have not heard of it.
#[derive(Debug, Default)]
pub(crate) struct LinkStates {
    current: Vec<LinkNews>,
    untold: Vec<LinkNews>,
}

impl LinkStates {
    /// Takes in what is new.
    pub(crate) fn push(&mut self, news: Vec<LinkNews>) {
        for item in &news {
            self.current.retain(|known| known.link != item.link);
            self.current.push(item.clone());
        }
        self.untold.extend(news);
    }

    /// What connections have not heard.
    pub(crate) fn take_untold(&mut self) -> Vec<LinkNews> {
        std::mem::take(&mut self.untold)
    }

    /// For those who come later.
    pub(crate) fn current(&self) -> &[LinkNews] {
        &self.current
    }

    /// Of one link.
    pub(crate) fn of(&self, link: LinkId) -> Option<&LinkNews> {
        self.current.iter().find(|known| known.link == link)
    }
}

/// Where nobody observes the links, policies hear what they cost all the same.
pub(crate) struct Unobserved;

impl LinkObserver for Unobserved {
    fn observe(&mut self, _now: Time, _link: LinkId) -> Option<LinkState> {
        None
    }

    fn forecast(&mut self, _now: Time, _link: LinkId, _at: Time) -> Option<Forecast> {
        None
    }
}

/// An observer, and what it said last.
pub(crate) struct Observer {
    observer: Box<dyn LinkObserver>,
    links: Vec<LinkInfo>,
    told: Vec<LinkNews>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("links", &self.links).finish_non_exhaustive()
    }
}

impl Observer {
    pub(crate) fn new(observer: impl LinkObserver + 'static) -> Self {
        Observer { observer: Box::new(observer), links: Vec::new(), told: Vec::new() }
    }

    /// Asks about these links and returns what differs from last time. Of a link of which nothing is known any more, that
    /// is said once.
    pub(crate) fn ask(&mut self, now: Time, links: Vec<LinkInfo>) -> Vec<LinkNews> {
        if links != self.links {
            self.observer.on_links(&links);
            self.told.retain(|told| links.iter().any(|link| link.id == told.link));
            self.links = links;
        }
        let mut news = Vec::new();
        for LinkInfo { id: link, metered, .. } in &self.links {
            let (link, metered) = (*link, *metered);
            let seen = self.observer.observe(now, link);
            let forecasts = if seen.is_some() { self.observer.forecasts(now, link) } else { Vec::new() };
            let told = self.told.iter().position(|told| told.link == link);
            let mut state = match (seen, told) {
                (Some(state), _) => state,
                (None, Some(_)) => LinkState::default(),
                (None, None) if metered => LinkState::default(),
                (None, None) => continue,
            };
            state.candidates.truncate(MAX_LINK_CANDIDATES);
            let item = LinkNews { link, state, metered, forecasts };
            match told.and_then(|index| self.told.get_mut(index)) {
                Some(told) if *told == item => continue,
                Some(told) => *told = item.clone(),
                None => self.told.push(item.clone()),
            }
            news.push(item);
        }
        news
    }
}

#[cfg(test)]
mod tests;
