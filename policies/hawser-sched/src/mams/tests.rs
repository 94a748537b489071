use hawser_policy::{
    Forecast, LinkDirection, LinkId, LinkState, LinkUpdate, PacketSent, QueueView, Rate, Segment, SendQueue,
    StreamId, StreamRange, Tag,
};

use super::*;
use crate::testing::{DATAGRAM, next, path, view_at};

/// As the paper has it: whole windows, and half of the round-trip time one way.
fn published() -> Mams {
    let one_way = MamsOneWay::Half;
    Mams::new(MamsParameters { in_flight: false, one_way, ..MamsParameters::default() })
}

/// Windows of ten packets in slow start, of which `left` are free.
fn slow_start(id: u32, rtt_ms: u64, left: u64) -> PathView {
    path(id, rtt_ms, 0).with(|path| {
        path.congestion_window = 10 * DATAGRAM;
        path.bytes_in_flight = (10 - left) * DATAGRAM;
        path.in_slow_start = true;
        path.link = Some(LinkId(id));
    })
}

fn ask(mams: &mut Mams, now: Time, paths: &[PathView], unsent: u64) -> Decision {
    let queue = QueueView::default().with(|queue| {
        queue.unsent = unsent;
        queue.connection_window_left = u64::MAX;
    });
    mams.schedule(&view_at(now, paths, queue), &mut Vec::new())
}

/// Path, bytes left at the head, bytes taken.
fn sent(decision: Decision) -> (u32, u64, u64) {
    let Decision::Send(Assignment { path, selection, max_bytes, .. }) = decision else {
        panic!("{decision:?}")
    };
    let skipped = match selection {
        Selection::Skip(bytes) => bytes,
        _ => 0,
    };
    (path.0, skipped, max_bytes)
}

fn tell_sent(mams: &mut Mams, decision: Decision, bytes: u64) {
    let Decision::Send(assignment) = decision else { panic!("{decision:?}") };
    let ranges = [StreamRange { stream: StreamId(0), range: 0..bytes, copy: false }];
    let packet = PacketSent::default().with(|sent| {
        sent.now = Time::ZERO;
        sent.path = assignment.path;
        sent.packet_number = 0;
        sent.bytes = bytes;
        sent.bytes_in_flight = bytes;
        sent.tag = assignment.tag;
        sent.ranges = &ranges;
    });
    mams.on_event(&Event::Sent(&packet), &mut Vec::new());
}

fn state(uplink: LinkDirection) -> LinkState {
    LinkState::default().with(|state| state.uplink = uplink)
}

fn tell_link(mams: &mut Mams, now: Time, link: u32, state: &LinkState, forecasts: &[Forecast]) {
    let update = LinkUpdate::new(now, LinkId(link), state).with(|update| update.forecasts = forecasts);
    mams.on_event(&Event::Link(&update), &mut Vec::new());
}

/// Yang 2024: 50 and 150 ms, 1 % of loss: q(75 ms) = 28.28 packets, so that the slow path begins with packet FP + 28. What leaves
/// moves the head of the queue, and the plan with it.
#[test]
fn a_plan_holds_while_its_packets_leave() {
    let mut mams = published();
    let paths = [slow_start(1, 50, 10).with(|path| path.loss_ppm = 10_000), slow_start(2, 150, 10)];
    let first = ask(&mut mams, Time::ZERO, &paths, 1_000_000);
    assert_eq!(sent(first), (1, 0, 28 * DATAGRAM));
    tell_sent(&mut mams, first, 10 * DATAGRAM);
    let full = [slow_start(1, 50, 0), slow_start(2, 150, 10)];
    let second = ask(&mut mams, Time::ZERO, &full, 990_000);
    // The slow path spreads its window over a round-trip time: those that arrive before the fast path's next round.
    let (path, skipped, bytes) = sent(second);
    assert_eq!((path, skipped), (2, 18 * DATAGRAM));
    assert!((DATAGRAM..=10 * DATAGRAM).contains(&bytes), "{bytes}");
    tell_sent(&mut mams, second, bytes);
    let third = ask(&mut mams, Time::ZERO, &paths, 990_000 - bytes);
    assert_eq!(sent(third), (1, 0, 18 * DATAGRAM));
}

/// A packet that is larger than what was planned for its path takes from the next run.
#[test]
fn more_than_planned_shortens_the_next_run() {
    let mut mams = published();
    let paths = [slow_start(1, 50, 10), slow_start(2, 150, 10)];
    let first = ask(&mut mams, Time::ZERO, &paths, 1_000_000);
    assert_eq!(sent(first), (1, 0, 30 * DATAGRAM));
    tell_sent(&mut mams, first, 30 * DATAGRAM + 400);
    let (path, skipped, bytes) = sent(ask(&mut mams, Time::ZERO, &paths[1..], 900_000));
    assert_eq!((path, skipped, bytes % DATAGRAM), (2, 0, DATAGRAM - 400));
}

/// Ten packets fit the fast path's window: the slow one is not needed, and waits.
#[test]
fn a_path_that_is_not_needed_stays_idle() {
    let mut mams = published();
    let paths = [slow_start(1, 50, 0), slow_start(2, 150, 10)];
    let decision = ask(&mut mams, Time::ZERO, &paths, 10 * DATAGRAM);
    assert!(matches!(decision, Decision::Wait(Some(_))), "{decision:?}");
    let longer = ask(&mut mams, Time::from_millis(50), &paths, 31 * DATAGRAM);
    assert_eq!(sent(longer), (2, 30 * DATAGRAM, DATAGRAM));
}

/// With what is in flight the fast path delivers one window within 75 ms, not three.
#[test]
fn what_is_in_flight_leaves_its_place_as_it_is_acknowledged() {
    let mut mams = Mams::new(MamsParameters { one_way: MamsOneWay::Half, ..MamsParameters::default() });
    let fast = slow_start(1, 50, 0).with(|path| path.in_slow_start = false);
    let (path, skipped, _) = sent(ask(&mut mams, Time::ZERO, &[fast, slow_start(2, 150, 10)], 1_000_000));
    assert_eq!((path, skipped), (2, 10 * DATAGRAM));
}

/// 10 packets of 1000 bytes in 50 ms are 1.6 Mbit/s. The link gives half of that, and none in the second round.
#[test]
fn the_capacity_of_a_link_bounds_what_is_expected() {
    let rate = |bits| {
        LinkDirection::default().with(|direction| direction.capacity = Some(Rate::from_bits_per_second(bits)))
    };
    let mut mams = published();
    let forecast = |ms, bits| Forecast::new(Time::from_millis(ms), state(rate(bits)));
    let forecasts = [forecast(40, 800_000), forecast(45, 0)];
    tell_link(&mut mams, Time::ZERO, 1, &state(rate(800_000)), &forecasts);
    let paths = [slow_start(1, 50, 0), slow_start(2, 150, 10)];
    assert_eq!(sent(ask(&mut mams, Time::ZERO, &paths, 1_000_000)), (2, 5 * DATAGRAM, 10 * DATAGRAM));
    let mut unbounded = Mams::new(MamsParameters { capacity: false, ..published().parameters });
    tell_link(&mut unbounded, Time::ZERO, 1, &state(rate(800_000)), &forecasts);
    assert_eq!(sent(ask(&mut unbounded, Time::ZERO, &paths, 1_000_000)).1, 30 * DATAGRAM);
}

/// A forecast of loss takes the place of the measured rate: q = 10 * 0.9 + (0.9^10 * 20 + ...) = 18.2 instead of 30.
#[test]
fn a_forecast_of_loss_counts_more_than_what_was_measured() {
    let lossy = state(LinkDirection::default().with(|direction| direction.loss = Some(0.1)));
    let paths = [slow_start(1, 50, 0), slow_start(2, 150, 10)];
    for (loss_forecast, expected) in [(true, 18), (false, 30)] {
        let mut mams = Mams::new(MamsParameters { loss_forecast, ..published().parameters });
        tell_link(&mut mams, Time::ZERO, 1, &lossy, &[]);
        let (path, skipped, _) = sent(ask(&mut mams, Time::ZERO, &paths, 1_000_000));
        assert_eq!((path, skipped), (2, expected * DATAGRAM));
    }
}

fn report(path: u32, product: u32) -> Message {
    let entry = hawser_paths::MobilityEntry { bandwidth_delay_product: product, loss_ppm: None };
    let step = Duration::from_millis(500);
    MobilityReport { age: Duration::ZERO, step, entries: vec![entry; 3] }.message(PathId(path))
}

fn tell_report(mams: &mut Mams, now: Time, message: &Message) {
    let origin = hawser_policy::MessageOrigin::Peer;
    mams.on_event(&Event::Message { now, origin, message }, &mut Vec::new());
}

/// The peer may lower what is sent, as long as its report covers the time; more than the window it cannot ask for.
#[test]
fn reports_of_the_peer_bound_a_path_until_they_are_old() {
    let mut mams = published();
    let paths = [slow_start(1, 50, 0), slow_start(2, 150, 10)];
    let skipped = |mams: &mut Mams, ms| sent(ask(mams, Time::from_millis(ms), &paths, 1_000_000)).1;
    assert_eq!(skipped(&mut mams, 0), 30 * DATAGRAM);
    tell_report(&mut mams, Time::from_millis(10), &report(1, 5_000));
    assert_eq!(skipped(&mut mams, 10), 10 * DATAGRAM, "two rounds of five packets");
    assert_eq!(skipped(&mut mams, 1_700), 30 * DATAGRAM, "the report is too old");
    tell_report(&mut mams, Time::from_secs(2), &report(1, 1 << 30));
    assert_eq!(skipped(&mut mams, 2_000), 30 * DATAGRAM);
    let nonsense = report(1, 5_000).with(|message| message.payload = vec![0; 3]);
    tell_report(&mut mams, Time::from_secs(2), &nonsense);
    assert_eq!(mams.reports_ignored(), 1);
}

/// A change of more than a quarter, or of another cell, makes a plan void; less does not.
#[test]
fn news_of_a_link_make_a_plan_void_if_they_matter() {
    let of = |bits| {
        state(
            LinkDirection::default()
                .with(|direction| direction.capacity = Some(Rate::from_bits_per_second(bits))),
        )
    };
    let mut mams = published();
    let paths = [slow_start(1, 50, 10), slow_start(2, 150, 10)];
    tell_link(&mut mams, Time::ZERO, 1, &of(10_000_000), &[]);
    ask(&mut mams, Time::ZERO, &paths, 1_000_000);
    for (bits, is_new) in [(9_000_000, false), (12_400_000, false), (5_000_000, true)] {
        let before = mams.cycle.tag();
        tell_link(&mut mams, Time::from_millis(1), 1, &of(bits), &[]);
        ask(&mut mams, Time::from_millis(1), &paths, 1_000_000);
        assert_eq!(mams.cycle.tag() != before, is_new, "{bits}");
    }
}

/// A cycle is over when its time is, or when each of its paths was heard from about what it sent in it.
#[test]
fn a_cycle_ends_when_all_its_paths_have_answered() {
    let mut mams = published();
    let mut paths = [slow_start(1, 50, 5), slow_start(2, 150, 5)];
    for path in &mut paths {
        path.oldest_in_flight = Some(Time::ZERO);
    }
    let number = |mams: &mut Mams, ms: u64, paths: &[PathView]| {
        ask(mams, Time::from_millis(ms), paths, 1_000_000);
        mams.cycle.tag()
    };
    assert_eq!(number(&mut mams, 10, &paths), Tag(1));
    for path in &mut paths {
        path.bytes_acked = 5 * DATAGRAM;
    }
    assert_eq!(number(&mut mams, 20, &paths), Tag(1), "acknowledgements of what was sent before");
    paths[0].oldest_in_flight = Some(Time::from_millis(10));
    assert_eq!(number(&mut mams, 30, &paths), Tag(1), "the other path has not answered");
    let timeout = Event::ProbeTimeout { now: Time::from_millis(40), path: PathId(2), count: 1 };
    mams.on_event(&timeout, &mut Vec::new());
    assert_eq!(number(&mut mams, 40, &paths), Tag(2));
    assert_eq!(number(&mut mams, 189, &paths), Tag(2));
    assert_eq!(number(&mut mams, 190, &paths), Tag(3), "a cycle takes the longest round-trip time");
}

/// What was lost is the head of line: it takes the path on which it arrives first, its next loss included.
#[test]
fn what_was_lost_goes_where_it_arrives_first() {
    let queue = QueueView::default().with(|queue| {
        queue.retransmit = 5_000;
        queue.unsent = 9_000;
    });
    let retransmits =
        |paths: &[PathView]| published().schedule(&view_at(Time::ZERO, paths, queue), &mut Vec::new());
    let on = |id: u32| {
        Decision::Send(Assignment::next(PathId(id)).with(|assignment| assignment.max_bytes = 5_000))
    };
    assert_eq!(retransmits(&[slow_start(1, 50, 10), slow_start(2, 80, 10)]), on(1));
    // 25 + 25 ms on the full one, 40 on the other.
    assert_eq!(retransmits(&[slow_start(1, 50, 0), slow_start(2, 80, 10)]), on(2));
    // 25 + 25 + 25 for half of a window, and 76.
    assert_eq!(retransmits(&[slow_start(1, 50, 0), slow_start(2, 152, 10)]), Decision::Wait(None));
    // Half of all packets are lost: 25 + 50 ms, and 40.
    let lossy = slow_start(1, 50, 10).with(|path| path.loss_ppm = 500_000);
    assert_eq!(retransmits(&[lossy, slow_start(2, 80, 10)]), on(2));
    // Nobody waits for a path that has fallen silent.
    let silent = slow_start(1, 50, 0).with(|path| path.oldest_in_flight = Some(Time::ZERO));
    let view = [silent, slow_start(2, 150, 10)];
    let late = published().schedule(&view_at(Time::from_secs(1), &view, queue), &mut Vec::new());
    assert_eq!(late, on(2));
}

/// A window's worth of losses needs another round trip on the fast path, while the slow one has room.
#[test]
fn many_losses_do_not_wait_for_a_full_path() {
    let queue = QueueView::default().with(|queue| {
        queue.retransmit = 10_000;
        queue.unsent = 9_000;
    });
    let paths = [slow_start(1, 50, 0), slow_start(2, 152, 10)];
    let decision = published().schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
    assert_eq!(sent(decision), (2, 0, 10_000));
}

/// A queue of one stream: its first bytes were lost, the others were never sent.
struct OneStream {
    lost: u64,
    unsent: u64,
}

impl SendQueue for OneStream {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let lost = Segment::plain(StreamId(4), 0..self.lost).with(|segment| segment.retransmission = true);
        let unsent = Segment::plain(StreamId(4), 50_000..50_000 + self.unsent);
        if visit(&lost).is_continue() {
            let _ = visit(&unsent);
        }
    }
}

/// While what was lost waits for the fast path, the slow one takes its part of the plan.
#[test]
fn new_data_does_not_wait_for_what_was_lost() {
    let queue = QueueView::default().with(|queue| {
        queue.retransmit = 5_000;
        queue.unsent = 900_000;
    });
    let segments = OneStream { lost: 5_000, unsent: 900_000 };
    let paths = [slow_start(1, 50, 0), slow_start(2, 152, 10)];
    let view = view_at(Time::ZERO, &paths, queue).with(|view| view.segments = &segments);
    let Decision::Send(assignment) = published().schedule(&view, &mut Vec::new()) else { panic!("it waits") };
    let start = 50_000 + 30 * DATAGRAM;
    let range = Selection::Range { stream: StreamId(4), start, end: start + 10 * DATAGRAM };
    assert_eq!((assignment.path, assignment.selection), (PathId(2), range));
}

/// A source that says of all links that they are down may be wrong: the connection goes on.
#[test]
fn links_that_are_all_said_to_be_down_are_used_all_the_same() {
    let down = LinkState::default().with(|state| state.is_up = false);
    let mut mams = published();
    tell_link(&mut mams, Time::ZERO, 1, &down, &[]);
    let paths = [slow_start(1, 50, 10), slow_start(2, 150, 10)];
    assert_eq!(sent(ask(&mut mams, Time::ZERO, &paths, 1_000_000)), (2, 0, 10 * DATAGRAM));
    tell_link(&mut mams, Time::ZERO, 2, &down, &[]);
    assert_eq!(ask(&mut mams, Time::from_millis(1), &paths, 1_000_000), next(1));
}
