//! The set of MMQUIC: MAMS, and an agent that reports the receiver's links to the sender.

use std::sync::Arc;
use std::time::Duration;

use hawser_paths::MobilityReport;
use hawser_policy::{
    Agent, Command, Commands, Composed, Event, FeatureId, FeatureSet, Forecast, Interests, LinkId, LinkState,
    LinkUpdate, ParameterInfo, Parameters, PolicyInfo, PolicySet, PolicySetFactory, Registry, SendView,
    SetInit, Time,
};

use crate::{Mams, MamsParameters};

/// Links that are remembered.
const MAX_LINKS: usize = 64;

/// A change of the capacity by more than this share is reported at once.
const CAPACITY_CHANGE: f64 = 0.25;

/// MMQUIC (Yang, Pan, Cai, Xiong: IEEE/ACM Transactions on Networking, 2024): the scheduler [`Mams`], and at each end an agent
/// that tells the other what its links will carry ([`MobilityReport`]), with acknowledgements that return on the fastest path.
///
/// Controllers are New Reno's, as the model of MAMS has them. Parameters are those of the scheduler, and how often is
/// reported.
#[derive(Clone)]
pub struct Mmquic {
    parameters: MamsParameters,
    interval: Duration,
    parts: Composed,
}

impl Mmquic {
    /// Its name in the registry.
    pub const NAME: &'static str = "mmquic";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let interval = Duration::from_millis(20)..=Duration::from_secs(10);
        let info = PolicyInfo::new(Self::NAME, "MAMS, and a receiver that reports what its links will carry")
            .source("Yang and others, IEEE/ACM ToN 2024");
        let info = info.parameter(
            ParameterInfo::duration("report_interval", interval, Duration::from_millis(250))
                .meaning("between reports of a link that hardly changes")
                .source("Hawser"),
        );
        Mams::info().parameters.into_iter().fold(info, PolicyInfo::parameter)
    }

    /// Adds the set. It takes its controllers and acknowledgements from the registry as it is now, if that has them.
    pub fn register(registry: &mut Registry) {
        let Ok(congestion) = registry.congestion("newreno") else { return };
        let Ok(acks) = registry.acks("fastest-return") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let scheduler = MamsParameters::read(parameters);
            Arc::new(Mmquic {
                parameters: scheduler,
                interval: parameters.duration("report_interval"),
                parts: Composed::new(
                    Arc::new(move |_: &_| Box::new(Mams::new(scheduler)) as Box<_>),
                    congestion.clone(),
                    acks.clone(),
                ),
            })
        });
    }
}

impl PolicySetFactory for Mmquic {
    fn build(&self, init: &SetInit) -> PolicySet {
        let agent = Reporter { interval: self.interval, links: Vec::new(), due: None };
        self.parts.build(init).with(|set| {
            set.agent = Some(Box::new(agent));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        if self.parameters.reports {
            FeatureSet::NONE.with(FeatureId::MOBILITY_REPORT)
        } else {
            FeatureSet::NONE
        }
    }
}

/// Tells the peer what our links will carry.
struct Reporter {
    interval: Duration,
    links: Vec<Known>,
    due: Option<Time>,
}

/// The newest of a link.
struct Known {
    link: LinkId,
    at: Time,
    state: LinkState,
    forecasts: Vec<Forecast>,
    /// When it was last reported, and the capacity that was.
    reported: Option<(Time, u64)>,
    /// Whether it is to be reported.
    due: bool,
}

impl Known {
    fn capacity(&self) -> u64 {
        self.state.downlink.capacity.map_or(0, |rate| rate.bits_per_second())
    }

    fn is_due(&self, interval: Duration) -> bool {
        let Some((at, capacity)) = self.reported else { return true };
        let change = self.capacity().abs_diff(capacity) as f64;
        self.at.since(at) >= interval || change > CAPACITY_CHANGE * capacity as f64
    }
}

impl Reporter {
    fn on_update(&mut self, update: &LinkUpdate<'_>) {
        let known = self.links.iter().position(|known| known.link == update.link);
        if known.is_none() && self.links.len() >= MAX_LINKS {
            return;
        }
        let reported = known.and_then(|at| self.links[at].reported);
        let mut news = Known {
            link: update.link,
            at: update.now,
            state: update.state.clone(),
            forecasts: update.forecasts.to_vec(),
            reported,
            due: false,
        };
        news.due = news.is_due(self.interval);
        if news.due {
            // Paths and their round-trip times are seen in the timer's call.
            self.due.get_or_insert(update.now);
        }
        match known {
            Some(at) => self.links[at] = news,
            None => self.links.push(news),
        }
    }
}

impl Agent for Reporter {
    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Link(update) = event {
            self.on_update(update);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.due = None;
        for known in self.links.iter_mut().filter(|known| known.due) {
            let Known { link, at, ref state, ref forecasts, .. } = *known;
            let update = LinkUpdate::new(at, link, state).with(|update| update.forecasts = forecasts);
            let of_link = view.paths.iter().filter(|path| path.link == Some(link) && path.has_rtt_sample);
            for path in of_link {
                let Some(report) = MobilityReport::of(&update, path.smoothed_rtt) else { continue };
                let report = MobilityReport { age: view.now.since(at), ..report };
                commands.push(Command::Send(report.message(path.id)));
                known.reported = Some((view.now, known.capacity()));
            }
            known.due = false;
        }
    }
}

#[cfg(test)]
mod tests;
