//! What is sent: a file, or standard input.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use hawser_command::digest::{Digest, hash_prefix};
use hawser_command::exit::{Exit, Failure};
use hawser_command::http_client::describe;
use hawser_command::session::Exchange;
use hawser_command::stall::in_time;
use hawser_command::transfer::{Progress, RateLimit, Recorder};

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// What is sent.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Length and digest of a file; of standard input nothing is known beforehand.
    pub(super) known: Option<(u64, Digest)>,
}

impl Source {
    /// Opens a file and hashes it; `-` is standard input.
    pub(super) async fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Source { path: path.to_owned(), known: None });
        }
        let owned = path.to_owned();
        let hashed = tokio::task::spawn_blocking(move || {
            let file = File::open(&owned)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(std::io::Error::other("not a regular file"));
            }
            Ok((metadata.len(), Digest::of(hash_prefix(&file, metadata.len())?)))
        });
        let hashed = hashed.await.map_err(std::io::Error::other).and_then(|result| result);
        let known = hashed.map_err(|error| Failure::read(path, &error))?;
        Ok(Source { path: path.to_owned(), known: Some(known) })
    }

    pub(super) fn is_standard_input(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

/// Sends all of it from `offset` on; returns the digest of the whole. `stall`: how long the server may take nothing.
pub(super) async fn send(
    stream: &mut Exchange,
    source: &Source,
    offset: u64,
    progress: &Progress,
    recorder: &mut Recorder,
    limit: &mut Option<RateLimit>,
    stall: Option<Duration>,
) -> Result<Digest, Failure> {
    let mut blocks = read_blocks(source, offset);
    let mut hasher = source.known.is_none().then(Sha256::new);
    while let Some(block) = blocks.recv().await {
        let block = block.map_err(|error| Failure::read(&source.path, &error))?;
        let count = block.len() as u64;
        if let Some(hasher) = &mut hasher {
            hasher.update(&block);
        }
        let taken =
            in_time(stall, "the server answers, but took no byte of the file", stream.send_data(block))
                .await?;
        taken.map_err(|error| Failure::new(Exit::ConnectionLost, describe(&error)))?;
        recorder.record(Instant::now(), count);
        progress.add(count);
        if let Some(limit) = limit {
            limit.pace(count).await;
        }
    }
    stream.finish().await.map_err(|error| Failure::new(Exit::ConnectionLost, describe(&error)))?;
    Ok(match (hasher, &source.known) {
        (None, Some((_, digest))) => *digest,
        (hasher, _) => Digest::of(hasher.unwrap_or_default()),
    })
}

/// Reads ahead on a thread of its own.
fn read_blocks(source: &Source, offset: u64) -> mpsc::Receiver<std::io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(4);
    let (path, known) = (source.path.clone(), source.known);
    tokio::task::spawn_blocking(move || {
        let read = || match known {
            Some((length, _)) => read_file(&path, offset, length, &sender),
            None => read_standard_input(&sender),
        };
        if let Err(error) = read() {
            let _ = sender.blocking_send(Err(error));
        }
    });
    receiver
}

type Blocks = mpsc::Sender<std::io::Result<Bytes>>;

fn read_file(path: &Path, offset: u64, length: u64, blocks: &Blocks) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut left = length.saturating_sub(offset);
    while left > 0 {
        let mut block = vec![0; usize::try_from(left).unwrap_or(BLOCK).min(BLOCK)];
        file.read_exact(&mut block)?;
        left -= block.len() as u64;
        if blocks.blocking_send(Ok(block.into())).is_err() {
            break;
        }
    }
    Ok(())
}

fn read_standard_input(blocks: &Blocks) -> std::io::Result<()> {
    let mut input = std::io::stdin().lock();
    loop {
        let mut block = Vec::with_capacity(BLOCK);
        input.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
        if block.is_empty() || blocks.blocking_send(Ok(block.into())).is_err() {
            return Ok(());
        }
    }
}
