//! Word of frames from their receiver: the payload of [`FeatureId::FRAME_FEEDBACK`], and the agent that sends it.

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::{Agent, Command, Commands, Event, FeatureId, Feedback, Interests, Message};

/// A frame as its receiver saw it.
///
/// ```text
/// FRAME_FEEDBACK Payload {
///   Frame (..) ...,       up to 4, the oldest first
/// }
/// Frame {
///   Id (i),               the application's number for the frame, below 2^62
///   Delay (i),            tenths of a millisecond
///   Bytes (i),            that arrived
///   Flags (8),            0x01: not in time
/// }
/// ```
///
/// Integers (i) have a variable length (RFC 9000 section 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFeedback {
    /// The application's number for it, below 2^62.
    pub id: u64,
    /// From writing to the last byte, to a tenth of a millisecond.
    pub delay: Duration,
    /// Bytes of it that arrived.
    pub bytes: u64,
    /// Whether it was there before its deadline.
    pub in_time: bool,
}

/// Frames of a message: each is reported so often, since messages that ride with acknowledgements may get lost.
const REPEATED: usize = 4;

/// The largest integer of variable length.
const MOST: u64 = (1 << 62) - 1;

/// Flag of a frame that was late.
const LATE: u8 = 1;

impl FrameFeedback {
    /// The most frames that a payload tells of.
    pub const MAX_FRAMES: usize = REPEATED;

    /// The payload for frames, the oldest first; of more than [`MAX_FRAMES`](Self::MAX_FRAMES) the last ones count.
    pub fn encode(frames: impl ExactSizeIterator<Item = FrameFeedback>) -> Vec<u8> {
        let mut payload = Vec::with_capacity(16 * REPEATED);
        let first = frames.len().saturating_sub(REPEATED);
        for frame in frames.skip(first) {
            let delay = u64::try_from(frame.delay.as_micros() / 100).unwrap_or(MOST);
            [frame.id, delay, frame.bytes].into_iter().for_each(|value| write(&mut payload, value));
            payload.push(if frame.in_time { 0 } else { LATE });
        }
        payload
    }

    /// Reads a payload; `None` if it is malformed in any part or tells of more than [`MAX_FRAMES`](Self::MAX_FRAMES).
    pub fn decode(mut payload: &[u8]) -> Option<FrameFeedbacks> {
        let mut frames = FrameFeedbacks::default();
        while !payload.is_empty() {
            let [id, tenths, bytes] = [read(&mut payload)?, read(&mut payload)?, read(&mut payload)?];
            let (&flags, rest) = payload.split_first().filter(|(flags, _)| **flags <= LATE)?;
            payload = rest;
            // Hours are more than any frame takes; the multiplication cannot overflow then.
            let delay = Duration::from_micros(tenths.min(1 << 40) * 100);
            let frame = FrameFeedback { id, delay, bytes, in_time: flags & LATE == 0 };
            *frames.frames.get_mut(frames.count)? = Some(frame);
            frames.count += 1;
        }
        (frames.count > 0).then_some(frames)
    }
}

/// The frames of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameFeedbacks {
    frames: [Option<FrameFeedback>; REPEATED],
    count: usize,
}

impl FrameFeedbacks {
    /// The frames, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &FrameFeedback> {
        self.frames.iter().flatten()
    }
}

/// Larger values count as the largest.
fn write(payload: &mut Vec<u8>, value: u64) {
    match value.min(MOST) {
        value @ 0..=0x3f => payload.push(value as u8),
        value @ 0x40..=0x3fff => payload.extend((value as u16 | 1 << 14).to_be_bytes()),
        value @ 0x4000..=0x3fff_ffff => payload.extend((value as u32 | 1 << 31).to_be_bytes()),
        value => payload.extend((value | 3 << 62).to_be_bytes()),
    }
}

fn read(payload: &mut &[u8]) -> Option<u64> {
    let first = *payload.first()?;
    let (bytes, rest) = payload.split_at_checked(1 << (first >> 6))?;
    *payload = rest;
    let head = u64::from(first & 0x3f);
    Some(bytes[1..].iter().fold(head, |value, byte| value << 8 | u64::from(*byte)))
}

/// At the receiver: tells the sender of each frame that the application reports, and of those before it again.
#[derive(Debug, Default)]
pub(super) struct Reporter {
    recent: VecDeque<FrameFeedback>,
}

impl Agent for Reporter {
    fn interests(&self) -> Interests {
        Interests::FEEDBACK
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        let Event::Feedback { feedback: Feedback::Frame { id, delay, in_time, bytes }, .. } = event else {
            return;
        };
        if *id > MOST {
            return;
        }
        let frame = FrameFeedback { id: *id, delay: *delay, bytes: *bytes, in_time: *in_time };
        // A frame that is reported again, as when more of it was given up, replaces what was said of it.
        self.recent.retain(|other| other.id != frame.id);
        if self.recent.len() == REPEATED {
            self.recent.pop_front();
        }
        self.recent.push_back(frame);
        let payload = FrameFeedback::encode(self.recent.iter().copied());
        commands.push(Command::Send(Message::with_acks(FeatureId::FRAME_FEEDBACK, payload)));
    }
}

#[cfg(test)]
mod tests {
    use hawser_policy::{MAX_MESSAGE_PAYLOAD, MessageDelivery, Time};
    use proptest::prelude::*;

    use super::*;

    fn frames(payload: &[u8]) -> Option<Vec<FrameFeedback>> {
        FrameFeedback::decode(payload).map(|frames| frames.iter().copied().collect())
    }

    #[test]
    fn a_payload_is_what_the_format_says() {
        let frame =
            FrameFeedback { id: 5, delay: Duration::from_micros(80_050), bytes: 60_000, in_time: false };
        let payload = FrameFeedback::encode([frame].into_iter());
        assert_eq!(payload, [5, 0x43, 0x20, 0x80, 0, 0xea, 0x60, 1]);
        assert_eq!(frames(&payload), Some(vec![FrameFeedback { delay: Duration::from_millis(80), ..frame }]));
    }

    #[test]
    fn what_is_malformed_is_ignored() {
        let good = [5, 0x43, 0x20, 0x80, 0, 0xea, 0x60, 1];
        assert_eq!(frames(&[]), None);
        (1..good.len()).for_each(|length| assert_eq!(frames(&good[..length]), None, "{length}"));
        assert_eq!(frames(&[5, 0x43, 0x20, 0x80, 0, 0xea, 0x60, 2]), None, "an unknown flag");
        assert_eq!(frames(&good.repeat(REPEATED)).map(|frames| frames.len()), Some(REPEATED));
        assert_eq!(frames(&good.repeat(REPEATED + 1)), None, "too many");
    }

    /// The reporter's last message after these frames.
    fn reported(ids: impl Iterator<Item = u64>) -> Message {
        let (mut reporter, mut commands) = (Reporter::default(), Commands::new());
        for id in ids {
            let feedback = Feedback::Frame { id, delay: Duration::from_millis(id), in_time: true, bytes: 9 };
            reporter.on_event(&Event::Feedback { now: Time::ZERO, feedback: &feedback }, &mut commands);
        }
        match commands.pop() {
            Some(Command::Send(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_four_newest_frames_are_reported_with_acknowledgements() {
        let message = reported(1..=6);
        let ids = |message: &Message| {
            let frames = frames(&message.payload).expect("it is sound");
            frames.iter().map(|frame| frame.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&message), [3, 4, 5, 6]);
        assert_eq!((message.feature, message.path), (FeatureId::FRAME_FEEDBACK, None));
        assert_eq!(message.delivery, MessageDelivery::WithAcks);
        assert_eq!(ids(&reported([1, 2, 1].into_iter())), [2, 1], "the newest word counts");
        assert_eq!(ids(&reported([1, 2].into_iter())), [1, 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_encoded_is_decoded(
            list in prop::collection::vec((0..=MOST, 0u64..1 << 40, 0..=MOST, any::<bool>()), 1..9)
        ) {
            let frame = |&(id, tenths, bytes, in_time): &(u64, u64, u64, bool)| FrameFeedback {
                id,
                delay: Duration::from_micros(tenths * 100),
                bytes,
                in_time,
            };
            let list: Vec<_> = list.iter().map(frame).collect();
            let payload = FrameFeedback::encode(list.iter().copied());
            prop_assert!(payload.len() <= MAX_MESSAGE_PAYLOAD);
            prop_assert_eq!(frames(&payload), Some(list[list.len().saturating_sub(REPEATED)..].to_vec()));
        }

        #[test]
        fn a_hostile_payload_does_no_harm(payload in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(list) = frames(&payload) {
                prop_assert!(!list.is_empty() && list.len() <= REPEATED);
                prop_assert!(list.iter().all(|frame| frame.id <= MOST && frame.bytes <= MOST));
            }
        }
    }
}
