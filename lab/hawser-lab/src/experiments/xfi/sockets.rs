//! WiFi that comes and goes beside a steady cellular link on real sockets: `hawser perf` between two network namespaces, joined by
//! the emulated links of the scenario; the kernel takes the interface of the WiFi away and gives it back.

use std::process::Stdio;
use std::time::{Duration, Instant};

use hawser_emu::{Direction, Emulation, Host, SERVER_ADDRESS};
use hawser_link::Outages;
use serde_json::Value;

use super::beside::{CELLULAR, WIFI};
use crate::experiments::process::{Running, hawser};
use crate::experiments::verify::{Measured, Request};

/// Times that the WiFi goes and comes.
const HOLES: usize = 5;
/// How long it is there, and how long it is not.
const LIFE: Duration = Duration::from_secs(3);
const HOLE: Duration = Duration::from_millis(1500);
/// The bound of the sheet: three round trips of 40 ms, and one for the validation of the path.
const BOUND: Duration = Duration::from_millis(160);
/// Over this time after it the use of the WiFi is taken.
const USE: Duration = Duration::from_millis(500);
/// Rates of the links, and seconds of a round trip over an empty cellular link, as the scenario has them.
const WIFI_BPS: f64 = 20e6;
const CELLULAR_BPS: f64 = 10e6;
const CELLULAR_PROPAGATION: f64 = 0.060;
/// How closely the client looks at what it gets.
const INTERVAL: &str = "0.02";
/// The client's largest delay of acknowledgements, seconds.
const MAX_ACK_DELAY: f64 = 0.025;
/// Before that the paths of the connection are still being opened.
const BEGINNING: f64 = 1.0;

/// What comes of the WiFi's going and coming.
pub(super) fn beside(request: &Request<'_>) -> Result<Measured, String> {
    let program = hawser()?;
    let mut scenario = (request.load)(request.scenarios.first().ok_or("there is no scenario")?, &[])?;
    // The interface goes by our hand: the link itself is always there.
    for link in &mut scenario.links {
        (link.up.outages, link.down.outages) = (Outages::none(), Outages::none());
    }
    let emulation = Emulation::start(&scenario).map_err(|error| error.to_string())?;
    let state = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut server = emulation.command(Host::Server, &program);
    server.args(["perf", "server", "--listen", &format!("{SERVER_ADDRESS}:5201"), "-q", "--state"]);
    let _server = Running::start(server.arg(state.path()).stdout(Stdio::null()))?;
    std::thread::sleep(Duration::from_millis(500));
    let seconds = (LIFE + (LIFE + HOLE) * HOLES as u32).as_secs_f64();
    let mut client = emulation.command(Host::Client, &program);
    client.args(["perf", "client", &SERVER_ADDRESS.to_string(), "--insecure", "-R", "--json", "-q"]);
    client.args(["-i", INTERVAL, "-t", &seconds.to_string()]).stdout(Stdio::piped());
    let mut client = Running::start(&mut client)?;
    let output = client.0.stdout.take().ok_or("no output")?;
    // Its report is larger than a pipe.
    let report = std::thread::spawn(move || std::io::read_to_string(output));
    let holes = holes(&emulation)?;
    client.0.wait().map_err(|error| error.to_string())?;
    let report = report.join().map_err(|_| "the client's output was not read".to_owned())?;
    let report: Value = serde_json::from_str(&report.map_err(|error| error.to_string())?)
        .map_err(|error| format!("the client's report: {error}"))?;
    let stall = stall(&report).ok_or("the client's report has no intervals")?;
    let used = || holes.iter().map(|hole| hole.used);
    let timeout = holes.iter().map(|hole| hole.probe_timeout).fold(f64::INFINITY, f64::min);
    Ok(Measured::new("")
        .with("arrivals", holes.len() as f64)
        .with("used_share_mean", used().sum::<f64>() / holes.len() as f64)
        .with("used_share_least", used().fold(f64::INFINITY, f64::min))
        .with("longest_stall_ms", 1e3 * stall)
        .with("least_probe_timeout_ms", 1e3 * timeout)
        .with("longest_stall_pto", stall / timeout))
}

/// What was seen at a hole.
struct Hole {
    /// Share of the WiFi's rate that was used when it had come back.
    used: f64,
    /// The probe timeout of the cellular path at the sender (RFC 9002 section 6.2.1), seconds, when the WiFi went: round-trip time and
    /// delay of acknowledgements, without the variation, so that it is a low one.
    probe_timeout: f64,
}

/// Takes the WiFi away and gives it back.
fn holes(emulation: &Emulation) -> Result<Vec<Hole>, String> {
    let failed = |error: hawser_emu::EmuError| error.to_string();
    std::thread::sleep(LIFE);
    let mut holes = Vec::new();
    for _ in 0..HOLES {
        let (_, queued) = state(emulation, CELLULAR);
        let round_trip = CELLULAR_PROPAGATION + 8.0 * queued as f64 / CELLULAR_BPS;
        emulation.set_interface_up(WIFI, false).map_err(failed)?;
        std::thread::sleep(HOLE);
        emulation.set_interface_up(WIFI, true).map_err(failed)?;
        std::thread::sleep(BOUND);
        let (from, (before, _)) = (Instant::now(), state(emulation, WIFI));
        std::thread::sleep(USE);
        let bits = 8.0 * (state(emulation, WIFI).0 - before) as f64;
        let used = bits / from.elapsed().as_secs_f64() / WIFI_BPS;
        holes.push(Hole { used, probe_timeout: round_trip + MAX_ACK_DELAY });
        std::thread::sleep(LIFE.saturating_sub(BOUND + USE));
    }
    Ok(holes)
}

/// Of the direction of a link to the client: bytes that it has brought, and those that wait.
fn state(emulation: &Emulation, name: &str) -> (u64, u64) {
    let stats = emulation.stats();
    let mut links = stats.links.iter();
    let found = links.find(|link| link.link == name && link.direction == Direction::Down);
    found.map_or((0, 0), |link| (link.counters.delivered_bytes, link.queued_bytes))
}

/// The longest time in which the client's application got no byte, seconds.
fn stall(report: &Value) -> Option<f64> {
    let (mut longest, mut now) = (0.0_f64, 0.0);
    for interval in report["intervals"].as_array()? {
        let sum = &interval["sum"];
        if sum["start"].as_f64()? < BEGINNING {
            continue;
        }
        now = if sum["bytes"].as_u64()? == 0 { now + sum["seconds"].as_f64()? } else { 0.0 };
        longest = longest.max(now);
    }
    Some(longest)
}
