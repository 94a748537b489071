//! A running emulation.

use std::ffi::OsStr;
use std::io;
use std::process::Command;
use std::time::Duration;

use crate::host::Host;
use hawser_scenario::Scenario;

use crate::addresses::LinkAddresses;
use crate::cleanup::{Reaper, kill_inside};
use crate::error::EmuError;
use crate::forwarder::Forwarder;
use crate::host::check_host;
use crate::namespace::Namespace;
use crate::network::{self, device_drops};
use crate::process;
use crate::recording::{PacketRecorder, Recording};
use crate::stats::EmulationStats;
use crate::suitability;

/// Two hosts and their links, running in real time until dropped.
#[derive(Debug)]
pub struct Emulation {
    scenario: Scenario,
    client: Namespace,
    server: Namespace,
    forwarder: Forwarder,
    _reaper: Reaper,
}

impl Emulation {
    /// Sets up namespaces, devices, routes and links, and starts the schedules at time zero.
    ///
    /// # Errors
    /// Fails when the scenario has what only the simulator carries (more than two hosts, NAT rebinding), without root,
    /// `/dev/net/tun` or `ip` (see [`check_host`]), or when the kernel refuses a step.
    pub fn start(scenario: &Scenario) -> Result<Self, EmuError> {
        suitability::check(scenario)?;
        check_host()?;
        let create = |step| Namespace::create().map_err(EmuError::setup(step));
        let client = create("creating the client's network namespace")?;
        let server = create("creating the server's network namespace")?;
        let client_tuns = network::configure(&client, Host::Client, scenario)?;
        let server_tuns = network::configure(&server, Host::Server, scenario)?;
        let tuns =
            client_tuns.into_iter().zip(server_tuns).flat_map(|(client, server)| [client, server]).collect();
        let reaper =
            Reaper::start(&client, &server).map_err(EmuError::setup("starting the clean-up process"))?;
        let forwarder =
            Forwarder::start(scenario, tuns).map_err(EmuError::setup("starting the forwarding thread"))?;
        Ok(Self { scenario: scenario.clone(), client, server, forwarder, _reaper: reaper })
    }

    /// The scenario being emulated.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// A command that will run on `host`; add arguments, environment and redirections as usual.
    ///
    /// The process is killed when the *thread* that spawns it ends (`PR_SET_PDEATHSIG`), so spawn it from a
    /// thread that lives long enough; it and its descendants are killed when the emulation is dropped or this
    /// process dies.
    pub fn command(&self, host: Host, program: impl AsRef<OsStr>) -> Command {
        process::command(self.namespace(host), program.as_ref())
    }

    /// Runs `work` on a new thread inside the host's namespace and waits for it. Sockets made there belong to
    /// the host wherever they are used later.
    ///
    /// # Errors
    /// Fails when the thread cannot enter the namespace.
    pub fn run_on<T: Send>(&self, host: Host, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.namespace(host).run(work)
    }

    /// Names of the links, which are also those of the interfaces, in the order of the scenario.
    pub fn link_names(&self) -> Vec<&str> {
        self.scenario.links.iter().map(|link| link.name.as_str()).collect()
    }

    /// The addresses of a link.
    ///
    /// # Errors
    /// Fails when there is no link of that name.
    pub fn addresses(&self, link: &str) -> Result<LinkAddresses, EmuError> {
        self.index_of(link).map(LinkAddresses::of)
    }

    /// Takes a link up or down from now on, whatever its schedule says. The interfaces stay up: as with a
    /// radio out of reach, packets just vanish.
    ///
    /// # Errors
    /// Fails when there is no link of that name.
    pub fn set_link_up(&self, link: &str, up: bool) -> Result<(), EmuError> {
        self.forwarder.force(self.index_of(link)?, Some(up));
        Ok(())
    }

    /// Gives a link back to its schedule after [`Self::set_link_up`].
    ///
    /// # Errors
    /// Fails when there is no link of that name.
    pub fn follow_schedule(&self, link: &str) -> Result<(), EmuError> {
        self.forwarder.force(self.index_of(link)?, None);
        Ok(())
    }

    /// Takes the client's *interface* of a link down or up: the client's kernel notices, unlike with
    /// [`Self::set_link_up`].
    ///
    /// # Errors
    /// Fails when there is no link of that name or `ip` refuses.
    pub fn set_interface_up(&self, link: &str, up: bool) -> Result<(), EmuError> {
        let index = self.index_of(link)?;
        network::set_interface(&self.client, index, &self.scenario.links[index], up)
    }

    /// Empties all links, gives them back to their schedules, sets the counters to zero (but not those of
    /// overruns, which the kernel keeps) and starts the schedules again at time zero. Programs inside go on.
    pub fn restart(&self) {
        self.forwarder.restart(&self.scenario);
    }

    /// As [`Self::restart`], and tells `recorder` of every packet from then on, until the recording is finished or
    /// the emulation starts again. The recorder has a thread of its own: when it is too slow, records are lost and
    /// counted, but no packet is delayed.
    ///
    /// # Errors
    /// Fails when that thread cannot be started.
    pub fn record<R: PacketRecorder + 'static>(&self, recorder: R) -> Result<Recording<R>, EmuError> {
        let recording = self.forwarder.record(&self.scenario, recorder);
        recording.map_err(EmuError::setup("starting the recorder's thread"))
    }

    /// Time since the start of the schedules.
    pub fn elapsed(&self) -> Duration {
        self.forwarder.elapsed()
    }

    /// Counters as of now, per link and direction, and the emulator's own lateness.
    pub fn stats(&self) -> EmulationStats {
        // Devices drop before we read: those of the client on the way up, those of the server on the way down.
        let drops = [&self.client, &self.server].map(|namespace| device_drops(namespace).unwrap_or_default());
        let overruns = |flow: usize| {
            let name = &self.scenario.links[flow / 2].name;
            drops[flow % 2].iter().find(|(device, _)| device == name).map_or(0, |(_, count)| *count)
        };
        self.forwarder.stats(&self.scenario, overruns)
    }

    fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    fn index_of(&self, link: &str) -> Result<usize, EmuError> {
        self.scenario.links.iter().position(|known| known.name == link).ok_or_else(|| EmuError::NoSuchLink {
            name: link.to_owned(),
            known: self.link_names().join(", "),
        })
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        kill_inside(&[&self.client, &self.server]);
    }
}
