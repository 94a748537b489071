use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{ControllerInit, SchedulerInit, Side};
use hawser_sched::MinRtt;
use hawser_wire::transport_parameters::PreferredAddress;
use hawser_wire::{ConnectionId, StatelessResetToken, TransportParameters};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    ExpectedCids, OurHandshakeCids, encode, idle_timeout, local_parameters, preferred_remote, validate,
};
use crate::{Code, EndpointConfig, TransportConfig};

fn cid(byte: u8) -> ConnectionId {
    ConnectionId::new(&[byte; 8]).unwrap()
}

fn transport() -> TransportConfig {
    TransportConfig::new(
        Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    )
}

fn server_cids() -> OurHandshakeCids {
    OurHandshakeCids::Server {
        preferred: None,
        is_routable: true,
        initial_source: cid(3),
        reset_token: StatelessResetToken([9; 16]),
        original_destination: cid(1),
        retry_source: Some(cid(2)),
    }
}

const OF_SERVER: fn() -> ExpectedCids = || ExpectedCids {
    side: Side::Client,
    source: Some(cid(3)),
    original_destination: cid(1),
    retry_source: Some(cid(2)),
};

fn code_of(parameters: &TransportParameters, expected: &ExpectedCids) -> Option<Code> {
    validate(&parameters.to_vec(None), expected).err().map(|error| error.code)
}

//= rfc9000-7.3-1, rfc9000-18.2-1, rfc9000-18.2-7, rfc9000-18.2-9
#[test]
fn what_one_end_sends_the_other_accepts() {
    let mut random = ChaCha8Rng::from_seed([5; 32]);
    let (transport, endpoint) = (transport(), EndpointConfig::new([0; 32]));
    let of_server = local_parameters(&transport, &endpoint, &server_cids());
    let of_client =
        local_parameters(&transport, &endpoint, &OurHandshakeCids::Client { initial_source: cid(4) });
    for _ in 0..50 {
        let seen = validate(&encode(&of_server, true, &mut random), &OF_SERVER()).unwrap();
        assert_eq!(seen, of_server);
        let expected = ExpectedCids { side: Side::Server, source: Some(cid(4)), ..OF_SERVER() };
        assert_eq!(validate(&encode(&of_client, true, &mut random), &expected).unwrap(), of_client);
    }
    assert_eq!(of_server.initial_max_path_id, Some(7));
    assert_eq!(of_server.max_idle_timeout, 30_000);
    assert_eq!(of_server.max_ack_delay, 25);
    assert_eq!(of_client.stateless_reset_token, None, "a client's would travel in the clear");
}

#[test]
fn absurd_configurations_stay_encodable() {
    let mut transport = transport();
    transport.max_idle_timeout = Some(Duration::from_micros(1));
    transport.max_bidirectional_streams = u64::MAX;
    transport.initial_connection_window = u64::MAX;
    transport.max_ack_delay = Duration::from_secs(1_000);
    transport.max_path_id = None;
    transport.datagram_receive_buffer = None;
    let endpoint = EndpointConfig { max_udp_payload_size: 5, ..EndpointConfig::new([0; 32]) };
    let parameters = local_parameters(&transport, &endpoint, &server_cids());
    assert_eq!(validate(&parameters.to_vec(None), &OF_SERVER()).unwrap(), parameters);
    assert_eq!((parameters.max_idle_timeout, parameters.max_udp_payload_size), (1, 1200));
    assert_eq!((parameters.initial_max_path_id, parameters.max_datagram_frame_size), (None, 0));
}

/// RFC 9000 section 7.3, each clause.
//= rfc9000-7.3-2, rfc9000-7.3-3, rfc9000-7.3-4
#[test]
fn connection_ids_that_do_not_agree_are_refused() {
    let good = local_parameters(&transport(), &EndpointConfig::new([0; 32]), &server_cids());
    assert_eq!(code_of(&good, &OF_SERVER()), None);
    let error = Some(Code::TRANSPORT_PARAMETER_ERROR);
    for parameters in [
        TransportParameters { initial_source_connection_id: None, ..good.clone() },
        TransportParameters { initial_source_connection_id: Some(cid(9)), ..good.clone() },
        TransportParameters { original_destination_connection_id: None, ..good.clone() },
        TransportParameters { original_destination_connection_id: Some(cid(9)), ..good.clone() },
        TransportParameters { retry_source_connection_id: None, ..good.clone() },
        TransportParameters { retry_source_connection_id: Some(cid(9)), ..good.clone() },
    ] {
        assert_eq!(code_of(&parameters, &OF_SERVER()), error, "{parameters:?}");
    }
    let no_retry = ExpectedCids { retry_source: None, ..OF_SERVER() };
    assert_eq!(code_of(&good, &no_retry), error, "a Retry that never was");
    let no_packet = ExpectedCids { source: None, ..OF_SERVER() };
    assert_eq!(code_of(&good, &no_packet), error);
    let from_client = ExpectedCids { side: Side::Server, ..OF_SERVER() };
    assert_eq!(code_of(&good, &from_client), error, "server parameters from a client");
    assert_eq!(validate(&[0xff], &OF_SERVER()).err().map(|e| e.code), error, "cut short");
}

/// draft-ietf-quic-multipath-21 section 2.1.
//= multipath-2.1-4
#[test]
fn multipath_needs_connection_ids() {
    let client = |initial_max_path_id| TransportParameters {
        initial_source_connection_id: Some(ConnectionId::EMPTY),
        initial_max_path_id,
        ..Default::default()
    };
    let expected = ExpectedCids { side: Side::Server, source: Some(ConnectionId::EMPTY), ..OF_SERVER() };
    assert_eq!(code_of(&client(None), &expected), None);
    assert_eq!(code_of(&client(Some(0)), &expected), Some(Code::PROTOCOL_VIOLATION));
}

#[test]
fn the_lesser_idle_timeout_counts() {
    let seconds = |s| Some(Duration::from_secs(s));
    assert_eq!(idle_timeout(seconds(30), 10_000), seconds(10));
    assert_eq!(idle_timeout(seconds(5), 10_000), seconds(5));
    assert_eq!(idle_timeout(None, 10_000), seconds(10));
    assert_eq!(idle_timeout(seconds(5), 0), seconds(5));
    assert_eq!(idle_timeout(None, 0), None);
}

/// RFC 9000 section 9.6: of the family by which the client came, and nowhere that only harms.
//= rfc9000-9.6.3-5, rfc9000-21.5.6-1
#[test]
fn only_a_fitting_preferred_address_is_followed() {
    let address = |ipv4: &str, ipv6: &str| PreferredAddress {
        ipv4: ipv4.parse().ok(),
        ipv6: ipv6.parse().ok(),
        connection_id: cid(1),
        stateless_reset_token: StatelessResetToken([0; 16]),
    };
    let (v4, v6): (SocketAddr, SocketAddr) =
        ("192.0.2.1:443".parse().unwrap(), "[2001:db8::1]:443".parse().unwrap());
    let both = address("192.0.2.7:5", "[2001:db8::7]:6");
    assert_eq!(preferred_remote(&both, v4), Some("192.0.2.7:5".parse().unwrap()));
    assert_eq!(preferred_remote(&both, v6), Some("[2001:db8::7]:6".parse().unwrap()));
    assert_eq!(preferred_remote(&address("", "[2001:db8::7]:6"), v4), None, "of the other family only");
    for unusable in
        ["0.0.0.0:5", "192.0.2.7:0", "224.0.0.1:5", "255.255.255.255:5", "127.0.0.1:5", "192.0.2.1:443"]
    {
        assert_eq!(preferred_remote(&address(unusable, ""), v4), None, "{unusable}");
    }
    let local = "127.0.0.1:443".parse().unwrap();
    assert_eq!(preferred_remote(&address("127.0.0.1:5", ""), local), Some("127.0.0.1:5".parse().unwrap()));
}
