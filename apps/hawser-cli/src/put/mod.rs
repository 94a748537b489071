//! `hawser put`: a file to an HTTP/3 server.

mod body;
mod key;
mod resume;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use h3::error::StreamError;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};

use hawser::Registry;
use hawser_command::client_certificate::ClientCertificate;
use hawser_command::digest::{Digest, REPR_DIGEST};
use hawser_command::exit::{Exit, Failure, Measured};
use hawser_command::http_client::{check_status, describe, is_transient, repr_digest, request};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, ClientSetup};
use hawser_command::output::Output;
use hawser_command::paths::{PathReport, by_interface};
use hawser_command::percent;
use hawser_command::profile::HTTP;
use hawser_command::report::Channel;
use hawser_command::session::{Session, connect_to};
use hawser_command::stall::in_time;
use hawser_command::transfer::{Goodput, Meter, Progress, RateLimit, Recorder, TransferReport};
use hawser_command::units::{self, parse_byte_rate};
use hawser_command::url::Url;

use body::Source;

const EXAMPLES: &str = "\
The server must allow it (`hawser serve --allow-put`). It stores the file only when all of it has come and its SHA-256 is \
right; until then, and after a failure, what was there before stays.

Examples:
  hawser put video.mp4 https://host:4433/ --pin 'PIN'           as video.mp4
  hawser put video.mp4 https://host:4433/today.mp4 --pin 'PIN'  under another name
  hawser put --limit-rate 2M --retry 5 video.mp4 URL            slowly, and stubbornly
  hawser put --resume video.mp4 URL                             the rest of what an earlier one did not finish
  hawser put --client-cert my.pem --client-key my.key FILE URL  where the server wants a certificate (--client-ca)
  tar c photos | hawser put - https://host:4433/photos.tar      what comes from another program";

/// So often another connection is tried when the server is there and takes nothing.
const MAX_STALLS: u32 = 3;
/// What is said of a server that does not answer.
const UNCONFIRMED: &str = "the server has the file and did not confirm it";
/// How much longer it may take to store a file than to take a part of it.
const STORING: u32 = 5;

/// Arguments of `hawser put`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Put {
    /// The file; `-` is standard input
    file: PathBuf,
    /// https://HOST[:PORT]/PATH; with a slash at the end the file keeps its name
    url: String,
    /// Send at most this many bytes per second (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "RATE", value_parser = parse_byte_rate)]
    limit_rate: Option<u64>,
    /// Send only what the server does not have yet of an earlier attempt that broke off
    ///
    /// It keeps that for an hour, while it runs, and knows the file by its SHA-256
    #[arg(long)]
    resume: bool,
    /// Try again this often when the connection fails, with growing pauses, and go on as with --resume
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// The key with which the server lets files be stored, in a file of its own (`hawser serve --put-key`)
    ///
    /// It may be in HAWSER_KEY instead, but not on the command line, which others see
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Add the bytes of every 100 ms to the JSON result
    #[arg(long, requires = "json", hide_short_help = true)]
    bins: bool,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
    /// What to show to it
    #[command(flatten)]
    certificate: ClientCertificate,
}

/// Sends the file, trying as often as was asked.
pub(crate) async fn run(
    mut arguments: Put,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    arguments.client.identity = arguments.certificate.identity()?;
    let client = arguments.client.setup(registry, &HTTP, output)?;
    let mut url: Url = arguments.url.parse()?;
    let key = key::find(arguments.key_file.as_deref())?;
    let source = Source::open(&arguments.file).await?;
    if url.path.ends_with('/') {
        if source.is_standard_input() {
            return Err(Failure::usage("standard input has no file name; add one to the URL"));
        }
        let name = arguments.file.file_name().ok_or_else(|| {
            Failure::usage(format!("{} has no file name; add one to the URL", arguments.file.display()))
        })?;
        url.path.push_str(&percent::encode_segment(name.as_encoded_bytes()));
    }
    let (mut retries, mut stalls) = (0, 0);
    loop {
        let before = retries + stalls;
        let target = Target { url: &url, key: key.as_deref() };
        let failure =
            match attempt(&arguments, &client, target, &source, output, before, &mut interrupt).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
        let goes_on = failure.is_stalled && stalls < MAX_STALLS && !source.is_standard_input();
        if goes_on && !interrupt.is_raised() {
            stalls += 1;
            output.remark(format_args!("{failure}; connecting again"));
            continue;
        }
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

/// Where the file goes, and the key to it.
#[derive(Clone, Copy)]
struct Target<'a> {
    url: &'a Url,
    key: Option<&'a str>,
}

async fn attempt(
    arguments: &Put,
    client: &ClientSetup,
    target: Target<'_>,
    source: &Source,
    output: Output,
    retries: u32,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut session = connect_to(target.url, client, interrupt).await?;
    session.watch_silence(client, output);
    let sent = send(arguments, target, source, output, retries, &session, interrupt).await;
    let sent = sent.map_err(|failure| client.explain(failure, &session.connection));
    let result =
        sent.map(|report| print(&TransferReport { caps: client.cap_reports(), ..report }, client, output));
    session.close(if result.is_ok() { 0x100 } else { 0x10c }).await;
    result
}

/// The request that announces what is sent from `offset` on: its type by the name, its length and digest where they are known.
fn request_of(target: Target<'_>, source: &Source, offset: u64) -> Result<Request<()>, Failure> {
    let name = if source.is_standard_input() { Path::new(&target.url.path) } else { &source.path };
    let mut fields = vec![(CONTENT_TYPE, mime_guess::from_path(name).first_or_octet_stream().to_string())];
    if let Some((length, digest)) = &source.known {
        fields.push((CONTENT_LENGTH, (length - offset).to_string()));
        if offset > 0 {
            fields.push((CONTENT_RANGE, format!("bytes {offset}-{}/{length}", length - 1)));
        }
        fields.push((REPR_DIGEST, digest.to_field()));
    }
    if let Some(key) = target.key {
        fields.push((AUTHORIZATION, format!("Bearer {key}")));
    }
    request(Method::PUT, target.url, &fields)
}

/// The failure of a transfer, with what it achieved until then.
fn measured(failure: Failure, goodput: Goodput, paths: Vec<PathReport>) -> Failure {
    Failure { measured: Some(Box::new(Measured { goodput, paths })), ..failure }
}

/// Returns whether the server says that it stored what was sent; an error if it stored something else.
fn is_confirmed(response: &Response<()>, digest: Digest) -> Result<bool, Failure> {
    match repr_digest(response.headers()) {
        Some(stored) if stored != digest => {
            let text = format!("what the server stored is not what was sent, whose SHA-256 is {digest}");
            Err(Failure::new(Exit::Digest, text))
        }
        stored => Ok(stored.is_some()),
    }
}

/// The last bytes are there when the server says so, not when they were handed to the transport.
fn until_stored(mut goodput: Goodput, session: &Session) -> Goodput {
    goodput.seconds = session.started.elapsed().as_secs_f64();
    goodput.goodput_bps = goodput.bytes as f64 * 8.0 / goodput.seconds;
    goodput
}

//= rfc9114-4.1-13: a client goes on sending while it gets a response
async fn send(
    arguments: &Put,
    target: Target<'_>,
    source: &Source,
    output: Output,
    retries: u32,
    session: &Session,
    interrupt: &mut Interrupt,
) -> Result<TransferReport, Failure> {
    let mut requests = session.http().await?;
    let asks = arguments.resume || retries > 0;
    let offset = if asks { resume::offset(&mut requests, target.url, source).await? } else { 0 };
    let request = request_of(target, source, offset)?;
    let lost = |error: StreamError| Failure::new(Exit::ConnectionLost, describe(&error));
    let mut stream = requests.send_request(request).await.map_err(lost)?;
    let progress = Progress::default();
    progress.begin(offset, source.known.map(|(length, _)| length));
    let meter = Meter::start(
        session.path_table(),
        hawser_command::paths::Flow::Sent,
        progress.clone(),
        output.hides_progress(),
    );
    let mut recorder = Recorder::new(session.started);
    let mut limit = arguments.limit_rate.filter(|rate| *rate > 0).map(RateLimit::new);
    let sending =
        body::send(&mut stream, source, offset, &progress, &mut recorder, &mut limit, session.stall);
    let sent = tokio::select! {
        sent = sending => sent,
        () = interrupt.raised() => {
            Err(Failure::new(Exit::Signal, "stopped; --resume goes on where this ended, if the server kept it"))
        }
    };
    let sent = match sent {
        Err(failure) if failure.is_stalled || failure.exit == Exit::Signal => {
            return Err(measured(failure, recorder.summary(arguments.bins), meter.stop().await));
        }
        sent => sent,
    };
    // A server that does not want the body says why before it has read it.
    let response = tokio::select! {
        response = in_time(session.stall.map(|stall| stall * STORING), UNCONFIRMED, stream.recv_response()) => response,
        () = interrupt.raised() => Err(Failure::new(Exit::Signal, "stopped before the server confirmed the file")),
    };
    let paths = meter.stop().await;
    let response =
        response.map_err(|failure| measured(failure, recorder.summary(arguments.bins), paths.clone()))?;
    let (response, digest) = match (response, sent) {
        (Ok(response), sent) => (response, sent),
        (Err(_), Err(failure)) => return Err(failure),
        (Err(error), Ok(_)) => return Err(lost(error)),
    };
    if let Some(mut failure) = check_status(target.url, &response, &mut stream).await {
        if is_transient(response.status()) {
            failure.exit = Exit::ConnectionLost;
        }
        return Err(failure);
    }
    // One that was content before it had all of it has something else.
    let digest = digest?;
    let verified = is_confirmed(&response, digest)?;
    let goodput = until_stored(recorder.summary(arguments.bins), session);
    Ok(TransferReport {
        url: target.url.to_string(),
        file: source.path.display().to_string(),
        status: response.status().as_u16(),
        sha256: digest.to_string(),
        verified,
        resumed_from: offset,
        retries,
        connect_seconds: session.connected_after.as_secs_f64(),
        goodput,
        paths,
        connection: session.status(),
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
    let already = match report.resumed_from {
        0 => String::new(),
        bytes => format!(", after {} that were there", units::bytes(bytes)),
    };
    output.remark(format_args!(
        "{}: {verb} {} in {:.2} s, {}{already}",
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
