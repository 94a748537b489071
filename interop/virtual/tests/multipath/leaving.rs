//! Cases about paths that go, and about keys, which belong to all of them.

use std::time::Duration;

use hawser_interop_virtual::Steering;
use hawser_policy::Time;
use hawser_sim::Verdict;

use crate::bed::Bed;

/// Time for PATH_ABANDON to arrive, maybe retransmitted, and for the queues to empty, milliseconds.
const AT_REST: u64 = 600;

/// The client abandons the path of the handshake.
pub(crate) fn abandon<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(700);
    bed.abandon(0, true);
    bed.run_for(AT_REST);
    let (first, second) = (bed.delivered(0), bed.delivered(1));
    bed.run_for(500);
    bed.assert_idle(0, first, 0);
    bed.assert_carried(1, second, 300_000);
}

/// Both ends abandon the same path at the same instant, then different ones.
pub(crate) fn crossing_abandon<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    for n in 1..4 {
        bed.open(n);
    }
    bed.run_to(500);
    bed.abandon(3, true);
    bed.abandon(3, false);
    bed.run_to(700);
    bed.abandon(1, true);
    bed.abandon(2, false);
    bed.run_for(AT_REST);
    let before: Vec<[u64; 2]> = (0..4).map(|n| bed.delivered(n)).collect();
    bed.run_for(500);
    bed.assert_carried(0, before[0], 500_000);
    for n in 1..4 {
        bed.assert_idle(n, before[n], 0);
    }
}

/// Packets of an abandoned path arrive late: some while its connection ids are still known, some when they no longer are.
pub(crate) fn late_packets<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(700);
    let (second, mut count) = (bed.links[1], 0);
    bed.network.set_filter(move |now, link, _| {
        if link != second || now > Time::from_millis(800) {
            return Verdict::Pass;
        }
        count += 1;
        Verdict::Delay(Duration::from_millis(if count % 2 == 0 { 150 } else { 900 }))
    });
    bed.run_to(800);
    bed.abandon(1, true);
    let before = bed.delivered(0);
    bed.run_for(1_000);
    bed.assert_carried(0, before, 500_000);
}

/// Each end updates the keys once while both paths carry data.
pub(crate) fn keyupdate<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(500);
    let now = bed.now();
    bed.network.client.update_keys(now);
    // Three probe timeouts of the slowest path, with its queue, separate two updates (RFC 9001 section 6.5).
    bed.run_to(2_200);
    let now = bed.now();
    bed.network.server.update_keys(now);
    let before = [bed.delivered(0), bed.delivered(1)];
    bed.run_to(2_700);
    for n in [0, 1] {
        bed.assert_carried(n, before[n], 200_000);
    }
    // The second update has to wait where the keys before the first are still kept; noq then leaves it out.
    let updates = [bed.network.client.key_updates(), bed.network.server.key_updates()];
    assert!(updates.into_iter().flatten().all(|updates| updates >= 1), "{updates:?}");
    if let [Some(client), Some(server)] = updates {
        assert_eq!((client, server), (2, 2));
    }
}
