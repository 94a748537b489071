//! Several parts of a file at a time (`--parallel`).
//!
//! The file is cut into pieces that a few streams work off in order, so that what is complete is nearly all at the
//! beginning: after an interruption the file is cut back to its complete beginning, and `-C -` goes on from there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use http::header::{ACCEPT_RANGES, IF_RANGE, RANGE};
use http::{Method, StatusCode};
use tokio::task::JoinSet;

use super::attempt::{Attempt, Finished, hash_start, judge, stopped};
use super::partial::Partial;
use super::response::{check_digest, content_length, version_of};
use hawser_command::digest::Digest;
use hawser_command::exit::{Exit, Failure, Measured, is_full};
use hawser_command::http_client::{self, check_status, describe, next_piece, repr_digest, request, text};
use hawser_command::interrupt::Interrupt;
use hawser_command::session::Requests;
use hawser_command::stall::{STALLED, in_time};
use hawser_command::transfer::{Progress, Recorder, SharedLimit};
use hawser_command::url::Url;

/// Bytes of a piece.
const PIECE: u64 = 4 << 20;
/// Bytes gathered before they are written.
const BLOCK: usize = 1 << 19;

/// What the streams share.
struct Shared {
    url: Url,
    /// How long nothing may come although the server is there.
    stall: Option<Duration>,
    /// `None` once the transfer has failed: a write that comes late must not make the file longer again.
    file: Mutex<Option<File>>,
    end: u64,
    validator: Option<String>,
    progress: Progress,
    state: Mutex<State>,
    limit: Option<SharedLimit>,
}

struct State {
    /// Beginning of the next piece that nobody works on.
    next: u64,
    /// Beginnings of the pieces being worked on, with how far they are.
    open: BTreeMap<u64, u64>,
    recorder: Recorder,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece for a stream.
    fn take(&self) -> Option<std::ops::Range<u64>> {
        let mut state = self.state();
        let start = state.next;
        let end = (start + PIECE).min(self.end);
        if start >= end {
            return None;
        }
        state.next = end;
        state.open.insert(start, start);
        Some(start..end)
    }

    fn write(&self, block: &[u8], at: u64) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map_or(Ok(()), |file| file.write_all_at(block, at))
    }

    /// Ends writing; returns the length of the complete beginning.
    fn give_up(&self) -> u64 {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let state = self.state();
        state.open.values().next().copied().unwrap_or(state.next)
    }
}

impl Attempt<'_> {
    /// Gets the file, or what is missing of it, over several streams.
    pub(super) async fn fetch_in_parts(
        self,
        partial: &mut Partial,
        streams: usize,
        interrupt: &mut Interrupt,
    ) -> Result<Finished, Failure> {
        let mut requests = self.session.http().await?;
        let (mut stream, head) = self.ask(&mut requests, Method::HEAD, &[]).await?;
        if let Some(failure) = check_status(self.place(), &head, &mut stream).await {
            return Err(failure);
        }
        let version = version_of(head.headers());
        let (Some(length), Some("bytes")) =
            (content_length(head.headers()), text(head.headers(), &ACCEPT_RANGES))
        else {
            // A server without ranges sends the whole.
            return self.fetch_to_file(partial, interrupt).await;
        };
        let same = partial.version().validator().is_some() && *partial.version() == version;
        let start = if same { partial.length().min(length) } else { 0 };
        self.tell_refetch(partial.length().min(length), start, partial);
        partial.truncate(start)?;
        partial.set_version(version.clone())?;
        let writable = |error: io::Error| Failure::write(partial.path(), &error);
        let progress = self.progress.clone();
        progress.begin(start, Some(length));
        let shared = Arc::new(Shared {
            url: self.place().clone(),
            stall: self.stall,
            file: Mutex::new(Some(partial.file().try_clone().map_err(writable)?)),
            end: length,
            validator: version.validator().map(str::to_owned),
            progress,
            state: Mutex::new(State {
                next: start,
                open: BTreeMap::new(),
                recorder: Recorder::new(self.started),
            }),
            limit: self.limit.clone(),
        });
        let meter = self.start_meter();
        let result = work(&shared, &requests, streams, interrupt).await;
        let paths = meter.stop().await;
        if let Err(mut failure) = result {
            partial.truncate(shared.give_up())?;
            failure.measured =
                Some(Box::new(Measured { goodput: shared.state().recorder.summary(self.bins), paths }));
            if failure.exit == Exit::NotWritten || failure.exit == Exit::DiskFull {
                failure.message = format!("cannot write {}: {failure}", partial.path().display());
            }
            return Err(failure);
        }
        let digest = Digest::of(hash_start(partial, length).await?);
        let expected = match repr_digest(head.headers()) {
            Some(digest) => Some(digest),
            // The server may have had to compute it first.
            None => repr_digest(self.ask(&mut requests, Method::HEAD, &[]).await?.1.headers()),
        };
        check_digest(digest, expected).map_err(|failure| judge(failure, partial))?;
        partial.complete(expected.is_some())?;
        let goodput = shared.state().recorder.summary(self.bins);
        Ok(Finished {
            status: head.status(),
            goodput,
            digest,
            verified: expected.is_some(),
            resumed_from: start,
            connect_seconds: self.session.connected_after.as_secs_f64(),
            resumed: self.session.is_resumed(),
            early_data: self.session.early_data(),
            server_scheduler: self.session.server_scheduler().await,
            paths,
            connection: self.session.status(),
        })
    }
}

/// Runs the streams until all pieces are there or one fails.
async fn work(
    shared: &Arc<Shared>,
    requests: &Requests,
    streams: usize,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut workers = JoinSet::new();
    for _ in 0..streams {
        let (shared, mut requests) = (shared.clone(), requests.clone());
        workers.spawn(async move {
            while let Some(piece) = shared.take() {
                let start = piece.start;
                get_piece(&shared, &mut requests, piece).await?;
                shared.state().open.remove(&start);
            }
            Ok::<_, Failure>(())
        });
    }
    loop {
        let ended = tokio::select! {
            ended = workers.join_next() => ended,
            () = interrupt.raised() => return Err(stopped()),
        };
        match ended {
            None => return Ok(()),
            Some(Ok(result)) => result?,
            Some(Err(error)) => return Err(Failure::new(Exit::Failure, error.to_string())),
        }
    }
}

async fn get_piece(
    shared: &Arc<Shared>,
    requests: &mut Requests,
    piece: std::ops::Range<u64>,
) -> Result<(), Failure> {
    let mut fields = vec![(RANGE, format!("bytes={}-{}", piece.start, piece.end - 1))];
    if let Some(validator) = &shared.validator {
        fields.push((IF_RANGE, validator.clone()));
    }
    let request = request(Method::GET, &shared.url, &fields)?;
    let broken = |error: h3::error::StreamError| Failure::new(Exit::Interrupted, describe(&error));
    let answered =
        in_time(shared.stall, "the server did not answer", http_client::ask(requests, request)).await?;
    let (mut stream, response) = answered.map_err(broken)?;
    if let Some(failure) = check_status(&shared.url, &response, &mut stream).await {
        return Err(failure);
    }
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return Err(Failure::new(
            Exit::NotResumable,
            "the file changed on the server meanwhile; get it again",
        ));
    }
    let mut position = piece.start;
    let mut gathered = BytesMut::with_capacity(BLOCK);
    loop {
        let bytes = in_time(shared.stall, STALLED, next_piece(&mut stream)).await?.map_err(broken)?;
        let ended = bytes.is_none();
        if let Some(bytes) = bytes {
            shared.state().recorder.record(Instant::now(), bytes.len() as u64);
            shared.progress.add(bytes.len() as u64);
            gathered.extend_from_slice(&bytes);
            if let Some(limit) = &shared.limit {
                limit.lock().await.pace(bytes.len() as u64).await;
            }
        }
        if ended || gathered.len() >= BLOCK {
            let block = std::mem::replace(&mut gathered, BytesMut::with_capacity(BLOCK)).freeze();
            let (writer, at) = (shared.clone(), position);
            position += block.len() as u64;
            if position > piece.end {
                return Err(Failure::new(Exit::HttpStatus, "the server sent more than was asked for"));
            }
            let written = tokio::task::spawn_blocking(move || writer.write(&block, at)).await;
            written.map_err(io::Error::other).and_then(|result| result).map_err(|error| {
                let exit = if is_full(&error) { Exit::DiskFull } else { Exit::NotWritten };
                Failure::new(exit, error.to_string())
            })?;
            shared.state().open.insert(piece.start, position);
        }
        if ended {
            break;
        }
    }
    if position == piece.end {
        Ok(())
    } else {
        Err(Failure::new(Exit::Interrupted, "the server ended a part of the file early"))
    }
}
