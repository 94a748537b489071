//! `hawser put`: a file to an HTTP/3 server.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use h3::error::StreamError;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, Method, Request, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use crate::Registry;
use crate::command::digest::{Digest, REPR_DIGEST, hash_prefix};
use crate::command::exit::{Exit, Failure};
use crate::command::http_client::{check_status, describe, is_transient, repr_digest, request};
use crate::command::interrupt::Interrupt;
use crate::command::options::{ClientOptions, ClientSetup, Output};
use crate::command::paths::by_interface;
use crate::command::percent;
use crate::command::report::{Channel, TransferReport};
use crate::command::session::{Exchange, Session, connect_to};
use crate::command::transfer::{Meter, Progress, RateLimit, Recorder};
use crate::command::units::{self, parse_bytes};
use crate::command::url::Url;

const EXAMPLES: &str = "\
The server must allow it (`hawser serve --allow-put`). It stores the file only when all of it has come and its SHA-256 is \
right; until then, and after a failure, what was there before stays.

Examples:
  hawser put video.mp4 https://host:4433/ --pin 'PIN'           as video.mp4
  hawser put video.mp4 https://host:4433/today.mp4 --pin 'PIN'  under another name
  hawser put --limit-rate 2M --retry 5 video.mp4 URL            slowly, and stubbornly
  tar c photos | hawser put - https://host:4433/photos.tar      what comes from another program";

/// Arguments of `hawser put`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Put {
    /// The file; `-` is standard input
    file: PathBuf,
    /// https://HOST[:PORT]/PATH; with a slash at the end the file keeps its name
    url: String,
    /// Send at most this many bytes per second (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "RATE", value_parser = parse_bytes)]
    limit_rate: Option<u64>,
    /// Try again this often when the connection fails, with growing pauses
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Add the bytes of every 100 ms to the JSON result
    #[arg(long, requires = "json")]
    bins: bool,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
}

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// What is sent.
struct Source {
    path: PathBuf,
    /// Length and digest of a file; of standard input nothing is known beforehand.
    known: Option<(u64, Digest)>,
}

impl Source {
    fn is_standard_input(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

/// Sends the file, trying as often as was asked.
pub(crate) async fn run(
    arguments: Put,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let client = arguments.client.setup(registry, crate::h3::ALPN, output)?;
    let mut url: Url = arguments.url.parse()?;
    let source = open_source(&arguments.file).await?;
    if url.path.ends_with('/') {
        if source.is_standard_input() {
            return Err(Failure::usage("standard input has no file name; add one to the URL"));
        }
        let name = arguments.file.file_name().ok_or_else(|| {
            Failure::usage(format!("{} has no file name; add one to the URL", arguments.file.display()))
        })?;
        url.path.push_str(&percent::encode_segment(name.as_encoded_bytes()));
    }
    let mut retries = 0;
    loop {
        let failure = match attempt(&arguments, &client, &url, &source, output, retries, &mut interrupt).await
        {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        // What was read of standard input cannot be read again.
        let is_final = retries >= arguments.retry || source.is_standard_input();
        if is_final || !failure.is_transient() || interrupt.is_raised() {
            return Err(failure.about(&url));
        }
        let pause = Duration::from_secs(1 << retries.min(6));
        retries += 1;
        output.remark(format_args!("{failure}\ntrying again in {} s", pause.as_secs()));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = interrupt.raised() => return Err(Failure::new(Exit::Signal, failure.message).about(&url)),
        }
    }
}

async fn open_source(path: &Path) -> Result<Source, Failure> {
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

async fn attempt(
    arguments: &Put,
    client: &ClientSetup,
    url: &Url,
    source: &Source,
    output: Output,
    retries: u32,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut session = connect_to(url, client, interrupt).await?;
    session.watch_silence(client, output);
    let sent = send(arguments, url, source, output, retries, &session, interrupt).await;
    let sent = sent.map_err(|failure| client.explain(failure, &session.connection));
    let result =
        sent.map(|report| print(&TransferReport { caps: client.cap_reports(), ..report }, client, output));
    session.close(if result.is_ok() { 0x100 } else { 0x10c }).await;
    result
}

/// The request that announces what is sent: its type by the name, its length and digest where they are known.
fn request_of(url: &Url, source: &Source) -> Result<Request<()>, Failure> {
    let name = if source.is_standard_input() { Path::new(&url.path) } else { &source.path };
    let mut fields = vec![(CONTENT_TYPE, mime_guess::from_path(name).first_or_octet_stream().to_string())];
    if let Some((length, digest)) = &source.known {
        fields.push((CONTENT_LENGTH, length.to_string()));
        fields.push((HeaderName::from_static(REPR_DIGEST), digest.to_field()));
    }
    request(Method::PUT, url, &fields)
}

async fn send(
    arguments: &Put,
    url: &Url,
    source: &Source,
    output: Output,
    retries: u32,
    session: &Session,
    interrupt: &mut Interrupt,
) -> Result<TransferReport, Failure> {
    let mut requests = session.http().await?;
    let request = request_of(url, source)?;
    let lost = |error: StreamError| Failure::new(Exit::ConnectionLost, describe(&error));
    let mut stream = requests.send_request(request).await.map_err(lost)?;
    let progress = Progress::default();
    progress.begin(0, source.known.map(|(length, _)| length));
    let meter = Meter::start(
        session.path_table(),
        crate::command::paths::Flow::Sent,
        progress.clone(),
        output.hides_progress(),
    );
    let mut recorder = Recorder::new(session.started);
    let mut limit = arguments.limit_rate.filter(|rate| *rate > 0).map(RateLimit::new);
    let sending = send_body(&mut stream, source, &progress, &mut recorder, &mut limit);
    let sent = tokio::select! {
        sent = sending => sent,
        () = interrupt.raised() => {
            meter.stop().await;
            return Err(Failure::new(Exit::Signal, "stopped; the server keeps nothing of an incomplete file"));
        }
    };
    // A server that does not want the body says why before it has read it.
    let response = tokio::select! {
        response = stream.recv_response() => response,
        () = interrupt.raised() => {
            meter.stop().await;
            return Err(Failure::new(Exit::Signal, "stopped before the server confirmed the file"));
        }
    };
    let paths = meter.stop().await;
    let (response, digest) = match (response, sent) {
        (Ok(response), sent) => (response, sent),
        (Err(_), Err(failure)) => return Err(failure),
        (Err(error), Ok(_)) => return Err(lost(error)),
    };
    if let Some(mut failure) = check_status(url, &response, &mut stream).await {
        if is_transient(response.status()) {
            failure.exit = Exit::ConnectionLost;
        }
        return Err(failure);
    }
    // One that was content before it had all of it has something else.
    let digest = digest?;
    let confirmed = repr_digest(response.headers());
    if confirmed.is_some_and(|stored| stored != digest) {
        let text = format!("what the server stored is not what was sent, whose SHA-256 is {digest}");
        return Err(Failure::new(Exit::Digest, text));
    }
    // The last bytes are there when the server says so, not when they were handed to the transport.
    let mut goodput = recorder.summary(arguments.bins);
    goodput.seconds = session.started.elapsed().as_secs_f64();
    goodput.goodput_bps = goodput.bytes as f64 * 8.0 / goodput.seconds;
    Ok(TransferReport {
        url: url.to_string(),
        file: source.path.display().to_string(),
        status: response.status().as_u16(),
        sha256: digest.to_string(),
        verified: confirmed.is_some(),
        resumed_from: 0,
        retries,
        connect_seconds: session.connected_after.as_secs_f64(),
        goodput,
        paths,
        server_scheduler: None,
        resumed: session.is_resumed(),
        early_data: None,
        caps: Vec::new(),
    })
}

fn print(report: &TransferReport, client: &ClientSetup, output: Output) {
    if output.json {
        return Channel::Stdout.print(report);
    }
    let verb = if report.status == StatusCode::CREATED.as_u16() { "stored" } else { "replaced" };
    output.remark(format_args!(
        "{}: {verb} {} in {:.2} s, {}",
        report.url,
        units::bytes(report.goodput.bytes),
        report.goodput.seconds,
        units::bit_rate(report.goodput.goodput_bps)
    ));
    for path in by_interface(&report.paths) {
        let (share, sent) = (path.share * 100.0, units::bytes(path.bytes_sent));
        output.remark(format_args!(
            "  {:<12} {sent:>10} ({share:.0} %), rtt {:.1} ms",
            path.interface, path.rtt_ms
        ));
    }
    for line in client.cap_lines() {
        output.remark(line);
    }
    let checked =
        if report.verified { "confirmed by the server" } else { "the server did not say what it has" };
    output.remark(format_args!("  sha256 {} ({checked})", report.sha256));
}

/// Sends all of it; returns the digest of what was sent.
async fn send_body(
    stream: &mut Exchange,
    source: &Source,
    progress: &Progress,
    recorder: &mut Recorder,
    limit: &mut Option<RateLimit>,
) -> Result<Digest, Failure> {
    let mut blocks = read_blocks(source);
    let mut hasher = source.known.is_none().then(Sha256::new);
    while let Some(block) = blocks.recv().await {
        let block = block.map_err(|error| Failure::read(&source.path, &error))?;
        let count = block.len() as u64;
        if let Some(hasher) = &mut hasher {
            hasher.update(&block);
        }
        stream
            .send_data(block)
            .await
            .map_err(|error| Failure::new(Exit::ConnectionLost, describe(&error)))?;
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
fn read_blocks(source: &Source) -> mpsc::Receiver<std::io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(4);
    let (path, known) = (source.path.clone(), source.known);
    tokio::task::spawn_blocking(move || {
        let read = || match known {
            Some((length, _)) => read_file(&path, length, &sender),
            None => read_standard_input(&sender),
        };
        if let Err(error) = read() {
            let _ = sender.blocking_send(Err(error));
        }
    });
    receiver
}

type Blocks = mpsc::Sender<std::io::Result<Bytes>>;

fn read_file(path: &Path, length: u64, blocks: &Blocks) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut left = length;
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
