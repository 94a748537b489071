//! Which packets go through a tunnel, what of them arrives as it was sent, and what nobody is to see of it.

use std::process::Command;

use super::{CLIENT, GATEWAY, SCENARIO, can_run, prepared, run_in, run_steps};
use crate::support::key_in;

/// Links that mark what waits in their queues.
const MARKING: &str = "
version = 1
name = 'marking'
seed = 1
duration = '120 s'
[[link]]
name = 'a0'
rate = '20 Mbit/s'
delay = '10 ms'
queue = { discipline = 'step-marking', limit = '100 ms', threshold = '1 ms' }
[[link]]
name = 'b0'
rate = '20 Mbit/s'
delay = '10 ms'
queue = { discipline = 'step-marking', limit = '100 ms', threshold = '1 ms' }
";

/// Resolvers next to the gateway, and beyond it.
const RESOLVERS: &str = "
python3 dns.py \"$HAWSER_SERVER_ADDR\" 10.99.0.1 & near_dns=$!
inside ip addr add 198.51.100.3/24 dev far0
nsenter --net=/proc/$beyond/ns/net python3 dns.py 198.51.100.3 198.51.100.2 chosen.test & far_dns=$!
trap 'kill $near_dns $far_dns $beyond $web $gateway 2>/dev/null' EXIT
";

#[test]
fn marks_of_congestion_and_service_arrive_and_outer_packets_have_their_own() {
    if !can_run() {
        return;
    }
    let gateway = GATEWAY.replace("--nat", "--nat --dscp CS5");
    let printed = run_in(prepared().path(), MARKING, &gateway, CLIENT, include_str!("steps/marks.sh"));
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn users_groups_and_domains_go_through_and_nothing_else() {
    if !can_run() {
        return;
    }
    let gateway = format!("{GATEWAY}{RESOLVERS}");
    let printed = run_in(prepared().path(), SCENARIO, &gateway, CLIENT, include_str!("steps/split.sh"));
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn systemd_resolved_is_told_of_resolvers_and_no_file_changes() {
    if !can_run() {
        return;
    }
    if Command::new("dbus-daemon").arg("--version").output().is_err() {
        return eprintln!("skipped: needs dbus-daemon");
    }
    let work = prepared();
    std::fs::write(work.path().join("resolved.py"), include_str!("resolved.py")).unwrap();
    let gateway = format!("{GATEWAY}{RESOLVERS}");
    let client = format!("{}{CLIENT}", include_str!("with-resolved.sh"));
    let printed = run_in(work.path(), SCENARIO, &gateway, &client, include_str!("steps/resolved.sh"));
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn there_is_no_tunnel_in_a_tunnel() {
    if can_run() {
        let printed = run_steps(include_str!("steps/loops.sh"));
        assert!(printed.ends_with("done\n"), "{printed}");
    }
}

/// Of users, right and wrong ones.
#[test]
fn logs_and_traces_of_a_tunnel_hold_no_keys() {
    if !can_run() {
        return;
    }
    let work = prepared();
    let path = |name: &str| work.path().join(name);
    let detailed = |text: &str| text.replace("\"$HAWSER\" -q ", "\"$HAWSER\" -vvv ");
    let gateway = detailed(GATEWAY).replace("--nat", "--nat --qlog \"$WORK/traces\"");
    let client = detailed(CLIENT).replace("tunnel --json", "tunnel --qlog \"$WORK/traces\" --json");
    std::fs::create_dir(path("traces")).unwrap();
    let printed = run_in(work.path(), SCENARIO, &gateway, &client, include_str!("steps/secrets.sh"));
    assert!(printed.ends_with("done\n"), "{printed}");
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let keys = ["key.right", "key"].map(|name| read(name).trim().to_owned());
    let traces = std::fs::read_dir(path("traces")).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<String> = traces.map(|trace| std::fs::read_to_string(trace).unwrap()).collect();
    assert!(traces.len() >= 4, "traces of both ends");
    let logs = ["said.right", "said.wrong", "gateway-said"].map(read);
    assert!(logs.iter().all(|log| log.contains(" DEBUG ")), "they are detailed: {logs:?}");
    for text in logs.into_iter().chain(traces) {
        assert_eq!(key_in(&text, &keys.each_ref().map(String::as_str)), None, "{text}");
    }
}
