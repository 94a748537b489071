//! `hawser get`: files from an HTTP/3 server.

mod attempt;
mod batches;
mod collisions;
mod hq;
mod job;
mod parallel;
mod partial;
mod response;
mod sessions;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio::task::JoinSet;

use batches::{Batch, Destination, Target, batches};
use hawser::Registry;
use hawser_command::client_certificate::ClientCertificate;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, ClientSetup};
use hawser_command::output::Output;
use hawser_command::profile::HTTP;
use hawser_command::report::Channel;
use hawser_command::transfer::{Progress, RateLimit, SharedLimit};
use hawser_command::units::parse_byte_rate;
use hawser_command::url::Url;
use job::Job;
use sessions::Sessions;

const EXAMPLES: &str = "\
Until it is complete and checked a file is called NAME.part (or NAME.hawser.part, where that is taken); an interrupted one stays \
and `-C -` goes on with it. A file that is replaced keeps its mode, its owner and the links to it.

Examples:
  hawser get -O https://host:4433/big.iso --pin 'PIN'       keep it as big.iso, over all links
  hawser get -C - -O https://host:4433/big.iso --pin 'PIN'  go on where the last attempt stopped
  hawser get -O URL --path wlan0 --path wwan0               over these two
  hawser get -O URL --backup wwan0                          wwan0 only when all others fail
  hawser get -O URL --cap wwan0=1GB/24h                     at most that much over wwan0, both directions
  hawser get -O --output-dir DIR URL URL ...                many files of a server, eight at a time
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
    #[arg(short, long, alias = "out", value_name = "FILE", conflicts_with = "remote_name")]
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
    #[arg(long, value_name = "RATE", value_parser = parse_byte_rate)]
    limit_rate: Option<u64>,
    /// Try again this often when the connection fails, with growing pauses
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Ask for this many parts of the file at a time
    ///
    /// One stream uses all links already; this is for servers that limit each stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), hide_short_help = true)]
    parallel: Option<u8>,
    /// With -O and several URLs: get this many files of a server at a time, over one connection
    ///
    /// Each is reported when it is complete, and what went over each path at the end, for all of them; in JSON
    /// `paths` of a file counts what others got meanwhile. To standard output files go one after the other
    #[arg(long, value_name = "N", alias = "parallel-max", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel_files: u8,
    /// Speak HTTP/0.9 (hq-interop) in place of HTTP/3, all files at once: only for interoperability tests
    ///
    /// Nothing is checked or resumed
    #[arg(long, conflicts_with_all = ["continue_at", "limit_rate", "retry", "parallel", "bins"], hide_short_help = true)]
    hq: bool,
    /// Ask for the file with the first packets (0-RTT), if the server gave a ticket for that in an earlier
    /// connection
    ///
    /// It is there a round trip sooner. Anyone who sees these packets can send them again, so the server may be
    /// asked more than once. Begins over one link; the others join in. Does nothing with --scheduler, which waits
    /// for the server's answer
    #[arg(long, requires = "session_file", hide_short_help = true)]
    early_data: bool,
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

/// Gets all files; goes on with the others after a failure and reports the first one.
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
    arguments.client.identity = arguments.certificate.identity()?;
    if arguments.hq {
        return hq::run(&arguments, registry, output, &mut interrupt).await;
    }
    // What is wrong is to be found before anything is transferred.
    let client = arguments.client.setup(registry, &HTTP, output)?;
    let urls = arguments.urls.iter().map(|text| text.parse()).collect::<Result<Vec<Url>, _>>()?;
    let mut failures = Failures { results: arguments.results(), output, first: None };
    let mut files = Vec::new();
    for url in urls {
        match destination(&arguments, &url) {
            Ok(destination) => files.push(Target { url, destination }),
            Err(failure) => failures.tell(failure.about(&url)),
        }
    }
    let limit = arguments.limit_rate.filter(|rate| *rate > 0).map(RateLimit::shared);
    let common = Arc::new(Common { arguments, client, output, sessions: Sessions::default(), limit });
    collisions::refuse(&files)?;
    let mut batches = VecDeque::from(batches(files));
    while let Some(batch) = batches.pop_front() {
        let authority = batch.authority.clone();
        get_batch(&common, batch, &mut failures, &interrupt).await;
        if interrupt.is_raised() {
            break;
        }
        if !batches.iter().any(|later| later.authority == authority) {
            common.sessions.close(&authority).await;
        }
    }
    common.sessions.close_all().await;
    failures.first.map_or(Ok(()), Err)
}

/// What all files have in common.
struct Common {
    arguments: Get,
    client: ClientSetup,
    output: Output,
    sessions: Sessions,
    /// Of all of them together.
    limit: Option<SharedLimit>,
}

/// Tells of failures as they come, and keeps the first.
struct Failures {
    results: Channel,
    output: Output,
    first: Option<Failure>,
}

impl Failures {
    fn tell(&mut self, mut failure: Failure) {
        self.results.tell(&failure, self.output);
        failure.is_told = true;
        self.first.get_or_insert(failure);
    }
}

/// Gets the files of a batch, so many at a time, and reports each when it has ended. One that fails does not hold up the
/// others; after Ctrl-C none begins, and those under way keep what they have.
async fn get_batch(common: &Arc<Common>, batch: Batch, failures: &mut Failures, interrupt: &Interrupt) {
    let at_a_time = usize::from(common.arguments.parallel_files).min(batch.targets.len());
    let progress = (at_a_time > 1).then(|| Progress::of_files(batch.targets.len()));
    let mut waiting = batch.targets.into_iter();
    let mut running = JoinSet::new();
    loop {
        while running.len() < at_a_time
            && !interrupt.is_raised()
            && let Some(target) = waiting.next()
        {
            let mut job = Job::new(common.clone(), target, progress.clone());
            let mut interrupt = interrupt.clone();
            running.spawn(async move {
                let result = job.run(&mut interrupt).await;
                (job, result)
            });
        }
        let result = match running.join_next().await {
            None => break,
            Some(Ok((job, Ok(finished)))) => {
                job.report(&finished);
                Ok(())
            }
            Some(Ok((job, Err(failure)))) => Err(failure.about(job.url())),
            Some(Err(error)) => Err(Failure::new(Exit::Failure, error.to_string())),
        };
        if let Err(failure) = result {
            failures.tell(failure);
        }
    }
    let paths = common.sessions.end_progress(&batch.authority).await;
    if !paths.is_empty() && !common.output.json {
        common.output.remark("all of these together");
        job::tell_paths(&paths, common.output);
    }
}

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
