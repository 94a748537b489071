//! Much of everything that is allowed, of a bounded size, and garbage as fast as the kernel takes it; each with victims.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use hawser::{Connection, Endpoint, Links};

use super::client::{Client, address, config};
use super::flood::{Flood, Garbage, Sources, initials, send_from};
use super::form::H3;
use super::server::{Server, Usage};
use super::{Error, PATIENCE};

const IDLE: usize = 20_000;
const HANDSHAKES: usize = 2_000;
const HALF_OPEN: usize = 4_000;
/// How long victims ask while there are half-open connections, and how long garbage comes.
const LASTS: Duration = Duration::from_secs(10);

/// Prints the table of these loads, or of all if none are named. Returns whether victims were served in time.
pub(crate) async fn run(command: &Path, names: &[String]) -> Result<bool, Error> {
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    println!("| load | count | seconds | CPU | KiB held | for each | victims | median | longest | late | |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut all = true;
    if is_wanted("idle") {
        all &= idle(command).await?;
    }
    if is_wanted("handshakes") {
        all &= handshakes(command).await?;
    }
    if is_wanted("half-open") {
        all &= half_open(command, "half-open connections of one address", Sources::OneAddress).await?;
        all &= half_open(command, "half-open connections of many addresses", Sources::ManyAddresses).await?;
    }
    if is_wanted("garbage") {
        all &= noise(command).await?;
    }
    if is_wanted("drain") {
        all &= super::drain::run(command).await?;
    }
    Ok(all)
}

/// A server that lets one address have all that is asked for here.
fn start(command: &Path) -> Result<Server, Error> {
    let unlimited = ["--connections-per-source", "0", "--handshakes-per-source", "0"];
    let server = Server::start(command, &[&["serve", "FOLDER"][..], &unlimited].concat(), None)?;
    fs::write(server.folder().join("small"), b"content")?;
    Ok(server)
}

/// How long a victim waits for a connection and a small file.
async fn victim(server: &Server) -> Duration {
    let asked = Instant::now();
    let served = async { Client::connect(server, H3).await?.get_small().await };
    match tokio::time::timeout(PATIENCE * 5, served).await {
        Ok(Ok(())) => asked.elapsed(),
        _ => PATIENCE * 5,
    }
}

/// A server before a load.
struct Before {
    used: Usage,
    at: Instant,
}

impl Before {
    fn of(server: &Server) -> Result<Self, Error> {
        Ok(Before { used: server.usage()?, at: Instant::now() })
    }
}

/// Runs a load, with one victim after the other. Returns how long each of them waited.
async fn with_victims(
    server: &Server,
    load: impl Future<Output = Result<(), Error>>,
) -> Result<Vec<Duration>, Error> {
    tokio::pin!(load);
    let mut waited = Vec::new();
    loop {
        let next = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            victim(server).await
        };
        tokio::select! {
            done = &mut load => return done.map(|()| waited),
            one = next => waited.push(one),
        }
    }
}

/// What is said of a load.
struct Load<'a> {
    name: &'a str,
    count: u64,
    note: &'a str,
    /// How many of a hundred victims may wait for longer than the others.
    late: usize,
}

impl<'a> Load<'a> {
    fn of(name: &'a str, count: usize) -> Self {
        Load { name, count: count as u64, note: "", late: 0 }
    }
}

/// Prints a line, and says whether victims were served in time, one behind the load as well.
async fn report(
    Load { name, count, note, late }: Load<'_>,
    server: &Server,
    before: &Before,
    mut waited: Vec<Duration>,
) -> Result<bool, Error> {
    let seconds = before.at.elapsed().as_secs_f64();
    let now = server.usage()?;
    waited.push(victim(server).await);
    waited.sort_unstable();
    let (median, longest) = (waited[waited.len() / 2], waited[waited.len() - 1]);
    let are_late = waited.iter().filter(|waited| **waited >= PATIENCE).count();
    let held = now.memory.saturating_sub(before.used.memory) >> 10;
    println!(
        "| {name} | {count} | {seconds:.1} | {:.2} s | {held} | {:.1} KiB | {} | {:.3} s | {:.2} s | {are_late} | {note} |",
        (now.cpu - before.used.cpu).as_secs_f64(),
        held as f64 / count as f64,
        waited.len(),
        median.as_secs_f64(),
        longest.as_secs_f64()
    );
    Ok(are_late * 100 <= late * waited.len() && longest < PATIENCE * 5)
}

/// A connection. A server that has no time for new clients says so: others come back, too.
async fn connect(endpoint: &Endpoint, server: &Server, began: Instant) -> Result<Connection, Error> {
    loop {
        match endpoint.connect(address(server), "localhost").await {
            Ok(connection) => return Ok(connection),
            Err(error) if began.elapsed() > PATIENCE * 300 => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn idle(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let transport = hawser::default_transport()
        .with(|transport| // The first ones must not be silent for too long until the last one is there.
        transport.keep_alive_interval = Some(Duration::from_secs(15)));
    let endpoint = Endpoint::client(config(&server, H3, transport)?, Links::All)?;
    let before = Before::of(&server)?;
    let mut held = Vec::with_capacity(IDLE);
    let load = async {
        while held.len() < IDLE {
            held.push(connect(&endpoint, &server, before.at).await?);
        }
        Ok(())
    };
    let waited = with_victims(&server, load).await?;
    let lost = held.iter().filter(|connection| connection.close_reason().is_some()).count();
    if lost > 0 {
        return Err(format!("{lost} of {IDLE} connections were lost").into());
    }
    report(Load::of("idle connections", IDLE), &server, &before, waited).await
}

async fn handshakes(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let endpoint = Endpoint::client(config(&server, H3, hawser::default_transport())?, Links::All)?;
    let before = Before::of(&server)?;
    let load = async {
        for _ in 0..HANDSHAKES {
            connect(&endpoint, &server, before.at).await?.close(0x100, b"");
        }
        Ok(())
    };
    let waited = with_victims(&server, load).await?;
    report(Load::of("handshakes", HANDSHAKES), &server, &before, waited).await
}

/// First packets that the server answers, and nobody hears it. All are there at once, and victims ask while they wait.
async fn half_open(command: &Path, name: &str, sources: Sources) -> Result<bool, Error> {
    let server = start(command)?;
    let (made, to) = (initials(&server, H3, HALF_OPEN)?, address(&server));
    let (before, earlier) = (Before::of(&server)?, dropped(&server)?);
    let load = async {
        tokio::task::spawn_blocking(move || send_from(sources, &made, to)).await??;
        tokio::time::sleep(LASTS).await;
        Ok(())
    };
    let waited = with_victims(&server, load).await?;
    let note = match dropped(&server)? - earlier {
        0 => String::new(),
        lost => format!("the kernel dropped {lost} datagrams"),
    };
    report(Load { note: &note, ..Load::of(name, HALF_OPEN) }, &server, &before, waited).await
}

/// Garbage from half of the cores, without a pause.
async fn noise(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2).clamp(1, 4);
    let flood = || {
        let mut garbage = Garbage::new(address(&server))?;
        Ok::<_, io::Error>(Flood::start(None, move || garbage.send()))
    };
    let (before, earlier) = (Before::of(&server)?, dropped(&server)?);
    let floods: Vec<Flood> = (0..threads).map(|_| flood()).collect::<Result<_, _>>()?;
    let waited = with_victims(&server, async {
        tokio::time::sleep(LASTS).await;
        Ok(())
    })
    .await?;
    let (packets, bytes) =
        floods.iter().map(Flood::sent).fold((0, 0), |sum, sent| (sum.0 + sent.0, sum.1 + sent.1));
    let seconds = before.at.elapsed().as_secs_f64();
    let lost = dropped(&server)? - earlier;
    let note = format!(
        "{:.0} packets and {:.0} Mbit in a second; the kernel dropped {:.0} % of them at the server's socket",
        packets as f64 / seconds,
        bytes as f64 * 8.0 / seconds / 1e6,
        lost as f64 * 100.0 / packets as f64
    );
    // One victim behind the flood.
    drop(floods);
    // A victim's first packet that the kernel drops, it sends again after a second (RFC 9002 section 6.2.2); no server hears of it.
    report(Load { name: "garbage", count: packets, note: &note, late: 10 }, &server, &before, waited).await
}

/// Datagrams that the kernel has dropped since the server does not read them fast enough.
fn dropped(server: &Server) -> Result<u64, Error> {
    let port = format!(":{:04X}", server.port);
    let sockets = fs::read_to_string("/proc/net/udp")?;
    let of_server = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_server = of_server.filter(|fields| fields.get(1).is_some_and(|local| local.ends_with(&port)));
    Ok(of_server.filter_map(|fields| fields.last()?.parse::<u64>().ok()).sum())
}
