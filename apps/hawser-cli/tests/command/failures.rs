//! Each kind of failure has its exit code and says what is wrong.

use std::fs;
use std::net::UdpSocket;

use serde_json::Value;

use crate::support::*;

#[test]
fn who_cannot_be_reached() {
    let unused = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let words = run_failing(hawser(["get", "--insecure", &format!("https://{unused}/x")]), 7);
    assert!(words.contains("no server listens"), "{words}");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/x", silent.local_addr().unwrap());
    let words = run_failing(hawser(["get", "--insecure", "--connect-timeout", "0.5", &url]), 28);
    assert!(words.contains("did not answer"), "{words}");
    let words = run_failing(hawser(["get", "--insecure", "https://no-such-host.invalid/x"]), 6);
    assert!(words.contains("no-such-host.invalid"), "{words}");
    let words = run_failing(hawser(["get", "--insecure", "--path", "nolink0", "https://192.0.2.1/x"]), 7);
    assert!(words.contains("nolink0"), "{words}");
}

#[test]
fn who_cannot_be_trusted() {
    let server = Server::start(&[]);
    server.add("x", b"x");
    let url = server.url("/x");
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let words = run_failing(hawser(["get", "--pin", other, &url]), 90);
    assert!(words.contains(&server.pin) && words.contains(other), "{words}");
    let strange = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
    let here = tempfile::tempdir().unwrap();
    let authority = here.path().join("ca.pem");
    fs::write(&authority, strange.cert.pem()).unwrap();
    let words = run_failing(hawser(["get", "--ca", authority.to_str().unwrap(), &url]), 60);
    assert!(words.contains(&server.pin), "{words}");
}

#[test]
fn an_expired_certificate() {
    let here = tempfile::tempdir().unwrap();
    let mut parameters =
        rcgen::CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let (cert_file, key_file) = (here.path().join("c.pem"), here.path().join("k.pem"));
    fs::write(&cert_file, certificate.pem()).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    let (cert, key) = (cert_file.to_str().unwrap(), key_file.to_str().unwrap());
    let server = Server::start(&["--cert", cert, "--key", key]);
    let words = run_failing(hawser(["get", "--ca", cert, &server.url("/")]), 61);
    assert!(words.contains("expired"), "{words}");
}

#[test]
fn files_that_cannot_be_written() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let url = server.url("/x");
    let words = run_failing(server.get(&["-o", "/does/not/exist/x", &url]), 23);
    assert!(words.contains("/does/not/exist/x"), "{words}");
    run_failing(server.get(&["-o", "/tmp", &url]), 23);
    let words = run_failing(server.get(&["-o", "/dev/full", &url]), 24);
    assert!(words.contains("No space left"), "{words}");
}

#[test]
fn a_server_that_dies_leaves_a_part_that_can_be_gone_on_with() {
    let server = Server::start(&[]);
    server.add("x", &noise(8 << 20));
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("x");
    let mut command = server.get(&["--limit-rate", "1M", "-o", target.to_str().unwrap(), &server.url("/x")]);
    let client = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_bytes(&here.path().join("x.part"), 1 << 18);
    server.stop();
    let output = client.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(18), "{words}");
    assert!(words.contains("-C -"), "{words}");
    assert!(here.path().join("x.part").exists());
}

/// The lines of a text that are JSON.
fn json_lines(text: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(text).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn programs_are_told_what_failed() {
    let server = Server::start(&[]);
    server.add("x", b"x");
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().to_str().unwrap();
    let urls = [server.url("/none"), server.url("/x"), server.url("/nope")];
    let output = run(server.get(&["--json", "-O", "--output-dir", folder, &urls[0], &urls[1], &urls[2]]));
    assert_eq!(output.status.code(), Some(44));
    let lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), 3, "one line for each file: {lines:?}");
    let of = |url: &String| lines.iter().find(|line| line["url"] == *url).unwrap();
    for url in [&urls[0], &urls[2]] {
        let error = &of(url)["error"];
        assert_eq!((&error["exit_code"], &error["kind"]), (&44.into(), &"not_found".into()));
        assert!(error["message"].as_str().unwrap().contains("no such file"), "{lines:?}");
    }
    assert_eq!(of(&urls[1])["verified"], true);
    // The file's place is not touched.
    let output = run(server.get(&["--json", &urls[0]]));
    assert!(output.stdout.is_empty());
    assert_eq!(json_lines(&output.stderr)[0]["error"]["exit_code"], 44);
    let output = run(hawser(["put", "--json", "/does/not/exist", "https://127.0.0.1:1/"]));
    assert_eq!(json_lines(&output.stdout)[0]["error"]["kind"], "not_read");
    let output = run(hawser(["get", "--json", "--no-such-flag"]));
    assert_eq!(json_lines(&output.stdout)[0]["error"]["exit_code"], 2);
}

#[test]
fn where_nobody_can_listen() {
    let server = Server::start(&[]);
    let taken = format!("127.0.0.1:{}", server.port);
    let folder = server.folder.path().to_str().unwrap();
    let state = tempfile::tempdir().unwrap();
    let state = state.path().to_str().unwrap();
    let words = run_failing(hawser(["serve", folder, "--state", state, "--listen", &taken]), 91);
    assert!(words.contains(&taken) && words.contains("another program"), "{words}");
    run_failing(hawser(["perf", "server", "--state", state, "--listen", "192.0.2.200:1"]), 91);
    let words = run_failing(hawser(["serve", folder, "--listen", "4433"]), 2);
    assert!(words.contains("ADDRESS:PORT"), "{words}");
}

#[test]
fn wrong_command_lines() {
    let words = run_failing(hawser(["get", "--insecure", "--scheduler", "best", "https://127.0.0.1:1/x"]), 2);
    assert!(words.contains("minrtt") && words.contains("roundrobin"), "{words}");
    let words =
        run_failing(hawser(["get", "--insecure", "--congestion", "vegas9", "https://127.0.0.1:1/x"]), 2);
    assert!(words.contains("cubic") && words.contains("olia"), "{words}");
    let words = run_failing(hawser(["get", "--insecure", "example.org/x"]), 3);
    assert!(words.contains("https://"), "{words}");
    let words = run_failing(hawser(["get", "--pin", "abc", "https://127.0.0.1:1/x"]), 2);
    assert!(words.contains("44 characters"), "{words}");
    run_failing(hawser(["get", "--insecure", "-O", "https://127.0.0.1:1/"]), 2);
    let help = run(hawser(["help"]));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.contains("Exit codes") && help.contains("90"), "{help}");
}

#[test]
fn a_wrong_scenario_is_named_by_field() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("bad.toml");
    fs::write(&file, "version = 1\n[[link]]\nname = \"a\"\nrate = \"fast\"\n").unwrap();
    let words = run_failing(hawser(["scenario", "check", file.to_str().unwrap()]), 78);
    assert!(words.contains("rate") && words.contains('4'), "{words}");
    let set = [
        "scenario",
        "check",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/two-equal.toml"),
        "--set",
    ];
    let words = run_failing(hawser(set.iter().copied().chain(["link.c0.rate=1 Mbit/s"])), 78);
    assert!(words.contains("--set link.c0.rate=1 Mbit/s") && words.contains("there are: a0, b0"), "{words}");
    run_failing(hawser(["scenario", "check", "/does/not/exist"]), 26);
}

#[test]
fn a_result_that_is_lost_is_no_success() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("scenario.toml");
    fs::write(&file, "version = 1\nduration = \"1 s\"\n[[link]]\nname = \"a0\"\nrate = \"1 Mbit/s\"\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let lines: [&[&str]; 4] =
        [&["sim", "run", file], &["sim", "run", file, "--json"], &["scenario", "check", file], &["--help"]];
    for line in lines {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = hawser(line.iter().copied()).stdout(full).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(24), "{line:?}: {words}");
        assert!(words.contains("cannot write standard output"), "{line:?}: {words}");
        // A reader that has gone wants nothing more.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = hawser(line.iter().copied()).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{line:?}");
    }
}

#[test]
fn tunnel_check_and_config_check_judge_a_file_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tunnel.toml");
    let file = file.to_str().unwrap();
    for (line, is_good) in [
        ("status-http = '127.0.0.1:9000'", true),
        ("status-http = 'nonsense'", false),
        ("status-htp = '127.0.0.1:9000'", false),
    ] {
        std::fs::write(file, format!("gateway = '127.0.0.1:4499'\n{line}\n")).unwrap();
        let code = |arguments: &[&str]| run(hawser(arguments.iter().copied())).status.code();
        let checks: [&[&str]; 3] = [
            &["config", "check", "tunnel", "--file", file],
            &["config", "check", "tunnel", "check", "--file", file],
            &["tunnel", "check", "--config", file],
        ];
        let refused = checks.map(|arguments| code(arguments) == Some(2));
        assert_eq!(refused, [!is_good; 3], "{line}");
    }
}

#[test]
fn misspelled_scenario_is_compared_with_the_built_in_ones() {
    for arguments in [
        &["sim", "run", "wifi-lt"][..],
        &["scenario", "check", "wifi-lt"],
        &["emu", "run", "wifi-lt", "--", "true"],
        &["lab", "guarantee", "wifi-lt"],
        &["lab", "agree", "wifi-lt.toml"],
    ] {
        let words = run_failing(hawser(arguments.iter().copied()), 26);
        assert!(words.contains("did you mean \"wifi-lte\"?"), "{arguments:?}: {words}");
    }
    let words = run_failing(hawser(["sim", "run", "folder/wifi-lt.toml"]), 26);
    assert!(!words.contains("built-in"), "{words}");
}

#[test]
fn folder_of_scenarios_that_is_not_there_has_one_code() {
    let nowhere = tempfile::tempdir().unwrap();
    for arguments in [
        &["lab", "verify", "seam"][..],
        &["lab", "verify", "--all"],
        &["lab", "figure", "seam.x"],
        &["lab", "guarantee"],
        &["lab", "matrix", "controllers"],
        &["lab", "matrix", "schedulers"],
        &["lab", "prelearn", "model"],
        &["lab", "units", "units", "--environments", "1"],
        &["lab", "guarantee", "--recorded", "scenarios"],
    ] {
        let mut command = hawser(arguments.iter().copied());
        command.current_dir(nowhere.path());
        let words = run_failing(command, 26);
        assert!(words.contains("there is no folder scenarios"), "{arguments:?}: {words}");
    }
    let mut command = hawser(["lab", "verify", "seam", "--as", "nope"]);
    command.current_dir(nowhere.path());
    let words = run_failing(command, 2);
    assert!(!words.contains("scenarios"), "{words}");
}

#[test]
fn port_behind_a_host_is_refused_where_it_is_an_option_of_its_own() {
    for arguments in [
        &["perf", "client", "127.0.0.1:5201", "--insecure"][..],
        &["measure", "client", "127.0.0.1:5202", "--insecure"],
    ] {
        let words = run_failing(hawser(arguments.iter().copied()), 2);
        assert!(words.contains("127.0.0.1 --port 520"), "{words}");
    }
}
