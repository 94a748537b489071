//! Control sockets of commands that run, `hawser ctl`, and what else looks at them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::*;

/// `hawser ctl` for the socket at this path.
fn ctl(socket: &Path, arguments: &[&str]) -> Command {
    let mut command = hawser(["--json", "ctl", "--socket"]);
    command.arg(socket).args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Its status once this holds of it.
fn status_when(socket: &Path, wanted: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let output = ctl(socket, &["status"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if wanted(&status) {
            return status;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{status:#}\n{}", text(&output.stderr));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_is_seen_steered_and_stopped_over_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("serve.sock");
    let server = Server::start(&["--control", socket.to_str().unwrap(), "--status-http", "127.0.0.1:0"]);
    server.add("a", b"content");
    // The socket is there a moment before the page is.
    let status = status_when(&socket, |status| status["page"].is_string());
    assert_eq!((&status["version"], &status["program"]["command"]), (&1.into(), &"serve".into()));
    let trust = ["--pin", &server.pin, "-o", "/dev/null"];
    let mut get = hawser(["get", "-q"]);
    assert!(get.args(trust).arg(server.url("/a")).status().unwrap().success());
    status_when(&socket, |status| status["totals"]["connections_ever"].as_u64() >= Some(1));
    // Its page is known to its owner, who may open the socket.
    let url = status["page"].as_str().unwrap().to_owned();
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    for (path, expected) in [
        (format!("/{path}"), "<title>Hawser</title>"),
        ("/metrics".to_owned(), "hawser_connections_opened_total"),
    ] {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(expected), "{answer}");
    }
    let refused = ctl(&socket, &["path", "wlan0", "pause"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("no link and no path is named `wlan0`"),
        "{}",
        text(&refused.stderr)
    );
    let wrong = ctl(&socket, &["scheduler", "a b"]).output().unwrap();
    assert!(!wrong.status.success(), "{}", text(&wrong.stdout));
    let drained = ctl(&socket, &["drain"]).output().unwrap();
    assert!(drained.status.success(), "{}{}", text(&drained.stdout), text(&drained.stderr));
    server.wait();
    assert!(!socket.exists());
}

#[test]
fn the_socket_of_a_killed_server_gives_way() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("serve.sock");
    let arguments = ["--control", socket.to_str().unwrap()];
    let mut server = Server::start(&arguments);
    server.signal(Signal::SIGKILL);
    server.crash_and_restart_with(&arguments);
    status_when(&socket, |status| status["program"]["command"] == "serve");
    // While one listens there, another does not begin.
    let mut second = hawser(["serve", folder.path().to_str().unwrap(), "--listen", "127.0.0.1:0", "--state"]);
    let output = second.arg(folder.path()).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(91), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("another program has the control socket"));
}

/// With a runtime directory of its own.
fn in_runtime(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = hawser(arguments.iter().copied());
    command.env("XDG_RUNTIME_DIR", folder).output().unwrap()
}

#[test]
fn the_only_program_is_found_and_several_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = in_runtime(folder.path(), &["ctl"]);
    assert_eq!(nothing.status.code(), Some(7), "{}", text(&nothing.stderr));
    let start = || {
        let mut command = hawser(["-q"]);
        command.env("XDG_RUNTIME_DIR", folder.path()).env_remove("HAWSER_CONTROL");
        Server::start_with(command, &[])
    };
    let first = start();
    let found = in_runtime(folder.path(), &["ctl", "status"]);
    assert!(text(&found.stdout).starts_with("hawser serve (process "), "{}", text(&found.stdout));
    let second = start();
    let several = in_runtime(folder.path(), &["ctl"]);
    assert_eq!(several.status.code(), Some(2));
    assert_eq!(text(&several.stderr).matches("--socket ").count(), 2, "{}", text(&several.stderr));
    let listed = in_runtime(folder.path(), &["ctl", "list"]);
    assert_eq!(text(&listed.stdout).lines().count(), 2, "{}", text(&listed.stdout));
    second.stop();
    first.stop();
    assert!(in_runtime(folder.path(), &["ctl", "list"]).stdout.is_empty());
}

#[test]
fn a_view_without_a_terminal_says_what_to_use() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("serve.sock");
    let _server = Server::start(&["--control", socket.to_str().unwrap()]);
    let mut top = hawser(["top", "--socket"]);
    let output = top.arg(&socket).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hawser ctl watch"), "{}", text(&output.stderr));
}

#[test]
fn the_doctor_names_each_check() {
    let output = hawser(["doctor", "--json"]).output().unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for check in ["links", "receive buffer", "UDP segmentation offload", "open files"] {
        assert!(findings.iter().any(|finding| finding["check"] == check), "{check}: {findings:?}");
    }
    let has_bad = findings.iter().any(|finding| finding["state"] == "bad");
    assert_eq!(output.status.code(), Some(i32::from(has_bad)));
}

#[test]
fn the_doctor_prints_each_finding_as_it_comes() {
    let server = Server::start(&[]);
    let host = format!("127.0.0.1:{}", server.port);
    let mut doctor = hawser(["doctor", "--silence", "5", "--pin", &server.pin, &host]);
    let mut doctor = doctor.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(doctor.stdout.take().unwrap()).lines();
    let line = lines.find(|line| line.as_ref().unwrap().contains("UDP to 127.0.0.1"));
    assert!(line.is_some());
    // It is silent for five seconds yet.
    assert_eq!(doctor.try_wait().unwrap(), None, "all was printed at the end");
    assert!(lines.any(|line| line.unwrap().contains("NAT on the way")));
    doctor.wait().unwrap();
}

#[test]
fn metrics_are_printed_and_put_into_a_file_for_node_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("serve.sock");
    let _server = Server::start(&["--control", socket.to_str().unwrap()]);
    let ask =
        |more: &[&str]| hawser(["ctl", "--socket"]).arg(&socket).arg("metrics").args(more).output().unwrap();
    let printed = ask(&[]);
    assert!(text(&printed.stdout).contains("# TYPE hawser_sent_bytes_total counter"), "{printed:?}");
    let file = folder.path().join("hawser.prom");
    assert!(ask(&["--out", file.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(&file).unwrap().contains("hawser_connections 0"));
    let nowhere = ask(&["--out", "/nonexistent/hawser.prom"]);
    assert!(!nowhere.status.success() && text(&nowhere.stderr).contains("cannot write"), "{nowhere:?}");
}

#[test]
fn the_doctor_looks_at_the_way_to_a_host() {
    let server = Server::start(&[]);
    let look = |host: &str| {
        let mut doctor = hawser(["doctor", "--json", "--silence", "5", "--pin", &server.pin, host]);
        let output = doctor.output().unwrap();
        serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap()
    };
    let host = format!("127.0.0.1:{}", server.port);
    let findings = look(&host);
    let state = |check: &str| {
        let found = findings.iter().find(|finding| finding["check"].as_str().unwrap().starts_with(check));
        found.unwrap_or_else(|| panic!("{check}: {findings:?}"))["state"].clone()
    };
    assert_eq!(state("UDP to 127.0.0.1"), "ok");
    assert_eq!(state("datagram size from 127.0.0.1"), "ok");
    assert_eq!(state("NAT on the way"), "ok");
}
