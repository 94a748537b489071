//! Which paths are paid by volume: the payload of [`FeatureId::METERED`], and the agent that says it.

use hawser_policy::{
    Agent, Command, Commands, Event, FeatureId, Interests, LinkId, LinkUpdate, Message, PathChange, PathId,
    PathState, SendView, Time,
};

/// Whether a path is paid by volume. It is the word of a peer: it may spare the path what is worth less than its bytes, and nothing
/// else hangs on it.
///
/// ```text
/// METERED Payload {
///   Metered (8),          1: paid by volume; 0: not, or no longer
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeteredNotice(pub bool);

impl MeteredNotice {
    /// The message about a path that both ends know. It is repeated until it arrives.
    //= wire-extensions-1.1.4-1: METERED is about a path, reliable, and sent again when it changes
    pub fn message(self, path: PathId) -> Message {
        Message::reliable(FeatureId::METERED, [u8::from(self.0)]).about(path)
    }

    /// The path and the notice in a message of the peer; `None` if it is something else, or malformed.
    //= wire-extensions-1.1.4-2: other METERED payloads, and those about no path, are ignored
    pub fn read(message: &Message) -> Option<(PathId, Self)> {
        let path = message.path.filter(|_| message.feature == FeatureId::METERED)?;
        match *message.payload {
            [metered @ (0 | 1)] => Some((path, MeteredNotice(metered == 1))),
            _ => None,
        }
    }
}

/// Links that are remembered, and paths of which the peer was told.
const MAX_METERED: usize = 16;

/// Tells the peer which paths leave through links that are paid by volume.
#[derive(Clone, Debug, Default)]
pub struct MeteredReporter {
    links: Vec<LinkId>,
    told: Vec<PathId>,
    due: Option<Time>,
}

impl MeteredReporter {
    fn on_update(&mut self, update: &LinkUpdate<'_>) {
        match self.links.iter().position(|link| *link == update.link) {
            Some(at) if !update.metered => {
                self.links.swap_remove(at);
            }
            None if update.metered && self.links.len() < MAX_METERED => self.links.push(update.link),
            _ => return,
        }
        // Paths are seen in the timer's call.
        self.due.get_or_insert(update.now);
    }
}

impl Agent for MeteredReporter {
    fn interests(&self) -> Interests {
        Interests::LINKS | Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match *event {
            Event::Link(update) => self.on_update(update),
            Event::Path { path, change: PathChange::Abandoned, .. } => self.told.retain(|told| *told != path),
            Event::Path { now, .. } if !self.links.is_empty() => {
                self.due.get_or_insert(now);
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    //= wire-extensions-1.1.4-1: METERED is about a path, reliable, and sent again when it changes
    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.due = None;
        for path in view.paths {
            let metered = path.link.is_some_and(|link| self.links.contains(&link));
            let told = self.told.iter().position(|told| *told == path.id);
            match told {
                Some(at) if !metered => {
                    self.told.swap_remove(at);
                }
                None if metered && path.state == PathState::Active && self.told.len() < MAX_METERED => {
                    self.told.push(path.id);
                }
                _ => continue,
            }
            commands.push(Command::Send(MeteredNotice(metered).message(path.id)));
        }
    }
}

#[cfg(test)]
mod tests;
