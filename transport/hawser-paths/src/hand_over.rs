//! Word of a link that something else will serve, and that carries nothing meanwhile: the payload of [`FeatureId::HAND_OVER`], and the
//! agent that sends it.

use std::time::Duration;

use hawser_policy::{
    Agent, Command, Commands, Event, FeatureId, HandOver, Interests, LinkId, LinkUpdate, Message, PathId,
    SendView, Time,
};

/// When a path will carry nothing. It is the word of a peer: it may lower what is sent for a moment, never raise it.
///
/// ```text
/// HAND_OVER Payload {
///   Starts In (32),       microseconds after this left
///   Interruption (32),    microseconds; 0: not known
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOverNotice {
    /// After the notice left, to the microsecond; at most 2^32 of them.
    pub starts_in: Duration,
    /// How long nothing is carried, to the microsecond; `None` if that is not known.
    pub interruption: Option<Duration>,
}

impl HandOverNotice {
    /// What a host knows of its link at `now`.
    pub fn of(hand_over: &HandOver, now: Time) -> Self {
        HandOverNotice { starts_in: hand_over.at.since(now), interruption: hand_over.interruption }
    }

    /// The message about a path that both ends know. It rides with acknowledgements: a late notice is worth nothing.
    pub fn message(&self, path: PathId) -> Message {
        Message::with_acks(FeatureId::HAND_OVER, self.encode()).about(path)
    }

    /// The path and the notice in a message of the peer; `None` if it is something else, or malformed.
    pub fn read(message: &Message) -> Option<(PathId, Self)> {
        let path = message.path.filter(|_| message.feature == FeatureId::HAND_OVER)?;
        Some((path, Self::decode(&message.payload)?))
    }

    /// The payload: eight bytes.
    pub fn encode(&self) -> Vec<u8> {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let interruption = self.interruption.map_or(0, |time| micros(time).max(1));
        [micros(self.starts_in).to_be_bytes(), interruption.to_be_bytes()].concat()
    }

    /// Reads a payload; `None` if it is malformed.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let &[a, b, c, d, e, f, g, h] = payload.first_chunk::<8>().filter(|_| payload.len() == 8)?;
        let micros = |bytes| Duration::from_micros(u32::from_be_bytes(bytes).into());
        let interruption = Some(micros([e, f, g, h])).filter(|time| !time.is_zero());
        Some(HandOverNotice { starts_in: micros([a, b, c, d]), interruption })
    }
}

/// Links whose handovers are told.
const MAX_LINKS: usize = 16;
/// A handover is told again after so long: notices ride with acknowledgements, which get lost, and forecasts move.
const AGAIN: Duration = Duration::from_millis(200);
/// What is farther away is told later.
const HORIZON: Duration = Duration::from_secs(10);

/// Tells the peer when links of this end will carry nothing.
#[derive(Clone, Debug, Default)]
pub struct HandOverReporter {
    links: Vec<Known>,
    due: Option<Time>,
}

/// The next handover of a link.
#[derive(Clone, Copy, Debug)]
struct Known {
    link: LinkId,
    next: Option<HandOver>,
    told_at: Option<Time>,
}

impl HandOverReporter {
    fn on_update(&mut self, update: &LinkUpdate<'_>) {
        let now = update.now;
        let is_ahead = |next: &HandOver| next.at > now && next.at.since(now) <= HORIZON;
        let next = update.state.hand_over.filter(is_ahead);
        let known = self.links.iter().position(|known| known.link == update.link);
        let at = match (known, next) {
            (Some(at), _) => at,
            (None, Some(_)) if self.links.len() < MAX_LINKS => {
                self.links.push(Known { link: update.link, next: None, told_at: None });
                self.links.len() - 1
            }
            (None, _) => return,
        };
        let known = &mut self.links[at];
        known.next = next;
        if next.is_some() && known.told_at.is_none_or(|told| now.since(told) >= AGAIN) {
            // Paths are seen in the timer's call.
            self.due.get_or_insert(now);
        }
    }
}

impl Agent for HandOverReporter {
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
        let now = view.now;
        for known in &mut self.links {
            let Some(next) = known.next.filter(|next| next.at > now) else { continue };
            if known.told_at.is_some_and(|told| now.since(told) < AGAIN) {
                continue;
            }
            let notice = HandOverNotice::of(&next, now);
            for path in view.paths.iter().filter(|path| path.link == Some(known.link) && path.has_rtt_sample)
            {
                commands.push(Command::Send(notice.message(path.id)));
                known.told_at = Some(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
