//! Downloads while a server reloads what can be reloaded, and then is told to end: none may be lost.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hawser::Endpoint;
use tokio::task::JoinSet;

use super::Error;
use super::client::{Client, GET, address, config, request};
use super::server::Server;

const DOWNLOADS: usize = 64;
const LENGTH: usize = 8 << 20;

/// Prints a line. Returns whether all downloads came, a new client was refused, and the server ended by itself.
pub(crate) async fn run(command: &Path) -> Result<bool, Error> {
    let mut server = Server::start(command, &["serve", "FOLDER", "--grace", "60"], None)?;
    let content: Vec<u8> = (0..LENGTH).map(|at| (at * 7 + at / 251) as u8).collect();
    fs::write(server.folder().join("large"), &content)?;
    fs::write(server.folder().join("small"), b"content")?;
    let began = Instant::now();
    let mut downloads = JoinSet::new();
    for _ in 0..DOWNLOADS {
        let client = Client::connect(&server, hawser_h3::ALPN).await?;
        let mut answer = client.ask(&request(GET, "/large", &[])).await?;
        downloads.spawn(async move {
            let bytes = answer.read_to_end(2 * LENGTH).await;
            // With all its streams.
            drop(client);
            bytes
        });
    }
    server.signal("HUP")?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let still = downloads.len();
    Client::connect(&server, hawser_h3::ALPN).await?.get_small().await?;
    server.signal("TERM")?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let transport = hawser::default_transport();
    let endpoint = Endpoint::client(config(&server, hawser_h3::ALPN, transport)?, hawser::Links::All)?;
    let is_refused = endpoint.connect(address(&server), "localhost").await.is_err();
    let mut whole = 0;
    while let Some(bytes) = downloads.join_next().await {
        // Behind the frames of HTTP, of which DATA is cut into several.
        whole += usize::from(bytes?.is_ok_and(|bytes| body(&bytes) == content));
    }
    let seconds = began.elapsed().as_secs_f64();
    let ended = server.ends(Duration::from_secs(20))?;
    println!(
        "| reload (SIGHUP) and drain (SIGTERM) | {DOWNLOADS} downloads of {} MiB | {seconds:.1} | - | - | - | - | - | - | - | \
         {whole} whole, {still} were running; a new client {}; {} |",
        LENGTH >> 20,
        if is_refused { "refused" } else { "TAKEN" },
        if ended { "ended by itself" } else { "DID NOT END" },
    );
    Ok(whole == DOWNLOADS && is_refused && ended)
}

/// What DATA frames hold.
fn body(mut bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    while let Some((kind, rest)) = varint(bytes) {
        let Some((length, rest)) = varint(rest) else { break };
        let Some((content, rest)) = rest.split_at_checked(length as usize) else { break };
        if kind == 0 {
            found.extend_from_slice(content);
        }
        bytes = rest;
    }
    found
}

/// RFC 9000 section 16.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, _) = bytes.split_first()?;
    let (integer, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value =
        integer.iter().skip(1).fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}
