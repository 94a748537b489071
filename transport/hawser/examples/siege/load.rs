//! Much of everything that is allowed, of a bounded size, each with a victim.

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use hawser::{Connection, Endpoint, Links};

use super::client::{Client, address, config};
use super::forms::garbage;
use super::server::{Server, Usage};
use super::{Error, PATIENCE};

const IDLE: usize = 20_000;
const HANDSHAKES: usize = 2_000;
const HALF_OPEN: usize = 4_000;
const GARBAGE: u64 = 200_000;

const H3: &[u8] = hawser_h3::ALPN;

/// Prints the table. Returns whether every victim was served in time.
pub(crate) async fn run(command: &Path) -> Result<bool, Error> {
    println!("| load | count | seconds | CPU | KiB held | for each | victim |");
    println!("|---|---|---|---|---|---|---|");
    let mut all = true;
    all &= idle(command).await?;
    all &= handshakes(command).await?;
    all &= half_open(command).await?;
    all &= noise(command).await?;
    all &= super::drain::run(command).await?;
    Ok(all)
}

/// A server that lets one address have all that is asked for here.
fn start(command: &Path) -> Result<Server, Error> {
    let unlimited = ["--connections-per-source", "0", "--handshakes-per-source", "0"];
    let server = Server::start(command, &[&["serve", "FOLDER"][..], &unlimited].concat())?;
    std::fs::write(server.folder().join("small"), b"content")?;
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

/// Runs a load, with one victim after the other. Returns the longest that one of them waited.
async fn with_victims(
    server: &Server,
    load: impl Future<Output = Result<(), Error>>,
) -> Result<Duration, Error> {
    tokio::pin!(load);
    let mut worst = Duration::ZERO;
    loop {
        let next = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            victim(server).await
        };
        tokio::select! {
            done = &mut load => return done.map(|()| worst),
            waited = next => worst = worst.max(waited),
        }
    }
}

/// Prints a line, and says whether all victims were served in time, those behind the load as well.
async fn report(
    name: &str,
    count: u64,
    server: &Server,
    (before, began): (Usage, Instant),
    worst: Duration,
) -> Result<bool, Error> {
    let seconds = began.elapsed().as_secs_f64();
    let now = server.usage()?;
    let worst = worst.max(victim(server).await);
    let held = now.memory.saturating_sub(before.memory) >> 10;
    println!(
        "| {name} | {count} | {seconds:.1} | {:.2} s | {held} | {:.1} KiB | {:.2} s |",
        (now.cpu - before.cpu).as_secs_f64(),
        held as f64 / count as f64,
        worst.as_secs_f64()
    );
    Ok(worst < PATIENCE)
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
    let (before, began) = (server.usage()?, Instant::now());
    let mut held = Vec::with_capacity(IDLE);
    let load = async {
        while held.len() < IDLE {
            held.push(connect(&endpoint, &server, began).await?);
        }
        Ok(())
    };
    let worst = with_victims(&server, load).await?;
    let lost = held.iter().filter(|connection| connection.close_reason().is_some()).count();
    if lost > 0 {
        return Err(format!("{lost} of {IDLE} connections were lost").into());
    }
    report("idle connections", IDLE as u64, &server, (before, began), worst).await
}

async fn handshakes(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let endpoint = Endpoint::client(config(&server, H3, hawser::default_transport())?, Links::All)?;
    let (before, began) = (server.usage()?, Instant::now());
    let load = async {
        for _ in 0..HANDSHAKES {
            connect(&endpoint, &server, began).await?.close(0x100, b"");
        }
        Ok(())
    };
    let worst = with_victims(&server, load).await?;
    report("handshakes", HANDSHAKES as u64, &server, (before, began), worst).await
}

/// Initial packets that the server answers, and nobody hears it.
async fn half_open(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let trap = tokio::net::UdpSocket::bind("127.0.0.1:0").await?;
    let to = trap.local_addr()?;
    let endpoint = Endpoint::client(config(&server, H3, hawser::default_transport())?, Links::All)?;
    let (before, began) = (server.usage()?, Instant::now());
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let load = async {
        for _ in 0..HALF_OPEN {
            let endpoint = endpoint.clone();
            let connecting = tokio::spawn(async move { endpoint.connect(to, "localhost").await.map(drop) });
            let mut datagram = vec![0; 2048];
            let length = tokio::time::timeout(Duration::from_secs(5), trap.recv(&mut datagram)).await??;
            connecting.abort();
            socket.send_to(&datagram[..length], address(&server))?;
        }
        Ok(())
    };
    let worst = with_victims(&server, load).await?;
    report("half-open connections", HALF_OPEN as u64, &server, (before, began), worst).await
}

async fn noise(command: &Path) -> Result<bool, Error> {
    let server = start(command)?;
    let (before, began) = (server.usage()?, Instant::now());
    let to = address(&server);
    let flood = tokio::task::spawn_blocking(move || garbage(to, GARBAGE));
    let worst = with_victims(&server, async { Ok(flood.await?.map(drop)?) }).await?;
    report("garbage", GARBAGE, &server, (before, began), worst).await
}
