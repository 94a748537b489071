//! `hawser qlog view`: from traces of a simulated drive to a page and the causes of gaps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{clean, hawser, run};

/// One link dies for a second while both carry data.
const SCENARIO: &str = r#"
version = 1
name = "gap"
duration = "3 s"
[transport]
congestion = "cubic"
scheduler = "minrtt"
[[link]]
name = "a0"
rate = "5 Mbit/s"
delay = "10 ms"
queue = "50 kB"
[[link]]
name = "b0"
rate = "5 Mbit/s"
delay = "20 ms"
queue = "50 kB"
outage = { every = "60 s", duration = "1 s", offset = "1500 ms" }
"#;

/// The traces of the client and of the server.
fn traces(folder: &Path) -> (PathBuf, PathBuf) {
    fs::write(folder.join("gap.toml"), SCENARIO).unwrap();
    let run = hawser(["sim", "run", "gap.toml", "--qlog", "traces"]).current_dir(folder).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let files = fs::read_dir(folder.join("traces")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    (files[0].clone(), files[1].clone())
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The exit code, what was printed, and what was said.
fn view(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = hawser(["qlog", "view"]).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn gaps_of_a_simulated_drive_have_causes_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let (client, server) = traces(folder.path());
    let (code, said, remarks) = view(
        folder.path(),
        &[client.to_str().unwrap(), "--json", "--out", "p.html", "--name", "10.1.0.2=b0"],
    );
    assert_eq!(code, 0, "{remarks}");
    let summary: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        summary["files"].as_array().unwrap().len(),
        2,
        "the other end is found by its name: {summary}"
    );
    assert_eq!(summary["receiver"], "client");
    let gaps = summary["gaps"].as_array().unwrap();
    let silent = gaps.iter().find(|gap| gap["cause"] == "path_silent").unwrap_or_else(|| panic!("{gaps:#?}"));
    assert!(silent["because"].as_str().unwrap().contains("path 1 (b0) fell silent"), "{silent}");
    assert!((1.4..1.8).contains(&silent["from_s"].as_f64().unwrap()), "{silent}");
    let page = fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(page.contains("path 1 (b0)") && !page.contains("https://"));

    // The sender alone knows losses, the receiver alone what came late.
    fs::rename(&server, folder.path().join("sender.sqlog")).unwrap();
    let (code, said, _) = view(folder.path(), &[client.to_str().unwrap(), "--json", "--out", "q.html"]);
    let alone: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &alone["paths"][0]["lost"]), (0, &Value::Null));
    assert!(alone["gaps"].as_array().unwrap().iter().any(|gap| gap["cause"] == "path_silent"), "{alone}");
    let (code, said, _) = view(folder.path(), &["sender.sqlog", "--at", "1.6"]);
    assert!(code == 0 && said.contains("fell silent") && said.contains("are acknowledged"), "{said}");
    assert!(!folder.path().join("sender.html").exists(), "an answer needs no page");
}

#[test]
fn files_that_are_cut_off_or_something_else_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (client, _) = traces(at);
    let whole = fs::read(&client).unwrap();
    fs::write(at.join("cut.sqlog"), &whole[..whole.len() / 2]).unwrap();
    let (code, said, remarks) = view(at, &["cut.sqlog"]);
    assert!(code == 0 && said.contains("MiB in order at the client"), "{said}{remarks}");
    assert!(remarks.contains("cut.sqlog: the file is cut off; it is read up to there"), "{remarks}");
    assert!(at.join("cut.html").is_file());
    fs::write(at.join("page.html"), "<html>").unwrap();
    for (file, wanted) in [
        ("page.html", "page.html: this is no qlog: it begins with \"<html>\""),
        ("none.sqlog", "cannot read none.sqlog"),
    ] {
        let (code, _, said) = view(at, &[file]);
        assert!(code != 0 && said.contains(wanted), "{said}");
    }
    let (code, _, said) = view(at, &["cut.sqlog", "--name", "wlan0"]);
    assert!(code == 2 && said.contains("expected ADDRESS=NAME"), "{said}");
}

#[test]
fn link_that_goes_down_is_the_cause_of_the_gap_that_a_fast_repair_ends() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["sim", "run", "link-dies", "--set", "duration=5 s", "--qlog", "traces"];
    let ended = hawser(arguments).current_dir(folder.path()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let traces = folder.path().join("traces");
    let client = traces.join(&names(&traces)[0]);
    let (code, said, remarks) = view(folder.path(), &[client.to_str().unwrap(), "--json", "--out", "p.html"]);
    assert_eq!(code, 0, "{remarks}");
    let summary: Value = serde_json::from_str(&said).unwrap();
    let gaps = summary["gaps"].as_array().unwrap();
    assert!(!gaps.is_empty(), "{summary}");
    assert!(gaps.iter().all(|gap| gap["cause"] == "path_silent"), "{gaps:#?}");
}

#[test]
fn traces_are_named_after_flow_and_links_and_those_of_an_earlier_run_stay() {
    let folder = tempfile::tempdir().unwrap();
    let flows = "[[flow]]\nname = \"film\"\nkind = \"bulk\"\n[[flow]]\nname = \"mail\"\nkind = \"bulk\"\nlinks = [\"b0\"]\n";
    fs::write(folder.path().join("two.toml"), format!("{SCENARIO}{flows}")).unwrap();
    let simulate = || {
        let arguments = ["sim", "run", "two.toml", "--set", "duration=1 s", "--qlog", "traces"];
        let ended = hawser(arguments).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success(), "{said}");
        said
    };
    assert!(!simulate().contains("earlier run"));
    let traces = folder.path().join("traces");
    let first = names(&traces);
    for (name, begin, end) in [
        (&first[0], "film_a0+b0_", "_client.sqlog"),
        (&first[1], "film_a0+b0_", "_server.sqlog"),
        (&first[2], "mail_b0_", "_client.sqlog"),
        (&first[3], "mail_b0_", "_server.sqlog"),
    ] {
        assert!(name.starts_with(begin) && name.ends_with(end), "{first:?}");
    }
    let bytes = |name: &String| fs::read(traces.join(name)).unwrap();
    let before: Vec<_> = first.iter().map(bytes).collect();
    let said = simulate();
    assert!(said.contains("traces of an earlier run") && said.contains(".2.sqlog"), "{said}");
    assert_eq!(first.iter().map(bytes).collect::<Vec<_>>(), before);
    let all = names(&traces);
    assert_eq!(all.len(), 8, "{all:?}");
    // The other end of the second run is found by its name, too.
    let second = all.iter().find(|name| name.ends_with("_client.2.sqlog")).unwrap();
    let (_, said, _) =
        view(folder.path(), &[traces.join(second).to_str().unwrap(), "--json", "--out", "p.html"]);
    let summary: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(summary["files"].as_array().unwrap().len(), 2, "{summary}");
    // Two connections make no page.
    let clients: Vec<String> =
        [&first[0], &first[2]].map(|name| traces.join(name).display().to_string()).into();
    let (code, _, said) = view(folder.path(), &[&clients[0], &clients[1], "--out", "q.html"]);
    assert!(code == 2 && said.contains("traces of two connections"), "{said}");
    assert!(!folder.path().join("q.html").exists());
    let (code, _, said) = view(folder.path(), &[&clients[0], &clients[0], "--out", "q.html"]);
    assert!(code == 2 && said.contains("of the same end"), "{said}");
}

/// A server and a client in a network namespace, between addresses that are not those of loopback; skipped where that is not allowed.
#[test]
fn addresses_are_in_traces_only_where_they_are_asked_for() {
    let allowed = Command::new("unshare").args(["-n", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no network namespaces here");
        return;
    }
    let script = r#"
        ip link set lo up && ip addr add 10.9.0.1/32 dev lo && ip addr add 10.9.0.2/32 dev lo || exit 1
        "$0" serve "$1" --json -q --state "$1/state" --listen 10.9.0.1:0 --qlog "$1/qlog" $2 > "$1/hello" &
        server=$!
        until test -s "$1/hello"; do sleep 0.05; done
        port=$(sed 's/.*"port":\([0-9]*\).*/\1/' "$1/hello"); pin=$(sed 's/.*"pin":"\([^"]*\)".*/\1/' "$1/hello")
        "$0" get -q --path 10.9.0.2 --pin "$pin" --qlog "$1/qlog" $2 -o "$1/got" "https://10.9.0.1:$port/x"
        code=$?
        kill "$server"; wait "$server"; exit "$code"
    "#;
    for option in ["", "--qlog-addresses"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), b"content").unwrap();
        let mut command = clean(Command::new("unshare"));
        command.args(["-n", "sh", "-c", script, env!("CARGO_BIN_EXE_hawser")]).arg(folder.path()).arg(option);
        let output = run(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let traces = folder.path().join("qlog");
        assert_eq!(names(&traces).len(), 2);
        for name in names(&traces) {
            let text = fs::read_to_string(traces.join(name)).unwrap();
            assert_eq!(text.contains("10.9.0."), !option.is_empty(), "{text}");
            assert_eq!(text.contains(r#""ip_v4":"192.0.2.1""#), option.is_empty(), "{text}");
        }
    }
}
