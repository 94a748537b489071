//! Messages between the policies of both ends: POLICY_MESSAGE frames (`docs/wire.md`).
//!
//! | file | subject |
//! |---|---|
//! | `channel` | bounds, errors, and what replaces what or keeps its order |
//! | `outgoing` | what waits to be sent, and what is not acknowledged yet |
//! | `incoming` | order, duplicates and the rate of what arrives |

mod channel;
mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use hawser_policy::{FeatureId, Message, PathId, Time};
use hawser_wire::Writer;
use hawser_wire::frame::PolicyMessage;
use hawser_wire::transport_parameters::FeatureSet;

pub use self::channel::SendMessageError;
pub(crate) use self::channel::{MAX_READY_MESSAGES, MessageCounts};

use self::incoming::Incoming;
use self::outgoing::Outgoing;
use crate::TransportError;
use crate::connection::frames::SentFrames;

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

    /// Both ends have said what they offer; `ours` without the core's own features, which have no messages.
    pub(crate) fn negotiate(&mut self, ours: &FeatureSet, peers: Option<&FeatureSet>) {
        self.negotiated = peers.map_or(FeatureSet::EMPTY, |peers| ours.intersection(peers));
    }

    /// Whether both ends listed the feature, and it has messages.
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

    /// Whether there is one for the application.
    #[inline]
    pub(crate) fn has_application(&self) -> bool {
        !self.for_application.is_empty() || self.incoming.has_ready()
    }

    /// The next message for the application: of the local policies, or of the peer's if the local ones do not take it.
    #[inline]
    pub(crate) fn poll_application(&mut self) -> Option<Message> {
        self.for_application.pop_front().or_else(|| self.incoming.take(|_| true))
    }

    pub(crate) fn counts(&self) -> MessageCounts {
        MessageCounts { sent: self.outgoing.sent(), ..self.incoming.counts() }
    }
}
