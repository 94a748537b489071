use hawser_policy::{
    Assignment, Commands, Decision, ParameterInfo, PathView, PolicyInfo, Scheduler, Selection, SendView,
};

use crate::choose::{by_rtt, mask};

/// Redundant: every byte goes over every path, and what is acknowledged on one is cancelled on the others.
///
/// Delay and loss become those of the best path at each moment, for the price of all of them: for small, urgent
/// traffic. The fastest path that can send takes new data and leaves copies for the others; a path with copies waiting
/// sends those first. A path that falls behind finds its copies cancelled and so catches up by itself.
#[derive(Clone, Copy, Debug)]
pub struct Redundant {
    copies: usize,
}

impl Default for Redundant {
    fn default() -> Self {
        Redundant::with_copies(usize::MAX)
    }
}

impl Redundant {
    /// Its name in the registry.
    pub const NAME: &'static str = "redundant";

    /// The most copies there may be: one on every path but the first.
    const MOST_COPIES: u64 = 63;

    /// Copies everything to so many other paths at most, the fastest ones.
    pub fn with_copies(copies: usize) -> Self {
        Redundant { copies }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "everything everywhere, cancelled when one copy arrives")
            .source("Frommgen and others, ICC 2016")
            .parameter(
                ParameterInfo::integer("copies", 1..=Self::MOST_COPIES, Self::MOST_COPIES)
                    .meaning("copy to so many other paths at most, the fastest ones"),
            )
    }
}

impl Scheduler for Redundant {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let new_data = view.queue.total() > 0;
        let path = view
            .preferred()
            .filter(|path| path.sendable() > 0 && (new_data || path.copies_queued > 0))
            .min_by_key(|path| by_rtt(path));
        let Some(path) = path else { return Decision::Wait(None) };
        if path.copies_queued > 0 {
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.selection = Selection::Copies),
            );
        }
        let is_faster = |other: &PathView, than: &PathView| by_rtt(other) < by_rtt(than);
        let others = || view.preferred().filter(|other| other.id != path.id);
        let copies = mask(view, |other| {
            let is_among = || others().filter(|rival| is_faster(rival, other)).count() < self.copies;
            other.id != path.id && (self.copies >= view.paths.len() || is_among())
        });
        Decision::Send(Assignment::next(path.id).with(|assignment| assignment.copies = copies))
    }
}

#[cfg(test)]
mod tests;
