//! A server process, a client process, and files for them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The command.
pub(crate) fn hawser<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_hawser")));
    command.args(arguments);
    command
}

/// Without what the environment of the tests says.
pub(crate) fn clean(mut command: Command) -> Command {
    command.stdin(Stdio::null());
    // Sockets of tests are for those that ask for them.
    command.env("HAWSER_CONTROL", "none");
    for variable in [
        "SSLKEYLOGFILE",
        "QLOGDIR",
        "HAWSER_LIVE_KEY",
        "HAWSER_LIVE_FROM_KEY",
        "HAWSER_SRT_PASSPHRASE",
        "HAWSER_KEY",
        "HAWSER_PUT_KEY",
        "HAWSER_POLICY",
        "HAWSER_SCHEDULER",
        "HAWSER_CONGESTION",
        "HAWSER_CC",
        "HAWSER_NO_GSO",
    ] {
        command.env_remove(variable);
    }
    command
}

/// A server in a process of its own, with a folder to serve and one for its certificate.
pub(crate) struct Server {
    process: Child,
    pub(crate) folder: TempDir,
    state: TempDir,
    pub(crate) port: u16,
    pub(crate) pin: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Server::start_with(hawser([]), &[&["-q"], arguments].concat())
    }

    /// The folder with its certificate.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// Its log goes to a file.
    pub(crate) fn start_logging(log: &Path, arguments: &[&str]) -> Self {
        let mut command = hawser([]);
        command.stderr(std::fs::File::create(log).unwrap());
        Server::start_with(command, arguments)
    }

    /// Of another binary.
    pub(crate) fn start_with(mut command: Command, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        command
            .args(["serve", folder.path().to_str().unwrap(), "--listen", "127.0.0.1:0", "--json"])
            .args(arguments);
        if !["--cert", "--state"].iter().any(|own| arguments.contains(own)) {
            command.arg("--state").arg(state.path());
        }
        let (process, hello) = spawn_and_read_line(command);
        let hello: Value = serde_json::from_str(&hello).unwrap();
        Server {
            process,
            folder,
            state,
            port: u16::try_from(hello["port"].as_u64().unwrap()).unwrap(),
            pin: hello["pin"].as_str().unwrap().to_owned(),
        }
    }

    /// Kills it, and starts it again on the same port and with the same certificate.
    pub(crate) fn crash_and_restart(&mut self) {
        self.crash_and_restart_with(&[]);
    }

    pub(crate) fn crash_and_restart_with(&mut self, arguments: &[&str]) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let mut command = hawser(["serve", self.folder.path().to_str().unwrap(), "--json", "-q"]);
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.port)).arg("--state").arg(self.state.path());
        command.args(arguments);
        self.process = spawn_and_read_line(command).0;
    }

    /// Another server on this address, with the same certificate and folder.
    pub(crate) fn start_second(&self, address: &str) -> Killed {
        let mut command = hawser(["serve", self.folder.path().to_str().unwrap(), "--json", "-q"]);
        command.args(["--listen", address, "--state"]).arg(self.state.path());
        Killed(spawn_and_read_line(command).0)
    }

    /// Resident memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Open file descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(self) {
        self.signal(nix::sys::signal::Signal::SIGINT);
        self.wait();
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn wait(mut self) {
        self.process.wait().unwrap();
    }

    /// Puts a file into the folder.
    pub(crate) fn add(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Puts a file of zeros that takes no space into the folder.
    pub(crate) fn add_sparse(&self, name: &str, length: u64) {
        std::fs::File::create(self.folder.path().join(name)).unwrap().set_len(length).unwrap();
    }

    /// `hawser get` with the right pin.
    pub(crate) fn get(&self, arguments: &[&str]) -> Command {
        let mut command = hawser(["get", "--pin", &self.pin]);
        command.args(arguments);
        command
    }

    /// `hawser put` with the right pin.
    pub(crate) fn put(&self, arguments: &[&str]) -> Command {
        let mut command = hawser(["put", "--pin", &self.pin]);
        command.args(arguments);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A process that ends with this value.
pub(crate) struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that ends with this value.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Its last line of output, which is its report, and whether it ended well.
    pub(crate) fn report(mut self) -> (Value, bool) {
        let lines: Vec<String> =
            BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
        let is_well = self.0.wait().unwrap().success();
        (serde_json::from_str(lines.last().expect("a report")).unwrap(), is_well)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process and reads the first line of its standard output.
pub(crate) fn spawn_and_read_line(mut command: Command) -> (Child, String) {
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (process, line)
}

/// How long a command may take: against one that hangs. Simulations take seconds, on a busy machine many of them.
const WATCHDOG: Duration = Duration::from_secs(300);

/// Runs a command that must end by itself.
pub(crate) fn run(mut command: Command) -> Output {
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(process.id()).unwrap();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if wait.recv_timeout(WATCHDOG).is_err() {
            let _ =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
    });
    let output = process.wait_with_output().unwrap();
    let _ = done.send(());
    watchdog.join().unwrap();
    output
}

/// Runs a command that must succeed; its JSON result.
pub(crate) fn run_json(mut command: Command) -> Value {
    command.arg("--json");
    let output = run(command);
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail with this exit code; what it said.
pub(crate) fn run_failing(command: Command, code: i32) -> String {
    let output = run(command);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words}");
    words
}

/// Bytes that do not compress and do not repeat.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Waits until a file has this many bytes.
pub(crate) fn wait_for_bytes(path: &Path, length: u64) {
    wait_until(&format!("{} is long enough", path.display()), || {
        std::fs::metadata(path).map_or(0, |metadata| metadata.len()) >= length
    });
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The hexadecimal digits of a text.
pub(crate) fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The first of these keys that the text holds, as it is or in hexadecimal digits.
pub(crate) fn key_in<'a>(text: &str, keys: &[&'a str]) -> Option<&'a str> {
    keys.iter().copied().find(|key| text.contains(key) || text.contains(&hex(key)))
}
