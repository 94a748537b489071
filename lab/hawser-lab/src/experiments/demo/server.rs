//! The servers: processes that say on their first line of output that they are ready.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use hawser_emu::Host;

use super::stage::Stage;
use super::watch::{last_words, stop};
use super::{DemoError, Options, RandomFile};

/// A process that runs until dropped.
#[derive(Debug)]
pub(crate) struct Helper {
    child: Child,
    /// Kept, so that the process can still write.
    _output: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts it and waits for its first line.
    pub(crate) fn start(
        mut command: Command,
        name: &'static str,
        log: &Path,
    ) -> Result<(Self, String), DemoError> {
        let errors = File::create(log).map_err(DemoError::write(log))?;
        // A group of its own: Ctrl-C is for us, and we decide what is stopped when.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(DemoError::io(format!("starting {name}")))?;
        let failed = |message: String| DemoError::Server { name, message };
        let output = child.stdout.take().ok_or_else(|| failed("it has no output".to_owned()))?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        let read = output.read_line(&mut line);
        let helper = Self { child, _output: output };
        match read {
            Ok(length) if length > 0 => Ok((helper, line)),
            _ => {
                drop(helper);
                Err(failed(last_words(&fs::read_to_string(log).unwrap_or_default())))
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// Where the server's traces lie.
pub(crate) fn traces(folder: &Path) -> PathBuf {
    folder.join("traces")
}

/// `hawser serve` with the file.
#[derive(Debug)]
pub(crate) struct FileServer {
    _process: Helper,
    listening: SocketAddr,
    pin: String,
}

impl FileServer {
    /// Starts it on the server's side.
    pub(crate) fn start(
        stage: &Stage,
        options: &Options,
        folder: &Path,
        file: &RandomFile,
        page: Option<SocketAddr>,
    ) -> Result<Self, DemoError> {
        const NAME: &str = "`hawser serve`";
        let state: PathBuf = folder.join("identity");
        let mut command = stage.command(Host::Server, &options.hawser);
        command.arg("serve").arg(file.folder()).args(["--json", "--listen", &stage.listen().to_string()]);
        command.arg("--state").arg(state).arg("--qlog").arg(traces(folder)).arg("--qlog-addresses");
        command.args(&options.transport);
        if let Some(page) = page {
            command.args(["--status-http", &page.to_string()]);
        }
        let (process, line) = Helper::start(command, NAME, &folder.join("server.log"))?;
        let announced = || {
            let value: serde_json::Value = serde_json::from_str(&line).ok()?;
            let listening = value.get("listening")?.get(0)?.as_str()?.parse().ok()?;
            Some((listening, value.get("pin")?.as_str()?.to_owned()))
        };
        let (listening, pin) = announced().ok_or_else(|| {
            let message = format!("expected its address and pin as JSON, it said: {}", line.trim());
            DemoError::Server { name: NAME, message }
        })?;
        Ok(Self { _process: process, listening, pin })
    }

    /// The path of its status page, which has a token.
    pub(crate) fn page_path(folder: &Path) -> Option<String> {
        let log = fs::read_to_string(folder.join("server.log")).ok()?;
        let url = log.split("status page: http://").nth(1)?.split_whitespace().next()?;
        url.find('/').map(|begin| url[begin..].to_owned())
    }

    /// Where it listens.
    pub(crate) fn listening(&self) -> SocketAddr {
        self.listening
    }

    /// What clients know it by.
    pub(crate) fn pin(&self) -> &str {
        &self.pin
    }
}
