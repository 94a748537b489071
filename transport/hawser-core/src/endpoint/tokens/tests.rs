use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::{ConnectionId, Version};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{TokenGate, USED_PER_GENERATION, UsedTokens, Verdict, WallClock};
use crate::ServerConfig;
use crate::crypto::null::NullServer;
use crate::crypto::token::{AddressToken, Token, TokenKey};
use crate::endpoint::tests::transport;

const NOON: Duration = Duration::from_secs(1_700_000_000);

fn config(token_key: [u8; 32]) -> ServerConfig {
    ServerConfig::new(Arc::new(NullServer::default()), Arc::new(transport()), token_key)
}

fn gate(token_key: [u8; 32], origin: Duration) -> TokenGate {
    TokenGate::new(&config(token_key), WallClock { origin })
}

fn random() -> ChaCha8Rng {
    ChaCha8Rng::from_seed([7; 32])
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn cid(byte: u8) -> ConnectionId {
    ConnectionId::new(&[byte; 8]).unwrap()
}

//= rfc9000-8.1.1-1, rfc9000-8.1.4-3, rfc9000-8.1.4-7
#[test]
fn a_retry_token_is_good_for_its_address_its_id_and_its_time() {
    let (gate, start) = (gate([1; 32], NOON), Time::from_secs(100));
    let client = address("192.0.2.1:4433");
    let token = gate.retry_token(start, Version::V1, client, cid(1), cid(2), &mut random());
    let judge = |now, remote, destination| gate.judge(now, Version::V1, &token, remote, &destination);
    let other = gate.judge(start, Version::V2, &token, client, &cid(2));
    assert!(matches!(other, Verdict::InvalidRetry(_)), "RFC 9369 section 4.1");

    let good = Verdict::Retry { original_destination: cid(1) };
    assert_eq!(judge(start, client, cid(2)), good);
    assert_eq!(
        judge(start, address("[::ffff:192.0.2.1]:4433"), cid(2)),
        good,
        "the same address in mapped form"
    );
    assert_eq!(judge(start + Duration::from_secs(15), client, cid(2)), good);
    for (now, remote, destination) in [
        (start + Duration::from_millis(15_001), client, cid(2)),
        (start, address("192.0.2.1:4434"), cid(2)),
        (start, address("192.0.2.2:4433"), cid(2)),
        (start, client, cid(1)),
    ] {
        assert!(
            matches!(judge(now, remote, destination), Verdict::InvalidRetry(_)),
            "{remote} {destination}"
        );
    }
}

//= rfc9000-8.1.3-3, rfc9000-8.1.4-4, rfc9000-8.1.4-5, rfc9000-21.3-1
#[test]
fn an_address_token_is_good_once_from_its_address_in_its_time() {
    let mut gate = gate([1; 32], NOON);
    let (start, client) = (Time::from_secs(100), address("192.0.2.1:1"));
    let token = gate.issuer(2).issue(start, Version::V1, client.ip(), &mut random());
    let other_port = address("192.0.2.1:9");
    let two_weeks = Duration::from_secs(14 * 24 * 3600);

    let verdict = gate.judge(start + two_weeks, Version::V1, &token, other_port, &cid(1));
    let Verdict::Address(id) = verdict else { panic!("{verdict:?}") };
    let judge = |gate: &TokenGate, now, remote| gate.judge(now, Version::V1, &token, remote, &cid(1));
    assert_eq!(judge(&gate, start + two_weeks + Duration::from_millis(1), client), Verdict::Unproven);
    assert_eq!(judge(&gate, start, address("192.0.2.2:1")), Verdict::Unproven);
    let in_version_2 = gate.judge(start, Version::V2, &token, client, &cid(1));
    assert_eq!(in_version_2, Verdict::Unproven, "RFC 9369 section 5");
    gate.consume(id);
    assert_eq!(judge(&gate, start, client), Verdict::Unproven, "used");
    let gate = gate.reconfigure(&config([1; 32]));
    assert_eq!(judge(&gate, start, client), Verdict::Unproven, "still used");
}

#[test]
fn a_token_outlives_the_process_that_made_it() {
    let client = address("192.0.2.1:1");
    let token =
        gate([1; 32], NOON).issuer(1).issue(Time::from_secs(1), Version::V1, client.ip(), &mut random());
    let after_restart =
        |key, origin| gate(key, origin).judge(Time::ZERO, Version::V1, &token, client, &cid(1));
    assert!(matches!(after_restart([1; 32], NOON + Duration::from_secs(5)), Verdict::Address(_)));
    assert_eq!(after_restart([2; 32], NOON), Verdict::Unproven, "another key");
    assert_eq!(after_restart([1; 32], NOON - Duration::from_secs(60)), Verdict::Unproven, "from the future");
}

//= rfc9000-8.1.4-6
#[test]
fn used_tokens_take_bounded_memory_and_the_newest_are_remembered() {
    let key = TokenKey::new(&[1; 32]);
    let token =
        Token::Address(AddressToken { version: Version::V1, ip: address("192.0.2.1:1").ip(), issued: 0 });
    let mut random = random();
    let mut used = UsedTokens::default();
    let ids: Vec<_> = (0..2 * USED_PER_GENERATION + 10)
        .map(|_| key.open(&key.seal(&token, &mut random)).unwrap().1)
        .collect();
    for id in &ids {
        used.insert(*id);
    }
    assert!(used.current.len() + used.previous.len() <= 2 * USED_PER_GENERATION);
    assert!(ids[ids.len() - USED_PER_GENERATION..].iter().all(|id| used.contains(id)));
    assert!(!used.contains(&ids[0]), "the oldest are forgotten");
}

/// As a fleet changes its key: first all accept the new one, then all make tokens with it, then the old one goes.
#[test]
fn tokens_of_a_key_that_is_only_accepted_are_good() {
    let with = |key: u8, accepted: &[u8]| {
        let accepted_token_keys = accepted.iter().map(|key| [*key; 32]).collect();
        let config = ServerConfig { accepted_token_keys, ..config([key; 32]) };
        TokenGate::new(&config, WallClock { origin: NOON })
    };
    let (now, client) = (Time::from_secs(100), address("192.0.2.1:4433"));
    let token_of =
        |gate: &TokenGate| gate.retry_token(now, Version::V1, client, cid(1), cid(2), &mut random());
    let good = Verdict::Retry { original_destination: cid(1) };
    let stages = [with(1, &[2]), with(2, &[1]), with(2, &[])];
    for neighbours in stages.windows(2) {
        for (maker, judge) in [(0, 1), (1, 0)] {
            let token = token_of(&neighbours[maker]);
            assert_eq!(neighbours[judge].judge(now, Version::V1, &token, client, &cid(2)), good);
        }
    }
    let gone = token_of(&stages[0]);
    assert_eq!(
        stages[2].judge(now, Version::V1, &gone, client, &cid(2)),
        Verdict::Unproven,
        "its key is gone"
    );
}
