//! One path carries everything, and the others stand by.

use std::time::Duration;

use hawser_policy::{Assignment, Command, Commands, Decision, Event, PathChange, PathId, PathView, SendView};

use crate::choose::{by_rtt, explore};
use crate::earliest_arrival::Watch;

/// Silence shorter than this is no silence: hosts pause, radio links take turns.
const SHORTEST_SILENCE: Duration = Duration::from_millis(15);

/// Everything goes on the path that is in use, as long as it answers. When it falls silent, holds more than it delivers, or
/// goes, the fastest of the others takes over with copies of what was in flight, and keeps the work: returning would
/// disturb a connection that runs. (A path of status backup gives it back to an available one as soon as that answers.)
#[derive(Debug, Default)]
pub(super) struct Standby {
    in_use: Option<PathId>,
    watch: Watch,
}

impl Standby {
    pub(super) fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.watch.note(view, SHORTEST_SILENCE);
        if let Some(decision) = explore(view) {
            return decision;
        }
        let Some(path) = self.choose(view, commands) else { return Decision::Wait(None) };
        if view.queue.total() > 0 && path.sendable() > 0 {
            return Decision::Send(Assignment::next(path.id));
        }
        let release = path.next_release.filter(|_| view.queue.total() > 0);
        let look = self.watch.next_look(view, SHORTEST_SILENCE);
        Decision::Wait([release, look].into_iter().flatten().min())
    }

    /// The path in use; another one from now on if that does not answer.
    fn choose<'a>(&mut self, view: &SendView<'a>, commands: &mut Commands) -> Option<&'a PathView> {
        let current = view.preferred().find(|path| Some(path.id) == self.in_use);
        let answers = |path: &&PathView| !self.watch.is_avoided(path);
        if let Some(path) = current.filter(answers) {
            return Some(path);
        }
        let next = view.preferred().filter(answers).min_by_key(|path| by_rtt(path));
        let next = next.or(current).or_else(|| view.preferred().min_by_key(|path| by_rtt(path)))?;
        let left = self.in_use.replace(next.id).filter(|left| *left != next.id);
        // What was in flight on a path that is gone is queued again by itself.
        if let Some(left) = left.and_then(|id| view.path(id)).filter(|left| left.bytes_in_flight > 0) {
            let max_bytes = left.bytes_in_flight;
            commands.push(Command::Reinject { from: left.id, to: next.id, max_bytes });
        }
        Some(next)
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        let Event::Path { path, change, .. } = *event else { return };
        if matches!(change, PathChange::Abandoned | PathChange::Recovered) {
            self.watch.forget(path);
        }
    }
}
