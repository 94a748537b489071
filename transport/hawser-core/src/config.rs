mod ranges;

use std::fmt;
use std::net::{SocketAddrV4, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    AckDecision, AckFrequency, AckOpportunity, AckPolicy, Composed, ControllerFactory, FeatureSet, PathId,
    PolicySetFactory, ReturnPath, SchedulerFactory, Time, TraceSink,
};
use hawser_wire::Version;

#[cfg(feature = "qlog")]
use crate::connection::qlog::{QlogAddresses, QlogFactory};
use crate::crypto;
use crate::quic_lb::QuicLbServer;
use crate::receive_memory::ReceiveMemory;
use crate::send_memory::SendMemory;
use crate::versions::{VersionPreference, Versions};

pub use self::ranges::OutOfRange;

/// How a connection behaves, whichever end it is on.
//= rfc9000-18.2-2: max_ack_delay includes how late timers are
#[derive(Clone)]
#[non_exhaustive]
pub struct TransportConfig {
    /// Silence after which a connection ends; `None`, or zero: never. The lesser of both ends' values counts. A handshake ends after this,
    /// silent or not; a server's after 30 seconds if that is less. Default: 30 s.
    pub max_idle_timeout: Option<Duration>,
    /// Send a PING on a connection that would otherwise be silent this long; at least 1 ms. Default: `None`, never.
    ///
    /// A client that waits for an answer for longer than the NAT before it remembers (most for 30 seconds or more, RFC 9000
    /// section 10.1.2) is found late without: what the server sends goes to where nobody is, until the client asks for the rest,
    /// which it does at ever longer intervals, and not at all before anything came.
    pub keep_alive_interval: Option<Duration>,
    /// Bidirectional streams that the peer may have open. Default: 100.
    pub max_bidirectional_streams: u64,
    /// Unidirectional streams that the peer may have open. Default: 100.
    pub max_unidirectional_streams: u64,
    /// First receive window of a stream in bytes; grows with the bandwidth-delay product, as far as the endpoint's
    /// [`receive_memory`](EndpointConfig::receive_memory) allows. Default: 1 MiB.
    pub initial_stream_window: u64,
    /// Cap of a stream's receive window. Default: 128 MiB.
    pub max_stream_window: u64,
    /// First receive window of the connection; grows likewise. Default: 1.5 MiB.
    pub initial_connection_window: u64,
    /// Cap of the connection's receive window. Default: 192 MiB.
    pub max_connection_window: u64,
    /// Cap of bytes buffered for sending (unsent and unacknowledged) over all streams. Twice what the congestion windows let out
    /// are buffered, as far as this cap and the endpoint's [`send_memory`](EndpointConfig::send_memory) allow. Default: 256 MiB.
    pub max_send_buffer: u64,
    /// Bytes of received DATAGRAM frames buffered for the application; `None`: datagrams are refused. Default: 1 MiB.
    pub datagram_receive_buffer: Option<usize>,
    /// Bytes of DATAGRAM frames buffered for sending. Default: 1 MiB.
    pub datagram_send_buffer: usize,
    /// Bytes of received stream data kept to solve repair symbols of erasure codes with, once the peer protects any. `None`:
    /// 1 MiB if the policies use erasure codes ([`PolicySetFactory::repairs`]); otherwise the extension is not offered, since
    /// what no application uses is only there to be attacked. Default: `None`.
    pub repair_buffer: Option<usize>,
    /// RTT assumed before the first sample (RFC 9002 section 6.2.2), 1 µs to 60 s. Default: 333 ms.
    pub initial_rtt: Duration,
    /// UDP payload size to begin with, at least 1200 bytes. Default: 1200.
    pub initial_mtu: u16,
    /// Largest UDP payload size that path MTU discovery tries; `initial_mtu` or less switches it off. Default: 1452 bytes.
    pub max_mtu: u16,
    /// Longest delay of an acknowledgement, at most 16.383 s. Default: 25 ms.
    pub max_ack_delay: Duration,
    /// Datagrams in one GSO batch, 1 to 64. Default: 64.
    pub max_batch_segments: usize,
    /// Mark packets ECT(0) while ECN works on the path. Default: true.
    pub ecn: bool,
    /// Largest path id offered to the peer, so one less than the number of paths over a life-time window; `None`
    /// switches multipath off. Default: 7.
    pub max_path_id: Option<u32>,
    /// How many path ids may be in use at once, at least 1; more are granted as old ones are abandoned. Default: 8.
    pub max_concurrent_paths: u32,
    /// No probe timeout of application data is shorter; at most 60 s. Zero is RFC 9002; implementations of TCP wait for 200 ms, with
    /// which one can compare. Default: zero.
    pub least_probe_timeout: Duration,
    /// Whether losses and timers are judged by what the path does, or by RFC 9002 to the letter. Default: by what the path does.
    pub loss_recovery: LossRecovery,
    /// How long a silent path is kept as suspect before it is abandoned; for longer while no other path answers. Default: 30 s.
    pub suspect_path_timeout: Duration,
    /// Makes the policy set of each connection: scheduler, congestion controllers, acknowledgement policy, agent.
    pub policies: Arc<dyn PolicySetFactory>,
    /// Ask the peer for another acknowledgement frequency as soon as the handshake allows it, if it takes such requests
    /// (draft-ietf-quic-ack-frequency). Default: `None`.
    pub ack_frequency: Option<AckFrequency>,
    /// Ask the peer when packets arrived, at most this many times per acknowledgement
    /// (draft-ietf-quic-receive-ts-02); `None` asks only if the policies want it. One-way delays come from it. Acknowledgements grow by about
    /// 10 bytes, which `docs/wire.md` measures. Default: `None`.
    pub receive_timestamps: Option<u64>,
    /// Features offered to the peer besides those that the core has on its own (`hawser_features` in `docs/wire.md`); the
    /// first [`MAX_FEATURES`](hawser_policy::MAX_FEATURES) of them. Default: none.
    pub features: FeatureSet,
    /// Packets sent with the same keys after which they are updated, as soon as that is allowed (RFC 9001 section 6.1);
    /// `None`, the default, and at most: half of what the cipher suite allows.
    pub key_update_after: Option<u64>,
    /// Emit greased bits and parameters (RFC 9287, RFC 9000 section 18.1). Default: true.
    pub grease: bool,
    /// Hears what the policies of each connection note ([`Trace`](hawser_policy::Trace)), from their first decision on. A qlog trace has
    /// the notes as well. Default: `None`, nobody.
    pub trace: Option<Arc<dyn TraceSink>>,
    /// Where each connection's qlog trace goes, from its first packet on; `None`, the default: no traces.
    #[cfg(feature = "qlog")]
    pub qlog: Option<QlogFactory>,
    /// How traces show addresses. Default: [`QlogAddresses::Full`]; a driver with sockets says [`QlogAddresses::Redacted`]
    /// unless it is asked for more.
    #[cfg(feature = "qlog")]
    pub qlog_addresses: QlogAddresses,
}

impl TransportConfig {
    /// Defaults with these two policies, and acknowledgements as RFC 9000 section 13.2 recommends for a single path: for
    /// every second packet, on the path of the packets.
    pub fn new(scheduler: Arc<dyn SchedulerFactory>, controller: Arc<dyn ControllerFactory>) -> Self {
        TransportConfig::with_policies(Arc::new(Composed::new(
            scheduler,
            controller,
            Arc::new(|| Box::new(EverySecondPacket) as Box<_>),
        )))
    }

    /// Defaults with this policy set.
    //= rfc9000-7.4.1-7: limits for 0-RTT are above zero
    //= rfc9002-6.2.2-1: the round-trip time is assumed to be 333 ms at first
    pub fn with_policies(policies: Arc<dyn PolicySetFactory>) -> Self {
        TransportConfig {
            max_idle_timeout: Some(Duration::from_secs(30)),
            keep_alive_interval: None,
            max_bidirectional_streams: 100,
            max_unidirectional_streams: 100,
            initial_stream_window: 1 << 20,
            max_stream_window: 128 << 20,
            initial_connection_window: 3 << 19,
            max_connection_window: 192 << 20,
            max_send_buffer: 256 << 20,
            datagram_receive_buffer: Some(1 << 20),
            datagram_send_buffer: 1 << 20,
            repair_buffer: None,
            initial_rtt: Duration::from_millis(333),
            initial_mtu: 1200,
            max_mtu: 1452,
            max_ack_delay: Duration::from_millis(25),
            max_batch_segments: 64,
            ecn: true,
            max_path_id: Some(7),
            max_concurrent_paths: 8,
            least_probe_timeout: Duration::ZERO,
            loss_recovery: LossRecovery::Adaptive,
            suspect_path_timeout: Duration::from_secs(30),
            policies,
            ack_frequency: None,
            receive_timestamps: None,
            features: FeatureSet::NONE,
            key_update_after: None,
            grease: true,
            trace: None,
            #[cfg(feature = "qlog")]
            qlog: None,
            #[cfg(feature = "qlog")]
            qlog_addresses: QlogAddresses::default(),
        }
    }

    /// Returns this configuration with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// How losses are told from reordering and outages, and how long probe timeouts grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// Thresholds follow the reordering that a path shows, epochs whose losses come back are undone, and where multipath is negotiated,
    /// outages are told from congestion, back-off has a cap, and a path is asked as soon as the peer is heard on it.
    #[default]
    Adaptive,
    /// As RFC 9002 says and nothing else: three packets, 9/8 of a round trip, timeouts that double, every loss a sign of congestion.
    /// For comparisons.
    Rfc9002,
}

/// See [`TransportConfig::repair_buffer`].
const REPAIR_BUFFER: usize = 1 << 20;

impl TransportConfig {
    /// Returns `max_idle_timeout`, where zero means `None` as on the wire (RFC 9000 section 18.2).
    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.max_idle_timeout.filter(|timeout| !timeout.is_zero())
    }

    /// Returns the bytes kept for repair symbols; `None` if they are not taken.
    pub(crate) fn repair_memory(&self) -> Option<usize> {
        self.repair_buffer.or_else(|| self.policies.repairs().then_some(REPAIR_BUFFER))
    }
}

/// RFC 9000 sections 13.2.1 and 13.2.2, where nobody chooses an acknowledgement policy; as often as the peer asks if it
/// does.
struct EverySecondPacket;

impl AckPolicy for EverySecondPacket {
    fn decide(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        let requested = opportunity.requested_threshold.unwrap_or(1);
        let is_due = opportunity.unacknowledged > requested;
        if is_due || opportunity.out_of_order || opportunity.congestion_marked {
            AckDecision::Now
        } else {
            AckDecision::Within(opportunity.max_ack_delay)
        }
    }

    fn return_path(&mut self, _now: Time, _acked: PathId, _paths: &[ReturnPath]) -> Option<PathId> {
        None
    }
}

impl fmt::Debug for TransportConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportConfig")
            .field("max_idle_timeout", &self.max_idle_timeout)
            .field("max_path_id", &self.max_path_id)
            .finish_non_exhaustive()
    }
}

/// What all connections of an endpoint share.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Length of the connection ids we issue, 8 to 20 (multipath needs non-empty ids).
    pub connection_id_length: usize,
    /// Which server this is to the load balancer in front of it, and how connection ids say so; they then have the length
    /// that follows from that. By default they are random.
    pub quic_lb: Option<QuicLbServer>,
    /// Largest UDP payload we receive.
    pub max_udp_payload_size: u16,
    /// Key from which stateless reset tokens are derived (RFC 9000 section 10.3.2). Keep it over restarts.
    pub reset_key: [u8; 32],
    /// Real time at `Time::ZERO`, since 1970. Address tokens outlive the process, so their age is told by this; without
    /// it (zero) they are good only in the process that made them.
    pub unix_time_at_origin: Duration,
    /// What all its connections may hold for applications that do not read. By default 1 GiB.
    pub receive_memory: ReceiveMemory,
    /// What all its connections may keep of what their applications wrote, until it is acknowledged. By default 1 GiB.
    pub send_memory: SendMemory,
}

/// See [`EndpointConfig::receive_memory`].
const RECEIVE_MEMORY: u64 = 1 << 30;
/// See [`EndpointConfig::send_memory`].
const SEND_MEMORY: u64 = 1 << 30;

impl EndpointConfig {
    /// Defaults with this reset key.
    pub fn new(reset_key: [u8; 32]) -> Self {
        EndpointConfig {
            connection_id_length: 8,
            quic_lb: None,
            max_udp_payload_size: 65_527,
            reset_key,
            unix_time_at_origin: Duration::ZERO,
            receive_memory: ReceiveMemory::new(RECEIVE_MEMORY),
            send_memory: SendMemory::new(SEND_MEMORY),
        }
    }
}

/// Where a server would rather be reached once a handshake is over (RFC 9000 section 9.6). It has to listen there, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreferredAddresses {
    /// For clients that came by IPv4.
    pub ipv4: Option<SocketAddrV4>,
    /// For clients that came by IPv6.
    pub ipv6: Option<SocketAddrV6>,
}

/// What a server needs besides the endpoint's configuration.
#[derive(Clone)]
pub struct ServerConfig {
    /// Makes TLS sessions.
    pub crypto: Arc<dyn crypto::ServerFactory>,
    /// Behaviour of its connections.
    pub transport: Arc<TransportConfig>,
    /// Key that seals Retry and address-validation tokens. Share it between servers behind one address.
    pub token_key: [u8; 32],
    /// Further keys: tokens that they sealed are accepted, none are made with them. For the time in which servers that share
    /// keys change them.
    pub accepted_token_keys: Vec<[u8; 32]>,
    /// How long a Retry token is good.
    pub retry_token_lifetime: Duration,
    /// How long a NEW_TOKEN token is good.
    pub address_token_lifetime: Duration,
    /// Connections in the handshake above which new clients must prove their address by Retry.
    pub retry_above_handshakes: usize,
    /// Handshakes that one source (an IPv4 address, an IPv6 /64) may begin per second, and at once. Beyond it clients must
    /// prove their address by Retry; those that have are refused beyond the same rate. `None`: no limit.
    pub handshakes_per_source: Option<u32>,
    /// Connections above which new ones are refused.
    pub max_connections: usize,
    /// NEW_TOKEN frames sent per connection.
    pub tokens_per_connection: u32,
    /// QUIC versions that it speaks; clients that begin with another one are told them.
    pub versions: Versions,
    /// Who decides for one of them where the client offers several.
    pub version_preference: VersionPreference,
    /// Where clients should go after the handshake; nowhere by default.
    pub preferred_addresses: PreferredAddresses,
}

impl ServerConfig {
    /// Defaults with this session factory, transport and token key.
    pub fn new(
        crypto: Arc<dyn crypto::ServerFactory>,
        transport: Arc<TransportConfig>,
        token_key: [u8; 32],
    ) -> Self {
        ServerConfig {
            crypto,
            transport,
            token_key,
            accepted_token_keys: Vec::new(),
            retry_token_lifetime: Duration::from_secs(15),
            address_token_lifetime: Duration::from_secs(14 * 24 * 3600),
            retry_above_handshakes: 1_000,
            handshakes_per_source: None,
            max_connections: 100_000,
            tokens_per_connection: 2,
            versions: Versions::default(),
            version_preference: VersionPreference::default(),
            preferred_addresses: PreferredAddresses::default(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// What a client needs for one connection.
#[derive(Clone)]
pub struct ClientConfig {
    /// Makes TLS sessions.
    pub crypto: Arc<dyn crypto::ClientFactory>,
    /// Behaviour of the connection.
    pub transport: Arc<TransportConfig>,
    /// Address token from an earlier connection to the same server.
    pub token: Option<Vec<u8>>,
    /// The version of the connection that the token comes from; it is not sent in another one (RFC 9369 section 5).
    pub token_version: Version,
    /// QUIC versions that it offers, most wanted first.
    pub versions: Versions,
    /// With which of them the connection begins. A server that speaks this one moves it to another without a round trip;
    /// one that does not costs a round trip.
    pub first_version: Version,
    /// Move to the address that the server prefers, if it names one (RFC 9000 section 9.6).
    pub follow_preferred_address: bool,
}

impl ClientConfig {
    /// Defaults with this session factory and transport.
    pub fn new(crypto: Arc<dyn crypto::ClientFactory>, transport: Arc<TransportConfig>) -> Self {
        let versions = Versions::default();
        ClientConfig {
            crypto,
            transport,
            token: None,
            token_version: Version::V1,
            first_version: versions.first_flight(),
            follow_preferred_address: true,
            versions,
        }
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig").field("transport", &self.transport).finish_non_exhaustive()
    }
}
