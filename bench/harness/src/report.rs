//! What the binaries print: one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::arrivals::ArrivalReport;
use crate::process::CpuTime;

/// First line of a server: it can be reached now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ready {
    /// Address and port.
    pub listening: std::net::SocketAddr,
}

/// Last line of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerReport {
    /// Name of the stack.
    pub stack: String,
    /// Bytes of stream data handed to the stack.
    pub bytes: u64,
    /// Connections whose handshake was completed.
    pub connections: u64,
    /// Handshakes that were not.
    pub abandoned: u64,
    /// CPU time since the server was ready.
    pub cpu: CpuTime,
    /// Largest resident set.
    pub max_rss_kib: u64,
    /// The sender's view of each path over time; empty unless several paths were asked for.
    pub paths: Vec<PathSample>,
}

/// The only line of a client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientReport {
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Bytes of stream data received.
    pub bytes: u64,
    /// Requests answered, or handshakes completed.
    pub count: u64,
    /// From just before the request until the last byte; the handshake counts where links are emulated, and
    /// where handshakes are the workload.
    pub seconds: f64,
    /// CPU time in these seconds.
    pub cpu: CpuTime,
    /// Largest resident set.
    pub max_rss_kib: u64,
    /// Of `bulk`: when bytes came.
    pub arrivals: Option<ArrivalReport>,
}

/// How fast a simulation went, in whichever simulator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SimulationSpeed {
    /// Length in virtual time.
    pub simulated_seconds: f64,
    /// Length in real time, Hawser's with building it.
    pub wall_seconds: f64,
    /// CPU time in these seconds.
    pub cpu_seconds: f64,
    /// Packets that arrived at a host.
    pub packets: u64,
    /// Events as the simulator counts them; Hawser's are instants at which something happened.
    pub events: u64,
    /// Of all connections together.
    pub goodput_bps: f64,
}

impl SimulationSpeed {
    /// Packets per second of real time.
    pub fn packets_per_second(&self) -> f64 {
        self.packets as f64 / self.wall_seconds
    }
}

/// What a simulation took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SimulationReport {
    /// How fast it went.
    #[serde(flatten)]
    pub speed: SimulationSpeed,
    /// The same for the same scenario, seed and version.
    pub trace_hash: String,
    /// Connections that received something.
    pub connections: usize,
    /// Resident memory before the simulation was built.
    pub rss_before_kib: u64,
    /// The most resident memory until its end.
    pub rss_peak_kib: u64,
    /// Bytes of the files recorded.
    pub recorded_bytes: u64,
}

/// What a sweep took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepReport {
    /// Threads.
    pub threads: usize,
    /// Cells that ran.
    pub cells: usize,
    /// From the first cell to the last.
    pub wall_seconds: f64,
    /// Packets of all cells.
    pub packets: u64,
}

/// A sender's view of one path at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathSample {
    /// Milliseconds since the epoch: comparable between processes of one machine.
    pub unix_ms: u64,
    /// Identifier of the path.
    pub path: u64,
    /// Smoothed round-trip time, milliseconds.
    pub rtt_ms: f64,
    /// Probe timeout (RFC 9002 section 6.2.1) without back-off, milliseconds, where the stack tells enough.
    pub pto_ms: Option<f64>,
    /// Bytes sent over the path so far.
    pub sent_bytes: u64,
}

/// Milliseconds since the epoch.
pub fn unix_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_millis() as u64)
}
