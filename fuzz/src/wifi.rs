//! What anybody within reach of a radio may send to `hawser wifi`: frames with DHCP messages, and names of networks, which come by way of
//! wpa_supplicant; and what the kernel says of a link (nl80211).
//!
//! The first byte chooses one of these. What must hold: no panic, an end; messages mean the same when they are written and read again; a
//! lease leads nothing past the default route that a server may not; what is kept is bounded.

use std::net::Ipv4Addr;
use std::time::Duration;

use hawser_policy::Time;
use hawser_wifi::dhcp::{
    Client, Kind, Lease, Leases, MAX_ADDRESSES, MAX_LEASES, MAX_ROUTES, Message, Outcome, frame, payload,
};
use hawser_wifi::nl80211::Monitor;
use hawser_wifi::supplicant::{self, Event, Status};
use hawser_wifi::{MAX_SIGHTINGS, Profile};
use hawser_wire::Reader;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 7];
/// Steps of a script.
const MOST_STEPS: usize = 64;

/// One of the readers.
pub fn wifi(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match which % 6 {
        0 => message(rest),
        1 => client(rest),
        2 => monitor(rest),
        3 => networks(&text),
        4 => events(&text),
        _ => leases(&text),
    }
}

/// A frame, or a message.
fn message(bytes: &[u8]) {
    let in_frame = payload(bytes);
    assert!(in_frame.is_none_or(|payload| payload.len() < bytes.len()));
    for bytes in [Some(bytes), in_frame].into_iter().flatten() {
        let Some(message) = Message::decode(bytes) else { continue };
        assert!(message.routers.len().max(message.name_servers.len()) <= MAX_ADDRESSES);
        assert!(message.routes.len() <= MAX_ROUTES);
        assert_eq!(Message::decode(&message.encode()), Some(message));
    }
    // A client's frame is no server's.
    assert_eq!(payload(&frame(MAC, Ipv4Addr::UNSPECIFIED, bytes)), None);
}

/// A client, servers that know its questions and say anything besides, and time.
fn client(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(options) = script.read_u8() else { return };
    let profile = if options & 1 == 0 { Profile::FAST } else { Profile::STOCK };
    let mut now = Time::from_secs(1);
    let random = ChaCha8Rng::seed_from_u64(options.into());
    let mut client = Client::new(now, MAC, &profile, None, random);
    let mut asked = None;
    for _ in 0..MOST_STEPS {
        if let Some(message) = client.poll_message() {
            asked = Some(Message::decode(&message).expect("sound messages are sent"));
        }
        match client.poll_outcome() {
            Some(Outcome::Bound(lease)) => check_lease(&lease),
            Some(Outcome::Failed | Outcome::Expired) | None => {}
        }
        let Ok(operation) = script.read_u8() else { break };
        match operation % 4 {
            // An answer whose options are those of the script.
            0 | 1 => {
                let Some(asked) = &asked else { continue };
                let (Ok(host), Ok(length)) = (script.read_u8(), script.read_u8()) else { break };
                let Ok(options) = script.read_bytes(usize::from(length).min(script.remaining())) else {
                    break;
                };
                let mut bytes = asked.encode();
                bytes[0] = 2;
                bytes[16..20].copy_from_slice(&[10, 0, operation >> 4, host]);
                bytes.truncate(240);
                bytes.extend_from_slice(&[53, 1, if operation & 4 == 0 { 2 } else { 5 }]);
                bytes.extend_from_slice(options);
                client.handle(now, &bytes);
            }
            // An honest one, with some lease.
            2 => {
                let Some(asked) = &asked else { continue };
                let (Ok(host), Ok(seconds)) = (script.read_u8(), script.read_u16()) else { break };
                let kind = match (asked.requested.is_some(), operation & 128) {
                    (_, 128) => Kind::Nak,
                    (false, _) => Kind::Offer,
                    (true, _) => Kind::Ack,
                };
                let given = asked.requested.or(asked.current).unwrap_or(Ipv4Addr::new(10, 0, 0, host));
                let answer = Message {
                    given: Some(given),
                    server: Some(Ipv4Addr::new(10, 0, 0, 1)),
                    mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
                    lease: Some(seconds.into()),
                    ..Message::new(kind, asked.xid, MAC)
                };
                client.handle(now, &answer.encode());
            }
            _ => {
                let Ok(wait) = script.read_u16() else { break };
                let until = now + Duration::from_millis(64 * u64::from(wait));
                let mut turns = 0;
                while let Some(due) = client.poll_timeout().filter(|due| *due <= until) {
                    now = now.max(due);
                    client.handle_timeout(now);
                    turns += 1;
                    assert!(turns < 10_000, "time does not pass");
                }
                now = until;
            }
        }
    }
}

/// Whatever a server says: the network is no larger than a private one may be, routes lead to private networks only.
fn check_lease(lease: &Lease) {
    let is_host = |address: &Ipv4Addr| matches!(address.octets()[0], 1..=126 | 128..=223);
    assert!((8..=32).contains(&lease.prefix) && is_host(&lease.address));
    assert!(lease.routes.len() <= MAX_ROUTES && lease.name_servers.len() <= MAX_ADDRESSES);
    assert!(lease.router.iter().chain(&lease.name_servers).all(is_host));
    assert!(lease.mtu.is_none_or(|mtu| mtu >= 1_280));
    assert!(lease.renew_seconds < lease.seconds);
    for route in &lease.routes {
        let [first, second, ..] = route.network.octets();
        let is_private = match first {
            10 => route.prefix >= 8,
            172 => route.prefix >= 12 && second & 0xf0 == 16,
            192 => route.prefix >= 16 && second == 168,
            100 => route.prefix >= 10 && second & 0xc0 == 64,
            169 => route.prefix >= 16 && second == 254,
            _ => false,
        };
        assert!(is_private, "{route:?}");
    }
}

/// Datagrams of the kernel: each behind its length, an answer to the last question, or any.
fn monitor(data: &[u8]) {
    let mut script = Reader::new(data);
    let (mut monitor, mut now) = (Monitor::new(3), Time::from_secs(1));
    let mut asked = Vec::new();
    for _ in 0..MOST_STEPS {
        if let Some(question) = monitor.poll_transmit(now) {
            asked = question;
        }
        let (Ok(how), Ok(length)) = (script.read_u8(), script.read_u8()) else { break };
        let Ok(bytes) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
        let mut datagram = bytes.to_vec();
        if how & 1 == 0 && datagram.len() >= 12 && asked.len() >= 12 {
            let length = datagram.len() as u32;
            datagram[..4].copy_from_slice(&length.to_ne_bytes());
            datagram[8..12].copy_from_slice(&asked[8..12]);
        }
        if monitor.handle(&datagram).is_err() {
            break;
        }
        if let Some(seen) = monitor.poll_report() {
            let line = seen.line("wlan0", (how & 2 == 0).then_some(0.5));
            // What is told of a link is a line of link states.
            let read = hawser_net::read_line(line.as_bytes(), Duration::from_secs(1_700_000_000));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
        now += Duration::from_millis(u64::from(how) * 8);
        monitor.handle_timeout(now);
    }
}

/// What wpa_supplicant lists: names of networks are anybody's.
fn networks(text: &str) {
    let seen = supplicant::scan_results(text);
    assert!(seen.len() <= MAX_SIGHTINGS.min(text.lines().count()));
    let known = supplicant::networks(text);
    assert!(known.len() <= supplicant::MAX_NETWORKS);
    let length = seen.iter().map(|(sighting, _)| sighting.ssid.len()).sum::<usize>()
        + known.iter().map(|(_, ssid)| ssid.len()).sum::<usize>();
    // A byte that is no text becomes three.
    assert!(length <= 6 * text.len());
    let status = Status::parse(text);
    let _ = (status.is_completed(), status.bssid(), status.address(), status.ssid());
}

fn events(text: &str) {
    assert!(Event::parse(text).is_none() || Event::is_event(text));
    assert!(supplicant::unescape(text).len() <= 3 * text.len());
}

/// The file of leases.
fn leases(text: &str) {
    match Leases::from_json(text) {
        Ok(leases) => {
            assert!(leases.len() <= MAX_LEASES);
            assert_eq!(Leases::from_json(&leases.to_json()).ok(), Some(leases));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
