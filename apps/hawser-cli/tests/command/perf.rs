use serde_json::Value;

use crate::support::*;

/// A measuring server that ends with the test.
struct PerfServer {
    process: std::process::Child,
    _state: tempfile::TempDir,
    port: String,
    pin: String,
}

impl PerfServer {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(arguments: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut command = hawser(["perf", "server", "--listen", "127.0.0.1:0", "--json", "-q", "--state"]);
        command.arg(state.path()).args(arguments);
        let (process, hello) = spawn_and_read_line(command);
        let hello: Value = serde_json::from_str(&hello).unwrap();
        let (port, pin) = (hello["port"].to_string(), hello["pin"].as_str().unwrap().to_owned());
        PerfServer { process, _state: state, port, pin }
    }

    fn measure(&self, arguments: &[&str]) -> Value {
        let mut command = hawser(["perf", "client", "127.0.0.1", "-p", &self.port, "--pin", &self.pin]);
        command.args(arguments);
        run_json(command)
    }
}

impl Drop for PerfServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn streams_in_both_directions() {
    let server = PerfServer::start();
    for reverse in [&[][..], &["-R"]] {
        let report = server.measure(&[&["-t", "0.6", "-i", "0.2", "-P", "2"], reverse].concat());
        let end = &report["end"];
        assert!(end["sum_sent"]["bytes"].as_u64().unwrap() > 1_000_000, "{report}");
        assert_eq!(end["sum_sent"]["bytes"], end["sum_received"]["bytes"], "what is sent arrives");
        let intervals = report["intervals"].as_array().unwrap();
        assert!(intervals.len() >= 2, "{report}");
        assert_eq!(intervals[0]["streams"].as_array().unwrap().len(), 2);
        assert!(!end["paths"].as_array().unwrap().is_empty());
    }
    let report = server.measure(&["-n", "3M"]);
    assert_eq!(report["end"]["sum_received"]["bytes"], 3 << 20);
}

#[test]
fn what_the_server_refuses_is_said() {
    let server = PerfServer::start();
    let mut command = hawser(["perf", "client", "127.0.0.1", "-p", &server.port, "--pin", &server.pin]);
    command.args(["-t", "100000"]);
    let words = run_failing(command, 1);
    assert!(words.contains("3600 seconds"), "{words}");
}

#[test]
fn datagrams_are_counted() {
    let server = PerfServer::start();
    for reverse in [&[][..], &["-R"]] {
        let report = server.measure(&[&["--datagram", "-b", "5M", "-t", "0.6"], reverse].concat());
        let datagrams = &report["end"]["datagrams"];
        let packets = datagrams["packets"].as_u64().unwrap();
        assert!((150..600).contains(&packets), "{report}");
        assert!(datagrams["lost_packets"].as_u64().unwrap() * 10 < packets, "{report}");
    }
}

#[test]
fn the_rate_is_kept() {
    let server = PerfServer::start();
    let report = server.measure(&["-b", "8M", "-t", "1"]);
    let bits = report["end"]["sum_received"]["bytes"].as_f64().unwrap() * 8.0;
    assert!((5e6..11e6).contains(&bits), "{report}");
}

#[test]
fn a_server_with_a_worker_per_core_measures_as_well() {
    let server = PerfServer::start_with(&["--workers", "auto"]);
    for _ in 0..4 {
        let report = server.measure(&["-n", "1M", "--path", "127.0.0.1", "--path", "127.0.0.2"]);
        assert_eq!(report["end"]["sum_received"]["bytes"], 1 << 20);
    }
    let mut command = hawser(["perf", "server", "--workers", "65"]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected 1 to 64, or auto"));
}

/// Also a measurement without an end.
#[test]
fn ctrl_c_leaves_programs_what_was_measured() {
    let server = PerfServer::start();
    for more in [&["-t", "20"][..], &["-t", "0", "-R"]] {
        let mut command = hawser(["perf", "client", "127.0.0.1", "-p", &server.port, "--pin", &server.pin]);
        command.args(["--json", "-b", "10M", "-i", "0.3"]).args(more);
        let client = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        let pid = nix::unistd::Pid::from_raw(i32::try_from(client.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let output = client.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["intervals"].as_array().unwrap().len() >= 2, "{report}");
        assert_eq!((&report["interrupted"], &report["error"]["exit_code"]), (&true.into(), &130.into()));
        let known = if more.contains(&"-R") { "sum_received" } else { "sum_sent" };
        assert!(report["end"][known]["bytes"].as_u64().unwrap() > 0, "{report}");
    }
}

#[test]
fn ctrl_c_ends_a_measurement_with_what_is_known() {
    let server = PerfServer::start();
    let mut command = hawser(["perf", "client", "127.0.0.1", "-p", &server.port, "--pin", &server.pin]);
    let client = command.args(["-t", "20"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(client.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(words.lines().any(|line| line.starts_with("sent ")) && words.contains("share"), "{words}");
}
