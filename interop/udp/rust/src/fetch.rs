//! The client: all files at the same time, on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{Context, SHA256};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::Error;
use crate::options::{Get, Url};
use crate::stacks::{Client, Connection};

const MEBIBYTE: u64 = 1 << 20;
/// Bytes read at a time.
const BLOCK: usize = 1 << 16;

/// Fetches, and prints what came.
pub(crate) async fn run<C: Client>(client: &C, options: &Get) -> Result<(), Error> {
    let (server, name) = options.server()?;
    if options.early {
        // The first connection is for the ticket.
        let connection = Arc::new(client.connect(server, &name).await?);
        fetch_all(&connection, &options.urls[..1]).await?;
        connection.close().await;
    }
    let connection = Arc::new(client.connect(server, &name).await?);
    let responses = fetch_all(&connection, &options.urls).await?;
    connection.close().await;
    println!("{}", json!({ "connections": 1, "responses": responses }));
    Ok(())
}

/// The answers, in the order of the URLs.
async fn fetch_all<C: Connection>(connection: &Arc<C>, urls: &[Url]) -> Result<Vec<Value>, Error> {
    let received = Arc::new(AtomicU64::new(0));
    let mut requests = JoinSet::new();
    for (index, url) in urls.iter().cloned().enumerate() {
        let (connection, received) = (connection.clone(), received.clone());
        requests.spawn(async move { (index, fetch(&*connection, &url, &received).await) });
    }
    let mut responses = vec![Value::Null; urls.len()];
    while let Some(done) = requests.join_next().await {
        let (index, response) = done?;
        responses[index] = response.map_err(|error| format!("{}: {error}", urls[index].text))?;
    }
    Ok(responses)
}

async fn fetch<C: Connection>(connection: &C, url: &Url, received: &AtomicU64) -> Result<Value, Error> {
    let (mut send, mut receive) = connection.open().await?;
    send.write_all(format!("GET {}\r\n", url.path).as_bytes()).await?;
    send.shutdown().await?;
    let mut digest = Context::new(&SHA256);
    let (mut length, mut block) = (0, vec![0; BLOCK]);
    loop {
        let count = receive.read(&mut block).await?;
        if count == 0 {
            break;
        }
        digest.update(&block[..count]);
        length += count as u64;
        let before = received.fetch_add(count as u64, Ordering::Relaxed);
        for mebibyte in before / MEBIBYTE..(before + count as u64) / MEBIBYTE {
            connection.on_mebibyte(mebibyte + 1)?;
        }
    }
    Ok(json!({ "url": url.text, "length": length, "sha256": hex(digest.finish().as_ref()) }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
