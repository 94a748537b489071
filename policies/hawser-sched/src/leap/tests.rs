use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::time::Duration;

use hawser_learn::Noise;
use hawser_policy::{
    Assignment, CongestionController, Decision, Loss, LossCause, PacketReport, PathId, ProtectionPolicy,
    ProtectionView, QueueView, Reliability, Scheduler, Segment, SegmentKind, Selection, SendQueue, SendView,
    Siblings, StreamId, Time,
};

use super::controller::LeapController;
use super::forecast::{Arrival, dispersion};
use super::protection::LeapProtection;
use super::scheduler::LeapScheduler;
use super::state::Shared;
use super::*;
use crate::qc_mab_block_failure;
use crate::testing::{path, view_at};

const BYTES: u64 = 1_000;

fn share(weight: f64, on_time: f64) -> LeapShare {
    LeapShare { weight, on_time }
}

/// The golden values of equation (4.1): with 3 repair symbols for 10 packets and 5 % of loss 0.31 % of blocks fail, with 2 more
/// than 1 %.
#[test]
fn on_a_single_path_parity_is_the_least_that_equation_4_1_allows() {
    for (sources, loss, reliability) in [
        (10, 0.05, 0.99),
        (10, 0.10, 0.99),
        (20, 0.05, 0.999),
        (5, 0.01, 0.9999),
        (50, 0.10, 0.99),
        (1, 0.02, 0.99),
    ] {
        let repairs = leap_parity(sources, &[share(1.0, 1.0 - loss)], reliability, 32);
        let fails = |repairs| qc_mab_block_failure(sources, repairs, loss);
        assert!(fails(repairs) <= 1.0 - reliability, "{sources} {loss}: {repairs}");
        assert!(repairs == 0 || fails(repairs - 1) > 1.0 - reliability, "{sources} {loss}: {repairs}");
    }
    assert_eq!(leap_parity(10, &[share(1.0, 0.95)], 0.99, 32), 3);
    assert_eq!(leap_parity(10, &[share(1.0, 1.0)], 0.99, 32), 0);
}

/// No more than there are source symbols, nor than may be.
#[test]
fn parity_that_cannot_suffice_is_bounded() {
    assert_eq!(leap_parity(4, &[share(1.0, 0.1)], 0.99, 32), 4);
    assert_eq!(leap_parity(60, &[share(1.0, 0.1)], 0.99, 32), 32);
    assert_eq!(leap_parity(0, &[], 0.99, 32), 0);
}

/// Eight packets over a sound path and two over one that delivers half: what counts is where the packets go.
#[test]
fn parity_goes_by_the_split() {
    let sound = leap_parity(10, &[share(4.0, 1.0), share(1.0, 0.5)], 0.99, 32);
    let half = leap_parity(10, &[share(1.0, 1.0), share(4.0, 0.5)], 0.99, 32);
    // Two on the bad path: two repair symbols, on the good path, would do for certain.
    assert_eq!(sound, 2);
    assert!(half > 5, "{half}");
    let swapped = leap_parity(10, &[share(1.0, 0.5), share(4.0, 1.0)], 0.99, 32);
    assert_eq!(swapped, sound);
}

/// Estimate 9.15, Z = 0.769, Q = 0.25, R = 2 (the filter's step of the specification), 7.5 steps of 20 ms to the deadline.
#[test]
fn the_forecast_is_the_fifth_percentile() {
    let noise = Noise { process: 0.25, measurement: 2.0 };
    let low = leap_low_forecast(9.153_846_2, 0.769_230_8, noise, 7.5, 1.645, 0.1);
    assert!((low - (9.153_846_2 - 1.645 * f64::sqrt(4.644_230_8))).abs() < 1e-9, "{low}");
    let noisy = Noise { process: 25.0, measurement: 200.0 };
    assert_eq!(leap_low_forecast(10.0, 1.0, noisy, 7.5, 1.645, 0.1), 1.0, "not below its floor");
}

/// A path that carries the same all the time is trusted more and more.
#[test]
fn the_forecast_of_a_steady_path_approaches_its_rate() {
    let (mut forecast, parameters) = (LeapForecast::default(), LeapParameters::default());
    assert_eq!(forecast.low(&parameters), None);
    let at = |count: u64, forecast: &mut LeapForecast| {
        (0..count).for_each(|step| forecast.update(Time::from_millis(20 * step), 8e6));
        forecast.low(&parameters).expect("there are samples")
    };
    let first = at(1, &mut forecast);
    assert!((1e6..6e6).contains(&first), "{first}");
    let later = at(80, &mut forecast);
    assert!((7.9e6..=8e6).contains(&later), "{later}");
}

fn arrival(number: u64, sent_us: u64, arrived_us: u64) -> Arrival {
    let at = |us| Time::ZERO + Duration::from_micros(us);
    Arrival { number, bytes: BYTES, sent_at: at(sent_us), arrived_at: at(arrived_us) }
}

/// Four packets that left together arrive 2 ms apart: 4 Mbit/s. Paced ones arrive as they left, and a hole ends a train.
#[test]
fn trains_tell_the_rate_and_paced_packets_do_not() {
    let train: Vec<Arrival> = (0..4).map(|n| arrival(n, 10 * n, 20_000 + 2_000 * n)).collect();
    let paced = (4..20).map(|n| arrival(n, 5_000 * n, 20_000 + 5_000 * n));
    let rate = |arrivals: Vec<Arrival>| dispersion(&mut arrivals.clone());
    assert_eq!(rate(train.clone()), Some(4e6));
    assert_eq!(rate(train.iter().rev().copied().chain(paced.clone()).collect()), Some(4e6));
    assert_eq!(rate(paced.collect()), None);
    // The second is missing: two packets with one between them are no train, the last two are.
    let hole = [train[0], train[2], train[3]].to_vec();
    assert_eq!(rate(hole), Some(4e6));
    assert_eq!(rate(vec![train[0], train[2]]), None);
    // Not spread by any queue.
    assert_eq!(rate((0..4).map(|n| arrival(n, 90 * n, 20_000 + 90 * n)).collect()), None);
}

fn acked(shared: &Shared, path: u32, n: u64, sent_us: u64, delay_us: u64) {
    let sent_at = Time::ZERO + Duration::from_micros(sent_us);
    shared.on_acked(&report(path, n, sent_at, Some(Duration::from_micros(delay_us))));
}

fn report(
    path: u32,
    packet_number: u64,
    sent_at: Time,
    one_way_delay: Option<Duration>,
) -> PacketReport<'static> {
    PacketReport::default().with(|report| {
        report.now = sent_at + Duration::from_millis(40);
        report.path = PathId(path);
        report.packet_number = packet_number;
        report.bytes = BYTES;
        report.sent_at = sent_at;
        report.bytes_in_flight_at_send = BYTES;
        report.ranges = &[];
        report.one_way_delay = one_way_delay;
    })
}

/// Paths 0 and 1, on which trains of four have told 8 and 2 Mbit/s so often that the forecasts are these.
fn known() -> Shared {
    let shared = Shared::new(LeapParameters::default());
    for (path, gap) in [(0, 1_000), (1, 4_000)] {
        for train in 0..100u64 {
            for n in 0..4 {
                acked(&shared, path, 4 * train + n, 25_000 * train, 20_000 + gap * n);
            }
        }
    }
    shared
}

#[test]
fn the_rate_is_the_forecast_and_losses_do_not_change_it() {
    let shared = known();
    let init = ControllerInit::new(PathId(0), Time::ZERO, SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
        .with(|init| init.max_datagram_size = 1_200);
    let unknown = LeapController::new(shared.clone(), 1.25, &init.clone().with(|init| init.path = PathId(7)));
    assert_eq!((unknown.window(), unknown.pacing_rate()), (12_000, None));
    let mut controller = LeapController::new(shared, 1.25, &init);
    let rate = controller.pacing_rate().expect("it is known").megabits_per_second();
    assert!((7.5..=8.0).contains(&rate), "{rate}");
    controller.on_loss(
        &Loss::new(Time::ZERO, LossCause::Loss).with(|loss| {
            loss.bytes = 10_000;
            loss.packets = 10;
            loss.largest_sent_at = Time::ZERO;
            loss.largest_lost = 10;
            loss.bytes_in_flight = 0;
            loss.inflight_at_send = 20_000;
            loss.lost_since_sent = 10_000;
            loss.limited_by = hawser_policy::LimitedBy::Nothing;
            loss.new_epoch = true;
        }),
        &Siblings::NONE,
    );
    assert_eq!(controller.pacing_rate().map(|rate| rate.megabits_per_second()), Some(rate));
}

/// The peer's clock is an hour ahead, and of some packets it does not tell the time: these are no packets that came an hour early,
/// nor were the others late.
#[test]
fn delays_with_and_without_receive_times_are_not_mixed() {
    let shared = Shared::new(LeapParameters::default());
    const HOUR: u64 = 3_600_000_000;
    for n in 0..400u64 {
        match n % 4 {
            0 => shared.on_acked(&report(0, n, Time::from_millis(10 * n), None)),
            // Trains of three, 2 ms apart.
            packet => acked(&shared, 0, n, 40_000 * (n / 4), HOUR + 20_000 + 2_000 * packet),
        }
    }
    assert_eq!(shared.on_time(PathId(0), Duration::from_millis(40)), 1.0);
    let low = shared.low(PathId(0)).expect("there were trains");
    assert!((3.9e6..=4e6).contains(&low), "{low}");
}

/// A queue of these segments.
struct Queue(Vec<Segment<'static>>);

impl SendQueue for Queue {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let _all = self.0.iter().try_for_each(visit);
    }
}

/// Bytes go as the forecasts, four to one.
#[test]
fn data_is_split_in_proportion_to_the_forecasts() {
    let mut scheduler = LeapScheduler::new(known(), LeapParameters::default());
    let mut paths = [path(0, 40, 100_000), path(1, 40, 100_000)];
    let queue = QueueView::default().with(|queue| queue.unsent = 1_000_000);
    for _ in 0..500 {
        let decision = scheduler.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
        let Decision::Send(assignment) = decision else { panic!("{decision:?}") };
        paths[assignment.path.0 as usize].bytes_sent += BYTES;
    }
    let share = paths[0].bytes_sent as f64 / 500e3;
    assert!((0.78..0.82).contains(&share), "{share}");
    // One that could send nothing for long does not get everything afterwards.
    paths[0].bytes_sent += 10_000_000;
    let mut turns = [0; 2];
    for _ in 0..500 {
        let decision = scheduler.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
        let Decision::Send(assignment) = decision else { panic!("{decision:?}") };
        turns[assignment.path.0 as usize] += 1;
        paths[assignment.path.0 as usize].bytes_sent += BYTES;
    }
    // 150 ms of 2 Mbit/s are 37 packets; of the others a fifth.
    assert!((110..150).contains(&turns[1]), "{turns:?}");
}

#[test]
fn what_was_lost_is_not_retransmitted_in_the_second_half_of_the_deadline() {
    let mut scheduler = LeapScheduler::new(known(), LeapParameters::default());
    let paths = [path(0, 40, 100_000), path(1, 40, 100_000)];
    let segment = |stream, retransmission| {
        Segment::plain(StreamId(stream), 0..BYTES).with(|segment| {
            segment.retransmission = retransmission;
            segment.deadline = Some(Time::from_millis(1_000));
            segment.reliability = Reliability::UntilDeadline;
        })
    };
    let segments = Queue(vec![segment(3, true), segment(7, false)]);
    let mut ask = |milliseconds, segments: &Queue, queue| {
        let view = SendView::new(Time::from_millis(milliseconds), &paths, queue, segments);
        scheduler.schedule(&view, &mut Vec::new())
    };
    let both = QueueView::default().with(|queue| {
        queue.unsent = BYTES;
        queue.retransmit = BYTES;
    });
    assert_eq!(ask(900, &segments, both), Decision::Send(Assignment::next(PathId(0))));
    let new = Selection::Range { stream: StreamId(7), start: 0, end: BYTES };
    let expected = Decision::Send(Assignment::next(PathId(0)).with(|assignment| assignment.selection = new));
    assert_eq!(ask(930, &segments, both), expected);
    let lost = both.with(|queue| queue.unsent = 0);
    assert_eq!(ask(930, &Queue(vec![segment(3, true)]), lost), Decision::Wait(None));
    // Repair symbols come first, one by one.
    let repair = lost.with(|queue| queue.repair = 1_200);
    let Decision::Send(assignment) = ask(930, &segments, repair) else { panic!() };
    assert_eq!((assignment.selection, assignment.max_bytes), (Selection::Repair, 1_000));
}

/// A layer of ten packets over both paths: as many repair symbols as the losses of the two ask for, across paths.
#[test]
fn layers_are_protected_as_strongly_as_paths_lose() {
    let shared = known();
    let mut protection = LeapProtection::new(shared.clone(), LeapParameters::default());
    let paths = [path(0, 40, 100_000), path(1, 40, 100_000)];
    let mut ask = |kind| {
        let segment = Segment::plain(StreamId(2), 0..8_320).with(|segment| {
            segment.id = Some(1);
            segment.kind = kind;
        });
        let view = ProtectionView::new(Time::ZERO, PathId(0), &paths, &segment);
        protection.protect(&view)
    };
    assert_eq!(ask(SegmentKind::DeltaFrame), None, "nothing is lost");
    for n in 0..1_000 {
        let sent_at = Time::from_millis(10_000 + n);
        // One packet in twenty, on the path that carries four fifths.
        match n % 20 {
            19 => shared.on_lost(&report(0, 1_000 + n, sent_at, None)),
            _ => shared.on_acked(&report(0, 1_000 + n, sent_at, Some(Duration::from_millis(20)))),
        }
    }
    let answer = ask(SegmentKind::DeltaFrame).expect("it is protected");
    assert_eq!((answer.source_symbols, answer.across_paths, answer.path), (10, true, None));
    assert!((2..=3).contains(&answer.repair_symbols), "{answer:?}");
    assert_eq!(ask(SegmentKind::Signalling), None);
    // A path on which everything is late delivers nothing in time.
    for n in 0..100 {
        shared.on_acked(&report(
            1,
            1_000 + n,
            Time::from_millis(20_000 + n),
            Some(Duration::from_millis(300)),
        ));
    }
    let late = ask(SegmentKind::DeltaFrame).expect("it is protected").repair_symbols;
    assert!(late > answer.repair_symbols, "{late}");
}
