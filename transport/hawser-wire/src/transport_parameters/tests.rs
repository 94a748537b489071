//! Transport parameters: round trips, known bytes, and each rule once.

use std::net::{SocketAddrV4, SocketAddrV6};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::codepoints::private::feature;
use crate::codepoints::{self, transport_parameter as id};
use crate::varint;
use crate::writer::{BufferTooShort, Writer};
use TransportParameterProblem as Problem;

/// One parameter as it is sent.
fn parameter(id: u64, value: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; 16 + value.len()];
    let mut w = Writer::new(&mut buffer);
    w.write_varint(id).unwrap();
    w.write_varint(value.len() as u64).unwrap();
    w.write_bytes(value).unwrap();
    w.written().to_vec()
}

fn integer_parameter(id: u64, value: u64) -> Vec<u8> {
    let mut buffer = [0; 8];
    let mut w = Writer::new(&mut buffer);
    w.write_varint(value).unwrap();
    parameter(id, w.written())
}

fn server(bytes: &[u8]) -> Result<TransportParameters, TransportParameterError> {
    TransportParameters::decode(bytes, Role::Server)
}

/// The parameters in the ClientHello of RFC 9001 appendix A.2.
#[test]
fn parameters_of_the_standard() {
    let bytes = hex::decode(
        "0408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff",
    )
    .unwrap();
    let expected = TransportParameters {
        initial_max_data: varint::MAX,
        initial_max_stream_data_bidi_local: 65_535,
        initial_max_stream_data_uni: 65_535,
        initial_max_streams_bidi: 16,
        max_idle_timeout: 30_000,
        initial_max_streams_uni: 16,
        initial_source_connection_id: ConnectionId::new(&hex::decode("8394c8f03e515708").unwrap()),
        initial_max_stream_data_bidi_remote: 65_535,
        ..TransportParameters::default()
    };
    assert_eq!(TransportParameters::decode(&bytes, Role::Client), Ok(expected));
}

#[test]
fn defaults_take_no_bytes() {
    assert_eq!(TransportParameters::default().to_vec(None), []);
    assert_eq!(server(&[]), Ok(TransportParameters::default()));
}

#[test]
fn extensions_have_their_numbers() {
    let parameters = TransportParameters {
        max_datagram_frame_size: 1200,
        grease_quic_bit: true,
        initial_max_path_id: Some(0),
        min_ack_delay: Some(1000),
        max_receive_timestamps_per_ack: Some(32),
        receive_timestamps_exponent: 3,
        address_discovery: Some(AddressDiscovery::ProvideAndReceive),
        reset_stream_at: true,
        features: Some([feature::STREAM_SKIP, feature::MOBILITY_REPORT].into_iter().collect()),
        ..TransportParameters::default()
    };
    let expected = [
        "200244b0",               // max_datagram_frame_size
        "6ab200",                 // grease_quic_bit
        "1d00",                   // reset_stream_at
        "3e0100",                 // initial_max_path_id: offered, no extra path yet
        "c0000000ff04de1b0243e8", // min_ack_delay
        "8004ac070120",           // max_receive_timestamps_per_ack
        "8004ac260103",           // receive_timestamps_exponent
        "c00000009f81a1760102",   // address_discovery
        "a8a75e00020103",         // features 1 and 3
    ];
    assert_eq!(hex::encode(parameters.to_vec(None)), expected.concat());
}

//= multipath-2.1-1, multipath-2.1-2, rfc9000-4.6-1, rfc9000-7.4-1, rfc9000-18.2-8
#[test]
fn values_out_of_range_are_refused() {
    for (id, bad, min, max) in [
        (id::MAX_UDP_PAYLOAD_SIZE, 1199, 1200, varint::MAX),
        (id::ACK_DELAY_EXPONENT, 21, 0, 20),
        (id::MAX_ACK_DELAY, 1 << 14, 0, (1 << 14) - 1),
        (id::ACTIVE_CONNECTION_ID_LIMIT, 1, 2, varint::MAX),
        (id::INITIAL_MAX_STREAMS_BIDI, (1 << 60) + 1, 0, 1 << 60),
        (id::INITIAL_MAX_STREAMS_UNI, (1 << 60) + 1, 0, 1 << 60),
        (id::INITIAL_MAX_PATH_ID, 1 << 32, 0, u64::from(u32::MAX)),
        (id::ADDRESS_DISCOVERY, 3, 0, 2),
        (id::MIN_ACK_DELAY, 25_001, 0, 25_000),
    ] {
        let problem = Problem::OutOfRange { value: bad, min, max };
        let error = server(&integer_parameter(id, bad)).unwrap_err();
        assert_eq!(error, TransportParameterError { id, problem });
        assert!(error.to_string().contains(id::name(id)), "{error}");
        assert_eq!(error.transport_error_code(), codepoints::error::TRANSPORT_PARAMETER_ERROR);
        let good = if bad > max { max } else { min };
        assert!(server(&integer_parameter(id, good)).is_ok(), "{good} is the limit of {}", id::name(id));
    }
}

/// RFC 9368 sections 3 and 4.
#[test]
fn version_information_has_its_rules() {
    let decode = |value: &str, sender| {
        let bytes = parameter(id::VERSION_INFORMATION, &hex::decode(value).unwrap());
        TransportParameters::decode(&bytes, sender)
    };
    let information = VersionInformation { chosen: 1, available: vec![0x6b33_43cf, 1] };
    let parameters =
        TransportParameters { version_information: Some(information), ..TransportParameters::default() };
    assert_eq!(hex::encode(parameters.to_vec(None)), "110c000000016b3343cf00000001");
    assert_eq!(decode("000000016b3343cf00000001", Role::Client), Ok(parameters));
    let too_many = "00000001".repeat(MAX_AVAILABLE_VERSIONS + 2);
    for (value, problem) in [
        ("", Problem::Malformed(0)),
        ("000001", Problem::Malformed(3)),
        ("000000010000000100", Problem::Malformed(9)),
        ("0000000000000001", Problem::VersionZero),
        ("000000010000000100000000", Problem::VersionZero),
        (too_many.as_str(), Problem::Malformed(4 * (MAX_AVAILABLE_VERSIONS + 2))),
    ] {
        for sender in [Role::Client, Role::Server] {
            let error = TransportParameterError { id: id::VERSION_INFORMATION, problem };
            assert_eq!(decode(value, sender), Err(error), "{value}");
        }
    }
    // A server may be about to give up the version that it chose.
    for value in ["00000001", "000000016b3343cf"] {
        assert!(decode(value, Role::Server).is_ok());
        assert_eq!(decode(value, Role::Client).unwrap_err().problem, Problem::ChosenVersion(1));
    }
}

/// The order of parameters is free: max_ack_delay may come after the min_ack_delay that it bounds.
#[test]
fn min_ack_delay_is_compared_at_the_end() {
    let delays = [integer_parameter(id::MIN_ACK_DELAY, 30_000), integer_parameter(id::MAX_ACK_DELAY, 30)];
    assert_eq!(server(&delays.concat()).unwrap().min_ack_delay, Some(30_000));
}

//= rfc9000-7.4-1, rfc9000-18.2-6
#[test]
fn values_of_the_wrong_form_are_refused() {
    let address = |cid: &[u8]| [&[0; 24][..], &[cid.len() as u8], cid, &[9; 16]].concat();
    for (id, value, problem) in [
        (id::DISABLE_ACTIVE_MIGRATION, vec![0], Problem::Malformed(1)),
        (id::GREASE_QUIC_BIT, vec![1], Problem::Malformed(1)),
        (id::RESET_STREAM_AT, vec![1], Problem::Malformed(1)),
        (id::STATELESS_RESET_TOKEN, vec![1; 15], Problem::Malformed(15)),
        (id::MAX_IDLE_TIMEOUT, vec![], Problem::Malformed(0)),
        (id::MAX_IDLE_TIMEOUT, vec![0x40], Problem::Malformed(1)),
        (id::INITIAL_MAX_DATA, vec![1, 2], Problem::Malformed(2)),
        (id::INITIAL_SOURCE_CONNECTION_ID, vec![1; 21], Problem::ConnectionIdLength(21)),
        (id::PREFERRED_ADDRESS, address(&[]), Problem::ConnectionIdLength(0)),
        (id::PREFERRED_ADDRESS, address(&[1; 21]), Problem::ConnectionIdLength(21)),
        (id::PREFERRED_ADDRESS, address(&[1; 8])[..48].to_vec(), Problem::Malformed(48)),
        (id::PREFERRED_ADDRESS, [address(&[1; 8]), vec![0]].concat(), Problem::Malformed(50)),
        (id::HAWSER_FEATURES, vec![1, 0x40], Problem::Malformed(2)),
    ] {
        assert_eq!(server(&parameter(id, &value)), Err(TransportParameterError { id, problem }));
    }
}

//= rfc9000-18.2-1, rfc9000-18.2-10
#[test]
fn a_client_sends_no_parameters_of_servers() {
    for (id, value) in [
        (id::ORIGINAL_DESTINATION_CONNECTION_ID, vec![1; 8]),
        (id::STATELESS_RESET_TOKEN, vec![1; 16]),
        (id::RETRY_SOURCE_CONNECTION_ID, vec![1; 8]),
        (id::PREFERRED_ADDRESS, [&[0; 24][..], &[1, 1], &[9; 16]].concat()),
    ] {
        let bytes = parameter(id, &value);
        let error = TransportParameterError { id, problem: Problem::ServerOnly };
        assert_eq!(TransportParameters::decode(&bytes, Role::Client), Err(error));
        assert!(server(&bytes).is_ok());
    }
}

//= rfc9000-7.4-3, rfc9000-7.4.2-1
#[test]
fn duplicates_are_refused_and_the_unknown_ignored() {
    let once = integer_parameter(id::INITIAL_MAX_DATA, 7);
    let error = TransportParameterError { id: id::INITIAL_MAX_DATA, problem: Problem::Duplicate };
    assert_eq!(server(&[once.clone(), once.clone()].concat()), Err(error));

    let unknown =
        [parameter(id::reserved(5), b"anything"), once, parameter(id::reserved(u64::MAX), &[])].concat();
    assert_eq!(server(&unknown).unwrap().initial_max_data, 7);
    assert_eq!((id::reserved(0), id::reserved(5)), (27, 182));
    assert_eq!(id::reserved(u64::MAX) % 31, 27);

    let features = server(&parameter(id::HAWSER_FEATURES, &[63, 2, 2])).unwrap().features.unwrap();
    assert!(features.iter().eq([feature::FRAME_FEEDBACK, 63]), "each once, in order");
    let many: Vec<u8> = (0..60).rev().collect();
    let features = server(&parameter(id::HAWSER_FEATURES, &many)).unwrap().features.unwrap();
    assert!(features.iter().eq(28..60), "no more than are kept");
}

/// What is sent to be ignored must never mean something: the draft of receive timestamps took two reserved identifiers.
#[test]
fn reserved_identifiers_that_were_taken_are_left_alone() {
    let taken = [id::MAX_RECEIVE_TIMESTAMPS_PER_ACK, id::RECEIVE_TIMESTAMPS_EXPONENT];
    assert_eq!(taken, [31 * 9876 + 27, 31 * 9877 + 27]);
    assert_eq!([9876, 9877].map(id::reserved), [id::reserved(9878); 2]);
    for id in [id::HAWSER_FEATURES, id::MIN_ACK_DELAY, id::ADDRESS_DISCOVERY] {
        assert_ne!(id % 31, 27, "{}", id::name(id));
    }
    // A peer that sends one as reserved, with any bytes, is not at fault; one that means it is held to the range.
    for id in taken {
        assert_eq!(server(&parameter(id, b"anything")), Ok(TransportParameters::default()));
    }
    let exponent = integer_parameter(taken[1], 21);
    assert_eq!(server(&exponent), Ok(TransportParameters::default()));
    let problem = Problem::OutOfRange { value: 21, min: 0, max: 20 };
    let error = TransportParameterError { id: taken[1], problem };
    assert_eq!(server(&[exponent, integer_parameter(taken[0], 1)].concat()), Err(error));
}

fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, 0..=varint::MAX]
}

fn any_cid() -> impl Strategy<Value = ConnectionId> {
    vec(any::<u8>(), 0..=20).prop_map(|bytes| ConnectionId::new(&bytes).unwrap())
}

fn preferred_address() -> impl Strategy<Value = PreferredAddress> {
    let v4 = (any::<[u8; 4]>(), 1_u16..).prop_map(|(ip, port)| SocketAddrV4::new(ip.into(), port));
    let v6 = (any::<[u8; 16]>(), 1_u16..).prop_map(|(ip, port)| SocketAddrV6::new(ip.into(), port, 0, 0));
    (option::of(v4), option::of(v6), vec(any::<u8>(), 1..=20), any::<[u8; 16]>()).prop_map(
        |(ipv4, ipv6, cid, token)| PreferredAddress {
            ipv4,
            ipv6,
            connection_id: ConnectionId::new(&cid).unwrap(),
            stateless_reset_token: StatelessResetToken(token),
        },
    )
}

/// Parameters of a server, which may send all of them.
fn any_parameters() -> impl Strategy<Value = TransportParameters> {
    let limits = (integer(), integer(), integer(), integer(), 0..=1_u64 << 60, 0..=1_u64 << 60);
    let sizes = (integer(), 1200..=varint::MAX, 2..=varint::MAX, integer());
    let acks = (0..=20_u8, 0..1_u16 << 14, option::of(0..=1_000_u64), option::of(integer()), 0..=20_u8);
    let ids =
        (option::of(any_cid()), option::of(any_cid()), option::of(any_cid()), option::of(any::<[u8; 16]>()));
    let modes = option::of(prop_oneof![
        Just(AddressDiscovery::Provide),
        Just(AddressDiscovery::Receive),
        Just(AddressDiscovery::ProvideAndReceive)
    ]);
    let features = option::of(vec(integer(), 0..MAX_FEATURES));
    let rest = (
        any::<[bool; 3]>(),
        option::of(any::<u32>()),
        option::of(preferred_address()),
        modes,
        features,
        option::of(version_information()),
    );
    (limits, sizes, acks, ids, rest).prop_map(|(limits, sizes, acks, ids, rest)| TransportParameters {
        initial_max_data: limits.0,
        initial_max_stream_data_bidi_local: limits.1,
        initial_max_stream_data_bidi_remote: limits.2,
        initial_max_stream_data_uni: limits.3,
        initial_max_streams_bidi: limits.4,
        initial_max_streams_uni: limits.5,
        max_idle_timeout: sizes.0,
        max_udp_payload_size: sizes.1,
        active_connection_id_limit: sizes.2,
        max_datagram_frame_size: sizes.3,
        ack_delay_exponent: acks.0,
        max_ack_delay: acks.1,
        min_ack_delay: acks.2.map(|fraction| u64::from(acks.1) * fraction),
        max_receive_timestamps_per_ack: acks.3,
        receive_timestamps_exponent: acks.3.map_or(0, |_| acks.4),
        original_destination_connection_id: ids.0,
        initial_source_connection_id: ids.1,
        retry_source_connection_id: ids.2,
        stateless_reset_token: ids.3.map(StatelessResetToken),
        disable_active_migration: rest.0[0],
        grease_quic_bit: rest.0[1],
        reset_stream_at: rest.0[2],
        initial_max_path_id: rest.1,
        preferred_address: rest.2,
        address_discovery: rest.3,
        features: rest.4.map(|features| features.into_iter().collect()),
        version_information: rest.5,
    })
}

fn version_information() -> impl Strategy<Value = VersionInformation> {
    let versions = vec(1..=u32::MAX, 1..=MAX_AVAILABLE_VERSIONS);
    // A client's choice is one of the list.
    versions.prop_map(|available| VersionInformation { chosen: available[available.len() / 2], available })
}

/// What was understood means the same when written again.
fn check(bytes: &[u8], sender: Role) -> Result<(), TestCaseError> {
    match TransportParameters::decode(bytes, sender) {
        Ok(parameters) => {
            prop_assert_eq!(TransportParameters::decode(&parameters.to_vec(None), sender), Ok(parameters))
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    //= rfc9000-7.4-2
    #[test]
    fn round_trip(parameters in any_parameters(), n: u64, value in vec(any::<u8>(), 0..20)) {
        let reserved = Some(ReservedParameter { n, value: &value });
        // An identifier that is reserved everywhere but means something here would be Hawser's mistake.
        let bytes = parameters.to_vec(reserved);
        prop_assert_eq!(bytes.len(), parameters.encoded_len(reserved));
        prop_assert_eq!(server(&bytes), Ok(parameters.clone()));
        let mut short = vec![0; bytes.len() - 1];
        let mut w = Writer::new(&mut short);
        prop_assert_eq!(parameters.encode(&mut w, reserved), Err(BufferTooShort));
        prop_assert_eq!(w.position(), 0);
    }

    #[test]
    fn arbitrary_bytes(bytes in vec(prop_oneof![2 => 0..0x40_u8, 1 => any::<u8>()], 0..100)) {
        check(&bytes, Role::Client)?;
        check(&bytes, Role::Server)?;
    }

    #[test]
    fn damaged_parameters(parameters in any_parameters(), at: prop::sample::Index, flip in 1_u8.., cut: prop::sample::Index) {
        let mut bytes = parameters.to_vec(None);
        prop_assume!(!bytes.is_empty());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        check(&bytes, Role::Server)?;
        bytes.truncate(cut.index(bytes.len()));
        check(&bytes, Role::Client)?;
    }
}
