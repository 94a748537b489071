//! `hawser vr360 serve`: tiles to players that ask for them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::Serve;
use super::carriers::{Carriers, WatchedSet};
use super::encode;
use super::film::Film;
use super::protocol::{self, CODE_BROKEN, CODE_DONE, Head, Lines, Said, Wish};
use super::under_way::UnderWay;
use super::waiting::{Order, Pace, Waiting};
use hawser::policy::{FrameInfo, PolicySetFactory, Reliability, SegmentKind, Time};
use hawser::{Connection, Endpoint, Identity, LoggedAddress, Registry, SendStream, ServerConfig, WriteError};
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::Channel;
use hawser_command::server::{identity, listen, suggested_host};
use hawser_command::sources::Sources;
use hawser_command::units;

/// Players at the same time.
const MAX_PLAYERS: usize = 256;
/// How long a player may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest time that a wish may look ahead.
const LONGEST_WISH: Duration = Duration::from_secs(60);
/// How long after its deadline it is waited for what became of a tile.
const AFTERMATH: Duration = Duration::from_secs(5);
/// What may wait to be said; of what goes beyond it nothing is said.
const MAX_UNSAID: usize = 1024;
/// Priority of a tile in view over all chunks of others.
const IN_VIEW: i32 = 1 << 30;

/// Serves until Ctrl-C.
pub(super) async fn run(
    arguments: Serve,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    arguments.encoding.shape()?;
    let identity = identity_of(&arguments)?;
    let policies = arguments.transport.policies(registry)?;
    let sources = Sources::new(MAX_PLAYERS);
    let config = configuration(&arguments, &sources, registry, &identity)?;
    let mut hangup = Hangup::listen()?;
    arguments.allowed_schedulers.check(registry)?;
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        arguments.allowed_schedulers.apply(builder)
    };
    // Before the work of the encoder: a port that is taken is told at once.
    let endpoint = listen(builder, &identity, arguments.listen, super::DEFAULT_PORT, &[])?;
    let (control, mut interrupt) = arguments.control.start("vr360 serve", &interrupt, output).await?;
    control.attach(&endpoint);
    let film = tokio::select! {
        film = encode::film(arguments.source.as_deref(), &arguments.encoding) => film?,
        () = interrupt.raised() => return Err(super::stopped()),
    };
    announce(&arguments, &endpoint, &identity, &film, output)?;
    let film = Arc::new(film);
    loop {
        let waiting = tokio::select! {
            waiting = sources.accept(&endpoint) => waiting,
            () = interrupt.raised() => break,
            () = hangup.raised() => {
                let config = identity_of(&arguments)
                    .and_then(|identity| configuration(&arguments, &sources, registry, &identity));
                reload(&endpoint, output, config);
                continue;
            }
        };
        let Some(waiting) = waiting else { break };
        let (film, policies) = (film.clone(), policies.clone());
        tokio::spawn(async move {
            if let Some(client) = waiting.connect(CODE_BROKEN).await {
                serve(film, policies, client.connection.clone(), client.remote, output).await;
            }
        });
    }
    endpoint.close(CODE_DONE, b"the server stops");
    let _ = tokio::time::timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    Ok(())
}

fn identity_of(arguments: &Serve) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key_file.as_deref(), arguments.state.as_deref())
}

/// The configuration of the endpoint. Made again when the certificate changes; all else in it stays.
fn configuration(
    arguments: &Serve,
    sources: &Sources,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::builder(identity.clone());
    Ok(sources.server(arguments.transport.server(registry, config, &super::PROFILE)?).build()?)
}

/// Says where the server is and how to reach it.
fn announce(
    arguments: &Serve,
    endpoint: &Endpoint,
    identity: &Identity,
    film: &Film,
    output: Output,
) -> Result<(), Failure> {
    let pin = identity.pin()?;
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    let host = suggested_host(endpoint.listening());
    let (host, trust) = if arguments.cert.is_some() {
        ("NAME".to_owned(), String::new())
    } else {
        (host.to_string(), format!(" --pin '{pin}'"))
    };
    if output.json {
        let shape = serde_json::json!({ "port": port, "pin": pin.to_string(), "film": film.shape });
        Channel::Stdout.print(&shape);
    }
    let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    output.remark(format_args!("hawser: {}; serving on UDP port {port}", film.describe()));
    output.remark(format_args!("  hawser vr360 play {address}{trust}"));
    Ok(())
}

/// One player, until it goes.
async fn serve(
    film: Arc<Film>,
    policies: Arc<dyn PolicySetFactory>,
    connection: Connection,
    remote: SocketAddr,
    output: Output,
) {
    let carriers = Carriers::default();
    connection.set_policies(&WatchedSet { inner: policies, carriers: carriers.clone() });
    let hello = tokio::time::timeout(PATIENCE, connection.accept_bi()).await;
    let Ok(Ok((mut send, receive))) = hello else {
        return connection.close(CODE_BROKEN, b"no request came");
    };
    output.remark(format_args!("hawser: {remote} plays", remote = LoggedAddress(remote)));
    let result = async {
        // What is said of tiles is not held up by them.
        let _ = send.set_priority(i32::MAX);
        protocol::write(&mut send, &Said::Film(film.shape.clone())).await?;
        let (control, said) = mpsc::channel(MAX_UNSAID);
        let player = Arc::new(Player {
            film,
            carriers,
            connection: connection.clone(),
            control,
            under_way: UnderWay::default(),
            begun: AtomicUsize::new(0),
            waiting: Mutex::default(),
            news: Notify::new(),
        });
        tokio::select! {
            result = player.hear(Lines::new(receive)) => result,
            result = say(send, said) => result,
            () = player.dispatch() => Ok(()),
        }
    };
    let result: Result<(), Failure> = result.await;
    output.remark(format_args!("hawser: {remote} plays no longer", remote = LoggedAddress(remote)));
    match result {
        Err(failure) => {
            tracing::info!(remote = %LoggedAddress(remote), %failure, "a player has gone");
            connection.close(CODE_BROKEN, failure.message.as_bytes());
        }
        Ok(()) => connection.close(CODE_DONE, b""),
    }
}

/// Writes what is to be said, line by line and each as a whole: nothing interrupts it but the end of the connection.
async fn say(mut stream: SendStream, mut said: mpsc::Receiver<Said>) -> Result<(), Failure> {
    while let Some(said) = said.recv().await {
        protocol::write(&mut stream, &said).await?;
    }
    Ok(())
}

/// What the tasks of one player share.
struct Player {
    film: Arc<Film>,
    carriers: Carriers,
    connection: Connection,
    control: mpsc::Sender<Said>,
    under_way: UnderWay,
    /// Bytes of the tiles that were begun and of which it is not known what became.
    begun: AtomicUsize,
    waiting: Mutex<Waiting>,
    /// Something waits.
    news: Notify,
}

impl Player {
    /// Takes what the player wants, until it wants nothing more.
    async fn hear(&self, mut lines: Lines) -> Result<(), Failure> {
        while let Some(wish) = lines.next::<Wish>().await? {
            let now = self.connection.now();
            let deadline = deadline(now, &wish, self.round_trip());
            let has = |tile| self.film.picture(wish.chunk, tile).cloned();
            self.waiting().take(now, &wish, deadline, &self.under_way, has);
            self.news.notify_one();
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends tile after tile as a whole, each time the one that is needed most of those that can still be there. Where the
    /// links are full, the send buffer holds what they carry in a few round trips; the rest waits here.
    async fn dispatch(self: &Arc<Self>) {
        loop {
            let next = self.waiting().next(self.connection.now(), &self.pace());
            match next {
                Some(order) => self.send(order).await,
                None => self.news.notified().await,
            }
        }
    }

    fn pace(&self) -> Pace {
        let paths = self.connection.paths().into_iter();
        let stats = paths.filter_map(|path| self.connection.path_stats(path.id));
        // What was delivered is less than what could be while there is little to send; the window says more then.
        let rate = |stats: hawser::PathStats| {
            let delivered =
                stats.delivery_rate.map_or(0.0, |rate| rate.bytes_in(Duration::from_secs(1)) as f64);
            let by_window = stats.congestion_window as f64 / stats.smoothed_rtt.as_secs_f64().max(1e-3);
            delivered.max(by_window)
        };
        Pace {
            bytes_per_second: stats.map(rate).sum(),
            round_trip: self.round_trip(),
            under_way: self.begun.load(Ordering::Relaxed),
        }
    }

    /// Writes a tile, or gives it up at its deadline.
    async fn send(self: &Arc<Self>, order: Order) {
        let Order { chunk, tile, is_in_view, deadline, picture, place } = order;
        let left = deadline.since(self.connection.now());
        let Ok(Ok(mut stream)) = tokio::time::timeout(left, self.connection.open_uni()).await else { return };
        let watched = self.carriers.watch(stream.id());
        // Earlier chunks first, but before all what is in view.
        let priority = if is_in_view { IN_VIEW } else { 0 };
        let priority = priority.saturating_sub(i32::try_from(chunk % (1 << 29)).unwrap_or_default());
        let _ = stream.set_priority(priority);
        let can_discard = self.connection.can_discard();
        let info = FrameInfo::default().with(|frame| {
            frame.id = u64::from(chunk) << 16 | u64::from(tile);
            frame.kind = SegmentKind::KeyFrame;
            frame.layer = u32::from(tile);
            frame.deadline = Some(deadline);
            frame.dependencies = Vec::new();
            frame.priority = priority;
            frame.reliability = if can_discard { Reliability::UntilDeadline } else { Reliability::Reliable };
        });
        let bytes = picture.len();
        let begun = Begun::new(self.clone(), bytes);
        let length = u32::try_from(bytes).unwrap_or(u32::MAX);
        let writing = write_tile(&mut stream, &info, Head { chunk, tile, length }, picture);
        if !matches!(tokio::time::timeout(left, writing).await, Ok(Ok(()))) || stream.finish().is_err() {
            let _ = stream.reset(CODE_DONE);
            return;
        }
        let player = self.clone();
        tokio::spawn(async move {
            let _until_known = (place, begun);
            let arrived = tokio::time::timeout(left + AFTERMATH, stream.stopped()).await;
            let paths = watched.paths();
            if matches!(arrived, Ok(Ok(None))) && !paths.is_empty() {
                // A player that does not read loses what is said of paths, not tiles.
                let _ = player.control.try_send(Said::Carried { chunk, tile, paths });
            }
        });
    }

    fn round_trip(&self) -> Duration {
        let paths = self.connection.paths().into_iter();
        let stats = paths.filter_map(|path| self.connection.path_stats(path.id));
        stats.map(|stats| stats.min_rtt).filter(|rtt| !rtt.is_zero()).min().unwrap_or_default()
    }
}

/// When the tiles of a wish are of no use any more.
pub(super) fn deadline(now: Time, wish: &Wish, round_trip: Duration) -> Time {
    let left = Duration::from_millis(wish.left_ms.into()).min(LONGEST_WISH);
    // The wish was under way for half a round trip.
    now + left.saturating_sub(round_trip / 2)
}

/// Writes a tile as one frame. The picture is not copied: players share it with the film.
async fn write_tile(
    stream: &mut SendStream,
    info: &FrameInfo,
    head: Head,
    picture: Bytes,
) -> Result<(), WriteError> {
    stream.write_frame(info, Bytes::copy_from_slice(&head.encode())).await?;
    stream.write_frame(info, picture).await
}

/// Bytes of a tile that was begun, until it is dropped.
struct Begun {
    player: Arc<Player>,
    bytes: usize,
}

impl Begun {
    fn new(player: Arc<Player>, bytes: usize) -> Self {
        player.begun.fetch_add(bytes, Ordering::Relaxed);
        Begun { player, bytes }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.player.begun.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What a film amounts to, for `make`.
pub(super) fn amount(film: &Film) -> String {
    format!("{:.1} s, {} in all", film.seconds(), units::bit_rate(film.bytes() as f64 * 8.0 / film.seconds()))
}
