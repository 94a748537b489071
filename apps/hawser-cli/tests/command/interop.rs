//! What the command has for interoperability tests: versions, preferred addresses, HTTP/0.9.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::symlink;

use crate::support::*;

#[test]
fn files_go_over_http_0_9() {
    let server = Server::start(&["--hq"]);
    let names: Vec<String> = (0..200).map(|n| format!("file-{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        server.add(name, &noise(n * 500));
    }
    let folder = tempfile::tempdir().unwrap();
    let urls: Vec<String> = names.iter().map(|name| server.url(&format!("/{name}"))).collect();
    let mut arguments = vec!["--hq", "-q", "-O", "--output-dir", folder.path().to_str().unwrap()];
    arguments.extend(urls.iter().map(String::as_str));
    let output = run(server.get(&arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (n, name) in names.iter().enumerate() {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), noise(n * 500), "{name}");
    }
    // Without the option there is no common protocol.
    run_failing(server.get(&["-q", &urls[0]]), 35);
}

#[test]
fn http_0_9_serves_nothing_outside_the_folder() {
    let server = Server::start(&["--hq"]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    symlink(outside.path().join("secret"), server.folder.path().join("link")).unwrap();
    server.add(".hidden", b"hidden");
    for path in ["/none", "/link", "/../etc/passwd", "/%2e%2e/x", "/.hidden"] {
        let output = run(server.get(&["--hq", "-q", &server.url(path)]));
        assert_eq!(output.status.code(), Some(44), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "{path}");
    }
}

#[test]
fn versions_are_chosen_or_refused_in_words() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start_logging(log.path(), &["-v", "--quic-version", "2,1"]);
    server.add("file", b"content");
    assert_eq!(run(server.get(&["-q", &server.url("/file")])).stdout, b"content");
    assert!(fs::read_to_string(log.path()).unwrap().contains("version=2"), "moved by the server");

    let old = Server::start(&["--quic-version", "1"]);
    old.add("file", b"content");
    assert_eq!(run(old.get(&["-q", "--quic-version", "2,1", &old.url("/file")])).stdout, b"content");
    let words = run_failing(old.get(&["-q", "--quic-version", "2", &old.url("/file")]), 35);
    assert!(words.contains("none of our QUIC versions (2), but 1"), "{words}");
    let words = run_failing(old.get(&["--quic-version", "3", &old.url("/file")]), 2);
    assert!(words.contains("expected 1 or 2"), "{words}");
}

#[test]
fn clients_go_to_the_preferred_address() {
    let preferred = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(&["--preferred-address", &preferred.to_string()]);
    let content = noise(3_000_000);
    server.add("file", &content);
    let traces = tempfile::tempdir().unwrap();
    let output = run(server.get(&["-q", "--qlog", traces.path().to_str().unwrap(), &server.url("/file")]));
    assert_eq!(output.stdout, content);
    let trace = fs::read_dir(traces.path()).unwrap().next().unwrap().unwrap().path();
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains(&format!("\"port_v4\":{}", preferred.port())), "path 0 moved");
    run_failing(hawser(["serve", ".", "--preferred-address", "0.0.0.0:5"]), 2);
}
