//! A server that is one of several behind a balancer (draft-ietf-quic-load-balancers). That all packets reach it is shown
//! in `hawser-sim`, where there is another server that they could reach.

use std::time::Duration;

use hawser_policy::{PathId, PathStatus, Side, Time};

use super::pair::{Pair, Sent, Settings, client_address, from};
use crate::PathError;
use crate::quic_lb::{QuicLbCodec, QuicLbServer};

fn settings() -> Settings {
    let codec = QuicLbCodec::new(1, 2, 5, Some([9; 16])).unwrap();
    Settings { quic_lb: Some(QuicLbServer::new(codec, &[7, 7]).unwrap()), ..Settings::default() }
}

/// Its nonces were used up before the client came: it has one id, which no balancer can route, and is told to stay where it
/// is (section 3.2).
#[test]
fn without_nonces_a_client_gets_one_id_and_stays_at_its_address() {
    let mut pair = Pair::new(settings());
    pair.server.endpoint.use_up_nonces();
    pair.run(Duration::from_millis(300));
    let (now, elsewhere) = (pair.now, from(client_address(1)));
    let moved = pair.client().migrate_path(now, PathId::ZERO, elsewhere);
    assert_eq!(moved, Err(PathError::MigrationForbidden));
    let opened = pair.client().open_path(now, elsewhere, PathStatus::Available, None);
    assert_eq!(opened, Err(PathError::MigrationForbidden));
    let short_ids = |sent: &Sent| (sent.payload[0] & 0x80 == 0).then(|| sent.payload[1..9].to_vec());
    pair.write(Side::Client, 50_000);
    pair.run(Duration::from_secs(1));
    let mut ids: Vec<_> = pair.datagrams(Side::Client, Time::ZERO).filter_map(short_ids).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:x?}");
    assert_eq!(ids[0][0], 0b111 << 5 | 7, "not routable, and eight bytes long");
    assert!(pair.client.closed().is_none() && pair.server.closed().is_none());
}

/// They are used up while it is there: what it was given it can use, and goes on with the last one.
#[test]
fn a_connection_outlives_the_nonces() {
    let mut pair = Pair::connected(settings());
    pair.server.endpoint.use_up_nonces();
    for n in 1..=8 {
        let now = pair.now;
        let _ = pair.client().migrate_path(now, PathId::ZERO, from(client_address(n)));
        pair.run(Duration::from_millis(500));
        pair.write(Side::Server, 20_000);
        pair.run(Duration::from_millis(500));
    }
    assert!(pair.client.closed().is_none() && pair.server.closed().is_none());
    let received = pair.client().path_stats(PathId::ZERO).unwrap().bytes_received;
    assert!(received > 8 * 20_000, "{received}");
}
