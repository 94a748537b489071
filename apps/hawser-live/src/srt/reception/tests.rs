use std::net::{IpAddr, Ipv4Addr};

use sapflow_srt::crypto::KeySize;
use tokio::sync::mpsc;

use super::*;
use crate::hub::Hub;
use crate::srt::LATENCY;
use crate::srt::calling::{Call, Calling, Got};
use hawser_command::output::Output;

const RELAY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9000);
const PLAYER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 5);
const STEP: Duration = Duration::from_millis(10);

fn passphrase(text: Option<&str>) -> Option<CryptoConfig> {
    text.map(|text| CryptoConfig::new(text.as_bytes().to_vec(), KeySize::Aes128).unwrap())
}

/// A player: what calls encoders receives.
fn player(secret: Option<&str>, now: Instant) -> Call {
    let calling = Calling {
        target: "srt://192.0.2.1:9000?streamid=live/name".parse().unwrap(),
        hub: Hub::new(Duration::from_secs(1)),
        output: Output::default(),
        done: mpsc::channel(1).0,
        passphrase: passphrase(secret),
        latency: LATENCY,
    };
    Call::new(&calling, RELAY, now).unwrap()
}

/// Both ends, and the time.
struct World {
    player: Call,
    reception: Reception,
    line: Option<Line>,
    refuses: bool,
    /// Answers to handshakes of which the first is lost.
    loses_first_answer: bool,
    /// Whether the reception has refused by itself.
    was_refused: bool,
    now: Instant,
}

impl World {
    fn new(players: Option<&str>, relays: Option<&str>) -> Self {
        let now = Instant::now();
        World {
            player: player(players, now),
            reception: Reception::new(passphrase(relays), LATENCY, 4, now),
            line: None,
            refuses: false,
            loses_first_answer: false,
            was_refused: false,
            now,
        }
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(bytes) = self.player.poll_transmit(now) {
            match self.reception.handle(now, PLAYER, &bytes) {
                Arrival::Nothing => {}
                Arrival::Refused => self.was_refused = true,
                Arrival::For(_) => self.line.as_mut().unwrap().handle(now, PLAYER, &bytes),
                Arrival::Knock { id, stream_id } => {
                    assert_eq!(stream_id, b"live/name");
                    match self.refuses {
                        true => self.reception.reject(id, RejectCode::http(404)),
                        false => self.line = self.reception.accept(id, now),
                    }
                }
            }
        }
        while let Some((peer, mut bytes)) = self.reception.poll_transmit() {
            assert_eq!(peer, PLAYER);
            let is_answer = self.line.is_some();
            if is_answer && std::mem::take(&mut self.loses_first_answer) {
                continue;
            }
            self.player.handle(now, &mut bytes);
        }
        while let Some(mut bytes) = self.line.as_mut().and_then(|line| line.poll_transmit(now)) {
            self.player.handle(now, &mut bytes);
        }
        self.now += STEP;
        self.player.handle_timeout(self.now);
        self.reception.handle_timeout(self.now);
        self.line.iter_mut().for_each(|line| line.handle_timeout(self.now));
    }

    /// What the player has got within so many steps.
    fn got(&mut self, steps: usize) -> Vec<Got> {
        let mut got = Vec::new();
        for _ in 0..steps {
            self.step();
            got.extend(std::iter::from_fn(|| self.player.poll()));
        }
        got
    }
}

#[test]
fn player_that_calls_is_sent_the_stream() {
    for loses_first_answer in [false, true] {
        let mut world = World { loses_first_answer, ..World::new(None, None) };
        assert_eq!(world.got(60), [Got::Connected], "lost: {loses_first_answer}");
        let message = [7; 1_316];
        for _ in 0..100 {
            assert!(world.line.as_mut().unwrap().enqueue(world.now, &message));
        }
        let data: Vec<Got> = (0..100).map(|_| Got::Data(message.to_vec())).collect();
        assert_eq!(world.got(60), data);
        // It has acknowledged, so that nothing is late four seconds on.
        assert_eq!(world.got(400), []);
        assert_eq!(world.line.as_mut().unwrap().poll_event(), None);
        assert_eq!(world.reception.counts(), (1, 0));
        world.line.as_mut().unwrap().stop(world.now);
        assert_eq!(world.got(2), [Got::Ended(true)]);
    }
}

#[test]
fn player_that_is_refused_is_told_why() {
    let mut world = World { refuses: true, ..World::new(None, None) };
    assert_eq!(world.got(20), [Got::Refused("it refuses with 404".to_owned())]);
    assert_eq!(world.reception.counts(), (0, 0));
}

#[test]
fn passphrase_that_is_wrong_or_missing_lets_nobody_in() {
    let (right, wrong) = (Some("the-same-secret"), Some("another-secret"));
    for (players, relays, is_refused, words) in [
        (wrong, right, false, "another passphrase"),
        (None, right, false, "wants a passphrase"),
        (right, None, true, "one end has a passphrase"),
    ] {
        let mut world = World::new(players, relays);
        let got = world.got(60);
        assert!(matches!(&got[..], [Got::Refused(why)] if why.contains(words)), "{players:?}: {got:?}");
        assert!(world.line.is_none() && world.reception.counts() == (0, 0));
        assert_eq!(world.was_refused, is_refused);
    }
}

#[test]
fn who_is_not_answered_is_forgotten() {
    let mut world = World::new(None, None);
    let mut knocks = 0;
    for _ in 0..1_000 {
        while let Some(bytes) = world.player.poll_transmit(world.now) {
            knocks += usize::from(world.reception.handle(world.now, PLAYER, &bytes) != Arrival::Nothing);
        }
        while let Some((_, mut bytes)) = world.reception.poll_transmit() {
            world.player.handle(world.now, &mut bytes);
        }
        world.now += STEP;
        world.player.handle_timeout(world.now);
        world.reception.handle_timeout(world.now);
        assert!(world.reception.counts() <= (0, 1));
    }
    assert_eq!((knocks, world.reception.counts()), (1, (0, 0)));
}

#[test]
fn packets_of_others_are_for_no_call() {
    let mut world = World::new(None, None);
    world.got(20);
    let id = *world.reception.open.keys().next().unwrap();
    let mut shutdown = Vec::new();
    ControlPacket::new(0, id.0, Control::Shutdown).encode(&mut shutdown);
    let stranger = SocketAddr::new(PLAYER.ip(), 6);
    assert_eq!(world.reception.handle(world.now, stranger, &shutdown), Arrival::Nothing);
    assert_eq!(world.reception.handle(world.now, PLAYER, &shutdown), Arrival::For(id));
    world.reception.forget(id);
    assert_eq!(world.reception.handle(world.now, PLAYER, &shutdown), Arrival::Nothing);
    assert!(world.reception.players.is_empty());
}

/// A timer is no finer than a millisecond, and a stream of 40 Mbit/s has four packets in each.
#[test]
fn more_than_a_packet_leaves_within_a_millisecond() {
    let mut world = World::new(None, None);
    world.got(20);
    let line = world.line.as_mut().unwrap();
    let mut messages = 0;
    while messages < 1_000 && line.enqueue(world.now, &[7; 1_316]) {
        messages += 1;
    }
    let mut sent = 0;
    for _ in 0..200 {
        world.now += Duration::from_millis(1);
        sent +=
            std::iter::from_fn(|| line.poll_transmit(world.now)).filter(|bytes| bytes.len() > 1_316).count();
    }
    // The peer has not acknowledged, and nothing is repeated before a timeout.
    assert!((messages..messages + 500).contains(&sent) && messages == 1_000, "{sent} of {messages}");
}
