use std::time::Duration;

use hawser_policy::{
    Assignment, Decision, Event, PathChange, PathId, PathView, PolicyKind, ProtectionPolicy, ProtectionView,
    Scheduler, Segment, Selection, StreamId, Time,
};

use super::gaussian::Gaussian;
use super::*;
use crate::testing::{next, path, skips, view, view_at};

fn gaussian(mean: f64, deviation: f64) -> Gaussian {
    Gaussian { mean, variance: deviation * deviation }
}

fn density(of: Gaussian, x: f64) -> f64 {
    let deviation = of.variance.sqrt();
    let z = (x - of.mean) / deviation;
    (-0.5 * z * z).exp() / (deviation * (2.0 * std::f64::consts::PI).sqrt())
}

/// Mean and variance of the larger one by Simpson's rule over a grid of both: no formula of the code in it.
fn by_integration(one: Gaussian, two: Gaussian) -> (f64, f64) {
    const STEPS: usize = 800;
    let points = |of: Gaussian| {
        let (from, width) = (of.mean - 8.0 * of.variance.sqrt(), 16.0 * of.variance.sqrt() / STEPS as f64);
        (0..=STEPS).map(move |at| {
            let weight = match at {
                0 | STEPS => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let x = from + at as f64 * width;
            (x, weight * width / 3.0 * density(of, x))
        })
    };
    let (mut first, mut second) = (0.0, 0.0);
    for (x, of_x) in points(one) {
        for (y, of_y) in points(two) {
            first += x.max(y) * of_x * of_y;
            second += x.max(y).powi(2) * of_x * of_y;
        }
    }
    (first, second - first * first)
}

/// By hand: for two of equal mean `E max = m + t / sqrt(2 pi)`; of two standard ones the variance is `1 - 1 / pi`; with
/// `a = 1`, `Phi(1) = 0.8413447461` and `phi(1) = 0.2419707245`.
#[test]
fn the_larger_of_two_has_the_mean_and_variance_of_the_formula() {
    let standard = gaussian(0.0, 1.0);
    assert!((standard.expected_max(standard) - 0.564_189_583_5).abs() < 1e-9);
    assert!((standard.max(standard).variance - 0.681_690_113_8).abs() < 1e-9);
    // Deviations of 3 and 4 make 5; means 10 and 5 are one of it apart: 10 * 0.8413 + 5 * 0.1587 + 5 * 0.2420.
    let (one, two) = (gaussian(10.0, 3.0), gaussian(5.0, 4.0));
    assert!((one.expected_max(two) - 10.416_577_353_0).abs() < 1e-8, "{}", one.expected_max(two));
    for (one, two) in
        [(one, two), (two, one), (standard, gaussian(0.5, 0.1)), (standard, gaussian(-3.0, 2.0))]
    {
        let (mean, variance) = by_integration(one, two);
        let both = one.max(two);
        assert!((one.expected_max(two) - mean).abs() < 2e-4, "{one:?} {two:?}: {mean}");
        assert!((both.mean - mean).abs() < 2e-4, "{one:?} {two:?}: {both:?}, {mean}");
        assert!((both.variance - variance).abs() < 1e-3, "{one:?} {two:?}: {both:?}, {variance}");
    }
}

/// Without variance, or far apart, the larger one is the larger one.
#[test]
fn what_is_certain_stays_as_it_is() {
    let fixed = |mean| gaussian(mean, 0.0);
    assert_eq!(fixed(1.0).expected_max(fixed(2.0)), 2.0);
    assert_eq!(fixed(1.0).max(fixed(1.0)), fixed(1.0));
    assert_eq!(gaussian(1.0, 0.1).max(gaussian(5.0, 0.1)), gaussian(5.0, 0.1));
}

fn varying(id: u32, rtt_ms: u64, variance_ms: u64) -> PathView {
    path(id, rtt_ms, 50_000).with(|path| path.rtt_variance = Duration::from_millis(variance_ms))
}

/// The first packet has nobody before it, so that the lower mean wins: 10.2 ms against 12.2. Then it counts what the path may do to
/// the order. Its deviation is 30 ms sqrt(pi / 2) / 2 = 18.8 ms: E max(10.2, 10.2) is 20.8 ms there, and E max(10.2, 12.2) 18.8 ms on
/// the path that always takes 12.2.
#[test]
fn a_path_of_varying_delay_loses_to_one_of_a_slightly_larger_mean() {
    let paths = [varying(1, 20, 30), varying(2, 24, 0)];
    let mut scheduler = SedpfScheduler::default();
    assert_eq!(scheduler.schedule(&view(&paths, 1_000), &mut Vec::new()), next(1));
    assert_eq!(scheduler.schedule(&view(&paths, 1_000), &mut Vec::new()), next(2));
    // Where delays do not vary the lower mean wins again.
    let paths = [varying(1, 20, 0), varying(2, 24, 0)];
    let mut scheduler = SedpfScheduler::default();
    for _ in 0..2 {
        assert_eq!(scheduler.schedule(&view(&paths, 1_000), &mut Vec::new()), next(1));
    }
}

/// A second later all that was sent has come, and nothing waits for it; what was expected of paths that change is forgotten.
#[test]
fn what_is_in_order_by_now_does_not_count() {
    let paths = [varying(1, 20, 30), varying(2, 24, 0)];
    let queue = view(&paths, 1_000).queue;
    let mut scheduler = SedpfScheduler::default();
    scheduler.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
    let mut later = scheduler;
    assert_eq!(later.schedule(&view_at(Time::from_secs(1), &paths, queue), &mut Vec::new()), next(1));
    let gone = Event::Path { now: Time::ZERO, path: PathId(3), change: PathChange::Abandoned };
    scheduler.on_event(&gone, &mut Vec::new());
    assert_eq!(scheduler.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new()), next(1));
}

/// As EDPF where nothing varies: 20.4 ms lie between t = 10.2 and t = 30.6, in which the fast path delivers 102 kB. They are
/// counted in steps that grow by an eighth.
#[test]
fn the_slow_path_leaves_what_arrives_sooner_elsewhere() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000)];
    let decision = SedpfScheduler::default().schedule(&view(&paths, 1_000_000), &mut Vec::new());
    let Decision::Send(Assignment { selection: Selection::Skip(gap), path, .. }) = decision else {
        panic!("{decision:?}")
    };
    assert!(path == PathId(2) && (102_000..=115_000).contains(&gap), "{gap}");
    assert_eq!(decision, skips(2, gap, 1_000_000));
    let few = SedpfScheduler::default().schedule(&view(&paths, 100_000), &mut Vec::new());
    assert_eq!(few, Decision::Wait(None));
}

/// The same path with a delay that varies gets bytes that lie further behind.
#[test]
fn a_path_of_varying_delay_gets_later_bytes() {
    let gap = |variance_ms| {
        let paths = [path(1, 20, 0), varying(2, 60, variance_ms)];
        match SedpfScheduler::default().schedule(&view(&paths, 10_000_000), &mut Vec::new()) {
            Decision::Send(Assignment { selection: Selection::Skip(gap), .. }) => gap,
            other => panic!("{other:?}"),
        }
    };
    assert!(gap(30) > gap(0) + 20_000, "{} {}", gap(30), gap(0));
}

#[test]
fn a_coded_packet_goes_where_it_is_expected_first() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000), path(3, 40, 50_000)];
    let queue = view(&paths, 1_000_000).queue.with(|queue| queue.repair = 1_200);
    let decision = SedpfScheduler::default().schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
    let (selection, max_bytes) = (Selection::Repair, crate::testing::DATAGRAM);
    let expected = Assignment::next(PathId(3)).with(|assignment| {
        assignment.selection = selection;
        assignment.max_bytes = max_bytes;
    });
    assert_eq!(decision, Decision::Send(expected));
}

/// `ceil(1 / (p + 0.02)) - 1`, by hand.
#[test]
fn a_coded_packet_follows_after_as_many_packets_as_the_rate_says() {
    let of = |loss| sedpf_source_symbols(loss, 0.02);
    let expected = [(0.0, 49), (0.01, 33), (0.03, 19), (0.05, 14), (0.08, 9), (0.1, 8), (0.48, 1), (1.0, 1)];
    for (loss, symbols) in expected {
        assert_eq!(of(loss), symbols, "{loss}");
        // Of all packets no more are coded than the rate says.
        let coded = 1.0 / f64::from(symbols + 1);
        assert!(loss >= 0.48 || coded <= loss + 0.02 + 1e-12, "{loss}");
    }
    assert_eq!(sedpf_source_symbols(0.0, 0.016), 62);
    assert_eq!(sedpf_source_symbols(0.0, 0.0), 64);
}

/// 100 kB in 20 ms with 2 % of loss and as much in 60 ms with 6 %: three quarters of the packets go on the first path, so that 3 %
/// are lost, and a coded packet follows after 19. 50 packets are in flight on each: three windows of 19 are all that 64 packets
/// allow. They leave within 19 kB / 6.67 MB/s, of which twice is 5.7 ms.
#[test]
fn the_code_goes_by_the_loss_of_all_paths_and_by_what_is_in_flight() {
    let mut paths = [path(1, 20, 50_000), path(2, 60, 50_000)];
    (paths[0].loss_ppm, paths[1].loss_ppm) = (20_000, 60_000);
    let segment = Segment::plain(StreamId(0), 0..1_000);
    let protect = |paths: &[PathView]| {
        let view = ProtectionView::new(Time::ZERO, PathId(1), paths, &segment);
        SedpfProtection::new(0.02).protect(&view).expect("everything is protected")
    };
    let all = protect(&paths);
    assert_eq!((all.source_symbols, all.repair_symbols), (57, 3));
    assert_eq!(all.span.as_micros(), 5_700);
    assert!(all.across_paths && all.path.is_none());
    // Ten packets in flight are one window.
    paths.iter_mut().for_each(|path| path.bytes_in_flight = 5_000);
    let few = protect(&paths);
    assert_eq!((few.source_symbols, few.repair_symbols), (19, 1));
}

/// The code has an entry of its own, for other sets and schedulers. What the set makes of it is seen over links
/// (`hawser-sim`, `tests/sedpf.rs`).
#[test]
fn the_code_is_registered_by_itself() {
    let mut registry = Registry::new();
    Sedpf::register(&mut registry);
    assert_eq!(registry.names(PolicyKind::Protection).collect::<Vec<_>>(), ["sedpf"]);
    assert!(
        registry.protection("sedpf,margin=0.05").is_ok() && registry.protection("sedpf,margin=0").is_err()
    );
}
