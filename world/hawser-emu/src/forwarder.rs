//! The thread that moves packets between TUN devices through the links.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_scenario::Scenario;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::data_plane::{DataPlane, Pause, READ_BUDGET, use_realtime_priority};
use crate::packet::IpPacket;
use crate::recording::{PacketRecorder, Recording, Tap, Tapped};
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
    plane: Mutex<DataPlane<IpPacket>>,
    wake: EventFd,
    stop: AtomicBool,
}

impl Forwarder {
    /// Starts the thread. `tuns` holds, for each link, the client's device and then the server's.
    pub(crate) fn start(scenario: &Scenario, tuns: Vec<Tun>) -> io::Result<Self> {
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let plane = Mutex::new(DataPlane::new(scenario));
        let shared = Arc::new(Shared { plane, wake, stop: AtomicBool::new(false) });
        let moved = shared.clone();
        let thread =
            thread::Builder::new().name("hawser-emu".to_owned()).spawn(move || moved.forward(&tuns))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Empties all links, sets all counters to zero and starts the schedules again from time zero.
    pub(crate) fn restart(&self, scenario: &Scenario) {
        let tap = self.shared.remove_tap();
        self.shared.start_again(scenario, tap);
    }

    /// As [`Self::restart`], and has everything recorded from then on. A recording in progress ends.
    pub(crate) fn record<R: PacketRecorder + 'static>(
        &self,
        scenario: &Scenario,
        recorder: R,
    ) -> io::Result<Recording<R>> {
        let (tap, recording) = Recording::start(recorder, self.shared.clone())?;
        drop(self.shared.remove_tap());
        self.shared.start_again(scenario, Some(tap));
        Ok(recording)
    }

    /// Forces both directions of a link up or down, or gives them back to their schedule.
    pub(crate) fn force(&self, link: usize, state: Option<bool>) {
        self.shared.lock().force(link, state);
        self.shared.wake();
    }

    /// Time since the start of the schedules.
    pub(crate) fn elapsed(&self) -> Duration {
        self.shared.lock().elapsed()
    }

    /// Counters as of now. `overruns` maps a flow to what the kernel dropped.
    pub(crate) fn stats(&self, scenario: &Scenario, overruns: impl Fn(usize) -> u64) -> EmulationStats {
        self.shared.lock().stats(scenario, overruns)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // The rest of a recording goes to its recorder even if nobody waits for it.
        drop(self.shared.remove_tap());
    }
}

impl Tapped for Shared {
    fn remove_tap(&self) -> Option<Tap> {
        self.lock().replace_tap(None)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, DataPlane<IpPacket>> {
        self.plane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_again(&self, scenario: &Scenario, tap: Option<Tap>) {
        let mut plane = DataPlane::new(scenario);
        plane.replace_tap(tap);
        *self.lock() = plane;
        self.wake();
    }

    fn wake(&self) {
        // The only failure is a counter at its maximum, and then the thread is awake anyway.
        let _ = self.wake.write(1);
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
fn turn(plane: &mut DataPlane<IpPacket>, tuns: &[Tun], readable: impl Fn(usize) -> bool) -> Pause {
    let (mut moved, mut more) = (0, false);
    for (index, tun) in tuns.iter().enumerate().filter(|&(index, _)| readable(index)) {
        let count = read(plane, index, tun);
        moved += count;
        more |= count == READ_BUDGET;
    }
    moved += write_due(plane, tuns);
    plane.pause(moved, more)
}

/// Reads packets from a device into its link; returns how many.
fn read(plane: &mut DataPlane<IpPacket>, index: usize, tun: &Tun) -> usize {
    for count in 0..READ_BUDGET {
        let mut buffer = plane.buffer();
        // No packet left, or the interface was taken down.
        let Ok(Some(length)) = tun.receive(&mut buffer) else {
            plane.recycle(buffer);
            return count;
        };
        plane.send(index, length, IpPacket(buffer));
    }
    READ_BUDGET
}

/// Writes the packets that are due; returns how many.
fn write_due(plane: &mut DataPlane<IpPacket>, tuns: &[Tun]) -> usize {
    let mut count = 0;
    while let Some(arrived) = plane.receive() {
        // The devices of a link are neighbours: what one sends the other receives.
        let packet = arrived.payload.0.get(..arrived.length as usize);
        let sent =
            tuns.get(arrived.way ^ 1).zip(packet).is_some_and(|(tun, packet)| tun.send(packet).is_ok());
        plane.delivered(arrived, sent);
        count += 1;
    }
    count
}
