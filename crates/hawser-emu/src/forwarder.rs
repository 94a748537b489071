//! The thread that moves packets between TUN devices through the links.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hawser_link::{Direction, Link, Nanos, Scenario, ScenarioLink, nanos};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::lateness::Histogram;
use crate::stats::{DirectionStats, EmulationStats};
use crate::tun::Tun;

/// While packets flow the thread sleeps this long between two turns and then moves all there are: one
/// wake-up for many packets. It adds at most this to a packet's delay, twice.
const COALESCE: Duration = Duration::from_micros(200);
/// Shorter sleeps cost more than they help.
const SHORTEST_SLEEP: Duration = Duration::from_micros(40);
/// Packets read from one device before the others have their turn.
const READ_BUDGET: usize = 64;
/// Buffers kept for reuse beyond those in use.
const SPARE_BUFFERS: usize = 4096;

/// A packet's bytes; its length is kept by the link.
type Buffer = Box<[u8]>;

/// Handle of the forwarding thread; dropping it stops the thread.
#[derive(Debug)]
pub(crate) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    flows: Mutex<Flows>,
    wake: EventFd,
    stop: AtomicBool,
}

/// All directions of all links: flow `2 i` is link `i` up, flow `2 i + 1` is link `i` down.
#[derive(Debug)]
struct Flows {
    epoch: Instant,
    flows: Vec<Flow>,
    spare: Vec<Buffer>,
    buffer_size: usize,
}

#[derive(Debug)]
struct Flow {
    link: Link<Buffer>,
    lateness: Histogram,
    refused: u64,
}

/// What the thread does between two turns.
#[derive(Debug, Clone, Copy)]
enum Pause {
    /// Sleep without looking at the devices, to let packets gather.
    Sleep(Duration),
    /// Wait for packets, at most this long.
    Poll(Option<Duration>),
}

impl Forwarder {
    /// Starts the thread. `tuns` holds, for each link, the client's device and then the server's.
    pub(crate) fn start(scenario: &Scenario, tuns: Vec<Tun>) -> io::Result<Self> {
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let flows = Mutex::new(Flows::new(scenario));
        let shared = Arc::new(Shared { flows, wake, stop: AtomicBool::new(false) });
        let moved = shared.clone();
        let thread =
            thread::Builder::new().name("hawser-emu".to_owned()).spawn(move || moved.forward(&tuns))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Empties all links, sets all counters to zero and starts the schedules again from time zero.
    pub(crate) fn restart(&self, scenario: &Scenario) {
        *self.shared.lock() = Flows::new(scenario);
        self.wake();
    }

    /// Forces both directions of a link up or down, or gives them back to their schedule.
    pub(crate) fn force(&self, link: usize, state: Option<bool>) {
        let mut flows = self.shared.lock();
        let now = flows.now();
        for flow in flows.flows.iter_mut().skip(2 * link).take(2) {
            flow.link.force(now, state);
        }
        drop(flows);
        self.wake();
    }

    /// Seconds since the start of the schedules.
    pub(crate) fn elapsed(&self) -> Duration {
        self.shared.lock().epoch.elapsed()
    }

    /// Counters as of now. `overruns` maps a flow to what the kernel dropped.
    pub(crate) fn stats(&self, scenario: &Scenario, overruns: impl Fn(usize) -> u64) -> EmulationStats {
        let flows = self.shared.lock();
        let now = flows.now();
        let mut all = Histogram::new();
        let direction_stats = |(index, flow): (usize, &Flow)| {
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
        let links = flows.flows.iter().enumerate().map(direction_stats).collect();
        EmulationStats { elapsed_seconds: now as f64 / 1e9, lateness: all.summary(), links }
    }

    fn wake(&self) {
        // The only failure is a counter at its maximum, and then the thread is awake anyway.
        let _ = self.shared.wake.write(1);
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: wait, move what is there and what is due, and again.
    fn forward(&self, tuns: &[Tun]) {
        use_realtime_priority();
        let mut polled: Vec<PollFd<'_>> =
            tuns.iter().map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN)).collect();
        polled.push(PollFd::new(self.wake.as_fd(), PollFlags::POLLIN));
        let mut pause = Pause::Poll(None);
        while !self.stop.load(Ordering::Acquire) {
            let timeout = match pause {
                Pause::Sleep(duration) => {
                    thread::sleep(duration);
                    Some(Duration::ZERO)
                }
                Pause::Poll(timeout) => timeout,
            };
            // An interrupted or failed wait makes an empty turn, which is harmless.
            let _ = ppoll(&mut polled, timeout.map(TimeSpec::from_duration), None);
            let readable = |index: usize| polled[index].any().unwrap_or(false);
            if readable(tuns.len()) {
                let _ = self.wake.read();
            }
            pause = self.lock().turn(tuns, readable);
        }
    }
}

impl Flows {
    fn new(scenario: &Scenario) -> Self {
        let flow = |(link, direction): (&ScenarioLink, Direction)| Flow {
            link: Link::new(link.direction(direction), scenario.seed_of(link, direction)),
            lateness: Histogram::new(),
            refused: 0,
        };
        let directions =
            scenario.links.iter().flat_map(|link| Direction::BOTH.map(|direction| (link, direction)));
        let mtu = scenario.links.iter().map(|link| link.up.mtu.max(link.down.mtu)).max().unwrap_or_default();
        let flows = directions.map(flow).collect();
        Self { epoch: Instant::now(), flows, spare: Vec::new(), buffer_size: mtu as usize + 64 }
    }

    fn now(&self) -> Nanos {
        nanos(self.epoch.elapsed())
    }

    /// Reads from every readable device, writes what is due, and says what to do until the next turn.
    fn turn(&mut self, tuns: &[Tun], readable: impl Fn(usize) -> bool) -> Pause {
        let (mut moved, mut more) = (0, false);
        for (index, tun) in tuns.iter().enumerate().filter(|&(index, _)| readable(index)) {
            let read = self.read(index, tun);
            moved += read;
            more |= read == READ_BUDGET;
        }
        for index in 0..tuns.len() {
            // The devices of a link are neighbours: what one sends the other receives.
            moved += self.write_due(index, &tuns[index ^ 1]);
        }
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

    /// Reads packets from a device into its link; returns how many.
    fn read(&mut self, index: usize, tun: &Tun) -> usize {
        for count in 0..READ_BUDGET {
            let mut buffer = self.spare.pop().unwrap_or_else(|| vec![0; self.buffer_size].into_boxed_slice());
            // No packet left, or the interface was taken down.
            let Ok(Some(length)) = tun.receive(&mut buffer) else {
                self.recycle(buffer);
                return count;
            };
            let now = self.now();
            if let Err(rejected) = self.flows[index].link.enqueue(now, length as u32, buffer) {
                self.recycle(rejected.payload);
            }
        }
        READ_BUDGET
    }

    /// Writes the packets of a link that are due; returns how many.
    fn write_due(&mut self, index: usize, tun: &Tun) -> usize {
        let mut count = 0;
        loop {
            let now = self.now();
            let flow = &mut self.flows[index];
            let Some(packet) = flow.link.dequeue(now) else { return count };
            flow.lateness.record(now - packet.at);
            flow.refused += u64::from(tun.send(&packet.payload[..packet.length as usize]).is_err());
            self.recycle(packet.payload);
            count += 1;
        }
    }

    fn recycle(&mut self, buffer: Buffer) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}

/// Lets the forwarding thread go before the programs under test, whose load must not change their links.
/// The kernel's throttle of real-time tasks leaves the others their share. Without the right to do so (or in
/// a control group that forbids it) the thread stays ordinary, and its lateness will show it.
fn use_realtime_priority() {
    let parameters = libc::sched_param { sched_priority: 10 };
    // SAFETY: `parameters` is a valid `sched_param`; pid 0 means the calling thread.
    let result = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters)
    };
    if result < 0 {
        // SAFETY: plain integers; `PRIO_PROCESS` with 0 is the calling thread on Linux.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
    // The default slack of 50 us would be added to every sleep of an ordinary thread.
    // SAFETY: `PR_SET_TIMERSLACK` takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
