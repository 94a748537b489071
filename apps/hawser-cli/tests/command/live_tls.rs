//! `hawser live` over RTMPS: encoders that publish with TLS, and services that are published to.

use std::process::{Command, Stdio};

use hawser_media::flv::Role;
use serde_json::Value;

use crate::live::{KEY, Relay, clip, has_ffmpeg, probed, read_clip, shown, start_listening, write_clip};
use crate::support::*;

/// Key of a second stream of the same relay.
const SECOND: &str = "second-key";

/// A publisher that awaits an encoder over RTMPS: its process, its address and its pin.
fn start_rtmps(relay: &Relay, key: &str, arguments: &[&str]) -> (Running, String, String) {
    let mut command = relay.client("publish", key, &["--rtmps", "127.0.0.1:0", "-q"]);
    command.args(["--state", &relay.file("encoders")]).args(arguments).stdin(Stdio::null());
    let (process, hello) = spawn_and_read_line(command);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let text = |name: &str| hello[name].as_str().unwrap().to_owned();
    (Running(process), text("rtmps"), text("pin"))
}

/// One stream is published to another one over RTMPS, by a client that knows the pin.
#[test]
fn a_service_over_tls_is_known_by_its_pin() {
    let relay = Relay::start(&["--key", SECOND]);
    let (input, output) = (relay.file("in.flv"), relay.file("out.flv"));
    let tags = clip(60);
    write_clip(&input, &tags);
    let (_service, rtmps, pin) = start_rtmps(&relay, SECOND, &[]);
    let url = format!("rtmps://{rtmps}/live/{SECOND}");
    let _viewer = {
        let mut command = relay.client("play", SECOND, &["--output", &output, "-q"]);
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    };
    let _pusher = relay.start_client("play", &["--rtmp", &url, "--rtmp-pin", &pin]);
    let _publisher = relay.start_client("publish", &["--input", &input]);
    wait_until("the stream comes out", || std::fs::metadata(&output).is_ok_and(|file| file.len() > 500_000));
    let got = read_clip(&output);
    let bodies: Vec<_> = shown(&tags).into_iter().map(|(_, body)| body).collect();
    let got: Vec<_> = got.iter().filter(|tag| !tag.role().is_header()).collect();
    assert!(got.len() > 50 && got[0].role() == Role::KeyFrame);
    assert!(got.iter().all(|tag| bodies.contains(&tag.data)));
}

/// What a player that cannot reach its service says, and that it says no key.
fn complaint(relay: &Relay, arguments: &[&str]) -> String {
    let mut command = relay.client("play", KEY, arguments);
    command.stdout(Stdio::null());
    let words = first_line_with(command, "trying again");
    assert!(!words.contains(SECOND), "{words}");
    words
}

/// The first line on standard error that has these words.
fn first_line_with(mut command: Command, wanted: &str) -> String {
    use std::io::BufRead;

    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(process.stderr.take().unwrap()).lines();
    let _process = Running(process);
    lines.map_while(Result::ok).find(|line| line.contains(wanted)).expect("it says so")
}

#[test]
fn a_service_that_is_another_one_is_refused_with_the_reason() {
    let relay = Relay::start(&["--key", SECOND]);
    let (_service, rtmps, pin) = start_rtmps(&relay, SECOND, &[]);
    let port = rtmps.rsplit(':').next().unwrap();
    let url = format!("rtmps://{rtmps}/live/{SECOND}");
    // Another key than the pinned one.
    let other = "A".repeat(43) + "=";
    let words = complaint(&relay, &["--rtmp", &url, "--rtmp-pin", &other]);
    assert!(words.contains("is not the pinned one") && words.contains(&pin), "{words}");
    // An authority that signed nothing; the message has the pin.
    let words = complaint(&relay, &["--rtmp", &url, "--rtmp-ca", &relay.file("state/certificate.pem")]);
    assert!(words.contains("not signed by an authority") && words.contains(&pin), "{words}");
    // The right authority, and another name than the certificate has.
    let own = relay.file("encoders/certificate.pem");
    let words = complaint(&relay, &["--rtmp", &url, "--rtmp-ca", &own]);
    assert!(words.contains("not for the name 127.0.0.1"), "{words}");
    // The right name goes on to RTMP, where the key is wrong.
    let wrong = format!("rtmps://localhost:{port}/live/wrong");
    let words = complaint(&relay, &["--rtmp", &wrong, "--rtmp-ca", &own]);
    assert!(words.contains("wrong stream key"), "{words}");
    // RTMP without TLS at the port for TLS: the end that accepts says what was wrong.
    let mut command = relay.client("publish", SECOND, &["--rtmps", "127.0.0.1:0"]);
    command.args(["--state", &relay.file("encoders")]).stdin(Stdio::null());
    command.stderr(std::fs::File::create(relay.file("plain.log")).unwrap());
    let (process, hello) = spawn_and_read_line(command);
    let _plain = Running(process);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let url = format!("rtmp://{}/live/{SECOND}", hello["rtmps"].as_str().unwrap());
    complaint(&relay, &["--rtmp", &url]);
    let log = || std::fs::read_to_string(relay.file("plain.log")).unwrap();
    wait_until("the publisher says so", || log().contains("it does not speak TLS"));
    assert!(!log().contains(SECOND), "{}", log());
}

/// ffmpeg as the encoder, and as the service.
#[test]
fn ffmpeg_publishes_over_tls() {
    if !has_ffmpeg() {
        return;
    }
    let relay = Relay::start(&[]);
    let (_publisher, rtmps, _) = start_rtmps(&relay, KEY, &[]);
    let encode = |key: &str, seconds: &str| {
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25"]);
        command.args(["-f", "lavfi", "-i", "sine", "-t", seconds, "-c:v", "libx264", "-preset", "ultrafast"]);
        command.args(["-g", "25", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "flv"]);
        command.arg(format!("rtmps://{rtmps}/live/{key}")).stdin(Stdio::null());
        command
    };
    let refused = run(encode("wrong", "1"));
    assert!(!refused.status.success(), "{}", String::from_utf8_lossy(&refused.stderr));
    let _encoder = Running(encode(KEY, "60").spawn().unwrap());
    let (_player, http) = start_listening(relay.client("play", KEY, &["--http", "127.0.0.1:0"]), "http");
    let (codecs, complaints) = probed(&format!("http://{http}/live.flv"));
    assert_eq!((codecs, complaints.as_str()), (vec!["aac".to_owned(), "h264".to_owned()], ""));
}

#[test]
fn options_of_tls_need_tls() {
    let relay = Relay::start(&[]);
    for arguments in [
        &["--rtmp", "127.0.0.1:0", "--state", "x"][..],
        &["--rtmps", "127.0.0.1:0", "--rtmp", "127.0.0.1:0"],
        &["--rtmps", "127.0.0.1:0", "--cert", "x"],
    ] {
        run_failing(relay.client("publish", KEY, arguments), 2);
    }
    let words = run_failing(relay.client("play", KEY, &["--rtmp", "ftp://host/a/b"]), 2);
    assert!(words.contains("rtmps://HOST/APP/KEY"), "{words}");
}
