//! Cases about links that fail and addresses that change.

use std::net::SocketAddr;

use hawser_interop_virtual::Steering;
use hawser_sim::testing::client_address;

use crate::bed::Bed;

/// One of two links dies for good.
pub(crate) fn failover<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(700);
    bed.assert_carried(1, [0, 0], 300_000);
    bed.force(1, false);
}

/// A path that both ends call a backup carries nothing until the other one is abandoned, and everything then.
pub(crate) fn backup<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    let backup = bed.open(1);
    bed.declare_backup(backup);
    bed.run_to(1_000);
    // Validation, the search for the largest datagram, what left before, and acknowledgements that return there.
    bed.assert_idle(1, [0, 0], 150_000);
    let before = bed.delivered(1);
    bed.abandon(0, true);
    bed.run_to(2_500);
    bed.assert_carried(1, before, 1_000_000);
}

/// A link is dead for two seconds and used again afterwards.
pub(crate) fn blackhole<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(1_000);
    bed.force(1, false);
    bed.run_to(3_000);
    bed.force(1, true);
    let before = bed.delivered(1);
    bed.run_to(4_500);
    bed.assert_carried(1, before, 60_000);
}

/// The NAT in front of one path gives it another port: the path goes on under its id.
pub(crate) fn rebind<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(700);
    let inside = client_address(1);
    bed.network.translate(inside, SocketAddr::new(inside.ip(), 61_000));
    let before = bed.delivered(1);
    bed.run_to(1_700);
    bed.assert_carried(1, before, 500_000);
}

/// The NATs in front of all paths give them other addresses at once.
pub(crate) fn nat<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(700);
    for n in [0, 1] {
        bed.network.translate(client_address(n), SocketAddr::from(([10, 77, n, 2], 61_000)));
    }
    let before = [bed.delivered(0), bed.delivered(1)];
    bed.run_to(2_000);
    for n in [0, 1] {
        bed.assert_carried(n, before[n], 300_000);
    }
}
