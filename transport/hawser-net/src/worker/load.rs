//! How a worker goes on when more arrives than it keeps up with.

use std::time::Duration;

use hawser_core::{ConnectionHandle, Datagram};
use hawser_policy::Time;

/// Work of a connection in one pass (see `Connection::work_spent`), some 2 ms: what else arrived for it waits for the next, after
/// what arrived for others.
pub(super) const QUANTUM: u64 = 16 << 20;

/// Bytes of datagrams that wait for that, of all connections. Others are dropped, as if the kernel had.
const MAX_PUT_OFF: usize = 1 << 20;

/// While every pass leaves something to read for so long, the age of what is read is looked at.
const BUSY_AFTER: Duration = Duration::from_millis(20);

/// Where datagrams have waited for so long, there is no time for new clients.
const TOO_OLD: Duration = Duration::from_millis(100);

/// Whether the worker keeps up.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Since when every pass has left something to read.
    busy_since: Option<Time>,
    /// How long the datagram that was read last had waited, if that is known.
    age: Duration,
}

impl Load {
    /// A pass has left `more` to read, or nothing. Returns whether the kernel should note when datagrams arrive.
    pub(super) fn on_pass(&mut self, now: Time, more: bool) -> bool {
        if !more {
            *self = Load::default();
            return false;
        }
        now.since(*self.busy_since.get_or_insert(now)) > BUSY_AFTER
    }

    /// A datagram had waited for so long when it was read.
    pub(super) fn on_read(&mut self, age: Duration) {
        self.age = age;
    }

    /// Whether those who are served already leave no time for new clients.
    pub(super) fn is_too_high(&self) -> bool {
        self.age > TOO_OLD
    }
}

/// Datagrams for connections that have had their share of a pass.
#[derive(Debug, Default)]
pub(super) struct PutOff {
    datagrams: Vec<(ConnectionHandle, Datagram)>,
    bytes: usize,
}

impl PutOff {
    /// Keeps a datagram for the next pass, if there is room.
    pub(super) fn push(&mut self, handle: ConnectionHandle, datagram: Datagram) {
        if self.bytes < MAX_PUT_OFF {
            self.bytes += datagram.payload.len();
            self.datagrams.push((handle, datagram));
        }
    }

    /// Takes all.
    pub(super) fn take(&mut self) -> Vec<(ConnectionHandle, Datagram)> {
        self.bytes = 0;
        std::mem::take(&mut self.datagrams)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use hawser_core::FourTuple;

    use super::*;

    #[test]
    fn clients_are_refused_only_while_what_arrives_has_waited() {
        let (mut load, at) = (Load::default(), |millis| Time::from_millis(millis));
        assert!(!load.on_pass(at(0), true) && !load.on_pass(at(20), true));
        assert!(load.on_pass(at(21), true), "busy for a while: how long do they wait?");
        load.on_read(Duration::from_millis(100));
        assert!(!load.is_too_high());
        load.on_read(Duration::from_millis(101));
        assert!(load.is_too_high());
        assert!(!load.on_pass(at(30), false) && !load.is_too_high(), "nothing is left to read");
        assert!(!load.on_pass(at(40), true), "busy from now on");
    }

    #[test]
    fn what_is_put_off_is_bounded() {
        let mut put_off = PutOff::default();
        let address = "192.0.2.1:443".parse().unwrap();
        for n in 0..2_000 {
            let payload = BytesMut::from(&[0; 1_200][..]);
            let tuple = FourTuple { local: address, remote: address };
            let datagram = Datagram { tuple, ecn: None, received_at: Time::ZERO, payload };
            put_off.push(ConnectionHandle(n), datagram);
        }
        let taken = put_off.take();
        let bytes: usize = taken.iter().map(|(_, datagram)| datagram.payload.len()).sum();
        assert!((MAX_PUT_OFF..MAX_PUT_OFF + 1_200).contains(&bytes), "{bytes} bytes");
        assert!(
            put_off.is_empty() && taken.first().is_some_and(|(handle, _)| *handle == ConnectionHandle(0))
        );
    }
}
