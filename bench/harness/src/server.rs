//! The server: answers every request of every connection.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncReadExt;

use crate::Error;
use crate::options::ServerOptions;
use crate::process::{CpuTime, max_rss_kib};
use crate::report::{PathSample, Ready, ServerReport};
use crate::stack::{CHUNKS, Connection, Listener, ReceiveStream, SendStream, Stack};

/// Bytes handed to the stack at once.
const CHUNK: usize = 256 * 1024;
/// How often paths are looked at when there are several.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// What all connections count together.
#[derive(Default)]
struct Counters {
    bytes: AtomicU64,
    connections: AtomicU64,
    abandoned: AtomicU64,
    paths: Mutex<Vec<PathSample>>,
}

pub(crate) async fn serve<S: Stack>(options: &ServerOptions) -> Result<(), Error> {
    let mut listener = S::listen(options)?;
    print_line(&serde_json::to_string(&Ready { listening: listener.local_address()? })?)?;
    let before = CpuTime::now();
    let counters = Arc::new(Counters::default());
    // Shared, and never written again: the stacks take references to it.
    let content = Bytes::from(vec![0x5a; CHUNK]);
    let sample = options.common.multipath;
    let serving = async {
        while let Some(handshake) = listener.accept().await {
            let (content, counters) = (content.clone(), counters.clone());
            tokio::spawn(async move {
                match handshake.await {
                    Ok(connection) => serve_connection(connection, content, counters, sample).await,
                    // Not worth a word: a client that races its handshake over several links abandons all but one.
                    Err(_) => {
                        counters.abandoned.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    };
    tokio::select! {
        () = serving => return Err("the listener ended".into()),
        result = standard_input_closed() => result?,
    }
    let report = ServerReport {
        stack: S::NAME.to_owned(),
        bytes: counters.bytes.load(Ordering::Relaxed),
        connections: counters.connections.load(Ordering::Relaxed),
        abandoned: counters.abandoned.load(Ordering::Relaxed),
        cpu: CpuTime::now() - before,
        max_rss_kib: max_rss_kib(),
        paths: std::mem::take(&mut *counters.paths.lock().unwrap_or_else(PoisonError::into_inner)),
    };
    print_line(&serde_json::to_string(&report)?)
}

async fn serve_connection<C: Connection>(
    mut connection: C,
    content: Bytes,
    counters: Arc<Counters>,
    sample: bool,
) {
    counters.connections.fetch_add(1, Ordering::Relaxed);
    let sampler = sample.then(|| connection.path_sampler()).flatten().map(|mut sampler| {
        let counters = counters.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SAMPLE_INTERVAL).await;
                counters.paths.lock().unwrap_or_else(PoisonError::into_inner).extend(sampler());
            }
        })
    });
    while let Some((mut send, mut receive)) = connection.accept().await {
        let (content, counters) = (content.clone(), counters.clone());
        tokio::spawn(async move {
            if let Err(error) = answer(&mut send, &mut receive, &content, &counters).await {
                eprintln!("bench server: stream: {error}");
            }
        });
    }
    if let Some(sampler) = sampler {
        sampler.abort();
    }
}

async fn answer<W: SendStream, R: ReceiveStream>(
    send: &mut W,
    receive: &mut R,
    content: &Bytes,
    counters: &Counters,
) -> Result<(), Error> {
    let mut request = Vec::with_capacity(8);
    let mut chunks = [const { Bytes::new() }; CHUNKS];
    while let Some(filled) = receive.receive(&mut chunks).await? {
        chunks[..filled].iter().for_each(|chunk| request.extend_from_slice(chunk));
    }
    let wanted: [u8; 8] = request.try_into().map_err(|_| "a request has eight bytes")?;
    let mut left = u64::from_be_bytes(wanted);
    counters.bytes.fetch_add(left, Ordering::Relaxed);
    while left > 0 {
        let length = left.min(content.len() as u64);
        send.send(content.slice(..length as usize)).await?;
        left -= length;
    }
    send.finish()
}

async fn standard_input_closed() -> Result<(), Error> {
    let mut ignored = [0; 64];
    let mut input = tokio::io::stdin();
    while input.read(&mut ignored).await? > 0 {}
    Ok(())
}

fn print_line(line: &str) -> Result<(), Error> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}
