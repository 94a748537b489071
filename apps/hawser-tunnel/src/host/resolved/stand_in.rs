//! What plays systemd-resolved in tests, on a bus of their own.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use zbus::{Address, Connection, DBusError, interface};

use super::{OBJECT, SERVICE, address, family_and_bytes};

/// A bus on which everything is allowed, and no service is started.
const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=FOLDER/bus</listen>
  <policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy>
</busconfig>
"#;

/// A bus; it ends with this.
pub(crate) struct Bus {
    daemon: Child,
    pub(crate) address: Address,
    _folder: TempDir,
}

impl Bus {
    /// Returns `None`, and says so, where dbus-daemon is not installed.
    pub(crate) fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let file = folder.path().join("bus.conf");
        std::fs::write(&file, CONFIGURATION.replace("FOLDER", &path)).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg("--config-file").arg(file).args(["--nofork", "--nopidfile", "--print-address"]);
        let Ok(mut daemon) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
            eprintln!("skipped: needs dbus-daemon");
            return None;
        };
        // It prints its address once it listens.
        let mut said = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut said).unwrap();
        Some(Bus { daemon, address: said.trim().parse().unwrap(), _folder: folder })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// What it answers when it is told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Temper {
    Willing,
    /// The device is managed by another service.
    Refusing,
    /// It does not know the device yet, for so many calls.
    Late(u32),
}

#[derive(Debug, DBusError)]
#[zbus(prefix = "org.freedesktop.resolve1")]
enum Refusal {
    #[zbus(error)]
    ZBus(zbus::Error),
    LinkBusy(String),
    NoSuchLink(String),
}

/// The calls that came, in words.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

struct Manager {
    calls: Calls,
    temper: Temper,
    upstream: Vec<IpAddr>,
}

impl Manager {
    fn take(&mut self, call: String) -> Result<(), Refusal> {
        match &mut self.temper {
            Temper::Refusing => return Err(Refusal::LinkBusy("Link hawser0 is managed.".to_owned())),
            Temper::Late(0) | Temper::Willing => {}
            Temper::Late(count) => {
                *count -= 1;
                return Err(Refusal::NoSuchLink("Link 7 not known".to_owned()));
            }
        }
        self.calls.lock().unwrap().push(call);
        Ok(())
    }
}

#[interface(name = "org.freedesktop.resolve1.Manager")]
impl Manager {
    #[zbus(name = "SetLinkDNS")]
    fn set_link_dns(&mut self, index: i32, servers: Vec<(i32, Vec<u8>)>) -> Result<(), Refusal> {
        let servers: Vec<String> =
            servers.iter().filter_map(|(_, bytes)| address(bytes)).map(|one| one.to_string()).collect();
        self.take(format!("{index} asks {}", servers.join(" ")))
    }

    #[zbus(name = "SetLinkDomains")]
    fn set_link_domains(&mut self, index: i32, domains: Vec<(String, bool)>) -> Result<(), Refusal> {
        let domain =
            |(name, is_route): &(String, bool)| format!("{}{name}", if *is_route { "~" } else { "" });
        self.take(format!("{index} for {}", domains.iter().map(domain).collect::<Vec<_>>().join(" ")))
    }

    #[zbus(name = "SetLinkDefaultRoute")]
    fn set_link_default_route(&mut self, index: i32, is_default: bool) -> Result<(), Refusal> {
        self.take(format!("{index} for others: {is_default}"))
    }

    #[zbus(name = "SetLinkDNSOverTLS")]
    fn set_link_dns_over_tls(&mut self, index: i32, mode: String) -> Result<(), Refusal> {
        self.take(format!("{index} over TLS: {mode}"))
    }

    #[zbus(name = "RevertLink")]
    fn revert_link(&mut self, index: i32) -> Result<(), Refusal> {
        self.take(format!("{index} reverted"))
    }

    #[zbus(property, name = "DNS")]
    fn dns(&self) -> Vec<(i32, i32, Vec<u8>)> {
        let listed = self.upstream.iter().map(family_and_bytes);
        listed.map(|(family, bytes)| (2, family, bytes)).collect()
    }

    #[zbus(property, name = "FallbackDNS")]
    fn fallback_dns(&self) -> Vec<(i32, i32, Vec<u8>)> {
        Vec::new()
    }
}

/// What plays it.
pub(crate) struct StandIn {
    connection: Connection,
    pub(crate) calls: Calls,
}

impl StandIn {
    pub(crate) async fn start(bus: &Bus, temper: Temper, upstream: &[IpAddr]) -> Self {
        let calls = Calls::default();
        let manager = Manager { calls: calls.clone(), temper, upstream: upstream.to_vec() };
        let builder = zbus::connection::Builder::address(bus.address.clone());
        let connection = builder.serve_at(OBJECT, manager).name(SERVICE).build().await.unwrap();
        StandIn { connection, calls }
    }

    /// The calls until now.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// As if its process ended.
    pub(crate) async fn stop(self) {
        self.connection.close().await.unwrap();
    }
}
