//! What the two drivers, TUN devices and the loopback relay, have in common: links with their clock, the
//! measure of lateness, and the rule when to sleep.

use std::thread;
use std::time::{Duration, Instant};

use hawser_link::{Departure, Direction, Link, Nanos, Rejected, Scenario, ScenarioLink, nanos};

use crate::lateness::Histogram;
use crate::stats::{DirectionStats, EmulationStats};

/// While packets flow a driver sleeps this long between two turns and then moves all there are: one wake-up
/// for many packets. It adds at most this to a packet's delay, twice.
const COALESCE: Duration = Duration::from_micros(200);
/// Shorter sleeps cost more than they help.
const SHORTEST_SLEEP: Duration = Duration::from_micros(40);
/// Packets read from one source before the others have their turn.
pub(crate) const READ_BUDGET: usize = 64;
/// Buffers kept for reuse beyond those in use.
const SPARE_BUFFERS: usize = 4096;

/// A packet's bytes; its length is kept by the link.
pub(crate) type Buffer = Box<[u8]>;

/// All directions of all links: flow `2 i` is link `i` up, flow `2 i + 1` is link `i` down.
#[derive(Debug)]
pub(crate) struct Flows<P> {
    epoch: Instant,
    flows: Vec<Flow<P>>,
    buffers: Buffers,
}

#[derive(Debug)]
struct Flow<P> {
    link: Link<P>,
    lateness: Histogram,
    refused: u64,
}

/// Buffers for packets, reused.
#[derive(Debug)]
struct Buffers {
    spare: Vec<Buffer>,
    size: usize,
}

/// What a driver does between two turns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pause {
    /// Sleep without looking for packets, to let them gather.
    Sleep(Duration),
    /// Wait for packets, at most this long.
    Poll(Option<Duration>),
}

impl Pause {
    /// Sleeps if that is what is to be done, and returns how long to wait for packets then.
    pub(crate) fn timeout(self) -> Option<Duration> {
        match self {
            Self::Sleep(duration) => {
                thread::sleep(duration);
                Some(Duration::ZERO)
            }
            Self::Poll(timeout) => timeout,
        }
    }
}

impl<P> Flows<P> {
    /// Links at the start of their schedules, which is now.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let flow = |(link, direction): (&ScenarioLink, Direction)| Flow {
            link: Link::new(link.direction(direction), scenario.seed_of(link, direction)),
            lateness: Histogram::new(),
            refused: 0,
        };
        let both = |link| Direction::BOTH.map(|direction| (link, direction));
        let flows = scenario.links.iter().flat_map(both).map(flow).collect();
        let mtu = scenario.links.iter().map(|link| link.up.mtu.max(link.down.mtu)).max().unwrap_or_default();
        let buffers = Buffers { spare: Vec::new(), size: mtu as usize + 64 };
        Self { epoch: Instant::now(), flows, buffers }
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Time since the start of the schedules.
    pub(crate) fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn now(&self) -> Nanos {
        nanos(self.epoch.elapsed())
    }

    /// Forces both directions of a link up or down, or gives them back to their schedule.
    pub(crate) fn force(&mut self, link: usize, state: Option<bool>) {
        let now = self.now();
        for flow in self.flows.iter_mut().skip(2 * link).take(2) {
            flow.link.force(now, state);
        }
    }

    /// A buffer large enough for any packet.
    pub(crate) fn buffer(&mut self) -> Buffer {
        self.buffers.take()
    }

    /// Takes a buffer back.
    pub(crate) fn recycle(&mut self, buffer: Buffer) {
        self.buffers.give_back(buffer);
    }

    /// Hands a packet to a flow; the payload comes back when the link drops it.
    pub(crate) fn enqueue(&mut self, index: usize, length: usize, payload: P) -> Result<(), Rejected<P>> {
        let now = self.now();
        self.flows[index].link.enqueue(now, length as u32, payload)
    }

    /// The next packet of a flow that is due; records how late it is.
    pub(crate) fn dequeue(&mut self, index: usize) -> Option<Departure<P>> {
        let now = self.now();
        let flow = &mut self.flows[index];
        let packet = flow.link.dequeue(now)?;
        flow.lateness.record(now - packet.at);
        Some(packet)
    }

    /// Counts a packet that the receiving side did not take.
    pub(crate) fn refused(&mut self, index: usize) {
        self.flows[index].refused += 1;
    }

    /// What to do after a turn that moved packets or not, and perhaps left more to read.
    pub(crate) fn pause(&self, moved: usize, more: bool) -> Pause {
        if more {
            return Pause::Poll(Some(Duration::ZERO));
        }
        let due = self.flows.iter().filter_map(|flow| flow.link.next_departure()).min();
        let ahead = due.map(|due| Duration::from_nanos(due.saturating_sub(self.now())));
        if moved > 0 {
            return Pause::Sleep(ahead.unwrap_or(COALESCE).clamp(SHORTEST_SLEEP, COALESCE));
        }
        Pause::Poll(ahead)
    }

    /// Counters as of now. `overruns` maps a flow to what the kernel dropped before it.
    pub(crate) fn stats(&self, scenario: &Scenario, overruns: impl Fn(usize) -> u64) -> EmulationStats {
        let now = self.now();
        let mut all = Histogram::new();
        let direction_stats = |(index, flow): (usize, &Flow<P>)| {
            all.merge(&flow.lateness);
            DirectionStats {
                link: scenario.links[index / 2].name.clone(),
                direction: Direction::BOTH[index % 2],
                up: flow.link.is_up(now),
                queued_bytes: flow.link.queued_bytes(),
                counters: *flow.link.stats(),
                overruns: overruns(index),
                refused: flow.refused,
                lateness: flow.lateness.summary(),
            }
        };
        let links = self.flows.iter().enumerate().map(direction_stats).collect();
        EmulationStats { elapsed_seconds: now as f64 / 1e9, lateness: all.summary(), links }
    }
}

impl Buffers {
    fn take(&mut self) -> Buffer {
        self.spare.pop().unwrap_or_else(|| vec![0; self.size].into_boxed_slice())
    }

    fn give_back(&mut self, buffer: Buffer) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}

/// Lets the calling thread go before the programs under test, whose load must not change their links.
///
/// The kernel's throttle of real-time tasks leaves the others their share. Without the right to do so the
/// thread stays ordinary, and its lateness will show it.
pub(crate) fn use_realtime_priority() {
    let parameters = libc::sched_param { sched_priority: 10 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` is a valid `sched_param`; pid 0 means the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if result < 0 {
        // SAFETY: plain integers; `PRIO_PROCESS` with 0 is the calling thread on Linux.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
    // The default slack of 50 us would be added to every sleep of an ordinary thread.
    // SAFETY: `PR_SET_TIMERSLACK` takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
