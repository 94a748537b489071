//! How the command ends: one number for each kind of failure, so that scripts need not read messages.

use std::fmt;
use std::io;
use std::path::Path;

#[cfg(feature = "tables")]
use hawser_lab::data::table::TableError;
use serde::Serialize;

use crate::client_certificate::refused_by_server;
use crate::paths::PathReport;
use crate::transfer::Goodput;

use hawser::{CertificateProblem, ConfigError, ConnectError, ConnectionError, EndpointError, IdentityError};

/// Exit codes. Where curl has a code for the same thing, it is curl's. The names are part of the output of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Exit {
    /// Any failure that has no number of its own.
    Failure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The URL is wrong.
    BadUrl = 3,
    /// The server's name cannot be resolved.
    NotResolved = 6,
    /// There is no connection.
    NotConnected = 7,
    /// The transfer was interrupted and can be resumed.
    Interrupted = 18,
    /// The server answered with another HTTP error.
    HttpStatus = 22,
    /// A local file cannot be written.
    NotWritten = 23,
    /// The disk is full.
    DiskFull = 24,
    /// A local file cannot be read.
    NotRead = 26,
    /// No answer in time.
    NoAnswer = 28,
    /// The transfer cannot be resumed.
    NotResumable = 33,
    /// The handshake failed.
    Handshake = 35,
    /// The server forbids it.
    Forbidden = 43,
    /// The server does not have it.
    NotFound = 44,
    /// The connection was lost.
    ConnectionLost = 56,
    /// The certificate is not trusted.
    Certificate = 60,
    /// The certificate is not valid now.
    CertificateTime = 61,
    /// What arrived differs from its digest.
    Digest = 65,
    /// The server's disk is full.
    ServerDiskFull = 70,
    /// Emulated links cannot be made.
    NoEmulator = 77,
    /// The scenario is wrong.
    Scenario = 78,
    /// The trace is wrong.
    Trace = 79,
    /// The server has another pin.
    WrongPin = 90,
    /// The address cannot be listened on.
    CannotListen = 91,
    /// The links may carry no more.
    NoBudget = 92,
    /// The program cannot be run.
    CannotRun = 126,
    /// There is no such program.
    NoCommand = 127,
    /// A signal ended the command.
    Signal = 130,
}

/// The table shown by `hawser help`.
pub const TABLE: &str = "\
Exit codes (curl's, where curl has one for the same thing):
   0  done
   1  any failure that has no number of its own
   2  the command line is wrong
   3  the URL is wrong
   6  the server's name cannot be resolved
   7  no connection: nobody listens on that port, the network is unreachable, or no link is up
  18  the transfer was interrupted; what arrived is kept and `-C -` resumes it
  22  the server answered with an HTTP error other than those below
  23  a local file or standard output cannot be written
  24  the local disk is full
  26  a local file cannot be read
  28  the server did not answer in time
  33  the transfer cannot be resumed: the file changed on the server, or it has no ranges
  35  the handshake failed (no common protocol, TLS error)
  43  the server does not allow it (401, 403, 405, or it refuses the client's certificate; live: wrong key, or
      another publisher took over; proxy, forward: the gateway does not know the key)
  44  there is no such file on the server (404, 410)
  56  the connection was lost
  60  the server's certificate is not acceptable
  61  the server's certificate has expired or is not valid yet
  65  the bytes received are not those the server has (SHA-256 differs)
  70  the server's disk is full (507)
  77  no emulator here: not root, or no /dev/net/tun
  78  the scenario file is wrong
  79  the trace file is wrong, or of no known format
  90  the server's key is not the pinned one
  91  cannot listen: the UDP or TCP port is taken or not allowed, or no interface has the address
  92  the budget of every link that works is used up (--cap); what arrived of a file is kept and `-C -` resumes it
 126  emu run: the command cannot be executed; vr360: ffmpeg cannot be
 127  emu run: there is no such command; vr360: there is no ffmpeg
 130  stopped by Ctrl-C
`hawser emu run` otherwise ends with the exit code of its command.

With --json a failure is one line, too: {\"error\":{\"exit_code\":44,\"kind\":\"not_found\",\"message\":..},\"url\":..}";

/// Why the command could not do what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// Which kind.
    pub exit: Exit,
    /// What was wrong, and what to do about it where that is known.
    pub message: String,
    /// The resource it concerns.
    pub url: Option<String>,
    /// Whether the user knows already.
    pub is_told: bool,
    /// Whether the server was there and nothing came: another connection may do better.
    pub is_stalled: bool,
    /// What was transferred until then.
    pub measured: Option<Box<Measured>>,
}

/// What is known of a transfer that was not completed.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The bytes of this attempt.
    #[serde(flatten)]
    pub goodput: Goodput,
    /// What went over each path.
    pub paths: Vec<PathReport>,
}

impl Failure {
    /// Returns a failure with this code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            exit,
            message: message.into(),
            url: None,
            is_told: false,
            is_stalled: false,
            measured: None,
        }
    }

    /// Returns the failure of a wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The same, with the resource it concerns.
    pub fn about(mut self, url: &impl fmt::Display) -> Self {
        self.url = Some(url.to_string());
        self
    }

    /// A table or another local file of the simulator that could not be written.
    #[cfg(feature = "tables")]
    pub fn of_table(error: &TableError) -> Self {
        let exit = match error {
            TableError::DiskFull { .. } => Exit::DiskFull,
            TableError::Write { .. } => Exit::NotWritten,
            TableError::UnknownKind { .. } => Exit::Usage,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    }

    /// A local file that could not be written.
    pub fn write(path: &Path, error: &io::Error) -> Self {
        let exit = if is_full(error) { Exit::DiskFull } else { Exit::NotWritten };
        Self::new(exit, format!("cannot write {}: {error}", path.display()))
    }

    /// A local file that could not be read.
    pub fn read(path: &Path, error: &io::Error) -> Self {
        Self::new(Exit::NotRead, format!("cannot read {}: {error}", path.display()))
    }

    /// The same of what needed scenarios from a folder. If that is not there, it is what cannot be read.
    pub fn of_scenarios(mut self, folder: &Path) -> Self {
        if self.exit == Exit::Scenario && !folder.is_dir() {
            self.exit = Exit::NotRead;
            let hint = format!(
                "; there is no folder {}: say with --scenarios where the scenarios are",
                folder.display()
            );
            self.message.push_str(&hint);
        }
        self
    }

    /// Whether a second attempt may succeed where this one failed.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.exit,
            Exit::NotResolved
                | Exit::NotConnected
                | Exit::NoAnswer
                | Exit::Interrupted
                | Exit::ConnectionLost
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Whether the disk, or the user's share of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let exit = match &error {
            ConnectError::InvalidServerName(_) => Exit::BadUrl,
            ConnectError::NoAddress => Exit::NotResolved,
            ConnectError::NoLink { .. }
            | ConnectError::Bind { .. }
            | ConnectError::Refused { .. }
            | ConnectError::Unreachable { .. } => Exit::NotConnected,
            ConnectError::BudgetsUsedUp { .. } => Exit::NoBudget,
            ConnectError::TimedOut { .. } | ConnectError::Handshake(ConnectionError::TimedOut) => {
                Exit::NoAnswer
            }
            ConnectError::Certificate(problem) => certificate_exit(problem),
            ConnectError::Handshake(_) | ConnectError::ApplicationProtocol { .. } => Exit::Handshake,
            _ => Exit::Failure,
        };
        if let ConnectError::Handshake(error) = &error
            && let Some(words) = refused_by_server(error)
        {
            return Failure::new(Exit::Forbidden, words);
        }
        if let ConnectError::ApplicationProtocol { .. } = &error {
            let words = "the server is there, and does not offer what this command asks for: another command of hawser \
                         may be what runs there (serve, gateway, live relay, vr360 serve, perf server, measure server)";
            return Failure::new(exit, words);
        }
        Failure::new(exit, error.to_string())
    }
}

fn certificate_exit(problem: &CertificateProblem) -> Exit {
    match problem {
        CertificateProblem::WrongPin { .. } => Exit::WrongPin,
        CertificateProblem::Expired | CertificateProblem::NotYetValid => Exit::CertificateTime,
        _ => Exit::Certificate,
    }
}

impl From<ConnectionError> for Failure {
    fn from(error: ConnectionError) -> Self {
        Failure::new(Exit::ConnectionLost, format!("the connection was lost: {error}"))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let exit = match error {
            ConfigError::QlogDirectory { .. } => Exit::NotWritten,
            ConfigError::NoSystemAuthorities { .. } | ConfigError::Authority(_) => Exit::Certificate,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        let exit = match &error {
            EndpointError::Listen { .. }
            | EndpointError::Socket(_)
            | EndpointError::WorkersOfOneSocket { .. } => Exit::CannotListen,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Self {
        let exit = match &error {
            IdentityError::Read { .. }
            | IdentityError::Malformed { .. }
            | IdentityError::Incomplete { .. } => Exit::NotRead,
            IdentityError::Write { .. } => Exit::NotWritten,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    }
}
