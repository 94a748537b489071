//! The demonstration: a drive through town, played with real programs.
//!
//! A server process and a client process stand on either side of the links of a scenario. The same random
//! file is fetched over each link alone, over kernel MPTCP (CUBIC) over all links, and by Hawser over all
//! links. The schedules of the links start anew for every run, so each run meets the same weather. Single
//! links are used by the same program as all links together: what differs is the number of links only.
//!
//! Where network namespaces cannot be had (no root, no TUN) the same scenario is played on loopback, through
//! a relay inside this process; MPTCP is left out then, as the relay carries UDP only.
//!
//! [`run_result`] holds what a run measured and [`arrivals`] defines its figures: goodput, longest stall, slowest 100 ms.
//! [`verdict`] compares runs; [`link_quality`] takes from the scenario what its links could have carried, and when;
//! [`report`] makes a page that stands alone: HTML with inline SVG.

pub mod arrivals;
pub mod environment;
mod error;
mod file;
mod interrupt;
pub mod link_quality;
mod live;
mod live_page;
pub mod mptcp;
pub mod report;
pub mod run_result;
mod server;
mod stage;
pub mod text;
pub mod trace;
pub mod verdict;
mod watch;

use std::cell::OnceCell;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hawser_emu::{Host, Scenario, load_scenario};
use serde::Serialize;

use environment::Environment;
pub use error::DemoError;
use file::RandomFile;
use interrupt::Interrupt;
use run_result::{Carrier, Outcome, Run};
use server::{FileServer, Helper};
use stage::Stage;
use trace::TraceReport;
use verdict::Verdict;
use watch::{Ended, Task};

/// Part of the links' rate that a file of some seconds reaches, for the estimate of the duration.
const EFFICIENCY: f64 = 0.88;
/// What a run needs beside the transfer.
const OVERHEAD: Duration = Duration::from_secs(1);
/// Port of the MPTCP server in its namespace.
const MPTCP_PORT: u16 = 4434;

/// What is played, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Scenario file.
    pub scenario: PathBuf,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Folder for the report.
    pub output: PathBuf,
    /// The `hawser` command.
    pub hawser: PathBuf,
    /// This program, which is also the MPTCP client and server.
    pub own: PathBuf,
    /// Play on loopback even where namespaces can be had.
    pub loopback: bool,
    /// A run that takes longer is stopped.
    pub limit: Duration,
    /// Where this host shows the server's status page meanwhile.
    pub http: Option<SocketAddr>,
    /// More options for `hawser get` and `hawser serve`, for those who try out schedulers.
    pub transport: Vec<String>,
}

/// Everything about a demonstration; `results.json` is this.
#[derive(Debug, Serialize)]
pub struct Results {
    /// Where and when.
    pub environment: Environment,
    /// `network namespaces`, or `loopback` and why.
    pub stage: String,
    /// Name of the scenario.
    pub scenario: String,
    /// What it is about.
    pub description: String,
    /// Names of its links.
    pub links: Vec<String>,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// What the figures mean.
    pub definitions: &'static str,
    /// The runs, in the order in which they were played.
    pub runs: Vec<Run>,
    /// Who won.
    pub verdict: Verdict,
    /// Gaps in Hawser's run and their causes, if its traces could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
}

/// Plays everything, prints the table, writes the report.
///
/// # Errors
/// When the scenario cannot be read, the stage not be built, the server not be started, the report not be
/// written, or the user pressed Ctrl-C. A run that fails is no error but a row of the table.
pub fn play(options: &Options) -> Result<Results, DemoError> {
    let scenario = load_scenario(&options.scenario)?;
    if !options.hawser.is_file() {
        return Err(DemoError::NoCommand(options.hawser.clone()));
    }
    let interrupt = Interrupt::listen()?;
    let environment = Environment::look();
    let (mut stage, stage_text) = Stage::build(&scenario, options.loopback)?;
    announce(&scenario, options, &stage, &stage_text);

    let folder = tempfile::Builder::new().prefix("hawser-demo-").tempdir();
    let folder = folder.map_err(DemoError::io("making a folder for the files"))?;
    let file = RandomFile::create(&folder.path().join("public"), options.bytes, scenario.seed)?;
    let page = options.http.map(|address| live_page::carry(&stage, address)).transpose()?;
    let server = FileServer::start(&stage, options, folder.path(), &file, page)?;
    if let Some(address) = options.http {
        let path = FileServer::page_path(folder.path()).unwrap_or_default();
        println!("Live: http://{address}{path}");
    }
    stage.connect(server.listening())?;

    let player = Player {
        options,
        scenario: &scenario,
        stage: &stage,
        folder: folder.path(),
        file: &file,
        server: &server,
        trace: OnceCell::new(),
    };
    let runs = player.all(&interrupt)?;
    let trace = player.trace.into_inner();
    let verdict = Verdict::of(&runs);
    let results = Results {
        environment,
        stage: stage_text,
        scenario: scenario.name.clone(),
        description: scenario.description.clone(),
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        bytes: options.bytes,
        sha256: file.sha256().to_owned(),
        definitions: text::DEFINITIONS,
        runs,
        verdict,
        trace,
    };
    conclude(&results, &scenario, &options.output)?;
    Ok(results)
}

/// Says what is going to happen.
fn announce(scenario: &Scenario, options: &Options, stage: &Stage, stage_text: &str) {
    let title = if scenario.description.is_empty() { &scenario.name } else { &scenario.description };
    println!("{title}");
    println!("Links: {stage_text}.");
    let carriers = carriers(scenario, stage);
    let times = carriers.iter().map(|carrier| {
        let links = links_of(carrier, scenario);
        link_quality::estimate(scenario, &links, options.bytes, EFFICIENCY).unwrap_or(options.limit)
            + OVERHEAD
    });
    let seconds = times.map(|time| time.min(options.limit + OVERHEAD)).sum::<Duration>().as_secs();
    println!(
        "The same random file of {} MiB is now fetched {} times: over each link alone{}, and by Hawser over all links.\n\
         About {} seconds.",
        options.bytes >> 20,
        carriers.len(),
        if stage.carries_tcp() { ", by kernel MPTCP" } else { "" },
        seconds.div_ceil(10) * 10,
    );
}

fn carriers(scenario: &Scenario, stage: &Stage) -> Vec<Carrier> {
    let singles = (0..scenario.links.len()).map(|link| Carrier::Single { link });
    let together =
        if stage.carries_tcp() { vec![Carrier::Mptcp, Carrier::Hawser] } else { vec![Carrier::Hawser] };
    singles.chain(together).collect()
}

/// The links that a run uses.
pub(crate) fn links_of(carrier: &Carrier, scenario: &Scenario) -> Vec<usize> {
    match carrier {
        Carrier::Single { link } => vec![*link],
        Carrier::Mptcp | Carrier::Hawser => (0..scenario.links.len()).collect(),
    }
}

/// Prints the table and writes the files.
fn conclude(results: &Results, scenario: &Scenario, output: &Path) -> Result<(), DemoError> {
    println!("\n{}", text::table(&results.runs));
    for remark in text::remarks(&results.runs) {
        println!("{remark}");
    }
    println!("{}", text::digests(&results.runs, &results.sha256));
    println!("\n{}\n", text::verdict(&results.verdict));
    fs::create_dir_all(output).map_err(DemoError::write(output))?;
    let json = output.join("results.json");
    let page = output.join("report.html");
    let text =
        serde_json::to_string_pretty(results).map_err(|error| DemoError::write(&json)(error.into()))?;
    hawser_files::write(&json, (text + "\n").as_bytes()).map_err(DemoError::write(&json))?;
    hawser_files::write(&page, report::page(results, scenario).as_bytes())
        .map_err(DemoError::write(&page))?;
    println!("Report: {}\nNumbers: {}", page.display(), json.display());
    if results.trace.is_some() {
        println!("Trace: {}", output.join(trace::PAGE).display());
    }
    Ok(())
}

/// What all runs share.
struct Player<'a> {
    options: &'a Options,
    scenario: &'a Scenario,
    stage: &'a Stage,
    folder: &'a Path,
    file: &'a RandomFile,
    server: &'a FileServer,
    /// What the traces of Hawser's run say.
    trace: OnceCell<TraceReport>,
}

impl Player<'_> {
    /// The client's traces of one run.
    fn traces(&self, carrier: &Carrier) -> PathBuf {
        let links: Vec<String> =
            links_of(carrier, self.scenario).iter().map(|link| link.to_string()).collect();
        self.folder.join(format!("traces-{}", links.join("-")))
    }

    /// Looks at the traces of Hawser's run.
    fn study(&self, carrier: &Carrier) {
        let link = |(index, link): (usize, &hawser_scenario::ScenarioLink)| {
            Some((self.stage.client_address(index)?, link.name.clone()))
        };
        let names: Vec<(String, String)> = self.scenario.links.iter().enumerate().filter_map(link).collect();
        let folders = (self.traces(carrier), server::traces(self.folder));
        let folders = (folders.0.as_path(), folders.1.as_path());
        match trace::view(&self.options.hawser, folders, &self.options.output, &names) {
            Ok(report) => drop(self.trace.set(report)),
            Err(reason) => println!("  no trace of it can be shown: {reason}"),
        }
    }

    fn all(&self, interrupt: &Interrupt) -> Result<Vec<Run>, DemoError> {
        let mut runs = Vec::new();
        for carrier in carriers(self.scenario, self.stage) {
            let run = self.one(carrier, interrupt)?;
            println!("  {}", text::cells(&run)[1..4].join("   "));
            runs.push(run);
        }
        if !self.stage.carries_tcp() {
            let reason = "it needs network namespaces; the loopback relay carries UDP only".to_owned();
            let outcome = Outcome::LeftOut { reason };
            let mptcp = Run {
                label: label(&Carrier::Mptcp, self.scenario),
                carrier: Carrier::Mptcp,
                outcome,
                samples: Vec::new(),
                emulator_late_ms: 0.0,
            };
            runs.insert(runs.len() - 1, mptcp);
        }
        Ok(runs)
    }

    fn one(&self, carrier: Carrier, interrupt: &Interrupt) -> Result<Run, DemoError> {
        let label = label(&carrier, self.scenario);
        println!("\n{label}");
        let target = self.folder.join("received");
        let tcp = carrier == Carrier::Mptcp;
        // The MPTCP server serves one client and ends.
        let (helper, command) = if tcp {
            match self.mptcp(&target) {
                Ok((helper, command)) => (Some(helper), command),
                Err(DemoError::Server { message, .. }) => {
                    let outcome = Outcome::LeftOut { reason: message };
                    return Ok(Run { label, carrier, outcome, samples: Vec::new(), emulator_late_ms: 0.0 });
                }
                Err(error) => return Err(error),
            }
        } else {
            (None, self.hawser(&carrier, &target))
        };
        self.stage.restart();
        let task =
            Task { command, limit: self.options.limit, draws: !tcp, errors: self.folder.join("client.log") };
        let seen = watch::watch(task, self.stage, self.options.bytes, interrupt)?;
        drop(helper);
        let outcome = match seen.ended {
            Ended::Reported(report) => {
                let sha256 = file::sha256(&target)?;
                let sum = link_quality::sum_of_links(self.scenario, report.seconds);
                Outcome::Finished(report.into_transfer(sha256, self.file.sha256(), sum))
            }
            Ended::Stopped { after_seconds } => Outcome::Stopped { after_seconds, bytes: arrived(&target) },
            Ended::Failed { reason } => Outcome::Failed { reason },
        };
        let _ = (fs::remove_file(&target), fs::remove_file(partial(&target)));
        if carrier == Carrier::Hawser {
            self.study(&carrier);
        }
        Ok(Run {
            label,
            carrier,
            outcome,
            samples: seen.samples,
            emulator_late_ms: self.stage.stats().lateness.max_ms,
        })
    }

    fn hawser(&self, carrier: &Carrier, target: &Path) -> Command {
        let mut command = self.stage.command(Host::Client, &self.options.hawser);
        command.args(["get", "--json", "--bins", "--pin", self.server.pin()]).args(&self.options.transport);
        // All runs write traces, so that none has it easier.
        command.arg("--qlog").arg(self.traces(carrier)).arg("--qlog-addresses");
        for link in links_of(carrier, self.scenario) {
            command.args(["--path", &self.stage.path(link)]);
        }
        command.arg("-o").arg(target).arg(format!("https://{}/{}", self.stage.server(), self.file.name()));
        command
    }

    fn mptcp(&self, target: &Path) -> Result<(Helper, Command), DemoError> {
        let mut command = self.stage.command(Host::Server, &self.options.own);
        command.args(["mptcp-serve", "--port", &MPTCP_PORT.to_string()]).arg(self.file.path());
        let (helper, _) = Helper::start(command, "the MPTCP server", &self.folder.join("mptcp.log"))?;
        let mut command = self.stage.command(Host::Client, &self.options.own);
        let server = format!("{}:{MPTCP_PORT}", self.stage.server().ip());
        command.args(["mptcp-get", "--output"]).arg(target).arg(server);
        Ok((helper, command))
    }
}

fn label(carrier: &Carrier, scenario: &Scenario) -> String {
    match carrier {
        Carrier::Single { link } => format!("{} alone", scenario.links[*link].name),
        Carrier::Mptcp => "kernel MPTCP (cubic)".to_owned(),
        Carrier::Hawser => "Hawser, all links".to_owned(),
    }
}

/// Where `hawser get` keeps a file that is not complete.
fn partial(target: &Path) -> PathBuf {
    target.with_extension("part")
}

/// Bytes of a file that may not be complete.
fn arrived(target: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map(|metadata| metadata.len());
    length(&partial(target)).or_else(|_| length(target)).unwrap_or(0)
}
