//! ECN marks between two whole connections (RFC 9000 section 13.4).

use std::time::Duration;

use hawser_policy::{PathId, Side};

use super::pair::{Pair, Sent, Settings, transport};
use crate::connection::recovery::EcnState;
use crate::{Ecn, TransportConfig};

/// Neither end looks for larger datagrams, whose probes would be marked packets that nobody counts.
fn pair() -> Pair {
    let fixed = || TransportConfig { max_mtu: 1_200, ..transport() };
    Pair::connected(Settings { client: fixed(), server: fixed(), ..Settings::default() })
}

fn ecn_state(pair: &mut Pair, side: Side) -> EcnState {
    let connection = pair.end(side).connection.as_mut().unwrap();
    connection.paths.get(PathId::ZERO).unwrap().recovery.ecn_state()
}

/// Wherever the last packet of the test lies in a batch: all of a batch have the mark of its first.
#[test]
fn the_test_may_end_inside_a_batch() {
    for side in [Side::Client, Side::Server] {
        for small in 0..12 {
            let mut pair = pair();
            for _ in 0..small {
                pair.write(side, 100);
                pair.run(Duration::from_millis(1));
            }
            pair.write(side, 10_000);
            pair.run(Duration::from_millis(500));
            let state = ecn_state(&mut pair, side);
            assert_eq!(state, EcnState::Capable, "{side:?}, {small} packets before the batch");
        }
    }
}

/// A router clears the field: the peer reports no marks.
//= rfc9000-13.4.2.2-1
#[test]
fn a_path_that_clears_marks_gets_no_more_of_them() {
    let mut pair = pair();
    pair.remark = |_| None;
    let began = pair.now;
    pair.write(Side::Client, 100_000);
    pair.run(Duration::from_millis(500));
    assert_eq!(ecn_state(&mut pair, Side::Client), EcnState::Failed);
    let marked = pair.datagrams(Side::Client, began).filter(|sent| sent.ecn.is_some()).count();
    assert!((1..=20).contains(&marked), "{marked} datagrams were marked");
}

/// Every datagram with data is marked as having met congestion from 360 ms on.
fn congested(sent: &Sent) -> Option<Ecn> {
    let late = sent.at > hawser_policy::Time::from_millis(360);
    if late && sent.payload.len() > 1_000 { sent.ecn.map(|_| Ecn::Ce) } else { sent.ecn }
}

//= rfc9000-13.2.1-8, rfc9000-13.4.1-1
#[test]
fn congestion_marks_reduce_the_window() {
    let mut pair = pair();
    pair.remark = congested;
    pair.write(Side::Client, 4_000_000);
    pair.run(Duration::from_millis(60));
    let before = pair.client().path_stats(PathId::ZERO).unwrap().congestion_window;
    pair.run(Duration::from_millis(75));
    let stats = pair.client().path_stats(PathId::ZERO).unwrap();
    assert!(stats.congestion_window < before / 3, "{before} then {}", stats.congestion_window);
    assert_eq!(stats.packets_lost, 0);
}

/// What carries packets of others in datagrams tells their senders of congestion on its way.
#[test]
fn a_datagram_says_whether_its_packet_was_marked() {
    for (remark, is_marked) in [(congested as fn(&Sent) -> Option<Ecn>, true), (|sent| sent.ecn, false)] {
        let mut pair = pair();
        pair.run(Duration::from_millis(500));
        pair.remark = remark;
        pair.client().send_datagram(vec![7; 1_100].into(), None).unwrap();
        pair.run(Duration::from_millis(100));
        let received = pair.server().read_datagram_as_received().unwrap();
        assert_eq!((received.data.len(), received.is_marked), (1_100, is_marked));
    }
}
