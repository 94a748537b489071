//! Name servers of a lease: where programs of this machine learn of them.
//!
//! systemd-resolved is told over D-Bus where programs ask it; else a program `resolvconf` (openresolv, resolvconf) is called where there is
//! one; else the file that names resolvers is another one for as long.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use hawser_tunnel::host::resolv::Resolv;
use hawser_tunnel::host::resolved::{self, Resolved};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use hawser_command::output::Output;

/// The file that programs read.
pub(super) const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The command in the first line of a file that is written here.
const COMMAND: &str = "wifi attach";

/// How long `resolvconf` may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How they were told.
enum Way {
    Resolved(Box<Resolved>),
    Program,
    File(Resolv),
}

/// Has the name servers of leases asked.
pub(super) struct NameServers {
    file: PathBuf,
    interface: String,
    index: u32,
    output: Output,
    current: Option<(Vec<Ipv4Addr>, Way)>,
    /// What went wrong last: it is said once.
    said: Option<String>,
}

impl NameServers {
    /// For an interface of this name and number; `file`: what programs read.
    pub(super) fn new(file: PathBuf, interface: &str, index: u32, output: Output) -> Self {
        NameServers { file, interface: interface.to_owned(), index, output, current: None, said: None }
    }

    /// Has these servers asked, in place of those before. What goes wrong is said; the link works without names.
    pub(super) async fn set(&mut self, servers: &[Ipv4Addr]) {
        if self.current.as_ref().is_some_and(|(current, _)| current == servers) {
            return;
        }
        self.remove().await;
        if servers.is_empty() {
            return;
        }
        match self.tell(servers).await {
            Ok(way) => {
                self.current = Some((servers.to_vec(), way));
                self.said = None;
            }
            Err(reason) => {
                let list: Vec<String> = servers.iter().map(Ipv4Addr::to_string).collect();
                let text =
                    format!("{}: name servers {} are not asked: {reason}", self.interface, list.join(", "));
                if self.said.as_ref() != Some(&text) {
                    self.output.remark(format_args!("{text}"));
                    self.said = Some(text);
                }
            }
        }
    }

    async fn tell(&self, servers: &[Ipv4Addr]) -> Result<Way, String> {
        let addresses: Vec<IpAddr> = servers.iter().copied().map(IpAddr::V4).collect();
        if resolved::is_asked(&self.file) {
            let found = Resolved::find().await.map_err(|error| format!("systemd-resolved: {error}"))?;
            let told = found.set_lease_resolvers(self.index, &addresses).await;
            told.map_err(|error| format!("systemd-resolved: {error}"))?;
            return Ok(Way::Resolved(Box::new(found)));
        }
        let text: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
        if self.file == Path::new(RESOLV_CONF) && self.call_program("-a", &text).await.is_ok() {
            return Ok(Way::Program);
        }
        if Resolv::is_of_a_tunnel(&self.file) {
            return Err("`hawser tunnel` has its own".to_owned());
        }
        let file = || self.file.display();
        let resolv = Resolv::read_for(&self.file, COMMAND).map_err(|error| format!("{}: {error}", file()))?;
        resolv.replace(&addresses).map_err(|error| format!("{}: {error}", file()))?;
        Ok(Way::File(resolv))
    }

    /// Undoes it.
    pub(super) async fn remove(&mut self) {
        let Some((_, way)) = self.current.take() else { return };
        let undone = match way {
            Way::Resolved(resolved) => {
                resolved.forget_lease_resolvers(self.index).await.map_err(|error| error.to_string())
            }
            Way::Program => self.call_program("-d", "").await.map_err(|error| error.to_string()),
            Way::File(resolv) => resolv.restore().map(drop).map_err(|error| error.to_string()),
        };
        if let Err(error) = undone {
            tracing::warn!(error, "the name servers of the lease are still asked");
        }
    }

    /// `resolvconf -a IFACE.hawser`, or `-d`.
    async fn call_program(&self, what: &str, text: &str) -> io::Result<()> {
        let mut command = Command::new("resolvconf");
        command.arg(what).arg(format!("{}.hawser", self.interface)).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let done = async {
            if let Some(mut input) = child.stdin.take() {
                input.write_all(text.as_bytes()).await?;
            }
            child.wait().await
        };
        let status = timeout(PATIENCE, done).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if status.success() { Ok(()) } else { Err(io::Error::other("resolvconf has failed")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_names_servers_of_the_lease_for_as_long_as_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        std::fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
        let mut names = NameServers::new(file.clone(), "wlan0", 7, Output::default());
        let read = || std::fs::read_to_string(&file).unwrap();
        names.set(&[Ipv4Addr::new(10, 0, 0, 1)]).await;
        assert!(read().ends_with("\nnameserver 10.0.0.1\n"), "{}", read());
        names.set(&[Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 3)]).await;
        assert!(read().ends_with("\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"), "{}", read());
        names.remove().await;
        assert_eq!(read(), "nameserver 192.0.2.1\n");
        names.set(&[]).await;
        assert_eq!(read(), "nameserver 192.0.2.1\n", "a lease without servers changes nothing");
    }

    #[tokio::test]
    async fn names_of_a_tunnel_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        std::fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
        Resolv::read(&file).unwrap().replace(&[IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9))]).unwrap();
        let of_tunnel = std::fs::read_to_string(&file).unwrap();
        let mut names = NameServers::new(file.clone(), "wlan0", 7, Output::default());
        names.set(&[Ipv4Addr::new(10, 0, 0, 1)]).await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), of_tunnel);
        names.remove().await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), of_tunnel);
    }
}
