//! One command (and perhaps its server) in an emulation, from start to end: `hawser emu run`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::host::Host;
use hawser_scenario::{Scenario, SceneSource};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::unistd::Pid;
use serde::Serialize;

use crate::addresses::SERVER_ADDRESS;
use crate::emulation::Emulation;
use crate::error::EmuError;
use crate::recording::PacketRecorder;
use crate::stats::EmulationStats;
use crate::suitability;

/// How often processes are looked at while waiting for them.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Between the polite signal and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The links.
    pub scenario: Scenario,
    /// Program and arguments for the client's namespace; not empty.
    pub command: Vec<OsString>,
    /// Program and arguments for the server's namespace, started first and stopped last.
    pub server: Option<Vec<OsString>>,
    /// How long to wait until the server command listens on a TCP or UDP port.
    pub server_wait: Duration,
}

impl RunOptions {
    /// Runs `command` on the client alone, with 10 s for a server to come up if one is added.
    pub fn new(scenario: Scenario, command: Vec<OsString>) -> Self {
        Self { scenario, command, server: None, server_wait: Duration::from_secs(10) }
    }
}

/// How a run went. Serialised, it is the output of `hawser emu run --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the scenario.
    pub seed: u64,
    /// What its scenes were made from: a model, or a recording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scenes: Vec<SceneSource>,
    /// Exit code of the client command; 128 + n when signal n ended it, as shells have it.
    pub exit_code: i32,
    /// Whether the command was stopped because the scenario's `duration` was over.
    pub timed_out: bool,
    /// How long the client command ran.
    pub wall_seconds: f64,
    /// What the links did in that time.
    pub stats: EmulationStats,
    /// What of the scenario was left to the commands, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Packets of which no record was kept because the recorder was too slow; none: nothing was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_lost: Option<u64>,
    /// The same as `exit_code`, for programs.
    #[serde(skip)]
    pub status: ExitStatus,
}

/// Runs the commands in an emulation of the scenario, with standard input and outputs of this process.
///
/// Both commands find `HAWSER_SERVER_ADDR` (the address to connect to), `HAWSER_LINKS` (interface names,
/// comma separated) and `HAWSER_SCENARIO` (its name) in their environment. The schedules of the links begin
/// when the client command starts. While it runs this process ignores SIGINT, so that Ctrl-C ends the command
/// and the report is still made.
///
/// # Errors
/// Fails when the emulation cannot be set up, a command cannot be started, or the server command ends or
/// does not listen in time. A client command that fails is no error: see [`RunReport::exit_code`].
pub fn run(options: RunOptions) -> Result<RunReport, EmuError> {
    let begin = |emulation: &Emulation| {
        emulation.restart();
        Ok(())
    };
    play(&options, begin).map(|(report, ())| report)
}

/// As [`run`], and tells `recorder` of every packet from the start of the client command to its end.
///
/// # Errors
/// As [`run`].
pub fn run_recorded<R: PacketRecorder + 'static>(
    options: RunOptions,
    recorder: R,
) -> Result<(RunReport, R), EmuError> {
    let (mut report, recording) = play(&options, |emulation| emulation.record(recorder))?;
    let (recorder, lost) = recording.finish();
    report.records_lost = Some(lost);
    Ok((report, recorder))
}

/// Runs the commands; `begin` starts the schedules.
fn play<T>(
    options: &RunOptions,
    begin: impl FnOnce(&Emulation) -> Result<T, EmuError>,
) -> Result<(RunReport, T), EmuError> {
    let emulation = Emulation::start(&options.scenario)?;
    let _interrupts = IgnoreInterrupts::install();
    let server = match &options.server {
        Some(words) => Some(start_server(&emulation, words, options.server_wait)?),
        None => None,
    };
    let begun = begin(&emulation)?;
    let began = Instant::now();
    let mut client = spawn(&emulation, Host::Client, &options.command)?;
    let timed_out = !wait_until(&mut client, options.scenario.duration.map(|duration| began + duration));
    if timed_out {
        stop(&mut client);
    }
    let status = client.wait().map_err(EmuError::setup("waiting for the client command"))?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let stats = emulation.stats();
    if let Some(mut server) = server {
        stop(&mut server);
    }
    let report = RunReport {
        scenario: options.scenario.name.clone(),
        seed: options.scenario.seed,
        scenes: options.scenario.scenes.clone(),
        exit_code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
        timed_out,
        wall_seconds,
        stats,
        remarks: suitability::remarks(&options.scenario),
        records_lost: None,
        status,
    };
    Ok((report, begun))
}

/// Starts the server command and waits until it listens.
fn start_server(emulation: &Emulation, words: &[OsString], patience: Duration) -> Result<Child, EmuError> {
    let name = || first_word(words);
    let mut server = spawn(emulation, Host::Server, words)?;
    let deadline = Instant::now() + patience;
    loop {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(EmuError::ServerEnded { command: name(), status });
        }
        if listens(server.id()) {
            return Ok(server);
        }
        if Instant::now() >= deadline {
            stop(&mut server);
            return Err(EmuError::ServerSilent { command: name(), seconds: patience.as_secs() });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Whether anybody listens in the network namespace of a process: a TCP socket in state LISTEN or any UDP
/// socket. (MPTCP listeners appear among the TCP sockets.)
fn listens(pid: u32) -> bool {
    let lines = |protocol| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let is_listening = |line: &String| line.split_whitespace().nth(3) == Some("0A");
    ["udp", "udp6"].iter().any(|protocol| !lines(protocol).is_empty())
        || ["tcp", "tcp6"].iter().any(|protocol| lines(protocol).iter().any(is_listening))
}

fn spawn(emulation: &Emulation, host: Host, words: &[OsString]) -> Result<Child, EmuError> {
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "no command given");
    let failed = |source| EmuError::Spawn { command: first_word(words), source };
    let [program, arguments @ ..] = words else { return Err(failed(missing())) };
    let mut command = emulation.command(host, program);
    command
        .args(arguments)
        .env("HAWSER_SERVER_ADDR", SERVER_ADDRESS.to_string())
        .env("HAWSER_LINKS", emulation.link_names().join(","))
        .env("HAWSER_SCENARIO", &emulation.scenario().name);
    restore_interrupts(&mut command);
    command.spawn().map_err(failed)
}

fn first_word(words: &[OsString]) -> String {
    words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Waits for a process until the deadline; false when it still runs then.
fn wait_until(child: &mut Child, deadline: Option<Instant>) -> bool {
    let Some(deadline) = deadline else {
        let _ = child.wait();
        return true;
    };
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        thread::sleep(POLL_INTERVAL);
    }
    false
}

/// Asks a process to end, and kills it if it does not.
fn stop(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    if !wait_until(child, Some(Instant::now() + GRACE)) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Ignores SIGINT while it lives.
struct IgnoreInterrupts {
    previous: Option<SigAction>,
}

impl IgnoreInterrupts {
    fn install() -> Self {
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        // SAFETY: ignoring a signal runs no code of this program.
        Self { previous: unsafe { sigaction(Signal::SIGINT, &ignore) }.ok() }
    }
}

impl Drop for IgnoreInterrupts {
    fn drop(&mut self) {
        if let Some(previous) = &self.previous {
            // SAFETY: this handler was in place before.
            let _ = unsafe { sigaction(Signal::SIGINT, previous) };
        }
    }
}

/// An ignored signal stays ignored across exec: the command must get the default back.
fn restore_interrupts(command: &mut Command) {
    let restore = || {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default action runs no code of this program.
        unsafe { sigaction(Signal::SIGINT, &default) }.map(|_| ()).map_err(io::Error::from)
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(restore) };
}
