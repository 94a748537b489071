//! The command of a user with policies of his own: the example `own_policies`.

use std::path::Path;
use std::process::Command;

use crate::support::*;

/// The example, which cargo builds with the tests.
fn own() -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_hawser")).parent().unwrap();
    let program = folder.join("examples/own_policies");
    assert!(program.exists(), "cargo build -p hawser-cli --example own_policies makes {}", program.display());
    clean(Command::new(program))
}

fn own_with(arguments: &[&str]) -> Command {
    let mut command = own();
    command.args(arguments);
    command
}

#[test]
fn own_policies_are_listed_with_their_parameters() {
    let listed = run_json(own_with(&["policies", "one-path"]));
    assert_eq!((&listed[0]["kind"], &listed[0]["name"]), (&"scheduler".into(), &"one-path".into()));
    assert_eq!(listed[0]["parameters"][0]["range"], serde_json::json!(["0", "7"]));
    let listed = run_json(own_with(&["policies", "constant"]));
    assert_eq!((&listed[0]["kind"], &listed[0]["option"]), (&"congestion".into(), &"--congestion".into()));
    let words = run_failing(own_with(&["sim", "run", "x.toml", "--scheduler", "one-path,path=8"]), 2);
    assert!(words.contains("expected 0 to 7 for \"path\" (default 0), found \"8\""), "{words}");
    let help = String::from_utf8(run(own_with(&["get", "--help"])).stdout).unwrap();
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("minrtt, modes, one-path, otias"), "{help}");
    // They are nothing that others have.
    assert!(run_failing(hawser(["policies", "one-path"]), 2).contains("no policy named \"one-path\""));
}

const SCENARIO: &str = r#"
version = 1
duration = "20 s"
[[link]]
name = "a0"
rate = "50 Mbit/s"
delay = "20 ms"
[[link]]
name = "b0"
rate = "50 Mbit/s"
delay = "20 ms"
[[flow]]
name = "download"
kind = "bulk"
"#;

/// 200 kB in 40 ms are 40 Mbit/s, on the path that was named.
#[test]
fn they_are_used_in_the_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let file = file.to_str().unwrap();
    for path in [0, 1] {
        let scheduler = format!("transport.scheduler=one-path,path={path}");
        let run =
            ["sim", "run", file, "--set", &scheduler, "--set", "transport.congestion=constant,window=200000"];
        let outcome = run_json(own_with(&run));
        let goodput = outcome["goodput_bps"].as_f64().unwrap();
        assert!((36e6..40e6).contains(&goodput), "{goodput}: expected 200 kB in 40 ms, less headers");
        let on = |link: &str| {
            let paths = outcome["paths"].as_array().unwrap();
            let of_link = paths.iter().filter(|path| path["link"] == link);
            of_link.map(|path| path["bytes_sent"].as_u64().unwrap_or_default()).sum::<u64>()
        };
        let (named, other) = if path == 0 { (on("a0"), on("b0")) } else { (on("b0"), on("a0")) };
        assert!(named > 80_000_000 && other < 1_000_000, "path {path}: {outcome}");
    }
}

/// The server has them as well, and does what the client asks for.
#[test]
fn they_are_used_over_sockets() {
    let server = Server::start_with(own(), &["-q", "--allow-scheduler", "one-path"]);
    server.add("x", &noise(8 << 20));
    let url = server.url("/x");
    for path in [0, 1] {
        let scheduler = format!("one-path,path={path}");
        let mut get =
            own_with(&["get", "--pin", &server.pin, "-o", "/dev/null", &url, "--scheduler", &scheduler]);
        // At first there is one path: what is sent until there are two is held down.
        get.args([
            "--congestion",
            "constant",
            "--path",
            "127.0.0.1",
            "--path",
            "127.0.0.2",
            "--limit-rate",
            "8M",
        ]);
        let report = run_json(get);
        assert_eq!(report["server_scheduler"]["accepted"], true, "{report}");
        let carried = |id: u64| {
            let paths = report["paths"].as_array().unwrap();
            let path = paths.iter().find(|path| path["id"] == id);
            path.and_then(|path| path["bytes_received"].as_u64()).unwrap_or_default()
        };
        assert!(carried(path) > 6 << 20 && carried(1 - path) < 2 << 20, "path {path}: {report}");
    }
}
