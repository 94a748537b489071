//! Recordings: fragmented MP4, whole up to its last fragment wherever its writer died.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hawser_media::mp4::{Part, SegmentEvent, Segmenter};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::hub::{Hub, Next};
use super::sink::AFTER_END;
use hawser_command::output::Output;

/// Milliseconds of a fragment: so much is lost when the machine dies.
const FRAGMENT_MS: u32 = 1_000;
/// How often what was written is brought to the disk.
const SYNC_AFTER: Duration = Duration::from_secs(5);
/// Files of the same second.
const MAX_TRIES: u32 = 1_000;

/// Records what comes into files of a folder, one for each source and set-up of its decoders.
pub(super) struct Recorder {
    pub(super) folder: PathBuf,
    /// With which the names of its files begin.
    pub(super) name: String,
    pub(super) output: Output,
}

/// A file that is being written.
struct Open {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Recorder {
    /// Until it is dropped. A disk that takes nothing ends the file, and the next key frame begins another one.
    pub(super) async fn run(self, hub: Arc<Hub>) {
        let mut subscription = hub.subscribe();
        let mut segmenter = Segmenter::new(FRAGMENT_MS);
        let mut header = Bytes::new();
        let mut open: Option<Open> = None;
        let (mut has_ended, mut has_failed) = (false, false);
        loop {
            let next = match has_ended {
                true => tokio::time::timeout(AFTER_END, subscription.next()).await.ok(),
                false => Some(subscription.next().await),
            };
            has_ended = matches!(next, Some(Next::End));
            let is_over = next.is_none();
            let events = match next {
                Some(Next::Unit(unit)) => segmenter.push(&unit.tag),
                Some(Next::End) => continue,
                None => segmenter.finish().map(SegmentEvent::Part).into_iter().collect(),
            };
            for event in events {
                match event {
                    // Other decoders: another file.
                    SegmentEvent::Header(_, bytes) => {
                        header = bytes;
                        self.end(&mut open);
                    }
                    SegmentEvent::Part(part) => {
                        let written = self.write(&mut open, &header, &part).await;
                        if let Err(error) = &written {
                            open = None;
                            if !has_failed {
                                let folder = self.folder.display();
                                self.output
                                    .remark(format_args!("hawser: nothing is recorded in {folder}: {error}"));
                            }
                        }
                        has_failed = written.is_err();
                    }
                }
            }
            // Nobody follows: what comes later begins another file.
            if is_over {
                self.end(&mut open);
            }
        }
    }

    fn end(&self, open: &mut Option<Open>) {
        if let Some(done) = open.take() {
            self.output.remark(format_args!("hawser: recorded {}", done.path.display()));
        }
    }

    /// Writes a part; a file begins with one that can be decoded.
    async fn write(&self, open: &mut Option<Open>, header: &[u8], part: &Part) -> std::io::Result<()> {
        if open.is_none() && part.is_independent {
            let (mut file, path) = create(&self.folder, &self.name).await?;
            file.write_all(header).await?;
            *open = Some(Open { file, path, synced: Instant::now() });
        }
        let Some(open) = open else { return Ok(()) };
        open.file.write_all(&part.bytes).await?;
        open.file.flush().await?;
        if open.synced.elapsed() >= SYNC_AFTER {
            open.file.sync_data().await?;
            open.synced = Instant::now();
        }
        Ok(())
    }
}

/// A new file with the time in its name. No file is written over.
async fn create(folder: &Path, name: &str) -> std::io::Result<(File, PathBuf)> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let date: String =
        super::hls::date(seconds * 1_000).chars().filter(|char| !"-:".contains(*char)).take(15).collect();
    let mut last = None;
    for number in 0..MAX_TRIES {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}-{date}Z{number}.mp4"));
        match OpenOptions::new().write(true).create_new(true).open(&path).await {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = Some(error),
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into()))
}
