//! Players on this side: FLV over HTTP, and FLV to a file or a pipe.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hawser_media::broadcast::Unit;
use hawser_media::flv::{FlvWriter, file_header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::hub::{Hub, Next, Subscription};
use super::key_digest;
use super::status::Status;
use crate::exit::Failure;
use crate::sources::Pool;
use hawser_status::local_http::read_request;

/// What can be asked for.
const METHODS: &str = "GET, HEAD, OPTIONS";
/// Players at the same time.
const MAX_PLAYERS: usize = 256;
/// How long a player may take nothing.
const STALL: Duration = Duration::from_secs(60);
/// How long players are kept when their source is done; another may follow.
const AFTER_END: Duration = Duration::from_secs(10);
/// Headers that wait for what follows them.
const MAX_HELD: usize = 64;
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

/// How players come to a stream over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Only for this machine, so that no name leads here.
    pub(super) is_private: bool,
    /// Web pages of which origin may play it in their own players.
    pub(super) origin: Origin,
}

/// What `Access-Control-Allow-Origin` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Pages of every origin.
    Any,
    /// Those of this one.
    Only(String),
    /// Nothing: only pages of the same origin.
    None,
}

impl Origin {
    /// Reads `*`, `none`, or an origin as browsers write it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let is_origin = |text: &str| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', '?', '#', '@']))
        };
        match text {
            "*" => Ok(Origin::Any),
            "none" => Ok(Origin::None),
            text if is_origin(text) && text.chars().all(|char| char.is_ascii_graphic()) => {
                Ok(Origin::Only(text.to_owned()))
            }
            text => Err(format!("`{text}`: expected *, none, or an origin such as https://player.example")),
        }
    }

    /// The fields of an answer.
    fn fields(&self) -> String {
        let (origin, vary) = match self {
            Origin::Any => ("*", ""),
            Origin::Only(origin) => (origin.as_str(), "Vary: Origin\r\n"),
            Origin::None => return String::new(),
        };
        format!(
            "Access-Control-Allow-Origin: {origin}\r\n{vary}Access-Control-Allow-Methods: {METHODS}\r\n\
             Access-Control-Allow-Headers: Range, Cache-Control\r\n"
        )
    }
}

/// Serves FLV over HTTP.
pub(super) async fn serve_http(listener: TcpListener, streams: Vec<Listed>, access: Access) {
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
        let (streams, access) = (streams.clone(), access.clone());
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = serve_player(stream, &streams, &access).await {
                tracing::info!(%remote, %error, "a player has gone");
            }
        });
    }
}

/// One player, until it goes or the stream ends.
async fn serve_player(mut stream: TcpStream, streams: &[Listed], access: &Access) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let name = request.path.trim_start_matches('/').trim_end_matches(".flv");
    let wanted = key_digest(name);
    let found = streams.iter().find(|listed| key_digest(&listed.name) == wanted);
    let found = found.filter(|_| !access.is_private || request.is_for_this_machine());
    let (status, listed) = match (request.method.as_str(), found) {
        ("GET" | "HEAD", Some(listed)) => ("200 OK", Some(listed)),
        ("GET" | "HEAD", None) => ("404 Not Found", None),
        // A browser asks first what a player of another origin may do.
        ("OPTIONS", _) => ("204 No Content", None),
        _ => ("405 Method Not Allowed", None),
    };
    let kind = if listed.is_some() { "video/x-flv" } else { "text/plain" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nAllow: {METHODS}\r\n{}\
         Connection: close\r\n\r\n",
        access.origin.fields()
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
        None if request.method == "OPTIONS" => Ok(()),
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
    let mut muxer = Muxer::default();
    let mut has_ended = false;
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
        let (age, is_played) = (Duration::from_micros(u64::from(unit.age) * 100), !unit.role.is_header());
        let began = Instant::now();
        let bytes = muxer.write(unit);
        if bytes.is_empty() {
            continue;
        }
        tokio::time::timeout(STALL, sink.write_all(&bytes)).await??;
        sink.flush().await?;
        if is_played {
            status.note_played(age + began.elapsed());
        }
    }
}

/// Units as FLV.
#[derive(Default)]
struct Muxer {
    writer: FlvWriter,
    /// Headers that came before everything else: their own time is that of their source's beginning, so they get that of what
    /// they stand before.
    held: Vec<Unit>,
    has_begun: bool,
}

impl Muxer {
    /// What is to be written now.
    fn write(&mut self, unit: Unit) -> Bytes {
        if self.has_begun {
            return self.writer.write(&unit.tag);
        }
        if unit.role.is_header() {
            if self.held.len() < MAX_HELD {
                self.held.push(unit);
            }
            return Bytes::new();
        }
        self.has_begun = true;
        let mut bytes = file_header(!unit.is_alone).to_vec();
        for mut header in std::mem::take(&mut self.held) {
            header.tag.timestamp = unit.tag.timestamp;
            bytes.extend_from_slice(&self.writer.write(&header.tag));
        }
        bytes.extend_from_slice(&self.writer.write(&unit.tag));
        bytes.into()
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
    use hawser_media::flv::{FlvReader, Tag, TagKind};
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
        let access = Access { is_private: true, origin: Origin::Any };
        tokio::spawn(serve_http(listener, vec![listed], access));
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

    /// The head of an answer, in lower case.
    async fn head_of(address: std::net::SocketAddr, method: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("{method} /view.flv HTTP/1.1\r\nHost: localhost\r\nOrigin: http://p.example\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 400];
        let count = stream.read(&mut head).await.unwrap();
        String::from_utf8_lossy(&head[..count]).to_ascii_lowercase()
    }

    #[tokio::test]
    async fn a_player_of_another_origin_may_play() {
        let (address, _hub) = listening().await;
        for method in ["GET", "HEAD", "OPTIONS"] {
            let head = head_of(address, method).await;
            assert!(head.contains("access-control-allow-origin: *\r\n"), "{method}: {head}");
        }
        assert!(head_of(address, "OPTIONS").await.starts_with("http/1.1 204"));
        assert!(head_of(address, "POST").await.starts_with("http/1.1 405"));
        let only = Origin::parse("https://player.example").unwrap();
        assert!(only.fields().contains("https://player.example\r\nVary: Origin"));
        assert_eq!((Origin::parse("*"), Origin::parse("none")), (Ok(Origin::Any), Ok(Origin::None)));
        for text in ["", "player.example", "https://", "https://a/b", "https://a\r\nX: y"] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    fn unit(tag: Tag) -> Unit {
        Unit {
            role: tag.role(),
            tag,
            origin: 1,
            number: 0,
            padded: 0,
            restarts: false,
            age: 0,
            came_at: hawser::policy::Time::ZERO,
            is_alone: false,
        }
    }

    #[test]
    fn a_late_player_begins_at_time_zero_with_headers() {
        let tag = |kind, timestamp, data: &'static [u8]| {
            unit(Tag { kind, timestamp, data: Bytes::from_static(data) })
        };
        let mut muxer = Muxer::default();
        assert!(muxer.write(tag(TagKind::Video, 7, b"\x17\0\0\0\0")).is_empty());
        let mut reader = FlvReader::default();
        reader.push(&muxer.write(tag(TagKind::Video, 90_000, b"\x17\x01\0\0\0")));
        reader.push(&muxer.write(tag(TagKind::Video, 90_040, b"\x27\x01\0\0\0")));
        let times: Vec<u32> =
            std::iter::from_fn(|| reader.next_tag().unwrap()).map(|tag| tag.timestamp).collect();
        assert_eq!(times, [0, 0, 40]);
        // Of audio alone the file says so, since a player would wait for the picture.
        let sound = Unit { is_alone: true, ..tag(TagKind::Audio, 50, b"\xaf\x01") };
        assert_eq!(Muxer::default().write(sound)[..5], *b"FLV\x01\x04");
    }

    #[tokio::test]
    async fn other_names_of_streams_and_of_this_machine_are_unknown() {
        let (address, _hub) = listening().await;
        assert_eq!(ask(address, "other", "localhost").await.1, "HTTP/1.1 404");
        assert_eq!(ask(address, "view", "evil.example").await.1, "HTTP/1.1 404");
    }
}
