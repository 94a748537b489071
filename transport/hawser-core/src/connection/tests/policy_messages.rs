//! Messages between the policies of both ends, over whole connections.

use std::time::Duration;

use hawser_policy::{FeatureId, FeatureSet, MAX_MESSAGE_PAYLOAD, Message, PathId, Side};

use super::pair::{DELAY, End, Pair, Sent, Settings, transport};
use crate::{Event, SendMessageError, TransportConfig};

const SOON: Duration = Duration::from_millis(200);
const FEATURE: FeatureId = FeatureId(4_711);

fn speaking(features: &[FeatureId]) -> TransportConfig {
    TransportConfig { features: features.iter().copied().collect(), ..transport() }
}

fn both(features: &[FeatureId]) -> Settings {
    Settings { client: speaking(features), server: speaking(features), ..Settings::default() }
}

fn received(end: &End) -> Vec<&Message> {
    end.events.iter().filter_map(message_of).collect()
}

fn message_of(event: &Event) -> Option<&Message> {
    if let Event::Policy(message) = event { Some(message) } else { None }
}

#[test]
fn only_what_both_ends_list_is_spoken() {
    let client = speaking(&[FEATURE, FeatureId::LOSS_RATE]);
    let server = speaking(&[FEATURE, FeatureId::QOE_FEEDBACK]);
    let mut pair = Pair::connected(Settings { client, server, ..Settings::default() });
    for side in [Side::Client, Side::Server] {
        let connection = pair.end(side).connection.as_mut().unwrap();
        assert!(connection.is_feature_negotiated(FEATURE));
        for feature in [FeatureId::LOSS_RATE, FeatureId::QOE_FEEDBACK] {
            let refused = connection.send_message(Message::latest(feature, ""));
            assert_eq!(refused, Err(SendMessageError::NotNegotiated(feature)));
        }
    }
    let client = TransportConfig { features: FeatureSet::NONE, ..transport() };
    let mut pair = Pair::connected(Settings { client, server: speaking(&[FEATURE]), ..Settings::default() });
    assert!(!pair.server().is_feature_negotiated(FEATURE));
}

/// The core lists the features of its own frames on behalf of every end, so that the list does not say whether policies of the
/// peer speak of them: it would take a message for a violation.
#[test]
fn features_with_frames_of_their_own_have_no_messages() {
    for listed in [&[][..], &[FeatureId::STREAM_SKIP, FeatureId::ERASURE_CODES][..]] {
        let client = speaking(&[FeatureId::STREAM_SKIP, FeatureId::ERASURE_CODES]);
        let mut pair = Pair::connected(Settings { client, server: speaking(listed), ..Settings::default() });
        for feature in [FeatureId::STREAM_SKIP, FeatureId::ERASURE_CODES] {
            let refused = pair.client().send_message(Message::reliable(feature, "unheard of"));
            assert_eq!(refused, Err(SendMessageError::NotNegotiated(feature)));
        }
        pair.run(SOON);
        assert_eq!(pair.server.closed(), None);
    }
}

#[test]
fn messages_arrive_after_one_delay_and_are_counted() {
    let mut pair = Pair::connected(both(&[FEATURE]));
    let path = pair.open(1);
    let (payload, sent_at) = (vec![7; MAX_MESSAGE_PAYLOAD], pair.now);
    pair.client().send_message(Message::latest(FEATURE, payload.clone()).about(path)).unwrap();
    pair.server().send_message(Message::reliable(FEATURE, "from the server")).unwrap();
    pair.run(DELAY);
    assert_eq!(pair.now, sent_at + DELAY);
    let message = |message: Message| message.with(|message| message.sequence = 0);
    assert_eq!(received(&pair.server), [&message(Message::latest(FEATURE, payload).about(path))]);
    assert_eq!(received(&pair.client), [&message(Message::reliable(FEATURE, "from the server"))]);
    pair.run(SOON);
    for side in [Side::Client, Side::Server] {
        let stats = pair.end(side).connection.as_ref().unwrap().stats();
        let counts =
            (stats.policy_messages_sent, stats.policy_messages_received, stats.policy_messages_dropped);
        assert_eq!(counts, (1, 1, 0), "{side:?}");
    }
}

#[test]
fn lost_messages_are_sent_again() {
    let mut pair = Pair::connected(both(&[FEATURE]));
    pair.lose = |sent: &Sent| sent.by.is_client();
    for payload in ["first", "second", "third"] {
        pair.client().send_message(Message::reliable(FEATURE, payload)).unwrap();
        pair.client().send_message(Message::latest(FEATURE, payload)).unwrap();
        pair.run(Duration::from_millis(2));
    }
    pair.lose = |_| false;
    pair.run(Duration::from_secs(1));
    let mut payloads: Vec<_> = received(&pair.server).iter().map(|message| &message.payload[..]).collect();
    let latest = payloads.iter().position(|payload| payload == b"third").unwrap();
    payloads.remove(latest);
    assert_eq!(payloads, [&b"first"[..], b"second", b"third"]);
}

/// A message that rides with acknowledgements causes no packet and no acknowledgement.
#[test]
fn messages_with_acknowledgements_cost_no_packets() {
    let packets = |with_message: bool| {
        let mut pair = Pair::connected(both(&[FEATURE]));
        pair.run(Duration::from_secs(2));
        let since = pair.now;
        if with_message {
            pair.server().send_message(Message::with_acks(FEATURE, "rides")).unwrap();
        }
        pair.run(SOON);
        assert_eq!(pair.datagrams(Side::Server, since).count(), 0, "nothing to ride with");
        pair.write(Side::Client, 20_000);
        pair.run(SOON);
        assert_eq!(received(&pair.server).len(), 0);
        let expected: &[&[u8]] = if with_message { &[b"rides"] } else { &[] };
        let payloads: Vec<_> = received(&pair.client).iter().map(|message| &message.payload[..]).collect();
        assert_eq!(payloads, expected);
        [Side::Client, Side::Server].map(|side| pair.datagrams(side, since).count())
    };
    assert_eq!(packets(true), packets(false));
}

#[test]
fn messages_about_a_path_end_with_it() {
    let mut pair = Pair::connected(both(&[FEATURE]));
    let path = pair.open(1);
    pair.run(SOON);
    let now = pair.now;
    pair.client().abandon_path(now, path, crate::Code::NO_ERROR).unwrap();
    pair.run(Duration::from_secs(5));
    let late = pair.client().send_message(Message::latest(FEATURE, "").about(path));
    assert_eq!(late, Err(SendMessageError::NoPath(path)));
    assert_eq!(
        pair.client().send_message(Message::latest(FEATURE, "").about(PathId(5))),
        Err(SendMessageError::NoPath(PathId(5)))
    );
    assert!(received(&pair.server).is_empty());
}
