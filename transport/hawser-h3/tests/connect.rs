//! CONNECT and HTTP Datagrams between two endpoints in one process.

#![allow(clippy::unwrap_used)]

use bytes::{Buf, Bytes};
use h3::ext::Protocol;
use hawser_h3::{DatagramError, tunnel_client_builder, tunnel_server_builder};
use hawser_net::{ClientConfig, Connection, Endpoint, Identity, Links, ServerConfig, Trust};
use http::{Method, Request, Response, Uri};

async fn connect() -> (Endpoint, Connection, Endpoint, Connection) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser_h3::ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let config = ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let address = server.listening()[0];
    let (ours, theirs) =
        tokio::join!(client.connect(address, "localhost"), async { server.accept().await.unwrap().await });
    (client, ours.unwrap(), server, theirs.unwrap())
}

/// Answers with what it understood of the request, and echoes datagrams.
async fn serve(connection: Connection) {
    let http = hawser_h3::Connection::new(connection);
    let datagrams = http.datagrams();
    let mut http: h3::server::Connection<_, Bytes> = tunnel_server_builder().build(http).await.unwrap();
    tokio::spawn(async move {
        while let Ok(received) = datagrams.receive().await {
            let stream = h3::quic::StreamId::try_from(received.stream).unwrap();
            datagrams.send(stream, &received.payload).unwrap();
        }
    });
    while let Ok(Some(resolver)) = http.accept().await {
        tokio::spawn(async move {
            let (request, mut stream) = resolver.resolve_request().await.unwrap();
            let protocol = request.extensions().get::<Protocol>().map(Protocol::as_str);
            let understood = format!("{} {} {protocol:?}", request.method(), request.uri());
            stream.send_response(Response::new(())).await.unwrap();
            stream.send_data(understood.into()).await.unwrap();
            let _ = stream.finish().await;
        });
    }
}

/// Settings have a stream of their own.
async fn known(peer: &hawser_h3::Peer) {
    while !peer.is_known() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn connect_has_an_authority_alone_and_extended_connect_has_all() {
    let (_client, ours, _server, theirs) = connect().await;
    tokio::spawn(serve(theirs));
    let (mut driver, mut requests) =
        tunnel_client_builder().build::<_, _, Bytes>(hawser_h3::Connection::new(ours)).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let authority = Uri::builder().authority("example.org:443").build().unwrap();
    let plain = Request::builder().method(Method::CONNECT).uri(authority).body(()).unwrap();
    let mut extended =
        Request::builder().method(Method::CONNECT).uri("https://proxy:1/a/b").body(()).unwrap();
    extended.extensions_mut().insert(Protocol::CONNECT_UDP);
    let other = Request::get("https://proxy:1/a").body(()).unwrap();
    for (request, understood) in [
        (plain, "CONNECT example.org:443 None"),
        (extended, "CONNECT https://proxy:1/a/b Some(\"connect-udp\")"),
        (other, "GET https://proxy:1/a None"),
    ] {
        let mut stream = requests.send_request(request).await.unwrap();
        assert!(stream.recv_response().await.unwrap().status().is_success());
        let mut data = stream.recv_data().await.unwrap().unwrap();
        assert_eq!(data.copy_to_bytes(data.remaining()), understood);
    }
}

#[tokio::test]
async fn datagrams_reach_the_request_that_they_belong_to() {
    let (_client, ours, _server, theirs) = connect().await;
    tokio::spawn(serve(theirs));
    let http = hawser_h3::Connection::new(ours);
    let (datagrams, peer) = (http.datagrams(), http.peer());
    let (mut driver, mut requests) = tunnel_client_builder().build::<_, _, Bytes>(http).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let mut stream = requests.send_request(Request::get("https://proxy/").body(()).unwrap()).await.unwrap();
    stream.recv_response().await.unwrap();
    known(&peer).await;
    assert!(peer.takes_datagrams() && peer.takes_extended_connect());
    datagrams.send(stream.id(), b"payload").unwrap();
    let (stream_number, payload) = (stream.id().into_inner(), Bytes::from_static(b"payload"));
    let received = datagrams.receive().await.unwrap();
    assert_eq!((received.stream, &received.payload, received.is_marked), (stream_number, &payload, false));
    assert_eq!(datagrams.send(stream.id(), &[0; 3_000]), Err(DatagramError::TooLarge));
}

/// Nothing is sent before the peer has said that it takes it (RFC 9297 section 2.1.1).
#[tokio::test]
async fn a_peer_without_datagrams_gets_none() {
    let (_client, ours, _server, theirs) = connect().await;
    tokio::spawn(async move {
        let http = hawser_h3::Connection::new(theirs);
        let mut http: h3::server::Connection<_, Bytes> =
            hawser_h3::server_builder().build(http).await.unwrap();
        while let Ok(Some(resolver)) = http.accept().await {
            let (_, mut stream) = resolver.resolve_request().await.unwrap();
            stream.send_response(Response::new(())).await.unwrap();
            stream.finish().await.unwrap();
        }
    });
    let http = hawser_h3::Connection::new(ours);
    let (datagrams, peer) = (http.datagrams(), http.peer());
    let (mut driver, mut requests) = tunnel_client_builder().build::<_, _, Bytes>(http).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let mut stream = requests.send_request(Request::get("https://proxy/").body(()).unwrap()).await.unwrap();
    stream.recv_response().await.unwrap();
    known(&peer).await;
    assert!(!peer.takes_datagrams() && !peer.takes_extended_connect());
    assert_eq!(datagrams.send(stream.id(), b"payload"), Err(DatagramError::Unsupported));
}
