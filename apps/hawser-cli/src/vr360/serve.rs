//! `hawser vr360 serve`: tiles to players that ask for them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;

use super::Serve;
use super::carriers::{Carriers, WatchedSet};
use super::encode;
use super::film::Film;
use super::protocol::{self, CODE_BROKEN, CODE_DONE, Head, Lines, Said, Wish};
use super::under_way::{Place, Refused, UnderWay};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::Channel;
use crate::serve::{identity, listen, suggested_host};
use crate::sources::Sources;
use crate::units;
use hawser::policy::{FrameInfo, PolicySetFactory, Reliability, SegmentKind, Time};
use hawser::{Connection, Endpoint, Identity, Registry, SendStream, ServerConfig, WriteError};

/// Players at the same time.
const MAX_PLAYERS: usize = 256;
/// How long a player may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest time that a wish may look ahead.
const LONGEST_WISH: Duration = Duration::from_secs(60);
/// How long after its deadline it is waited for what became of a tile.
const AFTERMATH: Duration = Duration::from_secs(5);
/// Priority of a tile in view over all chunks of others.
const IN_VIEW: i32 = 1 << 30;

/// Serves until Ctrl-C.
pub(super) async fn run(
    arguments: Serve,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    arguments.encoding.shape()?;
    let identity =
        identity(arguments.cert.as_deref(), arguments.key_file.as_deref(), arguments.state.as_deref())?;
    let policies = arguments.transport.policies(registry)?;
    let sources = Sources::new(MAX_PLAYERS);
    let config = ServerConfig::builder(identity.clone());
    let config = sources.server(arguments.transport.server(registry, config, &super::PROFILE)?).build()?;
    arguments.allowed_schedulers.check(registry)?;
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        arguments.allowed_schedulers.apply(builder)
    };
    // Before the work of the encoder: a port that is taken is told at once.
    let endpoint = listen(builder, &identity, arguments.listen, super::DEFAULT_PORT, &[])?;
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
    output.remark(format_args!("hawser: {remote} plays"));
    let result = async {
        protocol::write(&mut send, &Said::Film(film.shape.clone())).await?;
        let player = Arc::new(Player {
            film,
            carriers,
            connection: connection.clone(),
            control: Mutex::new(send),
            under_way: UnderWay::default(),
        });
        let mut lines = Lines::new(receive);
        while let Some(wish) = lines.next::<Wish>().await? {
            player.grant(&wish);
        }
        Ok::<_, Failure>(())
    };
    let result = result.await;
    output.remark(format_args!("hawser: {remote} plays no longer"));
    match result {
        Err(failure) => {
            tracing::info!(%remote, %failure, "a player has gone");
            connection.close(CODE_BROKEN, failure.message.as_bytes());
        }
        Ok(()) => connection.close(CODE_DONE, b""),
    }
}

/// What the tasks of one player share.
struct Player {
    film: Arc<Film>,
    carriers: Carriers,
    connection: Connection,
    control: Mutex<SendStream>,
    under_way: UnderWay,
}

/// A tile on its way.
struct Order {
    chunk: u32,
    tile: u16,
    is_in_view: bool,
    deadline: Time,
    picture: Bytes,
}

impl Player {
    /// Sends what is wanted, tile by tile, in tasks of their own: none waits for the others.
    fn grant(self: &Arc<Self>, wish: &Wish) {
        let left = Duration::from_millis(wish.left_ms.into()).min(LONGEST_WISH);
        // The wish was under way for half a round trip.
        let deadline = self.connection.now() + left.saturating_sub(self.round_trip() / 2);
        let has = |tile| self.film.picture(wish.chunk, tile).cloned();
        for (place, order) in granted(wish, deadline, &self.under_way, has) {
            let player = self.clone();
            tokio::spawn(async move {
                let _place = place;
                let left = deadline.since(player.connection.now());
                let sending = player.send(order);
                let _ = tokio::time::timeout(left + AFTERMATH, sending).await;
            });
        }
    }

    async fn send(&self, order: Order) {
        let Order { chunk, tile, is_in_view, deadline, picture } = order;
        let Ok(mut stream) = self.connection.open_uni().await else { return };
        if self.connection.now() >= deadline {
            let _ = stream.reset(CODE_DONE);
            return;
        }
        let watched = self.carriers.watch(stream.id());
        // Earlier chunks first, but before all what is in view.
        let priority = if is_in_view { IN_VIEW } else { 0 };
        let priority = priority.saturating_sub(i32::try_from(chunk % (1 << 29)).unwrap_or_default());
        let _ = stream.set_priority(priority);
        let can_discard = self.connection.can_discard();
        let info = FrameInfo {
            id: u64::from(chunk) << 16 | u64::from(tile),
            kind: SegmentKind::KeyFrame,
            layer: u32::from(tile),
            deadline: Some(deadline),
            dependencies: Vec::new(),
            priority,
            reliability: if can_discard { Reliability::UntilDeadline } else { Reliability::Reliable },
        };
        let length = u32::try_from(picture.len()).unwrap_or(u32::MAX);
        if write_tile(&mut stream, &info, Head { chunk, tile, length }, picture).await.is_ok()
            && stream.finish().is_ok()
        {
            let arrived = stream.stopped().await;
            let paths = watched.paths();
            if matches!(arrived, Ok(None)) && !paths.is_empty() {
                let said = Said::Carried { chunk, tile, paths };
                let _ = protocol::write(&mut *self.control.lock().await, &said).await;
            }
        }
    }

    fn round_trip(&self) -> Duration {
        let paths = self.connection.paths().into_iter();
        let stats = paths.filter_map(|path| self.connection.path_stats(path.id));
        stats.map(|stats| stats.min_rtt).filter(|rtt| !rtt.is_zero()).min().unwrap_or_default()
    }
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

/// The tiles of a wish in its order, each once and with its place among those under way, as far as there are places.
fn granted<'a>(
    wish: &'a Wish,
    deadline: Time,
    under_way: &'a UnderWay,
    picture: impl Fn(u16) -> Option<Bytes> + 'a,
) -> impl Iterator<Item = (Place, Order)> + 'a {
    let view = wish.view.iter().map(|tile| (*tile, true));
    let tiles = view.chain(wish.margin.iter().map(|tile| (*tile, false)));
    let begun = tiles.filter_map(move |(tile, is_in_view)| {
        let picture = picture(tile)?;
        let place = match under_way.begin(wish.chunk, tile, picture.len()) {
            Ok(place) => Some(place),
            Err(Refused::Full) => None,
            Err(Refused::Twice) => return None,
        };
        Some((place, Order { chunk: wish.chunk, tile, is_in_view, deadline, picture }))
    });
    begun.map_while(|(place, order)| Some((place?, order)))
}

/// What a film amounts to, for `make`.
pub(super) fn amount(film: &Film) -> String {
    format!("{:.1} s, {} in all", film.seconds(), units::bit_rate(film.bytes() as f64 * 8.0 / film.seconds()))
}

#[cfg(test)]
mod tests {
    use super::super::under_way::MAX_BYTES;
    use super::*;

    /// Whatever a player wishes for: what is under way has a cap, no tile is under way twice, tiles that are not there have
    /// no place, and what ended makes room.
    #[test]
    fn a_player_has_so_many_tiles_under_way() {
        let under_way = UnderWay::default();
        let picture = Bytes::from(vec![0; MAX_BYTES / 10]);
        let has = |tile: u16| (tile < 100).then(|| picture.clone());
        let wish = Wish { chunk: 3, left_ms: 1000, view: vec![5; 4096], margin: (0..=u16::MAX).collect() };
        let mut first: Vec<_> = granted(&wish, Time::ZERO, &under_way, &has).collect();
        let tiles: Vec<(u16, bool)> = first.iter().map(|(_, order)| (order.tile, order.is_in_view)).collect();
        let margin = [0, 1, 2, 3, 4, 6, 7, 8, 9].map(|tile| (tile, false));
        assert_eq!(tiles, [vec![(5, true)], margin.to_vec()].concat());
        assert_eq!(granted(&wish, Time::ZERO, &under_way, &has).count(), 0);
        first.truncate(7);
        assert_eq!(granted(&wish, Time::ZERO, &under_way, &has).collect::<Vec<_>>().len(), 3);
    }
}
