//! Cases about paths that come.

use std::cell::Cell;
use std::rc::Rc;

use hawser_interop_virtual::Steering;
use hawser_policy::Time;
use hawser_sim::Verdict;
use hawser_sim::testing::{SERVER, client_address};

use crate::bed::Bed;

/// A path besides that of the handshake, as soon as both ends allow it.
pub(crate) fn handshake<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    assert_eq!(bed.open(1), 1);
    // A round trip for the handshake, another for its confirmation and the connection ids.
    assert!(bed.now() <= Time::from_millis(95), "opened at {}", bed.now());
    bed.run_to(400);
    bed.assert_carried(1, [0, 0], 100_000);
}

/// Two paths that differ by two in rate and by three in delay.
pub(crate) fn aggregate<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open(1);
    bed.run_to(1_000);
    bed.assert_carried(0, [0, 0], 1_000_000);
    bed.assert_carried(1, [0, 0], 500_000);
}

/// Sixteen paths at once.
pub(crate) fn sixteen_paths<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    for n in 1..16 {
        assert_eq!(bed.open(n), u32::from(n));
    }
    bed.run_to(1_000);
    for n in 0..16 {
        bed.assert_carried(n, [0, 0], 100_000);
    }
}

/// A path over IPv6 next to one over IPv4.
pub(crate) fn ipv4_ipv6<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    bed.open_ipv6();
    bed.run_to(700);
    for n in [0, 1] {
        bed.assert_carried(n, [0, 0], 300_000);
    }
}

/// The client hears nothing on its second path, so that the server cannot validate it: it may send three times what came.
pub(crate) fn amplification<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    let (up, down) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let excess = Rc::new(Cell::new(None));
    let (second, victim) = (bed.links[1], client_address(1).ip());
    let (counted_up, counted_down, found) = (up.clone(), down.clone(), excess.clone());
    bed.network.set_filter(move |_, link, packet| {
        let length = packet.payload.len();
        if link != second {
            return Verdict::Pass;
        }
        if packet.tuple.remote.ip() == SERVER.ip() {
            counted_up.set(counted_up.get() + length);
            return Verdict::Pass;
        }
        assert_eq!(packet.tuple.remote.ip(), victim);
        counted_down.set(counted_down.get() + length);
        if counted_down.get() > 3 * counted_up.get() {
            found.set(found.get().or(Some((counted_down.get(), counted_up.get()))));
        }
        Verdict::Drop
    });
    bed.open(1);
    bed.run_to(1_500);
    assert_eq!(excess.get(), None, "bytes sent to an address that is not validated, and received from there");
    assert!(down.get() >= 1_200, "the server has tried: {} bytes, {} received", down.get(), up.get());
}

/// Paths that come and go until every connection id that was issued at first is used up.
pub(crate) fn cid_exhaust<C: Steering, S: Steering>(bed: &mut Bed<C, S>) {
    let mut last = 0;
    for round in 0..20 {
        let before = bed.delivered(1);
        let id = bed.open(1);
        assert!(id > last, "round {round}: path ids rise and are never used again");
        last = id;
        bed.run_for(200);
        bed.assert_carried(1, before, 2_000);
        bed.abandon(id, true);
        bed.run_for(50);
    }
}
