use super::red::RedQueue;
use super::*;
use crate::time::{MICROSECOND, MILLISECOND, SECOND};
use crate::{Departure, DirectionConfig, Link, RateModel};

/// A packet with a flow, an ECN field and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tagged {
    flow: u64,
    capable: bool,
    marked: bool,
    number: u64,
}

impl Frame for Tagged {
    fn is_ecn_capable(&self) -> bool {
        self.capable
    }

    fn mark_congestion_experienced(&mut self) {
        self.marked = true;
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn corrupt(&mut self, position: u64) {
        self.number ^= position;
    }

    fn duplicate(&self) -> Self {
        *self
    }
}

fn tagged(flow: u64, capable: bool, number: u64) -> Tagged {
    Tagged { flow, capable, marked: false, number }
}

/// 12 Mbit/s: 1500 bytes take 1 ms. No propagation delay.
fn link(queue: QueueConfig) -> Link<Tagged> {
    let config =
        DirectionConfig { rate: RateModel::constant(12_000_000), queue, ..DirectionConfig::with_delay(0) };
    Link::new(&config, 1)
}

/// Offers packets given by time, length and content, in the order of time; returns what arrives.
fn offer(link: &mut Link<Tagged>, mut traffic: Vec<(Nanos, u32, Tagged)>) -> Vec<Departure<Tagged>> {
    traffic.sort_by_key(|packet| packet.0);
    let mut departures = Vec::new();
    for (at, length, packet) in traffic {
        let _ = link.enqueue(at, length, packet);
        departures.extend(std::iter::from_fn(|| link.dequeue(at)));
    }
    departures.extend(std::iter::from_fn(|| link.dequeue(crate::NEVER - 1)));
    departures
}

/// Packets of 1500 bytes every `gap` for `duration`.
fn stream(flow: u64, capable: bool, gap: Nanos, duration: Nanos) -> Vec<(Nanos, u32, Tagged)> {
    (0..duration / gap).map(|number| (number * gap, 1500, tagged(flow, capable, number))).collect()
}

fn milliseconds(time: Nanos) -> f64 {
    time as f64 / MILLISECOND as f64
}

/// When drops of a CoDel that is never relieved are due: `interval / sqrt(count)` apart (RFC 8289 section 5.3).
fn control_law_times(first: Nanos, interval: Nanos) -> impl Iterator<Item = f64> {
    (1..).scan(first as f64, move |time, count| {
        let due = *time;
        *time += interval as f64 / f64::from(count).sqrt();
        Some(due)
    })
}

#[test]
fn codel_spaces_its_drops_by_the_control_law() {
    let mut link = link(QueueConfig::bytes(u64::MAX).with(Discipline::CoDel(CoDel::default())));
    link.keep_dropped(true);
    let departures = offer(&mut link, stream(0, false, 900 * MICROSECOND, 20 * SECOND));
    let drops: Vec<_> = std::iter::from_fn(|| link.poll_dropped()).collect();
    assert!(drops.iter().all(|drop| drop.cause == DropCause::Aqm));

    // The delay passes 5 ms after 45 to 55 ms (0.1 ms are gained per packet), and stays above for 100 ms.
    let first = drops[0].at;
    assert!((145 * MILLISECOND..157 * MILLISECOND).contains(&first), "first drop at {first}");
    // Unresponsive, the sender must be dropped 111 times per second: that pace is reached with drop 123.
    for (drop, due) in drops.iter().zip(control_law_times(first, 100 * MILLISECOND)).take(120) {
        // Packets leave every millisecond, and only then can one be dropped.
        let late = drop.at as f64 - due;
        assert!((-1000.0..1_001_000.0).contains(&late), "{late} ns late");
    }
    // By then the queue has grown far beyond the target; after it, the delay comes back to it again and again.
    let wait = |packet: &Departure<Tagged>| milliseconds(packet.sent - packet.entered) - 1.0;
    let longest = departures.iter().map(wait).fold(0.0, f64::max);
    assert!((60.0..200.0).contains(&longest), "{longest} ms");
    let late = || departures.iter().filter(|packet| packet.sent > 10 * SECOND);
    let mean = late().map(wait).sum::<f64>() / late().count() as f64;
    assert!(mean < 0.5 * longest && late().any(|packet| wait(packet) < 5.0), "{mean} ms");
}

#[test]
fn codel_leaves_bursts_shorter_than_its_interval_alone() {
    let mut link = link(QueueConfig::bytes(u64::MAX).with(Discipline::CoDel(CoDel::default())));
    // 90 packets at once every 150 ms: up to 90 ms of delay, and then the queue is empty.
    let burst = |n: u64| (0..90).map(move |number| (n * 150 * MILLISECOND, 1500, tagged(0, false, number)));
    let departures = offer(&mut link, (0..50).flat_map(burst).collect());
    assert_eq!(departures.len(), 50 * 90);
}

#[test]
fn codel_marks_where_it_would_drop() {
    let codel = CoDel { ecn: true, ..CoDel::default() };
    let run = |capable| {
        let mut link = link(QueueConfig::bytes(u64::MAX).with(Discipline::CoDel(codel)));
        link.keep_dropped(true);
        let departures = offer(&mut link, stream(0, capable, 900 * MICROSECOND, SECOND));
        let marked = departures.iter().filter(|packet| packet.payload.marked);
        assert_eq!(marked.clone().count() as u64, link.stats().marked);
        let dropped = std::iter::from_fn(|| link.poll_dropped()).map(|drop| drop.at);
        let early = |time: &Nanos| *time < SECOND;
        // A marked packet was taken a millisecond before its last bit left.
        let marked: Vec<_> = marked.map(|packet| packet.sent - MILLISECOND).filter(early).collect();
        (marked, dropped.filter(early).collect::<Vec<_>>())
    };
    let ((marked, none), (zero, dropped)) = (run(true), run(false));
    assert!(none.is_empty() && zero.is_empty());
    assert!(marked.len() > 15);
    assert_eq!(marked, dropped);
}

#[test]
fn fq_codel_isolates_a_sparse_flow_from_bulk() {
    let longest_wait = |discipline| {
        let mut link = link(QueueConfig::bytes(200_000).with(discipline));
        let mut traffic = stream(1, false, 500 * MICROSECOND, 5 * SECOND);
        // 100 bytes every 20 ms, out of step with the bulk.
        traffic.extend((1..=245).map(|n| (n * 20_003_000, 100, tagged(2, false, n))));
        let departures = offer(&mut link, traffic);
        let sparse: Vec<_> = departures.iter().filter(|packet| packet.payload.flow == 2).collect();
        let longest = sparse.iter().map(|packet| packet.sent - packet.entered).max().unwrap();
        (sparse.len(), milliseconds(longest))
    };
    let (arrived, wait) = longest_wait(Discipline::FqCoDel(FqCoDel::default()));
    // The bulk packet on the wire (1 ms) and itself (67 us); it never waits for the queue.
    assert_eq!(arrived, 245);
    assert!(wait < 1.07, "{wait} ms");
    let (arrived, wait) = longest_wait(Discipline::DropTail);
    assert!(arrived < 245 && wait > 100.0, "the control: {arrived} arrived, {wait} ms");
}

#[test]
fn fq_codel_shares_by_bytes_whatever_is_offered() {
    let mut link = link(QueueConfig::packets(1000).with(Discipline::FqCoDel(FqCoDel::default())));
    // Three flows offer 4, 1 and 1 times the rate; the last in packets of 300 bytes.
    let mut traffic = stream(1, false, 250 * MICROSECOND, 10 * SECOND);
    traffic.extend(stream(2, false, MILLISECOND, 10 * SECOND));
    traffic.extend((0..50_000).map(|n| (n * 200 * MICROSECOND, 300, tagged(3, false, n))));
    let departures = offer(&mut link, traffic);
    let bytes = |flow| {
        let of_flow = |packet: &&Departure<Tagged>| packet.payload.flow == flow && packet.sent < 10 * SECOND;
        departures.iter().filter(of_flow).map(|packet| f64::from(packet.length)).sum::<f64>()
    };
    for flow in [1, 2, 3] {
        let share = bytes(flow) / (10.0 * 1_500_000.0);
        assert!((share - 1.0 / 3.0).abs() < 0.01, "flow {flow}: {share}");
    }
    let order = |flow| {
        let of_flow = departures.iter().filter(move |packet| packet.payload.flow == flow);
        of_flow.map(|packet| packet.payload.number).collect::<Vec<_>>()
    };
    assert!([1, 2, 3].iter().all(|flow| order(*flow).is_sorted()), "order is kept within a flow");
}

#[test]
fn a_full_fq_codel_drops_from_the_longest_queue() {
    let mut link = link(QueueConfig::packets(20).with(Discipline::FqCoDel(FqCoDel::default())));
    link.keep_dropped(true);
    let bulk = (0..19).map(|n| (0, 1500, tagged(1, false, n)));
    let late = (0..5).map(|n| (1, 1500, tagged(2, false, n)));
    let departures = offer(&mut link, bulk.chain(late).collect());
    assert_eq!(departures.iter().filter(|packet| packet.payload.flow == 2).count(), 5);
    let dropped: Vec<_> = std::iter::from_fn(|| link.poll_dropped()).collect();
    // From the head: number 0 is being sent, so 1 to 4 go.
    assert!(dropped.iter().all(|drop| drop.cause == DropCause::Queue && drop.payload.flow == 1));
    assert_eq!(dropped.iter().map(|drop| drop.payload.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

/// Share of packets that RED marks while the queue is held at `bytes`, and the share that it drops.
fn red_shares(parameters: Red, bytes: u64) -> (f64, f64) {
    const DRAWS: u32 = 200_000;
    let mut queue = RedQueue::new(parameters, Some(12_000_000), 3);
    let mut log = LinkLog::new();
    queue.push(Waiting { arrived: 0, length: bytes as u32, payload: tagged(0, true, 0) });
    let mut dropped = 0;
    for number in 0..DRAWS {
        let mut packet =
            Waiting { arrived: 0, length: 1000, payload: tagged(0, parameters.ecn, number.into()) };
        dropped += u32::from(queue.admit(&mut packet, &mut log).is_err());
    }
    let share = |count: f64| count / f64::from(DRAWS);
    (share(log.stats.marked as f64), share(f64::from(dropped)))
}

/// One over the mean distance of marks that are uniformly spaced: `P(X > n) = 1 - n p`.
fn spaced(probability: f64) -> f64 {
    let longest = (1.0 / probability).floor() as u64;
    1.0 / (0..=longest).map(|n| 1.0 - n as f64 * probability).sum::<f64>()
}

#[test]
fn red_marks_along_its_curve() {
    let gentle = Red { weight: 1.0, ecn: true, ..Red::new(30_000, 90_000) };
    // By hand: 0.1 (q - 30) / 60 up to 90 kB, then 0.1 + 0.9 (q - 90) / 90 up to 180 kB.
    let curve = [(36_000, 0.01), (60_000, 0.05), (84_000, 0.09), (99_000, 0.19), (126_000, 0.46)];
    for (bytes, probability) in curve {
        assert!((gentle.curve(bytes as f64) - probability).abs() < 1e-9);
        let (marked, dropped) = red_shares(gentle, bytes);
        let expected = spaced(probability);
        assert!((marked / expected - 1.0).abs() < 0.02, "{bytes} bytes: {marked}, expected {expected}");
        assert_eq!(dropped, 0.0);
        let (none, dropped) = red_shares(Red { ecn: false, ..gentle }, bytes);
        assert_eq!((none, dropped), (0.0, marked), "without ECN the same packets are dropped");
    }
    assert_eq!(red_shares(gentle, 29_999), (0.0, 0.0));
    assert_eq!(red_shares(gentle, 180_000), (0.0, 1.0), "beyond the curve even ECN does not help");
    assert_eq!(red_shares(Red { gentle: false, ..gentle }, 90_000), (0.0, 1.0));
}

#[test]
fn the_mean_of_red_follows_slowly_and_falls_while_idle() {
    let mut link = link(QueueConfig::bytes(u64::MAX).with(Discipline::Red(Red::new(15_000, 45_000))));
    // 60 packets at once: the mean stays near zero, so nothing is dropped.
    let burst = |at| (0..60).map(move |n| (at, 1500, tagged(0, false, n)));
    assert_eq!(offer(&mut link, burst(0).collect()).len(), 60);
    let overload = stream(0, false, 900 * MICROSECOND, 10 * SECOND);
    let mut link =
        super::tests::link(QueueConfig::bytes(u64::MAX).with(Discipline::Red(Red::new(15_000, 45_000))));
    offer(&mut link, overload);
    // A tenth too much is offered: RED drops that and lets the queue settle between its thresholds and the gentle end.
    let (dropped, peak) = (link.stats().dropped_aqm as f64 / 11_111.0, link.stats().queue_peak_bytes);
    assert!((dropped - 0.1).abs() < 0.02, "{dropped}");
    assert!((45_000..200_000).contains(&peak), "{peak}");
}

#[test]
fn step_marking_marks_all_beyond_the_threshold_and_nothing_else() {
    let marked = |threshold, capable| {
        let discipline = Discipline::StepMarking(StepMarking { threshold });
        let mut link = link(QueueConfig::packets(25).with(discipline));
        let departures = offer(&mut link, (0..30).map(|n| (0, 1500, tagged(0, capable, n))).collect());
        assert_eq!((departures.len(), link.stats().dropped_queue), (25, 5));
        let marked = departures.iter().filter(|packet| packet.payload.marked);
        marked.map(|packet| packet.payload.number).collect::<Vec<_>>()
    };
    let from = |first| (first..25).collect::<Vec<u64>>();
    assert_eq!(marked(StepThreshold::Bytes(15_000), true), from(10));
    assert_eq!(marked(StepThreshold::Packets(20), true), from(20));
    // Packet n is taken by the server after n ms.
    assert_eq!(marked(StepThreshold::Sojourn(5 * MILLISECOND), true), from(6));
    assert_eq!(marked(StepThreshold::Bytes(15_000), false), from(25));
}

#[test]
fn a_limit_in_packets_does_not_care_about_their_size() {
    for length in [100, 1500] {
        let mut link = link(QueueConfig::packets(10));
        let departures = offer(&mut link, (0..15).map(|n| (0, length, tagged(0, false, n))).collect());
        assert_eq!(departures.len(), 10);
    }
}

#[test]
fn a_limit_in_time_follows_the_rate() {
    let rate = RateModel::Scheduled(
        crate::Series::new(vec![(0, 12_000_000), (SECOND, 2_400_000), (2 * SECOND, 0)], Some(3 * SECOND))
            .unwrap(),
    );
    let queue = QueueConfig { limit: QueueLimit::Time(50 * MILLISECOND), discipline: Discipline::DropTail };
    let mut link: Link<Tagged> =
        Link::new(&DirectionConfig { rate, queue, ..DirectionConfig::with_delay(0) }, 1);
    let mut full = |at: Nanos| {
        link.dequeue(at);
        while link.enqueue(at, 1500, tagged(0, false, 0)).is_ok() {}
        link.queued_packets()
    };
    // 50 ms at 12 Mbit/s are 50 packets, at 2.4 Mbit/s 10, and two fit always.
    assert_eq!([0, SECOND + MILLISECOND, 2 * SECOND + MILLISECOND].map(&mut full), [50, 10, 2]);
}
