//! Bytes on their way to a file: hashed and written by a thread of their own, so that the network does not wait for either.

use std::fs::File;
use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Bytes gathered before they are handed over.
const BLOCK: usize = 1 << 18;
/// Blocks on their way.
const QUEUE: usize = 16;

/// Writes to the end of a file or to standard output.
#[derive(Debug)]
pub struct Writer {
    gathered: BytesMut,
    queue: mpsc::Sender<Bytes>,
    thread: JoinHandle<(Sink, Sha256, io::Result<()>)>,
}

/// Where bytes end.
#[derive(Debug)]
pub enum Sink {
    /// A file, at its current position.
    File(File),
    /// Standard output.
    Stdout(io::Stdout),
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file) => file.write_all(bytes),
            Sink::Stdout(stdout) => stdout.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// The disk would not take it: ask [`Writer::finish`] why.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

impl Writer {
    /// Goes on with a hasher that has seen what the sink holds already.
    pub fn start(mut sink: Sink, mut hasher: Sha256) -> Self {
        let (queue, mut blocks) = mpsc::channel::<Bytes>(QUEUE);
        let thread = tokio::task::spawn_blocking(move || {
            while let Some(block) = blocks.blocking_recv() {
                hasher.update(&block);
                if let Err(error) = sink.write_all(&block) {
                    return (sink, hasher, Err(error));
                }
            }
            let flushed = sink.flush();
            (sink, hasher, flushed)
        });
        Writer { gathered: BytesMut::with_capacity(BLOCK), queue, thread }
    }

    /// Adds bytes; waits when the disk is slower than the network.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= BLOCK { self.hand_over().await } else { Ok(()) }
    }

    async fn hand_over(&mut self) -> Result<(), Broken> {
        let block = std::mem::replace(&mut self.gathered, BytesMut::with_capacity(BLOCK)).freeze();
        self.queue.send(block).await.map_err(|_| Broken)
    }

    /// Writes what is left and gives back the sink and the hasher.
    pub async fn finish(mut self) -> (Option<Sink>, Sha256, io::Result<()>) {
        let _ = self.hand_over().await;
        drop(self.queue);
        match self.thread.await {
            Ok((sink, hasher, result)) => (Some(sink), hasher, result),
            Err(error) => (None, Sha256::new(), Err(io::Error::other(error))),
        }
    }
}
