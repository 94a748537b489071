//! Players on this side, over HTTP: a page that plays, and the stream in several formats.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hawser::LoggedAddress;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::expiry::Moment;
use super::formats::{Format, wall_clock_ms};
use super::hls::{self, Hls};
use super::hook::{Door, Event, Pass};
use super::hub::Hub;
use super::key_digest;
use super::keys::Lock;
use super::sink::{Ends, STALL, write_stream};
use super::status::Status;
use hawser_command::sources::Pool;
use hawser_status::local_http::{Request, read_request};

/// What can be asked for.
const METHODS: &str = "GET, HEAD, OPTIONS";
/// Players at the same time, over HTTP, and as many over SRT.
pub(super) const MAX_PLAYERS: usize = 256;
/// Bytes that a player may send behind its request.
const MAX_CHATTER: usize = 64 << 10;
/// How long a player waits for a stream that nobody publishes.
const BEGIN: Duration = Duration::from_secs(10);
/// What browsers may do with the page: its own files, this stream, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// What the page consists of, besides itself: name, media type, content.
const FILES: [(&str, &str, &str); 2] = [
    ("/hawser-live.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/hawser-live.css", "text/css; charset=utf-8", include_str!("page/page.css")),
];
const PAGE: &str = include_str!("page/page.html");
/// Asks for this machine's clock, with which the page finds how late it is.
const CLOCK: &str = "/hawser-live.time";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A stream under its name.
#[derive(Clone)]
pub(super) struct Listed {
    /// What its players must name: `/NAME.flv`.
    name: String,
    hub: Arc<Hub>,
    status: Arc<Status>,
    hls: Arc<Hls>,
    /// Who is let in, and until when; `None`: everybody who knows the name.
    entrance: Option<(Door, Lock)>,
}

impl Listed {
    pub(super) fn new(name: String, hub: Arc<Hub>, status: Arc<Status>) -> Self {
        Listed { hls: Hls::new(name.clone(), hub.clone()), name, hub, status, entrance: None }
    }

    /// The same behind a door, until its key expires.
    pub(super) fn behind(self, door: Door, lock: Lock) -> Self {
        Listed { entrance: Some((door, lock)), ..self }
    }

    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }

    /// Asks whether a player may come in. The error says why not.
    pub(super) async fn admit(&self, from: SocketAddr, over: &'static str) -> Result<Option<Pass>, String> {
        match &self.entrance {
            Some((door, _)) => door.admit(Event::Play, from, over).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether its key has expired.
    fn is_over(&self) -> bool {
        self.entrance.as_ref().is_some_and(|(_, lock)| lock.has_expired(Moment::now()))
    }

    /// Waits until its key has expired.
    pub(super) async fn over(&self) {
        match &self.entrance {
            Some((_, lock)) => lock.expired().await,
            None => std::future::pending().await,
        }
    }
}

/// Places for players. Of those a source has an eighth; players on this machine, or behind a proxy on it, have their own.
#[derive(Clone)]
pub(super) struct Places {
    local: Pool,
    remote: Pool,
}

impl Places {
    pub(super) fn new() -> Self {
        Places { local: Pool::with_share(MAX_PLAYERS, MAX_PLAYERS), remote: Pool::new(MAX_PLAYERS) }
    }

    pub(super) fn of(&self, address: IpAddr) -> &Pool {
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
    let places = Places::new();
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
                tracing::info!(remote = %LoggedAddress(remote), %error, "a player has gone");
            }
        });
    }
}

/// What is asked for.
enum Wanted<'a> {
    /// The page that plays.
    Page,
    /// One of the page's files.
    File(&'static str, &'static str),
    /// A stream in a format.
    Stream(&'a Listed, Format),
    /// The playlist of a stream, or one of its pieces.
    Hls(&'a Listed, &'a str),
}

/// The stream of this name, unless its key has expired.
pub(super) fn find<'a>(streams: &'a [Listed], name: &str) -> Option<&'a Listed> {
    let digest = key_digest(name);
    streams.iter().find(|listed| key_digest(&listed.name) == digest).filter(|listed| !listed.is_over())
}

/// What a path leads to.
fn wanted<'a>(path: &'a str, streams: &'a [Listed], access: &Access) -> Option<Wanted<'a>> {
    if let Some((_, kind, content)) = FILES.iter().find(|(name, ..)| *name == path) {
        return Some(Wanted::File(kind, content));
    }
    let find = |name: &str| find(streams, name);
    let path = path.strip_prefix('/')?;
    if let Some((name, piece)) =
        path.split_once('/').filter(|(_, piece)| !piece.is_empty() && *piece != hls::PLAYLIST)
    {
        return find(name).map(|listed| Wanted::Hls(listed, piece));
    }
    if let Some(name) = path.strip_suffix(".m3u8") {
        return find(name).map(|listed| Wanted::Hls(listed, hls::PLAYLIST));
    }
    let named = Format::of_name(path).and_then(|(name, format)| Some((find(name)?, format)));
    if let Some((listed, format)) = named {
        return Some(Wanted::Stream(listed, format));
    }
    match path.trim_end_matches('/') {
        // Of the only stream of this machine; a relay tells nobody which streams there are.
        "" if access.is_private => Some(Wanted::Page),
        name => find(name).map(|_| Wanted::Page),
    }
}

/// One request: a page, or a stream until the player goes or it ends.
async fn serve_player(mut stream: TcpStream, streams: &[Listed], access: &Access) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let is_here = !access.is_private || request.is_for_this_machine();
    let fields = access.origin.fields();
    match request.method.as_str() {
        "GET" | "HEAD" => {}
        // A browser asks first what a player of another origin may do.
        "OPTIONS" => return answer(&mut stream, "204 No Content", TEXT, &fields, b"").await,
        _ => return answer(&mut stream, "405 Method Not Allowed", TEXT, &fields, b"only GET\n").await,
    }
    let is_head = request.method == "HEAD";
    if request.path == CLOCK && is_here {
        let now = wall_clock_ms().to_string();
        return answer(&mut stream, "200 OK", TEXT, &fields, now.as_bytes()).await;
    }
    match wanted(&request.path, streams, access).filter(|_| is_here) {
        None => answer(&mut stream, "404 Not Found", TEXT, &fields, b"there is no such stream\n").await,
        Some(Wanted::Page | Wanted::File(..)) if is_head => page(&mut stream, HTML, "").await,
        Some(Wanted::Page) => page(&mut stream, HTML, PAGE).await,
        Some(Wanted::File(kind, content)) => page(&mut stream, kind, content).await,
        Some(Wanted::Stream(_, format)) if is_head => {
            stream_head(&mut stream, format.media_type().unwrap_or("video/mp4"), &fields).await
        }
        Some(Wanted::Stream(listed, format)) => play(stream, listed, format, &fields).await,
        Some(Wanted::Hls(listed, piece)) => serve_piece(&mut stream, listed, piece, &request, &fields).await,
    }
}

/// A file of the page.
async fn page(stream: &mut TcpStream, kind: &str, content: &str) -> std::io::Result<()> {
    let fields = format!(
        "Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    );
    answer(stream, "200 OK", kind, &fields, content.as_bytes()).await
}

/// An answer that is there as a whole.
async fn answer(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    fields: &str,
    body: &[u8],
) -> std::io::Result<()> {
    // An answer without content has no length (RFC 9110 section 8.6).
    let length = match status.starts_with("204") {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Cache-Control: no-store\r\nAllow: {METHODS}\r\n{fields}\
         Connection: close\r\n\r\n"
    );
    let bytes = [head.as_bytes(), body].concat();
    tokio::time::timeout(STALL, stream.write_all(&bytes)).await??;
    stream.shutdown().await
}

/// The head of an answer that lasts as long as the stream.
fn head_of(kind: &str, fields: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nAllow: {METHODS}\r\n{fields}\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

async fn stream_head(stream: &mut TcpStream, kind: &str, fields: &str) -> std::io::Result<()> {
    tokio::time::timeout(STALL, stream.write_all(&head_of(kind, fields))).await?
}

/// A stream, until the player goes or it ends.
async fn play(mut stream: TcpStream, listed: &Listed, format: Format, fields: &str) -> std::io::Result<()> {
    let from = stream.peer_addr()?;
    let _pass = match listed.admit(from, "http").await {
        Ok(pass) => pass,
        Err(why) => return refuse(&mut stream, &why, fields).await,
    };
    if let Some(kind) = format.media_type() {
        stream_head(&mut stream, kind, fields).await?;
    }
    let who = format!("the player at {from}");
    let has_begun = AtomicBool::new(format.media_type().is_some());
    let head = |kind: &str| {
        has_begun.store(true, Ordering::Relaxed);
        head_of(kind, fields)
    };
    let late = async {
        tokio::time::sleep(BEGIN).await;
        if has_begun.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    let (mut reader, mut writer) = stream.split();
    let target = (&*listed.status, who.as_str());
    let subscription = listed.hub.subscribe();
    tokio::select! {
        written = write_stream(&mut writer, subscription, format, target, Ends::WithoutSuccessor, &head) => written,
        () = gone(&mut reader) => Ok(()),
        () = listed.over() => Ok(()),
        () = late => {
            let words = b"nobody publishes this stream, or it has no codec that MP4 can carry\n";
            answer(&mut stream, "503 Service Unavailable", TEXT, fields, words).await
        }
    }
}

/// The hook has not let a player in.
async fn refuse(stream: &mut TcpStream, why: &str, fields: &str) -> std::io::Result<()> {
    if let Ok(from) = stream.peer_addr() {
        tracing::info!(from = %LoggedAddress(from), why, "a player was refused");
    }
    answer(stream, "403 Forbidden", TEXT, fields, b"the operator's hook does not let you play\n").await
}

/// The playlist or a piece of HLS.
async fn serve_piece(
    stream: &mut TcpStream,
    listed: &Listed,
    piece: &str,
    request: &Request,
    fields: &str,
) -> std::io::Result<()> {
    if let Some((door, _)) = &listed.entrance
        && let Err(why) = door.admit_again(stream.peer_addr()?).await
    {
        return refuse(stream, &why, fields).await;
    }
    match listed.hls.answer(piece, &request.query).await {
        Some((kind, bytes)) => answer(stream, "200 OK", kind, fields, &bytes).await,
        None if piece == hls::PLAYLIST => {
            let words = b"nobody publishes this stream, or it has no codec that MP4 can carry\n";
            answer(stream, "503 Service Unavailable", TEXT, fields, words).await
        }
        None => answer(stream, "404 Not Found", TEXT, fields, b"this piece is over\n").await,
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

#[cfg(test)]
mod tests;
