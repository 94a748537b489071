//! Many files of one server.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use hawser::{Endpoint, Identity, ServerConfig};
use http::{Response, StatusCode};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::*;

/// Files that are asked for at a time, unless something else is said.
const AT_A_TIME: usize = 8;

fn reports(stdout: &[u8]) -> Vec<Value> {
    serde_json::Deserializer::from_slice(stdout).into_iter().map(Result::unwrap).collect()
}

/// The local addresses of the connections that the files came over.
fn local_addresses(reports: &[Value]) -> BTreeSet<&str> {
    reports.iter().filter_map(|report| report["paths"][0]["local"].as_str()).collect()
}

/// Answers one connection, and no request before so many wait: a client that asks for one file after the other waits indefinitely.
/// Returns how many requests were answered at the same time, each time.
async fn serve_in_rounds(server: Endpoint, mut left: usize, at_a_time: usize) -> Vec<usize> {
    let connection = server.accept().await.unwrap().accept().unwrap().into_early();
    let http = hawser::h3::server_builder().build(hawser::h3::Connection::new(connection)).await;
    let mut http: h3::server::Connection<_, bytes::Bytes> = http.unwrap();
    let (mut rounds, mut waiting) = (Vec::new(), Vec::new());
    loop {
        let is_round = waiting.len() >= at_a_time.min(left);
        // One too many would come with the others: it is counted if it does.
        let patience = Duration::from_millis(if is_round && left > 0 { 100 } else { 60_000 });
        match tokio::time::timeout(patience, http.accept()).await {
            Ok(Ok(Some(resolver))) => waiting.push(resolver.resolve_request().await.unwrap().1),
            Ok(_) => return rounds,
            Err(_) => assert!(is_round, "{} requests wait for others that do not come", waiting.len()),
        }
        if is_round && !waiting.is_empty() {
            rounds.push(waiting.len());
            left -= waiting.len();
            for mut stream in waiting.drain(..) {
                let response = Response::builder().status(StatusCode::OK).body(()).unwrap();
                stream.send_response(response).await.unwrap();
                stream.send_data(vec![b'x'; 1_000].into()).await.unwrap();
                stream.finish().await.unwrap();
            }
        }
    }
}

/// Gets so many files of a kilobyte from such a server; returns how many were answered at the same time, each time.
async fn get_in_rounds(count: usize, at_a_time: usize, arguments: &[&str]) -> Vec<usize> {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap().to_string();
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let port = server.listening()[0].port();
    let serving = tokio::spawn(serve_in_rounds(server, count, at_a_time));
    let here = tempfile::tempdir().unwrap();
    let mut command = hawser(["get", "-q", "--json", "-O", "--pin", &pin, "--path", "127.0.0.1"]);
    command.arg("--output-dir").arg(here.path()).args(arguments);
    command.args((0..count).map(|file| format!("https://127.0.0.1:{port}/{file}")));
    let output = tokio::task::spawn_blocking(move || run(command)).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let reports = reports(&output.stdout);
    assert_eq!((reports.len(), local_addresses(&reports).len()), (count, 1), "one connection");
    for file in 0..count {
        assert_eq!(fs::read(here.path().join(file.to_string())).unwrap(), [b'x'; 1_000]);
    }
    serving.await.unwrap()
}

/// Twenty files take three round trips after the handshake, where one after the other takes twenty.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_files_come_several_at_a_time() {
    assert_eq!(get_in_rounds(20, AT_A_TIME, &[]).await, [8, 8, 4]);
    assert_eq!(get_in_rounds(7, 3, &["--parallel-files", "3"]).await, [3, 3, 1]);
    assert_eq!(get_in_rounds(2, 1, &["--parallel-files", "1"]).await, [1, 1]);
}

/// A file that is not there neither stops the others nor costs them their connection, and decides how the command ends.
#[test]
fn a_file_that_fails_leaves_the_others_alone() {
    let server = Server::start(&[]);
    let names: Vec<String> = (0..20).map(|file| format!("file-{file}")).collect();
    for name in names.iter().filter(|name| *name != "file-3") {
        server.add(name, &noise(100_000));
    }
    let here = tempfile::tempdir().unwrap();
    let mut command = server.get(&["-q", "--json", "-O", "--path", "127.0.0.1", "--output-dir"]);
    command.arg(here.path()).args(names.iter().map(|name| server.url(&format!("/{name}"))));
    let output = run(command);
    assert_eq!(output.status.code(), Some(44), "{output:?}");
    let reports = reports(&output.stdout);
    let failed: Vec<_> = reports.iter().filter(|report| report["error"].is_object()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0]["url"].as_str().unwrap().ends_with("/file-3"), "{failed:?}");
    assert_eq!((reports.len(), local_addresses(&reports).len()), (20, 1));
    assert_eq!(
        fs::read_dir(here.path()).unwrap().count(),
        19,
        "nothing is left of the one that is not there"
    );
}

#[test]
fn control_c_keeps_what_came_of_all_of_them() {
    let server = Server::start(&[]);
    let here = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c"];
    let mut command = server.get(&["-q", "--limit-rate", "2M", "-O", "--output-dir"]);
    command.arg(here.path());
    for name in names {
        server.add_sparse(name, 64 << 20);
        command.arg(server.url(&format!("/{name}")));
    }
    let process = command.stderr(Stdio::piped()).spawn().unwrap();
    let part = |name: &str| here.path().join(format!("{name}.part"));
    names.iter().for_each(|name| wait_for_bytes(&part(name), 1 << 18));
    kill(Pid::from_raw(i32::try_from(process.id()).unwrap()), Signal::SIGINT).unwrap();
    let output = process.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{words}");
    for name in names {
        assert!(fs::metadata(part(name)).unwrap().len() >= 1 << 18);
        assert!(words.contains(&format!("{name}.part")), "{words}");
    }
}

#[test]
fn on_standard_output_files_follow_each_other() {
    let server = Server::start(&[]);
    server.add("long", &noise(3 << 20));
    server.add("short", b"short");
    let (long, short) = (server.url("/long"), server.url("/short"));
    let output = run(server.get(&["-q", &long, &short]));
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout == [&noise(3 << 20)[..], b"short"].concat());
}
