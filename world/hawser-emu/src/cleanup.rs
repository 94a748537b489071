//! Nothing stays behind: processes left inside the namespaces are killed, even if we are killed first.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use crate::namespace::Namespace;

/// Waits for the end of its standard input, that is of our process, and then kills every process still in one of
/// the two namespaces, given as descriptors 1 and 2. A shell, and not a fork of this process: a process with threads
/// cannot safely run code of its own after a fork.
const REAPER_SCRIPT: &str = r#"
read -r line
for process in /proc/[0-9]*; do
    if [ "$process/ns/net" -ef "/proc/$$/fd/1" ] || [ "$process/ns/net" -ef "/proc/$$/fd/2" ]; then
        kill -9 "${process#/proc/}"
    fi
done
"#;

/// A process that outlives this one and cleans up after it.
#[derive(Debug)]
pub(crate) struct Reaper {
    child: Child,
}

impl Reaper {
    pub(crate) fn start(client: &Namespace, server: &Namespace) -> io::Result<Self> {
        let child = Command::new("/bin/sh")
            .args(["-c", REAPER_SCRIPT])
            // A group of its own: Ctrl-C on the terminal must not reach it before us.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(client.duplicate()?)
            .stderr(server.duplicate()?)
            .spawn()?;
        Ok(Self { child })
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Kills every process inside the namespaces, except this one, and returns when none is left.
pub(crate) fn kill_inside(namespaces: &[&Namespace]) {
    // A process may fork while we look; a few rounds find its children.
    for _ in 0..50 {
        let victims = processes_inside(namespaces);
        if victims.is_empty() {
            return;
        }
        for victim in victims {
            let _ = kill(victim, Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn processes_inside(namespaces: &[&Namespace]) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pid_of = |entry: io::Result<fs::DirEntry>| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let metadata = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
        let identity = (metadata.dev(), metadata.ino());
        namespaces.iter().any(|namespace| namespace.identity() == identity).then_some(Pid::from_raw(pid))
    };
    entries.filter_map(pid_of).filter(|&pid| pid != getpid()).collect()
}
