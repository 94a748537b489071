//! `hawser measure` over loopback: records, uploads, reports, and what goes wrong.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

/// A measuring server that ends with the test.
pub(crate) struct MeasureServer {
    process: Child,
    pub(crate) folder: TempDir,
    state: TempDir,
    pub(crate) port: String,
    pub(crate) pin: String,
}

impl MeasureServer {
    pub(crate) fn start(listen: &str, arguments: &[&str]) -> Self {
        let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (process, port, pin) = spawn_server(listen, folder.path(), state.path(), arguments);
        MeasureServer { process, folder, state, port, pin }
    }

    /// Kills it without a goodbye.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again on the same port and folder.
    fn restart(&mut self) {
        let listen = format!("127.0.0.1:{}", self.port);
        self.process = spawn_server(&listen, self.folder.path(), self.state.path(), &[]).0;
    }

    pub(crate) fn client(&self, host: &str, interface: &str, out: &Path, arguments: &[&str]) -> Command {
        let mut command =
            hawser(["measure", "client", host, "-p", &self.port, "--pin", &self.pin, "-i", interface]);
        command.arg("--out").arg(out).args(arguments);
        command
    }

    /// Hands over all records.
    pub(crate) fn upload(&self, host: &str, folder: &Path) -> Value {
        let mut command = hawser(["measure", "upload"]);
        command.arg(folder).args([host, "-p", &self.port, "--pin", &self.pin]);
        run_json(command)
    }

    /// Ends it properly, so that all its records are on the disk.
    pub(crate) fn stop(&mut self) {
        signal(&self.process, nix::sys::signal::Signal::SIGINT);
        self.process.wait().unwrap();
    }
}

impl Drop for MeasureServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn_server(listen: &str, folder: &Path, state: &Path, arguments: &[&str]) -> (Child, String, String) {
    let mut command = hawser(["measure", "server", "--listen", listen, "--json", "-q"]);
    command.arg("--out").arg(folder).arg("--state").arg(state).args(arguments);
    let (process, hello) = spawn_and_read_line(command);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    (process, hello["port"].to_string(), hello["pin"].as_str().unwrap().to_owned())
}

pub(crate) fn signal(process: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(process.id()).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

/// The records in a folder, by kind, in the order of their ids.
pub(crate) fn records(folder: &Path, kind: &str) -> Vec<Value> {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    names.sort();
    let read =
        |path: &std::path::PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap();
    names.iter().map(read).filter(|record| record["kind"] == kind).collect()
}

/// A report of folders, as JSON.
pub(crate) fn report(folders: &[&Path]) -> Value {
    let page = folders[0].join("page.html");
    let mut command = hawser(["measure", "report", "-o"]);
    command.arg(&page).args(folders);
    let report = run_json(command);
    assert!(std::fs::read_to_string(&page).unwrap().contains("<h1>Measurements</h1>"));
    report
}

#[test]
fn sessions_are_recorded_uploaded_once_and_reported() {
    let mut server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let arguments = ["--time", "3.2", "--session", "0.5", "--flows", "1,2", "--seed", "3", "--json"];
    let output = run(server.client("127.0.0.1", "lo", out.path(), &arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sessions = records(out.path(), "session");
    assert!((4..=7).contains(&sessions.len()), "{}", sessions.len());
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), sessions.len());
    // The time may end while the last one connects.
    let is_cut = |session: &Value| session["end"] == "stopped" && session["flows"] == serde_json::json!([]);
    let complete = &sessions[..sessions.len() - usize::from(sessions.last().is_some_and(is_cut))];
    for (session, attempt) in complete.iter().zip(0..) {
        assert_eq!((&session["ok"], &session["attempt"]), (&true.into(), &attempt.into()), "{session}");
        let flows = session["flows"].as_array().unwrap();
        assert_eq!(flows.len() as u64, session["configuration"]["flows"].as_u64().unwrap());
        let key =
            if session["configuration"]["direction"] == "up" { "acked_bytes" } else { "received_bytes" };
        assert!(flows.iter().all(|flow| flow[key].as_u64().unwrap() > 1_000_000), "{session}");
    }
    let run = &records(out.path(), "run")[0];
    assert_eq!(run["ended"], true);

    // A copy of one record that was uploaded is uploaded once more.
    let id = sessions[0]["id"].as_str().unwrap();
    let name = out.path().join(format!("{id}.jsonl"));
    let copy = std::fs::read(&name).unwrap();
    let count = sessions.len() as u64 + 1;
    assert_eq!(server.upload("127.0.0.1", out.path()), serde_json::json!({ "uploaded": count, "left": 0 }));
    std::fs::write(&name, &copy).unwrap();
    assert_eq!(server.upload("127.0.0.1", out.path()), serde_json::json!({ "uploaded": 1, "left": 0 }));
    assert!(records(out.path(), "session").is_empty(), "what the server has is removed");
    server.stop();
    assert_eq!(records(server.folder.path(), "session"), sessions, "whole, and each once");

    let report = report(&[server.folder.path()]);
    let group = &report["groups"][0];
    assert_eq!((&group["name"], group["sessions"].as_u64()), (&"lo".into(), Some(count - 1)));
    // What was acknowledged and not yet read when a session of half a second ends is up to a receive window.
    assert!(group["volumes_differ"].as_f64().unwrap().abs() < 0.05, "{report}");
    assert!(group["fractions"]["flows"].as_u64().unwrap() >= sessions.len() as u64, "uploads and downloads");
    let table = server.folder.path().join("sessions.parquet");
    let mut convert = hawser(["measure", "convert", "-o"]);
    convert.arg(&table).arg(server.folder.path());
    assert_eq!(run_json(convert)["rows"], count - 1);
    // The drive becomes a scenario.
    let scenario = server.folder.path().join("scenario");
    let mut import = hawser(["trace", "import"]);
    import.arg(server.folder.path()).arg("-o").arg(&scenario);
    let imported = run_json(import);
    assert_eq!(imported["links"], serde_json::json!(["lo"]));
    let mut check = hawser(["scenario", "check"]);
    check.arg(scenario.join("scenario.toml"));
    let checked = run_json(check);
    assert!(checked["directions"][0]["mean_rate_bps"].as_f64().unwrap() > 1e7, "{checked}");
}

#[test]
fn a_server_that_vanishes_leaves_a_record_and_is_found_again() {
    let mut server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let arguments = ["--timeout", "1", "--flows", "1", "--direction", "up", "-q"];
    let mut client = server.client("127.0.0.1", "lo", out.path(), &arguments).spawn().unwrap();
    let is_there = |records: &[Value]| records.iter().any(|record| record["ok"] == true);
    // Its draft says that the first session runs.
    wait_until("a session runs", || {
        let draft = std::fs::read(out.path().join("session-lo.draft")).unwrap_or_default();
        serde_json::from_slice(&draft).is_ok_and(|draft: Value| is_there(&[draft]))
    });
    server.kill();
    wait_until("the record is kept", || !records(out.path(), "session").is_empty());
    server.restart();
    wait_until("another session runs", || {
        let draft = std::fs::read(out.path().join("session-lo.draft")).unwrap_or_default();
        serde_json::from_slice(&draft).is_ok_and(|draft: Value| draft["attempt"] != 0 && is_there(&[draft]))
    });
    signal(&client, nix::sys::signal::Signal::SIGINT);
    assert!(client.wait().unwrap().success());
    let sessions = records(out.path(), "session");
    let [first, .., last] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((&first["end"], &first["ok"]), (&"server_lost".into(), &true.into()), "{first}");
    assert!(first["error"].as_str().unwrap().contains("the measurement broke off"), "{first}");
    assert_eq!((&last["end"], &last["ok"]), (&"stopped".into(), &true.into()), "{last}");
}

#[test]
fn a_client_that_is_killed_leaves_its_record() {
    let server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let mut client = server.client("127.0.0.1", "lo", out.path(), &["-q", "--flows", "1"]).spawn().unwrap();
    let draft = || std::fs::read(out.path().join("session-lo.draft")).unwrap_or_default();
    wait_until("a session runs", || {
        serde_json::from_slice(&draft()).is_ok_and(|draft: Value| draft["ok"] == true)
    });
    // Another one cannot have its folder meanwhile.
    let words = run_failing(server.client("127.0.0.1", "lo", out.path(), &[]), 23);
    assert!(words.contains("belongs to another `hawser measure`"), "{words}");
    client.kill().unwrap();
    client.wait().unwrap();
    let killed: Value = serde_json::from_slice(&draft()).unwrap();
    let output = run(server.client("127.0.0.1", "lo", out.path(), &["--time", "0.5"]));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.contains("of a run that was killed"), "{words}");
    let sessions = records(out.path(), "session");
    assert_eq!(sessions[0], killed);
    assert_eq!(sessions[0]["end"], "interrupted");
    assert!(sessions.len() >= 2, "{sessions:?}");
}

#[test]
fn radio_and_positions_are_in_the_record() {
    let server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let links = out.path().join("links");
    let line = r#"{"link":"lo","signal":{"dbm":-61.5},"channel":36,"attached_to":{"access_point":"02:00:5e:10:00:01"}}"#;
    std::fs::write(&links, format!("{line}\n")).unwrap();
    // A receiver that moves north by a thousandth of a degree (111 m) with each report.
    let gpsd = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = gpsd.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = gpsd.accept().unwrap();
        let mut asked = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut asked).unwrap();
        assert!(asked.starts_with("?WATCH="), "{asked}");
        let _ = writeln!(stream, r#"{{"class":"VERSION","release":"3.25"}}"#);
        for step in 0.. {
            let lat = 44.5 + f64::from(step) / 1e3;
            let fix = format!(r#"{{"class":"TPV","mode":3,"lat":{lat},"lon":11.3,"altHAE":60.5}}"#);
            if writeln!(stream, "{fix}").is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let arguments =
        ["--time", "1.5", "--flows", "1", "-q", "--gpsd", &place, "--link-state", links.to_str().unwrap()];
    let output = run(server.client("127.0.0.1", "lo", out.path(), &arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let session = &records(out.path(), "session")[0];
    let radio = &session["radio"];
    assert_eq!(radio["point"], "02:00:5e:10:00:01", "{session}");
    assert_eq!((&radio["channel"], &radio["first_dbm"]), (&36.into(), &(-61.5).into()));
    let position = &session["position"];
    let (fixes, metres) = (position["fixes"].as_f64().unwrap(), position["distance_m"].as_f64().unwrap());
    assert!(fixes > 3.0 && (metres - (fixes - 1.0) * 111.195).abs() < 0.1, "{position}");
    let tracks = records(out.path(), "track");
    assert!(tracks[0]["fixes"].as_array().unwrap().len() as f64 >= fixes, "{tracks:?}");
}

#[test]
fn what_finds_no_room_is_said_once_and_counted() {
    let server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let arguments = ["--time", "1.6", "--session", "0.3", "--flows", "1", "--max-disk", "6k"];
    let output = run(server.client("127.0.0.1", "lo", out.path(), &arguments));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    assert_eq!(words.matches("has reached --max-disk").count(), 1, "{words}");
    let kept: u64 = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!((1..=2 << 10).contains(&kept), "{kept}");
    let state: Value = serde_json::from_slice(&std::fs::read(out.path().join("state")).unwrap()).unwrap();
    let dropped = state["dropped"].as_u64().unwrap();
    assert!(dropped >= 1 && words.contains(&format!("{dropped} records were dropped")), "{words}");
}

#[test]
fn a_full_server_refuses_and_the_records_stay() {
    let server = MeasureServer::start("127.0.0.1:0", &["--max-disk", "100"]);
    let out = tempfile::tempdir().unwrap();
    let good = run(server.client("127.0.0.1", "lo", out.path(), &["--time", "0.4", "--flows", "1", "-q"]));
    assert!(good.status.success());
    let before = records(out.path(), "session");
    let mut command = hawser(["measure", "upload"]);
    command.arg(out.path()).args(["127.0.0.1", "-p", &server.port, "--pin", &server.pin]);
    let words = run_failing(command, 70);
    assert!(words.contains("the server refuses a record: there is no room left"), "{words}");
    assert_eq!((before.len(), records(out.path(), "session")), (1, before));
}

#[test]
fn a_record_that_cannot_be_read_is_kept_aside() {
    let server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let good = run(server.client("127.0.0.1", "lo", out.path(), &["--time", "0.4", "--flows", "1", "-q"]));
    assert!(good.status.success());
    let name = "0000000099-00000000000000aa.jsonl";
    std::fs::write(out.path().join(name), "{\"kind\":\"session\"\0\0\0").unwrap();
    let mut command = hawser(["measure", "upload"]);
    command
        .arg(out.path())
        .args(["127.0.0.1", "-p", &server.port, "--pin", &server.pin])
        .stdout(Stdio::piped());
    let output = run(command);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    assert_eq!(words.matches("is what could not be read").count(), 1, "{words}");
    assert!(out.path().join(format!("{name}.corrupt")).exists());
    assert_eq!(records(server.folder.path(), "session").len(), 1, "the rest is uploaded");
}

#[test]
fn what_cannot_be_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let mut command = hawser(["measure", "client", "127.0.0.1", "-i", "lo", "--controller", "reno2000"]);
    command.arg("--out").arg(out.path());
    assert!(run_failing(command, 2).contains("--controller: "));
    let mut command = hawser(["measure", "report"]);
    command.arg(out.path());
    assert!(run_failing(command, 26).contains("no records in"));
    // A controller that the server does not permit is said in the record.
    let server = MeasureServer::start("127.0.0.1:0", &["--controller", "cubic"]);
    let arguments = ["--controller", "bbr", "--direction", "down", "--flows", "1", "--time", "0.6", "-q"];
    let output = run(server.client("127.0.0.1", "lo", out.path(), &arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let session = &records(out.path(), "session")[0];
    assert_eq!(session["end"], "refused", "{session}");
    assert!(
        session["error"].as_str().unwrap().contains("`bbr` is not permitted here; these are: cubic"),
        "{session}"
    );
}
