//! Players on this side: FLV over HTTP, and FLV to a file or a pipe.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_media::flv::{FlvWriter, file_header};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::hub::{Hub, Next, Subscription};
use super::status::Status;
use crate::exit::Failure;
use crate::local_http::read_request;

/// Players at the same time.
const MAX_PLAYERS: usize = 256;
/// How long a player may take nothing.
const STALL: Duration = Duration::from_secs(60);

/// A stream under its name.
#[derive(Clone)]
pub(super) struct Listed {
    /// What its players must name: `/NAME.flv`.
    pub(super) name: String,
    pub(super) hub: Arc<Hub>,
    pub(super) status: Arc<Status>,
}

/// Serves FLV over HTTP.
pub(super) async fn serve_http(listener: TcpListener, streams: Vec<Listed>) {
    let places = Arc::new(Semaphore::new(MAX_PLAYERS));
    let streams: Arc<[Listed]> = streams.into();
    loop {
        let (stream, remote) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a player");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (places, streams) = (places.clone(), streams.clone());
        tokio::spawn(async move {
            let Ok(_place) = places.try_acquire_owned() else { return };
            if let Err(error) = serve_player(stream, &streams).await {
                tracing::info!(%remote, %error, "a player has gone");
            }
        });
    }
}

/// One player, until he goes.
async fn serve_player(mut stream: TcpStream, streams: &[Listed]) -> std::io::Result<()> {
    let (method, path) = read_request(&mut stream).await?;
    let name = path.trim_start_matches('/').trim_end_matches(".flv");
    let found = streams.iter().find(|listed| listed.name == name);
    let (status, listed) = match (method.as_str(), found) {
        ("GET" | "HEAD", Some(listed)) => ("200 OK", Some(listed)),
        ("GET" | "HEAD", None) => ("404 Not Found", None),
        _ => ("405 Method Not Allowed", None),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        if listed.is_some() { "video/x-flv" } else { "text/plain" }
    );
    stream.write_all(head.as_bytes()).await?;
    match listed {
        Some(listed) if method == "GET" => {
            let subscription = listed.hub.subscribe();
            let who =
                stream.peer_addr().map_or_else(|_| "a player".to_owned(), |at| format!("the player at {at}"));
            write_flv(&mut stream, subscription, &listed.status, &who, false).await
        }
        Some(_) => Ok(()),
        None => stream.write_all(b"there is no such stream, and only GET\n").await,
    }
}

/// Writes a stream until the player goes, or with `ends` until the source is done.
async fn write_flv(
    sink: &mut (impl AsyncWrite + Unpin),
    mut subscription: Subscription,
    status: &Status,
    who: &str,
    ends: bool,
) -> std::io::Result<()> {
    let mut writer = FlvWriter::default();
    let mut has_begun = false;
    loop {
        let unit = match subscription.next().await {
            Next::Unit(unit) => unit,
            Next::End if ends => return sink.flush().await,
            Next::End => continue,
        };
        if let Some(skipped) = subscription.newly_skipped() {
            status.note_skipped(who, skipped);
        }
        // Headers that came before the first frame have a time of their own: theirs is that of the frame.
        let tag = writer.write(&unit.tag);
        let bytes = if has_begun { tag } else { Bytes::from([file_header(), tag].concat()) };
        has_begun = true;
        tokio::time::timeout(STALL, sink.write_all(&bytes)).await??;
        sink.flush().await?;
    }
}

/// Writes the stream to a file or standard output until its source is done, or until it is stopped.
pub(super) async fn write_file(
    path: PathBuf,
    hub: Arc<Hub>,
    status: Arc<Status>,
    ends: bool,
) -> Result<(), Failure> {
    let subscription = hub.subscribe();
    let is_stdout = path.as_os_str() == "-";
    let written = if is_stdout {
        write_flv(&mut tokio::io::stdout(), subscription, &status, "standard output", ends).await
    } else {
        let mut file = tokio::fs::File::create(&path).await.map_err(|error| Failure::write(&path, &error))?;
        let who = path.display().to_string();
        write_flv(&mut file, subscription, &status, &who, ends).await
    };
    match written {
        // A player that was closed.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::write(&path, &error)),
    }
}
