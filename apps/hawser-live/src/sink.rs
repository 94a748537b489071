//! Streams to those who take them: players over HTTP, files and pipes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::formats::{Format, Muxer, Written};
use super::hub::{Hub, Next, Subscription};
use super::status::Status;
use hawser_command::exit::Failure;

/// How long a player may take nothing.
pub(super) const STALL: Duration = Duration::from_secs(60);
/// How long players are kept when their source is done; another may follow.
pub(super) const AFTER_END: Duration = Duration::from_secs(10);

/// When a stream ends for one that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// With its source.
    WithSource,
    /// When no other source follows within [`AFTER_END`].
    WithoutSuccessor,
    /// Never.
    Never,
}

/// What is written before the first bytes of a stream whose media type was not known before.
pub(super) type Head<'a> = &'a (dyn Fn(&str) -> Vec<u8> + Sync);

/// Writes a stream until the player goes, or until it ends.
pub(super) async fn write_stream(
    sink: &mut (impl AsyncWrite + Unpin),
    mut subscription: Subscription,
    format: Format,
    (status, who): (&Status, &str),
    ends: Ends,
    head: Head<'_>,
) -> std::io::Result<()> {
    let mut muxer = Muxer::new(format);
    let mut has_ended = false;
    loop {
        let next = match has_ended && ends == Ends::WithoutSuccessor {
            true => tokio::time::timeout(AFTER_END, subscription.next()).await.unwrap_or(Next::End),
            false => subscription.next().await,
        };
        let unit = match next {
            Next::Unit(unit) => unit,
            Next::End if ends == Ends::WithSource => return sink.flush().await,
            Next::End if has_ended && ends == Ends::WithoutSuccessor => return sink.flush().await,
            Next::End => {
                has_ended = true;
                continue;
            }
        };
        has_ended = false;
        if let Some(skipped) = subscription.newly_skipped() {
            status.note_skipped(who, skipped);
        }
        let (age, is_played) = (Duration::from_micros(u64::from(unit.age) * 100), !unit.role.is_header());
        let began = Instant::now();
        let bytes = match muxer.write(unit) {
            Written::Bytes(bytes) => bytes,
            Written::Begin(kind, bytes) => [&head(&kind)[..], &bytes].concat().into(),
            Written::Ends => return sink.flush().await,
        };
        if bytes.is_empty() {
            continue;
        }
        tokio::time::timeout(STALL, sink.write_all(&bytes)).await??;
        sink.flush().await?;
        if is_played {
            status.note_played(age + began.elapsed());
        }
    }
}

/// Writes the stream to a file or standard output until its source is done, or until it is stopped.
pub(super) async fn write_file(
    path: PathBuf,
    format: Format,
    hub: Arc<Hub>,
    status: Arc<Status>,
    ends: bool,
) -> Result<(), Failure> {
    let subscription = hub.subscribe();
    let ends = if ends { Ends::WithSource } else { Ends::Never };
    let is_stdout = path.as_os_str() == "-";
    let no_head = |_: &str| Vec::new();
    let written = if is_stdout {
        let who = (&*status, "standard output");
        write_stream(&mut tokio::io::stdout(), subscription, format, who, ends, &no_head).await
    } else {
        let mut file = tokio::fs::File::create(&path).await.map_err(|error| Failure::write(&path, &error))?;
        let who = path.display().to_string();
        write_stream(&mut file, subscription, format, (&status, &who), ends, &no_head).await
    };
    match written {
        // A player that was closed.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::write(&path, &error)),
    }
}
