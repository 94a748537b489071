//! Transport parameters: the local ones from the configuration, the peer's checked against what happened on the wire.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_policy::Side;
use hawser_wire::codepoints::private::feature;
use hawser_wire::codepoints::version;
use hawser_wire::transport_parameters::{
    FeatureSet, PreferredAddress, ReservedParameter, Role, VersionInformation,
};
use hawser_wire::{ConnectionId, StatelessResetToken, TransportParameters, Version, varint};
use rand::RngCore;

use super::ack_frequency::min_ack_delay;
use super::datagrams::max_frame_size;
use super::paths::path_ids::PathIds;
use super::receive_times::RECEIVE_TIMESTAMPS_EXPONENT;
use crate::endpoint::CidIssuer;
use crate::{Code, EndpointConfig, PreferredAddresses, TransportConfig, TransportError, Versions};

/// Connection ids of the peer that we keep, per path (draft-ietf-quic-multipath-21 section 2.2): the one in use, one to
/// change to at once, and two that may be under way in their place.
//= rfc9000-18.2-7: active_connection_id_limit is 2 at least
pub(crate) const ACTIVE_CONNECTION_ID_LIMIT: u64 = 4;

/// Receive timestamps per acknowledgement that are asked for when policies want them: as many as a receiver that
/// processes datagrams in batches has to report at once.
const WANTED_RECEIVE_TIMESTAMPS: u64 = 32;

/// The connection ids of the handshake that we have to confirm (RFC 9000 section 7.3).
#[derive(Clone, Copy, Debug)]
pub(crate) enum OurHandshakeCids {
    Client {
        /// Source of our Initial packets.
        initial_source: ConnectionId,
    },
    Server {
        /// Source of our Initial packets, and its reset token.
        initial_source: ConnectionId,
        reset_token: StatelessResetToken,
        /// Destination of the client's very first Initial.
        original_destination: ConnectionId,
        /// Source of our Retry, if we sent one.
        retry_source: Option<ConnectionId>,
        /// Where we would rather be reached, and with which connection id.
        preferred: Option<PreferredAddress>,
        /// Whether packets to `initial_source` get here from whatever address.
        is_routable: bool,
    },
}

/// Our transport parameters.
//= rfc9000-7.3-1: connection ids in transport parameters are those of the packets
//= rfc9000-7.4.1-7: limits for 0-RTT are above zero
//= rfc9000-18.2-1: clients do not send a reset token
//= rfc9000-18.2-9: clients send no parameter of servers
pub(crate) fn local_parameters(
    transport: &TransportConfig,
    endpoint: &EndpointConfig,
    cids: &OurHandshakeCids,
) -> TransportParameters {
    let integer = |value: u64| value.min(varint::MAX);
    let streams = |count: u64| count.min(hawser_wire::frame::MAX_STREAM_COUNT);
    let receive_timestamps = receive_timestamps(transport);
    let mut features = local_features(transport);
    // The core's own; one that does not fit next to those of the policies is not offered.
    features.insert(feature::STREAM_SKIP);
    if transport.repair_memory().is_some() {
        features.insert(feature::ERASURE_CODES);
    }
    let mut parameters = TransportParameters {
        max_idle_timeout: transport.idle_timeout().map_or(0, |timeout| {
            // 0 means never, and a timeout below a millisecond surely does not.
            integer(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)).max(1)
        }),
        max_udp_payload_size: u64::from(endpoint.max_udp_payload_size.max(1200)),
        initial_max_data: integer(transport.initial_connection_window),
        initial_max_stream_data_bidi_local: integer(transport.initial_stream_window),
        initial_max_stream_data_bidi_remote: integer(transport.initial_stream_window),
        initial_max_stream_data_uni: integer(transport.initial_stream_window),
        initial_max_streams_bidi: streams(transport.max_bidirectional_streams),
        initial_max_streams_uni: streams(transport.max_unidirectional_streams),
        // Rounded up: the peer must not expect acknowledgements earlier than they come.
        max_ack_delay: transport.max_ack_delay.as_nanos().div_ceil(1_000_000).min((1 << 14) - 1) as u16,
        active_connection_id_limit: ACTIVE_CONNECTION_ID_LIMIT,
        max_datagram_frame_size: max_frame_size(transport.datagram_receive_buffer),
        grease_quic_bit: transport.grease,
        initial_max_path_id: PathIds::initial_max_path_id(
            transport.max_path_id,
            transport.max_concurrent_paths,
        ),
        reset_stream_at: true,
        min_ack_delay: Some(min_ack_delay(transport.max_ack_delay).as_micros() as u64),
        max_receive_timestamps_per_ack: receive_timestamps,
        receive_timestamps_exponent: receive_timestamps.map_or(0, |_| RECEIVE_TIMESTAMPS_EXPONENT),
        features: Some(features),
        ..TransportParameters::default()
    };
    match *cids {
        OurHandshakeCids::Client { initial_source } => {
            parameters.initial_source_connection_id = Some(initial_source);
        }
        OurHandshakeCids::Server {
            initial_source,
            reset_token,
            original_destination,
            retry_source,
            preferred,
            is_routable,
        } => {
            parameters.initial_source_connection_id = Some(initial_source);
            parameters.stateless_reset_token = Some(reset_token);
            parameters.original_destination_connection_id = Some(original_destination);
            parameters.retry_source_connection_id = retry_source;
            parameters.preferred_address = preferred;
            // draft-ietf-quic-load-balancers section 3.2.
            parameters.disable_active_migration = !is_routable;
        }
    }
    parameters
}

/// Features with frames of their own. An end lists them by what its core does, whatever its policies know and the application
/// wants, and they have no messages.
const CORE_FEATURES: [u64; 2] = [feature::STREAM_SKIP, feature::ERASURE_CODES];

/// The features of policies and the application that we offer in `hawser_features`.
pub(crate) fn local_features(transport: &TransportConfig) -> FeatureSet {
    let features = transport.features.clone().union(&transport.policies.features());
    features.iter().map(|feature| feature.0).filter(|id| !CORE_FEATURES.contains(id)).collect()
}

/// Receive timestamps that we ask for per acknowledgement: as configured, or because the policies want them.
pub(crate) fn receive_timestamps(transport: &TransportConfig) -> Option<u64> {
    let wanted = || transport.policies.wants_receive_timestamps().then_some(WANTED_RECEIVE_TIMESTAMPS);
    transport.receive_timestamps.or_else(wanted).map(|most| most.min(varint::MAX))
}

/// `parameters` as TLS carries them. With `grease`, one without meaning is added (RFC 9000 section 18.1).
pub(crate) fn encode(parameters: &TransportParameters, grease: bool, random: &mut impl RngCore) -> Vec<u8> {
    let mut value = [0; 16];
    random.fill_bytes(&mut value);
    let length = random.next_u32() as usize % (value.len() + 1);
    let value = value.get(..length).unwrap_or_default();
    parameters.to_vec(grease.then(|| ReservedParameter { n: random.next_u64(), value }))
}

/// What we say of versions.
pub(crate) fn version_information(
    chosen: Version,
    ours: &Versions,
    reserved: Option<u32>,
) -> VersionInformation {
    VersionInformation { chosen: chosen.number(), available: ours.advertised(reserved) }
}

/// `parameters` as TLS carries them, with this one added to them.
pub(crate) fn with_version_information(parameters: &[u8], information: VersionInformation) -> Vec<u8> {
    let added =
        TransportParameters { version_information: Some(information), ..TransportParameters::default() };
    [parameters, &added.to_vec(None)].concat()
}

/// What we announce of the addresses where we would rather be reached; `None` if there are none.
//= rfc9000-18.2-5: a preferred address has a connection id
pub(crate) fn preferred_address(
    addresses: &PreferredAddresses,
    cids: &mut CidIssuer,
) -> Option<PreferredAddress> {
    let PreferredAddresses { ipv4, ipv6 } = *addresses;
    if ipv4.is_none() && ipv6.is_none() {
        return None;
    }
    let (connection_id, stateless_reset_token) = cids.issue_further()?;
    Some(PreferredAddress { ipv4, ipv6, connection_id, stateless_reset_token })
}

/// Where a client goes that reached the server at `remote`: to the preferred address of the same family, if that is one
/// to which packets can be sent, and another one. Multicast and broadcast never are, and loopback is not from elsewhere
/// (RFC 9000 section 21.5.6).
//= rfc9000-9.6.3-5: a client takes the preferred address of its own address family
//= rfc9000-21.5.6-1: no move to a loopback address of a service that is elsewhere
pub(crate) fn preferred_remote(preferred: &PreferredAddress, remote: SocketAddr) -> Option<SocketAddr> {
    let address = match remote {
        SocketAddr::V4(_) => SocketAddr::V4(preferred.ipv4?),
        SocketAddr::V6(remote) => {
            let mut address = preferred.ipv6?;
            // A link-local address means something on this link only.
            address.set_scope_id(remote.scope_id());
            SocketAddr::V6(address)
        }
    };
    let ip = address.ip();
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    let usable = address.port() != 0
        && !(ip.is_unspecified() || ip.is_multicast() || broadcast)
        && (!ip.is_loopback() || remote.ip().is_loopback());
    (usable && address != remote).then_some(address)
}

/// A version that nobody speaks, if we are to exercise that: one per connection, as its `id` has it.
pub(crate) fn reserved_version(grease: bool, id: &ConnectionId) -> Option<u32> {
    let seed = id.as_bytes().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    grease.then(|| version::reserved(seed))
}

/// The connection ids of the handshake that the peer has to confirm (RFC 9000 section 7.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedCids {
    /// Our side.
    pub(crate) side: Side,
    /// Source of the peer's Initial packets; `None` if none came.
    pub(crate) source: Option<ConnectionId>,
    /// Destination of the client's very first Initial. A server has to confirm it.
    pub(crate) original_destination: ConnectionId,
    /// Source of the Retry, if one was followed. A server has to confirm it.
    pub(crate) retry_source: Option<ConnectionId>,
}

/// Reads and checks the peer's transport parameters.
///
/// # Errors
/// TRANSPORT_PARAMETER_ERROR for what is malformed, out of range, missing or does not agree with the packets that were
/// exchanged; PROTOCOL_VIOLATION for multipath without connection ids.
//= multipath-2.1-4: multipath offered with connection ids of zero length: PROTOCOL_VIOLATION
//= rfc9000-7.3-2: the peer's connection id parameters are compared with its packets
//= rfc9000-7.3-3: missing connection id parameters: TRANSPORT_PARAMETER_ERROR
//= rfc9000-7.4-1: an invalid parameter: TRANSPORT_PARAMETER_ERROR
//= rfc9000-18.2-6: a preferred address with an empty connection id: TRANSPORT_PARAMETER_ERROR
pub(crate) fn validate(bytes: &[u8], expected: &ExpectedCids) -> Result<TransportParameters, TransportError> {
    let sender = if expected.side.is_client() { Role::Server } else { Role::Client };
    let parameters = TransportParameters::decode(bytes, sender)
        .map_err(|error| TransportError::new(Code::TRANSPORT_PARAMETER_ERROR, error.to_string()))?;
    let source = parameters.initial_source_connection_id;
    if source.is_none() {
        return Err(TransportError::new(
            Code::TRANSPORT_PARAMETER_ERROR,
            "initial_source_connection_id is missing",
        ));
    }
    check_cid("initial_source_connection_id", source, expected.source)?;
    let without_cid = source.is_some_and(|id| id.is_empty());
    if sender == Role::Server {
        let original = parameters.original_destination_connection_id;
        check_cid("original_destination_connection_id", original, Some(expected.original_destination))?;
        let retry = parameters.retry_source_connection_id;
        check_cid("retry_source_connection_id", retry, expected.retry_source)?;
        // RFC 9000 section 18.2.
        if without_cid && parameters.preferred_address.is_some() {
            return Err(TransportError::new(
                Code::TRANSPORT_PARAMETER_ERROR,
                "preferred_address from a server without connection id",
            ));
        }
    }
    // draft-ietf-quic-multipath-21 section 2.1. Our own ids are never empty.
    if parameters.initial_max_path_id.is_some() && without_cid {
        return Err(TransportError::protocol_violation(
            "initial_max_path_id from a peer without connection id",
        ));
    }
    Ok(parameters)
}

/// The idle timeout in force: the lesser of both ends' (RFC 9000 section 10.1); `peer` in milliseconds, 0 for never.
pub(crate) fn idle_timeout(ours: Option<Duration>, peer: u64) -> Option<Duration> {
    let peer = (peer != 0).then(|| Duration::from_millis(peer));
    match (ours, peer) {
        (Some(ours), Some(peer)) => Some(ours.min(peer)),
        (ours, peer) => ours.or(peer),
    }
}

/// What of the peer's transport parameters is needed for as long as the connection lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerParameters {
    /// ACK Delay fields count in 2^n microseconds; at most 20.
    pub(crate) ack_delay_exponent: u8,
    pub(crate) max_ack_delay: Duration,
    /// The longest UDP payload it takes, at least 1200.
    pub(crate) max_udp_payload_size: u64,
    /// It takes packets without the fixed bit (RFC 9287).
    pub(crate) grease_quic_bit: bool,
    /// It must not be surprised by packets from another address (RFC 9000 section 18.2).
    pub(crate) disable_active_migration: bool,
}

impl From<&TransportParameters> for PeerParameters {
    fn from(parameters: &TransportParameters) -> Self {
        PeerParameters {
            ack_delay_exponent: parameters.ack_delay_exponent,
            max_ack_delay: Duration::from_millis(parameters.max_ack_delay.into()),
            max_udp_payload_size: parameters.max_udp_payload_size,
            grease_quic_bit: parameters.grease_quic_bit,
            disable_active_migration: parameters.disable_active_migration,
        }
    }
}

impl Default for PeerParameters {
    /// What holds until the parameters come.
    fn default() -> Self {
        PeerParameters::from(&TransportParameters::default())
    }
}

//= rfc9000-7.3-4: connection id parameters that differ, or a Retry's out of place: error
fn check_cid(
    name: &'static str,
    sent: Option<ConnectionId>,
    expected: Option<ConnectionId>,
) -> Result<(), TransportError> {
    if sent == expected {
        return Ok(());
    }
    let show = |id: Option<ConnectionId>| id.map_or_else(|| "none".to_owned(), |id| format!("\"{id}\""));
    Err(TransportError::new(
        Code::TRANSPORT_PARAMETER_ERROR,
        format!("{name} is {}, expected {}", show(sent), show(expected)),
    ))
}

#[cfg(test)]
mod tests;
