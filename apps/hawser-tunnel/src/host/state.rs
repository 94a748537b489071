//! The file that says what has to be undone.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::netlink::{Netlink, NetlinkError};
use super::resolv::Resolv;
use super::sysctl::Sysctl;

/// Why a state file cannot be used, or what it says cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another one runs.
    #[error("another one runs, as process {pid} ({})", .path.display())]
    Running {
        /// Its process.
        pid: u32,
        /// Its file.
        path: PathBuf,
    },
    /// The file cannot be read, written or removed.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
}

/// What a state file says of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing was changed.
    Nothing,
    /// This process runs and has changed it.
    Running(u32),
    /// A process that is gone has left something behind.
    LeftBehind,
}

/// What was changed, and by whom.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    pid: u32,
    /// When that process began, in ticks since the machine did: another one may have its number later.
    began: u64,
    /// Whether there are routing rules, and routes that stay.
    rules: bool,
    resolv: Option<Resolv>,
    sysctls: Vec<Sysctl>,
}

/// What has to be undone. Each change is on file before it is made.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    content: Content,
}

impl State {
    /// Undoes what a process left behind that is gone, and begins with nothing. Returns in words what was undone.
    ///
    /// # Errors
    /// [`StateError`].
    pub async fn begin(path: &Path, netlink: &Netlink) -> Result<(Self, Vec<String>), StateError> {
        let undone = State::clean(path, netlink).await?;
        let pid = std::process::id();
        let began = began(pid).unwrap_or(0);
        let content = Content { pid, began, rules: false, resolv: None, sysctls: Vec::new() };
        let state = State { path: path.to_owned(), content };
        state.write()?;
        Ok((state, undone))
    }

    /// Undoes what a process left behind that is gone. Returns in words what was undone.
    ///
    /// # Errors
    /// [`StateError`].
    pub async fn clean(path: &Path, netlink: &Netlink) -> Result<Vec<String>, StateError> {
        let failed = |source| StateError::File { path: path.to_owned(), source };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let content: Content = match serde_json::from_str(&text) {
            Ok(content) => content,
            // One that was never complete: nothing was changed behind it.
            Err(_) => Content { pid: 0, began: 0, rules: true, resolv: None, sysctls: Vec::new() },
        };
        if content.pid != std::process::id() && began(content.pid) == Some(content.began) {
            return Err(StateError::Running { pid: content.pid, path: path.to_owned() });
        }
        State { path: path.to_owned(), content }.undo(netlink).await
    }

    /// Looks whether there is something to undo.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn look(path: &Path) -> Result<Found, StateError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(match serde_json::from_str::<Content>(&text) {
                Ok(content) if began(content.pid) == Some(content.began) => Found::Running(content.pid),
                _ => Found::LeftBehind,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(source) => Err(StateError::File { path: path.to_owned(), source }),
        }
    }

    /// There will be rules.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note_rules(&mut self) -> Result<(), StateError> {
        self.content.rules = true;
        self.write()
    }

    /// The resolvers will be others.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note_resolv(&mut self, resolv: Resolv) -> Result<(), StateError> {
        self.content.resolv = Some(resolv);
        self.write()
    }

    /// The resolvers are to be what they were now, not only at the end.
    ///
    /// # Errors
    /// When they cannot be; [`undo`](Self::undo) tries again.
    pub fn restore_resolv(&mut self) -> Result<(), StateError> {
        if let Some(resolv) = &self.content.resolv {
            let failed = |source| StateError::File { path: PathBuf::from("resolv.conf"), source };
            resolv.restore().map_err(failed)?;
            self.content.resolv = None;
            self.write()?;
        }
        Ok(())
    }

    /// These sysctls will have other values.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note_sysctls(&mut self, sysctls: Vec<Sysctl>) -> Result<(), StateError> {
        self.content.sysctls.extend(sysctls);
        self.write()
    }

    /// Undoes everything, as far as it can be, and removes the file if all could. Returns in words what was undone.
    ///
    /// # Errors
    /// The first failure.
    pub async fn undo(&self, netlink: &Netlink) -> Result<Vec<String>, StateError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StateError::File { path, source }
        };
        let (mut undone, mut errors) = (Vec::new(), Vec::new());
        if let Some(resolv) = &self.content.resolv {
            match resolv.restore() {
                Ok(true) => undone.push("resolv.conf is as it was".to_owned()),
                Ok(false) => undone.push("resolv.conf was changed by somebody else, and stays".to_owned()),
                Err(source) => errors.push(failed(Path::new("resolv.conf"))(source)),
            }
        }
        for sysctl in self.content.sysctls.iter().rev() {
            match sysctl.write() {
                Ok(()) => undone.push(format!("net/{} is {} again", sysctl.name, sysctl.value)),
                // Of an interface that is gone.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => errors.push(failed(Path::new(&sysctl.name))(source)),
            }
        }
        if self.content.rules {
            match netlink.clear().await {
                Ok(0) => {}
                Ok(count) => undone.push(format!("{count} routing rules and routes removed")),
                Err(error) => errors.push(error.into()),
            }
        }
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => std::fs::remove_file(&self.path).map(|()| undone).map_err(failed(&self.path)),
        }
    }

    /// Replaces the file as a whole.
    fn write(&self) -> Result<(), StateError> {
        let failed = |source| StateError::File { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text =
            serde_json::to_string_pretty(&self.content).map_err(|error| failed(io::Error::other(error)))?;
        let draft = self.path.with_extension("draft");
        std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, &self.path)).map_err(failed)
    }
}

/// When a process began; `None` if no process has that number.
fn began(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is in parentheses and may have any of them within.
    let rest = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // A process that was killed but not waited for is gone, too.
    (fields.first() != Some(&"Z")).then_some(())?;
    fields.get(19)?.parse().ok()
}
