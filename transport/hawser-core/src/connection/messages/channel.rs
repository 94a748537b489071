//! What sending and receiving of messages share: bounds, errors, channels, counts.

use hawser_policy::{FeatureId, MessageDelivery, PathId};

/// Messages that wait to be sent or are not acknowledged yet; more are refused.
pub(crate) const MAX_QUEUED_MESSAGES: usize = 32;
/// Received messages that wait for an earlier one of their channel. Twice what a peer may have unacknowledged: it may
/// have abandoned a path, and the messages about it, before we have.
pub(crate) const MAX_HELD_MESSAGES: usize = 2 * MAX_QUEUED_MESSAGES;
/// Received messages that wait to be taken.
pub(crate) const MAX_READY_MESSAGES: usize = 64;
/// Combinations of feature, path and delivery, in each direction.
pub(crate) const MAX_CHANNELS: usize = 128;
/// New messages taken per second in the long run.
pub(crate) const RECEIVE_RATE: u32 = 1_000;
/// New messages taken at once after a pause.
pub(crate) const RECEIVE_BURST: u32 = 128;
/// Messages sent per second in the long run: below what the peer takes, so that jitter does not make it drop any.
pub(crate) const SEND_RATE: u32 = 800;
/// Messages sent at once after a pause.
pub(crate) const SEND_BURST: u32 = 64;
/// Acknowledgements with which the newest message of [`MessageDelivery::WithAcks`] leaves.
pub(crate) const RIDES: u8 = 3;

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendMessageError {
    /// One of the ends did not list the feature, or the handshake is not so far.
    #[error("{0:?} was not negotiated")]
    NotNegotiated(FeatureId),
    /// Its payload is too long.
    #[error("a payload of {length} bytes, at most {} are possible", hawser_policy::MAX_MESSAGE_PAYLOAD)]
    TooLarge {
        /// Its length in bytes.
        length: usize,
    },
    /// Too many messages wait or are not acknowledged yet.
    #[error("{} messages are under way", MAX_QUEUED_MESSAGES)]
    QueueFull,
    /// Too many combinations of feature, path and delivery.
    #[error("{} combinations of feature, path and delivery are in use", MAX_CHANNELS)]
    TooManyChannels,
    /// The path that it is about does not exist.
    #[error("there is no path {0}")]
    NoPath(PathId),
}

/// Messages that replace each other, or keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) feature: u64,
    pub(super) delivery: MessageDelivery,
    pub(super) path: Option<PathId>,
}

/// A channel and the number of the next message in it.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) channel: Channel,
    pub(super) next: u64,
}

/// The counter of a channel; `None` if it would be one too many.
pub(super) fn counter(counters: &mut Vec<Counter>, channel: Channel) -> Option<&mut Counter> {
    let at = match counters.iter().position(|counter| counter.channel == channel) {
        Some(at) => at,
        None if counters.len() == MAX_CHANNELS => return None,
        None => {
            counters.push(Counter { channel, next: 0 });
            counters.len() - 1
        }
    };
    counters.get_mut(at)
}

/// Totals of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageCounts {
    /// POLICY_MESSAGE frames sent.
    pub(crate) sent: u64,
    /// Messages received and handed on.
    pub(crate) received: u64,
    /// Messages received and dropped: too many, too fast, or nobody took them.
    pub(crate) dropped: u64,
}

/// A delivery as the wire has it.
pub(super) fn to_wire(delivery: MessageDelivery) -> hawser_wire::frame::MessageDelivery {
    match delivery {
        MessageDelivery::Latest => hawser_wire::frame::MessageDelivery::Latest,
        MessageDelivery::Reliable => hawser_wire::frame::MessageDelivery::Reliable,
        MessageDelivery::WithAcks => hawser_wire::frame::MessageDelivery::WithAcks,
    }
}

/// A delivery as policies have it.
pub(super) fn from_wire(delivery: hawser_wire::frame::MessageDelivery) -> MessageDelivery {
    match delivery {
        hawser_wire::frame::MessageDelivery::Latest => MessageDelivery::Latest,
        hawser_wire::frame::MessageDelivery::Reliable => MessageDelivery::Reliable,
        hawser_wire::frame::MessageDelivery::WithAcks => MessageDelivery::WithAcks,
    }
}
