//! Where clients keep what they need to resume sessions.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hawser_core::Version;
use hawser_core::crypto::{MAX_APPLICATION_STATE, MAX_TICKET, SessionStore};
use hawser_files::Replacement;
use serde::{Deserialize, Serialize};

/// Servers of which something is kept; the one that was heard from longest ago gives way.
const MAX_SERVERS: usize = 64;
/// Tickets kept of one server, and tokens; the oldest give way.
const MAX_PER_SERVER: usize = 4;
/// Bytes of a token that is kept. Those that are longer are no use of a packet's room.
const MAX_TOKEN: usize = 512;
/// A larger file is not a session file: what is kept is at most this, in base64 and with the rest of the text.
const MAX_FILE: u64 =
    2 * (MAX_SERVERS * (MAX_PER_SERVER * (MAX_TICKET + MAX_TOKEN) + MAX_APPLICATION_STATE)) as u64;

/// Keeps sessions as long as the process runs.
#[derive(Debug, Default)]
pub struct MemorySessions(Mutex<Kept>);

impl MemorySessions {
    /// Nothing is kept yet.
    pub fn new() -> Self {
        MemorySessions::default()
    }

    fn kept<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionStore for MemorySessions {
    fn put_ticket(&self, server: &str, ticket: Vec<u8>) {
        self.kept(|kept| kept.put(server, Kind::Ticket, &ticket));
    }

    fn take_ticket(&self, server: &str) -> Option<Vec<u8>> {
        self.kept(|kept| kept.take(server, Kind::Ticket))
    }

    fn put_token(&self, server: &str, token: Vec<u8>) {
        self.kept(|kept| kept.put(server, Kind::Token, &token));
    }

    fn take_token(&self, server: &str) -> Option<Vec<u8>> {
        self.kept(|kept| kept.take(server, Kind::Token))
    }

    fn put_application_state(&self, server: &str, state: Vec<u8>) {
        self.kept(|kept| kept.put_application_state(server, &state));
    }

    fn application_state(&self, server: &str) -> Option<Vec<u8>> {
        self.kept(|kept| kept.application_state(server))
    }
}

/// Keeps sessions in a file, which only its owner can read (mode 0600). Each change replaces the file as a whole, and
/// several processes may share it. It is a few kilobytes per server: calls take as long as the disk does.
pub struct FileSessions {
    path: PathBuf,
    /// One change at a time in this process; a lock on a file next to it keeps others out.
    changing: Mutex<()>,
}

/// Why a file cannot keep sessions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFileError {
    /// It cannot be read or written.
    #[error("cannot keep sessions in {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is there and is something else.
    #[error("{} is no file of sessions ({reason}); remove it or name another one", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl FileSessions {
    /// In this file, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be written, or is something else.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SessionFileError> {
        let path = path.into();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|source| SessionFileError::Io { path: path.clone(), source })?;
        }
        let sessions = FileSessions { path, changing: Mutex::new(()) };
        sessions.change(|_| ())?;
        Ok(sessions)
    }

    /// Reads the file, and writes it again if that changed anything.
    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> Result<T, SessionFileError> {
        let io = |source| SessionFileError::Io { path: self.path.clone(), source };
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let lock =
            open_private(&beside(&self.path, ".lock"), OpenOptions::new().create(true).truncate(false))
                .map_err(io)?;
        lock.lock().map_err(io)?;
        let (before, is_new) = match self.read()? {
            Some(kept) => (kept, false),
            None => (Kept::default(), true),
        };
        let mut after = before.clone();
        let result = change(&mut after);
        if is_new || after != before {
            self.write(&after).map_err(io)?;
        }
        Ok(result)
    }

    /// `None`: it is not there.
    fn read(&self) -> Result<Option<Kept>, SessionFileError> {
        let io = |source| SessionFileError::Io { path: self.path.clone(), source };
        let malformed = |reason: String| SessionFileError::Malformed { path: self.path.clone(), reason };
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let mut text = String::new();
        let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
        match read {
            Ok(count) if count as u64 > MAX_FILE => {
                return Err(malformed(format!("more than {MAX_FILE} bytes")));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(malformed("not a text".to_owned()));
            }
            Err(error) => return Err(io(error)),
            Ok(_) => {}
        }
        if text.is_empty() {
            // The machine stopped before its content was on the disk.
            return Ok(None);
        }
        serde_json::from_str(&text).map(Some).map_err(|error| malformed(error.to_string()))
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        let mut file = Replacement::create_private(&self.path)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        // Not synchronised: the disk would keep packets waiting, and all that can be lost is a ticket.
        file.complete_unsynchronised()
    }

    /// A store that fails costs a round trip, not the connection.
    fn or_warn<T>(result: Result<T, SessionFileError>) -> Option<T> {
        result.map_err(|error| tracing::warn!("{error}")).ok()
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.write(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW).open(path)
}

impl fmt::Debug for FileSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSessions").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SessionStore for FileSessions {
    fn put_ticket(&self, server: &str, ticket: Vec<u8>) {
        Self::or_warn(self.change(|kept| kept.put(server, Kind::Ticket, &ticket)));
    }

    fn take_ticket(&self, server: &str) -> Option<Vec<u8>> {
        Self::or_warn(self.change(|kept| kept.take(server, Kind::Ticket))).flatten()
    }

    fn put_token(&self, server: &str, token: Vec<u8>) {
        Self::or_warn(self.change(|kept| kept.put(server, Kind::Token, &token)));
    }

    fn take_token(&self, server: &str) -> Option<Vec<u8>> {
        Self::or_warn(self.change(|kept| kept.take(server, Kind::Token))).flatten()
    }

    fn put_application_state(&self, server: &str, state: Vec<u8>) {
        Self::or_warn(self.change(|kept| kept.put_application_state(server, &state)));
    }

    fn application_state(&self, server: &str) -> Option<Vec<u8>> {
        Self::or_warn(self.change(|kept| kept.application_state(server))).flatten()
    }
}

/// What is kept, as it is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    servers: BTreeMap<String, Server>,
}

/// Of one server, in base64, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Server {
    /// When something was put last, in seconds since 1970.
    heard: u64,
    #[serde(default)]
    tickets: Vec<String>,
    #[serde(default)]
    tokens: Vec<String>,
    /// What the application protocol remembers: its 0-RTT keeps to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ticket,
    Token,
}

impl Server {
    fn list(&mut self, kind: Kind) -> &mut Vec<String> {
        match kind {
            Kind::Ticket => &mut self.tickets,
            Kind::Token => &mut self.tokens,
        }
    }
}

impl Kept {
    fn put(&mut self, server: &str, kind: Kind, bytes: &[u8]) {
        let most = match kind {
            Kind::Ticket => MAX_TICKET,
            Kind::Token => MAX_TOKEN,
        };
        if bytes.len() > most {
            return;
        }
        let list = self.server(server).list(kind);
        list.push(STANDARD.encode(bytes));
        let excess = list.len().saturating_sub(MAX_PER_SERVER);
        list.drain(..excess);
    }

    /// A server that is heard from now.
    fn server(&mut self, server: &str) -> &mut Server {
        if !self.servers.contains_key(server) && self.servers.len() >= MAX_SERVERS {
            let oldest = self.servers.iter().min_by_key(|(_, server)| server.heard);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.servers.remove(&name);
            }
        }
        let server = self.servers.entry(server.to_owned()).or_default();
        server.heard = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        server
    }

    /// Tickets came before the state, or with it; those of another state are no use.
    fn put_application_state(&mut self, server: &str, state: &[u8]) {
        if state.len() > MAX_APPLICATION_STATE {
            return;
        }
        let (server, state) = (self.server(server), STANDARD.encode(state));
        if server.application.replace(state.clone()).is_some_and(|before| before != state) {
            server.tickets.clear();
        }
    }

    fn application_state(&self, server: &str) -> Option<Vec<u8>> {
        STANDARD.decode(self.servers.get(server)?.application.as_ref()?).ok()
    }

    //= rfc9000-8.1.3-9: a token is used for one connection
    //= rfc9001-4.5-1: tickets are not used twice
    fn take(&mut self, server: &str, kind: Kind) -> Option<Vec<u8>> {
        let list = self.servers.get_mut(server)?.list(kind);
        std::iter::from_fn(|| list.pop()).find_map(|text| STANDARD.decode(text).ok())
    }
}

/// What a connection puts into a store, and under which name.
//= rfc9000-8.1.3-7: a token goes to its server only
#[derive(Clone)]
pub(crate) struct SessionsOf {
    store: Arc<dyn SessionStore>,
    /// The server's names in the store: what is kept is for one version (RFC 9369 section 5).
    servers: [(Version, String); Version::ALL.len()],
}

impl SessionsOf {
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        servers: [(Version, String); Version::ALL.len()],
    ) -> Self {
        SessionsOf { store, servers }
    }

    fn server(&self, version: Version) -> Option<&str> {
        self.servers.iter().find(|(of, _)| *of == version).map(|(_, server)| server.as_str())
    }

    pub(crate) fn take_token(&self, version: Version) -> Option<Vec<u8>> {
        self.store.take_token(self.server(version)?)
    }

    pub(crate) fn put_token(&self, version: Version, token: Vec<u8>) {
        if let Some(server) = self.server(version) {
            self.store.put_token(server, token);
        }
    }

    pub(crate) fn application_state(&self, version: Version) -> Option<Vec<u8>> {
        self.store.application_state(self.server(version)?)
    }

    pub(crate) fn put_application_state(&self, version: Version, state: Vec<u8>) {
        if let Some(server) = self.server(version) {
            self.store.put_application_state(server, state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    //= rfc9000-8.1.3-9, rfc9001-4.5-1
    #[test]
    fn a_file_keeps_sessions_for_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/sessions");
        let first = FileSessions::open(&path).unwrap();
        first.put_ticket("a", vec![1]);
        first.put_ticket("a", vec![2]);
        first.put_token("a", vec![3]);
        let second = FileSessions::open(&path).unwrap();
        assert_eq!(second.take_ticket("b"), None);
        assert_eq!(second.take_ticket("a"), Some(vec![2]), "the newest first");
        assert_eq!((first.take_ticket("a"), first.take_ticket("a")), (Some(vec![1]), None), "each once");
        assert_eq!((first.take_token("a"), second.take_token("a")), (Some(vec![3]), None));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let store = MemorySessions::new();
        for server in 0..200 {
            (0..10).for_each(|n| store.put_ticket(&format!("{server:03}"), vec![n]));
        }
        store.put_ticket("big", vec![0; MAX_TICKET + 1]);
        store.put_token("big", vec![0; MAX_TOKEN + 1]);
        store.kept(|kept| {
            assert_eq!(kept.servers.len(), MAX_SERVERS);
            assert!(kept.servers.values().all(|server| server.tickets.len() == MAX_PER_SERVER));
            assert!(!kept.servers.contains_key("big"));
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        fs::write(&path, vec![b' '; usize::try_from(MAX_FILE).unwrap() + 1]).unwrap();
        assert!(matches!(FileSessions::open(&path), Err(SessionFileError::Malformed { .. })));
    }

    //= rfc9114-7.2.4.2-5
    #[test]
    fn tickets_are_for_the_application_state_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path).unwrap();
        assert_eq!(store.application_state("a"), None);
        // The order in which they come in one connection is not known.
        store.put_ticket("a", vec![1]);
        store.put_application_state("a", vec![7]);
        store.put_ticket("a", vec![2]);
        store.put_application_state("a", vec![7]);
        store.put_application_state("a", vec![7; MAX_APPLICATION_STATE + 1]);
        let second = FileSessions::open(&path).unwrap();
        assert_eq!(second.application_state("a"), Some(vec![7]));
        assert_eq!(second.take_ticket("a"), Some(vec![2]));
        store.put_application_state("a", vec![8]);
        assert_eq!(second.take_ticket("a"), None, "the server promises something else now");
        assert_eq!(second.application_state("a"), Some(vec![8]));
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        fs::write(&path, "buy milk").unwrap();
        let error = FileSessions::open(&path).unwrap_err();
        assert!(error.to_string().contains("is no file of sessions"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "buy milk");
    }
}
