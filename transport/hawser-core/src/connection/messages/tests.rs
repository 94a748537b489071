use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::{FeatureId, MAX_MESSAGE_PAYLOAD, Message, MessageDelivery, PathId, Time};
use hawser_wire::frame::{FrameIter, PolicyMessage};
use hawser_wire::transport_parameters::FeatureSet;
use hawser_wire::{Frame, Writer};
use proptest::prelude::*;

use super::channel::{
    MAX_CHANNELS, MAX_HELD_MESSAGES, MAX_QUEUED_MESSAGES, MAX_READY_MESSAGES, RECEIVE_BURST, RECEIVE_RATE,
    RIDES, SEND_BURST, SEND_RATE,
};
use super::{Messages, SendMessageError};
use crate::Code;
use crate::connection::frames::{SentFrame, SentFrames};

const FEATURE: FeatureId = FeatureId(77);
const PACKET: usize = 1_150;

fn messages() -> Messages {
    let mut messages = Messages::new();
    let features: FeatureSet = [FEATURE.0, FeatureId::LOSS_RATE.0].into_iter().collect();
    messages.negotiate(&features, Some(&features));
    messages
}

/// A packet: its frames, and what the sender remembers of them.
#[derive(Clone, Debug)]
struct Packet {
    bytes: Vec<u8>,
    sent: Vec<u64>,
}

fn write(now: Time, from: &mut Messages) -> Packet {
    let (mut buffer, mut frames) = (vec![0; PACKET], SentFrames::new());
    let mut w = Writer::new(&mut buffer);
    from.write(now, &mut w, &mut frames);
    let bytes = w.written().to_vec();
    let id = |frame: &SentFrame| if let SentFrame::PolicyMessage(id) = frame { *id } else { unreachable!() };
    Packet { bytes, sent: frames.iter().map(id).collect() }
}

fn deliver(now: Time, packet: &Packet, to: &mut Messages) {
    for frame in FrameIter::new(&packet.bytes).take(if packet.bytes.is_empty() { 0 } else { usize::MAX }) {
        let Ok(Frame::PolicyMessage(message)) = frame else { panic!("{frame:?}") };
        to.on_frame(now, &message).unwrap();
    }
}

fn received(at: &mut Messages) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| at.poll_application()).map(|message| message.payload).collect()
}

/// A frame that an honest end could have sent.
fn frame(delivery: hawser_wire::frame::MessageDelivery, sequence_number: u64) -> PolicyMessage<'static> {
    PolicyMessage { feature: FEATURE.0, delivery, path_id: None, sequence_number, payload: b"x" }
}

#[test]
fn the_latest_replaces_what_has_not_left_and_what_was_lost() {
    let (mut a, mut b) = (messages(), messages());
    a.send(Message::latest(FEATURE, "1")).unwrap();
    a.send(Message::latest(FEATURE, "2")).unwrap();
    a.send(Message::latest(FEATURE, "of path 3").about(PathId(3))).unwrap();
    let first = write(Time::ZERO, &mut a);
    assert_eq!(first.sent.len(), 2, "one of each channel");
    assert!(!a.has_pending());
    a.send(Message::latest(FEATURE, "3")).unwrap();
    a.on_lost(first.sent[0]);
    a.on_lost(first.sent[1]);
    let second = write(Time::ZERO, &mut a);
    deliver(Time::ZERO, &second, &mut b);
    deliver(Time::ZERO, &first, &mut b);
    let mut all = received(&mut b);
    all.sort();
    assert_eq!(all, [b"3".to_vec(), b"of path 3".to_vec()], "the older one came late");
    second.sent.iter().for_each(|id| a.on_acked(*id));
    assert!(!a.has_pending());
}

#[test]
fn only_the_newest_is_kept_for_a_policy_that_does_not_look() {
    let (mut a, mut b) = (messages(), messages());
    for payload in ["1", "2"] {
        a.send(Message::latest(FEATURE, payload)).unwrap();
        deliver(Time::ZERO, &write(Time::ZERO, &mut a), &mut b);
    }
    assert_eq!(received(&mut b), [b"2"]);
}

#[test]
fn reliable_messages_wait_for_those_before_them() {
    let (mut a, mut b) = (messages(), messages());
    let mut packets = Vec::new();
    for payload in ["1", "2", "3"] {
        a.send(Message::reliable(FEATURE, payload)).unwrap();
        packets.push(write(Time::ZERO, &mut a));
    }
    deliver(Time::ZERO, &packets[2], &mut b);
    deliver(Time::ZERO, &packets[1], &mut b);
    deliver(Time::ZERO, &packets[1], &mut b);
    assert!(received(&mut b).is_empty());
    a.on_acked(packets[2].sent[0]);
    a.on_acked(packets[1].sent[0]);
    a.on_lost(packets[0].sent[0]);
    deliver(Time::ZERO, &write(Time::ZERO, &mut a), &mut b);
    deliver(Time::ZERO, &packets[0], &mut b);
    assert_eq!(received(&mut b), [b"1", b"2", b"3"]);
}

#[test]
fn messages_with_acknowledgements_leave_three_times() {
    let (mut a, mut b) = (messages(), messages());
    a.send(Message::with_acks(FEATURE, "old")).unwrap();
    a.send(Message::with_acks(FEATURE, "new")).unwrap();
    assert!(!a.has_pending(), "nothing that draws an acknowledgement");
    for turn in 0..RIDES {
        assert!(a.has_riding(), "{turn}");
        let mut buffer = vec![0; 100];
        let mut w = Writer::new(&mut buffer);
        a.write_riding(&mut w);
        let bytes = w.written().to_vec();
        for frame in FrameIter::new(&bytes) {
            assert!(!frame.unwrap().is_ack_eliciting());
        }
        deliver(Time::ZERO, &Packet { bytes, sent: Vec::new() }, &mut b);
    }
    assert!(!a.has_riding());
    assert_eq!(received(&mut b), [b"new"], "once");
    assert_eq!(a.counts().sent, u64::from(RIDES));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut a = messages();
    let of = |feature| Message::latest(feature, "");
    assert_eq!(a.send(of(FeatureId(5))), Err(SendMessageError::NotNegotiated(FeatureId(5))));
    let length = MAX_MESSAGE_PAYLOAD + 1;
    assert_eq!(a.send(Message::latest(FEATURE, vec![0; length])), Err(SendMessageError::TooLarge { length }));
    for _ in 0..MAX_QUEUED_MESSAGES {
        a.send(Message::reliable(FEATURE, "")).unwrap();
    }
    assert_eq!(a.send(Message::reliable(FEATURE, "")), Err(SendMessageError::QueueFull));
    a.on_path_gone(PathId(9));
    assert_eq!(a.send(of(FEATURE)), Err(SendMessageError::QueueFull));

    let mut a = messages();
    for n in 0..MAX_CHANNELS as u32 {
        a.send(of(FEATURE).about(PathId(n))).unwrap();
        let packet = write(Time::from_secs(u64::from(n)), &mut a);
        a.on_acked(packet.sent[0]);
    }
    assert_eq!(a.send(of(FEATURE)), Err(SendMessageError::TooManyChannels));
    a.on_path_gone(PathId(7));
    a.send(of(FEATURE)).unwrap();
}

/// An acknowledged message that the peer still holds back counts, or its memory would not be bounded by our queue.
#[test]
fn what_the_peer_holds_back_counts_as_queued() {
    let mut a = messages();
    for _ in 0..MAX_QUEUED_MESSAGES {
        a.send(Message::reliable(FEATURE, "")).unwrap();
    }
    let packet = write(Time::ZERO, &mut a);
    assert_eq!(packet.sent.len(), MAX_QUEUED_MESSAGES);
    packet.sent[1..].iter().for_each(|id| a.on_acked(*id));
    assert_eq!(a.send(Message::reliable(FEATURE, "")), Err(SendMessageError::QueueFull));
    a.on_acked(packet.sent[0]);
    for _ in 0..MAX_QUEUED_MESSAGES {
        a.send(Message::reliable(FEATURE, "")).unwrap();
    }
}

#[test]
fn messages_leave_at_the_rate_that_the_peer_takes() {
    let (mut a, mut b) = (messages(), messages());
    let mut now = Time::from_secs(1);
    let end = now + Duration::from_secs(1);
    let mut sent = 0;
    while now < end {
        a.on_timeout(now);
        while a.send(Message::latest(FEATURE, "")).is_ok() && a.has_pending() {
            let packet = write(now, &mut a);
            sent += packet.sent.len() as u32;
            deliver(now, &packet, &mut b);
            packet.sent.iter().for_each(|id| a.on_acked(*id));
        }
        let next = a.deadline().unwrap();
        assert!(next > now, "a time to come");
        now = next;
    }
    assert!((SEND_RATE + SEND_BURST - 2..=SEND_RATE + SEND_BURST + 1).contains(&sent), "{sent}");
    assert_eq!(b.counts().dropped, 0);
}

#[test]
fn a_peer_that_sends_too_much_loses_messages() {
    use hawser_wire::frame::MessageDelivery::{Latest, Reliable, WithAcks};
    for delivery in [Latest, WithAcks, Reliable] {
        let mut b = messages();
        let now = Time::from_secs(5);
        for n in 0..1_000 {
            b.on_frame(now, &frame(delivery, n)).unwrap();
            b.poll_application();
        }
        assert_eq!(b.counts().dropped, 1_000 - u64::from(RECEIVE_BURST), "{delivery:?}");
        let later = now + Duration::from_secs(1) / RECEIVE_RATE;
        b.on_frame(later, &frame(delivery, 1_000)).unwrap();
        assert!(b.poll_application().is_some(), "{delivery:?}: those behind are not held up");
    }
}

#[test]
fn a_peer_cannot_make_us_keep_messages() {
    use hawser_wire::frame::MessageDelivery::{Latest, Reliable};
    // Nobody takes them.
    let mut b = messages();
    for n in 0..100 {
        b.on_frame(Time::from_secs(n), &frame(Reliable, n)).unwrap();
    }
    assert_eq!(received(&mut b).len(), MAX_READY_MESSAGES);
    assert_eq!(b.counts().dropped, 100 - MAX_READY_MESSAGES as u64);
    // Each about another path.
    let mut b = messages();
    for n in 0..200 {
        let about = PolicyMessage { path_id: Some(n), ..frame(Latest, 0) };
        b.on_frame(Time::from_secs(u64::from(n)), &about).unwrap();
        b.poll_application();
    }
    assert_eq!(b.counts().received, MAX_CHANNELS as u64);
    // The first one of each channel is missing.
    let mut b = messages();
    let error = (0..1_000).find_map(|n| {
        let ahead = PolicyMessage { path_id: Some(n / 8), ..frame(Reliable, 1 + u64::from(n % 8)) };
        b.on_frame(Time::from_secs(u64::from(n)), &ahead).err().map(|error| (n, error.code))
    });
    assert_eq!(error, Some((MAX_HELD_MESSAGES as u32, Code::PROTOCOL_VIOLATION)));
}

#[test]
fn frames_that_break_the_rules_end_the_connection() {
    use hawser_wire::frame::MessageDelivery::{Latest, Reliable};
    let code = |frame: PolicyMessage<'_>| messages().on_frame(Time::ZERO, &frame).map_err(|error| error.code);
    let long = [0; MAX_MESSAGE_PAYLOAD + 1];
    assert_eq!(code(PolicyMessage { payload: &long[1..], ..frame(Latest, 0) }), Ok(()));
    let too_long = PolicyMessage { payload: &long, ..frame(Latest, 0) };
    assert_eq!(code(too_long), Err(Code::FRAME_ENCODING_ERROR));
    let stranger = PolicyMessage { feature: 5, ..frame(Latest, 0) };
    assert_eq!(code(stranger), Err(Code::PROTOCOL_VIOLATION));
    let window = MAX_QUEUED_MESSAGES as u64;
    assert_eq!(code(frame(Reliable, window - 1)), Ok(()));
    assert_eq!(code(frame(Reliable, window)), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(code(frame(Latest, hawser_wire::varint::MAX)), Ok(()));
}

/// What may happen to a packet, and what the sender then hears of it.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    /// Declared lost, but it arrives.
    Late,
    /// Arrives twice.
    Twice,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![4 => Just(Fate::Arrives), 2 => Just(Fate::Lost), 1 => Just(Fate::Late), 1 => Just(Fate::Twice)]
}

proptest! {
    /// Over a network that loses, repeats and reorders: reliable messages arrive once and in order, of the others the
    /// last one does, and never an older one after a newer one.
    #[test]
    fn deliveries_keep_their_promises(
        steps in proptest::collection::vec((any::<bool>(), 0..3_usize, fate(), any::<prop::sample::Index>()), 1..120),
    ) {
        let (mut a, mut b) = (messages(), messages());
        let mut now = Time::from_secs(1);
        let mut under_way: VecDeque<(Packet, Fate)> = VecDeque::new();
        let (mut sent, mut got) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut number = 0_u32;
        let settle = |a: &mut Messages, b: &mut Messages, now, (packet, fate): (Packet, Fate)| match fate {
            Fate::Arrives | Fate::Twice => {
                deliver(now, &packet, b);
                if matches!(fate, Fate::Twice) {
                    deliver(now, &packet, b);
                }
                packet.sent.iter().for_each(|id| a.on_acked(*id));
            }
            Fate::Lost => packet.sent.iter().for_each(|id| a.on_lost(*id)),
            Fate::Late => {
                packet.sent.iter().for_each(|id| a.on_lost(*id));
                deliver(now, &packet, b);
            }
        };
        let collect = |b: &mut Messages, got: &mut [Vec<u32>; 2]| {
            while let Some(message) = b.poll_application() {
                let value = u32::from_be_bytes(message.payload.try_into().unwrap());
                got[usize::from(message.delivery == MessageDelivery::Reliable)].push(value);
            }
        };
        for (reliable, count, fate, index) in steps {
            now += Duration::from_millis(20);
            a.on_timeout(now);
            for _ in 0..count {
                let payload = number.to_be_bytes().to_vec();
                let message =
                    if reliable { Message::reliable(FEATURE, payload) } else { Message::latest(FEATURE, payload) };
                if a.send(message).is_ok() {
                    sent[usize::from(reliable)].push(number);
                }
                number += 1;
            }
            if a.has_pending() {
                under_way.push_back((write(now, &mut a), fate));
            }
            if under_way.len() > 4 {
                let packet = under_way.remove(index.index(under_way.len())).unwrap();
                settle(&mut a, &mut b, now, packet);
            }
            collect(&mut b, &mut got);
        }
        for turn in 0..100 {
            now += Duration::from_millis(20);
            a.on_timeout(now);
            while let Some((packet, fate)) = under_way.pop_front() {
                settle(&mut a, &mut b, now, (packet, if turn > 0 { Fate::Arrives } else { fate }));
            }
            if a.has_pending() {
                under_way.push_back((write(now, &mut a), Fate::Arrives));
            }
            collect(&mut b, &mut got);
        }
        prop_assert_eq!(&got[1], &sent[1], "reliable");
        prop_assert_eq!(got[0].last(), sent[0].last(), "the latest");
        prop_assert!(got[0].is_sorted_by(|a, b| a < b), "{:?}", got[0]);
        prop_assert!(!a.has_pending());
        prop_assert_eq!(b.counts().dropped, 0);
        prop_assert_eq!(b.counts().received, (got[0].len() + got[1].len()) as u64);
    }
}
