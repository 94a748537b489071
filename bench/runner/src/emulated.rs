//! One download over emulated links.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;

use bench_harness::Error;
use bench_harness::arrivals::ArrivalReport;
use bench_harness::report::{PathSample, unix_ms};
use hawser_emu::mptcp::{self, FetchOptions, Transport};
use hawser_emu::{Direction, Emulation, Host, SERVER_ADDRESS, Scenario};
use serde::Serialize;

use crate::launch::{Launcher, Side};

/// Port of the servers inside the emulation.
const PORT: u16 = 4433;
/// A run during which the emulator was later than this is repeated.
const TOLERATED_LATENESS_MS: f64 = 5.0;
/// How often.
const ATTEMPTS: usize = 4;

/// How a download went.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Download {
    /// Name of the stack.
    pub(crate) stack: String,
    /// Bytes received.
    pub(crate) bytes: u64,
    /// Handshake included.
    pub(crate) seconds: f64,
    /// What all links could carry together, bit/s.
    pub(crate) sum_of_rates_bps: f64,
    /// When bytes came.
    pub(crate) arrivals: ArrivalReport,
    /// Milliseconds since the epoch at time zero of the links' schedules.
    pub(crate) schedule_unix_ms: u64,
    /// The sender's view of its paths, where the stack gives one.
    #[serde(skip)]
    pub(crate) paths: Vec<PathSample>,
    /// Bytes that each link delivered to the client, IP headers included.
    pub(crate) link_bytes: Vec<u64>,
    /// Largest lateness of the emulator, milliseconds.
    pub(crate) lateness_ms: f64,
}

/// Runs one download in an emulation of its own, again when the emulator was late.
pub(crate) fn download(
    launcher: &Launcher,
    scenario: &Scenario,
    stack: &str,
    bytes: u64,
) -> Result<Download, Error> {
    let mut attempts = 0;
    loop {
        let emulation = Emulation::start(scenario)?;
        let mut download = if stack == "mptcp" {
            over_mptcp(&emulation, bytes)?
        } else {
            over_quic(launcher, &emulation, stack, bytes).map_err(|error| format!("{stack}: {error}"))?
        };
        let stats = emulation.stats();
        download.sum_of_rates_bps = down_rates(scenario).iter().sum();
        download.lateness_ms = stats.lateness.max_ms;
        let down = stats.links.iter().filter(|link| link.direction == Direction::Down);
        download.link_bytes = down.map(|link| link.counters.delivered_bytes).collect();
        attempts += 1;
        if download.lateness_ms <= TOLERATED_LATENESS_MS || attempts == ATTEMPTS {
            return Ok(download);
        }
        eprintln!("{stack}: the emulator was {:.1} ms late, again", download.lateness_ms);
    }
}

fn over_quic(launcher: &Launcher, emulation: &Emulation, stack: &str, bytes: u64) -> Result<Download, Error> {
    let binary = launcher.binary(stack);
    let address =
        |name: &&str| emulation.addresses(name).map(|addresses| format!("{name}={}", addresses.client()));
    let links: Vec<String> = emulation.link_names().iter().map(address).collect::<Result<_, _>>()?;
    let side = Side { multipath: true, ..Side::default() };
    let listen = SocketAddr::from((SERVER_ADDRESS, PORT));
    let server = launcher.server(emulation.command(Host::Server, &binary), listen, &side)?;
    let side = Side { links, ..side };
    let workload = ["bulk", "--bytes", &bytes.to_string()].map(str::to_owned);
    emulation.restart();
    let schedule_unix_ms = unix_ms();
    let client = launcher.client(emulation.command(Host::Client, &binary), listen, &side, &workload)?;
    Ok(Download {
        stack: stack.to_owned(),
        bytes: client.bytes,
        seconds: client.seconds,
        sum_of_rates_bps: 0.0,
        arrivals: client.arrivals.ok_or("the client did not say when bytes came")?,
        schedule_unix_ms,
        paths: server.finish()?.paths,
        link_bytes: Vec::new(),
        lateness_ms: 0.0,
    })
}

fn over_mptcp(emulation: &Emulation, bytes: u64) -> Result<Download, Error> {
    let server = emulation.run_on(Host::Server, || mptcp::Server::bind(PORT, Transport::Mptcp))??;
    let content: Arc<[u8]> = vec![0x5a; usize::try_from(bytes)?].into();
    let serving = thread::spawn(move || server.serve(&content, 1));
    let options = FetchOptions {
        server: (IpAddr::from(SERVER_ADDRESS), PORT).into(),
        transport: Transport::Mptcp,
        device: None,
    };
    emulation.restart();
    let schedule_unix_ms = unix_ms();
    let report = emulation.run_on(Host::Client, || mptcp::fetch(&options, &mut io::sink()))??;
    serving.join().map_err(|_| "the MPTCP server panicked")??;
    if report.fallback || report.subflows < 2 {
        return Err(format!("MPTCP used {} subflows (fallback: {})", report.subflows, report.fallback).into());
    }
    Ok(Download {
        stack: "mptcp".to_owned(),
        bytes: report.bytes,
        seconds: report.seconds,
        sum_of_rates_bps: 0.0,
        arrivals: ArrivalReport {
            began_unix_ms: schedule_unix_ms,
            longest_gap_ms: report.longest_stall_ms,
            gap_from_ms: None,
            bin_ms: report.bin_ms,
            bins: report.bins,
        },
        schedule_unix_ms,
        paths: Vec::new(),
        link_bytes: Vec::new(),
        lateness_ms: 0.0,
    })
}

/// Rates of the links towards the client, bit/s.
pub(crate) fn down_rates(scenario: &Scenario) -> Vec<f64> {
    scenario.links.iter().map(|link| link.down.rate.peak().unwrap_or(0) as f64).collect()
}
