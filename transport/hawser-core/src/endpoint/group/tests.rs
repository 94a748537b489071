use std::net::SocketAddr;
use std::sync::Arc;

use hawser_wire::{ConnectionId, StatelessResetToken};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::super::cid::CidScheme;
use super::super::tests::server_with;
use super::super::{CidIssuer, ConnectionHandle, Endpoint, EndpointEvent, ResetKey};
use super::{EndpointGroup, Membership};
use crate::EndpointConfig;

fn issuer(group: &Arc<EndpointGroup>, index: usize, length: usize) -> CidIssuer {
    let mut scheme = CidScheme::random(length);
    let membership = Membership { group: group.clone(), index };
    scheme.join(&EndpointConfig::new([1; 32]), membership, &mut ChaCha8Rng::from_seed([0; 32]));
    CidIssuer::new(scheme, ResetKey::new(&[1; 32]), [index as u8; 32])
}

fn members(count: usize) -> Vec<Endpoint> {
    let group = Arc::new(EndpointGroup::new(count, [9; 32]));
    let member = |index| {
        let mut endpoint = server_with(|_| {});
        endpoint.join(group.clone(), index);
        endpoint
    };
    (0..count).map(member).collect()
}

fn short(id: &ConnectionId) -> Vec<u8> {
    [&[0x41][..], id.as_bytes(), &[0xaa; 60]].concat()
}

fn remote() -> SocketAddr {
    "192.0.2.1:4000".parse().unwrap()
}

//= rfc9000-5.1-1
#[test]
fn ids_of_every_length_name_their_member_and_only_to_the_group() {
    let [group, other] =
        [[9; 32], [8; 32]].map(|seed| Arc::new(EndpointGroup::new(EndpointGroup::MAX_MEMBERS, seed)));
    let mut by_chance = 0;
    for length in 8..=20 {
        for index in 0..group.members() {
            let id = issuer(&group, index, length).issue().0;
            assert_eq!((id.len(), group.named(id.as_bytes())), (length, Some(index)));
            by_chance += usize::from(other.named(id.as_bytes()) == Some(index));
        }
    }
    // With another key each of the 832 ids gives its member away in one of 256 cases.
    assert!(by_chance < 20, "{by_chance}");
}

#[test]
fn the_last_byte_of_a_members_ids_is_spread_evenly() {
    let mut issuer = issuer(&Arc::new(EndpointGroup::new(4, [9; 32])), 2, 8);
    let mut seen = [0_u32; 256];
    for _ in 0..25_600 {
        seen[usize::from(*issuer.issue().0.as_bytes().last().unwrap())] += 1;
    }
    // 100 each, standard deviation 10.
    assert!(seen.iter().all(|count| (50..150).contains(count)), "{seen:?}");
}

//= rfc9000-5.2.3-2, rfc9000-21.11-1
#[test]
fn a_datagram_is_handed_to_the_member_that_its_id_names_once() {
    let mut members = members(4);
    let id = members[2].cid_issuer().issue().0;
    let datagram = short(&id);
    let owners: Vec<_> =
        members.iter().map(|member| member.owner_elsewhere(remote(), &datagram, false)).collect();
    assert_eq!(owners, [Some(2), Some(2), None, Some(2)]);
    assert_eq!(members[1].owner_elsewhere(remote(), &datagram, true), None, "not passed round");
    // The member that knows the id keeps the datagram, whatever the id says.
    members[1].routes.insert(id);
    assert_eq!(members[1].owner_elsewhere(remote(), &datagram, false), None);
    assert_eq!(members[0].owner_elsewhere(remote(), &[0x41, 1, 2], false), None, "too short for an id");
}

//= rfc9000-21.11-2
#[test]
fn a_reset_finds_the_member_whose_connection_it_ends() {
    let mut members = members(3);
    let id = members[1].cid_issuer().issue().0;
    let handle: ConnectionHandle = members[1].routes.insert(id);
    let token = StatelessResetToken([0x5a; 16]);
    let added = EndpointEvent::ResetTokenAdded { remote: remote(), token };
    let removed = EndpointEvent::ResetTokenRemoved { remote: remote(), token };
    let reset = [&[0x40; 25][..], &token.0].concat();
    let seek = |members: &[Endpoint], at: usize, from| members[at].owner_elsewhere(from, &reset, true);

    members[1].handle_event(handle, added.clone());
    assert_eq!([0, 1, 2].map(|at| seek(&members, at, remote())), [Some(1), None, Some(1)]);
    assert_eq!(seek(&members, 0, "192.0.2.1:4001".parse().unwrap()), None, "from another address");
    members[1].handle_event(handle, removed);
    assert_eq!(seek(&members, 0, remote()), None);
    members[1].handle_event(handle, added);
    members[1].handle_event(handle, EndpointEvent::Drained);
    assert_eq!(seek(&members, 0, remote()), None, "forgotten with the connection");
}

#[test]
fn limits_hold_for_the_group() {
    let mut members = members(2);
    for byte in 1..=3 {
        members[0].routes.insert(ConnectionId::new(&[byte; 8]).unwrap());
    }
    assert_eq!(members[1].total_load(), (0, 0), "not told yet");
    members[0].publish_load();
    assert_eq!(members[1].total_load(), (3, 3));
    members[1].publish_load();
    assert_eq!(members[0].total_load(), (3, 3), "its own are not counted twice");
}
