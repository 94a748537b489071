//! Messages between the policies of both ends: POLICY_MESSAGE frames (`docs/wire.md`).
//!
//! | file | subject |
//! |---|---|
//! | `outgoing` | what waits to be sent, and what is not acknowledged yet |
//! | `incoming` | order, duplicates and the rate of what arrives |

mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use hawser_policy::{FeatureId, Message, MessageDelivery, PathId, Time};
use hawser_wire::Writer;
use hawser_wire::frame::PolicyMessage;
use hawser_wire::transport_parameters::FeatureSet;

use self::incoming::Incoming;
use self::outgoing::Outgoing;
use crate::TransportError;
use crate::connection::frames::SentFrames;

/// Messages that wait to be sent or are not acknowledged yet; more are refused.
pub(crate) const MAX_QUEUED_MESSAGES: usize = 32;
/// Received messages that wait for an earlier one of their channel. Twice what a peer may have unacknowledged: it may
/// have given up a path, and the messages about it, before we have.
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
struct Channel {
    feature: u64,
    delivery: MessageDelivery,
    path: Option<PathId>,
}

/// A channel and the number of the next message in it.
#[derive(Debug)]
struct Counter {
    channel: Channel,
    next: u64,
}

/// The counter of a channel; `None` if it would be one too many.
fn counter(counters: &mut Vec<Counter>, channel: Channel) -> Option<&mut Counter> {
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

/// Messages of a connection, both ways.
#[derive(Debug)]
pub(crate) struct Messages {
    negotiated: FeatureSet,
    outgoing: Outgoing,
    incoming: Incoming,
    /// Messages of our policies to the application.
    for_application: VecDeque<Message>,
}

impl Messages {
    pub(crate) fn new() -> Self {
        Messages {
            negotiated: FeatureSet::EMPTY,
            outgoing: Outgoing::new(),
            incoming: Incoming::new(),
            for_application: VecDeque::new(),
        }
    }

    /// Both ends have said what they offer.
    pub(crate) fn negotiate(&mut self, ours: &FeatureSet, peers: Option<&FeatureSet>) {
        self.negotiated = peers.map_or(FeatureSet::EMPTY, |peers| ours.intersection(peers));
    }

    /// Whether both ends listed the feature.
    pub(crate) fn is_negotiated(&self, feature: u64) -> bool {
        self.negotiated.contains(feature)
    }

    /// Queues a message.
    ///
    /// # Errors
    /// [`SendMessageError`], but for `NoPath`: the caller knows the paths.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), SendMessageError> {
        if !self.is_negotiated(message.feature.0) {
            return Err(SendMessageError::NotNegotiated(message.feature));
        }
        if message.payload.len() > hawser_policy::MAX_MESSAGE_PAYLOAD {
            return Err(SendMessageError::TooLarge { length: message.payload.len() });
        }
        self.outgoing.push(message)
    }

    /// Whether a message waits that makes the peer acknowledge.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.outgoing.has_pending()
    }

    /// When the rate allows the next message, if it holds one back.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.outgoing.held_until()
    }

    /// Time passed.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.outgoing.on_timeout(now);
    }

    /// Writes as many of the waiting messages as fit and the rate allows.
    pub(crate) fn write(&mut self, now: Time, w: &mut Writer<'_>, frames: &mut SentFrames) {
        self.outgoing.write(now, w, frames);
    }

    /// Whether a message waits for an acknowledgement to ride with.
    #[inline]
    pub(crate) fn has_riding(&self) -> bool {
        self.outgoing.has_riding()
    }

    /// The packet has an acknowledgement: writes the messages that ride with it.
    pub(crate) fn write_riding(&mut self, w: &mut Writer<'_>) {
        self.outgoing.write_riding(w);
    }

    /// A message arrived.
    pub(crate) fn on_acked(&mut self, id: u64) {
        self.outgoing.on_acked(id);
    }

    /// A message was lost, or its path fell silent.
    pub(crate) fn on_lost(&mut self, id: u64) {
        self.outgoing.on_lost(id);
    }

    /// A path is gone, and with it all that is to be said about it.
    pub(crate) fn on_path_gone(&mut self, path: PathId) {
        self.outgoing.on_path_gone(path);
        self.incoming.on_path_gone(path);
    }

    /// A POLICY_MESSAGE frame. The caller has checked that its path may exist.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION for a feature that was not negotiated, or a reliable message further ahead than may be;
    /// FRAME_ENCODING_ERROR for a payload that is too long.
    pub(crate) fn on_frame(&mut self, now: Time, frame: &PolicyMessage<'_>) -> Result<(), TransportError> {
        if !self.is_negotiated(frame.feature) {
            return Err(TransportError::protocol_violation("message of a feature that was not negotiated"));
        }
        self.incoming.on_frame(now, frame)
    }

    /// Whether a received message waits to be taken.
    #[inline]
    pub(crate) fn has_received(&self) -> bool {
        self.incoming.has_ready()
    }

    /// The next received message of a feature that `takes`.
    pub(crate) fn take_received(&mut self, takes: impl Fn(FeatureId) -> bool) -> Option<Message> {
        self.incoming.take(takes)
    }

    /// Hands a message of our own policies to the application.
    pub(crate) fn tell_application(&mut self, message: Message) {
        if self.for_application.len() == MAX_READY_MESSAGES {
            self.for_application.pop_front();
        }
        self.for_application.push_back(message);
    }

    /// The next message for the application: of our policies, or of the peer's if ours do not take it.
    #[inline]
    pub(crate) fn poll_application(&mut self) -> Option<Message> {
        self.for_application.pop_front().or_else(|| self.incoming.take(|_| true))
    }

    pub(crate) fn counts(&self) -> MessageCounts {
        MessageCounts { sent: self.outgoing.sent(), ..self.incoming.counts() }
    }
}

/// A delivery as the wire has it.
fn to_wire(delivery: MessageDelivery) -> hawser_wire::frame::MessageDelivery {
    match delivery {
        MessageDelivery::Latest => hawser_wire::frame::MessageDelivery::Latest,
        MessageDelivery::Reliable => hawser_wire::frame::MessageDelivery::Reliable,
        MessageDelivery::WithAcks => hawser_wire::frame::MessageDelivery::WithAcks,
    }
}

/// A delivery as policies have it.
fn from_wire(delivery: hawser_wire::frame::MessageDelivery) -> MessageDelivery {
    match delivery {
        hawser_wire::frame::MessageDelivery::Latest => MessageDelivery::Latest,
        hawser_wire::frame::MessageDelivery::Reliable => MessageDelivery::Reliable,
        hawser_wire::frame::MessageDelivery::WithAcks => MessageDelivery::WithAcks,
    }
}
