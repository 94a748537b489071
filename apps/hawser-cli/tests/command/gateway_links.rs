//! A download through `hawser proxy` over two emulated links of which one dies. Needs what the emulator needs, and python3 and curl;
//! or says that it was skipped.

use std::process::Command;

use crate::support::*;

/// 40 Mbit/s together for three seconds, then half of it.
const SCENARIO: &str = "
version = 1
name = 'one-of-two-dies'
seed = 1
duration = '60 s'
[[link]]
name = 'a0'
rate = '20 Mbit/s'
delay = '10 ms'
queue = '100 ms'
[[link]]
name = 'b0'
rate = '20 Mbit/s'
delay = '10 ms'
queue = '100 ms'
outage = [{ from = '3 s' }]
";

/// Next to the gateway a web server, both in the server's namespace.
const SERVER: &str = "
cd \"$WORK/www\"
python3 -m http.server 8000 --bind \"$HAWSER_SERVER_ADDR\" >/dev/null 2>&1 &
web=$!
until curl -s -o /dev/null \"http://$HAWSER_SERVER_ADDR:8000/\"; do sleep 0.1; done
\"$HAWSER\" gateway -q --json --listen \"$HAWSER_SERVER_ADDR:4435\" --state \"$WORK\" --allow-egress \"$HAWSER_SERVER_ADDR\" >\"$WORK/hello\" &
gateway=$!
trap 'kill $web $gateway' TERM INT
wait $gateway
";

const CLIENT: &str = "
set -e
for _ in $(seq 100); do [ -s \"$WORK/hello\" ] && break; sleep 0.1; done
pin=$(sed 's/.*\"pin\":\"\\([^\"]*\\)\".*/\\1/' \"$WORK/hello\")
\"$HAWSER\" proxy --json --pin \"$pin\" --key-file \"$WORK/key\" \"$HAWSER_SERVER_ADDR:4435\" >\"$WORK/proxy\" 2>\"$WORK/said\" &
proxy=$!
trap 'kill $proxy' EXIT
for _ in $(seq 100); do [ -s \"$WORK/proxy\" ] && break; sleep 0.1; done
curl -sS --max-time 50 -x socks5h://127.0.0.1:1080 -o \"$WORK/got\" \"http://$HAWSER_SERVER_ADDR:8000/file\"
";

#[test]
fn a_download_goes_on_when_one_of_two_links_dies() {
    let tools = ["python3", "curl"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok());
    if !nix::unistd::geteuid().is_root() || !std::path::Path::new("/dev/net/tun").exists() || !tools {
        eprintln!("skipped: needs root, /dev/net/tun, python3 and curl");
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    // A second and a half of what follows the outage.
    let content = noise(20 << 20);
    std::fs::create_dir(path("www")).unwrap();
    std::fs::write(path("www/file"), &content).unwrap();
    std::fs::write(path("scenario.toml"), SCENARIO).unwrap();
    std::fs::write(path("server.sh"), SERVER).unwrap();
    std::fs::write(path("client.sh"), CLIENT).unwrap();
    let mut add = hawser(["gateway", "user", "add", "alice", "-q", "--state"]);
    add.arg(work.path());
    std::fs::write(path("key"), run(add).stdout).unwrap();
    let mut command = hawser(["-q", "emu", "run", "--server"]);
    command.arg(format!("exec sh {}", path("server.sh").display())).arg(path("scenario.toml"));
    command.args(["--", "sh"]).arg(path("client.sh"));
    command.env("WORK", work.path()).env("HAWSER", env!("CARGO_BIN_EXE_hawser"));
    let output = run(command);
    let said = std::fs::read_to_string(path("said")).unwrap_or_default();
    assert!(output.status.success(), "{}\n{said}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read(path("got")).unwrap() == content);
    // The connection to the gateway has survived.
    assert!(!said.contains("connecting again"), "{said}");
}
