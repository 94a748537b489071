//! Golden values of the chapter, and what the learner is for.

use std::time::Duration;

use hawser_learn::Random;
use hawser_policy::{
    Agent, AttachReport, AttachResult, AttachmentPoint, Command, Commands, Event, FeatureId, Feedback,
    LayerPackets, LinkCandidate, LinkDirection, LinkId, LinkState, LinkUpdate, MAX_MESSAGE_PAYLOAD, Message,
    MessageDelivery, MessageOrigin, Notes, PacketReceived, PathId, PathView, QueueView, Rate, SendView,
    Signal, Time, Trace,
};
use proptest::prelude::*;

use super::context::Slot;
use super::*;

fn packets(all: u32, in_time: u32) -> LayerPackets {
    LayerPackets { all, in_time }
}

/// Equation 4.19; one late packet costs no more than itself, as printed.
#[test]
fn rewards_are_those_of_the_chapter() {
    let reward =
        |in_time, gamma| qc_mab_reward(packets(20, in_time), packets(80, 60), gamma, QcMabEta::Paper);
    assert!((reward(20, 0.99) - 0.80).abs() < 1e-12);
    for gamma in [0.90, 0.95, 0.99] {
        assert!((reward(19, gamma) - 0.79).abs() < 1e-12, "{gamma}");
        assert!((reward(17, gamma) - 0.37).abs() < 1e-12, "{gamma}");
    }
    let strict = qc_mab_reward(packets(20, 19), packets(80, 60), 0.99, QcMabEta::Strict);
    assert!((strict - 0.49).abs() < 1e-12, "a single late packet costs half of the enhancement");
    assert_eq!(qc_mab_reward(packets(0, 0), packets(0, 0), 0.99, QcMabEta::Paper), 0.0);
}

/// Lower edges belong to the upper interval.
#[test]
fn cells_are_those_of_the_chapter() {
    let context = QcMabContext::new(&QcMabParameters::default());
    assert_eq!(context.cell_of(12.0, 100.0, 5e-4), 22);
    assert_eq!(context.cell_of(4.0, 60.0, 5e-5), 0);
    assert_eq!(context.cell_of(5.0, 90.0, 1e-4), 9 + 3 + 1);
    assert_eq!(context.cell_of(10.0, 150.0, 1e-3), 26);
}

#[test]
fn the_rate_of_a_burst_is_its_dispersion_and_losses_are_counted_before_repair() {
    let mut slot = Slot::default();
    let mut number = 0;
    for index in 0..10u64 {
        // 1200 bytes each millisecond; two numbers are missing, of which one comes late.
        number += if index == 5 { 3 } else { 1 };
        let gap = if index == 5 { 2 } else { 0 };
        slot.on_packet(&packet(index, number, gap));
    }
    slot.on_packet(&packet(10, 6, 0));
    assert!((slot.rate(Duration::from_millis(150)) - 9.6).abs() < 1e-9);
    assert!((slot.loss() - 1.0 / 12.0).abs() < 1e-12);
    slot.reset();
    // Too few for a burst: bytes over the slot.
    slot.on_packet(&packet(200, 20, 0));
    assert!((slot.rate(Duration::from_millis(150)) - 0.064).abs() < 1e-9);
}

fn packet(at: u64, packet_number: u64, gap: u64) -> PacketReceived {
    let now = Time::from_millis(at);
    let path = PathId(0);
    PacketReceived::default().with(|packet| {
        packet.now = now;
        packet.received_at = now;
        packet.path = path;
        packet.packet_number = packet_number;
        packet.bytes = 1_200;
        packet.gap = gap;
        packet.congestion_marked = false;
    })
}

/// What the sender held down is a lower bound: the estimate rises with it and does not fall.
#[test]
fn rates_that_the_application_limited_only_raise_the_estimate() {
    let mut context = QcMabContext::new(&QcMabParameters::default());
    let sample =
        |rate, app_limited| QcMabSample { rate, app_limited, delay: 20.0, loss: 0.0, capacity: None };
    context.update(&sample(8.0, false));
    (0..50).for_each(|_| context.update(&sample(2.0, true)));
    assert_eq!(context.rate(), 8.0);
    (0..50).for_each(|_| context.update(&sample(12.0, true)));
    assert!(context.rate() > 11.0, "{}", context.rate());
    context.update(&QcMabSample { capacity: Some(6.0), ..sample(12.0, false) });
    assert_eq!(context.rate(), 6.0, "never more than the link gives");
}

fn observation<'a>(at: u64, points: &'a [QcMabPoint], delay: f64) -> QcMabObservation<'a> {
    let sample = QcMabSample { rate: 8.0, app_limited: false, delay, loss: 0.0, capacity: None };
    QcMabObservation {
        now: Time::from_millis(at),
        sample: Some(sample),
        features: [0.0; 11],
        current: points.first().map(|point| point.point),
        points,
    }
}

fn point(point: u64, strength: f64) -> QcMabPoint {
    QcMabPoint { point, strength: Some(strength) }
}

/// Access points out of reach are no arms, nor are those whose delay was above the deadline in the last five seconds; if none
/// is left, the present one is; with nothing in reach there is no decision.
#[test]
fn arms_are_refined() {
    let mut learner = QcMabLearner::new(QcMabParameters::default(), 1);
    let reach = [point(1, -70.0), point(2, -89.0), point(3, -91.0)];
    let arms = |learner: &mut QcMabLearner, at, points: &[QcMabPoint], delay| {
        learner.on_slot(&observation(at, points, delay)).map(|decision| decision.arms)
    };
    assert_eq!(arms(&mut learner, 0, &reach, 20.0), Some(4));
    // The average follows by an eighth: the present point is slow now.
    for at in 1..40 {
        learner.on_slot(&observation(at, &reach, 400.0));
    }
    assert_eq!(arms(&mut learner, 40, &reach, 400.0), Some(2), "the other one only");
    assert_eq!(arms(&mut learner, 41, &reach[..1], 400.0), Some(2), "it alone is in reach");
    let quiet = QcMabObservation { sample: None, ..observation(6_000, &reach, 0.0) };
    assert_eq!(learner.on_slot(&quiet).map(|decision| decision.arms), Some(4), "forgotten");
    assert_eq!(arms(&mut learner, 6_001, &reach[2..], 20.0), None, "an outage");
    let keeping = QcMabParameters { attach: false, ..QcMabParameters::default() };
    let kept = QcMabLearner::new(keeping, 1).on_slot(&observation(0, &reach, 20.0)).unwrap();
    assert_eq!((kept.arms, kept.point), (2, Some(1)));
}

/// Four arms in one cell, 0.50 to 0.95: the last 20 of 88 pulls earn what the specification computed for UCB1, 0.83; each arm once, first.
#[test]
fn the_bandit_explores_as_ucb1_does() {
    let arms: Vec<QcMabArm> = (0..4).map(|point| QcMabArm { point, fec: false }).collect();
    let truth = [0.50, 0.65, 0.80, 0.95];
    let mut mean = 0.0;
    for seed in 0..400 {
        let mut bandit = QcMabBandit::new(2.0, false, seed);
        let mut random = Random::new(seed ^ 0xabcd);
        let mut pulled = [false; 4];
        for pull in 0..88 {
            let arm = bandit.choose(0, &arms);
            assert!(pull >= 4 || !std::mem::replace(&mut pulled[arm], true), "each once");
            mean += if pull >= 68 { truth[arm] / 20.0 / 400.0 } else { 0.0 };
            bandit.update(0, arms[arm], f64::from(u8::from(random.fraction() < truth[arm])));
        }
    }
    assert!((mean - 0.83).abs() < 0.02, "{mean}");
}

fn view<'a>(now: Time, paths: &'a [PathView]) -> SendView<'a> {
    SendView::new(now, paths, QueueView::default(), &())
}

/// A receiver, and what it notes.
fn noting(parameters: QcMabParameters) -> (receiver::Receiver, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let mut agent = receiver::Receiver::new(parameters, 7);
    agent.set_trace(&Trace::new(Side::Client, vec![notes.clone()]));
    (agent, notes)
}

/// A receiver with one WiFi link, two access points, of which the second makes every frame perfect if its path is protected.
#[test]
fn the_receiver_learns_where_to_be_and_tells_the_sender() {
    let at_once = Duration::ZERO;
    let parameters =
        QcMabParameters { exploration: 0.5, attach_after: at_once, ..QcMabParameters::default() };
    let (mut agent, notes) = noting(parameters);
    let paths = [PathView::new(PathId(0)).with(|path| path.link = Some(LinkId(0)))];
    let access_point = |number: u8| AttachmentPoint::AccessPoint([2, 0, 0, 0, 0, number]);
    let (mut current, mut last, mut good) = (1, None, 0);
    for frame in 1..=200u64 {
        let now = Time::from_millis(150 * frame);
        let mut commands = Commands::new();
        let signal = Signal::default().with(|signal| {
            signal.strength_dbm = Some(-60.0);
            signal.snr_db = Some(30.0);
        });
        let state = LinkState::default().with(|state| {
            state.attached_to = Some(access_point(current));
            state.candidates =
                [1, 2].map(|number| LinkCandidate { point: access_point(number), signal }).to_vec();
        });
        let update = LinkUpdate::new(now, LinkId(0), &state);
        agent.on_event(&Event::Link(&update), &mut commands);
        agent.on_event(&Event::Received(&packet(150 * frame - 50, frame, 0)), &mut commands);
        if let Some(PathDecision { id, fec, .. }) = last {
            let is_good = current == 2 && fec;
            good += u32::from(is_good && frame > 100);
            let in_time = if is_good { 10 } else { 2 };
            let report = PathReport {
                newest_frame: frame as u32,
                decisions: [Some((id, frame as u32)), None, None, None],
                ..PathReport::default()
            };
            let message = report.message(PathId(0));
            let event = Event::Message { now, origin: MessageOrigin::Peer, message: &message };
            agent.on_event(&event, &mut commands);
            let (base, enhancement) = (packets(10, in_time), packets(0, 0));
            let feedback = Feedback::LayeredFrame { number: frame, base, enhancement };
            agent.on_event(&Event::Feedback { now, feedback: &feedback }, &mut commands);
        } else {
            let none = packets(0, 0);
            let feedback = Feedback::LayeredFrame { number: frame, base: none, enhancement: none };
            agent.on_event(&Event::Feedback { now, feedback: &feedback }, &mut commands);
        }
        assert_eq!(agent.next_timeout(), Some(now), "each display event is a slot");
        agent.on_timeout(&view(now, &paths), &mut commands);
        for command in commands {
            match command {
                Command::Attach(request) => current = if request.to == access_point(2) { 2 } else { 1 },
                Command::Send(message) => {
                    assert_eq!(message.feature, FeatureId::PATH_DECISION);
                    assert_eq!(message.delivery, MessageDelivery::WithAcks);
                    last = PathDecision::decode(&message.payload);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(good >= 70, "{good} of the last 100 frames");
    assert_eq!(notes.take().iter().filter(|note| note.name == "qc-mab.decision").count(), 200);
}

/// What was attached elsewhere is known to be there at once: asked again, the link would be silent once more.
#[test]
fn a_link_is_not_attached_where_it_was_attached_before() {
    let parameters = QcMabParameters { attach_after: Duration::ZERO, ..QcMabParameters::default() };
    let mut agent = receiver::Receiver::new(parameters, 7);
    let paths = [PathView::new(PathId(0)).with(|path| path.link = Some(LinkId(0)))];
    let [weak, strong] = [1, 2].map(|number| AttachmentPoint::AccessPoint([2, 0, 0, 0, 0, number]));
    let signal = |strength| {
        Signal::default().with(|signal| {
            signal.strength_dbm = Some(strength);
            signal.snr_db = Some(30.0);
        })
    };
    let candidates = [(weak, -95.0), (strong, -60.0)];
    let state = LinkState::default().with(|state| {
        state.attached_to = Some(weak);
        state.candidates =
            candidates.map(|(point, strength)| LinkCandidate { point, signal: signal(strength) }).to_vec();
    });
    let mut requests = 0;
    let mut commands = Commands::new();
    let update = LinkUpdate::new(Time::ZERO, LinkId(0), &state);
    agent.on_event(&Event::Link(&update), &mut commands);
    for frame in 1..=10 {
        let now = Time::from_millis(150 * frame);
        agent.on_event(&Event::Received(&packet(150 * frame - 50, frame, 0)), &mut commands);
        let feedback =
            Feedback::LayeredFrame { number: frame, base: packets(1, 1), enhancement: packets(0, 0) };
        agent.on_event(&Event::Feedback { now, feedback: &feedback }, &mut commands);
        agent.on_timeout(&view(now, &paths), &mut commands);
        for command in std::mem::take(&mut commands) {
            let Command::Attach(request) = command else { continue };
            assert_eq!(request.to, strong);
            requests += 1;
            let report = AttachReport::new(request, AttachResult::Attached);
            agent.on_event(&Event::Attach { now, report: &report }, &mut commands);
        }
    }
    assert_eq!(requests, 1);
}

/// A link that is seen while it is being attached has no rate: the context is that of the data which arrived.
#[test]
fn a_link_that_is_down_for_a_moment_does_not_change_the_cell() {
    let (mut agent, notes) = noting(QcMabParameters::default());
    let paths = [PathView::new(PathId(0)).with(|path| path.link = Some(LinkId(0)))];
    let mut commands = Commands::new();
    for slot in 0..4 {
        let now = Time::from_millis(150 * (slot + 1));
        let is_up = slot % 2 == 0;
        let rate = Rate::from_bits_per_second(if is_up { 12_000_000 } else { 0 });
        let loss = Some(f64::from(u8::from(!is_up)));
        let downlink = LinkDirection::default().with(|direction| {
            direction.capacity = Some(rate);
            direction.loss = loss;
            direction.delay = None;
        });
        let state = LinkState::default().with(|state| {
            state.is_up = is_up;
            state.downlink = downlink;
        });
        let update = LinkUpdate::new(now, LinkId(0), &state);
        agent.on_event(&Event::Link(&update), &mut commands);
        // 9.6 Mbit/s.
        for index in 1..=20 {
            let received = packet(150 * slot + index, 20 * slot + index, 0);
            agent.on_event(&Event::Received(&received), &mut commands);
        }
        let (base, enhancement) = (packets(1, 1), packets(0, 0));
        let feedback = Feedback::LayeredFrame { number: slot, base, enhancement };
        agent.on_event(&Event::Feedback { now, feedback: &feedback }, &mut commands);
        agent.on_timeout(&view(now, &paths), &mut commands);
    }
    let notes = notes.take();
    let cells = notes.iter().filter_map(|note| note.number("cell"));
    assert_eq!(cells.collect::<Vec<_>>(), [15.0; 4], "5 to 10 Mbit/s, half of the initial round-trip time");
}

/// A decision that comes while a frame leaves does not get its reward: the frame's base layer has left before.
#[test]
fn a_frame_belongs_to_the_decision_under_which_it_began() {
    let mut path = sender::Path::new(PathId(0));
    let mut under = |id, frame| {
        let deadline = Duration::from_millis(150);
        path.decision = Some(PathDecision { id, fec: false, gamma: 990, deadline });
        path.on_frame(frame);
    };
    // The second layer of frame 10 begins under the next decision.
    [(1, 10), (2, 10), (2, 11), (2, 12), (3, 12)].into_iter().for_each(|(id, frame)| under(id, frame));
    let report = PathReport { decisions: path.begun, ..PathReport::default() };
    assert_eq!([9, 10, 11, 12].map(|frame| report.decision_of(frame)), [None, Some(1), Some(2), Some(2)]);
}

/// Packets cost the receiver no allocation.
#[test]
fn a_packet_allocates_nothing() {
    let mut agent = receiver::Receiver::new(QcMabParameters::default(), 7);
    let mut commands = Commands::new();
    agent.on_event(&Event::Received(&packet(0, 0, 0)), &mut commands);
    let counted = allocation_counter::measure(|| {
        for number in 1..1_000 {
            agent.on_event(&Event::Received(&packet(number, number, 0)), &mut commands);
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_frame_belongs_to_the_newest_decision_that_began_with_it_or_before() {
    let report =
        PathReport { decisions: [Some((3, 10)), Some((4, 12)), None, None], ..PathReport::default() };
    let decisions = [9, 10, 11, 12, 40].map(|frame| report.decision_of(frame));
    assert_eq!(decisions, [None, Some(3), Some(3), Some(4), Some(4)]);
}

fn any_report() -> impl Strategy<Value = PathReport> {
    let decisions = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=PathReport::MAX_DECISIONS);
    (any::<[u32; 4]>(), any::<bool>(), 0..=1_000_000u32, decisions).prop_map(
        |(words, limited, loss, list)| {
            let mut decisions = [None; PathReport::MAX_DECISIONS];
            decisions.iter_mut().zip(list).for_each(|(entry, pair)| *entry = Some(pair));
            PathReport {
                window: words[0],
                in_flight: words[1],
                round_trip: Duration::from_micros(words[2].into()),
                app_limited: limited,
                loss_ppm: loss,
                newest_frame: words[3],
                decisions,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_survive_the_wire(report in any_report(), id: u32, fec: bool, gamma in 0..=1_000u16, micros: u32) {
        let message = report.message(PathId(1));
        prop_assert!(message.payload.len() <= MAX_MESSAGE_PAYLOAD);
        prop_assert_eq!(PathReport::decode(&message.payload), Some(report));
        let decision = PathDecision { id, fec, gamma, deadline: Duration::from_micros(micros.into()) };
        prop_assert_eq!(PathDecision::decode(&decision.message(PathId(1)).payload), Some(decision));
    }

    #[test]
    fn hostile_payloads_are_refused_or_encode_to_themselves(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Some(report) = PathReport::decode(&payload) {
            prop_assert_eq!(report.message(PathId(1)).payload, payload.clone());
        }
        if let Some(decision) = PathDecision::decode(&payload) {
            prop_assert_eq!(decision.message(PathId(1)).payload, payload);
        }
    }

    /// A peer that reports anything moves nothing but what is learned, and nothing grows without bound.
    #[test]
    fn reports_of_a_hostile_sender_do_no_harm(payloads in prop::collection::vec((0..40u32, prop::collection::vec(any::<u8>(), 0..60)), 1..40)) {
        let mut agent = receiver::Receiver::new(QcMabParameters::default(), 7);
        let mut commands = Commands::new();
        for (path, payload) in payloads {
            let message = Message::latest(FeatureId::PATH_REPORT, payload).about(PathId(path));
            let event = Event::Message { now: Time::from_millis(1), origin: MessageOrigin::Peer, message: &message };
            agent.on_event(&event, &mut commands);
        }
        agent.on_timeout(&view(Time::from_millis(150), &[]), &mut commands);
        prop_assert!(commands.is_empty());
    }

    /// Rewards lie in 0 to 1 and never fall when more is in time.
    #[test]
    fn rewards_are_shares(base in 1..60u32, base_in_time in 0..60u32, more in 0..200u32, more_in_time in 0..200u32, gamma in 0.0..1.0f64) {
        let (base_in_time, more_in_time) = (base_in_time.min(base), more_in_time.min(more));
        for eta in [QcMabEta::Paper, QcMabEta::Strict] {
            let reward = |base_in_time| {
                qc_mab_reward(packets(base, base_in_time), packets(more, more_in_time), gamma, eta)
            };
            prop_assert!((0.0..=1.0).contains(&reward(base_in_time)));
            if base_in_time < base {
                prop_assert!(reward(base_in_time + 1) >= reward(base_in_time) - 1e-12);
            }
        }
    }
}
