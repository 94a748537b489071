//! What the two drivers, TUN devices and the loopback relay, have in common: the links with their clock, packets that
//! load them in the background, the measure of lateness, and the rule when to sleep.

use std::thread;
use std::time::{Duration, Instant};

use hawser_link::{Fabric, Failure, Frame, Nanos, mix, nanos};
use hawser_scenario::{Direction, Layout, Scenario};

use crate::background::Background;
use crate::lateness::Histogram;
use crate::recording::{PacketRecord, RouteName, Tap};
use crate::stats::{BackgroundStats, DirectionStats, EmulationStats};

/// While packets flow a driver sleeps this long between two turns and then moves all there are: one wake-up
/// for many packets. It adds at most this to a packet's delay, twice.
const COALESCE: Duration = Duration::from_micros(200);
/// Shorter sleeps cost more than they help.
const SHORTEST_SLEEP: Duration = Duration::from_micros(40);
/// Packets read from one source before the others have their turn.
pub(crate) const READ_BUDGET: usize = 64;
/// Buffers kept for reuse beyond those in use.
const SPARE_BUFFERS: usize = 4096;

/// A packet's bytes; its length is kept by the links.
pub(crate) type Buffer = Box<[u8]>;

/// A driver's packet.
pub(crate) trait Parcel: Frame + Into<Buffer> {
    /// Source port and destination port, for the record.
    fn ports(&self) -> [u16; 2] {
        [0; 2]
    }

    /// Whether it carries a mark of congestion, for the record.
    fn is_marked(&self) -> bool {
        false
    }
}

/// All links of a scenario in real time. Way `2 i` leads over access link `i` up, way `2 i + 1` the same down.
#[derive(Debug)]
pub(crate) struct DataPlane<P> {
    epoch: Instant,
    fabric: Fabric<Load<P>>,
    layout: Layout,
    background: Background,
    ways: Vec<Way>,
    buffers: Buffers,
    tap: Option<Tap>,
}

/// What is on the links.
#[derive(Debug)]
enum Load<P> {
    /// A driver's packet.
    Packet(P),
    /// A packet of a background source, which begins and ends inside.
    Background(usize),
}

/// The end of a way.
#[derive(Debug)]
struct Way {
    lateness: Histogram,
    refused: u64,
}

/// A packet that is to be handed to its receiver now.
#[derive(Debug)]
pub(crate) struct Arrived<P> {
    pub(crate) way: usize,
    pub(crate) sent: Nanos,
    /// When it was due.
    pub(crate) at: Nanos,
    /// How long ago that is.
    pub(crate) late: Nanos,
    pub(crate) length: u32,
    pub(crate) payload: P,
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

impl<P: Parcel> DataPlane<P> {
    /// Links at the start of their schedules, which is now.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut fabric = Fabric::new();
        let layout = Layout::build(scenario, &mut fabric);
        let background = Background::new(scenario, &layout, &mut fabric);
        // The buffers of packets that do not arrive are used again.
        fabric.keep_failures();
        let way = || Way { lateness: Histogram::new(), refused: 0 };
        let mtu = scenario.links.iter().map(|link| link.up.mtu.max(link.down.mtu)).max().unwrap_or_default();
        Self {
            epoch: Instant::now(),
            fabric,
            layout,
            background,
            ways: std::iter::repeat_with(way).take(2 * scenario.links.len()).collect(),
            buffers: Buffers { spare: Vec::new(), size: mtu as usize + 64 },
            tap: None,
        }
    }

    /// Time since the start of the schedules.
    pub(crate) fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn now(&self) -> Nanos {
        nanos(self.epoch.elapsed())
    }

    /// Tells the tap of every packet from now on; returns the one before, to be dropped without holding any lock.
    pub(crate) fn replace_tap(&mut self, tap: Option<Tap>) -> Option<Tap> {
        std::mem::replace(&mut self.tap, tap)
    }

    /// Forces both directions of an access link up or down, or gives them back to their schedule.
    pub(crate) fn force(&mut self, link: usize, state: Option<bool>) {
        let now = self.now();
        self.catch_up(now);
        for index in self.layout.links().get(link).into_iter().flatten() {
            self.fabric.force(now, *index, state);
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

    /// Sends a packet on its way.
    pub(crate) fn send(&mut self, way: usize, length: usize, payload: P) {
        self.send_at(self.now(), way, length, payload);
    }

    fn send_at(&mut self, now: Nanos, way: usize, length: usize, payload: P) {
        self.catch_up(now);
        if let Some(route) = self.layout.routes().get(way / 2).map(|routes| routes[way % 2]) {
            self.fabric.send(now, route, length as u32, Load::Packet(payload));
        }
        self.collect_failures();
    }

    /// The next packet that is due.
    pub(crate) fn receive(&mut self) -> Option<Arrived<P>> {
        loop {
            let now = self.now();
            let arrival = match self.fabric.poll_arrival() {
                Some(arrival) => arrival,
                None => {
                    self.catch_up(now);
                    self.fabric.poll_arrival()?
                }
            };
            let (sent, at, length, way) =
                (arrival.sent, arrival.at, arrival.length, arrival.route.as_usize());
            match arrival.payload {
                Load::Background(source) => {
                    self.background.delivered(source);
                    self.record_background(source, sent, at, length, None);
                }
                Load::Packet(payload) => {
                    let late = now.saturating_sub(at);
                    if let Some(way) = self.ways.get_mut(way) {
                        way.lateness.record(late);
                    }
                    return Some(Arrived { way, sent, at, late, length, payload });
                }
            }
        }
    }

    /// Takes back what [`Self::receive`] returned; `accepted`: whether the receiving host took it.
    pub(crate) fn delivered(&mut self, arrived: Arrived<P>, accepted: bool) {
        let Arrived { way, sent, at, late, length, payload } = arrived;
        if let Some(way) = self.ways.get_mut(way).filter(|_| !accepted) {
            way.refused += 1;
        }
        self.finish(PacketRecord { late, ..packet_record(way, sent, at, length, &payload) }, payload);
    }

    /// What to do after a turn that moved packets or not, and perhaps left more to read.
    pub(crate) fn pause(&mut self, moved: usize, more: bool) -> Pause {
        if more {
            return Pause::Poll(Some(Duration::ZERO));
        }
        let due = [self.fabric.next_event(), self.background.next_at()].into_iter().flatten().min();
        let ahead = due.map(|due| Duration::from_nanos(due.saturating_sub(self.now())));
        if moved > 0 {
            return Pause::Sleep(ahead.unwrap_or(COALESCE).clamp(SHORTEST_SLEEP, COALESCE));
        }
        Pause::Poll(ahead)
    }

    /// Counters as of now. `overruns` maps a way to what the kernel dropped before it.
    pub(crate) fn stats(&self, scenario: &Scenario, overruns: impl Fn(usize) -> u64) -> EmulationStats {
        let now = self.now();
        let mut all = Histogram::new();
        self.ways.iter().for_each(|way| all.merge(&way.lateness));
        let names = scenario.links.iter().map(|link| &link.name);
        let names = names.chain(scenario.segments.iter().map(|segment| &segment.name));
        let directions = names.zip(self.layout.links()).flat_map(|(name, links)| {
            Direction::BOTH.map(|direction| (name.clone(), direction, links[direction as usize]))
        });
        let links = directions.enumerate().map(|(index, (link, direction, of))| {
            let way = self.ways.get(index);
            DirectionStats {
                link,
                direction,
                up: self.fabric.is_up(now, of),
                queued_bytes: self.fabric.queued_bytes(of),
                counters: self.fabric.stats(of).copied().unwrap_or_default(),
                overruns: way.map_or(0, |_| overruns(index)),
                refused: way.map_or(0, |way| way.refused),
                lateness: way.map(|way| way.lateness.summary()).unwrap_or_default(),
            }
        });
        EmulationStats {
            elapsed_seconds: now as f64 / 1e9,
            lateness: all.summary(),
            links: links.collect(),
            background: self.background_stats(scenario),
        }
    }

    fn background_stats(&self, scenario: &Scenario) -> Vec<BackgroundStats> {
        let of = |source: &crate::background::Source| BackgroundStats {
            flow: scenario.flows[source.flow].name.clone(),
            sent_packets: source.sent,
            delivered_packets: source.delivered,
        };
        self.background.sources().iter().map(of).collect()
    }

    /// Lets everything happen that has happened by `now`, at its own time.
    fn catch_up(&mut self, now: Nanos) {
        while let Some(packet) = self.background.pop(now) {
            self.fabric.advance(packet.at);
            self.fabric.send(packet.at, packet.route, packet.size, Load::Background(packet.source));
        }
        self.fabric.advance(now);
        self.collect_failures();
    }

    fn collect_failures(&mut self) {
        while let Some(failure) = self.fabric.poll_failure() {
            let Failure { at, sent, route, link, cause, length, payload } = failure;
            let dropped = Some((link.as_usize() / 2, cause));
            match payload {
                Load::Background(source) => self.record_background(source, sent, at, length, dropped),
                Load::Packet(payload) => {
                    let record = packet_record(route.as_usize(), sent, at, length, &payload);
                    self.finish(PacketRecord { dropped, ..record }, payload);
                }
            }
        }
    }

    /// Records a packet at the end of its way and keeps its buffer for another.
    fn finish(&mut self, mut record: PacketRecord, payload: P) {
        let buffer = payload.into();
        match &mut self.tap {
            Some(tap) if tap.with_bytes() => {
                record.bytes = Some(buffer);
                tap.add(record);
            }
            tap => {
                if let Some(tap) = tap {
                    tap.add(record);
                }
                self.buffers.give_back(buffer);
            }
        }
    }

    fn record_background(
        &mut self,
        source: usize,
        sent: Nanos,
        at: Nanos,
        length: u32,
        dropped: Option<(usize, hawser_link::DropCause)>,
    ) {
        let Some(tap) = &mut self.tap else { return };
        let Some(source) = self.background.sources().get(source) else { return };
        tap.add(PacketRecord {
            sent,
            at,
            late: 0,
            route: RouteName::Flow(source.flow),
            direction: source.direction,
            port: Background::PORT,
            length,
            congestion_experienced: false,
            dropped,
            bytes: None,
        });
    }
}

/// The record of a packet that arrived in time.
fn packet_record<P: Parcel>(way: usize, sent: Nanos, at: Nanos, length: u32, payload: &P) -> PacketRecord {
    // The client's port is the source on the way up and the destination on the way down.
    let (direction, port) = (Direction::BOTH[way % 2], payload.ports()[way % 2]);
    PacketRecord {
        sent,
        at,
        late: 0,
        route: RouteName::Link(way / 2),
        direction,
        port,
        length,
        congestion_experienced: payload.is_marked(),
        dropped: None,
        bytes: None,
    }
}

impl<P: Frame> Frame for Load<P> {
    fn is_ecn_capable(&self) -> bool {
        matches!(self, Load::Packet(packet) if packet.is_ecn_capable())
    }

    fn mark_congestion_experienced(&mut self) {
        if let Load::Packet(packet) = self {
            packet.mark_congestion_experienced();
        }
    }

    fn flow(&self) -> u64 {
        match self {
            Load::Packet(packet) => packet.flow(),
            Load::Background(source) => !mix(*source as u64 + 1),
        }
    }

    fn corrupt(&mut self, position: u64) {
        if let Load::Packet(packet) = self {
            packet.corrupt(position);
        }
    }

    fn duplicate(&self) -> Self {
        match self {
            Load::Packet(packet) => Load::Packet(packet.duplicate()),
            Load::Background(source) => Load::Background(*source),
        }
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
    // The kernel's `sched_param`. The system call itself, since musl's function of this name does nothing but fail.
    let priority: libc::c_int = 10;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one integer from `priority`; pid 0 means the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    if result < 0 {
        // SAFETY: plain integers; `PRIO_PROCESS` with 0 is the calling thread on Linux.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
    // The default slack of 50 us would be added to every sleep of an ordinary thread.
    // SAFETY: `PR_SET_TIMERSLACK` takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

#[cfg(test)]
mod tests;
