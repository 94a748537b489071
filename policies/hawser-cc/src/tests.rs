//! What holds for every controller, whatever it is told.

use std::time::Duration;

use hawser_policy::{
    Ack, Agent, AttachmentPoint, CongestionController, DeliverySample, Figure, Figures, Forecast, GroupId,
    HandOver, LimitedBy, LinkDirection, LinkId, LinkState, LinkUpdate, Loss, LossCause, PacketReport, PathId,
    PolicyKind, Rate, Sent, SetInit, Sibling, Siblings, Side, Tag, Time,
};
use proptest::option;
use proptest::prelude::*;

use crate::sscc;
use crate::testing::{self, registry};

#[derive(Clone, Debug)]
enum Event {
    Sent(Sent),
    Ack(Ack),
    Loss(Loss),
    Spurious(u64, Option<usize>),
    PathReset,
    DatagramSize(u16),
    Link(Box<(Time, LinkState, Vec<Forecast>)>),
    ProbeTimeout(Time, u32),
    Timer(Time),
}

/// What a link is said to be, likely or not.
fn link_state() -> impl Strategy<Value = LinkState> {
    let hand_over = (any::<u64>(), 0u64..4, duration()).prop_map(|(at, to, interruption)| {
        HandOver::new(Time::from_nanos(at)).with(|hand_over| {
            hand_over.to = Some(AttachmentPoint::Satellite(to));
            hand_over.interruption = Some(interruption);
        })
    });
    (any::<bool>(), amount(), duration(), prop::option::of(0u64..4), prop::option::of(hand_over)).prop_map(
        |(is_up, capacity, delay, satellite, hand_over)| {
            let capacity = (capacity % 5 != 0).then_some(Rate::from_bits_per_second(capacity));
            let direction = LinkDirection::default().with(|direction| {
                direction.capacity = capacity;
                direction.loss = Some(0.5);
                direction.delay = Some(delay);
            });
            LinkState::default().with(|state| {
                state.is_up = is_up;
                state.uplink = direction;
                state.downlink = direction;
                state.attached_to = satellite.map(AttachmentPoint::Satellite);
                state.hand_over = hand_over;
            })
        },
    )
}

fn link_event() -> impl Strategy<Value = Event> {
    let now = any::<u64>().prop_map(Time::from_nanos);
    let forecast =
        (any::<u64>(), link_state()).prop_map(|(at, state)| Forecast::new(Time::from_nanos(at), state));
    (now, link_state(), any::<bool>(), prop::collection::vec(forecast, 0..3)).prop_map(
        |(now, mut state, soon, forecasts)| {
            if let Some(hand_over) = state.hand_over.as_mut().filter(|_| soon) {
                hand_over.at = now + Duration::from_millis(hand_over.at.as_nanos() % 1_000);
            }
            Event::Link(Box::new((now, state, forecasts)))
        },
    )
}

/// Everything from zero to the maximum, mostly in the range that occurs.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..200_000, 1 => any::<u64>(), 1 => Just(0u64), 1 => Just(u64::MAX)]
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0u64..500_000).prop_map(Duration::from_micros),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let now = || any::<u64>().prop_map(Time::from_nanos);
    let sent = (now(), amount(), amount(), amount(), any::<bool>()).prop_map(
        |(now, packet_number, bytes, bytes_in_flight, idle)| {
            let limited_by = if idle { LimitedBy::Application } else { LimitedBy::Nothing };
            Event::Sent(Sent::default().with(|sent| {
                sent.now = now;
                sent.packet_number = packet_number;
                sent.bytes = bytes;
                sent.bytes_in_flight = bytes_in_flight;
                sent.limited_by = limited_by;
            }))
        },
    );
    let ack = (now(), amount(), amount(), amount(), duration(), duration(), any::<bool>()).prop_map(
        |(now, bytes, bytes_in_recovery, largest_acked, latest, smoothed_rtt, idle)| {
            let base = testing::ack(now, bytes, latest);
            let limited_by = if idle { LimitedBy::Scheduler } else { LimitedBy::CongestionWindow };
            // Odd and even numbers tell more: a delivery sample, whatever it says, and another return path.
            let delivery = (largest_acked % 2 == 0).then_some(DeliverySample::default().with(|sample| {
                sample.rate = (bytes % 3 != 0).then_some(Rate::from_bits_per_second(bytes));
                sample.delivered = bytes;
                sample.prior_delivered = bytes_in_recovery;
                sample.inflight_at_send = largest_acked;
                sample.lost = bytes_in_recovery / 8;
                sample.limited_by = limited_by;
            }));
            let received_on = PathId((largest_acked % 5 == 0).into());
            let more = base.with(|ack| {
                ack.delivery = delivery;
                ack.received_on = received_on;
                ack.delivered = largest_acked;
                ack.rtt_variance = smoothed_rtt;
            });
            Event::Ack(more.with(|ack| {
                ack.bytes_in_recovery = bytes_in_recovery;
                ack.largest_acked = largest_acked;
                ack.smoothed_rtt = smoothed_rtt;
                ack.limited_by = limited_by;
                ack.ecn_ce = bytes % 4;
            }))
        },
    );
    let cause = prop_oneof![Just(LossCause::Loss), Just(LossCause::EcnMark), Just(LossCause::Persistent)];
    let loss = (now(), cause, any::<bool>(), amount(), amount(), amount()).prop_map(
        |(now, cause, new_epoch, bytes, inflight_at_send, lost_since_sent)| {
            let base = testing::loss(now, cause, new_epoch);
            Event::Loss(base.with(|loss| {
                loss.bytes = bytes;
                loss.inflight_at_send = inflight_at_send;
                loss.lost_since_sent = lost_since_sent;
            }))
        },
    );
    prop_oneof![
        2 => sent,
        6 => ack,
        2 => loss,
        1 => (amount(), option::of(0_usize..8)).prop_map(|(bytes, undone)| Event::Spurious(bytes, undone)),
        1 => Just(Event::PathReset),
        1 => any::<u16>().prop_map(Event::DatagramSize),
        2 => link_event(),
        1 => (any::<u64>(), 1u32..4).prop_map(|(at, count)| Event::ProbeTimeout(Time::from_nanos(at), count)),
        1 => any::<u64>().prop_map(|at| Event::Timer(Time::from_nanos(at))),
    ]
}

fn sibling() -> impl Strategy<Value = Sibling> {
    (0u32..4, 0u32..2, amount(), duration(), any::<bool>(), any::<u16>(), amount(), amount()).prop_map(
        |(id, group, window, rtt, usable, max_datagram_size, since, between)| {
            Sibling::default().with(|sibling| {
                sibling.path = PathId(id);
                sibling.group = GroupId(group);
                sibling.congestion_window = window;
                sibling.smoothed_rtt = rtt;
                sibling.min_rtt = rtt;
                sibling.usable = usable;
                sibling.max_datagram_size = max_datagram_size;
                sibling.delivery_rate = Some(Rate::from_bits_per_second(window));
                sibling.max_delivery_rate = Some(Rate::from_bits_per_second(window));
                sibling.acked_since_loss = since;
                sibling.acked_between_losses = between;
                sibling.loss_ppm = 0;
            })
        },
    )
}

fn apply(controller: &mut dyn CongestionController, event: &Event, siblings: &Siblings<'_>) {
    match event {
        Event::Sent(sent) => controller.on_sent(sent),
        Event::Ack(ack) => controller.on_ack(ack, siblings),
        Event::Loss(loss) => controller.on_loss(loss, siblings),
        Event::Spurious(bytes, undone) => controller.on_spurious_loss(
            &testing::spurious(Time::from_secs(1), *undone).with(|late| late.bytes = *bytes),
        ),
        Event::PathReset => controller.on_path_reset(Time::from_secs(1)),
        Event::DatagramSize(bytes) => controller.on_max_datagram_size(*bytes),
        Event::Link(link) => {
            let (now, state, forecasts) = &**link;
            controller.on_link_update(
                &LinkUpdate::new(*now, LinkId(0), state).with(|update| update.forecasts = forecasts),
            );
        }
        Event::ProbeTimeout(now, count) => controller.on_probe_timeout(*now, *count),
        Event::Timer(now) => controller.on_timeout(*now),
    }
}

#[test]
fn registered_names_are_those_the_controllers_give() {
    let registry = registry();
    let names: Vec<_> = registry.names(PolicyKind::Congestion).collect();
    assert_eq!(
        names,
        [
            "balia",
            "bbr",
            "bbr2",
            "bbr2-alpha-beta",
            "bbr2plus",
            "bbr3",
            "c2tcp",
            "copa",
            "coupled-bbr",
            "cubic",
            "dwc",
            "elastic",
            "illinois",
            "lia",
            "maco",
            "mpcc",
            "newreno",
            "olia",
            "tide",
            "vegas",
            "westwood",
            "wvegas",
        ]
    );
    for name in names {
        assert_eq!(registry.congestion(name).unwrap().build(&testing::init(10_000)).name(), name);
    }
}

fn build(spec: &str, initial_window: u64) -> Box<dyn CongestionController> {
    testing::build_with(spec, &testing::init(initial_window))
}

/// RFC 9438 section 4.6, RFC 9002 section 7.3.2: the window after congestion is `beta` of the one before.
#[test]
fn beta_is_what_remains_of_the_window_after_a_loss() {
    for (spec, expected) in [
        ("cubic", 70_000),
        ("cubic,beta=0.8", 80_000),
        ("newreno", 50_000),
        ("new-reno,beta=0.85", 85_000),
        ("olia", 50_000),
        ("olia,beta=0.6", 60_000),
    ] {
        let mut controller = build(spec, 100_000);
        controller.on_loss(&testing::loss(Time::ZERO, LossCause::Loss, true), &Siblings::NONE);
        assert_eq!((controller.window(), controller.slow_start_threshold()), (expected, expected), "{spec}");
    }
}

/// 200 acknowledgements in slow start, always with ten packets under way; in the middle the round-trip time rises from
/// 20 to 40 ms.
fn through_a_rise(controller: &mut dyn CongestionController, first: u64) {
    for number in first..first + 200 {
        let now = Time::from_millis(number * 2);
        let next = Sent::default().with(|sent| {
            sent.now = now;
            sent.packet_number = number + 10;
            sent.bytes = 1_000;
            sent.bytes_in_flight = 10_000;
            sent.limited_by = LimitedBy::Nothing;
        });
        controller.on_sent(&next);
        let rtt = Duration::from_millis(if number - first < 100 { 20 } else { 40 });
        let ack = testing::ack(now, 1_000, rtt).with(|ack| ack.largest_acked = number);
        controller.on_ack(&ack, &Siblings::NONE);
    }
}

/// Status pages show it.
#[test]
fn every_controller_says_what_it_is_about() {
    for name in registry().names(PolicyKind::Congestion) {
        // Where the peer reports no arrivals, as here, it would be CUBIC.
        let spec = if name == "tide" { "tide,forward=off" } else { name };
        let mut controller = build(spec, 10_000);
        through_a_rise(controller.as_mut(), 0);
        let mut figures = Figures::default();
        controller.fill_figures(&mut figures);
        let all: Vec<(&str, Figure)> = figures.iter().collect();
        let known: &[&str] = match name {
            "tide" => &["phase", "rate_bps", "base_rtt_ms", "queue_ms", "bound_ms"],
            "bbr" | "bbr2" | "bbr3" => {
                &["phase", "bandwidth_bps", "min_rtt_ms", "pacing_gain", "window_gain"]
            }
            "mpcc" => &["rate_bps", "sending_bps"],
            _ => &["phase"],
        };
        for wanted in known {
            assert!(all.iter().any(|(name, _)| name == wanted), "{name}: {wanted} in {all:?}");
        }
        let (mut cut, mut after) = (controller, Figures::default());
        cut.on_loss(&testing::loss(Time::from_secs(1), LossCause::Loss, true), &Siblings::NONE);
        cut.fill_figures(&mut after);
        if name == "cubic" {
            assert!(after.iter().any(|(name, _)| name == "plateau_bytes"), "{after:?}");
        }
    }
}

/// A path that moved knows nothing of the new network: its second slow start is watched like the first, and what the delay was on
/// the old one does not count.
#[test]
fn slow_start_after_a_move_ends_by_delay_as_well() {
    for name in ["cubic", "olia", "lia", "balia", "dwc", "westwood", "illinois", "elastic"] {
        let mut controller = build(name, 10_000);
        through_a_rise(controller.as_mut(), 0);
        controller.on_path_reset(Time::from_millis(400));
        assert_eq!((controller.window(), controller.in_slow_start()), (10_000, true), "{name}");
        through_a_rise(controller.as_mut(), 210);
        assert!(
            !controller.in_slow_start() && controller.window() > 100_000,
            "{name}: {}",
            controller.window()
        );
    }
}

#[test]
fn without_hystart_only_congestion_ends_slow_start() {
    for name in ["cubic", "olia"] {
        let mut detecting = build(name, 10_000);
        through_a_rise(detecting.as_mut(), 0);
        assert!(!detecting.in_slow_start(), "{name}: {}", detecting.window());
        let mut blind = build(&format!("{name},hystart=false"), 10_000);
        through_a_rise(blind.as_mut(), 0);
        assert_eq!((blind.in_slow_start(), blind.window()), (true, 210_000), "{name}");
    }
}

/// Applies events; what holds after each.
fn drive(
    name: &str,
    controller: &mut dyn CongestionController,
    events: &[(Event, Vec<Sibling>)],
    mut before: impl FnMut(&Event),
) -> Result<(), TestCaseError> {
    let mut datagram = u64::from(testing::DATAGRAM);
    for (event, siblings) in events {
        if let Event::DatagramSize(bytes) = event {
            datagram = u64::from(*bytes);
        }
        before(event);
        apply(controller, event, &Siblings { own: PathId::ZERO, paths: siblings });
        prop_assert!(controller.window() >= 2 * datagram, "{name}: {}", controller.window());
        prop_assert!(controller.window() <= 1 << 40, "{name}: {}", controller.window());
        let pacing = controller.pacing_rate().map(Rate::bits_per_second);
        prop_assert!(pacing != Some(0), "{name}: stands still");
        prop_assert!(controller.next_timeout().is_none_or(|at| at < Time::FAR_FUTURE), "{name}");
    }
    Ok(())
}

/// Packets of three paths with the delay that an acknowledgement says, or lost ones.
fn tell(agent: &mut dyn Agent, event: &Event) {
    let packet = |now: Time, number: u64, one_way_delay: Option<Duration>| {
        PacketReport::default().with(|report| {
            report.now = now;
            report.path = PathId((number % 3) as u32);
            report.packet_number = number;
            report.bytes = 1_000;
            report.sent_at = Time::ZERO;
            report.bytes_in_flight_at_send = 1_000;
            report.tag = Tag::default();
            report.ranges = &[];
            report.one_way_delay = one_way_delay;
        })
    };
    let mut commands = Vec::new();
    match event {
        Event::Ack(ack) => {
            let report = packet(ack.now, ack.largest_acked, ack.latest_rtt);
            agent.on_event(&hawser_policy::Event::Acked(&report), &mut commands);
        }
        Event::Loss(loss) => {
            agent.on_event(&hawser_policy::Event::Lost(&packet(loss.now, loss.bytes, None)), &mut commands);
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_neither_panic_nor_close_the_window(
        events in prop::collection::vec((event(), prop::collection::vec(sibling(), 0..4)), 0..60),
        initial_window in amount(),
        from_snapshot in any::<bool>(),
    ) {
        let registry = registry();
        for name in registry.names(PolicyKind::Congestion) {
            let mut start = testing::init(initial_window);
            start.snapshot = from_snapshot.then(testing::snapshot);
            let mut controller = registry.congestion(name).unwrap().build(&start);
            drive(name, controller.as_mut(), &events, |_| {})?;
        }
    }

    /// The same of controllers in a set, whose agent hears of packets as well, and may put the path into groups.
    #[test]
    fn random_events_neither_panic_nor_close_the_window_in_sets(
        events in prop::collection::vec((event(), prop::collection::vec(sibling(), 0..4)), 0..60),
        initial_window in amount(),
        from_snapshot in any::<bool>(),
    ) {
        for spec in ["mptcp-sbd", "mptcp-sbd,coupled=balia,vote=tumbling", "sscc", "sscc,selection=model"] {
            let set = sscc::tests::factory(sscc::SsccParts::shipped(), spec);
            let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
            let mut start = testing::init(initial_window);
            start.snapshot = from_snapshot.then(testing::snapshot);
            let mut controller = set.congestion.build(&start);
            let mut agent = set.agent.expect("it has one");
            drive(spec, controller.as_mut(), &events, |event| tell(agent.as_mut(), event))?;
        }
    }

    /// Congestion never opens the window, and an acknowledgement in slow start never opens it by more than it covers.
    #[test]
    fn windows_move_in_the_right_direction(steps in prop::collection::vec((any::<bool>(), 1u64..20_000), 1..60)) {
        let registry = registry();
        for name in ["cubic", "newreno", "olia", "lia", "balia", "dwc", "westwood", "illinois", "elastic"] {
            let mut controller = registry.congestion(name).unwrap().build(&testing::init(12_000));
            let mut now = Time::ZERO;
            for (is_loss, bytes) in &steps {
                now += Duration::from_millis(20);
                let before = controller.window();
                if *is_loss {
                    controller.on_loss(&testing::loss(now, LossCause::Loss, true), &Siblings::NONE);
                    prop_assert!(controller.window() <= before.max(2_000));
                } else {
                    let slow_start = controller.in_slow_start();
                    controller.on_ack(&testing::ack(now, *bytes, Duration::from_millis(20)), &Siblings::NONE);
                    prop_assert!(controller.window() >= before);
                    prop_assert!(!slow_start || controller.window() <= before + bytes + 1_000);
                }
            }
        }
    }
}
