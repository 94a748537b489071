//! The policy set `sscc` over real sockets: models, the memory of prefixes, the log, and files that are broken.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::*;

const MODEL: &str = "sscc,selection=model";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn models_come_with_the_command_and_what_works_is_kept() {
    let here = tempfile::tempdir().unwrap();
    let [prefixes, log, errors, out] =
        ["prefixes", "log", "errors", "out"].map(|name| here.path().join(name));
    fs::write(&prefixes, "hawser-sscc-prefixes 1 something else\n").unwrap();
    let policy = format!("{MODEL},prefixes={},log={}", text(&prefixes), text(&log));
    let server = Server::start_logging(&errors, &["--policy", &policy]);
    server.add("x", &noise(24 << 20));
    // On loopback few acknowledgements suffice for all of it, and a unit takes twenty: several times, since one download may have fewer.
    for _ in 0..6 {
        let _ = fs::remove_file(&out);
        let output = run(server.get(&["-o", text(&out), &server.url("/x"), "--policy", MODEL]));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read(&out).unwrap() == noise(24 << 20));
    }
    server.stop();

    let said = fs::read_to_string(&errors).unwrap();
    assert_eq!(said.matches("kept as").count(), 1, "{said}");
    let aside = fs::read_to_string(here.path().join("prefixes.corrupt")).unwrap();
    assert_eq!(aside, "hawser-sscc-prefixes 1 something else\n");
    // The models chose for the network of the client.
    let kept = fs::read_to_string(&prefixes).unwrap();
    let lines: Vec<&str> = kept.lines().collect();
    assert!(lines[0].ends_with("bbr cubic vegas c2tcp westwood illinois"), "{kept}");
    assert!(lines[1].starts_with("127.0.0.0 - ") && lines[2] == "end 1", "{kept}");
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events =
        |event: &str| lines.iter().filter(|line| line["event"] == event && line["side"] == "server").count();
    assert!(events("controller") >= 1 && events("unit") >= 1, "{} {}", events("controller"), events("unit"));
}

#[test]
fn broken_models_are_refused_and_why_is_said() {
    let here = tempfile::tempdir().unwrap();
    let whole = hawser_cc::sscc::Models::SHIPPED;
    for (name, models, expected) in [
        ("cut", whole[..whole.len() / 2].to_owned(), "the models are truncated"),
        ("other", whole.replacen("tput_share", "queue_share", 1), "a model for other features"),
        ("version", whole.replacen("models 1", "models 2", 1), "models of version 2"),
    ] {
        let file = here.path().join(name);
        fs::write(&file, models).unwrap();
        for option in [["--default", &format!("sscc,models={}", text(&file))], ["--sscc-models", text(&file)]]
        {
            let output = run(hawser(["lab", "fit"].into_iter().chain(option)));
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(26), "{said}");
            assert!(said.contains(expected) && said.contains(text(&file)), "{said}");
        }
    }
    let missing = run(hawser(["get", "--policy", "sscc,models=/nowhere/at.all", "https://127.0.0.1:9/x"]));
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(26), "{said}");
    assert!(said.contains("--policy: sscc: \"models\"") && said.contains("/nowhere/at.all"), "{said}");
}

/// What is simulated follows from scenario and seed alone.
#[test]
fn simulations_keep_no_memory_of_prefixes() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wifi-lte.toml");
    let output = run(hawser(["sim", "run", scenario, "--policy", "sscc,prefixes=x"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("prefixes are of real connections"), "{said}");
}

/// What the list is judged with is said by the option, and results with other models are not mixed.
#[test]
fn the_list_is_judged_with_the_models_that_were_given() {
    let here = tempfile::tempdir().unwrap();
    let (file, folder) = (here.path().join("other.models"), here.path().join("list"));
    fs::write(&file, hawser_cc::sscc::Models::SHIPPED.replacen("base 0.", "base 0.1", 1)).unwrap();
    let verify = |models: &[&str]| {
        let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let item = ["lab", "verify", "sscc", "--scenarios", scenarios, "--item", "2", "-o", text(&folder)];
        run(hawser(item.iter().chain(models).copied()))
    };
    assert_eq!(verify(&[]).status.code(), Some(0));
    let output = verify(&["--default", &format!("sscc,models={}", text(&file))]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("was begun with something else"), "{said}");
}
