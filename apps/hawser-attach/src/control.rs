//! wpa_supplicant's control socket.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_wifi::supplicant::{Event, MAX_DATAGRAM};
use nix::unistd::{Gid, Group};
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// How long wpa_supplicant may take to answer a command. It answers within milliseconds, or hangs.
const ANSWER: Duration = Duration::from_secs(2);
/// Most events that wait while a command is answered; of more the oldest are dropped.
const MAX_WAITING: usize = 256;

/// Our end of the socket. Its name goes with it.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixDatagram,
    name: PathBuf,
    waiting: VecDeque<Event>,
}

/// Why the socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ControlError {
    #[error(
        "{path}: not allowed to speak to wpa_supplicant; its socket is for the group `{group}`: add yourself to it \
         (`usermod -aG {group} USER`, then log in again), or run this as root"
    )]
    Forbidden { path: String, group: String },
    #[error(
        "{path}: there is no wpa_supplicant: start it for this interface with `ctrl_interface={folder}` in its configuration, \
         or say with --control where its sockets are"
    )]
    Absent { path: String, folder: String },
    #[error("wpa_supplicant has gone ({0})")]
    Gone(io::Error),
    #[error("wpa_supplicant does not answer `{command}`")]
    Silent { command: String },
    #[error("wpa_supplicant refuses `{command}`: {answer}")]
    Refused { command: String, answer: String },
    #[error("cannot make a socket in {folder}: {error}")]
    Own { folder: String, error: io::Error },
}

impl ControlError {
    /// Whether wpa_supplicant may come back.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, ControlError::Absent { .. } | ControlError::Gone(_) | ControlError::Silent { .. })
    }
}

impl Control {
    /// Connects to the socket of an interface in this folder.
    pub(super) fn connect(folder: &Path, interface: &str) -> Result<Control, ControlError> {
        let temporary = std::env::temp_dir();
        // wpa_supplicant answers to the name of our socket, so it needs one: one that nobody can take before.
        let name = temporary.join(format!("hawser-wifi-{:032x}", rand::random::<u128>()));
        let socket = UnixDatagram::bind(&name)
            .map_err(|error| ControlError::Own { folder: temporary.display().to_string(), error })?;
        let control = Control { socket, name, waiting: VecDeque::new() };
        let path = folder.join(interface);
        control.socket.connect(&path).map_err(|error| why(&error, folder, &path))?;
        Ok(control)
    }

    /// Sends a command and waits for its answer.
    pub(super) async fn ask(&mut self, command: &str) -> Result<String, ControlError> {
        self.socket.send(command.as_bytes()).await.map_err(ControlError::Gone)?;
        let answer = async {
            loop {
                let text = self.receive().await?;
                if !Event::is_event(&text) {
                    return Ok(text);
                }
                self.keep(&text);
            }
        };
        let silent = || ControlError::Silent { command: command.to_owned() };
        timeout(ANSWER, answer).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Sends a command that is answered with `OK`, or with a refusal.
    pub(super) async fn tell(&mut self, command: &str) -> Result<(), ControlError> {
        let answer = self.ask(command).await?;
        if answer.trim() == "OK" {
            return Ok(());
        }
        let answer = answer.trim().chars().take(80).collect();
        Err(ControlError::Refused { command: command.to_owned(), answer })
    }

    /// The next event that matters. May be dropped while it waits.
    pub(super) async fn event(&mut self) -> Result<Event, ControlError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(event);
            }
            let text = self.receive().await?;
            self.keep(&text);
        }
    }

    fn keep(&mut self, text: &str) {
        tracing::debug!(event = text.trim(), "wpa_supplicant");
        self.waiting.extend(Event::parse(text));
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
    }

    async fn receive(&self) -> Result<String, ControlError> {
        let mut buffer = vec![0; MAX_DATAGRAM];
        let length = self.socket.recv(&mut buffer).await.map_err(ControlError::Gone)?;
        Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.name);
    }
}

fn why(error: &io::Error, folder: &Path, path: &Path) -> ControlError {
    let name = path.display().to_string();
    match error.kind() {
        io::ErrorKind::PermissionDenied => ControlError::Forbidden { path: name, group: group(folder, path) },
        _ => ControlError::Absent { path: name, folder: folder.display().to_string() },
    }
}

/// The group that may use a socket: its own, or that of its folder if we may not look into it.
fn group(folder: &Path, path: &Path) -> String {
    let metadata = std::fs::metadata(path).or_else(|_| std::fs::metadata(folder));
    let Ok(gid) = metadata.map(|metadata| metadata.gid()) else { return "netdev".to_owned() };
    match Group::from_gid(Gid::from_raw(gid)) {
        Ok(Some(group)) => group.name,
        _ => gid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wpa_supplicant that answers commands by a table and says an event before each answer.
    async fn serve(socket: UnixDatagram, answers: usize) {
        let mut buffer = [0; 4096];
        for _ in 0..answers {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let from = from.as_pathname().unwrap();
            socket.send_to(b"<3>CTRL-EVENT-SCAN-RESULTS ", from).await.unwrap();
            let answer: &[u8] = match &buffer[..length] {
                b"PING" => b"PONG\n",
                b"ATTACH" => b"OK\n",
                _ => b"FAIL\n",
            };
            socket.send_to(answer, from).await.unwrap();
        }
    }

    #[tokio::test]
    async fn answers_and_events_are_told_apart_and_a_death_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
        let served = tokio::spawn(serve(socket, 3));
        let mut control = Control::connect(folder.path(), "wlan0").unwrap();
        control.tell("ATTACH").await.unwrap();
        assert_eq!(control.ask("PING").await.unwrap(), "PONG\n");
        assert!(matches!(control.tell("NONSENSE").await, Err(ControlError::Refused { .. })));
        for _ in 0..3 {
            assert_eq!(control.event().await.unwrap(), Event::ScanResults);
        }
        served.await.unwrap();
        let error = control.ask("PING").await.unwrap_err();
        assert!(matches!(error, ControlError::Gone(_)) && error.is_transient(), "{error}");
    }

    #[test]
    fn the_message_names_what_is_missing() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        let folder = tempfile::tempdir().unwrap();
        let error = Control::connect(folder.path(), "wlan0").unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("ctrl_interface="), "{error}");

        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = why(&denied, folder.path(), &folder.path().join("wlan0"));
        let owner = Group::from_gid(nix::unistd::getegid()).unwrap().unwrap().name;
        assert!(error.to_string().contains(&format!("for the group `{owner}`")), "{error}");
        assert!(!error.is_transient());
    }
}
