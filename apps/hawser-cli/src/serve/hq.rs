//! A folder over HTTP/0.9, for interoperability tests. What a client may take is bounded as it is over HTTP/3.

use std::fs::File;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Uri};
use tokio::task::JoinSet;

use super::Server;
use super::connection::IDLE_PATIENCE;
use super::limits::{PIECE, Share, header_in_time};
use super::respond::{block_size, read_block};
use crate::hq::{self, NOT_SERVED};
use crate::site::{Body, Reply};
use hawser::{Connection, LoggedAddress, Printable, RecvStream, SendStream};
use hawser_command::interrupt::Interrupt;
use hawser_command::sources::Pace;

/// Most bytes of a request.
const MAX_REQUEST: usize = 4096;

/// One connection, until it ends or, after Ctrl-C, its requests are done.
pub(super) async fn serve(
    server: &Arc<Server>,
    connection: &Connection,
    remote: SocketAddr,
    mut interrupt: Interrupt,
) {
    let share = server.limits.share(remote.ip());
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = connection.accept_bi() => match accepted {
                Ok((send, receive)) => {
                    let (server, share) = (server.clone(), share.clone());
                    requests.spawn(async move { respond(&server, &share, remote, send, receive).await });
                }
                Err(error) => return tracing::info!(remote = %LoggedAddress(remote), %error, "the connection ended"),
            },
            Some(_) = requests.join_next() => {}
            () = interrupt.raised() => break,
        }
    }
    while requests.join_next().await.is_some() {}
    // What was written last is still on its way; a client that has it all closes the connection.
    let _ = tokio::time::timeout(IDLE_PATIENCE, connection.closed()).await;
}

/// Answers one request and notes it.
async fn respond(
    server: &Arc<Server>,
    share: &Share,
    remote: SocketAddr,
    mut send: SendStream,
    mut receive: RecvStream,
) {
    let request = match header_in_time(receive.read_to_end(MAX_REQUEST)).await {
        Ok(Ok(request)) => request,
        Ok(Err(error)) => {
            let _ = send.reset(NOT_SERVED);
            return tracing::debug!(remote = %LoggedAddress(remote), %error, "bad request");
        }
        Err(late) => {
            let (_, _) = (send.reset(NOT_SERVED), receive.stop(NOT_SERVED));
            return tracing::debug!(remote = %LoggedAddress(remote), "{late}");
        }
    };
    let Ok(_permit) = share.reply().await else { return };
    let uri = hq::parse_request(&request).and_then(|path| path.parse::<Uri>().ok());
    let result = match uri {
        Some(uri) => answer(server, share, uri, &mut send).await,
        None => Err("not an HTTP/0.9 request".to_owned()),
    };
    let line = request.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    match result {
        Ok(sent) => server.output.remark(format_args!(
            "{remote} {} {sent} bytes",
            Printable::new(line),
            remote = LoggedAddress(remote)
        )),
        Err(reason) => {
            let _ = send.reset(NOT_SERVED);
            server.output.remark(format_args!(
                "{remote} {} refused: {reason}",
                Printable::new(line),
                remote = LoggedAddress(remote)
            ));
        }
    }
}

/// Sends what the site has under this name; returns how many bytes that were.
async fn answer(server: &Arc<Server>, share: &Share, uri: Uri, send: &mut SendStream) -> Result<u64, String> {
    let site = server.clone();
    let reply = move || site.site.reply(&Method::GET, &uri, &HeaderMap::new());
    let reply: Reply = tokio::task::spawn_blocking(reply).await.map_err(|error| error.to_string())?;
    if !reply.status.is_success() {
        return Err(reply.status.to_string());
    }
    let mut pace = Pace::new(Instant::now().into());
    let sent = match reply.body {
        Body::Empty => 0,
        Body::Bytes(bytes) => {
            let length = bytes.len() as u64;
            let _memory = share.memory(length).await;
            write(send, &bytes, &mut pace).await?;
            length
        }
        Body::File(file, range) => send_file(share, &file, range, send, &mut pace).await?,
    };
    send.finish().map_err(|error| error.to_string())?;
    Ok(sent)
}

async fn send_file(
    share: &Share,
    file: &Arc<File>,
    range: Range<u64>,
    send: &mut SendStream,
    pace: &mut Pace,
) -> Result<u64, String> {
    let mut position = range.start;
    while position < range.end {
        let waiting = Instant::now();
        let size = block_size(position, range.end) as u64;
        let _permit = share.block(size).await.map_err(|error| error.to_string())?;
        let block = read_block(file, position, range.end).await.map_err(|error| error.to_string())?;
        let block = block.map_err(|error| error.to_string())?;
        pace.excuse(waiting.elapsed());
        write(send, &block, pace).await?;
        position += block.len() as u64;
    }
    Ok(range.end - range.start)
}

/// Writes, as long as the client takes what is written.
async fn write(send: &mut SendStream, bytes: &[u8], pace: &mut Pace) -> Result<(), String> {
    for piece in bytes.chunks(PIECE) {
        let written = pace.keep(send.write_all(piece)).await.map_err(|stalled| stalled.to_string())?;
        written.map_err(|error| error.to_string())?;
        pace.count(Instant::now().into(), piece.len());
    }
    Ok(())
}
