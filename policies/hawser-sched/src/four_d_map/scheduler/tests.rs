#[path = "model.rs"]
mod model;

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{FeatureId, Notes, PathState, PathView, QueueView, SegmentKind, Side};
use proptest::prelude::*;

use super::super::mechanisms::FourDMapChoice;
use super::*;
use crate::testing::path;
use model::{Byte, Packet, Queue, tell};

fn with(mechanism: FourDMapChoice) -> FourDMapScheduler {
    let parameters = FourDMapParameters { mechanism, ..FourDMapParameters::default() };
    FourDMapScheduler::new(parameters, None, 1)
}

fn fixed(mechanism: FourDMapMechanism) -> FourDMapScheduler {
    with(FourDMapChoice::Fixed(mechanism))
}

/// A path with this window, none of it used.
fn open(id: u32, rtt_ms: u64, window: u64) -> PathView {
    path(id, rtt_ms, 0).with(|path| {
        path.congestion_window = window;
        path.bytes_in_flight = 0;
    })
}

/// Sends as much as goes.
fn drain(
    queue: &mut Queue,
    scheduler: &mut FourDMapScheduler,
    now: Time,
    paths: &mut [PathView],
) -> Vec<Packet> {
    let mut packets = Vec::new();
    while let Some(packet) = queue.step(scheduler, now, paths) {
        packets.push(packet);
    }
    packets
}

/// Bytes of each path, and one above the last one.
fn carried(packets: &[Packet], id: u32) -> (u64, u64) {
    let of_path = packets.iter().filter(|packet| packet.path == PathId(id));
    let bytes = of_path.clone().map(|packet| packet.range.end - packet.range.start).sum();
    (bytes, of_path.map(|packet| packet.range.end).max().unwrap_or(0))
}

/// The vector of section 3.6 with windows as they are there, but nothing in flight: path 0 may have 60,000 bytes, of which
/// its window takes 15,000 now; path 1 takes those behind.
#[test]
fn a_slow_path_gets_what_lies_behind_the_fast_ones_part() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Normal));
    let mut paths = [open(0, 50, 15_000), open(1, 200, 30_000)];
    queue.write(1, 100_000, SegmentKind::Bulk, Reliability::Reliable);
    let packets = drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!((carried(&packets, 0), carried(&packets, 1)), ((15_000, 15_000), (30_000, 90_000)));
    assert_eq!(scheduler.buffers.of(PathId(0)).map(|buffer| buffer.bytes()), Some(45_000));
    assert_eq!(scheduler.buffers.unassigned(), 10_000);
    // A slow path idles rather than take what is the fast one's.
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Normal));
    let mut paths = [open(0, 50, 15_000), open(1, 200, 30_000)];
    queue.write(1, 50_000, SegmentKind::Bulk, Reliability::Reliable);
    let packets = drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!((carried(&packets, 0), carried(&packets, 1)), ((15_000, 15_000), (0, 0)));
}

#[test]
fn what_is_lost_goes_where_dispatch_puts_it() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Normal));
    let mut paths = [open(0, 50, 15_000), open(1, 60, 30_000)];
    queue.write(1, 30_000, SegmentKind::Bulk, Reliability::Reliable);
    let packets = drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!(packets.len(), 30 - 3, "3,000 bytes wait for path 0");
    // The first packet of path 0 is lost: it goes again before what waits there.
    let now = Time::from_millis(60);
    queue.settle(&mut scheduler, now, &mut paths, 0, true);
    let again = drain(&mut queue, &mut scheduler, now, &mut paths);
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].path, again[0].range.clone()), (PathId(0), 0..1_000));
    // Path 0 delivers all it had, path 1 loses a packet: that goes on path 0 now.
    while let Some(at) = queue.in_flight.iter().position(|packet| packet.path == PathId(0)) {
        queue.settle(&mut scheduler, now, &mut paths, at, false);
    }
    queue.settle(&mut scheduler, now, &mut paths, 0, true);
    let again = drain(&mut queue, &mut scheduler, now, &mut paths);
    assert!(again.iter().all(|packet| packet.path == PathId(0)), "{again:?}");
    assert_eq!((again[0].range.clone(), queue.waiting()), (18_000..19_000, 0));
}

#[test]
fn key_frames_are_copied_once_and_delta_frames_are_not() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Duplicate));
    // Path 1 loses packets.
    for number in 0..100 {
        let now = Time::from_millis(number * 20);
        scheduler.paths.loss_of(PathId(0)).on_sent(now);
        scheduler.paths.loss_of(PathId(1)).on_sent(now);
        if number % 20 == 0 {
            scheduler.paths.loss_of(PathId(0)).on_lost();
        }
    }
    let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    queue.write_frame(0, 5_000, true);
    queue.write_frame(1, 3_000, false);
    let now = Time::from_secs(3);
    let packets = drain(&mut queue, &mut scheduler, now, &mut paths);
    let copied: Vec<_> = packets.iter().filter(|packet| packet.is_copied).collect();
    assert!(copied.iter().all(|packet| packet.path == PathId(1)), "the path that loses nothing: {copied:?}");
    let bytes: u64 = copied.iter().map(|packet| packet.range.end - packet.range.start).sum();
    assert_eq!(bytes, 5_000, "the body of the key frame");
    // The model asserts that what is lost is not copied again.
    queue.settle(&mut scheduler, now, &mut paths, packets.iter().position(|p| p.is_copied).unwrap(), true);
    paths[0].copies_queued = 0;
    assert_eq!(drain(&mut queue, &mut scheduler, now, &mut paths).len(), 1);
}

/// Appendix C: so that the picture is there sooner. The learner, untaught, would do nothing about key frames.
#[test]
fn the_first_frame_is_copied() {
    let copied = |parameters: FourDMapParameters| -> u64 {
        let parameters = FourDMapParameters { warm_up: false, ..parameters };
        let (mut queue, mut scheduler) = (Queue::new(), FourDMapScheduler::new(parameters, None, 1));
        let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
        queue.write_frame(0, 5_000, true);
        queue.write_frame(1, 4_000, true);
        let packets = drain(&mut queue, &mut scheduler, Time::from_secs(3), &mut paths);
        let copied = packets.iter().filter(|packet| packet.is_copied);
        copied.map(|packet| packet.range.end - packet.range.start).sum()
    };
    let default = FourDMapParameters::default();
    assert_eq!(copied(default), 5_000);
    assert_eq!(copied(FourDMapParameters { first_copied: false, ..default }), 0);
    assert_eq!(copied(FourDMapParameters { only: Some(FourDMapMechanism::Discard), ..default }), 0);
}

/// The path that loses least may carry next to nothing: a key frame does not wait for it.
#[test]
fn a_key_frame_is_not_pinned_to_a_path_without_room() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Duplicate));
    let mut paths = [open(0, 20, 3_000), open(1, 50, 100_000)];
    queue.write_frame(0, 60_000, true);
    let packets = drain(&mut queue, &mut scheduler, Time::from_secs(3), &mut paths);
    let [few, many] = [0, 1].map(|id| carried(&packets, id).0);
    assert!(few <= 3_000 && many >= 45_000, "{few} and {many} bytes");
    // What path 0 still has to send is what Dispatch gives it, four of its windows at most.
    assert!(queue.waiting() <= 12_000, "{} bytes wait", queue.waiting());
}

#[test]
fn bodies_of_delta_frames_are_discarded_before_they_leave() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Discard));
    let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    queue.write_frame(0, 5_000, true);
    queue.write_frame(1, 3_000, false);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    // The rest of it, written later, goes the same way.
    queue.write(1, 2_000, SegmentKind::DeltaFrame, Reliability::UntilDeadline);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    queue.write_frame(2, 3_000, false);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    let gone = queue.bytes.iter().filter(|byte| **byte == Byte::Gone).count();
    assert_eq!((gone, queue.waiting()), (8_000, 0));
    assert_eq!(queue.bytes.iter().filter(|byte| **byte == Byte::InFlight).count(), 5_000 + 3 * 16);
}

/// A learner that prefers to discard does so only to frames that would be late, by what is queued or by the receiver's word.
#[test]
fn the_learner_leaves_gaps_in_late_frames_only() {
    let late_after = |late: u64| {
        let late = Duration::from_millis(late);
        let parameters = FourDMapParameters { late, warm_up: false, ..FourDMapParameters::default() };
        let mut model = FourDMapScheduler::new(parameters, None, 1).model();
        model.arms[FourDMapMechanism::Discard.arm()].b.fill(100.0);
        FourDMapScheduler::new(parameters, Some(&model), 1)
    };
    // Bytes of a second frame that are discarded, if the receiver said how long the first took.
    let discarded = |mut scheduler: FourDMapScheduler, size, first_ms: Option<u64>| {
        let (mut queue, now) = (Queue::new(), Time::from_secs(1));
        // 200 kB/s.
        let mut paths = [open(0, 100, 10_000), open(1, 100, 10_000)];
        queue.write_frame(0, 1_000, true);
        drain(&mut queue, &mut scheduler, now, &mut paths);
        if let Some(ms) = first_ms {
            let delay = Duration::from_millis(ms);
            let frame = FrameFeedback { id: 0, delay, bytes: 1_000, in_time: true };
            let payload = FrameFeedback::encode([frame].into_iter());
            let message = Message::with_acks(FeatureId::FRAME_FEEDBACK, payload);
            tell(&mut scheduler, &Event::Message { now, origin: MessageOrigin::Peer, message: &message });
        }
        queue.write_frame(1, size, false);
        drain(&mut queue, &mut scheduler, now, &mut paths);
        queue.bytes.iter().filter(|byte| **byte == Byte::Gone).count() as u64
    };
    assert_eq!(discarded(late_after(0), 5_000, None), 5_000, "whenever it likes");
    assert_eq!(discarded(late_after(400), 5_000, None), 0, "there in 75 ms");
    // Behind a header of 16 bytes; half a round trip under way.
    assert_eq!(discarded(late_after(400), 69_000, None), 0, "there in 395 ms");
    assert_eq!(discarded(late_after(400), 71_000, None), 71_000, "there in 405 ms");
    assert_eq!(discarded(late_after(400), 5_000, Some(399)), 0);
    assert_eq!(discarded(late_after(400), 5_000, Some(400)), 5_000);
}

#[test]
fn a_peer_that_takes_no_gaps_gets_everything() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Discard));
    queue.takes_gaps = false;
    let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    queue.write_frame(1, 3_000, false);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!(queue.ignored, 3_000);
    queue.write_frame(2, 3_000, false);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!((queue.ignored, queue.waiting()), (3_000, 0), "it is not asked again");
}

#[test]
fn what_is_lost_of_a_delta_frame_is_not_sent_again() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Decompensate));
    let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    queue.write_frame(0, 5_000, true);
    queue.write_frame(1, 3_000, false);
    let packets = drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    (0..packets.len()).for_each(|_| queue.settle(&mut scheduler, Time::from_millis(50), &mut paths, 0, true));
    let gone = queue.bytes.iter().filter(|byte| **byte == Byte::Gone).count();
    assert_eq!((queue.waiting(), gone), (5_000 + 2 * 16, 3_000));
}

#[test]
fn before_two_paths_are_measured_minrtt_sends_and_nothing_is_decided() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Discard));
    let mut paths = [open(0, 20, 100_000)];
    queue.write_frame(1, 3_000, false);
    let packets = drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    assert_eq!((carried(&packets, 0).0, queue.waiting()), (3_016, 0));
    let parameters = FourDMapParameters { warm_up: false, ..scheduler.parameters };
    let mut ready = FourDMapScheduler::new(parameters, None, 1);
    queue.write_frame(2, 3_000, false);
    drain(&mut queue, &mut ready, Time::ZERO, &mut paths);
    assert_eq!(queue.bytes.iter().filter(|byte| **byte == Byte::Gone).count(), 3_000);
}

#[test]
fn a_silent_path_loses_what_it_has_not_sent() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Normal));
    let mut paths = [open(0, 50, 15_000), open(1, 200, 30_000)];
    queue.write(1, 80_000, SegmentKind::Bulk, Reliability::Reliable);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    // Everything on path 1 arrives; path 0 falls silent with 45,000 bytes that are its own.
    while let Some(at) = queue.in_flight.iter().position(|packet| packet.path == PathId(1)) {
        queue.settle(&mut scheduler, Time::from_millis(200), &mut paths, at, false);
    }
    let early = Time::from_millis(299);
    let decision = scheduler.schedule(&queue.view(early, &paths), &mut Commands::new());
    assert_eq!(decision, Decision::Wait(Some(Time::from_millis(300))));
    let packets = drain(&mut queue, &mut scheduler, Time::from_millis(300), &mut paths);
    assert_eq!((carried(&packets, 1), queue.in_flight.len()), ((30_000, 45_000), 15 + 30));
    // It is given nothing until it can send again.
    assert_eq!(scheduler.buffers.of(PathId(0)).map(|buffer| buffer.bytes()), Some(0));
    queue.settle(&mut scheduler, Time::from_millis(310), &mut paths, 0, false);
    let packets = drain(&mut queue, &mut scheduler, Time::from_millis(310), &mut paths);
    assert_eq!(carried(&packets, 0), (1_000, 46_000));
}

#[test]
fn a_path_that_goes_leaves_its_bytes_to_others() {
    let (mut queue, mut scheduler) = (Queue::new(), fixed(FourDMapMechanism::Normal));
    let mut paths = vec![open(0, 50, 15_000), open(1, 200, 30_000)];
    queue.write(1, 60_000, SegmentKind::Bulk, Reliability::Reliable);
    drain(&mut queue, &mut scheduler, Time::ZERO, &mut paths);
    paths[0].state = PathState::Suspect;
    let packets = drain(&mut queue, &mut scheduler, Time::from_millis(1), &mut paths);
    assert_eq!(carried(&packets, 1), (30_000, 45_000));
    paths.remove(0);
    paths[0].bytes_in_flight = 0;
    drain(&mut queue, &mut scheduler, Time::from_millis(2), &mut paths);
    assert_eq!(queue.waiting(), 0);
}

/// Frames that are reported teach: what brings more is chosen more often.
#[test]
fn rewards_reach_the_learner() {
    let notes = Arc::new(Notes::default());
    let mut scheduler = with(FourDMapChoice::Random);
    scheduler.set_trace(&Trace::new(Side::Server, vec![notes.clone()]));
    let mut queue = Queue::new();
    let mut paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    for id in 0..200 {
        let now = Time::from_millis(40 * id);
        queue.write_frame(id, 3_000, id % 50 == 0);
        drain(&mut queue, &mut scheduler, now, &mut paths);
        (0..queue.in_flight.len()).for_each(|_| queue.settle(&mut scheduler, now, &mut paths, 0, false));
        paths.iter_mut().for_each(|path| path.copies_queued = 0);
        let frame = FrameFeedback { id, delay: Duration::from_millis(20), bytes: 3_000, in_time: true };
        let payload = FrameFeedback::encode([frame].into_iter());
        let message = Message::with_acks(FeatureId::FRAME_FEEDBACK, payload);
        tell(&mut scheduler, &Event::Message { now, origin: MessageOrigin::Peer, message: &message });
    }
    let notes = notes.take();
    let values = |name: &str| notes.iter().filter_map(|note| note.number(name)).collect::<Vec<_>>();
    let (frames, rewards, scaled) = (values("frame"), values("reward"), values("scaled"));
    assert!(frames.len() == 197 && frames.windows(2).all(|pair| pair[0] + 1.0 == pair[1]));
    assert!(scaled.iter().all(|scaled| *scaled > 0.5));
    assert!(notes.iter().all(|note| note.numbers("context").count() == 13));
    // Four delta frames of 3,000 bytes in 20 ms each.
    assert!((rewards[100] - (150.0 + 3.0 * 105.0)).abs() < 1e-6, "{}", rewards[100]);
    assert!((rewards[101] - 4.0 * 105.0).abs() < 1e-6, "{}", rewards[101]);
}

#[test]
fn a_view_without_segments_is_served_from_its_head() {
    let mut scheduler = with(FourDMapChoice::Learned);
    let paths = [open(0, 20, 100_000), open(1, 50, 100_000)];
    let queue = QueueView::default().with(|queue| queue.unsent = 5_000);
    let view = SendView::new(Time::ZERO, &paths, queue, &());
    let decision = scheduler.schedule(&view, &mut Commands::new());
    assert_eq!(decision, Decision::Send(Assignment::next(PathId(0))));
}

/// What happens in a random life.
#[derive(Clone, Debug)]
enum Happening {
    Frame(u64, bool),
    /// More of the frame written last.
    More(u64),
    Acked(usize),
    Lost(usize),
    Path(u32, bool),
    Feedback(u64, Vec<u8>),
    Time(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (1u64..9_000, any::<bool>()).prop_map(|(size, is_key)| Happening::Frame(size, is_key)),
        1 => (1u64..3_000).prop_map(Happening::More),
        8 => any::<usize>().prop_map(Happening::Acked),
        3 => any::<usize>().prop_map(Happening::Lost),
        1 => (0u32..4, any::<bool>()).prop_map(|(path, up)| Happening::Path(path, up)),
        1 => (0u64..40, prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(id, payload)| Happening::Feedback(id, payload)),
        2 => (1u64..400).prop_map(Happening::Time),
    ]
}

fn choice() -> impl Strategy<Value = FourDMapChoice> {
    prop_oneof![
        Just(FourDMapChoice::Learned),
        Just(FourDMapChoice::Random),
        Just(FourDMapChoice::Threshold),
        Just(FourDMapChoice::Fixed(FourDMapMechanism::Duplicate)),
        Just(FourDMapChoice::Fixed(FourDMapMechanism::Discard)),
        Just(FourDMapChoice::Fixed(FourDMapMechanism::Decompensate)),
    ]
}

/// Each byte that waits has one place in the plan.
fn check_plan(queue: &Queue, scheduler: &FourDMapScheduler, paths: &[PathView]) {
    let mut seen = vec![0; queue.bytes.len()];
    for (owner, piece) in scheduler.buffers.pieces() {
        assert!(owner.is_none_or(|owner| paths.iter().any(|path| path.id == owner)), "{owner:?} is gone");
        piece.range.clone().for_each(|at| seen[at as usize] += 1);
    }
    for (count, byte) in seen.iter().zip(&queue.bytes) {
        let waits = matches!(byte, Byte::Unsent | Byte::Lost);
        assert_eq!(*count, usize::from(waits), "{byte:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    /// Random frames, losses and paths that vanish: the model asserts that only waiting bytes are sent, that reliable bytes are
    /// never discarded, and that copies are not made of what was lost. In the end everything left.
    #[test]
    fn nothing_is_sent_twice_and_nothing_reliable_is_discarded(
        choice in choice(),
        masks in any::<bool>(),
        warm_up in any::<bool>(),
        takes_gaps in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..120),
    ) {
        let parameters =
            FourDMapParameters { mechanism: choice, masks, warm_up, ..FourDMapParameters::default() };
        let mut scheduler = FourDMapScheduler::new(parameters, None, 3);
        let mut queue = Queue::new();
        queue.takes_gaps = takes_gaps;
        let all = [open(0, 20, 20_000), open(1, 50, 40_000), open(2, 35, 8_000), open(3, 400, 90_000)];
        let mut paths = all[..2].to_vec();
        let (mut now, mut id) = (Time::ZERO, 0);
        for happening in happenings {
            match happening {
                Happening::Frame(size, is_key) => {
                    id += 1;
                    queue.write_frame(id, size, is_key);
                }
                Happening::More(size) => {
                    if let Some(last) = queue.frames.last().cloned() {
                        queue.write(last.id, size, last.kind, last.reliability);
                    }
                }
                Happening::Acked(pick) | Happening::Lost(pick) if !queue.in_flight.is_empty() => {
                    let is_lost = matches!(happening, Happening::Lost(_));
                    let at = pick % queue.in_flight.len();
                    queue.settle(&mut scheduler, now, &mut paths, at, is_lost);
                }
                Happening::Path(which, up) => {
                    paths.retain(|path| path.id != PathId(which));
                    if up || paths.is_empty() {
                        paths.push(all[which as usize].clone());
                        paths.sort_by_key(|path| path.id);
                    } else {
                        let change = PathChange::Abandoned;
                        tell(&mut scheduler, &Event::Path { now, path: PathId(which), change });
                    }
                }
                Happening::Feedback(id, garbage) => {
                    let delay = Duration::from_millis(30);
                    let frame = FrameFeedback { id, delay, bytes: 9, in_time: true };
                    for payload in [FrameFeedback::encode([frame].into_iter()), garbage] {
                        let message = Message::with_acks(FeatureId::FRAME_FEEDBACK, payload);
                        let origin = MessageOrigin::Peer;
                        tell(&mut scheduler, &Event::Message { now, origin, message: &message });
                    }
                }
                Happening::Time(ms) => now += Duration::from_millis(ms),
                Happening::Acked(_) | Happening::Lost(_) => {}
            }
            paths.iter_mut().for_each(|path| path.copies_queued = 0);
            drain(&mut queue, &mut scheduler, now, &mut paths);
            // What was discarded without effect is found again with the next question.
            if takes_gaps || scheduler.buffers.total() == queue.waiting() {
                check_plan(&queue, &scheduler, &paths);
            }
        }
        // All is acknowledged from now on.
        for _ in 0..2_000 {
            now += Duration::from_millis(100);
            (0..queue.in_flight.len()).for_each(|_| queue.settle(&mut scheduler, now, &mut paths, 0, false));
            paths.iter_mut().for_each(|path| (path.copies_queued, path.bytes_in_flight) = (0, 0));
            drain(&mut queue, &mut scheduler, now, &mut paths);
            if queue.waiting() == 0 {
                break;
            }
        }
        prop_assert_eq!(queue.waiting(), 0);
    }
}
