use proptest::prelude::*;

use super::*;
use crate::delay::Jitter;
use crate::impairments::Impairments;
use crate::loss::LossModel;
use crate::queue::{CoDel, Discipline, FqCoDel, QueueConfig, Red, StepMarking, StepThreshold};
use crate::rate::{RateModel, TokenBucket};
use crate::steps::{Level, MarkovLevels, RandomSteps};
use crate::time::{MILLISECOND, SECOND};
use crate::trace::Trace;

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

/// A packet that is being sent starts again at the new rate, and those behind it keep their places and are not overtaken.
#[test]
fn a_link_that_is_reconfigured_keeps_its_queue_and_goes_on_at_its_new_rate() {
    // 1000 bytes in a millisecond, and 10 ms on the way; then in two, and 5 ms.
    let mut link = Link::new(&config(8_000_000, 10 * MILLISECOND), 1);
    (0..4).for_each(|number| link.enqueue(0, 1_000, number).unwrap());
    link.reconfigure(2 * MILLISECOND, &config(4_000_000, 5 * MILLISECOND), 2);
    let left: Vec<_> = std::iter::from_fn(|| link.dequeue(SECOND)).map(|it| (it.payload, it.at)).collect();
    assert_eq!(left, [(0, 11), (1, 12), (2, 12), (3, 12)].map(|(number, at)| (number, at * MILLISECOND)));

    let silent = Outages::none().with_window(3 * SECOND, 4 * SECOND);
    link.reconfigure(2 * SECOND, &DirectionConfig { outages: silent, ..config(8_000_000, 0) }, 3);
    let down = link.enqueue(3 * SECOND, 1_000, 5).unwrap_err().cause;
    assert_eq!((down, link.is_up(4 * SECOND)), (DropCause::Down, true));
}

#[test]
fn overload_leaves_at_the_rate_and_fills_the_queue_to_its_bound() {
    let mut link = Link::new(
        &DirectionConfig { queue: QueueConfig::bytes(100_000), ..config(50_000_000, 20 * MILLISECOND) },
        1,
    );
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
    const PACKETS: u32 = 500_000;
    // The standard error at a load of 0.9 is about 2 %, at the others below 1 %.
    for (load, tolerance) in [(0.3, 0.02), (0.5, 0.02), (0.7, 0.03), (0.9, 0.06)] {
        let mut random = crate::random::generator(5, "poisson");
        let mut link: Link<()> =
            Link::new(&DirectionConfig { queue: QueueConfig::bytes(u64::MAX), ..config(12_000_000, 0) }, 1);
        let mut time = 0.0;
        for _ in 0..PACKETS {
            time -= (1.0 - random.random::<f64>()).ln() * MILLISECOND as f64 / load;
            link.enqueue(time as Nanos, 1500, ()).unwrap();
        }
        link.dequeue(time as Nanos + 10 * SECOND);
        let total = link.stats().queue_time_total as f64;
        let wait = total / f64::from(PACKETS) / MILLISECOND as f64 - 1.0;
        let expected = load / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < tolerance, "{wait} ms, expected {expected} ms");
    }
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

#[test]
fn a_departure_tells_where_its_time_went() {
    let mut link = Link::new(&config(12_000_000, 20 * MILLISECOND), 1);
    for number in 0..3_u64 {
        link.enqueue(7, 1500, number).unwrap();
    }
    let third = std::iter::from_fn(|| link.dequeue(SECOND)).last().unwrap();
    let (entered, sent) = (7, 7 + 3 * MILLISECOND);
    assert_eq!(third, Departure { at: sent + 20 * MILLISECOND, entered, sent, length: 1500, payload: 2 });
}

#[test]
fn lost_packets_come_back_only_when_asked_for() {
    let lossy = DirectionConfig { loss: LossModel::Bernoulli { probability: 0.5 }, ..config(12_000_000, 0) };
    let run = |keep| {
        let mut link = Link::new(&lossy, 1);
        link.keep_dropped(keep);
        let arrived = offer(&mut link, 1500, MILLISECOND, SECOND);
        let dropped: Vec<_> = std::iter::from_fn(|| link.poll_dropped()).collect();
        (arrived.len(), dropped)
    };
    let (arrived, dropped) = run(true);
    assert!((400..600).contains(&arrived) && (400..600).contains(&dropped.len()));
    let first = &dropped[0];
    assert_eq!((first.at, first.entered), (first.payload + MILLISECOND, first.payload));
    assert!(dropped.iter().all(|drop| drop.cause == DropCause::Loss));
    assert_eq!(run(false), (arrived, Vec::new()));
}

#[test]
fn copies_stragglers_and_flipped_bits_come_in_their_shares() {
    let impairments = Impairments {
        duplication: 0.02,
        corruption: 0.05,
        reordering: 0.1,
        reordering_delay: 5 * MILLISECOND,
    };
    let mut link: Link<Vec<u8>> =
        Link::new(&DirectionConfig { impairments, ..config(100_000_000, 10 * MILLISECOND) }, 1);
    let (mut whole, mut broken, mut late) = (0, 0, 0);
    let (mut numbers, mut arrivals) = (Vec::new(), Vec::new());
    for number in 0..100_000_u64 {
        let now = number * MILLISECOND;
        while let Some(packet) = link.dequeue(now) {
            // The number is written eight times: one flipped bit leaves seven copies.
            let copies: Vec<u64> =
                packet.payload.chunks(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect();
            let number = if copies[0] == copies[1] { copies[0] } else { copies[2] };
            let flipped: u32 = copies.iter().map(|copy| (copy ^ number).count_ones()).sum();
            assert!(flipped <= 1);
            (whole, broken) = (whole + u32::from(flipped == 0), broken + flipped);
            let delay = packet.at - packet.sent;
            assert!(delay == 10 * MILLISECOND || delay == 15 * MILLISECOND);
            late += u32::from(delay > 10 * MILLISECOND);
            numbers.push(number);
            arrivals.push(packet.at);
        }
        let payload: Vec<u8> = std::iter::repeat_n(number.to_le_bytes(), 8).flatten().collect();
        link.enqueue(now, 1000, payload).unwrap();
    }
    assert!(arrivals.is_sorted() && !numbers.is_sorted());
    // Binomial with n = 100,000: three standard errors are at most 285.
    assert!((i64::from(broken) - 5000).abs() < 300, "{broken} broken");
    assert!((i64::from(late) - 10_000).abs() < 300, "{late} late");
    let copies = (whole + broken) as i64 - 99_985;
    assert!((copies - 2000).abs() < 200, "{copies} copies");
    let stats = link.stats();
    // What is still on its way was counted when it was sent.
    assert!((stats.corrupted - u64::from(broken)).max(stats.held_back - u64::from(late)) < 10);
    assert!(stats.offered_packets + stats.duplicated - stats.delivered_packets < 30);
}

#[test]
fn with_reordering_a_fast_packet_overtakes() {
    let base = crate::Series::new(vec![(0, 50 * MILLISECOND), (10 * MILLISECOND, 20 * MILLISECOND)], None);
    let run = |reordering| {
        let delay = crate::DelayModel { reordering, ..base.clone().unwrap().into() };
        let mut link = Link::new(&DirectionConfig { delay, ..config(12_000_000, 0) }, 1);
        link.enqueue(0, 1500, 1).unwrap();
        assert_eq!(link.dequeue(20 * MILLISECOND), None);
        link.enqueue(20 * MILLISECOND, 1500, 2).unwrap();
        std::iter::from_fn(|| link.dequeue(link.next_departure()?)).map(|it| (it.at, it.payload)).collect()
    };
    let milliseconds = |it: [(u64, i32); 2]| it.map(|(at, number)| (at * MILLISECOND, number)).to_vec();
    let ordered: Vec<_> = run(false);
    assert_eq!(ordered, milliseconds([(51, 1), (51, 2)]));
    let overtaken: Vec<_> = run(true);
    assert_eq!(overtaken, milliseconds([(41, 2), (51, 1)]));
}

/// The first packet would take 50 ms, but is lost; the second takes 20 ms and is there before that.
#[test]
fn a_loss_before_a_drop_of_the_delay_does_not_announce_the_next_packet_too_late() {
    let base = crate::Series::new(vec![(0, 50 * MILLISECOND), (15 * MILLISECOND, 20 * MILLISECOND)], None);
    let outages = Outages::none().with_window(9 * MILLISECOND, 11 * MILLISECOND);
    let slow = DirectionConfig { delay: base.unwrap().into(), outages, ..config(1_200_000, 0) };
    let mut link = Link::new(&slow, 1);
    (1..=2).for_each(|number| link.enqueue(0, 1500, number).unwrap());
    let mut arrivals = Vec::new();
    while let Some(due) = link.next_departure() {
        arrivals.extend(std::iter::from_fn(|| link.dequeue(due)).map(|it| (due, it.at, it.payload)));
    }
    assert_eq!(arrivals, [(40 * MILLISECOND, 40 * MILLISECOND, 2)]);
}

#[test]
fn a_random_rate_that_is_cut_by_an_outage_is_planned_again_from_the_same_steps() {
    let steps = RandomSteps::Redraw { base: 10_000_000, spread: 0.9, interval: 3 * MILLISECOND };
    let rate = RateModel::Random(steps);
    let realised = rate.realised(1, 10 * SECOND);
    let outages = Outages::none().with_period(50 * MILLISECOND, 10 * MILLISECOND, 5 * MILLISECOND);
    let run = |rate| {
        let hold = DirectionConfig {
            rate,
            outages: outages.clone(),
            outage_policy: OutagePolicy::Hold,
            ..config(0, 0)
        };
        let mut link = Link::new(&hold, 1);
        offer(&mut link, 1500, MILLISECOND, 5 * SECOND)
    };
    let random = run(rate);
    assert!(random.len() > 2000);
    assert_eq!(random, run(realised));
}

fn any_discipline() -> impl Strategy<Value = Discipline> {
    let codel = CoDel { target: MILLISECOND, interval: 10 * MILLISECOND, ecn: false };
    let step = StepMarking { threshold: StepThreshold::Bytes(5000) };
    prop_oneof![
        Just(Discipline::DropTail),
        Just(Discipline::CoDel(codel)),
        Just(Discipline::FqCoDel(FqCoDel { flows: 4, quantum: 300, codel })),
        Just(Discipline::Red(Red { weight: 0.2, ..Red::new(3000, 9000) })),
        Just(Discipline::StepMarking(step)),
    ]
}

fn any_rate() -> impl Strategy<Value = RateModel> {
    let levels = [100_000, 30_000_000].map(|value| Level { value, mean_stay: 4 * MILLISECOND });
    let chain = MarkovLevels::new(levels.to_vec(), None).unwrap();
    let bucket = TokenBucket { rate: 8_000_000, burst: 6000, peak_rate: Some(50_000_000) };
    prop_oneof![
        Just(RateModel::constant(10_000_000)),
        Just(RateModel::sinusoid(10_000_000, 12_000_000, 20 * MILLISECOND, 0.3)),
        Just(RateModel::Random(RandomSteps::Markov(chain))),
        Just(RateModel::Trace(Trace::new(vec![0, 1, 1, 5, 6]).unwrap().into())),
        Just(RateModel::TokenBucket(bucket)),
        Just(RateModel::Unlimited),
    ]
}

/// Flow and number of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered(u64, usize);

impl Frame for Numbered {
    fn flow(&self) -> u64 {
        self.0
    }

    fn corrupt(&mut self, _position: u64) {}

    fn duplicate(&self) -> Self {
        *self
    }
}

proptest! {
    /// Whatever the link is made of: its results do not depend on how often it is polled, nothing departs before
    /// the time announced, every packet is accounted for, and flows keep their order unless reordering is wanted.
    #[test]
    fn any_link_is_independent_of_polling(
        seed in any::<u64>(),
        discipline in any_discipline(),
        rate in any_rate(),
        packets in any::<bool>(),
        (reordering, impaired, hold) in any::<(bool, bool, bool)>(),
        traffic in prop::collection::vec((0..2_000_000_u64, 1..1501_u32, 0..5_u64), 1..300),
    ) {
        let base = crate::Series::new(vec![(0, 9 * MILLISECOND), (40 * MILLISECOND, MILLISECOND)], Some(SECOND / 10));
        let damage = Impairments {
            duplication: 0.1,
            corruption: 0.1,
            reordering: 0.1,
            reordering_delay: 4 * MILLISECOND,
        };
        let config = DirectionConfig {
            rate,
            delay: crate::DelayModel {
                jitter: Jitter::Gaussian { mean: MILLISECOND, deviation: MILLISECOND },
                reordering,
                ..base.unwrap().into()
            },
            loss: LossModel::Events { mean_interval: 30 * MILLISECOND, packets: 2 },
            queue: if packets { QueueConfig::packets(15) } else { QueueConfig::bytes(20_000) }.with(discipline),
            impairments: if impaired { damage } else { Impairments::default() },
            outages: Outages::none().with_period(100 * MILLISECOND, 20 * MILLISECOND, 30 * MILLISECOND),
            outage_policy: if hold { OutagePolicy::Hold } else { OutagePolicy::Drop },
            ..config(0, 0)
        };
        let (mut eager, mut lazy) = (Link::new(&config, seed), Link::new(&config, seed));
        eager.keep_dropped(true);
        lazy.keep_dropped(true);
        let (mut first, mut now) = (Vec::new(), 0);
        for (number, (gap, length, flow)) in traffic.into_iter().enumerate() {
            now += gap;
            while let Some(due) = eager.next_departure().filter(|&due| due <= now) {
                while let Some(packet) = eager.dequeue(due) {
                    prop_assert_eq!(packet.at, due, "announced too late");
                    first.push(packet);
                }
            }
            let payload = Numbered(flow, number);
            prop_assert_eq!(eager.enqueue(now, length, payload), lazy.enqueue(now, length, payload));
            prop_assert_eq!(eager.queued_bytes(), lazy.queued_bytes());
            prop_assert!(eager.queued_bytes() <= 20_000 || packets);
            prop_assert!(eager.queued_packets() <= 15 || !packets);
        }
        while let Some(due) = eager.next_departure() {
            while let Some(packet) = eager.dequeue(due) {
                prop_assert_eq!(packet.at, due, "announced too late");
                first.push(packet);
            }
        }
        let second: Vec<_> = std::iter::from_fn(|| lazy.dequeue(now + 1000 * SECOND)).collect();
        prop_assert_eq!(&first, &second);
        let dropped = |link: &mut Link<Numbered>| std::iter::from_fn(|| link.poll_dropped()).collect::<Vec<_>>();
        prop_assert_eq!(dropped(&mut eager), dropped(&mut lazy));
        let stats = eager.stats();
        prop_assert_eq!(stats, lazy.stats());
        let inside = stats.delivered_packets + stats.dropped_packets();
        prop_assert_eq!(stats.offered_packets + stats.duplicated, inside);
        if !reordering && !impaired {
            for flow in 0..5 {
                let of_flow = first.iter().filter(|packet| packet.payload.0 == flow);
                prop_assert!(of_flow.map(|packet| packet.payload.1).is_sorted());
            }
        }
    }
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

                jitter: Jitter::Gamma { mean: jitter, deviation: jitter }, ..crate::DelayModel::constant(5 * MILLISECOND)
            },
            loss: LossModel::bursts(loss, 3.0),
            queue: QueueConfig::bytes(20_000),
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
