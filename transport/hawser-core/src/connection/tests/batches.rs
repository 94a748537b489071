//! Batches that leave and never arrive.

use std::time::Duration;

use hawser_policy::Side;

use super::pair::{Pair, Settings};

/// A stream arrives although every batch vanishes, and soon: the first few of them say it.
#[test]
fn data_arrives_where_batches_vanish() {
    for by in [Side::Client, Side::Server] {
        let mut pair = Pair::connected(Settings::default());
        pair.loses_batches = true;
        let id = pair.write(by, 2_000_000);
        pair.run(Duration::from_secs(8));
        let reader = if by.is_client() { pair.server() } else { pair.client() };
        let mut read = 0;
        while let Ok(Some(chunk)) = reader.read_chunk(id, usize::MAX) {
            read += chunk.len();
        }
        let writer = if by.is_client() { pair.client() } else { pair.server() };
        let stopped: u64 = writer.paths.iter().map(|path| path.traffic.batching_stopped).sum();
        assert_eq!(stopped, 1, "{by:?}");
        assert!(read > 500_000, "{by:?}: {read} bytes within the first window");
    }
}

/// Where they arrive nothing is stopped, whatever else is lost.
#[test]
fn loss_is_not_taken_for_batches_that_vanish() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = |sent| sent.payload.len() > 1_000 && sent.payload[30] % 4 == 0;
    pair.write(Side::Client, 500_000);
    pair.run(Duration::from_secs(8));
    assert!(pair.client().paths.iter().all(|path| path.traffic.batching_stopped == 0));
    assert!(pair.client().stats().batches_sent < pair.client().stats().datagrams_sent);
}
