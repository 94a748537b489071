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
use hawser::{Connection, LoggedAddress};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::Server;
use super::access_log::Entry;
use super::limits::{BLOCK, BlockPermit, PIECE, ReplyPermit, SMALL, Share, header_in_time};
use crate::site::{Body, PendingDigest, Refusal, Reply, Sender, Upload};
use hawser_command::digest::REPR_DIGEST;
use hawser_command::http_client::describe_stream;
use hawser_command::sources::{Pace, Taken};

type Stream = RequestStream<hawser::h3::BidiStream<Bytes>, Bytes>;

/// How long a client that has everything is kept waiting for the digest.
const DIGEST_PATIENCE: Duration = Duration::from_secs(60);

/// Fields of a request: a byte of one that is in a table is a hundred in memory, as long as the request waits.
const MAX_FIELDS: usize = 100;

/// Answers a request and notes it.
//= rfc9114-4.1.1-4: H3_REQUEST_REJECTED is not used for requests that were processed
pub(super) async fn respond(
    server: &Arc<Server>,
    share: &Share,
    remote: SocketAddr,
    connection: &Connection,
    resolver: RequestResolver<hawser::h3::Connection, Bytes>,
) {
    let started = Instant::now();
    let (mut request, mut stream) = match header_in_time(resolver.resolve_request()).await {
        Ok(Ok(resolved)) => resolved,
        Ok(Err(error)) => return tracing::debug!(remote = %LoggedAddress(remote), %error, "bad request"),
        Err(late) => return tracing::debug!(remote = %LoggedAddress(remote), "{late}"),
    };
    // RFC 8470 section 3: what must not be done twice waits until the handshake is complete; after that nobody can have sent
    // it but the client. Waiting costs the client nothing but the round trip that it has not saved, while 425 (Too Early)
    // would have it send its body again.
    if !is_safe(request.method()) && connection.handshake_complete().await.is_err() {
        return tracing::debug!(remote = %LoggedAddress(remote), "a request came with 0-RTT, and the handshake was not completed");
    }
    if request.method() != Method::PUT {
        // Of a request without a body only what has come already is looked at, and has to be right (RFC 9114 section 7.2).
        tokio::select! {
            biased;
            rest = stream.recv_data() => if let Err(error) = rest {
                return tracing::debug!(remote = %LoggedAddress(remote), %error, "bad request");
            },
            () = std::future::ready(()) => {}
        }
    }
    let mut stored = 0;
    let answered = if request.headers().len() > MAX_FIELDS {
        std::mem::take(request.headers_mut());
        let text = format!("more than {MAX_FIELDS} header fields");
        let reply = Reply::text(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text);
        Answered { reply, _permit: None, _memory: None }
    } else if request.method() == Method::PUT {
        let Ok(permit) = share.reply().await else { return };
        let sender = Sender { source: share.source(), is_certified: connection.peer_identity().is_some() };
        let reply = store(server, share, sender, &request, &mut stream, &mut stored).await;
        Answered { reply, _permit: Some(permit), _memory: None }
    } else {
        match answer(server, share, &request).await {
            Ok(answered) => answered,
            Err(error) => return tracing::debug!(remote = %LoggedAddress(remote), %error, "no answer"),
        }
    };
    let status = answered.reply.status;
    let mut sending = Sending { stream: &mut stream, pace: Pace::new(Instant::now().into()), sent: 0 };
    let result = sending.send(share, answered).await;
    let result = match result {
        Ok(digest) => sending.finish(digest).await,
        Err(reason) => Err(reason),
    };
    let sent = sending.sent;
    //= rfc9114-4.1-11: H3_NO_ERROR when the rest of a request is not wanted
    stream.stop_sending(Code::H3_NO_ERROR);
    let entry = Entry {
        remote: LoggedAddress(remote),
        method: request.method().as_str(),
        path: request.uri().path(),
        status: status.as_u16(),
        bytes: if request.method() == Method::PUT { stored } else { sent },
        seconds: started.elapsed().as_secs_f64(),
        broken_off: result.err(),
    };
    server.access_log.write(&entry, server.output);
}

/// Whether a request changes nothing (RFC 9110 section 9.2.1), as far as there are such here.
//= rfc9114-10.9-1: 0-RTT requests have replay protection
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn internal(error: &impl std::fmt::Display) -> Reply {
    Reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

/// A reply, with the rights that it needs until it is sent.
struct Answered {
    reply: Reply,
    _permit: Option<ReplyPermit>,
    _memory: Option<Taken>,
}

/// Looks up what is asked for. Small answers wait in memory; for others the right to reply is waited for, without a file open.
//= rfc9114-4.1.1-1: a server answers with a status rather than to cancel
async fn answer(server: &Arc<Server>, share: &Share, request: &Request<()>) -> io::Result<Answered> {
    let (looking, reply) = lookup(server, share, request).await?;
    let (permit, mut reply) = match small(share, reply).await {
        Size::Small(mut small) => {
            drop(looking);
            small.reply.settle_digest().await;
            return Ok(small);
        }
        Size::Large(reply) => match share.try_reply() {
            Some(permit) => {
                drop(looking);
                (permit, reply)
            }
            None => {
                drop((looking, reply));
                let permit = share.reply().await?;
                (permit, lookup(server, share, request).await?.1)
            }
        },
    };
    let mut memory = None;
    if let Body::Bytes(bytes) = &reply.body {
        let length = bytes.len() as u64;
        memory = share.try_memory(length);
        if memory.is_none() {
            // What waits for memory has none.
            drop(reply);
            memory = Some(share.memory(length).await);
            reply = lookup(server, share, request).await?.1;
        }
    }
    reply.settle_digest().await;
    Ok(Answered { reply, _permit: Some(permit), _memory: memory })
}

/// The reply, which may hold a file open, and the right to look it up: to be kept until there is a right to the file.
async fn lookup(
    server: &Arc<Server>,
    share: &Share,
    request: &Request<()>,
) -> io::Result<(OwnedSemaphorePermit, Reply)> {
    let looking = share.lookup().await?;
    let server = server.clone();
    let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
    let answer = move || server.site.reply(&method, &uri, &headers);
    let reply = tokio::task::spawn_blocking(answer).await.unwrap_or_else(|error| internal(&error));
    Ok((looking, reply))
}

/// Whether a reply needs the right to reply.
enum Size {
    /// It does not.
    Small(Answered),
    /// It does.
    Large(Reply),
}

/// Looks how large a reply is. A small file is read, so that it need not stay open.
async fn small(share: &Share, mut reply: Reply) -> Size {
    let length = match &reply.body {
        Body::Empty => 0,
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::File(_, range) => range.end - range.start,
    };
    if length == 0 || !reply.status.is_success() && length <= SMALL {
        return Size::Small(Answered { reply, _permit: None, _memory: None });
    }
    let Some(memory) = (length <= SMALL).then(|| share.try_small()).flatten() else {
        return Size::Large(reply);
    };
    if let Body::File(file, range) = &reply.body {
        match read_block(file, range.start, range.end).await.map_err(io::Error::other).flatten() {
            Ok(bytes) => reply.body = Body::Bytes(bytes),
            Err(error) => reply = internal(&error),
        }
    }
    Size::Small(Answered { reply, _permit: None, _memory: Some(memory) })
}

/// A response on its way.
struct Sending<'a> {
    stream: &'a mut Stream,
    pace: Pace,
    sent: u64,
}

impl Sending<'_> {
    /// Waits for the client to take what is sent; cancels the response of one that does not.
    async fn taken<T>(
        &mut self,
        send: impl AsyncFnOnce(&mut Stream) -> Result<T, StreamError>,
    ) -> Result<T, String> {
        match self.pace.keep(send(self.stream)).await {
            Ok(result) => result.map_err(|error| describe_stream("client", &error)),
            Err(stalled) => {
                self.stream.stop_stream(Code::H3_REQUEST_CANCELLED);
                Err(stalled.to_string())
            }
        }
    }

    /// Sends all but the trailers. What comes back is to follow there.
    async fn send(&mut self, share: &Share, answered: Answered) -> Result<Option<PendingDigest>, String> {
        let Answered { reply, _permit, _memory } = answered;
        let mut response = Response::new(());
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        self.taken(async |stream| stream.send_response(response).await).await?;
        match reply.body {
            Body::Empty => {}
            Body::Bytes(bytes) => self.send_bytes(bytes).await?,
            Body::File(file, range) => self.send_file(share, file, range).await?,
        }
        Ok(reply.digest)
    }

    /// Sends the digest if it was promised, and ends the response.
    //= rfc9114-4.1-8: a server ends the stream after the response
    async fn finish(&mut self, digest: Option<PendingDigest>) -> Result<(), String> {
        if let Some(pending) = digest {
            let digest = pending.wait(DIGEST_PATIENCE).await;
            self.pace = Pace::new(Instant::now().into());
            if let Some(digest) = digest
                && let Ok(value) = HeaderValue::from_str(&digest.to_field())
            {
                let trailers = HeaderMap::from_iter([(REPR_DIGEST, value)]);
                self.taken(async |stream| stream.send_trailers(trailers).await).await?;
            }
        }
        self.taken(async |stream| stream.finish().await).await
    }

    async fn send_bytes(&mut self, mut bytes: Bytes) -> Result<(), String> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(PIECE));
            let count = piece.len();
            self.taken(async |stream| stream.send_data(piece).await).await?;
            self.pace.count(Instant::now().into(), count);
            self.sent += count as u64;
        }
        Ok(())
    }

    /// Reads one block ahead of the network, where the connection's share has room for it.
    async fn send_file(&mut self, share: &Share, file: Arc<File>, range: Range<u64>) -> Result<(), String> {
        let mut position = range.start;
        let mut ahead: Option<Reading> = None;
        while position < range.end {
            let waiting = Instant::now();
            let (permit, reading) = match ahead.take() {
                Some(reading) => reading,
                None => {
                    let size = block_size(position, range.end) as u64;
                    let permit = share.block(size).await.map_err(|error| error.to_string())?;
                    (permit, read_block(&file, position, range.end))
                }
            };
            let block = match reading.await.map_err(io::Error::other).flatten() {
                Ok(block) => block,
                Err(error) => {
                    // The header has promised more: only a reset tells the client that the rest will not come.
                    self.stream.stop_stream(Code::H3_INTERNAL_ERROR);
                    return Err(error.to_string());
                }
            };
            self.pace.excuse(waiting.elapsed());
            position += block.len() as u64;
            if position < range.end {
                let permit = share.try_block(block_size(position, range.end) as u64);
                ahead = permit.map(|permit| (permit, read_block(&file, position, range.end)));
            }
            self.send_bytes(block).await?;
            drop(permit);
        }
        Ok(())
    }
}

/// A block that is being read, with the right to have it.
type Reading = (BlockPermit, JoinHandle<io::Result<Bytes>>);

/// Bytes of the block from `start` on.
pub(super) fn block_size(start: u64, end: u64) -> usize {
    usize::try_from(end.saturating_sub(start)).unwrap_or(BLOCK).min(BLOCK)
}

/// Reads a block of the file from `start` on, where threads may wait for the disk.
pub(super) fn read_block(file: &Arc<File>, start: u64, end: u64) -> JoinHandle<io::Result<Bytes>> {
    let file = file.clone();
    let length = block_size(start, end);
    tokio::task::spawn_blocking(move || {
        let mut block = vec![0; length];
        file.read_exact_at(&mut block, start)?;
        Ok(block.into())
    })
}

/// Stores the body of a PUT, and counts its bytes.
async fn store(
    server: &Arc<Server>,
    share: &Share,
    sender: Sender,
    request: &Request<()>,
    stream: &mut Stream,
    stored: &mut u64,
) -> Reply {
    let Some((_seat, transfer)) = share.upload(Instant::now().into()) else {
        let text = "too many uploads at the same time; try again later";
        return refuse(stream, Reply::text(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let begin = {
        let (server, uri, headers) = (server.clone(), request.uri().clone(), request.headers().clone());
        tokio::task::spawn_blocking(move || server.site.begin_upload(sender, &uri, &headers)).await
    };
    let mut upload = match begin {
        Ok(Ok(upload)) => upload,
        Ok(Err(refusal)) => return refuse(stream, *refusal),
        Err(error) => return internal(&error),
    };
    let mut gathered = Vec::new();
    let mut pace = Pace::new(Instant::now().into());
    loop {
        let received = tokio::select! {
            received = pace.keep(stream.recv_data()) => received,
            () = transfer.displaced() => {
                keep(server, upload, gathered).await;
                let text = "others wait for the place of this upload, which was too slow; try again later";
                return refuse(stream, Reply::text(StatusCode::SERVICE_UNAVAILABLE, text));
            }
        };
        let data = match received {
            Ok(Ok(Some(mut data))) => data.copy_to_bytes(data.remaining()),
            Ok(Ok(None)) => break,
            Ok(Err(error)) => {
                keep(server, upload, gathered).await;
                return internal(&error);
            }
            Err(stalled) => {
                keep(server, upload, gathered).await;
                return refuse(stream, Reply::text(StatusCode::REQUEST_TIMEOUT, stalled.to_string()));
            }
        };
        *stored += data.len() as u64;
        pace.count(Instant::now().into(), data.len());
        transfer.count(data.len());
        gathered.extend_from_slice(&data);
        if gathered.len() >= BLOCK {
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

/// The client broke off: what came is kept for its next attempt.
async fn keep(server: &Arc<Server>, upload: Upload, rest: Vec<u8>) {
    if let Ok(upload) = write(upload, rest).await {
        server.site.keep_unfinished(upload);
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
