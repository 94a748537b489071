//! One attempt at one file, over an open connection.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hawser::EarlyData;
use http::header::{IF_RANGE, RANGE, TE};
use http::{Method, Response, StatusCode};
use sha2::{Digest as _, Sha256};

use super::partial::{Partial, Version};
use super::response::{check_digest, content_length, extent, version_of};
use hawser_command::digest::{Digest, hash_prefix};
use hawser_command::exit::{Exit, Failure, Measured, is_full};
use hawser_command::http_client::{self, check_status, describe, next_piece, repr_digest};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::{Flow, PathCounters, PathReport, PathTable};
use hawser_command::server_scheduler::ServerScheduler;
use hawser_command::session::{Exchange, Requests, Session, Status};
use hawser_command::stall::{STALLED, in_time};
use hawser_command::transfer::{Goodput, Meter, Progress, Recorder, SharedLimit, Sink, Writer};
use hawser_command::units;
use hawser_command::url::Url;

/// RFC 9114 section 8.1.
pub(super) const H3_REQUEST_CANCELLED: u64 = 0x10c;
/// Redirects that are followed one after the other.
const MAX_REDIRECTS: usize = 10;

/// What an attempt needs to know.
pub(super) struct Attempt<'a> {
    pub(super) session: &'a Session,
    pub(super) url: &'a Url,
    /// Where the server has it, once it has said so by a redirect.
    pub(super) moved: OnceLock<Url>,
    /// When the clock of the result started.
    pub(super) started: Instant,
    /// What the paths of the connection did before.
    pub(super) before: PathCounters,
    /// How far it is.
    pub(super) progress: Progress,
    /// Whether that is not drawn.
    pub(super) hides_progress: bool,
    pub(super) limit: Option<SharedLimit>,
    /// How long nothing may come although the server is there.
    pub(super) stall: Option<Duration>,
    pub(super) output: Output,
    pub(super) bins: bool,
}

/// A file that is complete.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: StatusCode,
    pub(super) goodput: Goodput,
    pub(super) digest: Digest,
    pub(super) verified: bool,
    pub(super) resumed_from: u64,
    pub(super) connect_seconds: f64,
    /// Whether the connection went on from an earlier session, if these are kept.
    pub(super) resumed: Option<bool>,
    /// What became of 0-RTT on the connection.
    pub(super) early_data: &'static str,
    /// What the server said to a wish for its scheduler, if it was asked.
    pub(super) server_scheduler: Option<ServerScheduler>,
    pub(super) paths: Vec<PathReport>,
    /// The connection at the end.
    pub(super) connection: Option<Status>,
}

/// A response whose body is about to come.
struct Opened {
    stream: Exchange,
    response: Response<()>,
    /// Where in the file the body begins.
    offset: u64,
    /// Length of the whole file, if the server said it.
    length: Option<u64>,
}

impl Attempt<'_> {
    /// Gets the file, or what is missing of it.
    pub(super) async fn fetch_to_file(
        self,
        partial: &mut Partial,
        interrupt: &mut Interrupt,
    ) -> Result<Finished, Failure> {
        let mut requests = self.session.http().await?;
        let have = partial.length();
        let opened = tokio::select! {
            opened = self.open(&mut requests, have, partial.version()) => opened?,
            () = interrupt.raised() => return Err(stopped()),
        };
        let Some(mut opened) = opened else { return self.already_complete(&mut requests, partial).await };
        self.tell_refetch(have, opened.offset, partial);
        partial.truncate(opened.offset)?;
        partial.set_version(version_of(opened.response.headers()))?;
        let hasher = hash_start(partial, opened.offset).await?;
        let writer = Writer::start(Sink::File(partial.writer()?), hasher);
        let (hasher, body) = self.receive(&mut opened, writer, partial.path(), interrupt).await?;
        let finished = self.verify(opened, Digest::of(hasher), body).await;
        settle(finished, partial)
    }

    /// The paths of the connection, since this attempt began. Files that came meanwhile are counted as well.
    fn path_table(&self) -> PathTable {
        self.session.path_table_since(self.before.clone())
    }

    /// Watches the paths from now on.
    pub(super) fn start_meter(&self) -> Meter {
        Meter::start(self.path_table(), Flow::Received, self.progress.clone(), self.hides_progress)
    }

    /// Says that what is there of a file can not be used.
    pub(super) fn tell_refetch(&self, have: u64, offset: u64, partial: &Partial) {
        if offset < have {
            let (file, have) = (partial.path().display(), units::bytes(have));
            self.output.remark(format_args!(
                "{file}: the {have} that are there are not used: the file on the server is another one now, or parts of \
                 it cannot be had"
            ));
        }
    }

    /// Gets the file to standard output; after a failure, what did not get there.
    pub(super) async fn fetch_to_stdout(
        self,
        used: &mut bool,
        interrupt: &mut Interrupt,
    ) -> Result<Finished, Failure> {
        let mut requests = self.session.http().await?;
        let any_version = Version::default();
        let opened = tokio::select! {
            opened = self.open(&mut requests, 0, &any_version) => opened?,
            () = interrupt.raised() => return Err(stopped()),
        };
        let Some(mut opened) = opened else {
            return Err(Failure::new(Exit::NotResumable, "the server answered with a part nobody asked for"));
        };
        if *used {
            let text =
                "the transfer broke off; what was written to standard output cannot be taken back: use -o";
            return Err(Failure::new(Exit::NotResumable, text));
        }
        *used = true;
        let writer = Writer::start(Sink::Stdout(std::io::stdout()), Sha256::new());
        let (hasher, body) = self.receive(&mut opened, writer, "standard output".as_ref(), interrupt).await?;
        self.verify(opened, Digest::of(hasher), body).await
    }

    /// Asks for the file from `have` on. `None`: the server has no more than we have.
    async fn open(
        &self,
        requests: &mut Requests,
        have: u64,
        version: &Version,
    ) -> Result<Option<Opened>, Failure> {
        // The digest of a file may come after it (RFC 9110 section 10.1.4).
        let mut fields = vec![(TE, "trailers".to_owned())];
        if have > 0 {
            fields.push((RANGE, format!("bytes={have}-")));
            if let Some(validator) = version.validator() {
                fields.push((IF_RANGE, validator.to_owned()));
            }
        }
        let (mut stream, response) = self.ask(requests, Method::GET, &fields).await?;
        if have > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(None);
        }
        if let Some(mut failure) = check_status(self.place(), &response, &mut stream).await {
            if http_client::is_transient(response.status()) {
                failure.exit = Exit::Interrupted;
            }
            return Err(failure);
        }
        let (offset, length) = extent(&response, have)?;
        Ok(Some(Opened { stream, response, offset, length }))
    }

    /// Where the file is.
    pub(super) fn place(&self) -> &Url {
        self.moved.get().unwrap_or(self.url)
    }

    /// Sends a request without a body and waits for the header of the response. Redirects on the same server are followed.
    pub(super) async fn ask(
        &self,
        requests: &mut Requests,
        method: Method,
        fields: &[(http::HeaderName, String)],
    ) -> Result<(Exchange, Response<()>), Failure> {
        let mut url = self.place().clone();
        for _ in 0..MAX_REDIRECTS {
            let asked = self.ask_once(requests, &method, &url, fields);
            let answered = in_time(self.stall, "the server did not answer", asked).await??;
            let Some(moved) = http_client::redirect(&url, &answered.1) else {
                if url != *self.place() {
                    let _ = self.moved.set(url);
                }
                return Ok(answered);
            };
            url = moved;
        }
        let text = format!("{}: the server redirects more than {MAX_REDIRECTS} times", self.url);
        Err(Failure::new(Exit::HttpStatus, text))
    }

    /// What a server does not want with 0-RTT is sent again after the handshake (RFC 8470 section 5.2).
    //= rfc9114-10.9-1: 0-RTT requests have replay protection
    async fn ask_once(
        &self,
        requests: &mut Requests,
        method: &Method,
        url: &Url,
        fields: &[(http::HeaderName, String)],
    ) -> Result<(Exchange, Response<()>), Failure> {
        let request = http_client::request(method.clone(), url, fields)?;
        let lost = |text: String| Failure::new(Exit::ConnectionLost, text);
        let connection = &self.session.connection;
        // RFC 9114 section 7.2.4.2: 0-RTT keeps to what the server said in the connection before.
        if connection.is_handshaking() && !http_client::fits_early(&request, connection) {
            connection.confirmed().await.map_err(|error| lost(error.to_string()))?;
        }
        let answered = http_client::ask(requests, request.clone()).await;
        let answered = answered.map_err(|error| lost(describe(&error)))?;
        // Whether the request itself was early is known to neither end for certain: the handshake may end between the two.
        if answered.1.status() != StatusCode::TOO_EARLY || connection.early_data() == EarlyData::None {
            return Ok(answered);
        }
        self.output.remark("the server answers this request only after the handshake; asking again");
        connection.handshake_complete().await.map_err(|error| lost(error.to_string()))?;
        http_client::ask(requests, request).await.map_err(|error| lost(describe(&error)))
    }

    /// The body, until its end, an error, or Ctrl-C; what arrived is in the file in any case.
    async fn receive(
        &self,
        opened: &mut Opened,
        mut writer: Writer,
        file: &std::path::Path,
        interrupt: &mut Interrupt,
    ) -> Result<(Sha256, Body), Failure> {
        let progress = &self.progress;
        progress.begin(opened.offset, opened.length);
        let meter = self.start_meter();
        let mut recorder = Recorder::new(self.started);
        let broken_off = loop {
            if interrupt.is_raised() {
                break Some(stopped());
            }
            let piece = tokio::select! {
                piece = in_time(self.stall, STALLED, next_piece(&mut opened.stream)) => piece,
                () = interrupt.raised() => continue,
            };
            let piece = match piece {
                Ok(piece) => piece,
                Err(failure) => break Some(failure),
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => break None,
                Err(error) => break Some(Failure::new(Exit::Interrupted, describe(&error))),
            };
            let count = piece.len() as u64;
            // RFC 9114 section 4.1.2: such a message is malformed. It may have no end, either.
            if let Some(length) = opened.length
                && opened.offset + recorder.total() + count > length
            {
                opened.stream.stop_sending(h3::error::Code::H3_MESSAGE_ERROR);
                let text = format!("the server sends more than the {length} bytes that it announced");
                break Some(Failure::new(Exit::Interrupted, text));
            }
            recorder.record(Instant::now(), count);
            if writer.write(&piece).await.is_err() {
                // The writer knows why.
                break None;
            }
            progress.add(count);
            if let Some(limit) = &self.limit {
                limit.lock().await.pace(count).await;
            }
        };
        let paths = meter.stop().await;
        let (_, hasher, written) = writer.finish().await;
        if let Err(error) = written {
            opened.stream.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
            let exit = if is_full(&error) { Exit::DiskFull } else { Exit::NotWritten };
            return Err(Failure::new(exit, format!("cannot write {}: {error}", file.display())));
        }
        let end = opened.offset + recorder.total();
        match (broken_off, opened.length) {
            (Some(mut failure), _) => {
                failure.measured = Some(Box::new(Measured { goodput: recorder.summary(self.bins), paths }));
                Err(failure)
            }
            (None, Some(length)) if end != length => {
                let text = format!("the server ended the file after {end} of {length} bytes");
                Err(Failure::new(Exit::Interrupted, text))
            }
            _ => Ok((hasher, Body { goodput: recorder.summary(self.bins), paths })),
        }
    }

    /// Compares with what the server says the file's digest is, in the header or after the body.
    async fn verify(&self, mut opened: Opened, digest: Digest, body: Body) -> Result<Finished, Failure> {
        let mut expected = repr_digest(opened.response.headers());
        // Whatever is wrong behind the body: the response is malformed or broken off (RFC 9114 section 4.1.2).
        let trailers = opened.stream.recv_trailers();
        let trailers = in_time(self.stall, "the server did not end the file", trailers).await?;
        let trailers = trailers.map_err(|error| Failure::new(Exit::Interrupted, describe(&error)))?;
        if expected.is_none() {
            expected = trailers.as_ref().and_then(repr_digest);
        }
        check_digest(digest, expected)?;
        Ok(Finished {
            status: opened.response.status(),
            goodput: body.goodput,
            digest,
            verified: expected.is_some(),
            resumed_from: opened.offset,
            connect_seconds: self.session.connected_after.as_secs_f64(),
            resumed: self.session.is_resumed(),
            early_data: self.session.early_data(),
            server_scheduler: self.session.server_scheduler().await,
            paths: body.paths,
            connection: self.session.status(),
        })
    }

    /// The server has no bytes beyond those we have: are they the right ones?
    async fn already_complete(
        &self,
        requests: &mut Requests,
        partial: &mut Partial,
    ) -> Result<Finished, Failure> {
        let (mut stream, response) = self.ask(requests, Method::HEAD, &[]).await?;
        if let Some(failure) = check_status(self.place(), &response, &mut stream).await {
            return Err(failure);
        }
        let have = partial.length();
        if content_length(response.headers()) != Some(have) {
            let text =
                format!("{} is longer than the file on the server; remove it", partial.path().display());
            return Err(Failure::new(Exit::NotResumable, text));
        }
        let digest = Digest::of(hash_start(partial, have).await?);
        let expected = repr_digest(response.headers());
        check_digest(digest, expected).map_err(|failure| judge(failure, partial))?;
        partial.complete(expected.is_some())?;
        Ok(Finished {
            status: response.status(),
            goodput: Recorder::new(self.started).summary(self.bins),
            digest,
            verified: expected.is_some(),
            resumed_from: have,
            connect_seconds: self.session.connected_after.as_secs_f64(),
            resumed: self.session.is_resumed(),
            early_data: self.session.early_data(),
            server_scheduler: self.session.server_scheduler().await,
            paths: self.path_table().report(Flow::Received),
            connection: self.session.status(),
        })
    }
}

/// What is known when a body has come.
pub(super) struct Body {
    pub(super) goodput: Goodput,
    pub(super) paths: Vec<PathReport>,
}

/// Ctrl-C.
pub(super) fn stopped() -> Failure {
    Failure::new(Exit::Signal, "stopped")
}

/// Gives a file its name that is complete, and throws away one that is wrong.
fn settle(finished: Result<Finished, Failure>, partial: &mut Partial) -> Result<Finished, Failure> {
    let finished = finished.map_err(|failure| judge(failure, partial))?;
    partial.complete(finished.verified)?;
    Ok(finished)
}

/// Throws away what is wrong, and says so if somebody else made the beginning of it.
pub(super) fn judge(mut failure: Failure, partial: &mut Partial) -> Failure {
    if failure.exit == Exit::Digest {
        if let Some(path) = partial.beginning_of_others() {
            let more = format!(
                "; {}, where it was to go on, is no beginning of this file and stays as it was: get the file without -C, \
                 or rename what is there",
                path.display()
            );
            failure.message.push_str(&more);
        }
        partial.discard();
    }
    failure
}

/// The digest so far of a file whose first bytes are there.
pub(super) async fn hash_start(partial: &Partial, length: u64) -> Result<Sha256, Failure> {
    if length == 0 {
        return Ok(Sha256::new());
    }
    let failed = |error: std::io::Error| Failure::read(partial.path(), &error);
    let file = partial.file().try_clone().map_err(failed)?;
    let hashed = tokio::task::spawn_blocking(move || hash_prefix(&file, length)).await;
    hashed.map_err(std::io::Error::other).and_then(|result| result).map_err(failed)
}
