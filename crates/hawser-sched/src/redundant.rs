use hawser_policy::{Assignment, Commands, Decision, Scheduler, Selection, SendView};

use crate::choose::{by_rtt, mask};

/// Redundant: every byte goes over every path, and what is acknowledged on one is cancelled on the others.
///
/// Delay and loss become those of the best path at each moment, for the price of all of them: for small, urgent
/// traffic. The fastest path that can send takes new data and leaves copies for the others; a path with copies waiting
/// sends those first. A path that falls behind finds its copies cancelled and so catches up by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redundant;

impl Redundant {
    /// Its name in the registry.
    pub const NAME: &'static str = "redundant";
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
            return Decision::Send(Assignment { selection: Selection::Copies, ..Assignment::next(path.id) });
        }
        let copies = mask(view, |other| other.id != path.id);
        Decision::Send(Assignment { copies, ..Assignment::next(path.id) })
    }
}

#[cfg(test)]
mod tests;
