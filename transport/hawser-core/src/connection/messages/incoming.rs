//! Messages that arrive.

use std::collections::VecDeque;

use hawser_policy::{FeatureId, MAX_MESSAGE_PAYLOAD, Message, MessageDelivery, PathId, Time};
use hawser_wire::frame::PolicyMessage;

use super::channel::{
    Channel, Counter, MAX_HELD_MESSAGES, MAX_QUEUED_MESSAGES, MAX_READY_MESSAGES, MessageCounts,
    RECEIVE_BURST, RECEIVE_RATE, counter, from_wire,
};
use crate::rate_limit::RateLimit;
use crate::{Code, TransportError};

/// A reliable message that came before an earlier one.
#[derive(Debug)]
struct Held {
    channel: Channel,
    sequence: u64,
    /// `None` if it came too fast: it is dropped, but those behind it are not.
    message: Option<Message>,
}

/// Messages that arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    counters: Vec<Counter>,
    held: Vec<Held>,
    ready: VecDeque<Message>,
    limit: RateLimit,
    counts: MessageCounts,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Incoming {
            counters: Vec::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            limit: RateLimit::new(RECEIVE_RATE, RECEIVE_BURST),
            counts: MessageCounts::default(),
        }
    }

    pub(super) fn counts(&self) -> MessageCounts {
        self.counts
    }

    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn take(&mut self, takes: impl Fn(FeatureId) -> bool) -> Option<Message> {
        let at = self.ready.iter().position(|message| takes(message.feature))?;
        self.ready.remove(at)
    }

    pub(super) fn on_frame(&mut self, now: Time, frame: &PolicyMessage<'_>) -> Result<(), TransportError> {
        if frame.payload.len() > MAX_MESSAGE_PAYLOAD {
            let reason = format!("message of {} bytes, at most {MAX_MESSAGE_PAYLOAD}", frame.payload.len());
            return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, reason));
        }
        let delivery = from_wire(frame.delivery);
        let channel = Channel { feature: frame.feature, delivery, path: frame.path_id.map(PathId) };
        let Some(counter) = counter(&mut self.counters, channel) else {
            self.counts.dropped += 1;
            return Ok(());
        };
        if frame.sequence_number < counter.next {
            return Ok(());
        }
        if delivery != MessageDelivery::Reliable {
            counter.next = frame.sequence_number + 1;
            if let Some(message) = self.admit(now, frame) {
                self.replace(channel, message);
            }
            return Ok(());
        }
        if frame.sequence_number - counter.next >= MAX_QUEUED_MESSAGES as u64 {
            return Err(TransportError::protocol_violation("reliable message further ahead than may be"));
        }
        self.on_reliable(now, channel, frame)
    }

    /// A reliable message that is not older than the next one of its channel.
    fn on_reliable(
        &mut self,
        now: Time,
        channel: Channel,
        frame: &PolicyMessage<'_>,
    ) -> Result<(), TransportError> {
        let sequence = frame.sequence_number;
        if self.held.iter().any(|held| held.channel == channel && held.sequence == sequence) {
            return Ok(());
        }
        let message = self.admit(now, frame);
        self.held.push(Held { channel, sequence, message });
        self.release(channel);
        if self.held.len() > MAX_HELD_MESSAGES {
            return Err(TransportError::protocol_violation("too many reliable messages out of order"));
        }
        Ok(())
    }

    /// Hands on what is in order now.
    fn release(&mut self, channel: Channel) {
        let Some(counter) = self.counters.iter_mut().find(|counter| counter.channel == channel) else {
            return;
        };
        let in_order = |held: &Held, next| held.channel == channel && held.sequence == next;
        while let Some(at) = self.held.iter().position(|held| in_order(held, counter.next)) {
            counter.next += 1;
            let Some(message) = self.held.swap_remove(at).message else { continue };
            push(&mut self.ready, &mut self.counts, message);
        }
    }

    /// The message, if it does not come too fast.
    fn admit(&mut self, now: Time, frame: &PolicyMessage<'_>) -> Option<Message> {
        if !self.limit.admit(now) {
            self.counts.dropped += 1;
            return None;
        }
        Some(Message::latest(FeatureId(frame.feature), frame.payload.to_vec()).with(|message| {
            message.path = frame.path_id.map(PathId);
            message.sequence = frame.sequence_number;
            message.delivery = from_wire(frame.delivery);
        }))
    }

    /// Hands on a message of which only the newest counts.
    fn replace(&mut self, channel: Channel, message: Message) {
        let same = |other: &&mut Message| {
            other.feature.0 == channel.feature
                && other.delivery == channel.delivery
                && other.path == channel.path
        };
        if let Some(older) = self.ready.iter_mut().find(same) {
            *older = message;
            return;
        }
        push(&mut self.ready, &mut self.counts, message);
    }

    pub(super) fn on_path_gone(&mut self, path: PathId) {
        self.counters.retain(|counter| counter.channel.path != Some(path));
        self.held.retain(|held| held.channel.path != Some(path));
    }
}

fn push(ready: &mut VecDeque<Message>, counts: &mut MessageCounts, message: Message) {
    if ready.len() == MAX_READY_MESSAGES {
        counts.dropped += 1;
        return;
    }
    counts.received += 1;
    ready.push_back(message);
}
