use sapflow_srt::crypto::KeySize;
use sapflow_srt::packet::{DataPacket, Position};
use sapflow_srt::seq::Seq;

use super::*;

const ENCODER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9000);
const OWN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 5);
const STEP: Duration = Duration::from_millis(10);

fn passphrase(text: Option<&str>) -> Option<CryptoConfig> {
    text.map(|text| CryptoConfig::new(text.as_bytes().to_vec(), KeySize::Aes128).unwrap())
}

fn call(secret: Option<&str>, now: Instant) -> Call {
    let calling = Calling {
        target: "srt://192.0.2.1:9000?streamid=cam".parse().unwrap(),
        hub: Hub::new(Duration::from_secs(1)),
        output: Output::default(),
        done: mpsc::channel(1).0,
        passphrase: passphrase(secret),
        latency: Duration::from_millis(120),
    };
    Call::new(&calling, ENCODER, now).unwrap()
}

fn encoder(secret: Option<&str>, now: Instant) -> Listener {
    let require_encryption = secret.is_some();
    Listener::new(Config { crypto: passphrase(secret), require_encryption, ..Config::default() }, now)
}

/// Lets both ends talk until the call has come to something. Returns that, with the handshake and the time.
fn talk(call: &mut Call, encoder: &mut Listener, mut now: Instant) -> (Got, Option<Handshake>, Instant) {
    let mut asked = None;
    for _ in 0..1_000 {
        if let Some(got) = call.poll() {
            return (got, asked, now);
        }
        while let Some(bytes) = call.poll_transmit(now) {
            asked = handshake_of(&bytes).map(|(_, handshake)| handshake).or(asked);
            encoder.handle_datagram(now, OWN, &bytes);
        }
        while let Some(event) = encoder.poll_event() {
            let Event::Connect { id, stream_id, .. } = event else { panic!("{event:?}") };
            assert_eq!(stream_id, b"cam");
            encoder.accept(id, now);
        }
        while let Some((_, mut bytes)) = encoder.poll_transmit() {
            call.handle(now, &mut bytes);
        }
        now += STEP;
        call.handle_timeout(now);
        encoder.handle_timeout(now);
    }
    panic!("nothing came of it");
}

#[test]
fn encoder_that_is_called_is_heard_and_answered() {
    let now = Instant::now();
    let (mut call, mut encoder) = (call(None, now), encoder(None, now));
    let (got, asked, mut now) = talk(&mut call, &mut encoder, now);
    assert_eq!(got, Got::Connected);
    let asked = asked.unwrap();
    let mut packet = Vec::new();
    DataPacket {
        seq: Seq::new(asked.initial_seq),
        position: Position::Only,
        in_order: false,
        key: 0,
        retransmitted: false,
        message: 1,
        timestamp: 20_000,
        dest: asked.socket_id,
        payload: b"seven packets",
    }
    .encode(&mut packet);
    call.handle(now, &mut packet);
    let (mut data, mut acknowledged) = (None, false);
    for _ in 0..100 {
        now += STEP;
        call.handle_timeout(now);
        data = data.or(call.poll());
        while let Some(bytes) = call.poll_transmit(now) {
            let Ok(Packet::Control(packet)) = Packet::parse(&bytes) else { panic!("a packet of data") };
            assert_eq!(Some(packet.dest), call.open.map(|(theirs, _)| theirs));
            acknowledged |= matches!(packet.body, Control::Ack(_));
        }
    }
    assert_eq!((data, acknowledged), (Some(Got::Data(b"seven packets".to_vec())), true));
}

#[test]
fn passphrases_have_to_be_the_same_at_both_ends() {
    let (right, wrong) = (Some("the-same-secret"), Some("another-secret"));
    for (own, theirs, expected) in [
        (right, right, None),
        (wrong, right, Some("another passphrase")),
        (None, right, Some("wants a passphrase")),
        (right, None, Some("one end has a passphrase")),
    ] {
        let now = Instant::now();
        let (got, ..) = talk(&mut call(own, now), &mut encoder(theirs, now), now);
        match (got, expected) {
            (Got::Connected, None) => {}
            (Got::Refused(why), Some(words)) => {
                assert!(why.contains(words) && !why.contains("secret"), "{why}");
            }
            (got, _) => panic!("{own:?} {theirs:?}: {got:?}"),
        }
    }
}

#[test]
fn encoder_that_says_that_it_is_done_is_done() {
    let now = Instant::now();
    let (mut call, mut encoder) = (call(None, now), encoder(None, now));
    let (_, asked, now) = talk(&mut call, &mut encoder, now);
    let mut bytes = Vec::new();
    ControlPacket::new(0, asked.unwrap().socket_id, Control::Shutdown).encode(&mut bytes);
    call.handle(now, &mut bytes);
    assert_eq!(call.poll(), Some(Got::Ended(true)));
}
