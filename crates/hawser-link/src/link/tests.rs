use proptest::prelude::*;

use super::*;
use crate::delay::Jitter;
use crate::loss::LossModel;
use crate::rate::RateModel;
use crate::time::{MILLISECOND, SECOND};

fn config(bits_per_second: u64, delay: Nanos) -> DirectionConfig {
    DirectionConfig { rate: RateModel::constant(bits_per_second), ..DirectionConfig::with_delay(delay) }
}

/// Offers a packet of `length` bytes every `interval` and returns all departures until `until`.
fn offer(link: &mut Link<u64>, length: u32, interval: Nanos, until: Nanos) -> Vec<Departure<u64>> {
    let mut departures = Vec::new();
    let mut time = 0;
    while time < until {
        let _ = link.enqueue(time, length, time);
        departures.extend(std::iter::from_fn(|| link.dequeue(time)));
        time += interval;
    }
    departures
}

#[test]
fn overload_leaves_at_the_rate_and_fills_the_queue_to_its_bound() {
    let mut link =
        Link::new(&DirectionConfig { queue_bytes: 100_000, ..config(50_000_000, 20 * MILLISECOND) }, 1);
    let departures = offer(&mut link, 1500, 100_000, 10 * SECOND);
    let span = departures.last().unwrap().at - departures[0].at;
    let rate = (departures.len() - 1) as f64 * 12_000.0 / (span as f64 / SECOND as f64);
    assert!((rate / 50e6 - 1.0).abs() < 1e-6, "{rate}");
    assert!(link.stats().queue_peak_bytes <= 100_000 && link.stats().queue_peak_bytes > 98_000);
    // A full queue of 66 packets takes 66 * 240 us.
    let slowest = departures.iter().map(|packet| packet.at - packet.payload).max().unwrap();
    assert!(slowest <= 20 * MILLISECOND + 66 * 240_000, "{slowest}");
    assert!(link.stats().dropped_queue > 0);
}

#[test]
fn a_lone_packet_takes_serialisation_and_delay() {
    let mut link = Link::new(&config(12_000_000, 20 * MILLISECOND), 1);
    link.enqueue(5, 1500, 0).unwrap();
    assert_eq!(link.next_departure(), Some(5 + 21 * MILLISECOND));
    assert_eq!(link.dequeue(4 + 21 * MILLISECOND), None);
    assert_eq!(link.dequeue(SECOND).unwrap().at, 5 + 21 * MILLISECOND);
    assert_eq!(link.next_departure(), None);
}

/// Mean wait in an M/D/1 queue: rho / (2 (1 - rho)) service times (Pollaczek-Khinchine).
#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    use rand::Rng;
    let mut random = crate::random::generator(5, "poisson");
    let mut link: Link<()> =
        Link::new(&DirectionConfig { queue_bytes: u64::MAX, ..config(12_000_000, 0) }, 1);
    let (load, mut time) = (0.7, 0.0);
    for _ in 0..300_000 {
        time -= (1.0 - random.random::<f64>()).ln() * MILLISECOND as f64 / load;
        link.enqueue(time as Nanos, 1500, ()).unwrap();
    }
    link.dequeue(time as Nanos + 10 * SECOND);
    let wait = link.stats().queue_time_total as f64 / 300_000.0 / MILLISECOND as f64 - 1.0;
    let expected = load / (2.0 * (1.0 - load));
    assert!((wait / expected - 1.0).abs() < 0.05, "{wait} ms, expected {expected} ms");
}

#[test]
fn a_link_that_is_down_drops_silently_and_recovers() {
    let outages = Outages::none().with_window(SECOND, 2 * SECOND);
    let mut link = Link::new(&DirectionConfig { outages, ..config(12_000_000, 10 * MILLISECOND) }, 1);
    let departures = offer(&mut link, 1000, 10 * MILLISECOND, 3 * SECOND);
    assert!(departures.iter().all(|packet| packet.payload < SECOND || packet.payload >= 2 * SECOND));
    assert_eq!(link.stats().dropped_down, 100);
}

#[test]
fn a_link_that_holds_sends_everything_after_the_gap() {
    let outages = Outages::none().with_period(SECOND, 300 * MILLISECOND, 500 * MILLISECOND);
    let hold = DirectionConfig { outages, outage_policy: OutagePolicy::Hold, ..config(12_000_000, 0) };
    let mut link = Link::new(&hold, 1);
    let departures = offer(&mut link, 1000, 10 * MILLISECOND, 2 * SECOND);
    assert_eq!(link.stats().dropped_packets(), 0);
    let in_gap = |time: Nanos| (500 * MILLISECOND + 1..800 * MILLISECOND).contains(&(time % SECOND));
    assert!(departures.iter().all(|packet| !in_gap(packet.at)));
    assert!(departures.len() > 190);
}

#[test]
fn a_packet_longer_than_any_time_up_still_passes() {
    let outages = Outages::none().with_period(SECOND, 100 * MILLISECOND, 0);
    let hold = DirectionConfig { outages, outage_policy: OutagePolicy::Hold, ..config(1_000, 0) };
    let mut link = Link::new(&hold, 1);
    link.enqueue(0, 1500, ()).unwrap();
    assert!(link.dequeue(60 * SECOND).is_some());
}

#[test]
fn force_wins_over_the_schedule_until_it_is_lifted() {
    for policy in [OutagePolicy::Drop, OutagePolicy::Hold] {
        let outages = Outages::none().with_window(0, SECOND);
        let mut link =
            Link::new(&DirectionConfig { outages, outage_policy: policy, ..config(12_000_000, 0) }, 1);
        link.force(0, Some(true));
        link.enqueue(0, 1500, 1).unwrap();
        assert_eq!(link.dequeue(MILLISECOND).map(|packet| packet.payload), Some(1));
        link.force(2 * SECOND, Some(false));
        let entered = link.enqueue(2 * SECOND, 1500, 2).is_ok();
        assert_eq!(entered, policy == OutagePolicy::Hold);
        assert_eq!(link.dequeue(3 * SECOND), None);
        link.force(3 * SECOND, None);
        assert_eq!(
            link.dequeue(4 * SECOND).map(|packet| packet.at),
            entered.then_some(3 * SECOND + MILLISECOND)
        );
    }
}

#[test]
fn large_packets_are_dropped() {
    let mut link = Link::new(&config(12_000_000, 0), 1);
    assert_eq!(link.enqueue(0, 1501, 7), Err(Rejected { cause: DropCause::Mtu, payload: 7 }));
}

proptest! {
    /// Order, conservation of packets, the queue's bound, and independence of how often the link is polled.
    #[test]
    fn invariants_hold_for_any_traffic(
        seed in any::<u64>(),
        loss in 0.0..0.5_f64,
        jitter in 1..20_000_000_u64,
        hold in any::<bool>(),
        traffic in prop::collection::vec((0..3_000_000_u64, 1..1600_u32), 1..300),
    ) {
        let config = DirectionConfig {
            delay: crate::DelayModel {
                base: crate::Series::constant(5 * MILLISECOND),
                jitter: Jitter::Gamma { mean: jitter, deviation: jitter },
            },
            loss: LossModel::bursts(loss, 3.0),
            queue_bytes: 20_000,
            outages: Outages::none().with_period(100 * MILLISECOND, 20 * MILLISECOND, 30 * MILLISECOND),
            outage_policy: if hold { OutagePolicy::Hold } else { OutagePolicy::Drop },
            ..config(10_000_000, 0)
        };
        let (mut eager, mut lazy) = (Link::new(&config, seed), Link::new(&config, seed));
        let (mut first, mut second, mut now) = (Vec::new(), Vec::new(), 0);
        for (index, (gap, length)) in traffic.into_iter().enumerate() {
            now += gap;
            while let Some(due) = eager.next_departure().filter(|&due| due <= now) {
                first.extend(std::iter::from_fn(|| eager.dequeue(due)));
            }
            let taken = eager.enqueue(now, length, index);
            prop_assert_eq!(taken, lazy.enqueue(now, length, index));
            prop_assert!(eager.queued_bytes() <= 20_000);
        }
        while let Some(due) = eager.next_departure() {
            first.extend(std::iter::from_fn(|| eager.dequeue(due)));
        }
        second.extend(std::iter::from_fn(|| lazy.dequeue(now + 1000 * SECOND)));
        prop_assert_eq!(&first, &second);
        prop_assert!(first.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].payload < pair[1].payload));
        let stats = eager.stats();
        prop_assert_eq!(stats.offered_packets, stats.delivered_packets + stats.dropped_packets());
        prop_assert_eq!(stats, lazy.stats());
    }
}
