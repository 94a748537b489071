use hawser_policy::Time;
use proptest::prelude::*;

use super::{BLACK_HOLE_INTERVAL, MAX_PROBES, MtuDiscovery, RAISE_INTERVAL, SEARCH_STEP};
use crate::connection::paths::MIN_DATAGRAM_SIZE;

/// Probes until the search rests. `fate` tells for a size whether it arrives. Returns how many probes it took.
fn search(mtu: &mut MtuDiscovery, now: Time, mut fate: impl FnMut(u16) -> bool) -> u64 {
    let mut count = 0;
    while let Some(size) = mtu.next_probe() {
        assert!(size > mtu.current());
        mtu.on_probe_sent(count);
        assert_eq!(mtu.next_probe(), None, "one at a time");
        if fate(size) {
            assert!(mtu.on_probe_acked(now, count));
            assert_eq!(mtu.current(), size);
        } else {
            mtu.on_probe_lost(now, count);
        }
        count += 1;
        assert!(count < 100, "endless search");
    }
    count
}

#[test]
fn one_probe_where_the_top_fits() {
    let mut mtu = MtuDiscovery::new(1200, 1452);
    assert_eq!(mtu.next_probe(), None, "not before the path is validated");
    mtu.start();
    assert_eq!(search(&mut mtu, Time::ZERO, |size| size <= 1452), 1);
    assert_eq!((mtu.current(), mtu.timeout()), (1452, None));
}

#[test]
fn raised_later_if_the_path_improves() {
    let mut mtu = MtuDiscovery::new(1200, 1452);
    mtu.start();
    search(&mut mtu, Time::ZERO, |_| false);
    assert_eq!(mtu.current(), 1200);
    let raise = mtu.timeout().unwrap();
    assert_eq!(raise, Time::ZERO + RAISE_INTERVAL);
    mtu.on_timeout(Time::ZERO);
    assert_eq!(mtu.next_probe(), None);
    mtu.on_timeout(raise);
    assert_eq!(search(&mut mtu, raise, |_| true), 1);
    assert_eq!(mtu.current(), 1452);
}

#[test]
fn limits_of_both_ends() {
    let mut off = MtuDiscovery::new(1350, 1200);
    off.start();
    assert_eq!((off.current(), off.next_probe(), off.timeout()), (1350, None, None));

    let mut mtu = MtuDiscovery::new(1350, 9000);
    mtu.set_peer_limit(1300);
    mtu.start();
    assert_eq!((mtu.current(), mtu.next_probe()), (1300, None));

    let mut jumbo = MtuDiscovery::new(1200, 9000);
    jumbo.set_peer_limit(65_527);
    jumbo.start();
    assert_eq!(jumbo.next_probe(), Some(9000));
    assert_eq!(MtuDiscovery::new(0, 0).current(), 1200);
}

fn at_1452() -> MtuDiscovery {
    let mut mtu = MtuDiscovery::new(1200, 1452);
    mtu.start();
    search(&mut mtu, Time::ZERO, |_| true);
    mtu
}

#[test]
fn a_burst_of_losses_is_no_black_hole() {
    let mut mtu = at_1452();
    // Two bursts of many packets each, then an acknowledgement of a large packet, then two more.
    for (burst, sent) in [(10..60, 60), (61..90, 100), (101..130, 140), (141..150, 160)] {
        if burst.start == 101 {
            mtu.on_acked(100, 1452);
        }
        for lost in burst {
            assert!(!mtu.on_lost(Time::ZERO, lost, 1452, sent));
        }
    }
    // Losses below an acknowledged large packet, and of small ones, say nothing either.
    mtu.on_acked(500, 1452);
    for lost in 200..400 {
        assert!(!mtu.on_lost(Time::ZERO, lost, 1452, lost));
        assert!(!mtu.on_lost(Time::ZERO, 500 + lost, 1200, 1000));
    }
    assert_eq!(mtu.current(), 1452);
}

#[test]
fn black_hole_found_by_losses_and_left_again() {
    let mut mtu = at_1452();
    let now = Time::from_secs(5);
    assert!(!mtu.on_lost(now, 10, 1452, 12));
    mtu.on_acked(11, 60);
    assert!(!mtu.on_lost(now, 13, 1452, 14));
    assert!(mtu.on_lost(now, 15, 1452, 16));
    assert_eq!(mtu.current(), MIN_DATAGRAM_SIZE);
    assert!(!mtu.on_lost(now, 17, 1452, 18), "said once");
    let retry = mtu.timeout().unwrap();
    assert_eq!(retry, now + BLACK_HOLE_INTERVAL);
    mtu.on_timeout(retry);
    search(&mut mtu, retry, |size| size <= 1280);
    assert!((1280 - SEARCH_STEP..=1280).contains(&mtu.current()));
}

#[test]
fn black_hole_found_although_nothing_is_acknowledged() {
    let mut mtu = at_1452();
    assert!(!mtu.on_probe_timeout(Time::ZERO, 2));
    assert!(mtu.on_probe_timeout(Time::ZERO, 3));
    assert_eq!(mtu.current(), MIN_DATAGRAM_SIZE);
    assert!(!mtu.on_probe_timeout(Time::ZERO, 4));
}

/// Nothing is acknowledged in an outage, whatever the size.
#[test]
fn the_first_acknowledgement_after_an_outage_brings_the_size_back() {
    let mut mtu = at_1452();
    assert!(mtu.on_probe_timeout(Time::ZERO, 3));
    assert_eq!(mtu.next_probe(), None, "not into the outage");
    let back = Time::from_secs(3);
    mtu.on_acked(200, 1200);
    assert_eq!(mtu.next_probe(), Some(1452));
    assert_eq!(search(&mut mtu, back, |size| size <= 1452), 1);
    assert_eq!((mtu.current(), mtu.timeout()), (1452, None));
}

/// What lies on the other side of a handover carries less: small packets get through, the search finds how much.
#[test]
fn a_black_hole_found_by_silence_is_searched_for_its_size() {
    let mut mtu = at_1452();
    assert!(mtu.on_probe_timeout(Time::ZERO, 3));
    mtu.on_acked(200, 1200);
    search(&mut mtu, Time::ZERO, |size| size <= 1300);
    assert!((1300 - SEARCH_STEP..=1300).contains(&mtu.current()));
    let (current, raise) = (mtu.current(), mtu.timeout());
    mtu.on_acked(300, current);
    assert_eq!((mtu.next_probe(), mtu.timeout()), (None, raise), "once");
}

#[test]
fn losses_before_the_path_is_validated_are_counted_without_end() {
    // Above 1200 bytes from the start: even then nothing may be concluded before the path is validated.
    let mut mtu = MtuDiscovery::new(1400, 1452);
    for lost in 0..=u64::from(u8::MAX) {
        assert!(!mtu.on_lost(Time::ZERO, 2 * lost, 1400, 2 * lost + 1));
    }
    assert_eq!(mtu.current(), 1400);
    mtu.start();
    assert!(mtu.on_lost(Time::ZERO, 1000, 1400, 1001), "they count once it is");
}

//= rfc9000-14.2-2, rfc9000-14.2-5, rfc9000-14.3-1
#[test]
fn new_addresses_begin_at_the_bottom() {
    let mut mtu = at_1452();
    mtu.reset();
    assert_eq!((mtu.current(), mtu.next_probe()), (1200, None));
    assert!(!mtu.on_probe_acked(Time::ZERO, 0), "a probe of the old addresses");
    mtu.start();
    assert_eq!(mtu.next_probe(), Some(1452));
}

proptest! {
    //= rfc9000-14.2-1
    #[test]
    fn finds_what_the_path_carries(limit in 1200u16..=9000, maximum in 1200u16..=9000) {
        let mut mtu = MtuDiscovery::new(1200, maximum);
        mtu.start();
        let probes = search(&mut mtu, Time::ZERO, |size| size <= limit);
        let best = limit.min(maximum);
        prop_assert!(mtu.current() <= best && best - mtu.current() < SEARCH_STEP);
        // The top, then halving.
        let steps = u64::from(u16::BITS - (maximum - 1200).leading_zeros());
        prop_assert!(probes <= (1 + steps) * u64::from(MAX_PROBES));
    }

    //= rfc9000-14.2-3
    #[test]
    fn never_above_what_the_path_carries_under_loss(limit in 1200u16..=1500, fates in prop::collection::vec(any::<bool>(), 100)) {
        let mut mtu = MtuDiscovery::new(1200, 1452);
        mtu.start();
        let mut fates = fates.into_iter();
        search(&mut mtu, Time::ZERO, |size| size <= limit && fates.next().unwrap_or(true));
        prop_assert!((1200..=limit).contains(&mtu.current()));
    }
}
