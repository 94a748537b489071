use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::*;

#[test]
fn a_file_arrives_checked_over_two_paths() {
    let server = Server::start(&[]);
    let content = noise(20 << 20);
    server.add("big file.bin", &content);
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let target_text = target.to_str().unwrap();
    let url = server.url("/big file.bin");
    let report = run_json(server.get(&[
        "-o",
        target_text,
        &url,
        "--path",
        "127.0.0.1",
        "--path",
        "127.0.0.2",
        "--bins",
    ]));
    assert!(fs::read(&target).unwrap() == content);
    assert_eq!(report["bytes"], content.len());
    assert_eq!(report["verified"], true);
    assert_eq!(report["status"], 200);
    assert_eq!(report["sha256"].as_str().unwrap().len(), 64);
    let bins = report["bins"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>(), content.len() as u64);
    let paths = report["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths.iter().all(|path| path["bytes_received"].as_u64().unwrap() > 0), "{paths:?}");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 1, "no part is left");
}

/// On loopback the second path is open within a millisecond, before or after the command looks for the first time.
#[test]
fn every_path_that_opens_is_told() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let url = server.url("/x");
    for _ in 0..5 {
        let links = ["--path", "127.0.0.1", "--path", "127.0.0.2"];
        let output =
            run(server.get(&[&["-v", "--limit-rate", "4M", "-o", "/dev/null", &url], &links[..]].concat()));
        let words = String::from_utf8_lossy(&output.stderr);
        let lines = words.lines().filter(|line| line.contains("path 1 (") && line.ends_with("is open"));
        assert_eq!(lines.count(), 1, "{words}");
    }
}

#[test]
fn a_backup_among_all_links() {
    let server = Server::start(&[]);
    server.add("x", &noise(8 << 20));
    let url = server.url("/x");
    let report = run_json(server.get(&["-o", "/dev/null", &url, "--backup", "127.0.0.2"]));
    let paths = report["paths"].as_array().unwrap();
    assert_eq!((&paths[0]["interface"], &paths[0]["backup"]), (&"lo".into(), &false.into()), "{paths:?}");
    for other in &paths[1..] {
        assert_eq!((&other["interface"], &other["backup"]), (&"127.0.0.2".into(), &true.into()));
    }
}

/// Lines about links are read while the file comes; one that is wrong costs nothing but a warning.
#[test]
fn link_states_are_read_and_a_wrong_line_is_told() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let here = tempfile::tempdir().unwrap();
    let links = here.path().join("links.jsonl");
    fs::write(&links, "{\"link\":\"127.0.0.1\",\"uplink\":{\"bps\":5e6}}\n{\"link\":\"lo\",\"rssi\":-80}\n")
        .unwrap();
    let url = server.url("/x");
    let state = ["--path", "127.0.0.1", "--link-state", links.to_str().unwrap()];
    let output =
        run(server.get(&[&["-q", "--limit-rate", "2M", "-o", "/dev/null", &url], &state[..]].concat()));
    assert!(output.status.success(), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = words.lines().filter(|line| line.contains("links.jsonl")).collect();
    assert_eq!(lines.len(), 1, "{words}");
    assert!(lines[0].contains("line 2: unknown field `rssi`"), "{words}");
}

#[test]
fn names_come_from_the_urls_and_standard_output_is_the_default() {
    let server = Server::start(&[]);
    server.add("a.txt", b"first");
    server.add("b.txt", b"");
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("new");
    let (a, b) = (server.url("/a.txt"), server.url("/b.txt"));
    let output = run(server.get(&["-q", "-O", "--output-dir", folder.to_str().unwrap(), &a, &b]));
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "quiet is quiet: {output:?}");
    assert_eq!(fs::read(folder.join("a.txt")).unwrap(), b"first");
    assert_eq!(fs::read(folder.join("b.txt")).unwrap(), b"");
    let output = run(server.get(&["-q", &a]));
    assert_eq!(output.stdout, b"first");
}

#[test]
fn a_killed_transfer_goes_on_where_it_stopped() {
    let server = Server::start(&[]);
    let content = noise(8 << 20);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let (target, part) = (here.path().join("x"), here.path().join("x.part"));
    let (target_text, url) = (target.to_str().unwrap(), server.url("/x"));
    let mut first = server.get(&["-q", "--limit-rate", "4M", "-o", target_text, &url]).spawn().unwrap();
    wait_for_bytes(&part, 1 << 20);
    first.kill().unwrap();
    assert_eq!(first.wait().unwrap().signal(), Some(9));
    assert!(!target.exists());
    let report = run_json(server.get(&["-C", "-", "-o", target_text, &url]));
    let resumed = report["resumed_from"].as_u64().unwrap();
    assert!(resumed >= 1 << 20, "{report}");
    assert_eq!(report["bytes"].as_u64().unwrap(), content.len() as u64 - resumed);
    assert_eq!((&report["status"], &report["verified"]), (&206.into(), &true.into()));
    assert!(fs::read(&target).unwrap() == content);
    // Once more: there is nothing left to do, and that is said.
    let report = run_json(server.get(&["-C", "-", "-o", target_text, &url]));
    assert_eq!(report["bytes"], 0);
}

/// The new server tells the client that its connection is gone (RFC 9000 section 10.3): waiting for its idle time-out
/// would take longer than the patience of `run_json`.
#[test]
fn a_restarted_server_is_noticed_at_once() {
    let mut server = Server::start(&[]);
    server.crash_and_restart();
    let content = noise(8 << 20);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let (target, part) = (here.path().join("x"), here.path().join("x.part"));
    let url = server.url("/x");
    let command = server.get(&["--retry", "3", "--limit-rate", "4M", "-o", target.to_str().unwrap(), &url]);
    let client = std::thread::spawn(move || run_json(command));
    wait_for_bytes(&part, 1 << 20);
    server.crash_and_restart();
    let report = client.join().unwrap();
    assert_eq!((&report["retries"], &report["verified"]), (&1.into(), &true.into()), "{report}");
    assert!(report["resumed_from"].as_u64().unwrap() >= 1 << 20, "{report}");
    assert!(fs::read(&target).unwrap() == content);
}

#[test]
fn control_c_keeps_what_came_and_says_how_to_go_on() {
    let server = Server::start(&[]);
    server.add("x", &noise(8 << 20));
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let mut command = server.get(&["--limit-rate", "1M", "-o", target.to_str().unwrap(), &server.url("/x")]);
    let process = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_bytes(&here.path().join("x.part"), 1 << 18);
    kill(Pid::from_raw(i32::try_from(process.id()).unwrap()), Signal::SIGINT).unwrap();
    let output = process.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{words}");
    assert!(words.contains("x.part") && words.contains("-C -"), "{words}");
}

#[test]
fn a_file_that_changed_meanwhile_is_got_anew() {
    let server = Server::start(&[]);
    let here = tempfile::tempdir().unwrap();
    let (target, part) = (here.path().join("x"), here.path().join("x.part"));
    server.add("x", &noise(4 << 20));
    let url = server.url("/x");
    let mut first =
        server.get(&["-q", "--limit-rate", "1M", "-o", target.to_str().unwrap(), &url]).spawn().unwrap();
    wait_for_bytes(&part, 1 << 18);
    first.kill().unwrap();
    first.wait().unwrap();
    let content = noise(3 << 20).into_iter().rev().collect::<Vec<_>>();
    server.add("x", &content);
    let report = run_json(server.get(&["-C", "-", "-o", target.to_str().unwrap(), &url]));
    assert_eq!(report["resumed_from"], 0, "If-Range keeps two versions apart");
    assert!(fs::read(&target).unwrap() == content);
}

#[test]
fn a_wrong_beginning_is_found_out() {
    let server = Server::start(&[]);
    let content = noise(1 << 20);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    fs::write(here.path().join("x.part"), vec![0; 1000]).unwrap();
    let url = server.url("/x");
    let words = run_failing(server.get(&["-C", "-", "-o", target.to_str().unwrap(), &url]), 65);
    assert!(words.contains("SHA-256"), "{words}");
    assert!(words.contains("is no beginning of this file"), "{words}");
    assert!(!target.exists(), "rubbish is not kept");
    assert_eq!(fs::read(here.path().join("x.part")).unwrap(), [0; 1000], "what another program made is");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 1);
}

#[test]
fn several_parts_at_a_time() {
    let server = Server::start(&[]);
    let content = noise((18 << 20) + 123);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let url = server.url("/x");
    let report = run_json(server.get(&["--parallel", "3", "-o", target.to_str().unwrap(), &url]));
    assert_eq!((&report["bytes"], &report["verified"]), (&content.len().into(), &true.into()));
    assert!(fs::read(&target).unwrap() == content);
}

#[test]
fn the_rate_is_limited() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let started = Instant::now();
    let report = run_json(server.get(&["--limit-rate", "512k", "-o", "/dev/null", &server.url("/x")]));
    let took = started.elapsed();
    assert!((Duration::from_millis(1_600)..Duration::from_secs(6)).contains(&took), "{took:?}");
    assert!(report["goodput_bps"].as_f64().unwrap() < 5.5e6, "{report}");
}

#[test]
fn secrets_and_traces_are_written_where_asked() {
    let server = Server::start(&[]);
    server.add("x", b"x");
    let here = tempfile::tempdir().unwrap();
    let (keys, traces) = (here.path().join("keys"), here.path().join("traces"));
    let url = server.url("/x");
    let arguments = ["--keylog", keys.to_str().unwrap(), "--qlog", traces.to_str().unwrap(), &url];
    assert!(run(server.get(&arguments)).status.success());
    assert!(fs::read_to_string(&keys).unwrap().contains("CLIENT_TRAFFIC_SECRET_0 "));
    assert_eq!(fs::read_dir(&traces).unwrap().count(), 1);
}

/// Logs are shown to others; what was transferred, and the keys to a recording of it, are not for them.
#[test]
fn logs_hold_neither_secrets_nor_content() {
    const CONTENT: &str = "nobody-else-is-to-read-this";
    let here = tempfile::tempdir().unwrap();
    let [log, keys, file] = ["log", "keys", "file"].map(|name| here.path().join(name));
    for level in ["-vv", "-vvv"] {
        let server = Server::start_logging(&log, &[level, "--allow-put"]);
        let content = server.add("x", CONTENT.as_bytes());
        let get = |more: &[&str]| {
            let url = server.url("/x");
            let output = run(server.get(&[more, &[level, "-o", file.to_str().unwrap(), &url]].concat()));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(fs::read(&file).unwrap(), CONTENT.as_bytes());
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        let put = run(server.put(&[level, content.to_str().unwrap(), &server.url("/y")]));
        assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
        let logged = [
            ("DEBUG", get(&[])),
            ("DEBUG", get(&["--keylog", keys.to_str().unwrap()])),
            ("DEBUG", String::from_utf8_lossy(&put.stderr).into_owned()),
            (" GET /x ", fs::read_to_string(&log).unwrap()),
        ];
        // What must not be there: the content as text and in hexadecimal digits, labels of secrets, and those of this client.
        let secrets = fs::read_to_string(&keys).unwrap();
        let secrets = secrets.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned());
        let hidden = [CONTENT.to_owned(), hex(CONTENT), "TRAFFIC_SECRET".to_owned()];
        let hidden: Vec<_> = hidden.into_iter().chain(secrets).collect();
        assert!(hidden.len() >= 3 + 4, "secrets of the handshake and of what follows, in both directions");
        for (detail, text) in logged {
            assert!(text.contains(detail), "{detail} is in a detailed log: {text}");
            let found = hidden.iter().find(|hidden| text.contains(*hidden));
            assert_eq!(found, None, "{level}: {text}");
        }
    }
}

/// Keys, whose digests and codes are as good, are in no log and no trace of either end, and on no page.
#[test]
fn logs_and_traces_hold_no_keys() {
    const KEY: &str = "a-key-of-someone-who-uploads";
    let here = tempfile::tempdir().unwrap();
    let (log, traces) = (here.path().join("log"), here.path().join("traces"));
    let (keys, traces_of) = (here.path().join("keys"), traces.to_str().unwrap().to_owned());
    fs::write(&keys, KEY).unwrap();
    fs::create_dir(&traces).unwrap();
    let more = ["-vvv", "--allow-put", "--put-key", keys.to_str().unwrap(), "--qlog", &traces_of];
    let server = Server::start_logging(&log, &more);
    let content = server.add("x", b"content");
    let put = |key: &str, path: &str| {
        let mut command = server.put(&["-vvv", "--qlog", &traces_of, content.to_str().unwrap()]);
        run({
            command.arg(server.url(path)).env("HAWSER_KEY", key);
            command
        })
    };
    let outputs = [put(KEY, "/y"), put("another-key-that-is-wrong", "/z")];
    assert_eq!(outputs.each_ref().map(|output| output.status.success()), [true, false]);
    server.stop();
    let mut texts = vec![fs::read_to_string(&log).unwrap()];
    texts.extend(outputs.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()));
    let written = fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().path());
    texts.extend(written.map(|path| fs::read_to_string(path).unwrap()));
    assert!(texts.len() >= 1 + 2 + 4, "traces of both ends: {}", texts.len());
    assert!(texts.iter().any(|text| text.contains("401")), "{texts:?}");
    let secret = [KEY, "another-key-that-is-wrong"];
    for text in &texts {
        assert_eq!(key_in(text, &secret), None, "{text}");
    }
}

/// What can not be read again is not written in parts.
#[test]
fn parts_of_a_file_are_not_for_devices() {
    let server = Server::start(&[]);
    server.add("file", &noise(9 << 20));
    let url = server.url("/file");
    let report = run_json(server.get(&["--parallel", "3", "-o", "/dev/null", &url]));
    assert_eq!((&report["bytes"], &report["verified"]), (&(9_u64 << 20).into(), &true.into()));
}

/// Paths are those of the connection, but bytes are those of the file, where nothing else comes at the same time.
#[test]
fn each_of_several_files_has_its_own_byte_counts() {
    let server = Server::start(&[]);
    server.add("large", &noise(4 << 20));
    server.add("small", b"content");
    let here = tempfile::tempdir().unwrap();
    let mut command =
        server.get(&["-O", "--parallel-files", "1", "--json", "--path", "127.0.0.1", "--output-dir"]);
    command.arg(here.path()).args([server.url("/large"), server.url("/small")]);
    let output = run(command);
    let reports: Vec<serde_json::Value> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().map(Result::unwrap).collect();
    let bytes = |report: &serde_json::Value| report["paths"][0]["bytes_received"].as_u64().unwrap();
    assert!(bytes(&reports[0]) > 4 << 20, "{}", reports[0]);
    assert!(bytes(&reports[1]) < 1 << 20, "{}", reports[1]);
}

#[test]
fn a_part_that_is_of_no_use_is_said_so() {
    let server = Server::start(&[]);
    let file = server.add("x", &noise(1 << 20));
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let part = here.path().join("x.part");
    for parallel in [&[][..], &["--parallel", "3"]] {
        std::fs::write(&part, b"of an older version").unwrap();
        std::fs::write(here.path().join("x.part.json"), br#"{"etag":"\"old\"","last_modified":null}"#)
            .unwrap();
        let mut command = server.get(&["-C", "-", "-o", target.to_str().unwrap(), &server.url("/x")]);
        command.args(parallel);
        let output = run(command);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && words.contains("are not used"), "{words}");
        assert!(std::fs::read(&target).unwrap() == std::fs::read(&file).unwrap());
        std::fs::remove_file(&target).unwrap();
    }
}

/// SIGTERM: what is under way is finished, new clients are refused at once, and then the server ends.
//= rfc9114-3.3-6, rfc9114-5.2-4
#[test]
fn a_server_that_is_to_end_finishes_what_it_began() {
    let server = Server::start(&["--grace", "3600"]);
    let content = noise(6 << 20);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let url = server.url("/x");
    let mut slow =
        server.get(&["-q", "--limit-rate", "2M", "-o", target.to_str().unwrap(), &url]).spawn().unwrap();
    wait_for_bytes(&here.path().join("x.part"), 1 << 18);
    server.signal(Signal::SIGTERM);
    wait_until("new clients are refused", || {
        let output = run(server.get(&[&url]));
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("refused")
    });
    assert!(slow.wait().unwrap().success());
    assert!(fs::read(&target).unwrap() == content);
    server.wait();
}

/// A client that only receives notices it, too, and need not wait for the idle timeout to hear of it.
#[test]
fn a_silent_server_is_told_at_once_and_given_up() {
    let server = Server::start(&[]);
    server.add_sparse("x", 1 << 30);
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let mut command = server.get(&["--timeout", "5", "--limit-rate", "4M", "-o", target.to_str().unwrap()]);
    let process = command.arg(server.url("/x")).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_bytes(&here.path().join("x.part"), 1 << 20);
    server.signal(Signal::SIGSTOP);
    let output = process.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(18), "{words}");
    assert!(
        words.contains("nothing was heard from the server") && words.contains("after 5 s (--timeout)"),
        "{words}"
    );
    assert!(words.contains("are kept in"), "{words}");
}

#[test]
fn each_server_keeps_its_connection_while_it_is_asked_for_more() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let here = tempfile::tempdir().unwrap();
    let mut command =
        hawser(["get", "--insecure", "-q", "-O", "--json", "--path", "127.0.0.1", "--output-dir"]);
    command.arg(here.path());
    for (name, server) in [("a", &servers[0]), ("b", &servers[1]), ("c", &servers[0]), ("d", &servers[1])] {
        server.add(name, b"content");
        command.arg(server.url(&format!("/{name}")));
    }
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: Vec<serde_json::Value> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().map(Result::unwrap).collect();
    let local = |name: &str| {
        let is_it = |report: &&serde_json::Value| report["url"].as_str().unwrap().ends_with(name);
        reports.iter().find(is_it).unwrap()["paths"][0]["local"].as_str().unwrap().to_owned()
    };
    assert_eq!((local("/a"), local("/b")), (local("/c"), local("/d")));
    assert_ne!(local("/a"), local("/b"));
}

#[test]
fn token_keys_are_reloaded_on_sighup() {
    let here = tempfile::tempdir().unwrap();
    let (keys, log) = (here.path().join("keys"), here.path().join("log"));
    fs::write(&keys, "01".repeat(32)).unwrap();
    let server = Server::start_logging(&log, &["--token-keys", keys.to_str().unwrap()]);
    server.add("x", b"content");
    for (text, answer) in [
        (format!("{}\n{}\n", "02".repeat(32), "01".repeat(32)), "were reloaded"),
        ("no key\n".to_owned(), "stay as they were"),
    ] {
        fs::write(&keys, text).unwrap();
        server.signal(Signal::SIGHUP);
        wait_until(answer, || fs::read_to_string(&log).unwrap().contains(answer));
        assert_eq!(run(server.get(&[&server.url("/x")])).stdout, b"content");
    }
    assert!(fs::read_to_string(&log).unwrap().contains("line 1"));
}

/// Another certificate is put in the place of the one before while the server runs; one that is broken changes nothing.
#[test]
fn a_certificate_is_reloaded_on_sighup_and_the_process_goes_on() {
    let here = tempfile::tempdir().unwrap();
    let log = here.path().join("log");
    let server = Server::start_logging(&log, &[]);
    server.add("x", b"content");
    let pin = || {
        let output = run(hawser(["pin", "--state", server.state().to_str().unwrap()]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let fetch = |pin: &str| {
        let mut command = hawser(["get", "-q", "--pin", pin]);
        command.arg(server.url("/x"));
        run(command)
    };
    let first = pin();
    assert_eq!(fetch(&first).stdout, b"content");
    // The server makes itself another one where its own is missing.
    fs::remove_file(server.state().join("key.pem")).unwrap();
    server.signal(Signal::SIGHUP);
    wait_until("it stays", || fs::read_to_string(&log).unwrap().contains("stay as they were"));
    assert_eq!(fetch(&first).stdout, b"content");
    fs::remove_file(server.state().join("certificate.pem")).unwrap();
    server.signal(Signal::SIGHUP);
    wait_until("it is reloaded", || fs::read_to_string(&log).unwrap().contains("were reloaded"));
    let second = pin();
    assert_ne!(first, second);
    assert_eq!(fetch(&second).stdout, b"content");
    assert_eq!(fetch(&first).status.code(), Some(90));
    let nowhere = here.path().join("nowhere");
    let words = run_failing(hawser(["pin", "--state", nowhere.to_str().unwrap()]), 26);
    assert!(words.contains("hawser serve"), "{words}");
}
