use hawser_policy::{Forecast, HandOver, LinkDirection, LinkId, LinkState};

use super::*;
use crate::testing::bottleneck::{BDP, Link, Network, RTT};
use crate::testing::{ack, build_with, init, loss, registry, sibling, snapshot, spurious};

/// As lists verify it: the parts that are Hawser's off.
const PLAIN: &str = "maco,safety_valve=off,first_rtt=40ms";

fn satellite(number: u64) -> AttachmentPoint {
    AttachmentPoint::Satellite(number)
}

/// A satellite that carries so many Mbit/s, 10 ms up and down.
fn below(number: u64, megabits: u64) -> LinkState {
    let direction = LinkDirection::default().with(|direction| {
        direction.capacity = Some(Rate::from_megabits_per_second(megabits));
        direction.loss = None;
        direction.delay = Some(Duration::from_millis(10));
    });
    LinkState::default().with(|state| {
        state.uplink = direction;
        state.downlink = direction;
        state.attached_to = Some(satellite(number));
    })
}

fn tell(controller: &mut dyn CongestionController, now: Time, state: &LinkState, forecasts: &[Forecast]) {
    controller
        .on_link_update(&LinkUpdate::new(now, LinkId(0), state).with(|update| update.forecasts = forecasts));
}

/// The factory of a connection.
fn connection(spec: &str) -> Arc<dyn ControllerFactory> {
    let factory = registry().congestion(spec).unwrap();
    factory.for_connection(Side::Client, 0).expect("controllers of a connection share state")
}

/// An unbounded flow of a connection with this factory, over `link`.
fn add(network: &mut Network, factory: &Arc<dyn ControllerFactory>, link: usize) -> usize {
    network.add(|init| factory.build(init), (link, 0), RTT, (Time::ZERO, Time::FAR_FUTURE))
}

/// Sends acknowledgements of a full window each round trip, without a queue.
fn rounds(controller: &mut dyn CongestionController, from: Time, count: u32, rtt: Duration) -> Time {
    let mut now = from;
    for _ in 0..count {
        now += rtt;
        for _ in 0..controller.window() / 1_000 {
            controller.on_ack(&ack(now, 1_000, rtt), &Siblings::NONE);
        }
    }
    now
}

/// Acceptance item 4: four datagrams, twice as many each round trip, an end at C^A D; rates that the sender limits itself end
/// it no sooner.
#[test]
fn the_first_path_doubles_each_round_trip_up_to_the_product() {
    let mut network = Network::new(vec![Link::new(40.0, 2 * BDP)]);
    let factory = connection("maco,safety_valve=off,first_rtt=40ms,first_window=4");
    let flow = add(&mut network, &factory, 0);
    tell(network.flows[flow].controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    let (mut windows, mut next) = (Vec::new(), Time::ZERO);
    network.run_watched(Time::from_millis(400), |network| {
        let controller = &network.flows[flow].controller;
        if network.now >= next && controller.in_slow_start() {
            windows.push(controller.window());
            next += RTT;
        }
    });
    assert_eq!(windows[0], 4_000);
    for pair in windows.windows(2).skip(1) {
        let growth = pair[1] as f64 / pair[0] as f64;
        assert!((1.7..=2.1).contains(&growth), "{windows:?}");
    }
    let threshold = network.flows[flow].controller.slow_start_threshold();
    assert!(threshold.abs_diff(BDP) <= 1_000, "{threshold}");
    assert!(!network.flows[flow].controller.in_slow_start(), "{windows:?}");
    assert!(network.loss(flow) == 0.0, "no overflow");
}

#[test]
fn a_path_with_history_begins_with_half_of_what_it_met() {
    let factory = connection(PLAIN);
    let mut first = factory.build(&init(10_000));
    tell(first.as_mut(), Time::ZERO, &below(1, 40), &[]);
    rounds(first.as_mut(), Time::ZERO, 6, RTT);
    first.on_loss(&loss(Time::from_secs(1), LossCause::EcnMark, true), &Siblings::NONE);
    let met = 2 * first.window();
    let second = |point: AttachmentPoint| {
        let mut second = factory.build(&init(10_000).with(|init| init.path = hawser_policy::PathId(1)));
        let state = below(2, 40).with(|state| state.attached_to = Some(point));
        tell(second.as_mut(), Time::from_secs(2), &state, &[]);
        (second.window(), second.slow_start_threshold())
    };
    assert_eq!(second(satellite(2)), (met.min(BDP) / 2, BDP));
    // What satellites carry says nothing of an access point.
    assert_eq!(second(AttachmentPoint::AccessPoint([2; 6])), (10_000, BDP));
    // Two minutes later the newest window is remembered still.
    tell(first.as_mut(), Time::from_secs(120), &below(3, 40), &[]);
    assert_eq!(first.window(), met.min(BDP) / 2);
}

/// A handover at 10 s to satellite 2 with half the capacity, 150 ms long, known half a second ahead.
fn coming_hand_over(controller: &mut dyn CongestionController) {
    let at = Time::from_secs(10);
    let interruption = Duration::from_millis(150);
    let hand_over = HandOver::new(at).with(|hand_over| {
        hand_over.to = Some(satellite(2));
        hand_over.interruption = Some(interruption);
    });
    let now = Time::from_millis(9_500);
    let state = below(1, 40).with(|state| state.hand_over = Some(hand_over));
    let later = Forecast::new(now + Duration::from_secs(1), below(2, 20));
    tell(controller, now, &state, &[later]);
}

#[test]
fn before_a_hand_over_the_window_falls_to_what_comes_and_quick_start_follows() {
    let mut controller = connection(PLAIN).build(&init(10_000));
    tell(controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    rounds(controller.as_mut(), Time::ZERO, 20, RTT);
    coming_hand_over(controller.as_mut());
    let before = controller.window();
    assert!(before > BDP && controller.next_timeout() == Some(Time::from_millis(10_150)));
    controller.on_ack(&ack(Time::from_millis(9_900), 1_000, RTT), &Siblings::NONE);
    assert!(controller.window() >= before, "there is time");
    controller.on_ack(&ack(Time::from_millis(9_945), 1_000, RTT), &Siblings::NONE);
    assert_eq!((controller.window(), controller.in_slow_start()), (BDP / 2, false));
    controller.on_timeout(Time::from_millis(10_150));
    assert_eq!((controller.window(), controller.slow_start_threshold()), (10_000, BDP / 2));
    assert!(controller.in_slow_start() && controller.next_timeout().is_none());

    let mut without = connection("maco,pre_handover=off,quick_start=off").build(&init(10_000));
    tell(without.as_mut(), Time::ZERO, &below(1, 40), &[]);
    rounds(without.as_mut(), Time::ZERO, 20, RTT);
    coming_hand_over(without.as_mut());
    let before = without.window();
    without.on_ack(&ack(Time::from_millis(9_945), 0, RTT), &Siblings::NONE);
    without.on_timeout(Time::from_millis(10_150));
    assert_eq!(without.window(), before);
}

/// Trap 10 of the list: what was lost with the old satellite is not congestion on the new one.
#[test]
fn losses_of_the_old_satellite_do_not_count_on_the_new_one() {
    let mut controller = connection("maco,delay_condition=off").build(&init(10_000));
    tell(controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    rounds(controller.as_mut(), Time::ZERO, 20, RTT);
    coming_hand_over(controller.as_mut());
    controller.on_timeout(Time::from_millis(10_150));
    let lost = |sent: u64| {
        loss(Time::from_millis(10_250), LossCause::Loss, true)
            .with(|loss| loss.largest_sent_at = Time::from_millis(sent))
    };
    let window = controller.window();
    controller.on_loss(&lost(10_149), &Siblings::NONE);
    assert_eq!(controller.window(), window);
    controller.on_loss(&lost(10_160), &Siblings::NONE);
    assert_eq!(controller.window(), window / 2);
}

/// Issue (iii) of the chapter: two paths that come to one satellite have half of it each, at once.
#[test]
fn paths_on_one_satellite_share_it() {
    for (spec, share) in [(PLAIN.to_owned(), 2), (format!("{PLAIN},own_sharing=off"), 1)] {
        let factory = connection(&spec);
        let mut first = factory.build(&init(10_000));
        let mut second = factory.build(&init(10_000).with(|init| init.path = hawser_policy::PathId(1)));
        tell(first.as_mut(), Time::ZERO, &below(1, 40), &[]);
        tell(second.as_mut(), Time::ZERO, &below(2, 40), &[]);
        let now = rounds(first.as_mut(), Time::ZERO, 20, RTT);
        assert!(first.window() > BDP);
        tell(second.as_mut(), now, &below(1, 40), &[]);
        first.on_ack(&ack(now, 0, RTT), &Siblings::NONE);
        assert_eq!(first.window() == BDP / 2, share == 2, "{}", first.window());
        assert_eq!(second.slow_start_threshold(), BDP / share);
        // It leaves again: no sharing, and no sudden growth either.
        drop(second);
        let window = first.window();
        first.on_ack(&ack(now, 0, RTT), &Siblings::NONE);
        assert_eq!(first.window(), window);
    }
}

/// Of two paths on one satellite the one with more than half of it meets congestion as well.
#[test]
fn a_path_with_most_of_a_shared_satellite_reduces_its_window() {
    let factory = connection(PLAIN);
    let mut first = factory.build(&init(10_000));
    let mut second = factory.build(&init(10_000).with(|init| init.path = hawser_policy::PathId(1)));
    for controller in [&mut first, &mut second] {
        tell(controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    }
    let mut now = rounds(first.as_mut(), Time::ZERO, 20, RTT);
    // 30 of 40 Mbit/s, through a queue that grows.
    let sample = hawser_policy::DeliverySample::default().with(|sample| {
        sample.rate = Some(Rate::from_megabits_per_second(30));
        sample.delivered = 150_000;
        sample.prior_delivered = 0;
        sample.inflight_at_send = 150_000;
        sample.limited_by = hawser_policy::LimitedBy::Nothing;
    });
    for number in 0..50 {
        now += Duration::from_millis(1);
        let rtt = RTT + Duration::from_millis(number);
        first.on_ack(&ack(now, 1_000, rtt).with(|ack| ack.delivery = Some(sample)), &Siblings::NONE);
    }
    let window = first.window();
    first.on_loss(&loss(now, LossCause::Loss, true), &Siblings::NONE);
    assert_eq!(first.window(), window / 2);
}

#[test]
fn a_loss_without_a_risen_delay_leaves_the_window() {
    let mut controller = connection(PLAIN).build(&init(10_000));
    tell(controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    let now = rounds(controller.as_mut(), Time::ZERO, 20, RTT);
    let window = controller.window();
    controller.on_loss(&loss(now, LossCause::Loss, true), &Siblings::NONE);
    assert_eq!(controller.window(), window);
    controller.on_ack(&ack(now, 0, 2 * RTT), &Siblings::NONE);
    controller.on_loss(&loss(now, LossCause::Loss, false), &Siblings::NONE);
    assert_eq!(controller.window(), window / 2);
    // Once per round trip.
    controller.on_loss(&loss(now, LossCause::Loss, false), &Siblings::NONE);
    assert_eq!(controller.window(), window / 2);
    controller.on_spurious_loss(&spurious(now, Some(0)));
    assert_eq!(controller.window(), window);
}

#[test]
fn two_probe_timeouts_or_persistent_congestion_start_the_path_anew() {
    let mut controller = connection(PLAIN).build(&init(10_000));
    tell(controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    let now = rounds(controller.as_mut(), Time::ZERO, 20, RTT);
    let window = controller.window();
    controller.on_probe_timeout(now, 1);
    assert_eq!(controller.window(), window);
    controller.on_probe_timeout(now, 2);
    assert_eq!((controller.window(), controller.slow_start_threshold()), (10_000, BDP));
    controller.on_loss(&loss(now, LossCause::Persistent, true), &Siblings::NONE);
    assert!(controller.in_slow_start() && controller.window() <= 10_000);
}

/// How often the window fell by a third or more, and how often packets were dropped after two round trips without.
struct Course {
    reductions: u32,
    epochs: u32,
}

/// Runs on, and watches a flow.
fn watch(network: &mut Network, flow: usize, until: Time) -> Course {
    let mut course = Course { reductions: 0, epochs: 0 };
    let mut window = network.flows[flow].controller.window();
    let (mut last_overflow, mut dropped) = (None::<Time>, network.links[0].overflows());
    network.run_watched(until, |network| {
        let now = network.flows[flow].controller.window();
        course.reductions += u32::from(3 * now < 2 * window);
        window = now;
        if network.links[0].overflows() > dropped {
            dropped = network.links[0].overflows();
            course.epochs += u32::from(last_overflow.is_none_or(|at| network.now.since(at) > 4 * RTT));
            last_overflow = Some(network.now);
        }
    });
    course
}

/// Losses at random, no neighbours: a bulk flow fills the queue sooner or later, and is then halved by the next loss. A window of
/// 200 datagrams loses two per round trip.
#[test]
fn random_loss_is_no_congestion() {
    let goodput = |spec: &str| {
        let mut network = Network::new(vec![Link::new(40.0, BDP).with_loss(0.01)]);
        let factory = registry().congestion(spec).unwrap();
        let flow = network.add(|init| factory.build(init), (0, 0), RTT, (Time::ZERO, Time::FAR_FUTURE));
        tell(network.flows[flow].controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
        let course = watch(&mut network, flow, Time::from_secs(60));
        let losses = network.loss(flow) * network.flows[flow].sent as f64;
        (network.goodput(flow), f64::from(course.reductions) / losses)
    };
    let (maco, halved) = goodput(PLAIN);
    let (olia, _) = goodput("olia");
    assert!(maco > 0.75 * 40.0 && halved < 0.1, "{maco} Mbit/s, {halved} of the losses");
    assert!(olia < 0.3 * maco, "{olia} {maco}");
}

/// Acceptance item 6: overflows are congestion.
#[test]
fn overflows_are_congestion() {
    for buffer in [BDP / 2, BDP, 2 * BDP] {
        let mut network = Network::new(vec![Link::new(40.0, buffer)]);
        let flow = add(&mut network, &connection(PLAIN), 0);
        tell(network.flows[flow].controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
        let course = watch(&mut network, flow, Time::from_secs(60));
        let (loss, goodput) = (network.loss(flow), network.goodput(flow));
        assert!(
            f64::from(course.reductions) >= 0.8 * f64::from(course.epochs) && course.epochs > 3,
            "{buffer}: {} of {}",
            course.reductions,
            course.epochs
        );
        assert!(loss <= 0.03 && goodput > 0.85 * 40.0, "{buffer}: {loss} {goodput}");
    }
}

/// With a buffer of a tenth of the product the delay never tells; the valve does.
#[test]
fn the_safety_valve_sees_the_overflows_of_a_shallow_buffer() {
    let mut network = Network::new(vec![Link::new(40.0, BDP / 10)]);
    let flow = add(&mut network, &connection("maco,first_rtt=40ms"), 0);
    tell(network.flows[flow].controller.as_mut(), Time::ZERO, &below(1, 40), &[]);
    let course = watch(&mut network, flow, Time::from_secs(60));
    let (loss, goodput) = (network.loss(flow), network.goodput(flow));
    assert!(
        course.reductions > 0 && loss <= 0.05 && goodput > 0.7 * 40.0,
        "{} {loss} {goodput}",
        course.reductions
    );
}

/// Without any forecast it is no worse than OLIA: goodput of two paths, clean with shallow and deep buffers to a hundredth, and
/// with random loss several times as much.
#[test]
fn without_forecasts_it_is_no_worse_than_olia() {
    let goodput = |spec: &str, buffer: u64, loss: f64| {
        let mut network = Network::new(vec![
            Link::new(40.0, buffer).with_loss(loss),
            Link::new(20.0, buffer).with_loss(loss),
        ]);
        let factory = registry().congestion(spec).unwrap();
        let factory = factory.for_connection(Side::Client, 0).unwrap_or(factory);
        let flows = [add(&mut network, &factory, 0), add(&mut network, &factory, 1)];
        network.run(Time::from_secs(30));
        flows.map(|flow| network.goodput(flow)).iter().sum::<f64>()
    };
    for (buffer, loss) in [(BDP, 0.0), (BDP / 4, 0.0), (4 * BDP, 0.0), (BDP, 0.002), (BDP, 0.01)] {
        let (maco, olia) = (goodput("maco", buffer, loss), goodput("olia", buffer, loss));
        let least = if loss > 0.0 { 4.0 } else { 0.99 };
        assert!(maco >= least * olia, "buffer {buffer}, loss {loss}: {maco} Mbit/s, OLIA {olia}");
    }
}

/// A path alone that sees no forecast, and one whose forecast is a lie.
#[test]
fn an_absurd_forecast_ends_with_the_first_overflow() {
    let mut network = Network::new(vec![Link::new(40.0, BDP)]);
    let flow = add(&mut network, &connection(PLAIN), 0);
    tell(network.flows[flow].controller.as_mut(), Time::ZERO, &below(1, 1 << 40), &[]);
    network.run(Time::from_secs(30));
    let (loss, goodput) = (network.loss(flow), network.goodput(flow));
    assert!(loss < 0.03 && goodput > 0.8 * 40.0, "{loss} {goodput}");
}

#[test]
fn growth_counts_the_siblings() {
    let growth = |siblings: &[hawser_policy::Sibling]| {
        let running = snapshot().with(|snapshot| {
            snapshot.bytes_in_flight = 100_000;
            snapshot.congestion_window = 100_000;
        });
        let mut controller = build_with(PLAIN, &init(10_000).with(|init| init.snapshot = Some(running)));
        let before = controller.window();
        let now = Time::from_secs(1);
        let own = hawser_policy::PathId::ZERO;
        for _ in 0..10 {
            controller
                .on_ack(&ack(now, 5_000, Duration::from_millis(100)), &Siblings { own, paths: siblings });
        }
        (controller.window() - before) as f64 / 1_000.0
    };
    let alone = growth(&[]);
    let two = growth(&[sibling(0, 100, 100), sibling(1, 100, 100)]);
    // 50 datagrams by 0.15 and by 0.0265165, a little less as the window grows.
    assert!((7.2..7.5).contains(&alone), "{alone}");
    assert!((1.31..1.34).contains(&two), "{two}");
}
