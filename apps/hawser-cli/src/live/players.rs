//! Players on this side: FLV over HTTP, and FLV to a file or a pipe.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_media::flv::{FlvWriter, file_header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::hub::{Hub, Next, Subscription};
use super::key_digest;
use super::status::Status;
use crate::exit::Failure;
use crate::sources::Pool;
use hawser_status::local_http::read_request;

/// Players at the same time.
const MAX_PLAYERS: usize = 256;
/// How long a player may take nothing.
const STALL: Duration = Duration::from_secs(60);
/// How long players are kept when their source is done; another may follow.
const AFTER_END: Duration = Duration::from_secs(10);
/// Bytes that a player may send behind its request.
const MAX_CHATTER: usize = 64 << 10;

/// A stream under its name.
#[derive(Clone)]
pub(super) struct Listed {
    /// What its players must name: `/NAME.flv`.
    pub(super) name: String,
    pub(super) hub: Arc<Hub>,
    pub(super) status: Arc<Status>,
}

/// When a stream ends for one that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// With its source.
    WithSource,
    /// When no other source follows within [`AFTER_END`].
    WithoutSuccessor,
    /// Never.
    Never,
}

/// Places for players. Of those a source has an eighth; players on this machine, or behind a proxy on it, have their own.
#[derive(Clone)]
struct Places {
    local: Pool,
    remote: Pool,
}

impl Places {
    fn of(&self, address: IpAddr) -> &Pool {
        if address.to_canonical().is_loopback() { &self.local } else { &self.remote }
    }
}

/// Serves FLV over HTTP. `is_private`: only for this machine, so that no name leads here.
pub(super) async fn serve_http(listener: TcpListener, streams: Vec<Listed>, is_private: bool) {
    let places = Places { local: Pool::with_share(MAX_PLAYERS, MAX_PLAYERS), remote: Pool::new(MAX_PLAYERS) };
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
        let Some(place) = places.of(remote.ip()).try_take(remote.ip(), 1) else { continue };
        let streams = streams.clone();
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = serve_player(stream, &streams, is_private).await {
                tracing::info!(%remote, %error, "a player has gone");
            }
        });
    }
}

/// One player, until it goes or the stream ends.
async fn serve_player(mut stream: TcpStream, streams: &[Listed], is_private: bool) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let name = request.path.trim_start_matches('/').trim_end_matches(".flv");
    let wanted = key_digest(name);
    let found = streams.iter().find(|listed| key_digest(&listed.name) == wanted);
    let found = found.filter(|_| !is_private || request.is_for_this_machine());
    let (status, listed) = match (request.method.as_str(), found) {
        ("GET" | "HEAD", Some(listed)) => ("200 OK", Some(listed)),
        ("GET" | "HEAD", None) => ("404 Not Found", None),
        _ => ("405 Method Not Allowed", None),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        if listed.is_some() { "video/x-flv" } else { "text/plain" }
    );
    tokio::time::timeout(STALL, stream.write_all(head.as_bytes())).await??;
    match listed {
        Some(listed) if request.method == "GET" => {
            let subscription = listed.hub.subscribe();
            let who =
                stream.peer_addr().map_or_else(|_| "a player".to_owned(), |at| format!("the player at {at}"));
            let (mut reader, mut writer) = stream.split();
            let ends = Ends::WithoutSuccessor;
            tokio::select! {
                written = write_flv(&mut writer, subscription, &listed.status, &who, ends) => written,
                () = gone(&mut reader) => Ok(()),
            }
        }
        Some(_) => Ok(()),
        None => stream.write_all(b"there is no such stream, and only GET\n").await,
    }
}

/// Waits until a player has closed its connection, or talks too much.
async fn gone(reader: &mut (impl AsyncRead + Unpin)) {
    let (mut block, mut count) = ([0; 1024], 0);
    while count < MAX_CHATTER {
        match reader.read(&mut block).await {
            Ok(0) | Err(_) => return,
            Ok(bytes) => count += bytes,
        }
    }
}

/// Writes a stream until the player goes, or until it ends.
async fn write_flv(
    sink: &mut (impl AsyncWrite + Unpin),
    mut subscription: Subscription,
    status: &Status,
    who: &str,
    ends: Ends,
) -> std::io::Result<()> {
    let mut writer = FlvWriter::default();
    let (mut has_begun, mut has_ended) = (false, false);
    loop {
        let next = match has_ended && ends == Ends::WithoutSuccessor {
            true => tokio::time::timeout(AFTER_END, subscription.next()).await.unwrap_or(Next::End),
            false => subscription.next().await,
        };
        let unit = match next {
            Next::Unit(unit) => unit,
            Next::End if ends == Ends::WithSource => return sink.flush().await,
            Next::End if has_ended && ends == Ends::WithoutSuccessor => return sink.flush().await,
            Next::End => {
                has_ended = true;
                continue;
            }
        };
        has_ended = false;
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
    let ends = if ends { Ends::WithSource } else { Ends::Never };
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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::output::Output;
    use crate::paths::Flow;

    async fn listening() -> (std::net::SocketAddr, Arc<Hub>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hub = Hub::new(Duration::from_secs(1));
        let status = Status::new("relay", Flow::Received, hub.clone(), Output::default());
        let listed = Listed { name: "view".to_owned(), hub: hub.clone(), status };
        tokio::spawn(serve_http(listener, vec![listed], true));
        (address, hub)
    }

    async fn ask(address: std::net::SocketAddr, name: &str, host: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /{name}.flv HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await;
        let words = read.unwrap().map_or(String::new(), |_| String::from_utf8_lossy(&answer).into_owned());
        (stream, words)
    }

    async fn subscribers_become(hub: &Hub, count: usize) {
        for _ in 0..500 {
            if hub.subscribers() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} subscribers", hub.subscribers());
    }

    #[tokio::test]
    async fn players_that_leave_give_their_place_back_while_nobody_publishes() {
        let (address, hub) = listening().await;
        for _ in 0..MAX_PLAYERS + 10 {
            let (stream, words) = ask(address, "view", "localhost").await;
            assert_eq!(words, "HTTP/1.1 200");
            drop(stream);
        }
        subscribers_become(&hub, 0).await;
    }

    #[tokio::test]
    async fn players_are_closed_when_no_other_source_follows() {
        let (address, hub) = listening().await;
        let (mut stream, _) = ask(address, "view", "127.0.0.1").await;
        subscribers_become(&hub, 1).await;
        tokio::time::pause();
        hub.end();
        let mut rest = Vec::new();
        tokio::time::timeout(AFTER_END * 2, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
        assert_eq!(hub.subscribers(), 0);
    }

    #[tokio::test]
    async fn other_names_of_streams_and_of_this_machine_are_unknown() {
        let (address, _hub) = listening().await;
        assert_eq!(ask(address, "other", "localhost").await.1, "HTTP/1.1 404");
        assert_eq!(ask(address, "view", "evil.example").await.1, "HTTP/1.1 404");
    }
}
