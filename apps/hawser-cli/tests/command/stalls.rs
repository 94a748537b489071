//! Servers that answer and do not go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use hawser::{Endpoint, Identity, Incoming, ServerConfig};
use http::{Response, StatusCode};

use crate::support::*;

const LENGTH: usize = 3_000;

/// Binds a server on loopback. Returns it with its pin and port.
fn server() -> (Endpoint, String, u16) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap().to_string();
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let port = server.listening()[0].port();
    (server, pin, port)
}

/// Accepts a connection and begins HTTP/3 on it.
async fn http(incoming: Incoming) -> h3::server::Connection<hawser::h3::Connection, Bytes> {
    let connection = hawser::h3::Connection::new(incoming.await.unwrap());
    hawser::h3::server_builder().build(connection).await.unwrap()
}

/// Sends a thousand bytes of the rest that each request asks for, and nothing more, the first `generous` times; PINGs are
/// answered all the time. Returns the pin, the port, and how many requests came.
async fn serve_in_pieces(generous: usize) -> (String, u16, Arc<AtomicUsize>) {
    let (server, pin, port) = server();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            let count = count.clone();
            tokio::spawn(async move {
                let mut http = http(incoming).await;
                let mut kept = Vec::new();
                while let Ok(Some(resolver)) = http.accept().await {
                    let (request, mut stream) = resolver.resolve_request().await.unwrap();
                    let range =
                        request.headers().get("range").map(|range| range.to_str().unwrap().to_owned());
                    let from: usize = range
                        .map_or(0, |range| range["bytes=".len()..].trim_end_matches('-').parse().unwrap());
                    let status = if from > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
                    let response = Response::builder()
                        .status(status)
                        .header("etag", "\"1\"")
                        .header("content-length", LENGTH - from)
                        .header("content-range", format!("bytes {from}-{}/{LENGTH}", LENGTH - 1));
                    stream.send_response(response.body(()).unwrap()).await.unwrap();
                    if count.fetch_add(1, Ordering::Relaxed) < generous {
                        stream.send_data(vec![b'x'; 1_000].into()).await.unwrap();
                    }
                    if from + 1_000 == LENGTH {
                        stream.finish().await.unwrap();
                    }
                    kept.push(stream);
                }
            });
        }
    });
    (pin, port, asked)
}

async fn get(pin: &str, port: u16, target: &std::path::Path) -> std::process::Output {
    let mut command = hawser(["get", "--pin", pin, "--stall-timeout", "1", "--path", "127.0.0.1", "-o"]);
    command.arg(target).arg(format!("https://127.0.0.1:{port}/x"));
    tokio::task::spawn_blocking(move || run(command)).await.unwrap()
}

/// Three pieces on three connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_that_stands_still_goes_on_over_a_new_connection() {
    let (pin, port, asked) = serve_in_pieces(usize::MAX).await;
    let here = tempfile::tempdir().unwrap();
    let output = get(&pin, port, &here.path().join("x")).await;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("no byte of the file came for 1 s (--stall-timeout); connecting again"),
        "{words}"
    );
    assert!(output.status.success(), "{words}");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!(std::fs::read(here.path().join("x")).unwrap(), [b'x'; LENGTH]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_sends_is_given_up() {
    let (pin, port, asked) = serve_in_pieces(1).await;
    let here = tempfile::tempdir().unwrap();
    let output = get(&pin, port, &here.path().join("x")).await;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(28), "{words}");
    assert!(words.contains("are kept in") && words.contains("-C -"), "{words}");
    assert_eq!(asked.load(Ordering::Relaxed), 2, "once more, and no more than that");
}

/// Takes the head of each upload, and nothing of its file the first `deaf` times. Returns the pin, the port, and the bytes of the uploads
/// that it read.
async fn take_late(deaf: usize) -> (String, u16, Arc<AtomicUsize>) {
    let (server, pin, port) = server();
    let (uploads, read) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = read.clone();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            let (uploads, count) = (uploads.clone(), count.clone());
            tokio::spawn(async move {
                let mut http = http(incoming).await;
                let mut kept = Vec::new();
                while let Ok(Some(resolver)) = http.accept().await {
                    let (request, mut stream) = resolver.resolve_request().await.unwrap();
                    let is_upload = request.method() == http::Method::PUT;
                    if is_upload && uploads.fetch_add(1, Ordering::Relaxed) < deaf {
                        kept.push(stream);
                        continue;
                    }
                    while let Ok(Some(piece)) = stream.recv_data().await {
                        count.fetch_add(bytes::Buf::remaining(&piece), Ordering::Relaxed);
                    }
                    let status = if is_upload { StatusCode::CREATED } else { StatusCode::NOT_FOUND };
                    stream.send_response(Response::builder().status(status).body(()).unwrap()).await.unwrap();
                    stream.finish().await.unwrap();
                    kept.push(stream);
                }
            });
        }
    });
    (pin, port, read)
}

/// More than a stream may carry before its reader reads.
const LONG: usize = 8 << 20;

async fn put(pin: &str, port: u16, file: &std::path::Path) -> std::process::Output {
    std::fs::write(file, vec![b'x'; LONG]).unwrap();
    let mut command = hawser(["put", "--pin", pin, "--stall-timeout", "1", "--path", "127.0.0.1"]);
    command.arg(file).arg(format!("https://127.0.0.1:{port}/x"));
    tokio::task::spawn_blocking(move || run(command)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_stands_still_goes_on_over_a_new_connection() {
    let (pin, port, read) = take_late(1).await;
    let here = tempfile::tempdir().unwrap();
    let output = put(&pin, port, &here.path().join("x")).await;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("took no byte of the file for 1 s (--stall-timeout); connecting again"),
        "{words}"
    );
    assert!(output.status.success(), "{words}");
    assert_eq!(read.load(Ordering::Relaxed), LONG);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_takes_a_file_is_given_up() {
    let (pin, port, read) = take_late(usize::MAX).await;
    let here = tempfile::tempdir().unwrap();
    let output = put(&pin, port, &here.path().join("x")).await;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(28), "{words}");
    assert_eq!(words.matches("connecting again").count(), 3, "{words}");
    assert_eq!(read.load(Ordering::Relaxed), 0);
}
