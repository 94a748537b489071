//! Against a fake kernel in virtual time, and against bytes of any kind.

use std::time::Duration;

use hawser_policy::Time;
use proptest::prelude::*;

use super::message::{Attributes, Body, replies};
use super::*;
use crate::Bssid;

const FAMILY: u16 = 28;
const INDEX: u32 = 3;
/// What the fake kernel takes to answer: no time that was measured.
const ANSWER: Duration = Duration::from_micros(300);

/// An attribute, padded.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = ((16 + payload.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0, 0]);
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn data(family: u16, sequence: u32, command: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
    message(family, sequence, &[vec![command, 1, 0, 0], attributes.concat()].concat())
}

fn done(sequence: u32) -> Vec<u8> {
    message(3, sequence, &0_i32.to_ne_bytes())
}

fn refused(sequence: u32, errno: i32) -> Vec<u8> {
    message(2, sequence, &(-errno).to_ne_bytes())
}

/// What the card is associated with.
#[derive(Clone, Copy)]
struct Card {
    bssid: Option<[u8; 6]>,
    mhz: u32,
    dbm: i8,
    up_tenths: u16,
}

/// Answers a request as the kernel does: the data and the end of a dump in datagrams of their own.
fn kernel(request: &[u8], card: Card) -> Vec<Vec<u8>> {
    let reply = replies(request).next().expect("a request");
    let Body::Data { family, command, attributes } = reply.body else { panic!("{reply:?}") };
    let sequence = reply.sequence;
    let acknowledged = message(2, sequence, &0_i32.to_ne_bytes());
    match (family, command) {
        (16, 3) => {
            assert_eq!(attributes.find(2), Some(&b"nl80211\0"[..]));
            let named = [attribute(2, b"nl80211\0"), attribute(1, &FAMILY.to_ne_bytes())];
            vec![data(16, sequence, 1, &named), acknowledged]
        }
        (FAMILY, 5) => {
            assert_eq!(attributes.u32(3), Some(INDEX));
            let interface = [attribute(4, b"wlan0\0"), attribute(38, &card.mhz.to_ne_bytes())];
            vec![data(FAMILY, sequence, 7, &interface), acknowledged]
        }
        (FAMILY, 17) => {
            let rate = [
                attribute(5, &u32::from(card.up_tenths).to_ne_bytes()),
                attribute(1, &card.up_tenths.to_ne_bytes()),
            ];
            // Nested attributes have a flag in their type.
            let info = [attribute(7, &[card.dbm as u8]), attribute(8 | 0x8000, &rate.concat())];
            let station = card.bssid.map(|bssid| {
                data(FAMILY, sequence, 19, &[attribute(6, &bssid), attribute(21 | 0x8000, &info.concat())])
            });
            station.into_iter().chain([done(sequence)]).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Runs a monitor next to a card that changes, and returns when it said what.
fn run(card: impl Fn(Time) -> Card, until: Time) -> Vec<(Time, Observation)> {
    let (mut monitor, mut now, mut seen) = (Monitor::new(INDEX), Time::ZERO, Vec::new());
    while now < until {
        if let Some(request) = monitor.poll_transmit(now) {
            let answers = kernel(&request, card(now));
            now += ANSWER;
            for datagram in answers {
                monitor.handle(&datagram).unwrap();
            }
        } else {
            now = monitor.poll_timeout().expect("it goes on");
            monitor.handle_timeout(now);
        }
        seen.extend(monitor.poll_report().map(|report| (now, report)));
    }
    seen
}

const FIRST: [u8; 6] = [2, 0, 0x5e, 0, 0, 1];
const SECOND: [u8; 6] = [2, 0, 0x5e, 0, 0, 2];

/// Associated for a second, gone for half of one, then with another access point on another channel, whose signal falls.
fn drive(now: Time) -> Card {
    let ms = now.as_nanos() / 1_000_000;
    match ms {
        0..1000 => Card { bssid: Some(FIRST), mhz: 2437, dbm: -61, up_tenths: 650 },
        1000..1500 => Card { bssid: None, mhz: 0, dbm: 0, up_tenths: 0 },
        _ => Card { bssid: Some(SECOND), mhz: 5180, dbm: -50 - ((ms - 1500) / 100) as i8, up_tenths: 5400 },
    }
}

#[test]
fn every_tenth_of_a_second_tells_access_point_channel_signal_and_rate() {
    let seen = run(drive, Time::from_secs(2));
    assert_eq!(seen.len(), 20, "ten a second");
    let gaps = seen.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_millis());
    assert!(gaps.clone().all(|gap| (99..=101).contains(&gap)), "{:?}", gaps.collect::<Vec<_>>());
    let (_, first) = seen[0];
    assert_eq!((first.bssid, first.mhz, first.dbm), (Some(Bssid(FIRST)), Some(2437), Some(-61)));
    assert_eq!((first.up_bps, first.down_bps), (Some(65_000_000), None));
    let changed = seen.iter().find(|(_, seen)| seen.bssid == Some(Bssid(SECOND))).expect("the second");
    assert!(changed.0 < Time::from_nanos(1_610_000_000), "within an interval: {:?}", changed.0);
    assert!(seen.iter().filter(|(_, seen)| seen.bssid.is_none()).count() >= 4);
    let falling: Vec<i8> = seen.iter().rev().take(4).filter_map(|(_, seen)| seen.dbm).collect();
    assert!(falling.is_sorted(), "{falling:?}");
}

#[test]
fn an_observation_is_a_line_of_link_states() {
    let seen = run(drive, Time::from_secs(2));
    let read = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap();
    let expected = serde_json::json!({
        "link": "wlan0", "up": true, "attached_to": { "access_point": "02:00:5e:00:00:01" }, "channel": 6,
        "signal": { "dbm": -61 }, "uplink": { "bps": 39e6 }, "valid_ms": 1000,
    });
    assert_eq!(read(seen[0].1.line("wlan0", Some(0.6))), expected);
    let gone = serde_json::json!({ "link": "wlan0", "up": false, "valid_ms": 1000 });
    assert_eq!(read(Observation::default().line("wlan0", None)), gone);
}

#[test]
fn channels_of_three_bands() {
    let known = [(2412, 1), (2472, 13), (2484, 14), (5180, 36), (5825, 165), (5955, 1), (7115, 233)];
    assert!(known.iter().all(|(mhz, number)| channel(*mhz) == Some(*number)));
    assert_eq!([2400, 2480, 5900, 60_480].map(channel), [None; 4]);
}

#[test]
fn what_cannot_be_watched_is_named() {
    let mut monitor = Monitor::new(INDEX);
    monitor.poll_transmit(Time::ZERO).unwrap();
    assert_eq!(monitor.handle(&refused(1, 2)), Err(MonitorError::NoWireless));

    let mut monitor = Monitor::new(INDEX);
    let request = monitor.poll_transmit(Time::ZERO).unwrap();
    for datagram in kernel(&request, drive(Time::ZERO)) {
        monitor.handle(&datagram).unwrap();
    }
    monitor.poll_transmit(Time::ZERO).unwrap();
    assert_eq!(monitor.handle(&refused(1, 19)), Ok(()), "of an older question");
    assert_eq!(monitor.handle(&refused(2, 19)), Err(MonitorError::NotWireless));
}

#[test]
fn an_answer_that_never_comes_is_asked_for_again() {
    let mut monitor = Monitor::new(INDEX);
    monitor.poll_transmit(Time::ZERO).unwrap();
    assert_eq!(monitor.poll_transmit(Time::ZERO), None);
    let due = monitor.poll_timeout().unwrap();
    monitor.handle_timeout(due);
    let again = monitor.poll_transmit(due).unwrap();
    assert_eq!(replies(&again).next().map(|reply| reply.sequence), Some(2));
}

proptest! {
    /// No bytes make it panic or grow; a message that is cut anywhere gives what is whole in it.
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..200) {
        let mut monitor = Monitor::new(INDEX);
        let request = monitor.poll_transmit(Time::ZERO).unwrap();
        let _ = monitor.handle(&bytes);
        let answer = kernel(&request, drive(Time::ZERO)).concat();
        let _ = monitor.handle(&answer[..cut.min(answer.len())]);
        let mut observation = Observation::default();
        observation.add_station(Attributes(&bytes));
    }
}
