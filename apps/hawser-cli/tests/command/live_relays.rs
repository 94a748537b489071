//! A stream of `hawser live` from one relay to another.

use serde_json::Value;

use crate::live::{KEY, Relay, clip, read_clip, write_clip};
use crate::support::*;

/// A publisher of one relay that takes what another one has.
fn between(first: &Relay, second: &Relay, key: &str, arguments: &[&str]) -> std::process::Command {
    let from = ["--from", &first.address, "--from-pin", &first.pin, "--from-key", key];
    second.client("publish", KEY, &[&from[..], arguments].concat())
}

/// Every byte of every tag, over two links before each relay, and the end as well.
#[test]
fn what_one_relay_has_another_one_gives_to_its_players() {
    let (first, second) = (Relay::start(&["--reliable"]), Relay::start(&["--reliable"]));
    let (input, output) = (first.file("in.flv"), second.file("out.flv"));
    let tags = clip(3);
    write_clip(&input, &tags);
    let player = second.start_client("play", &["--output", &output, "--once"]);
    let mut bridge = between(&first, &second, KEY, &["--once", "--reliable", "-q"]);
    let bridge = Running(bridge.stdout(std::process::Stdio::piped()).spawn().unwrap());
    wait_until("the second relay has its publisher", || second.log().contains("publishes"));
    wait_until("the first relay has its player", || first.log().contains("plays"));
    let publisher = first.start_client("publish", &["--input", &input, "--once", "--reliable"]);
    let (sent, bridged, played) = (publisher.report(), bridge.report(), player.report());
    assert!(sent.1 && bridged.1 && played.1, "{sent:?} {bridged:?} {played:?}");
    assert_eq!(read_clip(&output), tags);
    assert_eq!((&played.0["missing_tags"], &played.0["padded_frames"]), (&Value::from(0), &Value::from(0)));
}

#[test]
fn relay_that_does_not_know_the_key_or_is_another_one_is_not_asked_again() {
    let (first, second) = (Relay::start(&[]), Relay::start(&[]));
    let words = run_failing(between(&first, &second, "wrong", &[]), 43);
    assert!(words.contains("no stream has this key"), "{words}");
    let from = ["--from", &first.address, "--from-pin", &second.pin, "--from-key", KEY];
    let words = run_failing(second.client("publish", KEY, &from), 90);
    assert!(!words.is_empty());
    let words = run_failing(second.client("publish", KEY, &from[..4]), 2);
    assert!(words.contains("--from-key KEY, or the variable HAWSER_LIVE_FROM_KEY"), "{words}");
}
