//! Files of options, and what `gateway init` and `tunnel check` say.

use std::path::Path;

use serde_json::Value;

use super::can_run;
use crate::support::*;

fn init(state: &Path, more: &[&str]) -> std::process::Command {
    let mut command = hawser(["gateway", "init", "--host", "gateway.example", "--state"]);
    command.arg(state).args(more);
    command
}

#[test]
fn a_gateway_begins_with_a_file_and_a_command_for_its_user() {
    let state = tempfile::tempdir().unwrap();
    let printed = String::from_utf8(run(init(state.path(), &["--no-nat"])).stdout).unwrap();
    let line = printed.lines().find(|line| line.contains("hawser proxy")).unwrap();
    assert!(
        line.contains("HAWSER_KEY=") && line.contains("--pin '") && line.ends_with("gateway.example:4435"),
        "{line}"
    );
    assert!(printed.contains('█'), "a QR code: {printed}");
    let file = state.path().join("gateway.toml");
    let said = run_failing(init(state.path(), &[]), 2);
    assert!(said.contains("is there already"), "{said}");
    // The gateway that it describes begins, and knows the user.
    let mut users = hawser(["gateway", "user", "list", "--state"]);
    users.arg(state.path());
    assert_eq!(String::from_utf8(run(users).stdout).unwrap(), "me\n");
    let mut check = hawser(["config", "check", "gateway", "--file"]);
    check.arg(&file);
    run(check);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\nhost = \"gateway.example\"\n"));
}

#[test]
fn a_gateway_names_the_host_that_its_file_has() {
    let state = tempfile::tempdir().unwrap();
    run(init(state.path(), &["--no-nat", "--listen", "127.0.0.1:0"]));
    let mut gateway = hawser(["gateway", "--json", "--config"]);
    gateway.arg(state.path().join("gateway.toml"));
    let (mut gateway, hello) = spawn_and_read_line(gateway);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let hello: Value = serde_json::from_str(&hello).unwrap();
    assert_eq!(hello["host"], "gateway.example");
}

#[test]
fn a_file_for_packets_has_the_pools() {
    let state = tempfile::tempdir().unwrap();
    let printed =
        run(init(state.path(), &["--json", "--pool", "10.7.0.0/16", "--allow-egress", "192.168.7.0/24"]))
            .stdout;
    let value: Value = serde_json::from_slice(&printed).unwrap();
    assert!(value["client"].as_str().unwrap().contains("hawser tunnel --pin"), "{value}");
    let text = std::fs::read_to_string(state.path().join("gateway.toml")).unwrap();
    for line in ["nat = true", "pool = [\"10.7.0.0/16\"]", "allow-egress = [\"192.168.7.0/24\"]"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tunnel.toml");
    let refused = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut command = hawser(["tunnel", "--config"]);
        command.arg(&file);
        run_failing(command, 2)
    };
    let said = refused("gateway = 'gateway.example'\n\nroutes = ['10.0.0.0/8']\n");
    assert!(
        said.contains("tunnel.toml:3: hawser tunnel has no option \"routes\" (did you mean \"route\"?)"),
        "{said}"
    );
    let said = refused("gateway = 'gateway.example'\nroute = ['10.0.0.0/33']\n");
    assert!(said.contains("tunnel.toml:2: ") && said.contains("expected a prefix"), "{said}");
    let said = refused("route = '10.0.0.0/8\n");
    assert!(said.contains("tunnel.toml:1: "), "{said}");
    let mut command = hawser(["tunnel", "--config"]);
    command.arg(folder.path().join("none.toml"));
    let said = run_failing(command, 26);
    assert!(said.contains("none.toml"), "{said}");
}

#[test]
fn a_file_with_every_option_is_printed_for_each_command() {
    for command in [
        "serve",
        "proxy",
        "forward",
        "tunnel",
        "gateway",
        "live relay",
        "live publish",
        "measure client",
        "measure server",
    ] {
        let words: Vec<&str> = ["config", "show"].into_iter().chain(command.split(' ')).collect();
        let printed = String::from_utf8(run(hawser(words)).stdout).unwrap();
        assert!(printed.contains(&format!("# Options of `hawser {command}`")), "{printed}");
        assert!(
            printed.lines().filter(|line| line.starts_with('#') && line.contains(" = ")).count() > 8,
            "{printed}"
        );
    }
    let said = run_failing(hawser(["config", "show", "get"]), 2);
    assert!(said.contains("takes no file of options"), "{said}");
}

#[test]
fn a_check_says_what_would_change_and_what_is_missing() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tunnel.toml");
    let text = format!(
        "dns = '9.9.9.9'\nkill-switch = true\nrun = '{}'\ndevice = 'lo'\ncontrol = 'none'\n",
        folder.path().display()
    );
    std::fs::write(&file, text).unwrap();
    let mut command = hawser(["tunnel", "check", "--json", "--config"]);
    command.arg(&file);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let findings: Vec<Value> = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    let has = |kind: &str, what: &str| {
        findings
            .iter()
            .any(|finding| finding["kind"] == kind && finding["what"].as_str().unwrap().contains(what))
    };
    assert!(has("missing", "which gateway?") && has("missing", "the name lo is taken"), "{findings:?}");
    assert!(
        has("change", "names 9.9.9.9") && has("change", "nothing leaves past the tunnel"),
        "{findings:?}"
    );
    assert!(has("fine", "TUN devices") && has("fine", "may change devices"), "{findings:?}");
}
