//! No scheduler allocates once it runs: neither for a decision nor for a packet that leaves or is acknowledged.

#[allow(dead_code)] // Its `main` prints what frames cost.
#[path = "../examples/four_d_map_cost.rs"]
mod frames;

use std::time::Duration;

use hawser_policy::{
    Command, Commands, Decision, Event, Interests, PacketReport, PacketSent, PathId, PathView, PolicyKind,
    QueueView, Rate, Registry, Scheduler, SchedulerInit, SendView, Side, StreamId, StreamRange, Tag, Time,
};
use hawser_sched::{FourDMapParameters, FourDMapScheduler};

const DATAGRAM: u64 = 1_200;
const CALLS: u64 = 4_000;
/// Between two calls.
const SPACING: Duration = Duration::from_micros(250);

/// Windows are full and open by turns, and delays and rates vary.
fn path(id: u32, call: u64) -> PathView {
    let rtt = Duration::from_micros(u64::from(id) * 30_000 + 20_000 + call * 13 % 3_000);
    let window = 100 * DATAGRAM;
    PathView::new(PathId(id)).with(|path| {
        path.smoothed_rtt = rtt;
        path.min_rtt = rtt;
        path.rtt_variance = Duration::from_millis(2);
        path.latest_rtt = rtt;
        path.has_rtt_sample = true;
        path.congestion_window = window;
        path.bytes_in_flight = if (call / 8 + u64::from(id)).is_multiple_of(3) { window } else { window / 2 };
        path.oldest_in_flight = Some(Time::ZERO + SPACING * call as u32);
        path.in_slow_start = false;
        path.pacing_rate = Rate::from_megabits_per_second(20);
        path.delivery_rate = Some(Rate::from_bits_per_second(20_000_000 + call * 1_009 % 1_000_000));
        path.loss_ppm = 1_000;
        path.bytes_sent = call * DATAGRAM;
        path.bytes_acked = call * DATAGRAM;
    })
}

fn call(scheduler: &mut dyn Scheduler, interests: Interests, call: u64, commands: &mut Commands) {
    let now = Time::ZERO + SPACING * call as u32;
    let paths = [path(0, call), path(1, call)];
    let queue = QueueView::default().with(|queue| {
        queue.unsent = 1 << 24;
        queue.connection_window_left = 1 << 26;
    });
    let view = SendView::new(now, &paths, queue, &());
    let decision = scheduler.schedule(&view, commands);
    commands.clear();
    let Decision::Send(assignment) = decision else { return };
    let start = call * DATAGRAM;
    let ranges = [StreamRange { stream: StreamId(0), range: start..start + DATAGRAM, copy: false }];
    let sent = PacketSent::default().with(|sent| {
        sent.now = now;
        sent.path = assignment.path;
        sent.packet_number = call;
        sent.bytes = DATAGRAM;
        sent.bytes_in_flight = DATAGRAM;
        sent.tag = assignment.tag;
        sent.ranges = &ranges;
    });
    let report = PacketReport::default().with(|report| {
        report.now = now + Duration::from_millis(30);
        report.path = assignment.path;
        report.packet_number = call;
        report.bytes = DATAGRAM;
        report.sent_at = now;
        report.bytes_in_flight_at_send = DATAGRAM;
        report.tag = Tag(assignment.tag.0);
        report.ranges = &ranges;
    });
    for event in [Event::Sent(&sent), Event::Acked(&report)] {
        if interests.contains(event.interest()) {
            scheduler.on_event(&event, commands);
        }
    }
}

#[test]
fn nothing_is_allocated_per_decision() {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    for name in registry.names(PolicyKind::Scheduler) {
        let factory = registry.scheduler(name).unwrap();
        let mut scheduler = factory.build(&SchedulerInit::new(Side::Server, 1));
        let interests = scheduler.interests();
        let mut commands: Commands = Vec::with_capacity(64);
        commands.push(Command::Ping { path: PathId(0) });
        // Lists of paths are made with the first calls.
        (0..CALLS).for_each(|number| call(&mut *scheduler, interests, number, &mut commands));
        let counted = allocation_counter::measure(|| {
            (CALLS..2 * CALLS).for_each(|number| call(&mut *scheduler, interests, number, &mut commands));
        });
        // Peekaboo keeps what it learns in a list that grows once in a step.
        let most = if name == "peekaboo" { CALLS / 400 } else { 0 };
        assert!(counted.count_total <= most, "{name}: {} in {CALLS} decisions", counted.count_total);
    }
}

/// The scheduler of a set, over a stream of video frames: it remembers a few seconds of them, and then allocates no more.
#[test]
fn nothing_is_allocated_per_frame() {
    let mut scheduler = FourDMapScheduler::new(FourDMapParameters::default(), None, 1);
    let (mut offset, mut commands) = (0, Commands::with_capacity(16));
    let mut allocated = 0;
    for number in 0..2_000 {
        let mut frame = frames::Waiting::new(number, offset);
        offset = frame.end();
        let now = Time::from_millis(40 * number);
        let counted = allocation_counter::measure(|| {
            frames::send_frame(&mut scheduler, now, &mut frame, &mut commands);
        });
        allocated += if number < 500 { 0 } else { counted.count_total };
    }
    assert_eq!(allocated, 0);
}
