//! Item 14 on real sockets: what detection and selection take of a sender's processor time at 200 Mbit/s.
//!
//! `hawser perf` sends between two network namespaces. It is asked what the same controller costs without them: with them the models
//! are asked for each unit, but a change has to wait for a hundred round trips, which take as long as the run.

use std::process::Stdio;
use std::time::Duration;

use hawser_emu::{Emulation, Host, SERVER_ADDRESS};
use serde_json::Value;

use crate::data::statistics::quantile_of;
use crate::experiments::process::{Running, hawser};
use crate::experiments::verify::{Measured, Request};

/// Detection, and models that are asked and not followed.
const ASKED: &str = "sscc,selection=model,dwell=100";
/// The controller alone.
const ALONE: &str = "sscc,coupling=off,selection=rule";
/// Both are run so many times, by turns, so that what slows the machine down for a while meets both.
const ROUNDS: usize = 11;
/// Those that are there to compare with are run so many times.
const OTHERS: usize = 3;
const SECONDS: &str = "4";

/// `share`: of the sender's processor time per bit, the median of all rounds. `per_gigabit_s`: seconds with detection and selection in
/// the quickest round, and for comparison what the set takes as it is, with the controllers that it chooses, and the default policies.
pub(super) fn sender(request: &Request<'_>) -> Result<Measured, String> {
    let scenario = request.scenario(&[])?;
    let emulation = Emulation::start(&scenario).map_err(|error| error.to_string())?;
    let (mut shares, mut goodput) = (Vec::new(), Vec::new());
    let (mut least_asked, mut least_alone) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let (asked, alone) = (send(&emulation, Some(ASKED))?, send(&emulation, Some(ALONE))?);
        shares.push(1.0 - alone.per_gigabit / asked.per_gigabit);
        goodput.push(asked.goodput);
        least_asked = least_asked.min(asked.per_gigabit);
        least_alone = least_alone.min(alone.per_gigabit);
    }
    let least = |policy| {
        let runs = (0..OTHERS).map(|_| Ok(send(&emulation, policy)?.per_gigabit));
        let runs: Vec<f64> = runs.collect::<Result<_, String>>()?;
        Ok::<_, String>(runs.into_iter().fold(f64::INFINITY, f64::min))
    };
    Ok(Measured::default()
        .with("share", quantile_of(&shares, 0.5))
        .with("goodput_mbps", quantile_of(&goodput, 0.5) / 1e6)
        .with("per_gigabit_s", least_asked)
        .with("per_gigabit_alone_s", least_alone)
        .with("per_gigabit_chosen_s", least(Some(request.policy))?)
        .with("per_gigabit_default_s", least(None)?))
}

/// What came of one run.
struct Sent {
    /// Bits per second.
    goodput: f64,
    /// Processor time of the sender, seconds per gigabit.
    per_gigabit: f64,
}

fn send(emulation: &Emulation, policy: Option<&str>) -> Result<Sent, String> {
    let program = hawser()?;
    let state = tempfile::tempdir().map_err(|error| error.to_string())?;
    let policy = policy.map_or_else(Vec::new, |policy| vec!["--policy", policy]);
    let mut server = emulation.command(Host::Server, &program);
    server.args(["perf", "server", "--listen", &format!("{SERVER_ADDRESS}:5201"), "-q", "--state"]);
    let server = Running::start(server.arg(state.path()).args(&policy).stdout(Stdio::null()))?;
    std::thread::sleep(Duration::from_millis(500));
    let before = server.processor_time()?;
    let mut client = emulation.command(Host::Client, &program);
    client.args(["perf", "client", &SERVER_ADDRESS.to_string(), "--insecure", "-R", "--json", "-q"]);
    let mut client = Running::start(client.args(["-t", SECONDS]).args(&policy).stdout(Stdio::piped()))?;
    let output = client.0.stdout.take().ok_or("no output")?;
    let report = std::io::read_to_string(output).map_err(|error| error.to_string())?;
    let spent = server.processor_time()? - before;
    client.0.wait().map_err(|error| error.to_string())?;
    let report: Value =
        serde_json::from_str(&report).map_err(|error| format!("the client's report: {error}"))?;
    let received = &report["end"]["sum_received"];
    let number =
        |name: &str| received[name].as_f64().ok_or_else(|| format!("the client's report has no {name}"));
    let gigabits = 8.0 * number("bytes")? / 1e9;
    Ok(Sent { goodput: number("bits_per_second")?, per_gigabit: spent.as_secs_f64() / gigabits })
}
