//! Starts the two sides of a measurement.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use bench_harness::options::Provider;
use bench_harness::report::{ClientReport, Ready, ServerReport};
use bench_harness::{Error, tls};
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// Knows where the binaries are and keeps the certificate that all of them use.
pub(crate) struct Launcher {
    binaries: PathBuf,
    identity: TempDir,
    provider: Provider,
}

/// One side's place and purpose.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    /// CPU to stay on.
    pub(crate) core: Option<usize>,
    /// Whether to use several paths.
    pub(crate) multipath: bool,
    /// `INTERFACE=ADDRESS` of each local link; of the client only.
    pub(crate) links: Vec<String>,
}

impl Launcher {
    /// Expects the stacks' binaries next to this one, and makes a self-signed certificate.
    pub(crate) fn new(provider: Provider) -> Result<Self, Error> {
        let own = std::env::current_exe()?;
        let binaries = own.parent().ok_or("this program is nowhere")?.to_owned();
        let identity = tempfile::tempdir()?;
        let made = rcgen::generate_simple_self_signed([tls::SERVER_NAME.to_owned()])?;
        std::fs::write(identity.path().join(tls::CERTIFICATE_FILE), made.cert.pem())?;
        std::fs::write(identity.path().join(tls::KEY_FILE), made.signing_key.serialize_pem())?;
        Ok(Launcher { binaries, identity, provider })
    }

    /// Where a stack's binary is.
    pub(crate) fn binary(&self, stack: &str) -> PathBuf {
        self.binaries.join(format!("bench-{stack}"))
    }

    /// Those of `known` that were asked for and are built, in this order.
    pub(crate) fn choose(&self, known: &[&str], wanted: &[String]) -> Result<Vec<String>, Error> {
        if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("no stack `{name}` here, only {}", known.join(", ")).into());
        }
        let mut chosen = Vec::new();
        for &name in known {
            let asked = wanted.iter().any(|wanted| wanted == name);
            let built = name == "mptcp" || self.binary(name).exists();
            if asked && !built {
                return Err(format!("{} is not built", self.binary(name).display()).into());
            }
            if built && (asked || wanted.is_empty()) {
                chosen.push(name.to_owned());
            } else if !built {
                eprintln!("bench: {name} is not built, left out");
            }
        }
        Ok(chosen)
    }

    /// Starts a server with `command` (which may put it into a namespace) and waits until it listens.
    pub(crate) fn server(
        &self,
        mut command: Command,
        listen: SocketAddr,
        side: &Side,
    ) -> Result<RunningServer, Error> {
        command.arg("server").arg("--listen").arg(listen.to_string());
        self.add_common(&mut command, side);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let mut server = RunningServer { child, lines: BufReader::new(output).lines(), address: listen };
        server.address = server.next_line::<Ready>()?.listening;
        Ok(server)
    }

    /// Runs a client to its end.
    pub(crate) fn client(
        &self,
        mut command: Command,
        server: SocketAddr,
        side: &Side,
        workload: &[String],
    ) -> Result<ClientReport, Error> {
        command.arg("client").arg("--server").arg(server.to_string());
        self.add_common(&mut command, side);
        command.args(side.links.iter().flat_map(|link| ["--link", link]));
        let output = command.args(workload).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("the client failed ({})", output.status).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn add_common(&self, command: &mut Command, side: &Side) {
        command.arg("--identity").arg(Path::new(self.identity.path()));
        if let Some(provider) = self.provider.to_possible_value() {
            command.arg("--provider").arg(provider.get_name());
        }
        if let Some(core) = side.core {
            command.arg("--core").arg(core.to_string());
        }
        if side.multipath {
            command.arg("--multipath");
        }
    }
}

/// A server that waits for clients; killed when dropped.
pub(crate) struct RunningServer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl RunningServer {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and takes its report.
    pub(crate) fn finish(mut self) -> Result<ServerReport, Error> {
        if let Some(mut input) = self.child.stdin.take() {
            input.flush()?;
        }
        let report = self.next_line()?;
        self.child.wait()?;
        Ok(report)
    }

    fn next_line<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        let line = self.lines.next().ok_or("the server ended early")??;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
