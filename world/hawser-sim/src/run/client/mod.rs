//! The application of all clients of a host.

mod mix;
pub(super) mod role;

use hawser_core::{Connection, ConnectionHandle, Event};
use hawser_policy::Time;
use rustc_hash::FxHashMap;

use super::session::Session;
use super::summary::Totals;
use crate::deadlines::Deadlines;
use crate::{Application, Sockets};

/// The sessions that begin at one host.
pub(super) struct Clients {
    /// With their numbers in the simulation, in order.
    pub(super) sessions: Vec<(usize, Session)>,
    /// What the paths of connections that are gone did at our end.
    pub(super) gone: FxHashMap<usize, Totals>,
    /// Sessions that the run waits for, and those of them that have not done their work.
    pub(super) awaited: usize,
    pub(super) awaited_left: usize,
    by_handle: FxHashMap<usize, usize>,
    is_done: Vec<bool>,
    timers: Deadlines,
}

impl Clients {
    pub(super) fn new(sessions: Vec<(usize, Session)>) -> Self {
        let mut timers = Deadlines::default();
        for (index, (_, session)) in sessions.iter().enumerate() {
            timers.set(index, session.next_timeout());
        }
        let awaited = sessions.iter().filter(|(_, session)| session.is_awaited()).count();
        Clients {
            is_done: vec![false; sessions.len()],
            awaited,
            awaited_left: awaited,
            sessions,
            gone: FxHashMap::default(),
            by_handle: FxHashMap::default(),
            timers,
        }
    }

    /// Notes what has become of a session.
    fn arm(&mut self, index: usize) {
        let session = &self.sessions[index].1;
        if session.is_done() && !std::mem::replace(&mut self.is_done[index], true) && session.is_awaited() {
            self.awaited_left -= 1;
        }
        self.timers.set(index, self.sessions[index].1.next_timeout());
    }
}

impl Application for Clients {
    // Most packets bring no event, and the loop that asks for one is short without this.
    #[inline(never)]
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        let Some(&index) = self.by_handle.get(&handle.0) else { return };
        self.sessions[index].1.on_event(now, handle, connection, event);
        self.arm(index);
    }

    fn on_traffic(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection) {
        if let Some(&index) = self.by_handle.get(&handle.0)
            && self.sessions[index].1.on_traffic(now, handle, connection)
        {
            self.arm(index);
        }
    }

    fn on_drained(&mut self, _: Time, handle: ConnectionHandle, connection: &mut Connection) {
        if let Some(index) = self.by_handle.remove(&handle.0) {
            let number = self.sessions[index].0;
            self.gone.entry(number).or_default().add(connection);
            self.sessions[index].1.on_drained(handle);
        }
    }

    fn on_transmit(&mut self, handle: ConnectionHandle, connection: &mut Connection, label: u64) {
        if let Some(&index) = self.by_handle.get(&handle.0) {
            self.sessions[index].1.on_transmit(connection, label);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        while let Some(index) = self.timers.pop_due(now) {
            if let Some(handle) = self.sessions[index].1.on_timeout(now, sockets) {
                self.by_handle.insert(handle.0, index);
            }
            self.arm(index);
            // Another deadline of this very instant has its turn in the next pass.
            if self.sessions[index].1.next_timeout().is_some_and(|at| at <= now) {
                return;
            }
        }
    }
}
