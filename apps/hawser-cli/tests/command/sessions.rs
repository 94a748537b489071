//! Sessions over two processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hawser::{EarlyData, Endpoint, Identity, ServerConfig};
use http::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::support::*;

fn get_early(server: &Server, file: &str) -> Value {
    get_early_to(server, file, "/dev/null", &[])
}

fn get_early_to(server: &Server, file: &str, output: &str, arguments: &[&str]) -> Value {
    let url = server.url("/x");
    let common = ["--session-file", file, "--early-data", "-o", output, "--path", "127.0.0.1", &url];
    run_json(server.get(&[&common, arguments].concat()))
}

#[test]
fn a_file_is_asked_for_with_the_first_packets() {
    let server = Server::start(&["--early-data"]);
    server.add("x", &noise(300_000));
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    let file_text = file.to_str().unwrap();
    assert_eq!(get_early(&server, file_text)["early_data"], "none", "the first time there is no ticket");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Each time new tickets come, though an answer is there before them.
    for _ in 0..4 {
        let report = get_early(&server, file_text);
        assert_eq!(
            (&report["early_data"], &report["bytes"]),
            (&Value::from("accepted"), &Value::from(300_000))
        );
        assert_eq!(report["verified"], true);
    }
    // What must not be done twice waits for the handshake, and arrives.
    let put = Server::start(&["--early-data", "--allow-put"]);
    let source = here.path().join("y");
    fs::write(&source, noise(10_000)).unwrap();
    let arguments = ["--session-file", file_text, source.to_str().unwrap(), &put.url("/y")];
    for _ in 0..2 {
        assert!(run(put.put(&arguments)).status.success());
    }
    assert_eq!(fs::read(put.folder.path().join("y")).unwrap(), noise(10_000));
}

/// What a report says of a whole file: 0-RTT, and whether the session was resumed.
#[track_caller]
fn assert_came(report: &Value, early_data: &str, resumed: bool) {
    let came = (&report["early_data"], &report["resumed"], &report["bytes"], &report["verified"]);
    assert_eq!(came, (&early_data.into(), &resumed.into(), &300_000.into(), &true.into()), "{report}");
}

/// A server that was restarted knows none of its tickets: the file comes all the same, whole and once, also in parts.
#[test]
fn a_server_that_does_not_take_0_rtt_is_asked_all_the_same() {
    let mut server = Server::start(&["--early-data"]);
    server.add("x", &noise(300_000));
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    let file = file.to_str().unwrap();
    let part = here.path().join("y");
    for more in [&[] as &[&str], &["--parallel", "3"]] {
        assert_came(&get_early(&server, file), "none", false);
        server.crash_and_restart_with(&["--early-data"]);
        let output = if more.is_empty() { "/dev/null" } else { part.to_str().unwrap() };
        assert_came(&get_early_to(&server, file, output, more), "rejected", false);
        assert_came(&get_early(&server, file), "accepted", true);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(fs::read(&part).unwrap(), noise(300_000));
    // Without 0-RTT its tickets do not allow it, and resume.
    server.crash_and_restart();
    assert_came(&get_early(&server, file), "none", false);
    assert_came(&get_early(&server, file), "none", true);
}

/// Answers connections one after the other; to what comes first on one with 0-RTT, that it is too early (RFC 8470 section
/// 5.2). Tells of each request whether the handshake was complete.
async fn serve_late(server: Endpoint, seen: UnboundedSender<(StatusCode, bool)>) {
    while let Some(incoming) = server.accept().await {
        let connection = incoming.accept().unwrap().into_early();
        let http = hawser::h3::server_builder().build(hawser::h3::Connection::new(connection.clone())).await;
        let mut http: h3::server::Connection<_, bytes::Bytes> = http.unwrap();
        let mut is_first = true;
        while let Ok(Some(resolver)) = http.accept().await {
            let Ok((_, mut stream)) = resolver.resolve_request().await else { break };
            let is_early = std::mem::take(&mut is_first) && connection.early_data() == EarlyData::Accepted;
            let status = if is_early { StatusCode::TOO_EARLY } else { StatusCode::OK };
            seen.send((status, !connection.is_handshaking())).unwrap();
            stream.send_response(Response::builder().status(status).body(()).unwrap()).await.unwrap();
            stream.send_data(bytes::Bytes::from_static(b"content")).await.unwrap();
            stream.finish().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_too_early_is_asked_for_again_after_the_handshake() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap().to_string();
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).early_data(true).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("https://127.0.0.1:{}/x", server.listening()[0].port());
    let (seen, mut requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(serve_late(server, seen));
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    for (early_data, expected) in
        [("none", vec![StatusCode::OK]), ("accepted", vec![StatusCode::TOO_EARLY, StatusCode::OK])]
    {
        let mut command = hawser(["get", "-o", "/dev/null", "--early-data", "--pin", &pin, &url]);
        command.args(["--path", "127.0.0.1", "--session-file"]).arg(&file);
        let report = tokio::task::spawn_blocking(move || run_json(command)).await.unwrap();
        assert_eq!((&report["early_data"], &report["bytes"]), (&early_data.into(), &7.into()), "{report}");
        for status in expected {
            let (answered, is_complete) = requests.recv().await.unwrap();
            assert_eq!(answered, status);
            assert!(is_complete || status == StatusCode::TOO_EARLY, "not again with 0-RTT");
        }
        assert!(requests.try_recv().is_err(), "nothing more was asked for");
    }
}

/// HTTP/0.9 has no settings and no status 425: what 0-RTT carried, and a server that was restarted did not take, is sent again
/// after the handshake, and each file comes once and whole.
#[test]
fn hq_files_come_with_0_rtt_and_after_it_was_rejected() {
    let mut server = Server::start(&["--hq", "--early-data"]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    for name in ["a", "b", "c"] {
        server.add(name, &noise(70_000));
    }
    let get = |server: &Server, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command =
            server.get(&["--hq", "--early-data", "--path", "127.0.0.1", "-O", "--session-file"]);
        command.arg(&file).args(["a", "b", "c"].map(|name| server.url(&format!("/{name}"))));
        command.current_dir(folder.path());
        let output = run(command);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        assert!(words.contains(&format!("0-RTT of 127.0.0.1: {expected}")), "{words}");
        for name in ["a", "b", "c"] {
            assert!(fs::read(folder.path().join(name)).unwrap() == noise(70_000), "{name}: {words}");
        }
    };
    get(&server, "none");
    get(&server, "accepted");
    server.crash_and_restart_with(&["--hq", "--early-data"]);
    get(&server, "rejected");
    get(&server, "accepted");
}

#[test]
fn a_file_that_is_something_else_is_named() {
    let server = Server::start(&[]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("notes");
    fs::write(&file, "buy milk").unwrap();
    let url = server.url("/");
    let output = run(server.get(&["--session-file", file.to_str().unwrap(), &url]));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.contains("is no file of sessions"), "{words}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "buy milk");
}
