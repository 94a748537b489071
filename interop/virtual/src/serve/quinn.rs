//! quinn as a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hawser_core::PathStats;
use hawser_policy::PathId;
use hawser_sim::tls;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ServerConfig, Side, StreamEvent, StreamId, TransportConfig, ValidationTokenConfig,
    VarInt,
};

use super::seeds::{SeededIds, Seeds};
use super::{Congestion, Happened, Received, ServingStack};
use crate::quinn::{BATCH, QuinnStream, outgoing, to_codepoint};
use crate::{Arrival, ByteStream, Outgoing};

/// A quinn server.
pub(super) struct Quinn {
    endpoint: Endpoint,
    connections: BTreeMap<usize, Connection>,
}

impl Quinn {
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
        transport.congestion_controller_factory(controllers(congestion));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(endpoint_config(seed), Some(Arc::new(config)), true, None);
        Quinn { endpoint, connections: BTreeMap::new() }
    }

    fn connection(&mut self, connection: usize) -> Option<&mut Connection> {
        self.connections.get_mut(&connection)
    }

    fn accept(&mut self, now: Instant, incoming: quinn_proto::Incoming, buffer: &mut Vec<u8>) -> Received {
        match self.endpoint.accept(incoming, now, buffer, None) {
            Ok((handle, connection)) => {
                self.connections.insert(handle.0, connection);
                Received::New(handle.0)
            }
            Err(error) => error.response.map_or(Received::Nothing, |sent| Received::Answer(outgoing(sent))),
        }
    }
}

fn controllers(congestion: Congestion) -> Arc<dyn ControllerFactory + Send + Sync> {
    match congestion {
        Congestion::Bbr => {
            // Its default is 200 datagrams; this is that of RFC 9002 section 7.2, as all others have it.
            let mut config = BbrConfig::default();
            config.initial_window(12_000);
            Arc::new(config)
        }
        Congestion::NewReno => Arc::new(NewRenoConfig::default()),
        Congestion::Cubic | Congestion::Bbr3 => Arc::new(CubicConfig::default()),
    }
}

fn endpoint_config(seed: u64) -> Arc<EndpointConfig> {
    let seeds = Seeds::new(seed, "quinn");
    let mut config = EndpointConfig::new(Arc::new(seeds.reset_key));
    config.rng_seed(Some(seeds.generator));
    config.cid_generator(move || Box::new(seeds.ids.clone()));
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

impl ServingStack for Quinn {
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Received {
        let Arrival { local, remote, ecn, payload } = arrival;
        match self.endpoint.handle(now, remote, Some(local), ecn.map(to_codepoint), payload, buffer) {
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
        let inner = self.connections.get_mut(&connection)?;
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
                _ => {}
            }
        }
    }

    fn stream<'a>(&'a mut self, connection: usize, index: u64) -> Option<Box<dyn ByteStream + 'a>> {
        let connection = self.connection(connection)?;
        Some(Box::new(QuinnStream { connection, id: stream_id(index) }))
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
        let stats = self.connection(connection).map(|connection| counted(&connection.stats()));
        stats.into_iter().map(|stats| (PathId(0), stats)).collect()
    }

    fn is_drained(&self, connection: usize) -> bool {
        self.connections.get(&connection).is_some_and(|connection| connection.is_drained())
    }

    fn forget(&mut self, connection: usize) {
        self.connections.remove(&connection);
    }
}

fn stream_id(index: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, index)
}

/// quinn counts no acknowledgements: what was not lost was acknowledged, or still is on its way.
fn counted(stats: &quinn_proto::ConnectionStats) -> PathStats {
    let path = stats.path;
    let mut counted = PathStats::default();
    counted.datagrams_sent = stats.udp_tx.datagrams;
    counted.bytes_sent = stats.udp_tx.bytes;
    counted.datagrams_received = stats.udp_rx.datagrams;
    counted.bytes_received = stats.udp_rx.bytes;
    counted.packets_acked = path.sent_packets.saturating_sub(path.lost_packets);
    counted.bytes_acked = stats.udp_tx.bytes.saturating_sub(path.lost_bytes);
    counted.packets_lost = path.lost_packets;
    counted.bytes_lost = path.lost_bytes;
    counted.congestion_window = path.cwnd;
    counted.smoothed_rtt = path.rtt;
    counted.min_rtt = path.min_rtt;
    counted.mtu = path.current_mtu;
    counted
}
