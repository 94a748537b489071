//! Idle connections, and what they leave of the receive windows of others.

use std::time::{Duration, Instant};

use hawser::{Endpoint, Links};

use super::Error;
use super::client::{Client, address, config, upload};
use super::form::{FORM, Form, H3, HANDSHAKES, Siege};
use super::link::{Link, Shape};

/// A window of 1 MiB, which is the first one, lets 42 Mbit/s over it.
const LONG: Shape =
    Shape { rate: 100e6, delay: Duration::from_millis(100), queue: Duration::from_millis(400) };
const BYTES: usize = 48 << 20;
const BLOCK: usize = 1 << 18;
/// What others have of the link while there are idle connections, of what they have otherwise, at least.
const LEAST: f64 = 0.75;
/// An upload takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stores a file over a long path. Returns the rate, in Mbit/s.
async fn store(siege: &mut Siege<'_>, path: &str) -> Result<f64, Error> {
    let link = Link::to(address(siege.server), LONG)?;
    let endpoint = Endpoint::client(config(siege.server, H3, hawser::default_transport())?, Links::Routed)?;
    let client = Client::of(&endpoint, link.address(), H3).await?;
    let began = Instant::now();
    let (mut send, mut answer) = client.connection.open_bi().await?;
    send.write_all(&upload(path, BYTES as u64)).await?;
    let block = vec![5; BLOCK];
    for _ in 0..BYTES / BLOCK {
        tokio::time::timeout(PATIENCE, send.write_all(&block)).await??;
    }
    send.finish()?;
    tokio::time::timeout(PATIENCE, answer.read_to_end(1 << 16)).await??;
    let rate = BYTES as f64 * 8.0 / began.elapsed().as_secs_f64() / 1e6;
    let file = siege.server.folder().join(path.trim_start_matches('/'));
    if std::fs::metadata(file)?.len() != BYTES as u64 {
        return Err("the file was not stored".into());
    }
    let stats = client.connection.stats();
    siege.raw = (siege.raw.0 + stats.datagrams_sent, siege.raw.1 + stats.bytes_sent);
    Ok(rate)
}

async fn shrink_windows(siege: &mut Siege<'_>) -> Result<(), Error> {
    let alone = store(siege, "/alone").await?;
    siege.crowd(990, 1 << 16, 1 << 20).await?;
    let next_to_them = store(siege, "/crowded").await?;
    let idle = siege.clients.iter().filter(|client| client.connection.close_reason().is_none()).count();
    siege.expect(idle > 900, || format!("only {idle} connections are still there"));
    siege.expect(next_to_them >= alone * LEAST, || "windows shrink".to_owned());
    siege.found = Some(format!("{alone:.0} and {next_to_them:.0} Mbit/s next to {idle} idle connections"));
    Ok(())
}

pub(crate) const IDLE: &[Form] = &[Form {
    name: "windows next to idle connections",
    attacks: &[16],
    arguments: &["serve", "FOLDER", "--allow-put"],
    attack: |siege| Box::pin(shrink_windows(siege)),
    micros: HANDSHAKES,
    mebibytes: 96,
    ..FORM
}];
