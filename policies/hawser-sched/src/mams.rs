//! MAMS, Mobility-Aware Multipath Scheduler: a cycle of packets is planned ahead, by what links are forecast to deliver.
//!
//! | file | subject |
//! |---|---|
//! | `forecast` | what an end of a path is expected to carry, by time |
//! | `window` | how a window changes from round to round |
//! | `curve` | expected deliveries q(T) of a path (equations 9 to 21) |
//! | `plan` | which paths are needed, and which packets each gets (algorithms 1 and 2) |
//! | `links` | news of links, reports of the peer |
//! | `cycle` | the plan while it is carried out, and when it is over |

mod curve;
mod cycle;
mod forecast;
mod links;
mod parameters;
mod plan;
mod window;

use std::ops::{ControlFlow, Range};
use std::time::Duration;

use hawser_paths::MobilityReport;
use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, Message, PathChange, PathId, PathView, PolicyInfo,
    Scheduler, Selection, SendView, Time, Trace,
};

pub use curve::MamsPath;
pub use forecast::{MAX_MAMS_POINTS, MamsForecast, MamsPoint};
pub use parameters::{MamsOneWay, MamsParameters};
pub use plan::{MamsBudget, MamsPlanner, MamsPlannerSettings, MamsRun};
pub use window::MamsWindowModel;

use crate::arrival::paced_window;
use crate::choose::{by_rtt, explore, explored, fastest_sendable};
use crate::deliveries::NewReno;
use crate::placement::{datagram, earlier};
use cycle::Cycle;
use links::Links;

/// Round-trip times outside of these are ignored, in seconds.
const SHORTEST_RTT: f64 = 1e-4;
const LONGEST_RTT: f64 = 60.0;

/// The note of a plan, one for each path.
const PLAN: &str = "mams.plan";

/// A path that has room and no packets left of the plan has a new plan made, but not sooner than this share of the fastest
/// round-trip time after the last: plans that follow each other with every acknowledgement only move packets to and fro.
const BETWEEN_PLANS: u32 = 4;

/// MAMS (Yang, Pan, Cai, Xiong: "Mobility-Aware Multipath Scheduler", IEEE/ACM Transactions on Networking, 2024; W. Yang,
/// dissertation, University of Victoria 2024, chapter 2).
///
/// At the beginning of a cycle, about the longest round-trip time, it computes for every path how many packets will have
/// arrived by when: over all sequences of rounds without loss, with fast recovery and with timeouts, windows bounded by what
/// both ends are forecast to carry, loss as forecast. Of the fastest paths it takes as many as deliver what is queued. A slower
/// path gets the packets that follow what the faster ones will have delivered when its own arrive, so that all arrive in
/// order.
///
/// Forecasts of our links come as [`Event::Link`], those of the peer's in messages that the set
/// [`Mmquic`](crate::Mmquic) exchanges. Without either, loss is the measured one and windows alone bound what a path takes.
#[derive(Debug, Default)]
pub struct Mams {
    parameters: MamsParameters,
    planner: MamsPlanner,
    links: Links,
    cycle: Cycle,
    /// The paths as the planner sees them, in order of id.
    paths: Vec<MamsPath>,
    ids: Vec<Place>,
    trace: Trace,
}

/// A path of the last plan.
#[derive(Clone, Copy, Debug)]
struct Place {
    path: PathId,
    /// In the view.
    position: usize,
    one_way: Duration,
}

impl Mams {
    /// Its name in the registry.
    pub const NAME: &'static str = "mams";

    /// With other parameters.
    pub fn new(parameters: MamsParameters) -> Self {
        Mams { parameters, planner: MamsPlanner::new(parameters.planner()), ..Mams::default() }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Reports of the peer that could not be read.
    pub fn reports_ignored(&self) -> u64 {
        self.links.reports_ignored
    }

    /// A path at this moment, as the planner sees it.
    fn model(&self, now: Time, path: &PathView, fastest: Duration) -> MamsPath {
        let MamsParameters { capacity, loss_forecast, reports, .. } = self.parameters;
        let size = datagram(path) as f64;
        let window = paced_window(path) as f64 / size;
        let rtt = path.smoothed_rtt.as_secs_f64().clamp(SHORTEST_RTT, LONGEST_RTT);
        let (up, knows_up) = self.links.up(now, path);
        let (down, knows_down) =
            if reports { self.links.down(now, path) } else { (MamsForecast::UNKNOWN, false) };
        let knows_loss = loss_forecast && (knows_up || knows_down);
        let believed = |forecast: MamsForecast| {
            let forecast = if capacity { forecast } else { forecast.without_limit() };
            if loss_forecast { forecast } else { forecast.without_loss() }
        };
        let measured = f64::from(path.loss_ppm.min(1_000_000)) / 1e6;
        let model = MamsPath {
            window,
            threshold: if path.in_slow_start { f64::INFINITY } else { window },
            rtt,
            one_way: self.one_way(path, fastest).as_secs_f64().clamp(SHORTEST_RTT / 2.0, rtt),
            timeout: path.probe_timeout.as_secs_f64().clamp(rtt, LONGEST_RTT.max(rtt)),
            in_flight: if self.parameters.in_flight { path.bytes_in_flight as f64 / size } else { 0.0 },
            packet_time: 0.0,
            loss: if knows_loss { 0.0 } else { measured },
            up: believed(up),
            down: believed(down),
        };
        MamsPath { packet_time: self.packet_time(path, &model), ..model }
    }

    /// Time between two packets of a path: that on the slower of its ends, or by its delivery rate; not more than what spreads a
    /// round over a round-trip time.
    fn packet_time(&self, path: &PathView, model: &MamsPath) -> f64 {
        let spread = model.rtt / model.first_round().max(1.0);
        let (down, _) = model.down.at(0.0);
        let received = if down > 0.0 { model.rtt / down } else { spread };
        let sent = self.links.packet_time(path).unwrap_or_else(|| {
            let rate = path.delivery_rate.map_or(0.0, |rate| rate.bits_per_second() as f64);
            if model.down.is_known() || rate <= 0.0 { 0.0 } else { 8.0 * datagram(path) as f64 / rate }
        });
        sent.max(received).min(spread)
    }

    fn one_way(&self, path: &PathView, fastest: Duration) -> Duration {
        match self.parameters.one_way {
            MamsOneWay::Half => path.smoothed_rtt / 2,
            MamsOneWay::Return => path.smoothed_rtt.saturating_sub(fastest / 2),
        }
    }

    /// Plans for what is queued now.
    fn plan(&mut self, view: &SendView<'_>) {
        let fastest = explored(view).map(|path| path.smoothed_rtt).min().unwrap_or_default();
        self.ids.clear();
        self.paths.clear();
        for path in explored(view) {
            let position = view.paths.iter().position(|other| other.id == path.id).unwrap_or_default();
            self.ids.push(Place { path: path.id, position, one_way: self.one_way(path, fastest) });
        }
        self.ids.sort_unstable_by_key(|place| place.path);
        for place in 0..self.ids.len() {
            let model = self.model(view.now, &view.paths[self.ids[place].position], fastest);
            self.paths.push(model);
        }
        let sizes = self.ids.iter().map(|place| datagram(&view.paths[place.position]));
        let queued = view.queue.unsent.div_ceil(sizes.min().unwrap_or(1));
        let length = explored(view).map(|path| path.smoothed_rtt).max().unwrap_or_default();
        self.cycle.begin(view.now, length);
        for run in self.planner.plan(&self.paths, queued) {
            let path = &view.paths[self.ids[run.path].position];
            self.cycle.add_run(path.id, run.packets.saturating_mul(datagram(path)));
        }
        for selected in self.planner.selected() {
            self.cycle.add_path(&view.paths[self.ids[*selected].position]);
        }
        self.links.on_planned();
        self.note(view);
    }

    /// Notes how many packets the plan expects of each path by the largest one-way delay of all, and how many LATE would: the whole
    /// window at once, no limit of capacity, and the loss rate as measured.
    fn note(&self, view: &SendView<'_>) {
        if !self.trace.wants(PLAN) {
            return;
        }
        let budget = self.paths.iter().map(|path| path.one_way).fold(0.0, f64::max);
        for (index, place) in self.ids.iter().enumerate() {
            let path = &view.paths[place.position];
            self.trace.note(view.now, PLAN, Some(place.path), || {
                let measured = f64::from(path.loss_ppm.min(1_000_000)) / 1e6;
                let late = NewReno::of(path, measured).deliveries(budget, 1e-3);
                let expected = self.planner.expected(index, budget);
                [
                    ("budget_s", budget.into()),
                    ("expected", expected.into()),
                    ("expected_by_late", late.into()),
                ]
            });
        }
    }

    /// The next bytes of the plan, on the fastest path that has room and a part of it.
    fn dispatch(&self, view: &SendView<'_>) -> Option<Decision> {
        let unsent = view.queue.unsent;
        let mut best: Option<(&PathView, u64, u64)> = None;
        for path in explored(view).filter(|path| path.sendable() > 0) {
            let Some((skip, bytes)) = self.cycle.next_of(path.id) else { continue };
            if skip < unsent && best.is_none_or(|(other, ..)| by_rtt(path) < by_rtt(other)) {
                best = Some((path, skip, bytes));
            }
        }
        let (path, skip, bytes) = best?;
        let selection = if skip == 0 { Selection::Next } else { Selection::Skip(skip) };
        let max_bytes = bytes.min(unsent - skip);
        let tag = self.cycle.tag();
        Some(Decision::Send(Assignment::next(path.id).with(|assignment| {
            assignment.selection = selection;
            assignment.max_bytes = max_bytes;
            assignment.tag = tag;
        })))
    }

    /// New data, by the plan.
    fn place(&mut self, view: &SendView<'_>) -> Decision {
        if self.cycle.is_over(view) {
            self.plan(view);
        }
        if let Some(decision) = self.dispatch(view) {
            return decision;
        }
        // A path has room, but no part of the plan.
        let fastest = explored(view).map(|path| path.smoothed_rtt).min().unwrap_or_default();
        if view.now >= self.cycle.began_at() + fastest / BETWEEN_PLANS && view.now > self.cycle.began_at() {
            self.plan(view);
            if let Some(decision) = self.dispatch(view) {
                return decision;
            }
        }
        if self.planner.selected().is_empty() {
            // All links are forecast to be down. Who says so may be wrong, and nothing else is to be had.
            let path = fastest_sendable(view);
            return path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)));
        }
        let release = explored(view).fold(None, |release, path| earlier(release, path.next_release));
        Decision::Wait(earlier(release, Some(self.cycle.until())))
    }

    /// New data while what was lost waits for a faster path. It is named, since positions in the queue have what was lost at
    /// their head.
    fn meanwhile(&mut self, view: &SendView<'_>) -> Option<Decision> {
        let Decision::Send(assignment) = self.place(view) else { return None };
        let mut before = match assignment.selection {
            Selection::Skip(bytes) => bytes,
            _ => 0,
        };
        let mut found = None;
        view.segments.segments(&mut |segment| {
            let Range { start, end } = segment.range;
            let length = end.saturating_sub(start);
            if segment.retransmission || segment.assigned.is_some() {
                return ControlFlow::Continue(());
            }
            if before >= length {
                before -= length;
                return ControlFlow::Continue(());
            }
            let start = start + before;
            let end = end.min(start.saturating_add(assignment.max_bytes));
            found = Some(Selection::Range { stream: segment.stream, start, end });
            ControlFlow::Break(())
        });
        let found = found?;
        Some(Decision::Send(assignment.with(|assignment| assignment.selection = found)))
    }

    /// What was lost has the smallest numbers of all: it goes where it arrives first, another loss included. A path that is
    /// full has room within half a round trip on the average, and takes a window in each, unless it has fallen silent.
    fn retransmit(&self, view: &SendView<'_>, bytes: u64) -> Decision {
        let fastest = explored(view).map(|path| path.smoothed_rtt).min().unwrap_or_default();
        let arrival = |path: &PathView| {
            let model = self.model(view.now, path, fastest);
            let (packets, loss) = model.limit(model.window, 0.0);
            // The last of them waits for those before it.
            let rounds = 0.5 + bytes as f64 / paced_window(path).max(1) as f64;
            let wait = if path.sendable() > 0 { 0.0 } else { model.rtt * rounds };
            // Each further attempt costs a round trip.
            let again = model.rtt * loss / (1.0 - loss).max(1e-3);
            if packets < 1.0 { f64::INFINITY } else { model.one_way + again + wait }
        };
        let silent = |path: &PathView| {
            path.oldest_in_flight.is_some_and(|sent| view.now.since(sent) > path.probe_timeout)
        };
        let usable = explored(view).filter(|path| path.sendable() > 0 || !silent(path));
        let order = |one: &&PathView, other: &&PathView| {
            arrival(one).total_cmp(&arrival(other)).then(one.id.cmp(&other.id))
        };
        let Some(best) = usable.min_by(order) else { return Decision::Wait(None) };
        if best.sendable() == 0 && arrival(best).is_finite() {
            return Decision::Wait(best.next_release);
        }
        let path = if best.sendable() > 0 { Some(best) } else { fastest_sendable(view) };
        path.map_or(Decision::Wait(None), |path| {
            Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = bytes))
        })
    }

    fn on_message(&mut self, now: Time, message: &Message) {
        let Some((path, report)) = message.path.zip(MobilityReport::read(message)) else {
            self.links.reports_ignored += 1;
            return;
        };
        let place = self.ids.iter().find(|place| place.path == path);
        let one_way = place.map_or(Duration::ZERO, |place| place.one_way);
        let matters = self.links.on_report(now, path, report, one_way);
        self.cycle.void_if(matters);
    }
}

impl Scheduler for Mams {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let queue = &view.queue;
        if queue.retransmit > 0 {
            let decision = self.retransmit(view, queue.retransmit);
            let waits = matches!(decision, Decision::Wait(_)) && queue.unsent > 0;
            return if waits { self.meanwhile(view).unwrap_or(decision) } else { decision };
        }
        if queue.datagrams > 0 {
            // A datagram has no place in a sequence: it goes where it arrives first.
            return self.retransmit(view, 1);
        }
        if queue.unsent == 0 {
            return Decision::Wait(None);
        }
        self.place(view)
    }

    fn set_trace(&mut self, trace: &Trace) {
        self.trace = trace.clone();
    }

    fn interests(&self) -> Interests {
        Interests::SENT | Interests::PROBE_TIMEOUT | Interests::PATHS | Interests::LINKS | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match event {
            Event::Sent(sent) => {
                let new = sent.ranges.iter().filter(|range| !range.copy);
                let bytes = new.map(|range| range.range.end.saturating_sub(range.range.start)).sum();
                self.cycle.on_sent(sent.tag, sent.path, bytes);
            }
            Event::ProbeTimeout { path, .. } => self.cycle.on_timeout(*path),
            Event::Path { path, change, .. } => {
                self.cycle.void_if(true);
                if *change == PathChange::Abandoned {
                    self.links.forget(*path);
                }
            }
            Event::Link(update) => {
                let matters = self.links.on_update(update);
                self.cycle.void_if(matters);
            }
            Event::Message { now, message, .. } => self.on_message(*now, message),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
