//! Sessions over two processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::*;

fn get_early(server: &Server, file: &str, arguments: &[&str]) -> Value {
    let url = server.url("/x");
    run_json(
        server.get(
            &[
                &["--session-file", file, "--early-data", "-o", "/dev/null", "--path", "127.0.0.1", &url],
                arguments,
            ]
            .concat(),
        ),
    )
}

#[test]
fn a_file_is_asked_for_with_the_first_packets() {
    let server = Server::start(&["--early-data"]);
    server.add("x", &noise(300_000));
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    let file_text = file.to_str().unwrap();
    assert_eq!(get_early(&server, file_text, &[])["early_data"], "none", "the first time there is no ticket");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Each time new tickets come, though an answer is there before them.
    for _ in 0..4 {
        let report = get_early(&server, file_text, &[]);
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

#[test]
fn a_server_without_0_rtt_is_asked_all_the_same() {
    let mut server = Server::start(&["--early-data"]);
    server.add("x", &noise(300_000));
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("sessions");
    let file = file.to_str().unwrap();
    get_early(&server, file, &[]);
    server.crash_and_restart();
    let report = get_early(&server, file, &[]);
    assert_eq!((&report["early_data"], &report["bytes"]), (&Value::from("rejected"), &Value::from(300_000)));
    // Its own tickets do not allow it, and resume.
    assert_eq!(get_early(&server, file, &[])["early_data"], "none");
}

#[test]
fn a_file_that_is_something_else_is_named() {
    let server = Server::start(&[]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("notes");
    fs::write(&file, "buy milk").unwrap();
    let url = server.url("/");
    let words = run_failing(server.get(&["--session-file", file.to_str().unwrap(), &url]), 23);
    assert!(words.contains("is no file of sessions"), "{words}");
}
