//! What a host tells its peer of its links, in one agent.

use hawser_policy::{Agent, Commands, Event, FeatureId, FeatureSet, Interests, SendView, Time};

use crate::{HandOverReporter, MeteredReporter};

/// Tells the peer when links of this end will carry nothing, unless that is not wanted, and which are paid by volume.
#[derive(Clone, Debug, Default)]
pub struct LinkReporter {
    hand_overs: Option<HandOverReporter>,
    metered: MeteredReporter,
}

impl LinkReporter {
    /// With or without warnings of handovers.
    pub fn new(warnings: bool) -> Self {
        let hand_overs = warnings.then(HandOverReporter::default);
        LinkReporter { hand_overs, metered: MeteredReporter::default() }
    }

    /// The features of what it says.
    pub fn features(warnings: bool) -> FeatureSet {
        let features = FeatureSet::NONE.with(FeatureId::METERED);
        if warnings { features.with(FeatureId::HAND_OVER) } else { features }
    }
}

impl Agent for LinkReporter {
    fn interests(&self) -> Interests {
        Interests::LINKS | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        if let Some(hand_overs) = &mut self.hand_overs {
            hand_overs.on_event(event, commands);
        }
        self.metered.on_event(event, commands);
    }

    fn next_timeout(&self) -> Option<Time> {
        let hand_overs = self.hand_overs.as_ref().and_then(Agent::next_timeout);
        [hand_overs, self.metered.next_timeout()].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= view.now);
        if let Some(hand_overs) = self.hand_overs.as_mut().filter(|reporter| is_due(reporter.next_timeout()))
        {
            hand_overs.on_timeout(view, commands);
        }
        if is_due(self.metered.next_timeout()) {
            self.metered.on_timeout(view, commands);
        }
    }
}
