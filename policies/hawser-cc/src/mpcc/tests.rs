use std::sync::Arc;

use hawser_policy::{LimitedBy, PathId, Registry};

use super::utility::utility;
use super::*;
use crate::testing::bottleneck::{BDP, Link, Network, RTT, alone, beside, measure};
use crate::testing::{DATAGRAM, ack, init, loss, registry, sibling, snapshot};

/// Those of a text such as `mpcc,variant=loss`.
pub(super) fn settings(spec: &str) -> Settings {
    let spec: hawser_policy::PolicySpec = spec.parse().expect("a policy");
    let parameters = Parameters::read(&info().parameters, &spec).expect("parameters that exist");
    Settings::read(&parameters)
}

fn measured(rate: f64, slope: f64, loss: f64) -> Measured {
    Measured { rate, slope, loss }
}

fn close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
}

/// By hand, for 10 Mbit/s next to 6: 16^0.9 = 2^3.6 = 12.125733; a slope of 0.02 costs 900 x 10 x 0.02 = 180, 1 % lost
/// 11.35 x 10 x 0.01 = 1.135.
#[test]
fn utility_by_hand() {
    let (latency, by_loss) = (settings("mpcc"), settings("mpcc,variant=loss"));
    close(utility(&latency, &measured(10.0, 0.02, 0.01), 6.0), 12.125_733 - 180.0 - 1.135);
    close(utility(&by_loss, &measured(10.0, 0.02, 0.01), 6.0), 12.125_733 - 1.135);
    // A slope under 0.01 is noise, and a queue that drains is no gain.
    for slope in [0.009, -0.5] {
        close(utility(&latency, &measured(10.0, slope, 0.0), 6.0), 12.125_733);
    }
}

/// The derivative of x^0.9 - 11.35 x L is zero at L = 0.9 / 11.35 x^-0.1, that is at 7.93, 6.30 and 5.00 % for 1, 10 and 100 Mbit/s.
#[test]
fn constant_loss_lowers_the_utility_from_five_to_eight_per_cent_on() {
    let settings = settings("mpcc,variant=loss");
    for (rate, threshold) in [(1.0, 0.0793), (10.0, 0.0630), (100.0, 0.0500)] {
        let rises = |loss: f64| {
            let at = |rate: f64| utility(&settings, &measured(rate, 0.0, loss), 0.0);
            at(rate * 1.001) > at(rate * 0.999)
        };
        assert!(rises(threshold - 0.0002) && !rises(threshold + 0.0002), "{rate}");
    }
}

fn controller() -> Mpcc {
    let published = Published::join(&Arc::default(), PathId::ZERO);
    Mpcc::new(settings("mpcc"), &init(10_000), published)
}

fn sent(number: u64, at_micros: u64, limited_by: LimitedBy) -> Sent {
    let bytes = u64::from(DATAGRAM);
    Sent::default().with(|sent| {
        sent.now = Time::from_micros(at_micros);
        sent.packet_number = number;
        sent.bytes = bytes;
        sent.bytes_in_flight = bytes;
        sent.limited_by = limited_by;
    })
}

fn acknowledge(mpcc: &mut Mpcc, number: u64, at_micros: u64) {
    let heard = ack(Time::from_micros(at_micros), 1_000, RTT)
        .with(|ack| (ack.largest_acked, ack.settled) = (number, number + 1));
    mpcc.on_ack(&heard, &Siblings::NONE);
}

/// 10 datagrams in 40 ms are 2 Mbit/s, one each 4 ms. Packets 1 to 11 are sent in that rhythm from 0 to 40 ms, and acknowledged.
fn first_interval(mpcc: &mut Mpcc, held_back: Option<u64>) {
    acknowledge(mpcc, 0, 0);
    for number in 1..=14 {
        let limited_by = if held_back == Some(number) { LimitedBy::Application } else { LimitedBy::Nothing };
        mpcc.on_sent(&sent(number, 4_000 * (number - 1), limited_by));
    }
    for number in 1..=14 {
        acknowledge(mpcc, number, 40_000 + 4_000 * (number - 1));
    }
}

#[test]
fn begins_with_the_initial_window_and_doubles_once_an_interval_is_known() {
    let mut mpcc = controller();
    assert_eq!((mpcc.window(), mpcc.pacing_rate()), (10_000, None));
    first_interval(&mut mpcc, None);
    assert_eq!(mpcc.pacing_rate(), Some(Rate::from_megabits_per_second(4)));
    // Twice what is sent in a round trip.
    assert_eq!(mpcc.window(), 40_000);
}

/// An interval in which the application had nothing to send restarts: it ends later, and is not known yet.
#[test]
fn what_the_application_holds_back_teaches_nothing() {
    let mut mpcc = controller();
    first_interval(&mut mpcc, Some(6));
    assert_eq!(mpcc.pacing_rate(), Some(Rate::from_megabits_per_second(2)));
    // One that is always held back never teaches.
    for number in 15..1_000 {
        mpcc.on_sent(&sent(number, 40_000 * number, LimitedBy::Application));
        acknowledge(&mut mpcc, number, 40_000 * (number + 1));
    }
    assert_eq!(mpcc.pacing_rate(), Some(Rate::from_megabits_per_second(2)));
}

#[test]
fn persistent_congestion_leaves_the_minimum_window_and_another_network_the_initial_one() {
    let mut mpcc = controller();
    first_interval(&mut mpcc, None);
    mpcc.on_loss(&loss(Time::from_millis(90), LossCause::Persistent, true), &Siblings::NONE);
    // Two datagrams in 40 ms, and twice that may be in flight.
    assert_eq!((mpcc.window(), mpcc.pacing_rate()), (4_000, Some(Rate::from_bits_per_second(400_000))));
    mpcc.on_path_reset(Time::from_millis(100));
    assert_eq!((mpcc.window(), mpcc.pacing_rate()), (10_000, None));
}

/// 10 Mbit/s were delivered, 80 kB per 50 ms are 12.8: the path goes on at 10, below it or above it by a step.
#[test]
fn takes_over_what_the_path_delivered() {
    let rates = Arc::default();
    let mut start = init(10_000);
    start.snapshot = Some(snapshot());
    let mpcc = Mpcc::new(settings("mpcc"), &start, Published::join(&rates, PathId::ZERO));
    assert!(!mpcc.in_slow_start());
    let rate = mpcc.sending().expect("known from the snapshot");
    assert!((rate - 9.5).abs() < 1e-9 || (rate - 10.5).abs() < 1e-9, "{rate}");
}

/// Paths that cannot send do not count, nor does a controller that is gone.
#[test]
fn siblings_rates_are_those_that_they_published_last() {
    let rates = Arc::default();
    let [first, second, third] = [0, 1, 2].map(|path| Published::join(&rates, PathId(path)));
    first.set(5.0);
    second.set(7.0);
    third.set(11.0);
    let mut paths = [sibling(0, 10, 40), sibling(1, 10, 40), sibling(2, 10, 40)];
    close(first.others(&Siblings { own: PathId(0), paths: &paths }), 18.0);
    paths[2].usable = false;
    close(first.others(&Siblings { own: PathId(0), paths: &paths }), 7.0);
    let successor = Published::join(&rates, PathId(1));
    successor.set(3.0);
    drop(second);
    close(first.others(&Siblings { own: PathId(0), paths: &paths }), 3.0);
}

/// The factory of one connection, whose controllers publish their rates for each other.
fn of_connection(registry: &Registry, spec: &str) -> Arc<dyn ControllerFactory> {
    let factory = registry.congestion(spec).expect("registered");
    factory.for_connection(Side::Server, 0).expect("controllers of a connection share rates")
}

/// Adds paths of one connection over these links.
fn add_connection(network: &mut Network, spec: &str, connection: usize, links: &[usize]) {
    let factory = of_connection(&registry(), spec);
    for link in links {
        let forever = (Time::ZERO, Time::FAR_FUTURE);
        network.add(|init| factory.build(init), (*link, connection), RTT, forever);
    }
}

#[test]
fn alone_it_fills_the_link_and_by_latency_hardly_queues() {
    for (spec, most_queued) in [("mpcc", 10.0), ("mpcc,variant=loss", f64::INFINITY)] {
        for (megabits, buffer) in [(40.0, BDP), (40.0, 8 * BDP), (10.0, BDP / 4), (100.0, BDP)] {
            let network = measure(alone(spec, Link::new(megabits, buffer)), 20, 40);
            let (used, queued) = (network.utilisation(megabits), network.mean_wait(0));
            println!(
                "{spec}, {megabits} Mbit/s, {buffer}: {used:.3} used, {queued:.1} ms, {:.4} lost",
                network.loss(0)
            );
            assert!(used >= 0.9 && queued <= most_queued, "{spec}, {megabits} Mbit/s: {used}, {queued} ms");
        }
    }
}

#[test]
fn two_flows_become_fair() {
    for spec in ["mpcc", "mpcc,variant=loss"] {
        let network = measure(beside([spec, spec], Link::new(40.0, BDP)), 60, 120);
        println!("{spec}: {:.3}, {:.2}, {:.2}", network.jain(), network.goodput(0), network.goodput(1));
        assert!(network.jain() > 0.9, "{spec}: {}", network.jain());
        assert!(network.utilisation(40.0) > 0.85, "{spec}: {}", network.utilisation(40.0));
    }
}

/// At 40 Mbit/s the utility rises with the rate up to 5.5 % of loss that does not depend on it.
#[test]
fn random_loss_below_the_threshold_does_not_collapse_it_and_above_it_does() {
    for spec in ["mpcc", "mpcc,variant=loss"] {
        let used = |loss: f64| {
            let network = measure(alone(spec, Link::new(40.0, BDP).with_loss(loss)), 20, 60);
            network.utilisation(40.0)
        };
        let [none, little, much] = [0.0, 0.02, 0.12].map(used);
        println!("{spec}: {none:.3} without loss, {little:.3} with 2 %, {much:.3} with 12 %");
        assert!(little > 0.6, "{spec}: {little}");
        assert!(much < 0.3, "{spec}: {much}");
    }
}

#[test]
fn over_links_of_their_own_paths_fill_both() {
    let mut network = Network::new(vec![Link::new(20.0, BDP), Link::new(10.0, BDP)]);
    add_connection(&mut network, "mpcc", 0, &[0, 1]);
    let network = measure(network, 30, 60);
    println!("{:.2} and {:.2}", network.goodput(0), network.goodput(1));
    assert!(network.goodput(0) > 0.85 * 20.0 && network.goodput(1) > 0.75 * 10.0);
}

/// Ten packets of an interval, one each millisecond from `first` ms on.
fn interval(first: u64) -> Interval {
    let mut interval = Interval::begin(&sent(first, 1_000 * first, LimitedBy::Nothing));
    (first + 1..first + 10)
        .for_each(|number| interval.add(&sent(number, 1_000 * number, LimitedBy::Nothing)));
    interval.end(Time::from_millis(first + 10));
    interval
}

/// Of two intervals that the path sends one after the other all losses may be found at once, when the queue that dropped them has
/// drained: both have them.
#[test]
fn losses_found_at_once_belong_to_the_intervals_they_were_sent_in() {
    let (mut first, mut second, mut third) = (interval(1), interval(11), interval(21));
    let found = loss(Time::from_millis(60), LossCause::Loss, true).with(|loss| {
        (loss.smallest_lost, loss.largest_lost) = (6, 20);
        (loss.packets, loss.bytes) = (9, 9 * u64::from(DATAGRAM));
    });
    [&mut first, &mut second, &mut third].into_iter().for_each(|interval| interval.on_loss(&found));
    let lost = [first, second, third].map(|interval| interval.measured().expect("it took time").loss);
    assert!((lost[0] - 0.3).abs() < 1e-3 && (lost[1] - 0.6).abs() < 1e-3 && lost[2] == 0.0, "{lost:?}");
}

/// What is lost is found by time there, an eighth of a round trip after what was sent next or more.
#[test]
fn where_packets_overtake_each_other_an_interval_is_known_when_all_its_packets_are() {
    let interval = interval(1);
    let heard = |number: u64, settled: u64| {
        ack(Time::from_millis(60), 1_000, RTT)
            .with(|ack| (ack.largest_acked, ack.settled, ack.reorders) = (number, settled, true))
    };
    assert!(!interval.is_known(&heard(40, 10)) && interval.is_known(&heard(40, 11)));
}
