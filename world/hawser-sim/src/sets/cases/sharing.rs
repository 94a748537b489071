//! Shared state: windows that add up to one budget.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hawser_core::Code;
use hawser_policy::{PathId, Time};

use super::{Net, client_side, download, open_second, server_side};
use crate::Verdict;
use crate::gauntlet::{Measure, Setting};
use crate::testing::{SERVER, client_address, link};

const BUDGET: u64 = 200_000;
/// Both links have 40 ms there and back and more room than the budget fills: the budget per round trip arrives, Mbit/s.
const ALLOWED: f64 = BUDGET as f64 * 8.0 / 0.04 / 1e6;

/// The sum of the server's windows.
fn windows(network: &mut Net) -> u64 {
    let Some(server) = network.server.first_connection() else { return 0 };
    let paths = server.paths();
    paths.iter().filter_map(|path| server.path_stats(path.id)).map(|stats| stats.congestion_window).sum()
}

/// Runs a stretch; returns the rate of the download in it as a share of what the budget allows. `largest` is the largest sum
/// of the windows.
fn share_until(network: &mut Net, end: Time, largest: &mut u64) -> f64 {
    let (start, before) = (network.now(), network.client.application.received);
    network.run_until(end, |network| {
        *largest = windows(network).max(*largest);
        false
    });
    let bytes = network.client.application.received - before;
    bytes as f64 * 8.0 / end.since(start).as_secs_f64() / 1e6 / ALLOWED
}

/// Bytes that the server sent on both paths.
fn sent(network: &mut Net, second: PathId) -> [u64; 2] {
    [PathId::ZERO, second].map(|id| server_side(network).path_stats(id).map_or(0, |stats| stats.bytes_sent))
}

/// Loses one of 500 large packets of the second link; counts the silences of most of a round trip that follow a loss.
fn lose_and_count_rests(network: &mut Net, lossy: crate::LinkHandle, seed: u64) -> Rc<Cell<u64>> {
    let rests = Rc::new(Cell::new(0_u64));
    let seen = rests.clone();
    // Other packets with each seed.
    let (mut n, mut dropped_at, mut last) = (97 * seed, Time::ZERO, Time::ZERO);
    network.set_filter(move |now, link, packet| {
        if link != lossy || packet.tuple.local != SERVER || packet.payload.len() < 1_000 {
            return Verdict::Pass;
        }
        if now.since(last) >= Duration::from_millis(30) && dropped_at > Time::ZERO {
            seen.set(seen.get() + 1);
        }
        last = now;
        n += 1;
        if n % 500 == 0 {
            dropped_at = now;
            return Verdict::Drop;
        }
        Verdict::Pass
    });
    rests
}

/// Undisturbed; while one link loses packets, whose path rests then and gives its share to the other; over the path that is
/// left.
pub(super) fn windows_share_a_budget(setting: &Setting<'_>) -> Vec<Measure> {
    let set = format!("budget,bytes={BUDGET}");
    let mut network = download(setting, [&set, &set], 200_000_000);
    let handles = [0, 1].map(|n| network.add_link(client_address(n).ip(), &link(60, 20), &link(60, 20)));
    let second = open_second(&mut network);
    network.run_to(Time::from_secs(1));
    let mut largest = 0;
    let undisturbed = share_until(&mut network, Time::from_secs(4), &mut largest);

    let rests = lose_and_count_rests(&mut network, handles[1], setting.seed);
    let before = sent(&mut network, second);
    let disturbed = share_until(&mut network, Time::from_secs(10), &mut largest);
    let after = sent(&mut network, second);
    let lost = server_side(&mut network).path_stats(second).map_or(0, |stats| stats.packets_lost);
    let ratio = (after[0] - before[0]) as f64 / (after[1] - before[1]).max(1) as f64;

    let now = network.now();
    client_side(&mut network)
        .abandon_path(now, PathId::ZERO, Code::APPLICATION_ABANDON_PATH)
        .expect("there is another");
    network.set_filter(|_, _, _| Verdict::Pass);
    network.run_to(Time::from_secs(15));
    let alone = share_until(&mut network, Time::from_secs(18), &mut largest);
    vec![
        Measure::at_most("largest sum of windows", largest as f64 / 1e3, "kB", BUDGET as f64 / 1e3),
        Measure::at_least("share of the budget", undisturbed, "", 0.85),
        Measure::at_least("share of the budget with loss", disturbed, "", 0.75),
        Measure::at_least("clean path over lossy path", ratio, "", 2.0),
        Measure::at_least("losses", lost as f64, "packets", 4.0),
        // Every cut is followed by a silence; the last one may still be to come.
        Measure::at_most("losses without a rest", lost as f64 - rests.get() as f64, "packets", 1.0),
        Measure::at_least("share of the budget on one path", alone, "", 0.85),
    ]
}
