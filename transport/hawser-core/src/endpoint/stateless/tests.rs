use hawser_policy::Side;
use hawser_wire::codepoints::version;
use hawser_wire::packet::InvariantHeader;
use hawser_wire::{ConnectionId, PartialHeader, StatelessResetToken, Version};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{InitialCids, initial_close, retry, stateless_reset, version_negotiation};
use crate::crypto::null::{NullClient, NullServer};
use crate::crypto::{ClientFactory, ServerFactory};
use crate::{Code, TransportError, Versions};

fn random() -> ChaCha8Rng {
    ChaCha8Rng::from_seed([7; 32])
}

fn cids() -> InitialCids {
    InitialCids {
        version: Version::V1,
        destination: ConnectionId::new(&[1; 8]).unwrap(),
        source: ConnectionId::new(&[2; 5]).unwrap(),
    }
}

/// RFC 9000 sections 10.3 and 10.3.3.
//= rfc9000-10.3-2, rfc9000-10.3-4, rfc9000-10.3-5
#[test]
fn resets_are_shorter_than_their_cause_and_pass_for_packets() {
    let (token, mut random) = (StatelessResetToken([9; 16]), random());
    for received in 0..=21 {
        assert_eq!(stateless_reset(received, &token, &mut random), None, "{received}");
    }
    for received in 22..1_600 {
        let reset = stateless_reset(received, &token, &mut random).unwrap();
        assert!(
            reset.len() < received && reset.len() >= 42.min(received - 1),
            "{received} -> {}",
            reset.len()
        );
        assert_eq!(reset[0] & 0xc0, 0x40, "short header with fixed bit");
        assert_eq!(StatelessResetToken::at_end_of(&reset), Some(token));
    }
    let two = [stateless_reset(500, &token, &mut random), stateless_reset(500, &token, &mut random)];
    assert_ne!(two[0].as_ref().unwrap()[..20], two[1].as_ref().unwrap()[..20]);
}

//= rfc9000-17.2-7
#[test]
fn version_negotiation_echoes_the_longest_ids_and_never_the_clients_version() {
    let (destination, source) = ([3; 255], [4; 255]);
    let mut random = random();
    for seed in 0..200_u32 {
        let asked = version::reserved(seed.wrapping_mul(0x9e37_79b9));
        let header = InvariantHeader { version: asked, destination_cid: &destination, source_cid: &source };
        let packet = version_negotiation(&header, &Versions::default(), &mut random).unwrap();
        let Ok(PartialHeader::VersionNegotiation(parsed)) = PartialHeader::decode(&packet, 8) else {
            panic!()
        };
        assert_eq!((parsed.destination_cid, parsed.source_cid), (&source[..], &destination[..]));
        let versions: Vec<_> = parsed.versions().collect();
        assert_eq!(versions[..2], [version::V1, version::V2]);
        assert!(versions.len() == 3 && !versions.contains(&asked));
    }
}

#[test]
fn a_retry_is_valid_for_the_client_that_asked() {
    let source = ConnectionId::new(&[5; 8]).unwrap();
    let packet = retry(&cids(), &source, b"token", &NullServer::default(), &mut random()).unwrap();
    let Ok(PartialHeader::Retry(parsed)) = PartialHeader::decode(&packet, 8) else { panic!() };
    assert_eq!(
        (parsed.destination_cid, parsed.source_cid, parsed.token),
        (cids().source, source, &b"token"[..])
    );
    assert!(NullClient::default().is_valid_retry(Version::V1, &cids().destination, &packet));
    assert!(!NullClient::default().is_valid_retry(Version::V1, &cids().source, &packet));
}

#[test]
fn a_close_fits_even_with_the_longest_ids_and_reason() {
    let long = ConnectionId::new(&[6; 20]).unwrap();
    let keys = NullServer::default().initial_keys(Version::V1, &long, Side::Server);
    for reason in ["", &"x".repeat(1_000)] {
        let error = TransportError::new(Code(u64::MAX >> 2), reason.to_owned()).in_frame(u64::MAX >> 2);
        let packet = initial_close(
            &InitialCids { version: Version::V1, destination: long, source: long },
            &keys,
            &error,
        )
        .unwrap();
        assert!(packet.len() <= 256);
        let Ok(PartialHeader::Protected(header)) = PartialHeader::decode(&packet, 8) else { panic!() };
        assert!(header.sample().is_some(), "long enough for header protection");
        assert_eq!(header.packet_len, packet.len());
    }
}
