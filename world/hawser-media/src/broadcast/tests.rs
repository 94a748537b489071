use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{Reliability, Time};
use proptest::prelude::*;

use super::wire::{Delivery, Found, PREFACE, UnitReader, WireError, end, parts};
use super::*;
use crate::flv::TagKind;

const LIMITS: Limits = Limits { bytes: 100_000, span: 4_000, lag: None };

fn at(milliseconds: u32) -> Time {
    Time::from_millis(milliseconds.into())
}

fn video(timestamp: u32, first: u8, packet: u8, size: usize) -> Tag {
    let mut data = vec![first, packet, 0, 0, 0];
    data.extend((0..size).map(|byte| (byte * 7 + timestamp as usize) as u8 | 1));
    Tag { kind: TagKind::Video, timestamp, data: data.into() }
}

fn audio(timestamp: u32, packet: u8) -> Tag {
    Tag { kind: TagKind::Audio, timestamp, data: Bytes::from(vec![0xaf, packet, 5, 6, 7]) }
}

/// Headers, then groups of 25 frames 40 ms apart with audio between them.
fn clip(seconds: u32, size: usize) -> Vec<Tag> {
    let mut tags = vec![video(0, 0x17, 0, 30), audio(0, 0)];
    for frame in 0..25 * seconds {
        let first = if frame % 25 == 0 { 0x17 } else { 0x27 };
        tags.push(video(40 * frame, first, 1, if first == 0x17 { 6 * size } else { size }));
        tags.push(audio(40 * frame + 20, 1));
    }
    tags
}

fn feed(channel: &mut Channel, tags: &[Tag]) {
    tags.iter().for_each(|tag| channel.push_tag(at(tag.timestamp), tag.clone()));
}

fn drain(channel: &mut Channel, id: SubscriberId) -> Vec<Unit> {
    std::iter::from_fn(|| channel.next(Time::ZERO, id)).collect()
}

#[test]
fn a_subscriber_who_keeps_up_gets_all_of_it() {
    let (mut channel, tags) = (Channel::new(LIMITS, 7), clip(10, 1_000));
    let id = channel.subscribe();
    let mut got = Vec::new();
    for tag in &tags {
        channel.push_tag(at(tag.timestamp), tag.clone());
        got.extend(drain(&mut channel, id));
    }
    assert_eq!(got.iter().map(|unit| unit.tag.clone()).collect::<Vec<_>>(), tags);
    assert_eq!(channel.queue_counts(id), QueueCounts::default());
    assert_eq!(channel.counts().missing, 0);
}

#[test]
fn one_who_comes_late_begins_with_headers_and_the_last_key_frame() {
    let mut channel = Channel::new(LIMITS, 7);
    let tags = clip(3, 300);
    feed(&mut channel, &tags[..tags.len() - 10]);
    let id = channel.subscribe();
    feed(&mut channel, &tags[tags.len() - 10..]);
    let roles: Vec<Role> = drain(&mut channel, id).iter().map(|unit| unit.role).collect();
    assert_eq!(roles[..3], [Role::VideoHeader, Role::AudioHeader, Role::KeyFrame]);
    assert_eq!(roles.len(), 2 + 50, "a whole group");
    // Nothing that has no key frame is shown to anybody.
    let mut channel = Channel::new(LIMITS, 7);
    feed(&mut channel, &[tags[0].clone(), tags[1].clone(), tags[4].clone(), tags[5].clone()]);
    let id = channel.subscribe();
    feed(&mut channel, &[tags[6].clone()]);
    assert_eq!(drain(&mut channel, id).len(), 2, "headers only");
}

#[test]
fn one_who_is_too_slow_goes_on_at_a_key_frame() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &clip(30, 1_000));
    assert!(channel.waiting(id) <= LIMITS.bytes);
    let counts = channel.queue_counts(id);
    let got = drain(&mut channel, id);
    assert_eq!(
        got.iter().map(|unit| unit.role).take(2).collect::<Vec<_>>(),
        [Role::VideoHeader, Role::AudioHeader]
    );
    assert_eq!(got[2].role, Role::KeyFrame);
    assert!(got[2].tag.timestamp >= 26_000, "the oldest goes: {}", got[2].tag.timestamp);
    assert_eq!(counts.skipped as usize + got.len(), 30 * 50 + 2);
    assert!(counts.skips >= 5, "{counts:?}");
}

#[test]
fn who_gets_a_unit_twice_or_lacks_some_knows() {
    let (mut publisher, mut relay) = (Channel::new(LIMITS, 7), Channel::new(LIMITS, 0));
    let uplink = publisher.subscribe();
    let mut units = Vec::new();
    for tag in clip(2, 100) {
        publisher.push_tag(at(tag.timestamp), tag);
        units.extend(drain(&mut publisher, uplink));
    }
    let viewer = relay.subscribe();
    for unit in &units[..60] {
        relay.push(Time::ZERO, unit.clone());
    }
    // The connection was made again: headers and the group once more, without three that were lost.
    let again = units[..2].iter().chain(&units[40..60]).chain(&units[63..]);
    for unit in again {
        relay.push(Time::ZERO, unit.clone());
    }
    let counts = relay.counts();
    assert_eq!((counts.missing, counts.repeated, counts.restarts), (3, 22, 0));
    let numbers: Vec<u32> = drain(&mut relay, viewer).iter().map(|unit| unit.number).collect();
    assert_eq!(numbers, (0..60).chain(63..102).collect::<Vec<_>>());
}

#[test]
fn another_encoder_and_another_publisher_begin_anew_where_the_last_one_ended() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &clip(1, 100));
    channel.begin_encoder();
    for tag in clip(1, 100) {
        channel.push_tag(at(5_000 + tag.timestamp), tag);
    }
    let other = Unit { origin: 9, number: 0, ..Unit::clone(&drain(&mut channel, id)[2]) };
    channel.push(at(9_000), other);
    let units = drain(&mut channel, id);
    assert_eq!(channel.counts().restarts, 2);
    assert!(units.is_empty() || units[0].restarts, "{units:?}");
    // The second begins 4 s after the last tag of the first one, at 980.
    let second = 980 + 5_000 - 980;
    let third = second + 980 + 9_000 - 5_980;
    assert_eq!(units.last().map(|unit| unit.tag.timestamp), Some(third));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However encoders jump, times do not go back, and steps of a second are kept.
    #[test]
    fn times_never_go_back(
        steps in prop::collection::vec((any::<u32>(), 0u64..3_000, any::<bool>(), any::<bool>()), 1..50),
    ) {
        let (mut timeline, mut now, mut lasts) = (Timeline::default(), 0, [None; 2]);
        for (jump, passed, restarts, is_audio) in steps {
            now += passed;
            if restarts {
                timeline.restart();
            }
            let kind = if is_audio { TagKind::Audio } else { TagKind::Video };
            let mapped = timeline.map(Time::from_millis(now), kind, jump);
            let last: &mut Option<u32> = &mut lasts[usize::from(is_audio)];
            if let Some(last) = *last {
                let step = mapped.wrapping_sub(last).cast_signed();
                prop_assert!(step >= 0, "{step}");
            }
            *last = Some(mapped);
        }
    }

    /// A subscriber's queue is bounded, whatever comes, and every run of tags begins with a key frame; audio alone needs none until video
    /// begins.
    #[test]
    fn a_queue_is_bounded_and_never_begins_in_the_middle(
        tags in prop::collection::vec((0..5u8, 0..30_000usize, 0..500u32), 1..200),
        taken in prop::collection::vec(0..4usize, 200),
    ) {
        let mut channel = Channel::new(LIMITS, 7);
        let id = channel.subscribe();
        let (mut now, mut last, mut has_key, mut pushed) = (0, None, false, Vec::new());
        for (number, ((kind, size, step), taken)) in (0u32..).zip(tags.into_iter().zip(taken)) {
            now += step;
            let tag = match kind {
                0 => video(now, 0x17, 1, size),
                1 => video(now, 0x17, 0, 20),
                2 => audio(now, 1),
                _ => video(now, 0x27, 1, size),
            };
            if !tag.role().is_header() {
                pushed.push(number);
            }
            channel.push_tag(at(now), tag);
            prop_assert!(channel.waiting(id) <= LIMITS.bytes.max(60_000));
            for unit in (0..taken).filter_map(|_| channel.next(at(now), id)).collect::<Vec<_>>() {
                if unit.role.is_header() {
                    continue;
                }
                let is_audio_alone = unit.role == Role::Audio && !has_key;
                has_key |= unit.role == Role::KeyFrame;
                prop_assert!(has_key || is_audio_alone);
                // What does not follow the one before it is a key frame.
                let place = pushed.binary_search(&unit.number).unwrap();
                let follows = last.is_some_and(|last: usize| last + 1 == place);
                prop_assert!(unit.role == Role::KeyFrame || is_audio_alone || follows);
                last = Some(place);
            }
        }
    }

    /// Whatever lies in the bodies of delta frames, tags keep their sizes, and nothing else changes.
    #[test]
    fn gaps_are_padded_in_their_place(
        gaps in prop::collection::vec((0..50usize, 0.0..1.0f64, 0.0..1.0f64), 0..12),
        most in 1..3_000usize,
    ) {
        let mut channel = Channel::new(Limits { bytes: 1 << 20, span: 60_000, lag: None }, 7);
        let id = channel.subscribe();
        let mut stream = PREFACE.to_vec();
        let (mut sent, mut lost) = (Vec::new(), vec![false; PREFACE.len()]);
        let timely = Delivery::Timely { deadline: None };
        for tag in clip(1, 900) {
            channel.push_tag(at(tag.timestamp), tag);
        }
        for (index, unit) in drain(&mut channel, id).into_iter().enumerate() {
            for part in parts(Time::ZERO, &unit, None, timely) {
                stream.extend_from_slice(&part.bytes);
                let from = lost.len();
                lost.resize(stream.len(), false);
                if part.info.reliability != Reliability::Reliable {
                    for (frame, begin, end) in &gaps {
                        let place = |share: f64| from + (share * part.bytes.len() as f64) as usize;
                        if *frame == index {
                            lost[place(begin.min(*end))..place(begin.max(*end))].fill(true);
                        }
                    }
                }
            }
            sent.push(unit);
        }
        stream.extend_from_slice(&end(Time::ZERO).bytes);
        lost.resize(stream.len(), false);
        let mut found = Vec::new();
        let mut reader = UnitReader::default();
        let mut place = 0;
        while place < stream.len() {
            let run = lost[place..].iter().take_while(|is_lost| **is_lost == lost[place]).count();
            let run = run.min(most);
            if lost[place] {
                let mut length = run as u64;
                while length > 0 {
                    found.extend(reader.skip(&mut length).unwrap());
                }
            } else {
                let mut data = Bytes::copy_from_slice(&stream[place..place + run]);
                while let Some(next) = reader.read(&mut data).unwrap() {
                    found.push(next);
                }
            }
            place += run;
        }
        prop_assert_eq!(found.pop(), Some(Found::End));
        prop_assert!(reader.is_between());
        prop_assert_eq!(found.len(), sent.len());
        let mut padded = 0;
        for (found, sent) in found.iter().zip(&sent) {
            let Found::Unit(arrival) = found else { panic!("{found:?}") };
            prop_assert_eq!(arrival.unit.tag.data.len(), sent.tag.data.len());
            prop_assert_eq!(u64::from(arrival.unit.padded), arrival.lacking);
            let differing = arrival.unit.tag.data.iter().zip(&sent.tag.data).filter(|(one, other)| one != other);
            // Bodies of the clip have no zeros.
            prop_assert_eq!(differing.count() as u64, arrival.lacking);
            padded += arrival.lacking;
            let whole = Unit { padded: 0, tag: sent.tag.clone(), came_at: sent.came_at, ..arrival.unit.clone() };
            prop_assert_eq!(&whole, sent);
        }
        prop_assert_eq!(padded, lost.iter().filter(|is_lost| **is_lost).count() as u64);
    }

    #[test]
    fn noise_is_no_stream(noise in prop::collection::vec(any::<u8>(), 0..300), gap in 0..100u64) {
        let mut data = Bytes::from([&PREFACE[..], &noise].concat());
        let mut reader = UnitReader::default();
        while let Ok(Some(_)) = reader.read(&mut data) {}
        let mut gap = gap;
        while gap > 0 {
            if reader.skip(&mut gap).is_err() {
                break;
            }
        }
    }
}

/// Maps interleaved tags, video every 40 ms and audio every 20 ms but so far behind, as they come.
fn mapped(lag: u32, origin: u32, timeline: &mut Timeline, from: u64) -> Vec<(TagKind, u32, u32)> {
    let mut found = Vec::new();
    for tick in 0..250u32 {
        let (sent, now) = (20 * tick, Time::from_millis(from + u64::from(20 * tick)));
        let mut map = |kind, at: u32| {
            found.push((kind, at, timeline.map(now, kind, origin.wrapping_add(at))));
        };
        if tick % 2 == 0 {
            map(TagKind::Video, sent);
        }
        if sent >= lag {
            map(TagKind::Audio, sent - lag);
        }
    }
    found
}

#[test]
fn audio_behind_video_keeps_its_times() {
    for lag in [0, 60, 200, 1_200, 5_000] {
        let mut timeline = Timeline::default();
        let found = mapped(lag, 7_000, &mut timeline, 0);
        assert!(found.iter().all(|(_, at, ours)| *ours == 7_000 + at), "{lag}: {found:?}");
        assert_eq!(timeline.counts(), TimelineCounts::default(), "{lag}");
        // The encoder's clock jumps, both kinds with it: they stay together.
        let latest = timeline.last();
        let again = mapped(lag, 900_000, &mut timeline, 5_000);
        let first = again[0].2;
        assert!((latest + 1..latest + 100).contains(&first), "{lag}: {latest} {first}");
        assert!(again.iter().all(|(_, at, ours)| *ours == first + at), "{lag}: {again:?}");
        assert_eq!(timeline.counts().jumped, 1, "{lag}");
    }
}

#[test]
fn audio_behind_video_does_not_make_a_subscriber_slow() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    channel.push_tag(at(0), video(0, 0x17, 0, 30));
    channel.push_tag(at(0), audio(0, 0));
    for frame in 0..100 {
        channel
            .push_tag(at(40 * frame), video(40 * frame, if frame % 25 == 0 { 0x17 } else { 0x27 }, 1, 100));
        if frame >= 30 {
            channel.push_tag(at(40 * frame), audio(40 * (frame - 30), 1));
        }
        drain(&mut channel, id);
        let late = channel.subscribe();
        assert!(frame % 25 == 0 || drain(&mut channel, late).len() > 2, "frame {frame}: the group is kept");
        channel.unsubscribe(late);
    }
    assert_eq!(channel.queue_counts(id), QueueCounts::default());
}

/// A second and a half of audio and its header.
fn sound(from: u32, length: u32) -> Vec<Tag> {
    let frames = (from..from + length).step_by(20).map(|time| audio(time, 1));
    std::iter::once(audio(from, 0)).chain(frames).collect()
}

#[test]
fn audio_without_video_is_heard_on_every_hop() {
    let (mut publisher, mut relay) = (Channel::new(LIMITS, 7), Channel::new(LIMITS, 0));
    let (uplink, viewer) = (publisher.subscribe(), relay.subscribe());
    let mut heard = Vec::new();
    for tag in sound(0, 3_000) {
        let now = at(tag.timestamp);
        publisher.push_tag(now, tag);
        for unit in drain(&mut publisher, uplink) {
            relay.push(now, unit);
        }
        heard.extend(drain(&mut relay, viewer));
        let is_known = now >= at(1_000);
        assert_eq!((publisher.is_audio_only(), heard.len() > 1), (is_known, is_known), "{now:?}");
    }
    // Nothing of the time until it was known is missing, and one who comes later hears what follows.
    assert_eq!(heard.len(), 151);
    let late = relay.subscribe();
    relay.push(at(3_000), Unit { number: 151, tag: audio(3_000, 1), ..heard[150].clone() });
    let roles: Vec<Role> = drain(&mut relay, late).iter().map(|unit| unit.role).collect();
    assert_eq!(roles, [Role::AudioHeader, Role::Audio]);
}

#[test]
fn a_slow_listener_loses_the_oldest_half() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &sound(0, 30_000));
    let counts = channel.queue_counts(id);
    let got = drain(&mut channel, id);
    assert_eq!(got[0].role, Role::AudioHeader);
    let span = got[got.len() - 1].tag.timestamp - got[1].tag.timestamp;
    assert!((LIMITS.span / 2 - 20..=LIMITS.span).contains(&span), "{span}");
    assert_eq!(counts.skipped as usize + got.len(), 1_501);
}

/// Until it is clear that an encoder sends nothing else its sound is held back, from those who have not seen a key frame of the one before
/// (found by the fuzz target `relay`).
#[test]
fn audio_of_an_encoder_that_takes_over_is_heard_once() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &clip(2, 1_000));
    drain(&mut channel, id);
    channel.begin_encoder();
    let mut heard = Vec::new();
    for tag in sound(5_000, 1_500) {
        channel.push_tag(at(tag.timestamp), tag);
        heard.extend(
            drain(&mut channel, id).iter().filter(|unit| unit.role == Role::Audio).map(|unit| unit.number),
        );
    }
    assert_eq!(heard.len(), 75);
    assert!(heard.is_sorted_by(|before, number| before < number), "{heard:?}");
}

#[test]
fn audio_before_the_first_key_frame_is_not_heard_when_video_follows() {
    for pause in [500, 3_000] {
        let mut channel = Channel::new(LIMITS, 7);
        let id = channel.subscribe();
        feed(&mut channel, &sound(0, pause));
        drain(&mut channel, id);
        channel.push_tag(at(pause), video(pause, 0x17, 0, 30));
        channel.push_tag(at(pause), audio(pause, 1));
        channel.push_tag(at(pause), video(pause, 0x27, 1, 30));
        channel.push_tag(at(pause + 40), video(pause + 40, 0x17, 1, 30));
        channel.push_tag(at(pause + 40), audio(pause + 40, 1));
        assert!(!channel.is_audio_only());
        let roles: Vec<Role> = drain(&mut channel, id).iter().map(|unit| unit.role).collect();
        assert_eq!(roles, [Role::VideoHeader, Role::KeyFrame, Role::Audio], "{pause}");
    }
}

#[test]
fn what_a_unit_waits_on_a_hop_is_part_of_its_age() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &clip(1, 100)[..4]);
    channel.next(at(100), id);
    channel.next(at(100), id);
    assert_eq!(channel.waiting_since(at(2_000), id), Duration::from_secs(2));
    let ages: Vec<u32> = std::iter::from_fn(|| channel.next(at(2_500), id)).map(|unit| unit.age).collect();
    // Of frames at 0 and 20 ms, in tenths.
    assert_eq!(ages, [25_000, 24_800]);
    assert_eq!(channel.waiting_since(at(3_000), id), Duration::ZERO);
}

#[test]
fn a_queue_that_stands_is_not_forgotten() {
    let (mut standing, mut relative) = (StandingDelay::default(), RelativeDelay::default());
    let round_trip = Duration::from_millis(40);
    // The other clock is an hour ahead and falls behind by a fifth of a millisecond per second.
    let stamp = |ms: u64| Time::from_millis(3_600_000 + ms - ms / 5_000);
    let mut delays = |ms: u64, queue: u64| {
        let now = Time::from_millis(ms + 20 + queue);
        (standing.delay(now, stamp(ms), round_trip), relative.delay(now, stamp(ms), round_trip))
    };
    delays(0, 0);
    // For two minutes two seconds wait on the way.
    let (mut last, mut forgotten) = Default::default();
    for second in 1..120 {
        (last, forgotten) = delays(1_000 * second, 2_000);
    }
    assert!((1_940..=2_060).contains(&last.as_millis()), "{last:?}");
    assert!(forgotten < Duration::from_millis(100), "{forgotten:?}");
    assert!(delays(121_000, 0).0 < Duration::from_millis(60));
}

#[test]
fn headers_key_frames_and_audio_may_not_lack_anything() {
    let mut channel = Channel::new(LIMITS, 7);
    let id = channel.subscribe();
    feed(&mut channel, &clip(1, 100)[..5]);
    for (index, unit) in drain(&mut channel, id).into_iter().enumerate() {
        for (number, part) in
            parts(at(5), &unit, Some(3), Delivery::Timely { deadline: Some(Duration::from_millis(300)) })
                .into_iter()
                .enumerate()
        {
            let may_lack = unit.role == Role::DeltaFrame && number == 1;
            assert_eq!(part.info.reliability != Reliability::Reliable, may_lack, "unit {index}");
            assert_eq!(part.info.deadline, may_lack.then_some(at(305)));
            let [_, reliable] = parts(at(5), &unit, None, Delivery::Reliable);
            assert_eq!(reliable.info.reliability, Reliability::Reliable);
            let mut reader = UnitReader::default();
            let mut data = Bytes::copy_from_slice(&PREFACE);
            assert_eq!(reader.read(&mut data), Ok(None));
            let mut gap = 1;
            assert_eq!(reader.skip(&mut gap), Err(WireError::Missing(1)), "a header");
        }
    }
}

#[test]
fn delays_are_told_without_a_common_clock() {
    let mut delays = RelativeDelay::default();
    let round_trip = Duration::from_millis(40);
    // The other clock is an hour ahead, and falls behind by a millisecond per second.
    let stamp = |ms: u64| Time::from_millis(3_600_000 + ms - ms / 1_000);
    let mut delay =
        |ms: u64, extra: u64| delays.delay(Time::from_millis(ms + 20 + extra), stamp(ms), round_trip);
    assert_eq!(delay(0, 0), Duration::from_millis(20));
    assert_eq!(delay(40, 30), Duration::from_millis(50));
    for second in 1..100 {
        let found = delay(1_000 * second, 5 * (second % 2));
        assert!(found <= Duration::from_millis(20 + 5 + 11), "second {second}: {found:?}");
    }
}

/// A subscriber to whom 20 kB/s go, where the video has some 50: what waits for longer than a second is left out at the end of groups.
#[test]
fn ends_of_groups_are_left_out_for_who_lags() {
    let limits = Limits { lag: Some(Duration::from_secs(1)), ..LIMITS };
    let (mut channel, tags) = (Channel::new(limits, 7), clip(20, 1_500));
    let id = channel.subscribe();
    let (mut got, mut free_at) = (Vec::new(), 0);
    for tag in &tags {
        channel.push_tag(at(tag.timestamp), tag.clone());
        while free_at <= tag.timestamp
            && let Some(unit) = channel.next(at(tag.timestamp), id)
        {
            free_at = tag.timestamp.max(free_at) + u32::try_from(unit.size()).unwrap() / 20;
            got.push(unit);
        }
    }
    assert!(channel.queue_counts(id).skipped > 100, "{:?}", channel.queue_counts(id));
    // All key frames but those that still wait, all sound before the last unit, and within each group no hole.
    let keys = got.iter().filter(|unit| unit.role == Role::KeyFrame).count();
    assert!(keys >= 18, "{keys}");
    let mut group: Option<u32> = None;
    for unit in got.iter().filter(|unit| unit.role.is_frame()) {
        let index = unit.tag.timestamp / 40;
        if unit.role == Role::DeltaFrame {
            assert_eq!(group, Some(index - 1), "a hole before {index}");
        }
        group = Some(index);
    }
}
