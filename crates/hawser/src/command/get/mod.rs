//! `hawser get`: files from an HTTP/3 server.

mod attempt;
mod hq;
mod parallel;
mod partial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use crate::Registry;
use crate::command::exit::{Exit, Failure};
use crate::command::interrupt::Interrupt;
use crate::command::options::{ClientOptions, ClientSetup, Output};
use crate::command::paths::by_interface;
use crate::command::report::{Channel, TransferReport};
use crate::command::session::{Session, connect_to};
use crate::command::transfer::{Goodput, RateLimit};
use crate::command::units::{self, parse_bytes};
use crate::command::url::Url;
use attempt::{Attempt, Finished};
use partial::Partial;

const EXAMPLES: &str = "\
Until it is complete and checked a file is called NAME.part; an interrupted one stays and `-C -` goes on with it.

Examples:
  hawser get -O https://host:4433/big.iso --pin 'PIN'       keep it as big.iso, over all links
  hawser get -C - -O https://host:4433/big.iso --pin 'PIN'  go on where the last attempt stopped
  hawser get -O URL --path wlan0 --path wwan0               over these two
  hawser get -O URL --backup wwan0                          wwan0 only when all others fail
  hawser get -O URL --cap wwan0=1GB/24h                     at most that much over wwan0, both directions
  hawser get -q --json -o /dev/null URL                     measure, for a program
  hawser get -O URL --scheduler ecf                         ask the server for this scheduler; it says yes or no
  hawser get URL | less                                     without -o or -O: to standard output";

/// Arguments of `hawser get`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Get {
    /// https://HOST[:PORT]/PATH, one or several
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "remote_name")]
    output: Option<PathBuf>,
    /// Write to a file with the name that the URL ends in
    #[arg(short = 'O', long)]
    remote_name: bool,
    /// Folder for the files of -O
    #[arg(long, value_name = "DIR", requires = "remote_name")]
    output_dir: Option<PathBuf>,
    /// Go on with an interrupted file; the offset is found from the file: give `-`
    #[arg(short = 'C', long, value_name = "-", allow_hyphen_values = true, value_parser = only_dash)]
    continue_at: Option<String>,
    /// Receive at most this many bytes per second (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "RATE", value_parser = parse_bytes)]
    limit_rate: Option<u64>,
    /// Try again this often when the connection fails, with growing pauses
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Ask for this many parts of the file at a time. One stream uses all links already; this is for servers that limit
    /// each stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: Option<u8>,
    /// Speak HTTP/0.9 (hq-interop) in place of HTTP/3, all files at once: only for interoperability tests. Nothing is checked
    /// or resumed
    #[arg(long, conflicts_with_all = ["continue_at", "limit_rate", "retry", "parallel", "bins"])]
    hq: bool,
    /// Ask for the file with the first packets (0-RTT), if the server gave a ticket for that in an earlier connection. It is
    /// there a round trip sooner. Whoever sees these packets can send them again, so the server may be asked more than once.
    /// Begins over one link; the others join in. Does nothing with --scheduler, which waits for the server's answer
    #[arg(long, requires = "session_file")]
    early_data: bool,
    /// Add the bytes of every 100 ms to the JSON result
    #[arg(long, requires = "json")]
    bins: bool,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
}

fn only_dash(text: &str) -> Result<String, String> {
    if text == "-" {
        Ok(text.to_owned())
    } else {
        Err("only `-` is supported: the file tells where to go on".into())
    }
}

impl Get {
    /// Where results for programs go.
    pub(crate) fn results(&self) -> Channel {
        let to_stdout = self.output.as_ref().is_none_or(|file| file.as_os_str() == "-");
        if to_stdout && !self.remote_name { Channel::Stderr } else { Channel::Stdout }
    }
}

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Destination {
    Stdout,
    File(PathBuf),
}

/// Gets all files; goes on to the next after a failure and reports the first one.
pub(crate) async fn run(
    mut arguments: Get,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    if arguments.output.is_some() && arguments.urls.len() > 1 {
        return Err(Failure::usage("-o names one file, but there are several URLs; use -O"));
    }
    if let Some(folder) = &arguments.output_dir {
        std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
    }
    arguments.client.early_data = arguments.early_data;
    if arguments.hq {
        return hq::run(&arguments, registry, output, &mut interrupt).await;
    }
    // What is wrong is to be found before anything is transferred.
    let client = arguments.client.setup(registry, crate::h3::ALPN, output)?;
    let urls = arguments.urls.iter().map(|text| text.parse()).collect::<Result<Vec<Url>, _>>()?;
    let mut kept = Kept::new();
    let mut first_failure = None;
    for (index, url) in urls.iter().enumerate() {
        let result = match destination(&arguments, url) {
            Ok(destination) => {
                let mut job = Job::new(&arguments, &client, output, url, destination);
                job.run(&mut kept, &mut interrupt).await
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = result {
            let mut failure = failure.about(url);
            arguments.results().tell(&failure, output);
            failure.is_told = true;
            first_failure.get_or_insert(failure);
            if interrupt.is_raised() {
                break;
            }
        }
        let later = urls.get(index + 1..).unwrap_or_default();
        if !later.iter().any(|later| authority(later) == authority(url)) {
            close(kept.remove(&authority(url))).await;
        }
    }
    close(kept.into_values()).await;
    first_failure.map_or(Ok(()), Err)
}

/// Says goodbye on sessions that are not needed any more.
async fn close(sessions: impl IntoIterator<Item = Session>) {
    for session in sessions {
        session.close(H3_NO_ERROR).await;
    }
}

/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;

fn destination(arguments: &Get, url: &Url) -> Result<Destination, Failure> {
    if arguments.remote_name {
        let name = url.file_name().ok_or_else(|| {
            Failure::usage(format!("{url} ends in no file name for -O; name the file with -o"))
        })?;
        let folder = arguments.output_dir.as_deref().unwrap_or(Path::new(""));
        return Ok(Destination::File(folder.join(name)));
    }
    match &arguments.output {
        Some(file) if file.as_os_str() != "-" => Ok(Destination::File(file.clone())),
        Some(_) => Ok(Destination::Stdout),
        None if arguments.continue_at.is_some() => {
            Err(Failure::usage("-C goes on with a file: name it with -o or -O"))
        }
        None => Ok(Destination::Stdout),
    }
}

/// One file.
struct Job<'a> {
    arguments: &'a Get,
    client: &'a ClientSetup,
    output: Output,
    url: &'a Url,
    destination: Destination,
    retries: u32,
    /// Whether to begin with 0-RTT.
    early: bool,
    /// Whether 0-RTT was sent, and nobody answered.
    unanswered: bool,
}

/// Host and port.
type Authority = (String, u16);

fn authority(url: &Url) -> Authority {
    (url.host.clone(), url.port)
}

/// Open sessions, one for each authority that is still to be asked for something.
type Kept = BTreeMap<Authority, Session>;

impl<'a> Job<'a> {
    fn new(
        arguments: &'a Get,
        client: &'a ClientSetup,
        output: Output,
        url: &'a Url,
        destination: Destination,
    ) -> Self {
        let early = client.early_data && client.scheduler.is_none();
        Job { arguments, client, output, url, destination, retries: 0, early, unanswered: false }
    }

    /// Tries until it works, the failure is final, or the attempts are used up.
    async fn run(&mut self, kept: &mut Kept, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut partial = match &self.destination {
            Destination::Stdout => None,
            Destination::File(path) => Some(Partial::open(path, self.arguments.continue_at.is_some())?),
        };
        let mut stdout_used = false;
        loop {
            let failure = match self.attempt(kept, &mut partial, &mut stdout_used, interrupt).await {
                Ok(finished) => return self.report(&finished),
                Err(failure) => failure,
            };
            if std::mem::take(&mut self.unanswered) && !interrupt.is_raised() {
                self.output.remark("nobody answered over the first link; connecting over all links");
                continue;
            }
            let failure = self.explain(failure, partial.as_ref());
            if self.retries >= self.arguments.retry || !failure.is_transient() || interrupt.is_raised() {
                return Err(failure);
            }
            let pause = Duration::from_secs(1 << self.retries.min(6));
            self.retries += 1;
            self.output.remark(format_args!("{failure}\ntrying again in {} s", pause.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = interrupt.raised() => return Err(Failure::new(Exit::Signal, failure.message)),
            }
        }
    }

    async fn attempt(
        &mut self,
        kept: &mut Kept,
        partial: &mut Option<Partial>,
        stdout_used: &mut bool,
        interrupt: &mut Interrupt,
    ) -> Result<Finished, Failure> {
        let (session, started) = match kept.remove(&authority(self.url)) {
            Some(mut session) if session.connection.close_reason().is_none() => {
                session.begin_another();
                (session, Instant::now())
            }
            other => {
                close(other).await;
                let (client, url) = (self.client, self.url);
                let mut session = if std::mem::take(&mut self.early) {
                    Session::connect_early(&url.host, url.port, client, interrupt).await?
                } else {
                    connect_to(url, client, interrupt).await?
                };
                session.watch_silence(client, self.output);
                session.request_scheduler(self.client, self.output).await;
                let started = session.started;
                (session, started)
            }
        };
        let attempt = Attempt {
            session: &session,
            url: self.url,
            started,
            limit: self.arguments.limit_rate.filter(|rate| *rate > 0).map(RateLimit::new),
            output: self.output,
            bins: self.arguments.bins,
        };
        let result = match (partial, self.arguments.parallel) {
            (Some(partial), Some(streams)) if streams > 1 && partial.is_regular() => {
                attempt.fetch_in_parts(partial, streams.into(), interrupt).await
            }
            (Some(partial), _) => attempt.fetch_to_file(partial, interrupt).await,
            (None, _) => attempt.fetch_to_stdout(stdout_used, interrupt).await,
        };
        // After a failure the next attempt begins with a new connection.
        match result {
            Ok(finished) => {
                kept.insert(authority(self.url), session);
                Ok(finished)
            }
            Err(failure) => {
                self.unanswered = session.connection.is_handshaking();
                let failure = self.client.explain(failure, &session.connection);
                session.close(attempt::H3_REQUEST_CANCELLED).await;
                Err(failure)
            }
        }
    }

    /// Adds how to go on to a failure that left a part of the file.
    fn explain(&self, mut failure: Failure, partial: Option<&Partial>) -> Failure {
        let Some(partial) = partial else { return failure };
        let keeps = matches!(
            failure.exit,
            Exit::Interrupted | Exit::Signal | Exit::DiskFull | Exit::ConnectionLost | Exit::NoBudget
        );
        if keeps && partial.length() > 0 {
            failure.message.push_str(&format!(
                "\n{} are kept in {}; go on with the same command and `-C -`",
                units::bytes(partial.length()),
                partial.path().display(),
            ));
        }
        failure
    }

    fn report(&self, finished: &Finished) -> Result<(), Failure> {
        let Finished { goodput, digest, verified, .. } = finished;
        let file = match &self.destination {
            Destination::Stdout if !self.output.json => "standard output".to_owned(),
            Destination::Stdout => "-".to_owned(),
            Destination::File(path) => path.display().to_string(),
        };
        if self.output.json {
            let report = TransferReport {
                url: self.url.to_string(),
                file,
                status: finished.status.as_u16(),
                sha256: digest.to_string(),
                verified: *verified,
                resumed_from: finished.resumed_from,
                retries: self.retries,
                connect_seconds: finished.connect_seconds,
                goodput: goodput.clone(),
                paths: finished.paths.clone(),
                server_scheduler: finished.server_scheduler.clone(),
                resumed: finished.resumed,
                early_data: self.arguments.early_data.then_some(finished.early_data),
                caps: self.client.cap_reports(),
            };
            self.arguments.results().print(&report);
        } else {
            let checked =
                if *verified { "checked against the server's" } else { "the server gave none to check" };
            let was_complete = goodput.bytes == 0 && finished.resumed_from > 0;
            if was_complete {
                self.output.remark(format_args!("{file}: was complete already"));
            } else {
                self.output.remark(format_args!("{}", summary(&file, goodput)));
            }
            for path in by_interface(&finished.paths) {
                self.output.remark(format_args!(
                    "  {:<12} {:>10} ({:.0} %), rtt {:.1} ms, {}",
                    path.interface,
                    units::bytes(path.bytes_received),
                    path.share * 100.0,
                    path.rtt_ms,
                    path.state
                ));
            }
            for line in self.client.cap_lines() {
                self.output.remark(line);
            }
            self.output.remark(format_args!("  sha256 {digest} ({checked})"));
        }
        Ok(())
    }
}

fn summary(file: &str, goodput: &Goodput) -> String {
    format!(
        "{file}: {} in {:.2} s, {}, longest stall {:.0} ms",
        units::bytes(goodput.bytes),
        goodput.seconds,
        units::bit_rate(goodput.goodput_bps),
        goodput.longest_stall_ms
    )
}
