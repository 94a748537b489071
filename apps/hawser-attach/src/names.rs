//! Name servers of a lease: where programs of this machine learn of them.
//!
//! systemd-resolved is told over D-Bus where programs ask it; else a program `resolvconf` (openresolv, resolvconf) is called where there is
//! one; else the file that names resolvers is another one for as long. All of that may take seconds, in which the link has to go on: a task
//! of its own does it.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use hawser_tunnel::host::resolv::Resolv;
use hawser_tunnel::host::resolved::{self, Resolved, ResolvedError};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::interface::number;
use super::record::Record;
use hawser_command::output::Output;

/// The file that programs read.
pub(super) const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The program, and what systemd installs under its name.
const PROGRAM: &str = "resolvconf";
const PROGRAM_OF_RESOLVED: &str = "resolvectl";
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of a link and the name servers of its lease; `None` without a lease.
type Wanted = Option<(u32, Vec<Ipv4Addr>)>;

/// The task that has name servers asked.
pub(super) struct Names {
    wanted: watch::Sender<Wanted>,
    task: JoinHandle<()>,
}

impl Names {
    /// Undoes first what a process that was killed has left.
    pub(super) fn start(servers: NameServers) -> Self {
        let (wanted, receiver) = watch::channel(None);
        Names { wanted, task: tokio::spawn(follow(servers, receiver)) }
    }

    /// Has these servers asked, in place of those before.
    pub(super) fn set(&self, link: u32, servers: &[Ipv4Addr]) {
        self.wanted.send_replace(Some((link, servers.to_vec())));
    }

    /// There is no lease any more.
    pub(super) fn remove(&self) {
        self.wanted.send_replace(None);
    }

    /// Returns once everything is undone.
    pub(super) async fn end(self) {
        drop(self.wanted);
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "name servers are perhaps not restored");
        }
    }
}

async fn follow(mut names: NameServers, mut wanted: watch::Receiver<Wanted>) {
    names.recover().await;
    loop {
        let now = wanted.borrow_and_update().clone();
        match now {
            Some((link, servers)) => names.set(link, &servers).await,
            None => names.remove().await,
        }
        if wanted.changed().await.is_err() {
            return names.remove().await;
        }
    }
}

/// What was changed so that the name servers of a lease are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// systemd-resolved has them for the link of this number.
    Resolved(u32),
    /// The program has them.
    Program,
    /// A file is another one.
    File(Resolv),
}

/// Has the name servers of leases asked.
pub(super) struct NameServers {
    file: PathBuf,
    interface: String,
    record: Record<Way>,
    output: Output,
    current: Option<(u32, Vec<Ipv4Addr>, Way)>,
    /// What went wrong last: it is said once.
    said: Option<String>,
}

impl NameServers {
    /// For an interface. `file`: what programs read; `record`: where it stands what has to be undone.
    pub(super) fn new(file: &Path, interface: &str, record: PathBuf, output: Output) -> Self {
        // The next process may be in another folder.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let record = Record::new(record);
        NameServers { file, interface: interface.to_owned(), record, output, current: None, said: None }
    }

    /// Undoes what a process that was killed has left.
    async fn recover(&mut self) {
        if let Some(way) = self.record.read() {
            self.undo(&way).await;
        }
    }

    /// Has these servers asked, in place of those before. What goes wrong is said; the link works without names.
    async fn set(&mut self, link: u32, servers: &[Ipv4Addr]) {
        let is_set = |(at, current, _): &(u32, Vec<Ipv4Addr>, Way)| *at == link && current == servers;
        if self.current.as_ref().is_some_and(is_set) {
            return;
        }
        self.remove().await;
        // What could not be undone then, as `hawser tunnel` had the file, perhaps can now.
        self.recover().await;
        if servers.is_empty() {
            return;
        }
        match self.change(link, servers).await {
            Ok(way) => {
                self.current = Some((link, servers.to_vec(), way));
                self.said = None;
            }
            Err(reason) => {
                let list: Vec<String> = servers.iter().map(Ipv4Addr::to_string).collect();
                self.say(format!("name servers {} are not asked: {reason}", list.join(", ")));
            }
        }
    }

    /// Undoes it.
    async fn remove(&mut self) {
        if let Some((_, _, way)) = self.current.take() {
            self.undo(&way).await;
        }
    }

    async fn change(&self, link: u32, servers: &[Ipv4Addr]) -> Result<Way, String> {
        let addresses: Vec<IpAddr> = servers.iter().copied().map(IpAddr::V4).collect();
        if resolved::is_asked(&self.file) {
            let way = Way::Resolved(link);
            self.note(&way);
            return match set_in_resolved(link, &addresses).await {
                Ok(()) => Ok(way),
                Err(error) => {
                    self.record.remove();
                    Err(format!("systemd-resolved: {error}"))
                }
            };
        }
        if self.file == Path::new(RESOLV_CONF)
            && let Some(program) = program(folders())
        {
            self.note(&Way::Program);
            let text: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
            match self.call(&program, "-a", &text).await {
                Ok(()) => return Ok(Way::Program),
                Err(error) => tracing::debug!(%error, "the file is written instead"),
            }
            self.record.remove();
        }
        self.write(&addresses)
    }

    /// Writes the file.
    fn write(&self, servers: &[IpAddr]) -> Result<Way, String> {
        let place = self.file.display();
        if let Some(owner) = Resolv::owner(&self.file) {
            return Err(format!("`hawser {owner}` has written {place}, and has to end first"));
        }
        let failed = |error: io::Error| format!("{place}: {error}");
        let resolv =
            Resolv::read_for(&self.file, &format!("wifi attach {}", self.interface)).map_err(failed)?;
        let way = Way::File(resolv.clone());
        self.record
            .write_through(&way)
            .map_err(|error| format!("what {place} was cannot be kept: {error}"))?;
        if let Err(error) = resolv.replace(servers) {
            if resolv.restore().is_ok() {
                self.record.remove();
            }
            return Err(failed(error));
        }
        Ok(way)
    }

    /// Undoes a change. If that cannot be done yet it stays on file, for the next time.
    async fn undo(&mut self, way: &Way) {
        let undone = match way {
            // A link that was plugged in again has another number, and resolved has forgotten the one before.
            Way::Resolved(link) if number(&self.interface) != Some(*link) => Ok(()),
            Way::Resolved(link) => forget_in_resolved(*link).await.map_err(|error| error.to_string()),
            Way::Program => match program(folders()) {
                Some(program) => self.call(&program, "-d", "").await.map_err(|error| error.to_string()),
                None => Ok(()),
            },
            Way::File(resolv) => match resolv.restore() {
                Ok(true) => Ok(()),
                // At its end that command writes what was there before, which is the file of this one.
                Ok(false) if Resolv::owner(resolv.path()).is_some() => {
                    Err("another `hawser` has the file".to_owned())
                }
                // What another program has written since then stays.
                Ok(false) => Ok(()),
                Err(error) => Err(error.to_string()),
            },
        };
        match undone {
            Ok(()) => self.record.remove(),
            Err(reason) => {
                self.say(format!(
                    "name servers are not as they were: {reason}; the next start tries it again"
                ));
            }
        }
    }

    /// Says something, once.
    fn say(&mut self, text: String) {
        if self.said.as_ref() != Some(&text) {
            self.output.remark(format_args!("{}: {text}", self.interface));
            self.said = Some(text);
        }
    }

    /// Puts a change on file that a reboot undoes as well. Without a file it is not undone after a kill.
    fn note(&self, way: &Way) {
        if let Err(error) = self.record.write(way) {
            tracing::debug!(%error, "what is changed about name servers is not on file");
        }
    }

    /// `resolvconf -a IFACE.hawser`, or `-d`.
    async fn call(&self, program: &Path, what: &str, text: &str) -> io::Result<()> {
        let mut command = Command::new(program);
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
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("{PROGRAM} failed ({status})"))) }
    }
}

async fn set_in_resolved(link: u32, servers: &[IpAddr]) -> Result<(), ResolvedError> {
    Resolved::find().await?.set_lease_resolvers(link, servers).await
}

async fn forget_in_resolved(link: u32) -> Result<(), ResolvedError> {
    Resolved::find().await?.forget_lease_resolvers(link).await
}

/// Where programs are; those of the administrator are not in everybody's `PATH`.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect()
}

/// The first `resolvconf` in these folders. systemd's informs systemd-resolved, which nobody asks where this is looked for.
fn program(folders: Vec<PathBuf>) -> Option<PathBuf> {
    let mut found = folders.into_iter().map(|folder| folder.join(PROGRAM));
    found.find(|program| {
        let is_of_resolved = |real: PathBuf| real.ends_with(PROGRAM_OF_RESOLVED);
        program.is_absolute() && program.is_file() && !program.canonicalize().is_ok_and(is_of_resolved)
    })
}

#[cfg(test)]
mod tests;
