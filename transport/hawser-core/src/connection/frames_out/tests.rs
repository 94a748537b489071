use hawser_policy::Side;
use hawser_wire::{ConnectionId, Version};

use super::*;
use crate::connection::recovery::{PacketNumberSpace, SpaceKind};
use crate::crypto::ServerFactory;
use crate::crypto::null::NullServer;

/// The acknowledgements that the next packet of a level carries, besides handshake data.
fn acknowledges(level: &mut LongLevel) -> Vec<u64> {
    level.send.append(b"flight");
    let (mut buffer, mut frames) = ([0; 200], SentFrames::new());
    assert!(fill_long(Time::from_millis(5), level, &mut Writer::new(&mut buffer), &mut frames));
    let largest =
        |frame: &SentFrame| if let SentFrame::Ack { largest, .. } = frame { Some(*largest) } else { None };
    frames.iter().filter_map(largest).collect()
}

//= rfc9000-13.2.1-4, rfc9000-13.2.6-1
#[test]
fn handshake_packets_acknowledge_only_what_asks_for_it() {
    let keys = NullServer::default().initial_keys(Version::V1, &ConnectionId::EMPTY, Side::Server);
    let mut level = LongLevel::new(keys, PacketNumberSpace::new(SpaceKind::Handshake));
    // The client's Finished in packet 0 was lost; packet 1 only acknowledges.
    level.space.received.on_received(1, Time::from_millis(1), false, None);
    assert_eq!(acknowledges(&mut level), [0; 0]);
    level.space.received.on_received(2, Time::from_millis(2), true, None);
    assert_eq!(acknowledges(&mut level), [2]);
    assert_eq!(acknowledges(&mut level), [0; 0], "said once");
}
