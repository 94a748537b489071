//! `hawser vr360 play`: a viewer, and a page that shows what it sees.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hawser_media::panorama::Motion;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Play;
use super::film::Shape;
use super::page;
use super::protocol::{self, CODE_BROKEN, CODE_DONE, HEAD, Head, Lines, MAX_PICTURE, Said, Wish};
use super::report::{self, Ticker};
use super::screen::Screen;
use super::viewer::Viewer;
use hawser::{Chunk, Connection, ReadError, RecvStream, Registry, SendStream};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::session::Session;

/// Tiles that arrive at the same time.
const MAX_ARRIVING: usize = 4096;
/// Bytes read at a time.
const BLOCK: usize = 64 << 10;
/// How long the server may take to say what it has.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds of a head that is made, after which it rests.
const MADE_MOTION: f64 = 3600.0;
/// How often paths are looked at.
const SAMPLE: Duration = Duration::from_millis(200);

/// Plays until the film is over, for as long as was asked, or until Ctrl-C.
pub(super) async fn run(
    arguments: Play,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let motion = motion(&arguments)?;
    let client = arguments.client.setup(registry, &super::PROFILE, output)?;
    // A port that is taken is told before anything is fetched.
    let listener = super::listen_page(&arguments, output).await?;
    let mut session =
        Session::connect(&arguments.server.host, arguments.server.port, &client, &mut interrupt).await?;
    session.request_scheduler(&client, output);
    let opened = tokio::time::timeout(PATIENCE, open(&session.connection)).await;
    let opened =
        opened.unwrap_or_else(|_| Err(Failure::new(Exit::NoAnswer, "the server does not say what it has")));
    let (shape, send, lines) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            session.close(CODE_BROKEN).await;
            return Err(failure);
        }
    };
    let grid =
        shape.grid().map_err(|error| Failure::new(Exit::Failure, format!("the server's film: {error}")))?;
    let length = Duration::from_secs_f64(1.0 / shape.rate);
    let screen = Screen::new(grid, motion, length, arguments.delay);
    output.remark(format_args!(
        "hawser: connected to {}; {}x{} in {}x{} tiles, {:.1} s",
        arguments.server,
        shape.width,
        shape.height,
        shape.columns,
        shape.rows,
        f64::from(shape.chunks) / shape.rate
    ));
    let last = last_chunk(&arguments, &shape);
    let viewer = Arc::new(Viewer {
        shape,
        started: Instant::now(),
        screen: Mutex::new(screen),
        paths: Mutex::new(session.path_table()),
    });
    let mut tasks = JoinSet::new();
    if let Some(listener) = listener {
        tasks.spawn(page::serve(listener, viewer.clone()));
    }
    tasks.spawn(receive(session.connection.clone(), viewer.clone()));
    tasks.spawn(tell(viewer.clone(), arguments.interval, output));
    let result = tokio::select! {
        result = watch(&viewer, send, last) => result,
        failure = listen(&viewer, lines) => Err(failure),
        reason = session.connection.closed() => Err(protocol::ended(&reason)),
        () = interrupt.raised() => Err(super::stopped()),
    };
    let result = result.map_err(|failure| client.explain(failure, &session.connection));
    tasks.abort_all();
    report::print(&viewer, output);
    let code = if result.as_ref().is_err_and(|failure| failure.exit == Exit::Failure) {
        CODE_BROKEN
    } else {
        CODE_DONE
    };
    session.close(code).await;
    result
}

/// The trace of the head: from a file, or made.
fn motion(arguments: &Play) -> Result<Motion, Failure> {
    let Some(path) = &arguments.motion else {
        return Ok(Motion::synthetic(arguments.seed, MADE_MOTION));
    };
    read_motion(path)
}

fn read_motion(path: &Path) -> Result<Motion, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    Motion::read(&text).map_err(|error| Failure::new(Exit::NotRead, format!("{}: {error}", path.display())))
}

/// The chunk before which playing ends; `None` if it does not.
fn last_chunk(arguments: &Play, shape: &Shape) -> Option<u32> {
    let asked = arguments.seconds.map(|time| (time.as_secs_f64() * shape.rate).ceil() as u32);
    match (asked, arguments.repeat) {
        (Some(asked), true) => Some(asked),
        (Some(asked), false) => Some(asked.min(shape.chunks)),
        (None, true) => None,
        (None, false) => Some(shape.chunks),
    }
}

async fn open(connection: &Connection) -> Result<(Shape, SendStream, Lines), Failure> {
    let (mut send, receive) = connection.open_bi().await?;
    // A stream is known to the peer with its first byte.
    send.write_all(b"\n").await.map_err(|error| Failure::new(Exit::ConnectionLost, error.to_string()))?;
    let mut lines = Lines::new(receive);
    match lines.next::<Said>().await? {
        Some(Said::Film(shape)) => Ok((shape, send, lines)),
        _ => Err(Failure::new(Exit::Handshake, "the server does not say what it has")),
    }
}

/// Asks for chunk after chunk, and counts those that are over.
async fn watch(viewer: &Viewer, mut send: SendStream, last: Option<u32>) -> Result<(), Failure> {
    let (mut asked, mut ended) = (0u32, 0u32);
    loop {
        let (next_wish, next_end) = {
            let screen = viewer.screen();
            let wish = last.is_none_or(|last| asked < last).then(|| screen.asked_at(asked));
            let end = (last.is_none_or(|last| ended < last)).then(|| screen.ends_at(ended));
            (wish, end)
        };
        let Some(next) = next_wish.into_iter().chain(next_end).min() else {
            let _ = send.finish();
            return Ok(());
        };
        tokio::time::sleep_until((viewer.started + next).into()).await;
        if next_wish == Some(next) {
            let now = viewer.now();
            let wishes: Vec<Wish> = {
                let mut screen = viewer.screen();
                // Chunks that have not begun are looked at once more: the head may have turned.
                let earlier: Vec<Wish> =
                    (ended..asked).filter_map(|chunk| screen.wish_again(chunk, now)).collect();
                std::iter::once(screen.wish(asked, now)).chain(earlier).collect()
            };
            asked += 1;
            for wish in &wishes {
                protocol::write(&mut send, wish).await?;
            }
        }
        if next_end == Some(next) {
            viewer.screen().end(ended);
            ended += 1;
        }
    }
}

/// Hears what the server says of tiles. Ends with the connection.
async fn listen(viewer: &Viewer, mut lines: Lines) -> Failure {
    loop {
        match lines.next::<Said>().await {
            Ok(Some(Said::Carried { chunk, tile, paths })) => viewer.screen().carried(chunk, tile, paths),
            Ok(Some(Said::Film(_))) => return Failure::new(Exit::Failure, "the server sends another film"),
            // It may still send tiles; the end of the connection is seen elsewhere.
            Ok(None) => std::future::pending().await,
            Err(failure) => return failure,
        }
    }
}

/// Takes tiles until the connection ends.
async fn receive(connection: Connection, viewer: Arc<Viewer>) {
    let places = Arc::new(Semaphore::new(MAX_ARRIVING));
    while let Ok(stream) = connection.accept_uni().await {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let viewer = viewer.clone();
        tokio::spawn(async move {
            let _place = place;
            if let Some((head, picture)) = read_tile(stream).await {
                viewer.screen().arrived(head.chunk, head.tile, picture.into(), viewer.now());
            }
        });
    }
}

/// A tile as a whole; `None` if the server gave it up, or it makes no sense.
async fn read_tile(mut stream: RecvStream) -> Option<(Head, Vec<u8>)> {
    let mut bytes = Vec::new();
    let ended: Result<(), ReadError> = async {
        loop {
            match stream.next_chunk(BLOCK).await? {
                Chunk::Data { bytes: more, .. } if bytes.len() + more.len() <= HEAD + MAX_PICTURE => {
                    bytes.extend_from_slice(&more);
                }
                // Without a part of it a picture is none.
                Chunk::Data { .. } | Chunk::Gap { .. } => {
                    bytes.clear();
                    return Ok(());
                }
                Chunk::End => return Ok(()),
            }
        }
    }
    .await;
    ended.ok()?;
    let head = Head::decode(*bytes.first_chunk()?)?;
    let picture = bytes.split_off(HEAD);
    (picture.len() == head.length as usize).then_some((head, picture))
}

/// Looks at the paths, and says what happens.
async fn tell(viewer: Arc<Viewer>, interval: Duration, output: Output) {
    let mut ticker = Ticker::default();
    let mut ticks = tokio::time::interval(SAMPLE.min(interval));
    let mut next = interval;
    loop {
        ticks.tick().await;
        viewer.paths().sample();
        let now = viewer.now();
        viewer.screen().look(now);
        if now >= next {
            next += interval;
            let line = ticker.line(&viewer);
            if !output.hides_progress() {
                output.remark(line);
            }
        }
    }
}
