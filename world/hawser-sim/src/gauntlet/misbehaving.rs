//! Paths that trickle, mark, die or are abandoned at a bad moment.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::Code;
use hawser_link::{
    DirectionConfig, Discipline, MILLISECOND, QueueConfig, RateModel, StepMarking, StepThreshold,
};
use hawser_policy::{
    Assignment, Commands, Decision, PathId, PathView, Scheduler, SchedulerInit, SendView, Side, Time,
};

use super::bed::{Bed, street};
use super::{Measure, Setting};
use crate::testing::link;

/// Bytes of a transfer: 4.2 s on [`street`] alone.
const LENGTH: u64 = 10_000_000;

/// A path that hardly moves must not hold up what the other carries.
pub(super) fn trickling_path(setting: &Setting<'_>) -> Vec<Measure> {
    let alone = Bed::new(setting, Side::Server, LENGTH, &[street()]).finish();
    let (rate, queue) = (RateModel::constant(100_000), QueueConfig::bytes(25_000));
    let trickle = DirectionConfig { rate, queue, ..link(1, 150) };
    let mut bed = Bed::new(setting, Side::Server, LENGTH, &[street(), trickle]);
    bed.open(1);
    bed.count_from_here();
    let both = bed.finish();
    vec![
        Measure::at_most("longer than without it", (both - alone) * 1e3, "ms", 100.0),
        bed.sent_again(800.0),
        bed.beyond_window(),
    ]
}

/// Gives path 1 every fiftieth packet, path 0 the rest.
struct Trickle(u32);

impl Scheduler for Trickle {
    fn name(&self) -> &'static str {
        "trickle"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let turn = if self.0.is_multiple_of(50) { PathId(1) } else { PathId::ZERO };
        let wanted = view.path(turn).or(view.path(PathId::ZERO)).filter(|path| path.sendable() > 0);
        match wanted {
            Some(path) => {
                self.0 = self.0.wrapping_add(1);
                Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = 1))
            }
            None => Decision::Wait(None),
        }
    }
}

/// RFC 9002 section 7.8: a window that is not used does not grow.
pub(super) fn trickling_use(setting: &Setting<'_>) -> Vec<Measure> {
    let scheduler = Arc::new(|_: &SchedulerInit| Box::new(Trickle(1)) as Box<dyn Scheduler>);
    let mut bed = Bed::with_scheduler(setting, scheduler, Side::Server, LENGTH, &[street(), street()]);
    let second = bed.open(1);
    bed.count_from_here();
    bed.run_to(Time::from_secs(3));
    let stats = bed.sending().path_stats(second).expect("it was opened");
    let window = stats.congestion_window as f64 / 1e3;
    let end = bed.finish();
    vec![
        Measure::at_most("window of the trickling path", window, "kB", 30.0),
        Measure::at_most("end", end, "s", 4.7),
        bed.beyond_window(),
    ]
}

/// Marks take the place of drops: the window follows them, and the queue stays where they begin.
pub(super) fn marking_queue(setting: &Setting<'_>) -> Vec<Measure> {
    let threshold = StepThreshold::Sojourn(10 * MILLISECOND);
    let marking = Discipline::StepMarking(StepMarking { threshold });
    let street = street();
    let marking = DirectionConfig { queue: street.queue.clone().with(marking), ..street.clone() };
    let mut bed = Bed::new(setting, Side::Server, 2 * LENGTH, &[marking, street]);
    bed.open(1);
    bed.run_to(Time::from_secs(1));
    bed.count_from_here();
    let before = *bed.network.link_stats(bed.links[0]).expect("it exists").1;
    let end = bed.finish();
    let stats = bed.network.link_stats(bed.links[0]).expect("it exists").1;
    let waited = (stats.queue_time_total - before.queue_time_total) as f64 / 1e6;
    let packets = (stats.delivered_packets - before.delivered_packets).max(1) as f64;
    let (marked, dropped) = (stats.marked - before.marked, stats.dropped_queue - before.dropped_queue);
    vec![
        Measure::at_least("marked", marked as f64, "packets", 10.0),
        Measure::at_most("dropped by the marking queue", dropped as f64, "packets", 0.0),
        Measure::at_most("mean wait in the marking queue", waited / packets, "ms", 8.0),
        Measure::at_most("end", end, "s", 4.9),
        bed.beyond_window(),
    ]
}

/// The redundant scheduler queues each range on the other path as well.
pub(super) fn abandon_while_copies_wait(setting: &Setting<'_>) -> Vec<Measure> {
    let redundant = Setting { scheduler: "redundant", ..*setting };
    let alone = Bed::new(&redundant, Side::Server, LENGTH, &[street()]).finish();
    // Slower, so that copies pile up for it.
    let mut bed = Bed::new(&redundant, Side::Server, LENGTH, &[street(), link(5, 30)]);
    let second = bed.open(1);
    bed.run_to(Time::from_secs(2));
    bed.count_from_here();
    let now = bed.network.now();
    let waiting = |path: &PathView| if path.id == second { path.copies_queued } else { 0 };
    let copies: u64 = bed.sending().path_views(now).iter().map(waiting).sum();
    bed.client().abandon_path(now, second, Code::NO_ERROR).expect("there is another");
    let end = bed.finish();
    vec![
        Measure::at_least("copies that waited", copies as f64 / 1e3, "kB", 100.0),
        Measure::at_most("longer than on one path", (end - alone) * 1e3, "ms", 100.0),
        bed.sent_again(350.0),
        bed.beyond_window(),
    ]
}

/// The client abandons path 1, whose link is dead, the server at the same moment path 2: path 0 carries it all from then
/// on, and both hear of both.
pub(super) fn both_abandon_one_dead(setting: &Setting<'_>) -> Vec<Measure> {
    let mut bed = Bed::new(setting, Side::Server, LENGTH, &[street(), street(), street()]);
    let (first, second) = (bed.open(1), bed.open(2));
    bed.run_to(Time::from_secs(1));
    bed.count_from_here();
    bed.network.force(bed.links[1], Some(false));
    bed.run_to(Time::from_millis(1_050));
    let now = bed.network.now();
    // It depends on whether slow start has just ended.
    let held =
        [first, second].map(|path| bed.server().path_stats(path).map_or(0, |stats| stats.bytes_in_flight));
    let held = held.iter().sum::<u64>() as f64 / 1e3;
    bed.client().abandon_path(now, first, Code::NO_ERROR).expect("there are others");
    bed.server().abandon_path(now, second, Code::NO_ERROR).expect("there are others");
    let end = bed.finish();
    bed.network.run_to(bed.network.now() + Duration::from_secs(3));
    let left = bed.client().paths().len() + bed.server().paths().len();
    vec![
        // 57 Mbit/s for a second, 19 afterwards.
        Measure::at_most("end", end, "s", 3.3),
        Measure::at_most("paths left at both ends", left as f64, "", 2.0),
        // What was in flight on both that were given up; the third one, which takes over, loses a queue of 250 kB at most.
        bed.sent_again(held + 250.0),
        bed.beyond_window(),
    ]
}
