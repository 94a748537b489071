use hawser_core::Version;
use hawser_core::crypto::{KeyChange, Level, ServerId, Session};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::identity::{CERTIFICATE, PRIVATE_KEY};
use super::*;

/// Names in the certificate besides the one that is used.
const MORE_NAMES: usize = 15;

/// Lets both ends write in turns until neither has anything more; what they wrote, in order.
fn handshake(mut ends: [Box<dyn Session>; 2]) -> Vec<Vec<u8>> {
    let mut levels = [Level::Initial; 2];
    let mut messages = Vec::new();
    let mut silent_turns = 0;
    for from in [0, 1].into_iter().cycle() {
        let mut bytes = Vec::new();
        let change = ends[from].write_handshake(&mut bytes);
        silent_turns = if bytes.is_empty() && change.is_none() { silent_turns + 1 } else { 0 };
        if !bytes.is_empty() {
            ends[1 - from].read_handshake(levels[from], &bytes).unwrap();
            messages.push(bytes);
        }
        match change {
            Some(KeyChange::Handshake(_)) => levels[from] = Level::Handshake,
            Some(KeyChange::OneRtt(_)) => levels[from] = Level::OneRtt,
            None if silent_turns == 2 => break,
            None => {}
        }
    }
    assert!(ends.iter().all(|end| !end.is_handshaking()), "stuck after {} messages", messages.len());
    messages
}

fn start(sessions: &Sessions) -> [Box<dyn Session>; 2] {
    [
        sessions.0.start(Version::V1, ServerId { name: SERVER_NAME, port: 443 }, vec![1; 60]).unwrap(),
        sessions.1.start(Version::V1, vec![2; 80]).unwrap(),
    ]
}

#[test]
fn a_handshake_follows_from_its_seed() {
    let first = handshake(start(&sessions(5).unwrap()));
    println!("{:?} bytes", first.iter().map(Vec::len).collect::<Vec<_>>());
    assert_eq!(handshake(start(&sessions(5).unwrap())), first);
    let another = handshake(start(&sessions(6).unwrap()));
    assert_ne!(another[0], first[0]);
    let sizes = |messages: &[Vec<u8>]| messages.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sizes(&another), sizes(&first));
}

#[test]
fn sessions_do_not_depend_on_what_others_do_meanwhile() {
    let alone = sessions(5).unwrap();
    let alone = [handshake(start(&alone)), handshake(start(&alone))];
    assert_ne!(alone[0][0], alone[1][0]);
    let (begun_first, both) = (sessions(5).unwrap(), sessions(5).unwrap());
    let (first, second) = (start(&begun_first), start(&both));
    drop(first);
    let second_of_both = start(&both);
    assert_eq!(handshake(second_of_both), alone[1]);
    assert_eq!(handshake(second), alone[0]);
}

#[test]
fn tickets_follow_from_the_seed_too() {
    let tickets = |seed| {
        let mut config = server_config().unwrap();
        config.send_tls13_tickets = 2;
        let server = SeededServer::new(config, seed).unwrap();
        let sessions = (sessions(1).unwrap().0, Arc::new(server) as Arc<dyn ServerFactory>);
        handshake(start(&sessions)).pop().unwrap()
    };
    assert!(tickets(1).len() > 100);
    assert_eq!(tickets(1), tickets(1));
    assert_ne!(tickets(1), tickets(2));
}

#[test]
fn nothing_is_drawn_where_nothing_was_lent() {
    assert!(provider().secure_random.fill(&mut [0; 8]).is_err());
    assert!(provider().kx_groups[0].start().is_err());
    let mut drawn = [[0; 8]; 3];
    let mut outer = Randomness::new(1);
    outer.lend(|| {
        provider().secure_random.fill(&mut drawn[0]).unwrap();
        Randomness::new(1).lend(|| provider().secure_random.fill(&mut drawn[1])).unwrap();
        provider().secure_random.fill(&mut drawn[2]).unwrap();
    });
    assert_eq!(drawn[0], drawn[1]);
    assert_ne!(drawn[0], drawn[2]);
    assert!(provider().secure_random.fill(&mut [0; 8]).is_err());
}

#[test]
fn both_ends_of_an_exchange_agree_and_useless_keys_are_refused() {
    let group = provider().kx_groups[0];
    let mut randomness = Randomness::new(3);
    let mut key = || randomness.lend(|| group.start()).unwrap();
    let (one, other) = (key(), key());
    let (one_public, other_public) = (one.pub_key().to_vec(), other.pub_key().to_vec());
    assert_ne!(one_public, other_public);
    assert_eq!(
        one.complete(&other_public).unwrap().secret_bytes(),
        other.complete(&one_public).unwrap().secret_bytes()
    );
    assert!(key().complete(&[0; 32]).is_err());
    assert!(key().complete(&[7; 31]).is_err());
}

/// `HAWSER_WRITE_CERTIFICATE=1 cargo test -p hawser-sim certificate` writes it again.
#[test]
fn the_certificate_is_what_its_key_makes() {
    let key = KeyPair::try_from(&PrivatePkcs8KeyDer::from(PRIVATE_KEY.to_vec())).unwrap();
    // With more names, as certificates have them: a server's flight then nearly has the length of the null session's,
    // and never more, because a random transport parameter in it must not ask for another datagram.
    let others = (1..=MORE_NAMES).map(|n| format!("server-{n:02}.simulation.test"));
    let names: Vec<String> = [SERVER_NAME.to_owned()].into_iter().chain(others).collect();
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, "simulated server");
    let made = parameters.self_signed(&key).unwrap();
    if std::env::var_os("HAWSER_WRITE_CERTIFICATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tls/certificate.der");
        std::fs::write(path, made.der()).unwrap();
        return;
    }
    assert_eq!(CERTIFICATE, made.der().as_ref());
}
