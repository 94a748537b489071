//! `--cap` over real sockets: what goes over a capped address, what is said of it, and how a command ends without a budget.
//!
//! On loopback a round trip takes a tenth of a millisecond, and a window may be as large as what a receiver grants: bounds are
//! wider here than in the simulator.

use std::fs;

use serde_json::Value;

use crate::support::*;

/// What may be on its way on loopback when a budget is used up.
const IN_FLIGHT: u64 = 2_000_000;

fn cap_of<'a>(report: &'a Value, link: &str) -> &'a Value {
    let caps = report["caps"].as_array().unwrap();
    caps.iter().find(|cap| cap["link"] == link).unwrap_or_else(|| panic!("{caps:?}"))
}

/// Bytes over this address, UDP payload of both directions.
fn payload(report: &Value, address: &str) -> u64 {
    let paths = report["paths"].as_array().unwrap().iter().filter(|path| path["interface"] == address);
    paths.map(|path| path["bytes_sent"].as_u64().unwrap() + path["bytes_received"].as_u64().unwrap()).sum()
}

const TWO: [&str; 4] = ["--path", "127.0.0.1", "--path", "127.0.0.2"];
/// Both links get their share, whichever is faster.
const EVENLY: [&str; 2] = ["--scheduler", "roundrobin"];

#[test]
fn a_capped_link_carries_its_budget_both_ways_and_rests() {
    let server = Server::start(&["--allow-put", EVENLY[0], EVENLY[1]]);
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("y");
    fs::write(&file, noise(48 << 20)).unwrap();
    server.add("x", &noise(48 << 20));
    let (down, up, out) = (server.url("/x"), server.url("/y"), here.path().join("out"));
    let cap = ["--cap", "127.0.0.2=4MB/1h"];
    let get = [&["-o", out.to_str().unwrap(), &down], &TWO[..], &cap[..]].concat();
    let put = [&[file.to_str().unwrap(), &up], &TWO[..], &EVENLY[..], &cap[..]].concat();
    for mut command in [server.get(&get), server.put(&put)] {
        command.arg("--json");
        let output = run(command);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        assert_eq!(words.matches("127.0.0.2: the cap of 4MB/1h is reached").count(), 1, "{words}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cap = cap_of(&report, "127.0.0.2");
        let (used, payload) = (cap["used_bytes"].as_u64().unwrap(), payload(&report, "127.0.0.2"));
        println!("used {used}, payload {payload}");
        assert!((2_500_000..4_000_000 + IN_FLIGHT).contains(&used), "{cap}");
        // Headers are counted as well: 28 bytes for each datagram.
        assert!(used > payload && used < payload * 11 / 10, "{used}, {payload}");
        assert_eq!((&cap["cap_bytes"], &cap["period_seconds"]), (&4_000_000.into(), &3_600.into()));
        assert_eq!(cap["resting"], true);
    }
    assert!(fs::read(out).unwrap() == noise(48 << 20), "the other link brought the rest");
}

#[test]
fn a_link_returns_with_its_next_period() {
    let server = Server::start(&EVENLY);
    server.add("x", &noise(24 << 20));
    let url = server.url("/x");
    let slowly = ["-o", "/dev/null", "--limit-rate", "8M", &url, "--cap", "127.0.0.2=2MB/1s"];
    let report = run_json(server.get(&[&slowly[..], &TWO[..]].concat()));
    let paths = report["paths"].as_array().unwrap();
    let over: Vec<_> = paths.iter().filter(|path| path["interface"] == "127.0.0.2").collect();
    assert!(over.len() >= 2, "a path for each period: {paths:?}");
    assert!(payload(&report, "127.0.0.2") > 2_500_000, "more than one budget: {paths:?}");
}

#[test]
fn without_a_budget_left_a_file_is_kept_and_gone_on_with() {
    let server = Server::start(&[]);
    let content = noise(32 << 20);
    server.add("x", &content);
    let here = tempfile::tempdir().unwrap();
    let out = here.path().join("x");
    let (url, to) = (server.url("/x"), ["-o", out.to_str().unwrap()]);
    let arguments =
        [&to[..], &["--path", "127.0.0.1", "--cap", "127.0.0.1=6MB/1h", "--retry", "3", &url]].concat();
    let words = run_failing(server.get(&arguments), 92);
    assert!(
        words.contains("the budget of 127.0.0.1 (6MB/1h) is used up, and no other link works"),
        "{words}"
    );
    assert!(words.contains("`-C -`") && !words.contains("trying again"), "{words}");
    let kept = fs::metadata(here.path().join("x.part")).unwrap().len();
    println!("{kept} bytes are kept");
    assert!((2_000_000..6_000_000 + IN_FLIGHT).contains(&kept), "{kept}");
    let report = run_json(server.get(&[&to[..], &["-C", "-", &url]].concat()));
    assert_eq!(report["resumed_from"], kept);
    assert!(fs::read(out).unwrap() == content);
}

#[test]
fn links_without_a_budget_are_told_at_once() {
    let server = Server::start(&[]);
    server.add("x", &noise(1 << 20));
    let url = server.url("/x");
    let zero = ["-o", "/dev/null", &url, "--cap", "127.0.0.2=0/1h", "--cap", "nolink0=1GB/30d"];
    let output = run(server.get(&[&["--json"], &zero[..], &TWO[..]].concat()));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("127.0.0.2: the cap is zero, the link is not used"), "{words}");
    assert!(words.contains("nolink0: no such link is in use"), "{words}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((payload(&report, "127.0.0.2"), &cap_of(&report, "127.0.0.2")["used_bytes"]), (0, &0.into()));
    let words = run_failing(server.get(&[&zero[..], &["--path", "127.0.0.2"]].concat()), 92);
    assert!(words.contains("the budgets of 127.0.0.2 are used up"), "{words}");
}

#[test]
fn what_is_no_cap_is_refused() {
    let wrong = |cap: &str| run_failing(hawser(["get", "https://127.0.0.1/x", "--cap", cap]), 2);
    assert!(wrong("1GB/24h").contains("expected LINK=BYTES/PERIOD"), "{}", wrong("1GB/24h"));
    assert!(wrong("lo=1GB").contains("expected BYTES/PERIOD such as 1GB/24h"));
    assert!(wrong("lo=-1GB/24h").contains("expected BYTES/PERIOD"));
    let twice = ["get", "https://127.0.0.1/x", "--cap", "lo=1GB/24h", "--cap", "lo=2GB/24h"];
    assert!(run_failing(hawser(twice), 2).contains("there are two for lo"));
}
