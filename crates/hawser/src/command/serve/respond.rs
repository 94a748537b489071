//! One request.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};

use super::Server;
use crate::command::digest::REPR_DIGEST;
use crate::command::http_client::describe_stream;
use crate::command::site::{Body, Refusal, Reply, Upload};
use crate::command::units;

type Stream = RequestStream<crate::h3::BidiStream<Bytes>, Bytes>;

/// Bytes read from a file at a time.
const BLOCK: u64 = 1 << 18;
/// How long a client that has everything is kept waiting for the digest.
const DIGEST_PATIENCE: Duration = Duration::from_secs(60);

/// Answers a request and notes it.
pub(super) async fn respond(
    server: &Arc<Server>,
    remote: SocketAddr,
    resolver: RequestResolver<crate::h3::Connection, Bytes>,
) {
    let started = Instant::now();
    let (request, mut stream) = match resolver.resolve_request().await {
        Ok(resolved) => resolved,
        Err(error) => return tracing::debug!(%remote, %error, "bad request"),
    };
    let mut stored = 0;
    let reply = if request.method() == Method::PUT {
        store(server, &request, &mut stream, &mut stored).await
    } else {
        let server = server.clone();
        let (method, uri, headers) =
            (request.method().clone(), request.uri().clone(), request.headers().clone());
        let answer = move || server.site.reply(&method, &uri, &headers);
        tokio::task::spawn_blocking(answer).await.unwrap_or_else(|error| internal(&error))
    };
    let status = reply.status;
    let result = send(&mut stream, reply).await;
    // All was said: what the request may still bring is not wanted, and that is no error (RFC 9114 section 4.1).
    stream.stop_sending(Code::H3_NO_ERROR);
    let (sent, end) = match result {
        Ok(sent) => (sent, String::new()),
        Err(Broken { sent, reason }) => (sent, format!(" broken off: {reason}")),
    };
    server.output.remark(format_args!(
        "{remote} {} {} {} {} {:.3} s{end}",
        request.method(),
        request.uri().path(),
        status.as_u16(),
        units::bytes(if request.method() == Method::PUT { stored } else { sent }),
        started.elapsed().as_secs_f64()
    ));
}

fn internal(error: &impl std::fmt::Display) -> Reply {
    Reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

/// A response that did not reach its end.
struct Broken {
    sent: u64,
    reason: String,
}

async fn send(stream: &mut Stream, reply: Reply) -> Result<u64, Broken> {
    let mut sent = 0;
    send_parts(stream, reply, &mut sent).await.map_err(|reason| Broken { sent, reason })?;
    Ok(sent)
}

async fn send_parts(stream: &mut Stream, reply: Reply, sent: &mut u64) -> Result<(), String> {
    let words = |error: StreamError| describe_stream("client", &error);
    let mut response = Response::new(());
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    stream.send_response(response).await.map_err(words)?;
    match reply.body {
        Body::Empty => {}
        Body::Bytes(bytes) => {
            *sent += bytes.len() as u64;
            stream.send_data(bytes).await.map_err(words)?;
        }
        Body::File(file, range) => send_file(stream, file, range, sent).await?,
    }
    if let Some(pending) = reply.digest {
        let waited = tokio::task::spawn_blocking(move || pending.wait(DIGEST_PATIENCE)).await;
        if let Ok(Some(digest)) = waited
            && let Ok(value) = HeaderValue::from_str(&digest.to_field())
        {
            let trailers = HeaderMap::from_iter([(HeaderName::from_static(REPR_DIGEST), value)]);
            stream.send_trailers(trailers).await.map_err(words)?;
        }
    }
    stream.finish().await.map_err(words)
}

/// Reads one block ahead of the network.
async fn send_file(
    stream: &mut Stream,
    file: Arc<File>,
    range: Range<u64>,
    sent: &mut u64,
) -> Result<(), String> {
    let mut next = read_block(&file, range.start, range.end);
    let mut position = range.start;
    while position < range.end {
        let block = match next.await.map_err(io::Error::other).and_then(|result| result) {
            Ok(block) => block,
            Err(error) => {
                // The header has promised more: only a reset tells the client that the rest will not come.
                stream.stop_stream(Code::H3_INTERNAL_ERROR);
                return Err(error.to_string());
            }
        };
        let count = block.len() as u64;
        position += count;
        next = read_block(&file, position, range.end);
        stream.send_data(block).await.map_err(|error| describe_stream("client", &error))?;
        *sent += count;
    }
    Ok(())
}

fn read_block(file: &Arc<File>, start: u64, end: u64) -> tokio::task::JoinHandle<io::Result<Bytes>> {
    let file = file.clone();
    let length = usize::try_from(end.saturating_sub(start).min(BLOCK)).unwrap_or(0);
    tokio::task::spawn_blocking(move || {
        let mut block = vec![0; length];
        file.read_exact_at(&mut block, start)?;
        Ok(block.into())
    })
}

/// Stores the body of a PUT, and counts its bytes.
async fn store(server: &Arc<Server>, request: &Request<()>, stream: &mut Stream, stored: &mut u64) -> Reply {
    let begin = {
        let (server, uri, headers) = (server.clone(), request.uri().clone(), request.headers().clone());
        tokio::task::spawn_blocking(move || server.site.begin_upload(&uri, &headers)).await
    };
    let mut upload = match begin {
        Ok(Ok(upload)) => upload,
        Ok(Err(refusal)) => return refuse(stream, *refusal),
        Err(error) => return internal(&error),
    };
    let mut gathered = Vec::new();
    loop {
        let data = match stream.recv_data().await {
            Ok(Some(mut data)) => data.copy_to_bytes(data.remaining()),
            Ok(None) => break,
            Err(error) => return internal(&error),
        };
        *stored += data.len() as u64;
        gathered.extend_from_slice(&data);
        if gathered.len() as u64 >= BLOCK {
            upload = match write(upload, std::mem::take(&mut gathered)).await {
                Ok(upload) => upload,
                Err(refusal) => return refuse(stream, *refusal),
            };
        }
    }
    match write(upload, gathered).await {
        Ok(upload) => tokio::task::spawn_blocking(move || upload.finish())
            .await
            .unwrap_or_else(|error| internal(&error)),
        Err(refusal) => *refusal,
    }
}

async fn write(mut upload: Upload, bytes: Vec<u8>) -> Result<Upload, Refusal> {
    let written = tokio::task::spawn_blocking(move || upload.write(&bytes).map(|()| upload)).await;
    written.unwrap_or_else(|error| Err(internal(&error).into()))
}

/// The rest of the body is not wanted, and that is no error (RFC 9114 section 4.1).
fn refuse(stream: &mut Stream, reply: Reply) -> Reply {
    stream.stop_sending(Code::H3_NO_ERROR);
    reply
}
