//! Requests and responses between two endpoints in one process.

#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::error::StreamError;
use h3::server::RequestStream;
use hawser_net::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};
use http::{HeaderMap, Request, Response, StatusCode};

type Requests = SendRequest<hawser_h3::OpenStreams, Bytes>;
type ServerStream = RequestStream<hawser_h3::BidiStream<Bytes>, Bytes>;

/// A client of a server that answers by [`answer`].
async fn connect() -> (Endpoint, hawser_net::Connection, Requests) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser_h3::ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address: SocketAddr = server.listening()[0];
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            tokio::spawn(serve(incoming.await.unwrap()));
        }
    });
    let config = ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let connection = client.connect(address, "localhost").await.unwrap();
    let (mut driver, requests) =
        h3::client::new(hawser_h3::Connection::new(connection.clone())).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    (client, connection, requests)
}

async fn serve(connection: hawser_net::Connection) {
    let mut http = h3::server::builder().build(hawser_h3::Connection::new(connection)).await.unwrap();
    while let Ok(Some(resolver)) = http.accept().await {
        tokio::spawn(async move {
            let (request, stream) = resolver.resolve_request().await.unwrap();
            let _ = answer(request, stream).await;
        });
    }
}

/// `/echo` returns the body and trailers, `/half` breaks off, everything else is its own path.
async fn answer(request: Request<()>, mut stream: ServerStream) -> Result<(), StreamError> {
    stream.send_response(Response::new(())).await?;
    match request.uri().path() {
        "/echo" => {
            while let Some(mut data) = stream.recv_data().await? {
                stream.send_data(data.copy_to_bytes(data.remaining())).await?;
            }
            let trailers = stream.recv_trailers().await?.unwrap_or_default();
            stream.send_trailers(trailers).await?;
        }
        "/half" => {
            stream.send_data(Bytes::from(vec![0; 100_000])).await?;
            // Dropped without an end.
            return Ok(());
        }
        path => stream.send_data(Bytes::copy_from_slice(path.as_bytes())).await?,
    }
    stream.finish().await
}

async fn get(requests: &mut Requests, path: &str) -> Result<Vec<u8>, StreamError> {
    let request = Request::get(format!("https://localhost{path}")).body(()).unwrap();
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    assert_eq!(stream.recv_response().await?.status(), StatusCode::OK);
    let mut body = Vec::new();
    while let Some(mut data) = stream.recv_data().await? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    Ok(body)
}

//= rfc9114-4.1-6, rfc9114-4.1-8, rfc9114-6.2.1-1
#[tokio::test]
async fn bodies_and_trailers_travel_both_ways() {
    let (_endpoint, _connection, mut requests) = connect().await;
    let body: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let request = Request::post("https://localhost/echo").body(()).unwrap();
    let stream = requests.send_request(request).await.unwrap();
    let (mut send, mut receive) = stream.split();
    let sent = body.clone();
    tokio::spawn(async move {
        for chunk in sent.chunks(70_000) {
            send.send_data(Bytes::copy_from_slice(chunk)).await.unwrap();
        }
        let trailers = HeaderMap::from_iter([("x-end".parse().unwrap(), "yes".parse().unwrap())]);
        send.send_trailers(trailers).await.unwrap();
        send.finish().await.unwrap();
    });
    assert_eq!(receive.recv_response().await.unwrap().status(), StatusCode::OK);
    let mut echoed = Vec::new();
    while let Some(mut data) = receive.recv_data().await.unwrap() {
        echoed.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    assert!(echoed == body);
    assert_eq!(receive.recv_trailers().await.unwrap().unwrap()["x-end"], "yes");
}

//= rfc9114-6.1-1
#[tokio::test]
async fn many_requests_at_a_time() {
    let (_endpoint, _connection, requests) = connect().await;
    let mut tasks = tokio::task::JoinSet::new();
    // More than the streams that may be open at a time.
    for number in 0..300 {
        let mut requests = requests.clone();
        tasks.spawn(async move {
            let path = format!("/{number}");
            assert_eq!(get(&mut requests, &path).await.unwrap(), path.as_bytes());
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

//= rfc9114-4.1.1-8
#[tokio::test]
async fn a_response_without_an_end_is_an_error_of_that_request_alone() {
    let (_endpoint, _connection, mut requests) = connect().await;
    let error = get(&mut requests, "/half").await.unwrap_err();
    assert!(
        matches!(error, StreamError::RemoteTerminate { code, .. } if code == h3::error::Code::H3_REQUEST_CANCELLED),
        "{error:?}"
    );
    assert_eq!(get(&mut requests, "/next").await.unwrap(), b"/next");
}

#[tokio::test]
async fn closing_ends_requests() {
    let (_endpoint, connection, mut requests) = connect().await;
    assert_eq!(get(&mut requests, "/x").await.unwrap(), b"/x");
    connection.close(0x100, b"");
    assert!(matches!(get(&mut requests, "/x").await, Err(StreamError::ConnectionError { .. })));
}
