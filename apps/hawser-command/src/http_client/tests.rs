//! A server in this process that does as the test says.

use std::sync::Arc;

use bytes::Bytes;
use h3::error::Code;
use http::{HeaderMap, Request, Response, StatusCode};

use super::{BadLength, await_response, content_length, fits_early, next_piece};
use hawser::{
    ClientConfig, EarlyData, Endpoint, Identity, Links, MemorySessions, ServerConfig, SessionStore, Trust,
};

/// Answers one request before its end, and refuses the rest of it.
async fn answer_early(server: Endpoint) {
    let connection = server.accept().await.unwrap().await.unwrap();
    let mut http = h3::server::builder().build(hawser::h3::Connection::new(connection)).await.unwrap();
    let (_, mut stream) = http.accept().await.unwrap().unwrap().resolve_request().await.unwrap();
    stream.stop_sending(Code::H3_NO_ERROR);
    stream.send_response(Response::new(())).await.unwrap();
    stream.send_data(Bytes::from_static(b"early")).await.unwrap();
    stream.finish().await.unwrap();
    let _ = http.accept().await;
}

#[test]
fn a_content_length_is_one_number_of_bytes() {
    let read = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(http::header::CONTENT_LENGTH, http::HeaderValue::from_static(value));
        }
        content_length(&headers)
    };
    assert_eq!(read(&[]), Ok(None));
    assert_eq!(read(&["18446744073709551615"]), Ok(Some(u64::MAX)));
    for good in [&["10"][..], &["10", "10"], &["10, 10"], &["010"]] {
        assert_eq!(read(good), Ok(Some(10)), "{good:?}");
    }
    for bad in [
        &["18446744073709551616"][..],
        &["10", "11"],
        &["10, 11"],
        &["-1"],
        &["+10"],
        &["0x10"],
        &[""],
        &["10,"],
    ] {
        assert_eq!(read(bad), Err(BadLength), "{bad:?}");
    }
}

#[tokio::test]
async fn an_answer_counts_though_the_end_of_the_request_was_refused() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.listening()[0];
    tokio::spawn(answer_early(server));

    let config = ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let connection = client.connect(address, "localhost").await.unwrap();
    let http = h3::client::new(hawser::h3::Connection::new(connection)).await;
    let (mut driver, mut requests) = http.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let request = Request::get("https://localhost/").body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    // Until the refusal is here.
    while stream.send_data(Bytes::from_static(b"more")).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let response = await_response(&mut stream).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(next_piece(&mut stream).await.unwrap().unwrap(), "early");
}

/// RFC 9114 section 7.2.4.2: what the server said in the connection that the ticket is from holds for 0-RTT.
//= rfc9114-7.2.4.2-6
#[tokio::test]
async fn a_request_with_0_rtt_keeps_to_the_size_that_is_remembered() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).early_data(true).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.listening()[0];
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            let connection = hawser::h3::Connection::new(incoming.accept().unwrap().into_early());
            let http = hawser::h3::server_builder().build(connection).await;
            let mut http: h3::server::Connection<_, Bytes> = http.unwrap();
            tokio::spawn(async move { while let Ok(Some(_)) = http.accept().await {} });
        }
    });
    let store = Arc::new(MemorySessions::new());
    let config = ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).early_data(true);
    let config = config.sessions(store.clone()).build().unwrap();
    let endpoint = Endpoint::client(config.clone(), Links::All).unwrap();

    let small = Request::get("https://localhost/").body(()).unwrap();
    let mut large = small.clone();
    for name in ["one", "two", "three"] {
        large.headers_mut().insert(name, "x".repeat(30_000).parse().unwrap());
    }
    let first = endpoint.connect_early(&config, &[address], "localhost").await.unwrap();
    assert!(fits_early(&large, &first), "nothing is known of the server");
    let http =
        hawser::h3::client_builder().build::<_, _, Bytes>(hawser::h3::Connection::new(first.clone())).await;
    let (mut driver, _requests) = http.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    first.confirmed().await.unwrap();
    let key = format!("localhost:{} v1 h3", address.port());
    while store.application_state(&key).is_none() {
        tokio::task::yield_now().await;
    }
    let second = endpoint.connect_early(&config, &[address], "localhost").await.unwrap();
    assert_eq!(second.early_data(), EarlyData::Offered);
    assert!(fits_early(&small, &second) && !fits_early(&large, &second));
}
