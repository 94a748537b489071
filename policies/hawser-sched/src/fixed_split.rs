use hawser_policy::{
    Commands, Decision, Event, Interests, ParameterInfo, Parameters, PathId, PolicyInfo, Scheduler, SendView,
};

use crate::choose::{explore, fastest_sendable};
use crate::dispatch::{Dispatch, Redirect, step_of};
use crate::placement::datagram;

/// FTRL-WRR without its learner: the share of the first path is fixed ("RR" of D. Li, University of Victoria 2024, with a
/// half; any share to measure throughput over shares, section 2.3).
///
/// Packets are spread by smooth weighted round robin with a correction for datagram sizes; where a path is full, another one
/// takes its packets unless that is switched off. Of more than two paths the others share what the first one leaves.
#[derive(Clone, Debug)]
pub struct FixedSplit {
    share: f64,
    dispatch: Dispatch,
    paths: Vec<PathId>,
    /// The sum of their datagram sizes that the shares were corrected by.
    sizes: u64,
}

/// Packets of this scheduler have the tag of the only step.
const STEP: u64 = 1;

impl Default for FixedSplit {
    fn default() -> Self {
        FixedSplit::new(0.5, Redirect::Free)
    }
}

impl FixedSplit {
    /// Its name in the registry.
    pub const NAME: &'static str = "fixed-split";

    /// With this share for the path with the lowest id, 0 to 1.
    pub fn new(share: f64, redirect: Redirect) -> Self {
        FixedSplit {
            share: share.clamp(0.0, 1.0),
            dispatch: Dispatch::new(redirect),
            paths: Vec::new(),
            sizes: 0,
        }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        FixedSplit::new(parameters.number("share"), Redirect::read(parameters))
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "fixed shares; FTRL-WRR without its learner")
            .source("Li 2024, section 4.2, where it is called RR")
            .parameter(
                ParameterInfo::number("share", 0.0..=1.0, 0.5)
                    .meaning("share of the path with the lowest id")
                    .source("Li 2024"),
            )
            .parameter(Redirect::parameter())
    }
}

/// Whether these are the paths that data goes over, in order of id.
pub(crate) fn are_preferred(paths: &[PathId], view: &SendView<'_>) -> bool {
    view.preferred().count() == paths.len() && view.preferred().all(|path| paths.contains(&path.id))
}

/// The paths that data goes over, in order of id.
pub(crate) fn note_preferred(paths: &mut Vec<PathId>, view: &SendView<'_>) {
    paths.clear();
    paths.extend(view.preferred().map(|path| path.id));
    paths.sort_unstable();
}

impl Scheduler for FixedSplit {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let sizes = view.preferred().map(datagram).sum();
        if sizes != self.sizes || !are_preferred(&self.paths, view) {
            self.sizes = sizes;
            note_preferred(&mut self.paths, view);
            let others = self.paths.len().saturating_sub(1).max(1) as f64;
            let share = |at: usize| if at == 0 { self.share } else { (1.0 - self.share) / others };
            let size = |id: PathId| view.path(id).map_or(1, datagram);
            self.dispatch.set(self.paths.iter().enumerate().map(|(at, id)| (*id, share(at), size(*id))));
        }
        if self.paths.len() < 2 {
            return fastest_sendable(view).map_or(Decision::Wait(None), |path| {
                Decision::Send(hawser_policy::Assignment::next(path.id))
            });
        }
        self.dispatch.decide(view, STEP)
    }

    fn interests(&self) -> Interests {
        Interests::SENT
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Sent(sent) = event
            && step_of(sent.tag) == STEP
        {
            self.dispatch.on_sent(sent.path, sent.tag);
        }
    }
}

#[cfg(test)]
mod tests;
