//! What has to last while nobody looks: a path that was silent, and keys on a path that is idle.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Code, Connection};
use hawser_policy::{
    Assignment, Commands, Decision, PathId, PathState, Scheduler, SchedulerInit, SendView, Side, Time,
};

use super::bed::{Bed, street};
use super::{Measure, Setting};

/// Bytes of a transfer: 4.2 s on [`street`] alone.
const LENGTH: u64 = 10_000_000;

/// Path 0 falls silent, and while it is suspect the server abandons the other one. 200 ms later its link carries again: what
/// was outstanding on it, PATH_ABANDON included, has to be retransmitted there.
pub(super) fn suspect_left_alone(setting: &Setting<'_>) -> Vec<Measure> {
    let mut bed = Bed::new(setting, Side::Server, LENGTH, &[street(), street()]);
    let second = bed.open(1);
    bed.run_to(Time::from_secs(1));
    bed.count_from_here();
    bed.network.force(bed.links[0], Some(false));
    let mut now = bed.network.now();
    while !is_suspect(&mut bed) && now < Time::from_secs(2) {
        now += STEP;
        bed.run_to(now);
    }
    let until_suspect = now.since(Time::from_secs(1)).as_secs_f64() * 1e3;
    bed.server().abandon_path(now, second, Code::NO_ERROR).expect("there is another");
    bed.run_to(now + Duration::from_millis(200));
    bed.network.force(bed.links[0], Some(true));
    let returned = bed.network.now();
    let received = bed.received();
    let mut resumed = returned;
    while bed.received() == received && resumed < returned + RESUMED_WITHIN * 4 {
        resumed += STEP;
        bed.run_to(resumed);
    }
    let silence = resumed.since(returned).as_secs_f64() * 1e3;
    let end = bed.finish();
    let left = bed.client().paths().len();
    vec![
        Measure::at_most("until it was suspect and left alone", until_suspect, "ms", 500.0),
        Measure::at_most("silence after the link returned", silence, "ms", RESUMED_WITHIN.as_millis() as f64),
        Measure::at_most("paths left at the client", left as f64, "", 1.0),
        Measure::at_most("end", end, "s", 4.5),
        bed.beyond_window(),
    ]
}

fn is_suspect(bed: &mut Bed) -> bool {
    bed.server().paths().iter().any(|path| path.id == PathId::ZERO && path.state == PathState::Suspect)
}

/// Probes of a suspect path leave a second apart at most.
const RESUMED_WITHIN: Duration = Duration::from_millis(1_050);
const STEP: Duration = Duration::from_millis(5);

/// The path with the lowest id that there is.
struct FirstOnly;

impl Scheduler for FirstOnly {
    fn name(&self) -> &'static str {
        "first-only"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let first = view.preferred().min_by_key(|path| path.id).filter(|path| path.sendable() > 0);
        first.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }
}

/// Both ends in turn.
fn end_that_updates(bed: &mut Bed, n: u64) -> &mut Connection {
    if n.is_multiple_of(2) { bed.client() } else { bed.server() }
}

/// RFC 9001 section 6.5: previous keys are discarded after a while. A path that is idle meanwhile is used after three
/// updates.
pub(super) fn key_updates_beside_an_idle_path(setting: &Setting<'_>) -> Vec<Measure> {
    let first_only = || Arc::new(|_: &SchedulerInit| Box::new(FirstOnly) as Box<dyn Scheduler>);
    let alone = Bed::with_scheduler(setting, first_only(), Side::Server, LENGTH, &[street()]).finish();
    let mut bed = Bed::with_scheduler(setting, first_only(), Side::Server, LENGTH, &[street(), street()]);
    bed.open(1);
    // Three probe timeouts have to pass between two updates (RFC 9001 section 6.5), and those grow with the queue.
    for n in 1..=3 {
        let mut now = Time::from_millis(900 * n);
        bed.run_to(now);
        while !end_that_updates(&mut bed, n).initiate_key_update(now) && now < Time::from_secs(3) {
            now += STEP;
            bed.run_to(now);
        }
    }
    bed.run_to(Time::from_secs(3));
    bed.count_from_here();
    let now = bed.network.now();
    bed.client().abandon_path(now, PathId::ZERO, Code::NO_ERROR).expect("there is another");
    let end = bed.finish();
    let updates = bed.client().stats().key_updates;
    let lost = bed.client().stats().packets_undecryptable + bed.server().stats().packets_undecryptable;
    vec![
        Measure::at_least("key updates", updates as f64, "", 3.0),
        Measure::at_most("packets that could not be opened", lost as f64, "", 0.0),
        // Slow start on the path that was idle.
        Measure::at_most("longer than on one path", (end - alone) * 1e3, "ms", 250.0),
    ]
}
