//! `hawser tunnel` over two emulated links to a gateway with address translation, and a host beyond it that knows no route to the
//! gateway's clients. Needs what the emulator needs, python3, `unshare` and `nsenter`; or says that it was skipped.

mod complaints;
mod everyday;
mod files;
mod recipes;
mod traffic;

use std::path::Path;
use std::process::Command;

use crate::support::*;

const SCENARIO: &str = "
version = 1
name = 'tunnel'
seed = 1
duration = '120 s'
[[link]]
name = 'a0'
rate = '40 Mbit/s'
delay = '10 ms'
queue = '100 ms'
[[link]]
name = 'b0'
rate = '40 Mbit/s'
delay = '10 ms'
queue = '100 ms'
";

const SERVER: &str = include_str!("server.sh");
const BEYOND: &str = include_str!("beyond.py");
const DNS: &str = include_str!("dns.py");
const GATEWAY: &str = include_str!("gateway.sh");
const CLIENT: &str = include_str!("client.sh");
const TOOLS: &str = include_str!("tools.py");

fn can_run() -> bool {
    let tools = ["python3", "unshare", "nsenter", "ip"];
    let has = |tool: &&str| Command::new(tool).arg("--version").output().is_ok();
    let can = nix::unistd::geteuid().is_root()
        && std::path::Path::new("/dev/net/tun").exists()
        && tools.iter().all(has);
    if !can {
        eprintln!("skipped: needs root, /dev/net/tun, ip, python3, unshare and nsenter");
    }
    can
}

/// Runs these steps on the client's host, where `$tunnel` is a tunnel that runs; what they print.
fn run_steps(steps: &str) -> String {
    run_over(SCENARIO, steps)
}

/// The same over the links of this scenario.
fn run_over(scenario: &str, steps: &str) -> String {
    run_in(prepared().path(), scenario, GATEWAY, CLIENT, steps)
}

/// A folder for a test, with the state of a gateway that has a user, and the user's key.
fn prepared() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    let mut add = hawser(["gateway", "user", "add", "alice", "-q", "--state"]);
    add.arg(work.path());
    std::fs::write(work.path().join("key"), run(add).stdout).unwrap();
    work
}

/// Runs a gateway, and a script on a host behind these links, which has the steps next to it; what that prints.
fn run_in(work: &Path, scenario: &str, gateway: &str, client: &str, steps: &str) -> String {
    let write = |name: &str, text: &str| std::fs::write(work.join(name), text).unwrap();
    write("scenario.toml", scenario);
    write("server.sh", SERVER);
    write("gateway.sh", gateway);
    write("beyond.py", BEYOND);
    write("dns.py", DNS);
    write("client.sh", client);
    write("tools.py", TOOLS);
    write("steps.sh", steps);
    write("resolv.conf", "nameserver 192.0.2.53\noptions ndots:1");
    let mut command = hawser(["-q", "emu", "run", "--server"]);
    command.arg(format!("exec sh {}", work.join("server.sh").display()));
    command.arg(work.join("scenario.toml")).args(["--", "sh"]).arg(work.join("client.sh"));
    command.env("WORK", work).env("HAWSER", env!("CARGO_BIN_EXE_hawser"));
    let output = run(command);
    let read = |name: &str| std::fs::read_to_string(work.join(name)).unwrap_or_default();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{printed}\n{}\nclient: {}\ngateway: {}",
        String::from_utf8_lossy(&output.stderr),
        read("said"),
        read("gateway-said")
    );
    printed
}

#[test]
fn all_traffic_uses_both_links_and_the_machine_is_as_before() {
    if !can_run() {
        return;
    }
    let printed = run_steps(
        "
        grep -q 'nameserver 198.51.100.2' resolv.conf || fail 'other resolvers'
        python3 -c '
from tools import *
check(ping(FAR, 20) == 20, \"pings through the tunnel\")
check(ask_tcp(b\"a\") != \"10.118.0.2\", \"TCP comes from the gateway\")
check(ask_udp() == \"198.51.100.1\", \"UDP is masqueraded\")
check(udp_echo(1200) and udp_echo(8000), \"small and large UDP\")
check(fails_with((FAR, 9), ConnectionRefusedError), \"nobody listens there\")
check(fails_with((\"10.1.2.3\", 80), OSError), \"the rules of the gateway deny it\")
check(half_close(), \"the end of one half is the end of one half\")
check(far_reset(), \"a reset is a reset\")
a, b = received(\"a0\"), received(\"b0\")
check(download(12 << 20) == 12 << 20, \"a download\")
a, b = received(\"a0\") - a, received(\"b0\") - b
check(min(a, b) > 3 << 20, \"both links carry it: %d, %d\" % (a, b))
' || exit 1
        # Another one cannot run, and a link that is pulled stops nothing.
        again 2>again; [ $? -eq 1 ] && grep -q 'another one runs' again || fail 'a second tunnel'
        python3 -c '
from tools import *
check(download(12 << 20, lambda: down(\"a0\")) == 12 << 20, \"a link is pulled during a download\")
check(ping(FAR, 20) >= 19, \"pings over the link that is left\")
' || exit 1
        ip link set a0 up
        ip route replace default via 10.77.1.1 dev a0 metric 100
        ip route replace default via 10.77.1.1 dev a0 table 100
        kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
        as_before
        echo done
        ",
    );
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn a_crash_leaves_a_network_that_works_and_can_be_cleaned_up() {
    if !can_run() {
        return;
    }
    let printed = run_steps(
        "
        python3 -c '
from tools import *
check(udp_from(\"10.77.1.2\") is None, \"nothing is sent from an address that is not of the tunnel\")
' || exit 1
        kill -KILL $tunnel; wait $tunnel
        # The links are there as before; only rules and resolvers are not.
        python3 -c '
from tools import *
check(ping(\"10.99.0.1\", 5) == 5, \"the network works after a crash\")
' || exit 1
        \"$HAWSER\" tunnel --cleanup --run run --json >cleaned || fail 'cleaning up'
        grep -q 'resolv.conf is as it was' cleaned || fail 'it says what it did'
        as_before
        # With the kill switch nothing leaves past the tunnel, until the next one starts, which cleans up.
        start --kill-switch
        kill -KILL $tunnel; wait $tunnel
        python3 -c '
from tools import *
check(ping(FAR, 2) == 0, \"nothing past the tunnel\")
' || exit 1
        start
        grep -q 'resolv.conf is as it was' tunnel || fail 'the next start cleans up'
        python3 -c '
from tools import *
check(ping(FAR, 5) == 5, \"it works again\")
' || exit 1
        kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
        as_before
        key=$(cat key); echo AAAAAAAAAAAAAAAAAAAAAAAA >key
        again 2>again; [ $? -eq 43 ] || fail 'a wrong key'
        as_before
        echo done
        ",
    );
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn what_makes_no_tunnel_is_said() {
    let said = run_failing(hawser(["tunnel", "--route", "10.0.0.0/33", "localhost"]), 2);
    assert!(said.contains("expected a prefix such as 192.168.7.0/24"), "{said}");
    let said = run_failing(hawser(["tunnel"]), 2);
    assert!(said.contains("HOST[:PORT]"), "{said}");
    let said = run_failing(hawser(["gateway", "--pool", "10.0.0.0/16"]), 2);
    assert!(said.contains("add --nat"), "{said}");
    let state = tempfile::tempdir().unwrap();
    let mut small = hawser(["gateway", "--nat", "--pool", "10.0.0.0/31", "--state"]);
    small.arg(state.path());
    let said = run_failing(small, 2);
    assert!(said.contains("too few addresses"), "{said}");
    let run = state.path().join("run");
    let mut clean = hawser(["tunnel", "--cleanup", "--run"]);
    clean.arg(run);
    let output = crate::support::run(clean);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to undo"));
}
