//! Two hosts and the wire between them, in virtual time.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hawser_core::{
    ClientConfig, Endpoint, EndpointConfig, FourTuple, ServerConfig, Transmit, TransportConfig,
};
use hawser_policy::Time;

use crate::heap::Party;
use crate::host::{Batch, Host, User};
use crate::sessions::Sessions;

/// One-way delay of the wire, which loses nothing.
const DELAY: Duration = Duration::from_millis(10);
/// Time of one byte on it: 1 Gbit/s, so that batches arrive one after the other, as from a network.
const NANOS_PER_BYTE: u64 = 8;
/// Where the server is.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 99, 0, 1)), 443);

/// A client and a server.
pub(crate) struct World<C, S> {
    pub(crate) now: Time,
    pub(crate) client: Host<C>,
    pub(crate) server: Host<S>,
    config: ClientConfig,
    to_client: Wire,
    to_server: Wire,
}

/// One direction.
#[derive(Default)]
struct Wire {
    batches: VecDeque<Batch>,
    /// When the last bit put on it has left.
    free_at: Time,
}

/// The client's address on its link of this number.
pub(crate) fn client_tuple(link: u8) -> FourTuple {
    let local = SocketAddr::from((Ipv4Addr::new(10, 0, link, 2), 40_000));
    FourTuple { local, remote: SERVER }
}

impl<C: User, S: User> World<C, S> {
    pub(crate) fn new(sessions: &Sessions, transport: TransportConfig, client: C, server: S) -> Self {
        let transport = Arc::new(transport);
        let server_config = ServerConfig::new(sessions.server.clone(), transport.clone(), [9; 32]);
        let endpoint = |party: Party, server| {
            let config = Arc::new(EndpointConfig::new([party as u8; 32]));
            crate::heap::on_behalf_of(party, || Endpoint::new(config, server, [party as u8; 32]))
        };
        World {
            now: Time::from_secs(1),
            client: Host::new(Party::Client, endpoint(Party::Client, None), client),
            server: Host::new(Party::Server, endpoint(Party::Server, Some(Arc::new(server_config))), server),
            config: ClientConfig::new(sessions.client.clone(), transport),
            to_client: Wire::default(),
            to_server: Wire::default(),
        }
    }

    /// Starts a connection and returns its index.
    pub(crate) fn connect(&mut self) -> Result<usize, String> {
        self.client.connect(self.now, self.config.clone(), client_tuple(0))
    }

    /// Lets time pass until `end`, or until `done` says so.
    pub(crate) fn run_until(&mut self, end: Time, mut done: impl FnMut(&mut Self) -> bool) {
        loop {
            client_turn(&mut self.client, self.now, &mut self.to_server);
            server_turn(&mut self.server, self.now, &mut self.to_client);
            if done(self) {
                return;
            }
            let arrivals =
                [&self.to_client, &self.to_server].map(|wire| wire.batches.front().map(|batch| batch.due));
            let timeouts = [self.client.next_timeout(), self.server.next_timeout()];
            let next = arrivals.into_iter().chain(timeouts).flatten().min();
            match next {
                Some(next) if next <= end => self.now = self.now.max(next),
                _ => {
                    self.now = end;
                    return;
                }
            }
            self.client.handle_timeouts(self.now);
            self.server.handle_timeouts(self.now);
            while let Some(batch) = take_due(&mut self.to_server, self.now) {
                server_receives(&mut self.server, self.now, batch);
            }
            while let Some(batch) = take_due(&mut self.to_client, self.now) {
                client_receives(&mut self.client, self.now, batch);
            }
        }
    }
}

fn take_due(wire: &mut Wire, now: Time) -> Option<Batch> {
    if wire.batches.front()?.due > now { None } else { wire.batches.pop_front() }
}

// The functions below are never inlined: a profiler tells the ends apart by them.

#[inline(never)]
fn put(wire: &mut Wire, now: Time, transmit: &Transmit, bytes: &[u8]) {
    let tuple = FourTuple { local: transmit.tuple.remote, remote: transmit.tuple.local };
    wire.free_at = wire.free_at.max(now) + Duration::from_nanos(bytes.len() as u64 * NANOS_PER_BYTE);
    let batch = Batch { due: wire.free_at + DELAY, tuple, transmit: *transmit, bytes: BytesMut::from(bytes) };
    wire.batches.push_back(batch);
}

#[inline(never)]
fn client_turn<U: User>(host: &mut Host<U>, now: Time, wire: &mut Wire) {
    host.turn(now, |transmit, bytes| put(wire, now, transmit, bytes));
}

#[inline(never)]
fn server_turn<U: User>(host: &mut Host<U>, now: Time, wire: &mut Wire) {
    host.turn(now, |transmit, bytes| put(wire, now, transmit, bytes));
}

#[inline(never)]
fn client_receives<U: User>(host: &mut Host<U>, now: Time, mut batch: Batch) {
    while let Some(datagram) = batch.next() {
        host.handle_datagram(now, datagram);
    }
}

#[inline(never)]
fn server_receives<U: User>(host: &mut Host<U>, now: Time, mut batch: Batch) {
    while let Some(datagram) = batch.next() {
        host.handle_datagram(now, datagram);
    }
}
