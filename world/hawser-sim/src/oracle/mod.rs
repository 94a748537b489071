//! A scheduler that knows the future of the links, to measure others against.
//!
//! [`OracleEdpf`] is Earliest Delivery Path First (Chebrolu and Rao, 2006) as it was meant: with the true rate, delay and
//! outages of every link from now on, and with what waits in front of them, from all senders. What it does not know is what
//! others will send, which packets are lost at random, and what the congestion controllers will allow: it has the windows
//! that any scheduler has. [`Simulation`](crate::run::Simulation) gives the knowledge to connections whose scheduler is
//! called [`NAME`](OracleEdpf::NAME); nobody else can have it.

mod knowledge;

use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, PathId, PathView, PolicyInfo, Rate, Registry, Scheduler, Selection,
    SendView, Side, Time,
};

pub(crate) use knowledge::Knowledge;
use knowledge::Route;

/// How long it waits for a link that is down while none would deliver.
const NOTHING_DELIVERS: Duration = Duration::from_millis(5);

/// Halvings in the search for what a link delivers until some time: to 3 %.
const HALVINGS: u32 = 5;

/// Adds the oracle to a copy of a registry, so that it can be named. Outside of a
/// [`Simulation`](crate::run::Simulation) it knows nothing, and takes half a round-trip time for the delay of a path.
#[must_use]
pub fn with_oracle(registry: &Registry) -> Registry {
    with_knowledge(registry, &Knowledge::default())
}

/// The same for a connection whose links are known.
pub(crate) fn with_knowledge(registry: &Registry, knowledge: &Knowledge) -> Registry {
    let mut registry = registry.clone();
    let knowledge = knowledge.clone();
    registry.add_scheduler_with(OracleEdpf::info(), move |init, _| {
        Box::new(OracleEdpf::new(init.side, knowledge.clone()))
    });
    registry
}

/// Every byte where it arrives first, by the true service of the links.
#[derive(Debug)]
pub struct OracleEdpf {
    side: Side,
    knowledge: Knowledge,
    paths: Vec<Known>,
}

/// What is known of a path.
#[derive(Debug)]
struct Known {
    id: PathId,
    route: Option<Route>,
    /// What it had sent, and what had entered its link, when this instant began.
    instant: Time,
    sent: u64,
    entered: u64,
}

impl OracleEdpf {
    /// Its name in the simulator.
    pub const NAME: &'static str = "oracle-edpf";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "where the packet arrives first, by the links' future; simulator only")
            .source("Chebrolu and Rao, IEEE TMC 2006")
    }

    fn new(side: Side, knowledge: Knowledge) -> Self {
        OracleEdpf { side, knowledge, paths: Vec::new() }
    }

    /// Its notes on a path, up to date.
    fn note(&mut self, now: Time, path: &PathView) -> &Known {
        let index = self.paths.iter().position(|known| known.id == path.id).unwrap_or_else(|| {
            self.paths.push(Known { id: path.id, route: None, instant: now, sent: 0, entered: 0 });
            self.paths.len() - 1
        });
        let known = &mut self.paths[index];
        if known.route.is_none() {
            known.route = self.knowledge.route(self.side, path.id);
            known.instant = Time::ZERO;
        }
        if known.instant != now {
            let entered = known.route.as_ref().map_or(0, |route| route.entered(now, datagram(path)));
            (known.instant, known.sent, known.entered) = (now, path.bytes_sent, entered);
        }
        known
    }

    /// How long until `bytes` more than those of the batch in the making arrive. `None`: they would be lost.
    fn arrival(&mut self, now: Time, path: &PathView, bytes: u64) -> Option<Duration> {
        let known = self.note(now, path);
        let Some(route) = &known.route else { return Some(path.smoothed_rtt / 2) };
        let sent = path.bytes_sent.saturating_sub(known.sent);
        let entered = route.entered(now, datagram(path)).saturating_sub(known.entered);
        route.arrival(now, sent.saturating_sub(entered) + bytes, datagram(path))
    }

    /// Bytes that `fast` delivers before what arrives `until` from now: as many as its window allows and its link carries.
    fn delivered_before(&mut self, now: Time, fast: &PathView, first: Duration, until: Duration) -> u64 {
        let rate = Rate::from_bytes_over(fast.congestion_window, fast.smoothed_rtt);
        let most = rate.bytes_in(until.saturating_sub(first));
        let fits = |oracle: &mut Self, bytes: u64| {
            bytes == 0 || oracle.arrival(now, fast, bytes).is_some_and(|arrival| arrival <= until)
        };
        if fits(self, most) {
            return most;
        }
        let (mut low, mut high) = (0u64, most);
        for _ in 0..HALVINGS {
            let middle = low.midpoint(high);
            if fits(self, middle) { low = middle } else { high = middle }
        }
        low
    }

    /// The path that delivers first among those that can send, and when. Ties go to the lower id.
    fn first(&mut self, view: &SendView<'_>) -> Option<(Duration, usize)> {
        let mut best: Option<(Duration, PathId, usize)> = None;
        for (position, path) in view.paths.iter().enumerate() {
            let is_wanted = path.sendable() > 0 && view.preferred().any(|wanted| wanted.id == path.id);
            let Some(arrival) = is_wanted.then(|| self.arrival(view.now, path, datagram(path))).flatten()
            else {
                continue;
            };
            if best.is_none_or(|(least, id, _)| (arrival, path.id) < (least, id)) {
                best = Some((arrival, path.id, position));
            }
        }
        best.map(|(arrival, _, position)| (arrival, position))
    }
}

impl Scheduler for OracleEdpf {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let Some((arrival, position)) = self.first(view) else {
            return Decision::Wait(Some(view.now + NOTHING_DELIVERS));
        };
        let path = &view.paths[position];
        let (mut gap, mut release) = (0u64, None::<Time>);
        for fast in view.preferred().filter(|fast| fast.id != path.id) {
            let Some(first) = self.arrival(view.now, fast, datagram(fast)).filter(|first| *first < arrival)
            else {
                continue;
            };
            gap = gap.saturating_add(self.delivered_before(view.now, fast, first, arrival));
            release = [release, fast.next_release].into_iter().flatten().min();
        }
        place(view, path, gap, release)
    }
}

/// Sends on `path` what faster paths will not deliver sooner, `gap` bytes behind the head of the queue; if nothing is left,
/// waits for them.
fn place(view: &SendView<'_>, path: &PathView, gap: u64, release: Option<Time>) -> Decision {
    let queue = &view.queue;
    let one = Assignment::next(path.id).with(|assignment| assignment.max_bytes = datagram(path));
    if gap == 0 {
        return Decision::Send(one);
    }
    // Datagrams have no order: the last of those that wait is to arrive soon.
    if queue.datagrams > gap {
        return Decision::Send(one.with(|assignment| assignment.selection = Selection::Datagrams));
    }
    // What is sent again cannot be left at the head of the queue.
    if gap >= queue.unsent || queue.retransmit > 0 {
        return if queue.retransmit > gap { Decision::Send(one) } else { Decision::Wait(release) };
    }
    Decision::Send(one.with(|assignment| assignment.selection = Selection::Skip(gap)))
}

fn datagram(path: &PathView) -> u64 {
    u64::from(path.max_datagram_size).max(1)
}
