//! Which of the programs that run is meant.

use std::path::PathBuf;

use clap::Args;
use hawser_status::control::{Client, ClientError, running, runtime_folder};

use crate::exit::{Exit, Failure};

/// A program that runs.
#[derive(Args, Clone, Debug, Default)]
pub struct Socket {
    /// Control socket of the program, or its process id. Default: the only program of this user that runs
    #[arg(short, long, value_name = "PATH|PID", global = true)]
    socket: Option<String>,
}

impl Socket {
    /// Connects to it.
    ///
    /// # Errors
    /// When no program runs, or one must be chosen: the failure lists them.
    pub async fn connect(&self) -> Result<Client, Failure> {
        let path = match &self.socket {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => by_process(text)?,
            Some(path) => PathBuf::from(path),
            None => only().await?,
        };
        Client::connect(&path).await.map_err(|error| failure(&error))
    }
}

/// The sockets of programs that run.
pub(super) fn sockets() -> Result<Vec<PathBuf>, Failure> {
    let folder = runtime_folder();
    running(&folder).map_err(|error| Failure::read(&folder, &error))
}

fn by_process(pid: &str) -> Result<PathBuf, Failure> {
    let ends = format!("-{pid}.sock");
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ends));
    sockets()?.into_iter().find(named).ok_or_else(|| {
        let message = format!(
            "no program with a control socket has the process id {pid}; `hawser ctl list` shows them"
        );
        Failure::new(Exit::NotConnected, message)
    })
}

async fn only() -> Result<PathBuf, Failure> {
    let mut found = sockets()?;
    match found.len() {
        0 => Err(Failure::new(
            Exit::NotConnected,
            format!(
                "no Hawser program of this user runs with a control socket in {}; name one with --socket",
                runtime_folder().display()
            ),
        )),
        1 => Ok(found.remove(0)),
        count => {
            let lines: Vec<String> =
                found.iter().map(|path| format!("  --socket {}", path.display())).collect();
            Err(Failure::usage(format!("{count} programs run; choose one:\n{}", lines.join("\n"))))
        }
    }
}

/// What a failure of the control socket means for the command.
pub fn failure(error: &ClientError) -> Failure {
    let exit = match error {
        ClientError::Connect { .. } => Exit::NotConnected,
        ClientError::Lost(_) | ClientError::Ended => Exit::ConnectionLost,
        ClientError::Protocol(_) | ClientError::Version(_) | ClientError::Refused(_) => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}
