//! Who may publish and play with `hawser live`: keys that expire, and web hooks.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::live::{KEY, Relay, clip, start_listening, write_clip};
use crate::support::*;

/// So many seconds from now, as RFC 3339 writes it.
fn in_seconds(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut command = Command::new("date");
    command.args(["-u", "-d", &format!("@{}", now + seconds), "+%Y-%m-%dT%H:%M:%SZ"]);
    String::from_utf8(run(command).stdout).unwrap().trim().to_owned()
}

/// The first line of an answer to a GET.
fn status(http: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head).into_owned()
}

#[test]
fn keys_that_have_expired_open_nothing() {
    let http = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let keys = ["--key", "old@2020-01-01T00:00:00Z", "--key", "new=old-view@2020-01-01T01:00:00+01:00"];
    let relay = Relay::start(&[&keys[..], &["--http", &http]].concat());
    let input = relay.file("in.flv");
    write_clip(&input, &clip(1));
    for (verb, key) in [("publish", "old"), ("play", "old"), ("play", "old-view")] {
        let argument = if verb == "publish" { ["--input", &input] } else { ["--http", "127.0.0.1:0"] };
        let words = run_failing(relay.client(verb, key, &argument), 43);
        assert!(words.contains("the key has expired"), "{words}");
    }
    let well = run(relay.client("publish", "new", &["--input", &input, "--once"]));
    assert!(well.status.success(), "{}", String::from_utf8_lossy(&well.stderr));
    for path in ["/old-view", "/old-view.flv", "/old-view.m3u8"] {
        assert_eq!(status(&http, path), "HTTP/1.1 404", "{path}");
    }
    assert_eq!(status(&http, &format!("/{KEY}")), "HTTP/1.1 200");
    let words = run_failing(hawser(["live", "relay", "--key", "a@soon"]), 2);
    assert!(words.contains("RFC 3339"), "{words}");
}

/// A stream that is under way ends when its key expires.
#[test]
fn stream_ends_with_its_key() {
    let soon = in_seconds(6);
    let keys = [format!("short=short-view@{soon}"), format!("brief@{soon}")];
    let relay = Relay::start(&["--key", &keys[0], "--key", &keys[1]]);
    let input = relay.file("in.flv");
    write_clip(&input, &clip(60));
    let mut player = relay.client("play", "short-view", &["--http", "127.0.0.1:0"]);
    let player = player.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let words = run_failing(relay.client("publish", "brief", &["--input", &input]), 43);
    assert!(words.contains("key has expired"), "{words}");
    let played = player.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.code() == Some(43) && words.contains("key has expired"), "{words}");
}

/// A web hook that lets in what does not contain `refused`, and what it was told.
fn start_hook(refused: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/live?token=secret-of-the-hook", listener.local_addr().unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (mut text, mut block) = (Vec::new(), [0; 512]);
            while !text.ends_with(b"}") {
                match stream.read(&mut block) {
                    Ok(count) if count > 0 => text.extend_from_slice(&block[..count]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&text).into_owned();
            let answer = if text.contains(refused) { "403 Forbidden" } else { "204 No Content" };
            let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes());
            heard.lock().unwrap().push(text);
        }
    });
    (url, told)
}

#[test]
fn hook_decides_who_publishes_and_plays() {
    let (url, told) = start_hook("\"stream\":2");
    let http = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let relay = Relay::start(&["--key", "second", "--hook", &url, "--http", &http]);
    let input = relay.file("in.flv");
    write_clip(&input, &clip(30));
    for verb in ["publish", "play"] {
        let argument = if verb == "publish" { ["--input", &input] } else { ["--http", "127.0.0.1:0"] };
        let words = run_failing(relay.client(verb, "second", &argument), 43);
        assert!(words.contains("hook does not let you"), "{words}");
    }
    assert_eq!(status(&http, "/second.flv"), "HTTP/1.1 403");
    assert_eq!(status(&http, "/second.m3u8"), "HTTP/1.1 403");
    let publisher = relay.start_client("publish", &["--input", &input]);
    let (player, _) = start_listening(relay.client("play", KEY, &["--http", "127.0.0.1:0"]), "http");
    let has = |words: &str| told.lock().unwrap().iter().any(|text| text.contains(words));
    wait_until("both were asked about", || {
        has("\"publish\",\"stream\":1") && has("\"play\",\"stream\":1,\"from\":\"127.0.0.")
    });
    assert_eq!(status(&http, &format!("/{KEY}.flv")), "HTTP/1.1 200");
    drop((publisher, player));
    wait_until("both ends were told", || has("publish_done") && has("play_done"));
    // Keys are in nothing that the hook is told.
    assert!(!has(KEY) && !has("second"));
    assert!(
        told.lock()
            .unwrap()
            .iter()
            .all(|text| text.starts_with("POST /live?token=secret-of-the-hook HTTP/1.1"))
    );
}

/// A hook that is not there lets nobody in, and its address is named without what may be secret in it.
#[test]
fn hook_that_does_not_answer_refuses() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("relay.log");
    let mut command = hawser(["live", "relay", "--json", "--key", KEY, "--listen", "127.0.0.1:0", "--state"]);
    command.arg(folder.path()).args(["--hook", &format!("http://{address}/?token=secret-of-the-hook")]);
    command.stderr(std::fs::File::create(&log).unwrap()).stdin(Stdio::null());
    let (process, hello) = spawn_and_read_line(command);
    let _relay = Running(process);
    let hello: serde_json::Value = serde_json::from_str(&hello).unwrap();
    let relay = format!("127.0.0.1:{}", hello["port"]);
    let arguments = ["live", "play", &relay, "--pin", hello["pin"].as_str().unwrap(), "--key", KEY];
    run_failing(hawser(arguments), 43);
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("may not play") && said.contains("cannot be reached"), "{said}");
    assert!(!said.contains("secret-of-the-hook"), "{said}");
}
