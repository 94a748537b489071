//! Live video from an encoder to many players: what a publisher, a relay and a player have in common.
//!
//! Each of them is a [`Channel`]: tags come in from one source, each subscriber takes them out at his own pace, and one that
//! is too slow loses a run of them up to a key frame, never an unbounded amount of memory. Between two of them tags travel
//! in a stream of QUIC as [`wire`] says: pieces that are reliable and bodies of delta frames, which may have gaps.
//!
//! ```text
//! encoder -> Channel -> wire -> Channel -> wire -> Channel -> player
//!            publish            relay              play
//! ```

mod channel;
mod delay;
#[cfg(test)]
mod hostile;
mod queue;
#[cfg(test)]
mod tests;
mod timeline;
pub mod wire;

pub use channel::{Channel, SourceCounts, SubscriberId};
pub use delay::{RelativeDelay, StandingDelay};
pub use queue::{Limits, QueueCounts};
pub use timeline::{Timeline, TimelineCounts};

use hawser_policy::Time;

use crate::flv::{Role, Tag};

/// Headers that are kept: of each track one for video and one for audio.
const MAX_HEADERS: usize = 32;
/// The largest that is kept. Those of encoders have some hundred bytes, metadata some thousand.
const MAX_HEADER: usize = 1 << 20;

/// A tag on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The tag. Bytes that did not come are zeros.
    pub tag: Tag,
    /// What it is.
    pub role: Role,
    /// Which publisher made it: drawn by that publisher when it started.
    pub origin: u32,
    /// The publisher's number for it: one more than that of the unit before it. All hops keep it, so that a receiver that gets a
    /// unit twice knows, and one that lacks some knows how many.
    pub number: u32,
    /// Bytes of it that did not come, here or on an earlier hop.
    pub padded: u32,
    /// Whether another encoder begins here: decoders restart.
    pub restarts: bool,
    /// How long it took on the hops until here, in tenths of a millisecond.
    pub age: u32,
    /// When it came here, by the clock of this hop: what it waits from then on is added to its age as it leaves.
    pub came_at: Time,
    /// Whether it is audio of a source without video, with which a player can begin at any time.
    pub is_alone: bool,
}

impl Unit {
    /// How long it has been on its way now, in tenths of a millisecond: on the hops until here, and what it waited here.
    pub fn age_at(&self, now: Time) -> u32 {
        let waited = u32::try_from(now.since(self.came_at).as_micros() / 100).unwrap_or(u32::MAX);
        self.age.saturating_add(waited)
    }

    /// Whether it takes the place of another header: that of the same thing.
    fn replaces(&self, header: &Unit) -> bool {
        self.role == header.role && self.tag.track() == header.tag.track()
    }

    /// Whether a player can begin with it.
    fn is_start(&self) -> bool {
        self.role == Role::KeyFrame || self.is_alone
    }

    /// Bytes that it takes, roughly.
    fn size(&self) -> usize {
        self.tag.data.len() + 64
    }
}
