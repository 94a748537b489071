//! The thread that moves packets between TUN devices through the links.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_link::Scenario;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::flow::{Buffer, Flows, Pause, READ_BUDGET, use_realtime_priority};
use crate::stats::EmulationStats;
use crate::tun::Tun;

/// Handle of the forwarding thread; dropping it stops the thread.
#[derive(Debug)]
pub(crate) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    flows: Mutex<Flows<Buffer>>,
    wake: EventFd,
    stop: AtomicBool,
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
        self.shared.lock().force(link, state);
        self.wake();
    }

    /// Time since the start of the schedules.
    pub(crate) fn elapsed(&self) -> Duration {
        self.shared.lock().elapsed()
    }

    /// Counters as of now. `overruns` maps a flow to what the kernel dropped.
    pub(crate) fn stats(&self, scenario: &Scenario, overruns: impl Fn(usize) -> u64) -> EmulationStats {
        self.shared.lock().stats(scenario, overruns)
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
    fn lock(&self) -> MutexGuard<'_, Flows<Buffer>> {
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
            let timeout = pause.timeout().map(TimeSpec::from_duration);
            // An interrupted or failed wait makes an empty turn, which is harmless.
            let _ = ppoll(&mut polled, timeout, None);
            let readable = |index: usize| polled[index].any().unwrap_or(false);
            if readable(tuns.len()) {
                let _ = self.wake.read();
            }
            pause = turn(&mut self.lock(), tuns, readable);
        }
    }
}

/// Reads from every readable device, writes what is due, and says what to do until the next turn.
fn turn(flows: &mut Flows<Buffer>, tuns: &[Tun], readable: impl Fn(usize) -> bool) -> Pause {
    let (mut moved, mut more) = (0, false);
    for (index, tun) in tuns.iter().enumerate().filter(|&(index, _)| readable(index)) {
        let count = read(flows, index, tun);
        moved += count;
        more |= count == READ_BUDGET;
    }
    for index in 0..tuns.len() {
        // The devices of a link are neighbours: what one sends the other receives.
        moved += write_due(flows, index, &tuns[index ^ 1]);
    }
    flows.pause(moved, more)
}

/// Reads packets from a device into its link; returns how many.
fn read(flows: &mut Flows<Buffer>, index: usize, tun: &Tun) -> usize {
    for count in 0..READ_BUDGET {
        let mut buffer = flows.buffer();
        // No packet left, or the interface was taken down.
        let Ok(Some(length)) = tun.receive(&mut buffer) else {
            flows.recycle(buffer);
            return count;
        };
        if let Err(rejected) = flows.enqueue(index, length, buffer) {
            flows.recycle(rejected.payload);
        }
    }
    READ_BUDGET
}

/// Writes the packets of a link that are due; returns how many.
fn write_due(flows: &mut Flows<Buffer>, index: usize, tun: &Tun) -> usize {
    let mut count = 0;
    while let Some(packet) = flows.dequeue(index) {
        if tun.send(&packet.payload[..packet.length as usize]).is_err() {
            flows.refused(index);
        }
        flows.recycle(packet.payload);
        count += 1;
    }
    count
}
