//! Messages to send.

use std::collections::VecDeque;

use hawser_policy::{Message, MessageDelivery, PathId, Time};
use hawser_wire::frame::PolicyMessage;
use hawser_wire::{Frame, Writer};

use super::channel::{
    Channel, Counter, MAX_QUEUED_MESSAGES, RIDES, SEND_BURST, SEND_RATE, SendMessageError, counter, to_wire,
};
use crate::connection::frames::{SentFrame, SentFrames};
use crate::rate_limit::RateLimit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be sent.
    Queued,
    /// Sent, and neither acknowledged nor lost.
    InFlight,
    /// Reliable, and acknowledged before an earlier one of its channel: the peer holds it back, so it still counts.
    Acked,
    /// To be sent with so many more acknowledgements.
    Riding(u8),
}

#[derive(Debug)]
struct Entry {
    /// What a sent packet remembers it by.
    id: u64,
    channel: Channel,
    sequence: u64,
    payload: Vec<u8>,
    state: State,
}

impl Entry {
    fn frame(&self) -> Frame<'_> {
        Frame::PolicyMessage(PolicyMessage {
            feature: self.channel.feature,
            delivery: to_wire(self.channel.delivery),
            path_id: self.channel.path.map(|path| path.0),
            sequence_number: self.sequence,
            payload: &self.payload,
        })
    }
}

/// Messages that wait to be sent or are not acknowledged yet.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// In order of `sequence` within each channel.
    entries: VecDeque<Entry>,
    counters: Vec<Counter>,
    next_id: u64,
    /// Entries in state `Queued`, and in state `Riding`.
    queued: usize,
    riding: usize,
    limit: RateLimit,
    /// When the rate allows the next one.
    held_until: Option<Time>,
    sent: u64,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Outgoing {
            entries: VecDeque::new(),
            counters: Vec::new(),
            next_id: 0,
            queued: 0,
            riding: 0,
            limit: RateLimit::new(SEND_RATE, SEND_BURST),
            held_until: None,
            sent: 0,
        }
    }

    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        self.queued > 0 && self.held_until.is_none()
    }

    #[inline]
    pub(super) fn has_riding(&self) -> bool {
        self.riding > 0
    }

    #[inline]
    pub(super) fn held_until(&self) -> Option<Time> {
        self.held_until
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.held_until = self.held_until.filter(|at| *at > now);
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn push(&mut self, message: Message) -> Result<(), SendMessageError> {
        let Message { feature, path, delivery, payload, .. } = message;
        let channel = Channel { feature: feature.0, delivery, path };
        let replaced = match delivery {
            MessageDelivery::Reliable => None,
            _ => self.entries.iter().position(|entry| entry.channel == channel),
        };
        if replaced.is_none() && self.entries.len() == MAX_QUEUED_MESSAGES {
            return Err(SendMessageError::QueueFull);
        }
        let counter = counter(&mut self.counters, channel).ok_or(SendMessageError::TooManyChannels)?;
        let sequence = counter.next;
        counter.next += 1;
        if let Some(entry) = replaced.and_then(|at| self.entries.remove(at)) {
            self.uncount(entry.state);
        }
        let state = if delivery == MessageDelivery::WithAcks { State::Riding(RIDES) } else { State::Queued };
        let id = self.next_id;
        self.next_id += 1;
        self.entries.push_back(Entry { id, channel, sequence, payload, state });
        self.count(state);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn write(&mut self, now: Time, w: &mut Writer<'_>, frames: &mut SentFrames) {
        if !self.has_pending() {
            return;
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Queued) {
            let frame = entry.frame();
            if frame.encoded_len() > w.remaining() {
                continue;
            }
            if !self.limit.admit(now) {
                self.held_until = Some(self.limit.next(now));
                break;
            }
            if frame.encode(w).is_ok() {
                frames.push(SentFrame::PolicyMessage(entry.id));
                entry.state = State::InFlight;
                self.queued -= 1;
                self.sent += 1;
            }
        }
    }

    #[inline(never)]
    pub(super) fn write_riding(&mut self, w: &mut Writer<'_>) {
        let mut done = false;
        for entry in &mut self.entries {
            let State::Riding(left) = entry.state else { continue };
            if entry.frame().encode(w).is_ok() {
                self.sent += 1;
                entry.state = State::Riding(left.saturating_sub(1));
                done |= left <= 1;
            }
        }
        if done {
            self.entries.retain(|entry| entry.state != State::Riding(0));
            self.riding = self.entries.iter().filter(|entry| matches!(entry.state, State::Riding(_))).count();
        }
    }

    #[inline(never)]
    pub(super) fn on_acked(&mut self, id: u64) {
        let Some(at) = self.entries.iter().position(|entry| entry.id == id) else { return };
        let Some(entry) = self.entries.get_mut(at) else { return };
        let before = std::mem::replace(&mut entry.state, State::Acked);
        let channel = entry.channel;
        self.uncount(before);
        // Only a reliable one can have earlier ones in its channel.
        let earliest_missing = self
            .entries
            .iter()
            .find(|entry| entry.channel == channel && entry.state != State::Acked)
            .map_or(u64::MAX, |entry| entry.sequence);
        self.entries.retain(|entry| entry.channel != channel || entry.sequence >= earliest_missing);
    }

    pub(super) fn on_lost(&mut self, id: u64) {
        let lost = |entry: &&mut Entry| entry.id == id && entry.state == State::InFlight;
        if let Some(entry) = self.entries.iter_mut().find(lost) {
            entry.state = State::Queued;
            self.count(State::Queued);
        }
    }

    pub(super) fn on_path_gone(&mut self, path: PathId) {
        self.counters.retain(|counter| counter.channel.path != Some(path));
        self.entries.retain(|entry| entry.channel.path != Some(path));
        self.queued = self.entries.iter().filter(|entry| entry.state == State::Queued).count();
        self.riding = self.entries.iter().filter(|entry| matches!(entry.state, State::Riding(_))).count();
    }

    fn count(&mut self, state: State) {
        self.queued += usize::from(state == State::Queued);
        self.riding += usize::from(matches!(state, State::Riding(_)));
    }

    fn uncount(&mut self, state: State) {
        self.queued -= usize::from(state == State::Queued);
        self.riding -= usize::from(matches!(state, State::Riding(_)));
    }
}
