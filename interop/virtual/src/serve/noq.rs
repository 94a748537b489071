//! noq as a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hawser_core::PathStats;
use hawser_policy::PathId;
use hawser_sim::tls;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{
    Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, FourTuple, PathEvent, ServerConfig, Side, StreamEvent, StreamId, TransportConfig,
    ValidationTokenConfig, VarInt,
};

use super::seeds::{SeededIds, Seeds};
use super::{Congestion, Happened, Received, ServingStack};
use crate::noq::{BATCH, NoqStream, outgoing, to_codepoint};
use crate::{Arrival, ByteStream, Outgoing};

/// A noq server.
pub(super) struct Noq {
    endpoint: Endpoint,
    connections: BTreeMap<usize, Slot>,
}

struct Slot {
    connection: Connection,
    /// Paths that are no more.
    discarded: BTreeMap<noq_proto::PathId, PathStats>,
}

impl Noq {
    /// An endpoint without connections; everything it draws follows from the seed.
    pub(super) fn new(seed: u64, congestion: Congestion) -> Self {
        let rustls = tls::server_config().expect("the library has TLS 1.3 and Ed25519");
        let crypto = QuicServerConfig::try_from(rustls).expect("a TLS configuration for QUIC");
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        // The key of tokens is random, so there are none.
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        let mut transport = TransportConfig::default();
        transport.max_concurrent_multipath_paths(8);
        transport.congestion_controller_factory(controllers(congestion));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(endpoint_config(seed), Some(Arc::new(config)), true);
        Noq { endpoint, connections: BTreeMap::new() }
    }

    fn connection(&mut self, connection: usize) -> Option<&mut Connection> {
        self.connections.get_mut(&connection).map(|slot| &mut slot.connection)
    }

    fn accept(&mut self, now: Instant, incoming: noq_proto::Incoming, buffer: &mut Vec<u8>) -> Received {
        match self.endpoint.accept(incoming, now, buffer, None) {
            Ok((handle, connection)) => {
                self.connections.insert(handle.0, Slot { connection, discarded: BTreeMap::new() });
                Received::New(handle.0)
            }
            Err(error) => error.response.map_or(Received::Nothing, |sent| Received::Answer(outgoing(sent))),
        }
    }
}

fn controllers(congestion: Congestion) -> Arc<dyn ControllerFactory + Send + Sync> {
    match congestion {
        Congestion::Bbr3 => Arc::new(Bbr3Config::default()),
        Congestion::NewReno => Arc::new(NewRenoConfig::default()),
        Congestion::Cubic | Congestion::Bbr => Arc::new(CubicConfig::default()),
    }
}

fn endpoint_config(seed: u64) -> Arc<EndpointConfig> {
    let seeds = Seeds::new(seed, "noq");
    let mut config = EndpointConfig::new(Arc::new(seeds.reset_key));
    config.rng_seed(Some(seeds.generator));
    config.cid_generator(Arc::new(move || Box::new(seeds.ids.clone())));
    Arc::new(config)
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.draw())
    }

    fn cid_len(&self) -> usize {
        SeededIds::LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl ServingStack for Noq {
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Received {
        let Arrival { local, remote, ecn, payload } = arrival;
        let path = FourTuple::new(remote, Some(local));
        match self.endpoint.handle(now, path, ecn.map(to_codepoint), payload, buffer) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(connection) = self.connection(handle) {
                    connection.handle_event(event);
                }
                Received::Connection(handle)
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming, buffer),
            Some(DatagramEvent::Response(transmit)) => Received::Answer(outgoing(transmit)),
            None => Received::Nothing,
        }
    }

    fn transmit(&mut self, connection: usize, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        self.connection(connection)?.poll_transmit(now, BATCH, buffer).map(outgoing)
    }

    fn timeout(&mut self, connection: usize) -> Option<Instant> {
        self.connection(connection)?.poll_timeout()
    }

    fn expire(&mut self, connection: usize, now: Instant) {
        if let Some(connection) = self.connection(connection) {
            connection.handle_timeout(now);
        }
    }

    fn poll(&mut self, connection: usize) -> Option<Happened> {
        let slot = self.connections.get_mut(&connection)?;
        let Slot { connection: inner, discarded } = slot;
        while let Some(event) = inner.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(ConnectionHandle(connection), event) {
                inner.handle_event(answer);
            }
        }
        loop {
            // Events only hint at new streams and datagrams.
            if let Some(id) = inner.streams().accept(Dir::Bi) {
                return Some(Happened::Opened(id.index()));
            }
            if let Some(datagram) = inner.datagrams().recv() {
                return Some(Happened::Datagram(datagram));
            }
            match inner.poll()? {
                Event::Stream(StreamEvent::Readable { id }) => return Some(Happened::Readable(id.index())),
                Event::Stream(StreamEvent::Writable { id }) => return Some(Happened::Writable(id.index())),
                Event::Stream(StreamEvent::Stopped { id, .. }) => return Some(Happened::Stopped(id.index())),
                Event::Path(PathEvent::Discarded { id, path_stats, .. }) => {
                    discarded.insert(id, counted(&path_stats));
                }
                _ => {}
            }
        }
    }

    fn stream<'a>(&'a mut self, connection: usize, index: u64) -> Option<Box<dyn ByteStream + 'a>> {
        let connection = self.connection(connection)?;
        Some(Box::new(NoqStream { connection, id: stream_id(index) }))
    }

    fn reset(&mut self, connection: usize, index: u64) {
        if let Some(connection) = self.connection(connection) {
            // It may have ended meanwhile.
            let _ = connection.send_stream(stream_id(index)).reset(VarInt::from_u32(0));
        }
    }

    fn datagram_limit(&mut self, connection: usize) -> Option<usize> {
        self.connection(connection)?.datagrams().max_size()
    }

    fn send_datagram(&mut self, connection: usize, datagram: Bytes) {
        if let Some(connection) = self.connection(connection) {
            // What is refused counts as sent and lost, as with our own server.
            let _ = connection.datagrams().send(datagram, true);
        }
    }

    fn paths(&mut self, connection: usize) -> Vec<(PathId, PathStats)> {
        let Some(slot) = self.connections.get_mut(&connection) else { return Vec::new() };
        let mut paths = slot.discarded.clone();
        for id in slot.connection.paths() {
            if let Some(stats) = slot.connection.path_stats(id) {
                paths.insert(id, counted(&stats));
            }
        }
        let count = paths.len();
        // Ids cannot be read, only made: they count up, so those that exist are soon found.
        let numbered = (0..).map(|number| (number, noq_proto::PathId::from(number)));
        let known = numbered.filter_map(|(number, id)| Some((PathId(number), paths.remove(&id)?)));
        known.take(count).collect()
    }

    fn is_drained(&self, connection: usize) -> bool {
        self.connections.get(&connection).is_some_and(|slot| slot.connection.is_drained())
    }

    fn forget(&mut self, connection: usize) {
        self.connections.remove(&connection);
    }
}

fn stream_id(index: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, index)
}

/// noq counts no acknowledgements: what was not lost was acknowledged, or still is on its way.
fn counted(stats: &noq_proto::PathStats) -> PathStats {
    let mut counted = PathStats::default();
    counted.datagrams_sent = stats.udp_tx.datagrams;
    counted.bytes_sent = stats.udp_tx.bytes;
    counted.datagrams_received = stats.udp_rx.datagrams;
    counted.bytes_received = stats.udp_rx.bytes;
    counted.packets_acked = stats.sent_packets.saturating_sub(stats.lost_packets);
    counted.bytes_acked = stats.sent_bytes.saturating_sub(stats.lost_bytes);
    counted.packets_lost = stats.lost_packets;
    counted.bytes_lost = stats.lost_bytes;
    counted.congestion_window = stats.cwnd;
    counted.smoothed_rtt = stats.rtt;
    counted.mtu = stats.current_mtu;
    counted
}
