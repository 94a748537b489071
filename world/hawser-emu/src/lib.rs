//! Any program on emulated links, in real time.
//!
//! ```text
//!   client namespace                    this process                      server namespace
//!  +------------------+      +--------------------------------+      +---------------------+
//!  | wifi0 10.77.1.2 -|--TUN-|-> Link (up)   ------------->  -|-TUN--|- wifi0              |
//!  |                  |      |       <-----------  Link (down)|      |    10.99.0.1 on lo  |
//!  | lte0  10.77.2.2 -|--TUN-|-> ...                         -|-TUN--|- lte0               |
//!  +------------------+      +--------------------------------+      +---------------------+
//! ```
//!
//! Two network namespaces are joined by one pair of TUN devices per link. One thread reads IP packets from
//! each device, passes them through a [`hawser_link::Fabric`] - the very links and routes that the simulator
//! drives in virtual time, with segments that several links share - and writes them to the other device when they
//! are due. No kernel qdisc takes part, so no `netem` is needed and no queue of the sender's host hides losses.
//!
//! UDP flows of the scenario load the links with packets that begin and end inside. All other traffic is what the
//! programs send; more hosts than two and NAT rebinding exist only in the simulator ([`EmuError::Simulated`]).
//!
//! * The server has **one** address, [`SERVER_ADDRESS`], reachable over every link. A client socket chooses
//!   its link by `SO_BINDTODEVICE`, or by binding to the link's address (policy routing is set up), or takes
//!   the first link of the scenario by default. Replies return over the link whose address was used.
//! * The namespaces are **anonymous**: only file descriptors of this process (and the processes inside) hold
//!   them. When this process ends, even by SIGKILL, devices, routes and namespaces vanish with it; processes
//!   left inside are killed. Nothing is ever left under `/run/netns`.
//! * It needs root (or `unshare --user --map-root-user`), `/dev/net/tun` and the `ip` command;
//!   [`check_host`] says what is missing.
//!
//! Without root, [`LoopbackRelay`] offers the same links to UDP programs on loopback.
//!
//! # Time
//! Departures are computed from the packets' times of arrival, so rates are exact however late the thread
//! runs. How late packets were written is measured: [`EmulationStats::lateness`]. Repeat a measurement whose
//! maximum exceeds a few milliseconds; virtual machines do stop for tens of milliseconds at times.
//!
//! What became of each packet tells [`Emulation::record`].
//!
//! # Example
//! ```no_run
//! use hawser_emu::{Emulation, Host, load_scenario};
//!
//! let scenario = load_scenario("scenarios/drive.toml".as_ref())?;
//! let emulation = Emulation::start(&scenario)?;
//! let status = emulation.command(Host::Client, "ping").args(["-c3", "-I", "lte0", "10.99.0.1"]).status()?;
//! println!("{status}: {}", emulation.stats().lateness.p99_ms);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod addresses;
mod background;
mod cleanup;
mod data_plane;
mod emulation;
mod error;
mod forwarder;
mod host;
mod lateness;
pub mod mptcp;
mod namespace;
mod network;
mod packet;
mod process;
mod recording;
mod relay;
mod run;
mod stats;
mod suitability;
mod tun;

pub use addresses::{LinkAddresses, SERVER_ADDRESS};
pub use emulation::Emulation;
pub use error::EmuError;
pub use hawser_link::{DirectionConfig, DropCause, Jitter, RateModel};
pub use hawser_scenario::{Direction, Scenario, ScenarioError, ScenarioLink};
pub use host::{Host, check_host, load_scenario, load_scenario_with};
pub use lateness::Lateness;
pub use recording::{PacketRecord, PacketRecorder, Recording, RouteName};
pub use relay::LoopbackRelay;
pub use run::{RunOptions, RunReport, run, run_recorded};
pub use stats::{BackgroundStats, DirectionStats, EmulationStats};
pub use suitability::remarks;
