//! `get --scheduler`: which scheduler counts is a matter of the server, which is asked.

use crate::support::*;

/// Gets a file over two paths with these options: the JSON result, and the messages on standard error.
fn get(server: &Server, more: &[&str]) -> (serde_json::Value, String) {
    let url = server.url("/x");
    let mut command =
        server.get(&["-o", "/dev/null", &url, "--json", "--path", "127.0.0.1", "--path", "127.0.0.2"]);
    command.args(more);
    let output = run(command);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    (serde_json::from_slice(&output.stdout).unwrap(), words)
}

fn received(report: &serde_json::Value) -> u64 {
    report["paths"].as_array().unwrap().iter().map(|path| path["bytes_received"].as_u64().unwrap()).sum()
}

const LENGTH: u64 = 8 << 20;

/// `redundant` sends everything on both paths, which the receiver can count.
#[test]
fn a_server_that_allows_it_follows() {
    let server = Server::start(&["--allow-scheduler", "redundant,ecf"]);
    server.add("x", &noise(LENGTH as usize));
    let (report, _) = get(&server, &[]);
    assert!(report["server_scheduler"].is_null(), "nobody asked: {report}");
    assert!(received(&report) < LENGTH * 3 / 2, "{report}");
    for option in ["--scheduler", "--policy"] {
        let (report, words) = get(&server, &[option, "redundant", "--limit-rate", "8M"]);
        assert_eq!(report["server_scheduler"]["accepted"], true);
        assert!(words.contains("the server uses redundant now"), "{words}");
        assert!(received(&report) > LENGTH * 3 / 2, "everything is sent twice: {report}");
    }
}

#[test]
fn a_server_that_does_not_allow_it_says_so() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let (report, words) = get(&server, &["--scheduler", "redundant"]);
    assert_eq!(report["server_scheduler"]["accepted"], false);
    assert!(
        words.contains(
            "the server refused redundant: schedulers are not chosen by clients here; --scheduler affects only what \
             this side sends"
        ),
        "{words}"
    );
    assert!(received(&report) < 3 << 19, "{report}");
    let server = Server::start(&["--allow-scheduler", "ecf", "--allow-scheduler", "minrtt"]);
    server.add("x", &noise(1 << 20));
    let (_, words) = get(&server, &["--scheduler", "redundant"]);
    assert!(
        words.contains("the server refused redundant: \"redundant\" is not among ecf, minrtt;"),
        "{words}"
    );
}

#[test]
fn a_server_allows_only_schedulers_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let serve = hawser(["serve", folder.path().to_str().unwrap(), "--allow-scheduler", "ecv"]);
    let words = run_failing(serve, 2);
    assert!(
        words.contains("--allow-scheduler: there is no scheduler named \"ecv\" (did you mean \"ecf\"?)"),
        "{words}"
    );
}

/// The server of a measurement sends with --reverse.
#[test]
fn a_measurement_asks_as_well() {
    let state = tempfile::tempdir().unwrap();
    let mut server = hawser(["perf", "server", "--listen", "127.0.0.1:0", "--one-off", "--json", "-q"]);
    server.args(["--allow-scheduler", "minrtt", "--state"]).arg(state.path());
    let (mut server, hello) = spawn_and_read_line(server);
    let hello: serde_json::Value = serde_json::from_str(&hello).unwrap();
    let port = hello["port"].to_string();
    let pin = hello["pin"].as_str().unwrap();
    let client = [
        "perf",
        "client",
        "127.0.0.1",
        "-p",
        &port,
        "--pin",
        pin,
        "-R",
        "-t",
        "0.5",
        "--scheduler",
        "minrtt",
    ];
    let report = run_json(hawser(client));
    assert_eq!(report["start"]["server_scheduler"]["accepted"], true, "{report}");
    server.wait().unwrap();
}
