//! The page that shows what a viewer has: served on this machine, without anything from elsewhere.

use std::sync::Arc;
use std::time::Duration;

use hawser::LoggedAddress;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::screen::{Chunk, Counts, Fate};
use super::viewer::Viewer;
use hawser_command::paths::Flow;
use hawser_command::report::to_json;
use hawser_status::local_http::{read_request, respond};

/// The page itself.
const PAGE: &str = include_str!("page.html");
/// Requests at the same time.
const MAX_REQUESTS: usize = 64;

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, viewer: Arc<Viewer>) {
    let places = Arc::new(Semaphore::new(MAX_REQUESTS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let (stream, remote) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a browser");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let viewer = viewer.clone();
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = answer(stream, &viewer).await {
                tracing::info!(remote = %LoggedAddress(remote), %error, "a browser has gone");
            }
        });
    }
}

async fn answer(mut stream: TcpStream, viewer: &Viewer) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    if !request.is_for_this_machine() {
        let words = b"this page is for this machine: its address or localhost\n";
        return respond(&mut stream, "421 Misdirected Request", "text/plain", words).await;
    }
    let (method, path) = (request.method, request.path);
    let chunk = path.strip_prefix("/chunk/").and_then(|number| number.parse().ok());
    match (method.as_str(), path.as_str(), chunk) {
        ("GET", "/", _) => respond(&mut stream, "200 OK", "text/html; charset=utf-8", PAGE.as_bytes()).await,
        ("GET", "/state", _) => {
            let state = to_json(&state(viewer));
            respond(&mut stream, "200 OK", "application/json", state.as_bytes()).await
        }
        ("GET", _, Some(number)) => {
            let body = pictures(viewer, number);
            respond(&mut stream, "200 OK", "application/octet-stream", &body).await
        }
        ("GET", ..) => respond(&mut stream, "404 Not Found", "text/plain", b"there is no such page\n").await,
        _ => respond(&mut stream, "405 Method Not Allowed", "text/plain", b"only GET\n").await,
    }
}

/// The pictures of a chunk, one behind the other: number of the tile (2 bytes), length (4 bytes), picture.
fn pictures(viewer: &Viewer, number: u32) -> Vec<u8> {
    let screen = viewer.screen();
    let chunk = screen.chunks.iter().find(|chunk| chunk.number == number);
    let mut body = Vec::new();
    for (tile, picture) in chunk.iter().flat_map(|chunk| &chunk.tiles) {
        let Some(picture) = &picture.picture else { continue };
        body.extend_from_slice(&tile.to_be_bytes());
        body.extend_from_slice(&u32::try_from(picture.len()).unwrap_or_default().to_be_bytes());
        body.extend_from_slice(picture);
    }
    body
}

/// What the page is told.
#[derive(Debug, Serialize)]
struct State {
    columns: u16,
    rows: u16,
    width: u32,
    height: u32,
    now_ms: u64,
    chunk_ms: f64,
    delay_ms: f64,
    field: [f64; 2],
    counts: Counts,
    paths: Vec<Path>,
    chunks: Vec<ChunkState>,
}

#[derive(Debug, Serialize)]
struct Path {
    id: u32,
    name: String,
    state: &'static str,
    rate_bps: f64,
    rtt_ms: f64,
    tiles: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct ChunkState {
    number: u32,
    begins_ms: u64,
    ends_ms: u64,
    /// Yaw and pitch, degrees: as expected, and as it turned out.
    forecast: [f64; 2],
    view: Option<[f64; 2]>,
    /// The tiles that are seen.
    seen: Vec<u16>,
    tiles: Vec<TileState>,
}

#[derive(Debug, Serialize)]
struct TileState {
    tile: u16,
    fate: Fate,
    forecast: bool,
    /// The path that carried most of it.
    path: Option<u32>,
}

fn state(viewer: &Viewer) -> State {
    let now = viewer.now();
    let paths = {
        let table = viewer.paths();
        table.report(Flow::Received)
    };
    let mut screen = viewer.screen();
    screen.look(now);
    let carried = &screen.carried;
    let paths = paths.into_iter().map(|path| {
        let carried = carried.get(&path.id).copied().unwrap_or_default();
        let (tiles, bytes) = (carried.tiles, carried.bytes);
        Path {
            id: path.id,
            name: name(&path.interface, &path.local),
            state: path.state,
            rate_bps: path.rate_bps,
            rtt_ms: path.rtt_ms,
            tiles,
            bytes,
        }
    });
    let shape = &viewer.shape;
    State {
        columns: shape.columns,
        rows: shape.rows,
        width: shape.width,
        height: shape.height,
        now_ms: milliseconds(now),
        chunk_ms: screen.length.as_secs_f64() * 1e3,
        delay_ms: screen.delay.as_secs_f64() * 1e3,
        field: [screen.field.width, screen.field.height],
        counts: screen.counts,
        paths: paths.collect(),
        chunks: screen.chunks.iter().map(chunk_state).collect(),
    }
}

/// Interface and local address; once, if there is no interface.
fn name(interface: &str, local: &str) -> String {
    match local.rsplit_once(':') {
        Some((address, _)) if address != interface => format!("{interface} ({address})"),
        _ => interface.to_owned(),
    }
}

fn chunk_state(chunk: &Chunk) -> ChunkState {
    let tiles = chunk.tiles.iter().map(|(at, tile)| TileState {
        tile: *at,
        fate: tile.fate,
        forecast: tile.forecast,
        path: tile.carrier(),
    });
    ChunkState {
        number: chunk.number,
        begins_ms: milliseconds(chunk.begins),
        ends_ms: milliseconds(chunk.ends),
        forecast: [chunk.forecast.yaw, chunk.forecast.pitch],
        view: chunk.seen.as_ref().map(|(view, _)| [view.yaw, view.pitch]),
        seen: chunk.seen.as_ref().map(|(_, tiles)| tiles.clone()).unwrap_or_default(),
        tiles: tiles.collect(),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
