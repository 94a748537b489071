//! Sockets that a service manager hands in (`LISTEN_FDS`), as systemd does for a unit with `ListenDatagram=`.

use std::process::Command;

use serde_json::Value;

use crate::support::*;

/// Binds a socket, makes it descriptor 3, and becomes the program named in the arguments.
const MANAGER: &str = "
import os, socket, sys
kind = socket.SOCK_STREAM if sys.argv[1] == 'tcp' else socket.SOCK_DGRAM
handed_in = socket.socket(socket.AF_INET, kind)
handed_in.bind(('127.0.0.1', 0))
os.dup2(handed_in.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
";

fn activated(kind: &str, arguments: &[&str]) -> Command {
    let mut command = clean(Command::new("python3"));
    command.args(["-c", MANAGER, kind, env!("CARGO_BIN_EXE_hawser")]).args(arguments);
    command
}

#[test]
fn a_server_accepts_on_the_socket_that_it_is_handed() {
    let work = tempfile::tempdir().unwrap();
    let file = |name: &str| work.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(file("served")).unwrap();
    std::fs::write(file("served/a.txt"), "handed in").unwrap();
    let (served, state) = (file("served"), file("state"));
    let command = activated("udp", &["serve", &served, "--state", &state, "--json", "-q"]);
    let (process, hello) = spawn_and_read_line(command);
    let _ended_with_the_test = Running(process);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let port = hello["port"].as_u64().unwrap();
    assert_ne!(port, 4433, "the default port was taken: {hello}");
    let (pin, url) = (hello["pin"].as_str().unwrap(), format!("https://127.0.0.1:{port}/a.txt"));
    let output = run(hawser(["get", "--pin", pin, "-o", "-", "-q", &url]));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "handed in",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_socket_of_another_kind_is_refused() {
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().to_str().unwrap();
    let words = run_failing(activated("tcp", &["serve", folder, "--state", folder]), 91);
    assert!(words.contains("ListenDatagram="), "{words}");
}
