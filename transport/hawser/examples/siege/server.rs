//! A server in a process of its own, and what it uses.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::Pid;

use super::Error;

pub(crate) struct Server {
    command: PathBuf,
    process: Child,
    root: PathBuf,
    pub(crate) port: u16,
    pub(crate) pin: String,
    /// The TCP address of what it serves over HTTP/1, if it does.
    pub(crate) http: Option<String>,
    has_files: bool,
}

/// What a process has used until now.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) memory: u64,
}

impl Server {
    /// Starts `HAWSER ARGUMENTS`, of which `FOLDER` is an empty folder to serve. `descriptors`: of which it may have no more.
    pub(crate) fn start(command: &Path, arguments: &[&str], descriptors: Option<u32>) -> Result<Self, Error> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("siege-{}-{number}", std::process::id()));
        fs::create_dir_all(root.join("www"))?;
        let folder = root.join("www").display().to_string();
        let has_files = arguments.first() == Some(&"serve");
        let arguments =
            arguments.iter().map(|argument| if *argument == "FOLDER" { &folder } else { *argument });
        let mut started = match descriptors {
            None => Command::new(command),
            Some(most) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")]).arg(command);
                shell
            }
        };
        let mut process = started
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--json", "-q", "--state"])
            .arg(root.join("state"))
            .env("HAWSER_CONTROL", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut hello = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut hello)?;
        let hello: serde_json::Value = serde_json::from_str(&hello)?;
        let port = hello["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let pin = hello["pin"].as_str();
        let (port, pin) = port.zip(pin).ok_or("the server did not say its port and pin")?;
        let http = hello["http"].as_str().map(str::to_owned);
        Ok(Server { command: command.to_owned(), process, root, port, pin: pin.to_owned(), http, has_files })
    }

    /// The folder that is served.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join("www")
    }

    /// The command under test with these arguments, for a client of this server, whose pin it is told.
    pub(crate) fn client(&self, verbs: &[&str]) -> Command {
        let mut command = Command::new(&self.command);
        command.args(verbs).arg(format!("127.0.0.1:{}", self.port)).args(["--pin", &self.pin, "-q"]);
        command
    }

    /// Open file descriptors of its process.
    pub(crate) fn descriptors(&self) -> Result<usize, Error> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.process.id()))?.count())
    }

    /// Adds a user to a gateway, who may have these ports of it. Returns the key.
    pub(crate) fn add_user(&self, ports: &[&str]) -> Result<String, Error> {
        let added = Command::new(&self.command)
            .args(["gateway", "user", "add", "mallory", "-q", "--state"])
            .arg(self.root.join("state"))
            .args(ports.iter().flat_map(|port| ["--listen", port]))
            .output()?;
        let key = String::from_utf8(added.stdout)?.trim().to_owned();
        // The gateway looks at the file twice a second.
        std::thread::sleep(Duration::from_millis(1_200));
        if key.is_empty() { Err(String::from_utf8_lossy(&added.stderr).into_owned().into()) } else { Ok(key) }
    }

    /// Whether it serves files.
    pub(crate) fn has_files(&self) -> bool {
        self.has_files
    }

    /// Sends it a signal, as HUP.
    pub(crate) fn signal(&self, name: &str) -> Result<(), Error> {
        let sent =
            Command::new("kill").arg(format!("-{name}")).arg(self.process.id().to_string()).status()?;
        if sent.success() { Ok(()) } else { Err("the signal was not sent".into()) }
    }

    /// Whether it ends by itself, and well, within this time.
    pub(crate) fn ends(&mut self, within: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status.success());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }

    /// Its CPU time, once it has worked off what came: no more of it is used for a while.
    pub(crate) fn settled(&self) -> Result<Duration, Error> {
        let mut used = self.usage()?.cpu;
        loop {
            std::thread::sleep(Duration::from_millis(120));
            let now = self.usage()?.cpu;
            if now - used < Duration::from_millis(2) {
                return Ok(now);
            }
            used = now;
        }
    }

    pub(crate) fn usage(&self) -> Result<Usage, Error> {
        // Of all its threads, those that are gone as well.
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(self.process.id().try_into()?))?;
        let cpu = clock.now()?.into();
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory: u64 = memory.ok_or("no memory")?.trim().trim_end_matches(" kB").parse()?;
        Ok(Usage { cpu, memory: memory << 10 })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.root);
    }
}
