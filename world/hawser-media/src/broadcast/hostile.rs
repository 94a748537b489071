//! What a source can make a channel keep and compute for a subscriber who takes nothing.

use bytes::Bytes;
use hawser_policy::Time;
use hawser_toll::measure_prepared;

use super::*;
use crate::flv::{MAX_TAG, TagKind};

const LIMITS: Limits = Limits { bytes: 64 << 20, span: 12_000, lag: None };

fn tag(kind: TagKind, timestamp: u32, data: &[u8]) -> Tag {
    Tag { kind, timestamp, data: Bytes::copy_from_slice(data) }
}

/// The set-up of a track of Enhanced RTMP.
fn set_up(track: u8, size: usize) -> Tag {
    let mut data = vec![0x86, 0, b'h', b'v', b'c', b'1', track];
    data.resize(size.max(data.len()), 0);
    let tag = tag(TagKind::Video, 0, &data);
    assert_eq!((tag.role(), tag.track()), (Role::VideoHeader, track));
    tag
}

#[test]
fn headers_that_are_kept_have_caps_and_keep_nothing_else() {
    let mut channel = Channel::new(LIMITS, 7);
    let slow = channel.subscribe();
    channel.push_tag(Time::ZERO, set_up(0, MAX_HEADER + 1));
    let late = channel.subscribe();
    assert!(channel.is_drained(late), "it is handed on, but not kept");
    channel.unsubscribe(late);
    for track in 0..=u8::MAX {
        channel.push_tag(Time::ZERO, set_up(track, 7));
    }
    let late = channel.subscribe();
    assert_eq!(std::iter::from_fn(|| channel.next(Time::ZERO, late)).count(), MAX_HEADERS);
    channel.unsubscribe(slow);
    channel.unsubscribe(late);
    // A small part of something large.
    let large = Bytes::from(vec![0; MAX_TAG]);
    channel.push_tag(Time::ZERO, Tag { kind: TagKind::Script, timestamp: 0, data: large.slice(..10) });
    assert!(large.is_unique());
}

#[test]
fn large_headers_do_not_fill_a_queue() {
    let mut channel = Channel::new(Limits { bytes: 4 << 20, ..LIMITS }, 7);
    let slow = channel.subscribe();
    for track in 0..40 {
        channel.push_tag(Time::ZERO, set_up(track, MAX_HEADER + 1));
        assert!(channel.waiting(slow) <= (5 << 20), "{}", channel.waiting(slow));
    }
}

/// Everything that a source may send in its smallest form while a subscriber takes nothing, so that as much waits as may.
#[test]
fn no_tag_costs_more_than_its_bytes_while_nobody_takes_any() {
    type Make = fn(u32) -> Tag;
    let kinds: [(&str, Make); 5] = [
        ("metadata again and again", |_| tag(TagKind::Script, 0, b"x")),
        ("set-ups of many tracks", |n| set_up(n as u8, 7)),
        ("key frames", |n| tag(TagKind::Video, n, &[0x17, 1, 0, 0, 0])),
        ("frames", |n| tag(TagKind::Video, 0, &[if n == 0 { 0x17 } else { 0x27 }, 1, 0, 0, 0])),
        ("sound", |n| tag(TagKind::Audio, n, &[0xaf, 1])),
    ];
    for (name, make) in kinds {
        let tags: Vec<Tag> = (0..20_000).map(make).collect();
        let prepare = || {
            let mut channel = Channel::new(LIMITS, 7);
            channel.subscribe();
            channel
        };
        measure_prepared(name, prepare, |mut channel| {
            tags.iter().for_each(|tag| channel.push_tag(Time::ZERO, tag.clone()));
            // With the shortest header that brings a tag here, that of a unit.
            tags.iter().map(|tag| tag.data.len() + wire::HEADER_LENGTH).sum()
        });
    }
}

#[test]
fn frames_that_a_key_frame_takes_the_place_of_go_and_sound_stays() {
    let limits = Limits { lag: Some(std::time::Duration::from_millis(100)), ..LIMITS };
    let mut channel = Channel::new(limits, 7);
    let slow = channel.subscribe();
    let frame = |timestamp: u32, is_key: bool| {
        let head = [if is_key { 0x17 } else { 0x27 }, 1, 0, 0, 0];
        tag(TagKind::Video, timestamp, &[&head[..], &[1; 100]].concat())
    };
    // Frames of 169 bytes with what is kept for each, of which one leaves in 20 ms: five are what may wait.
    for at in 0..40 {
        let now = Time::from_millis(20 * u64::from(at));
        (0..2).for_each(|half| channel.push_tag(now, frame(20 * at + 10 * half, at + half == 0)));
        channel.next(now, slow);
    }
    while channel.next(Time::from_millis(800), slow).is_some() {}
    let now = Time::from_secs(1);
    (0..5).for_each(|at| channel.push_tag(now, frame(1_000 + at, at == 0)));
    (0..10).for_each(|at| channel.push_tag(now, tag(TagKind::Audio, 1_005 + at, &[0xaf, 1])));
    channel.push_tag(now, frame(1_040, true));
    assert_eq!(channel.waiting(slow), 2 * 169 + 10 * 66);
    let roles: Vec<Role> = std::iter::from_fn(|| channel.next(now, slow)).map(|unit| unit.role).collect();
    assert_eq!(roles, [&[Role::KeyFrame][..], &[Role::Audio; 10], &[Role::KeyFrame]].concat());
}
