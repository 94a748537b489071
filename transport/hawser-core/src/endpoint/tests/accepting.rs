use std::sync::Arc;

use super::super::{AcceptErrorReason, ConnectError, EndpointEvent};
use super::*;
use crate::ClientConfig;

//= rfc9000-5.1.1-2
#[test]
fn an_accepted_connection_is_found_by_its_ids_until_it_is_drained() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    assert_eq!(incoming.remote_address(), client().remote);
    assert!(!incoming.is_address_validated() && incoming.may_retry());
    assert_eq!((endpoint.connections(), endpoint.handshakes()), (0, 1));
    let (handle, _connection) = endpoint.accept(NOW, incoming, None).unwrap();
    assert_eq!((endpoint.connections(), endpoint.handshakes()), (1, 1));

    // The client's choice of id still leads there, for an Initial that was sent twice.
    let routed = feed(&mut endpoint, client(), &first_initial());
    assert!(matches!(routed, Outcome::Routed(Routed::Connection(found, _)) if found == handle));

    endpoint.handle_event(handle, EndpointEvent::CidAdded(cid(7)));
    endpoint.handle_event(handle, EndpointEvent::HandshakeDone);
    endpoint.handle_event(handle, EndpointEvent::HandshakeDone);
    assert_eq!(endpoint.handshakes(), 0);
    let short = [&[0x40][..], &[7; 8], &[0; 30]].concat();
    let routed = feed(&mut endpoint, tuple("192.0.2.99:1"), &short);
    assert!(
        matches!(routed, Outcome::Routed(Routed::Connection(found, _)) if found == handle),
        "from any address"
    );

    endpoint.handle_event(handle, EndpointEvent::CidRemoved(cid(7)));
    assert!(matches!(feed(&mut endpoint, client(), &short), Outcome::Answer(_)), "a stateless reset");
    endpoint.handle_event(handle, EndpointEvent::Drained);
    assert!(endpoint.routes.is_empty());
    endpoint.handle_event(handle, EndpointEvent::CidAdded(cid(7)));
    assert!(endpoint.routes.is_empty(), "events of a connection that is gone do nothing");
}

#[test]
fn connections_of_a_client_are_found_and_their_addresses_checked() {
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new([4; 32])), None, [5; 32]);
    let config = ClientConfig::new(Arc::new(NullClient::default()), Arc::new(transport()));
    let connect =
        |endpoint: &mut Endpoint, to| endpoint.connect(NOW, config.clone(), tuple(to), "server.test");
    assert!(matches!(connect(&mut endpoint, "192.0.2.1:0").err(), Some(ConnectError::InvalidRemote(_))));
    assert!(matches!(connect(&mut endpoint, "[::]:5").err(), Some(ConnectError::InvalidRemote(_))));
    let (handle, _connection) = connect(&mut endpoint, "192.0.2.1:5").unwrap();
    assert_eq!((endpoint.connections(), endpoint.handshakes()), (1, 1));
    assert!(feed(&mut endpoint, client(), &first_initial()).is_nothing(), "a client accepts nothing");
    endpoint.handle_event(handle, EndpointEvent::Drained);
    assert!(endpoint.routes.is_empty());
}

//= rfc9000-5.2.2-4
#[test]
fn a_full_or_closing_server_refuses() {
    let mut endpoint = server_with(|config| config.max_connections = 1);
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    let other = initial(cid(8), cid(9), &[], 1200);
    let answer = feed(&mut endpoint, client(), &other).answer();
    assert_eq!(close_code(&answer, cid(8), cid(9)), Code::CONNECTION_REFUSED);
    assert!(answer.len() < 200);
    endpoint.ignore(incoming);

    endpoint.reject_new(true);
    let answer = feed(&mut endpoint, client(), &other).answer();
    assert_eq!(close_code(&answer, cid(8), cid(9)), Code::CONNECTION_REFUSED);
    endpoint.reject_new(false);
    let _ = feed(&mut endpoint, client(), &other).incoming();
}

#[test]
fn refused_and_ignored_connections_leave_nothing() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    let answer = endpoint.refuse(incoming).unwrap();
    assert_eq!(close_code(&answer.bytes, cid(1), cid(2)), Code::CONNECTION_REFUSED);
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    endpoint.ignore(incoming);
    assert!(endpoint.routes.is_empty());
    assert_eq!(endpoint.handshakes(), 0);
}

#[test]
fn who_decides_too_late_accepts_nothing() {
    let mut endpoint = server();
    let late = feed(&mut endpoint, client(), &first_initial()).incoming();
    let after = NOW + Incoming::LIFETIME;
    assert!(endpoint.is_pending(&late));
    let again = feed_at(&mut endpoint, after, client(), &initial(cid(8), cid(9), &[], 1200)).incoming();
    assert_eq!(endpoint.handshakes(), 1, "the first has expired");
    assert!(endpoint.is_pending(&again) && !endpoint.is_pending(&late));
    let second = feed_at(&mut endpoint, after, client(), &first_initial()).incoming();
    let error = endpoint.accept(after, late, None).err().unwrap();
    assert_eq!(error.reason, AcceptErrorReason::Expired);
    assert!(error.response.is_none());
    endpoint.accept(after, second, None).unwrap();
    endpoint.accept(after, again, None).unwrap();
    assert_eq!(endpoint.connections(), 2);
}

#[test]
fn a_server_can_stop_and_start_to_accept() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    endpoint.set_server_config(None);
    let late = feed(&mut endpoint, client(), &initial(cid(8), cid(9), &[], 1200)).answer();
    assert_eq!(close_code(&late, cid(8), cid(9)), Code::CONNECTION_REFUSED, "refused at once");
    let error = endpoint.accept(NOW, incoming, None).err().unwrap();
    assert_eq!(error.reason, AcceptErrorReason::NoServerConfig);
    assert_eq!(close_code(&error.response.unwrap().bytes, cid(1), cid(2)), Code::CONNECTION_REFUSED);
    assert!(endpoint.routes.is_empty());
    let config = ServerConfig::new(Arc::new(NullServer::default()), Arc::new(transport()), [3; 32]);
    endpoint.set_server_config(Some(Arc::new(config)));
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    assert!(endpoint.accept(NOW, incoming, None).is_ok());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = || {
        let mut endpoint = server_with(|config| config.retry_above_handshakes = 0);
        let retry = feed(&mut endpoint, client(), &first_initial()).answer();
        (retry, feed(&mut endpoint, client(), &[0x41; 300]).answer())
    };
    assert_eq!(run(), run());
}
