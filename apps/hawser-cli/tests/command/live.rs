//! `hawser live`: what goes in comes out, over several links, with programs that die in between.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use hawser_media::flv::{FlvReader, FlvWriter, Role, Tag, TagKind, file_header};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

/// A relay on loopback, and a folder for all that is written.
pub(crate) struct Relay {
    pub(crate) process: Running,
    folder: TempDir,
    pub(crate) address: String,
    pub(crate) pin: String,
    /// What it said when it began to listen.
    pub(crate) hello: Value,
}

pub(crate) const KEY: &str = "a-key";

impl Relay {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A port of its own choice: only then has the relay, restarted, the key of its stateless resets. Somebody else may take it first.
        let start = |_| {
            let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let (process, hello) = Self::spawn(&folder, &format!("127.0.0.1:{port}"), arguments, environment);
            println!("{hello}");
            hello["pin"].is_string().then_some((process, hello))
        };
        let (process, hello) = (0..5).find_map(start).expect("a relay that starts");
        let pin = hello["pin"].as_str().unwrap().to_owned();
        Relay { process, address: format!("127.0.0.1:{}", hello["port"]), pin, hello, folder }
    }

    /// Where it listens otherwise.
    pub(crate) fn port(&self, protocol: &str) -> &str {
        self.hello[protocol].as_str().unwrap()
    }

    /// What it has said until now.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.file("log")).unwrap()
    }

    fn spawn(
        folder: &TempDir,
        listen: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> (Running, Value) {
        let mut command = hawser(["live", "relay", "--json", "--key", KEY, "--listen", listen, "--state"]);
        command.arg(folder.path().join("state")).args(arguments).envs(environment.iter().copied());
        command.stderr(File::options().create(true).append(true).open(folder.path().join("log")).unwrap());
        let (process, hello) = spawn_and_read_line(command);
        (Running(process), serde_json::from_str(&hello).unwrap())
    }

    fn crash_and_restart(&mut self) {
        self.process.signal(Signal::SIGKILL);
        let _ = self.process.0.wait();
        self.process = Self::spawn(&self.folder, &self.address, &[], &[]).0;
    }

    /// A publisher or a player over two links of loopback.
    pub(crate) fn client(&self, verb: &str, key: &str, arguments: &[&str]) -> Command {
        let mut command = hawser(["live", verb, &self.address, "--pin", &self.pin, "--key", key, "--json"]);
        command.args(["--path", "127.0.0.1", "--path", "127.0.0.2"]).args(arguments);
        command
    }

    pub(crate) fn start_client(&self, verb: &str, arguments: &[&str]) -> Running {
        let mut command = self.client(verb, KEY, arguments);
        Running(command.args(["-q"]).stdout(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// Video and audio that nobody decodes: a key frame per second, noise for bodies.
pub(crate) fn clip(seconds: u32) -> Vec<Tag> {
    let noise = noise(40_000);
    let tag = |kind, timestamp, head: &[u8], body: &[u8]| Tag {
        kind,
        timestamp,
        data: [head, body].concat().into(),
    };
    let mut tags = vec![
        tag(TagKind::Script, 0, b"\x02\0\x0aonMetaData", &noise[..100]),
        tag(TagKind::Video, 0, &[0x17, 0, 0, 0, 0], &noise[..40]),
        tag(TagKind::Audio, 0, &[0xaf, 0], &noise[..5]),
    ];
    for frame in 0..25 * seconds {
        let (first, size) = if frame % 25 == 0 { (0x17, 36_000) } else { (0x27, 6_000) };
        let from = (frame as usize * 13) % 1_000;
        tags.push(tag(TagKind::Video, 40 * frame, &[first, 1, 0, 0, 0], &noise[from..from + size]));
        tags.push(tag(TagKind::Audio, 40 * frame + 20, &[0xaf, 1], &noise[from..from + 300]));
    }
    tags
}

pub(crate) fn write_clip(path: &str, tags: &[Tag]) {
    let mut writer = FlvWriter::default();
    let mut bytes = file_header(true).to_vec();
    tags.iter().for_each(|tag| bytes.extend_from_slice(&writer.write(tag)));
    std::fs::write(path, bytes).unwrap();
}

pub(crate) fn read_clip(path: &str) -> Vec<Tag> {
    let mut reader = FlvReader::default();
    reader.push(&std::fs::read(path).unwrap());
    std::iter::from_fn(|| reader.next_tag().unwrap()).collect()
}

/// The tags that need no header to be compared: what is shown and heard.
pub(crate) fn shown(tags: &[Tag]) -> Vec<(u32, bytes::Bytes)> {
    tags.iter().filter(|tag| !tag.role().is_header()).map(|tag| (tag.timestamp, tag.data.clone())).collect()
}

/// Two links, every byte of every tag; the player was there first.
#[test]
fn what_goes_in_comes_out() {
    let relay = Relay::start(&["--reliable"]);
    let (input, output) = (relay.file("in.flv"), relay.file("out.flv"));
    let tags = clip(3);
    write_clip(&input, &tags);
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    let publisher = relay.start_client("publish", &["--input", &input, "--once", "--reliable"]);
    let (sent, sent_well) = publisher.report();
    let (played, played_well) = player.report();
    assert!(sent_well && played_well, "{sent} {played}");
    assert_eq!(read_clip(&output), tags);
    for name in ["padded_frames", "missing_tags", "skipped_tags", "repeated_tags", "timestamps_jumped"] {
        assert_eq!(played[name], 0, "{played}");
    }
    assert_eq!((&played["frames"], &played["key_frames"]), (&Value::from(75), &Value::from(3)));
    assert_eq!(sent["paths"].as_array().unwrap().len(), 2, "{sent}");
}

/// What a deadline of a millisecond gives up is padded, and nothing else changes.
#[test]
fn what_is_given_up_is_padded_and_named() {
    let relay = Relay::start(&[]);
    let (input, output) = (relay.file("in.flv"), relay.file("out.flv"));
    let tags = clip(2);
    write_clip(&input, &tags);
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    // Smaller than any time in which a frame of 6 kB leaves.
    let publisher = relay.start_client("publish", &["--input", &input, "--deadline", "0.000001"]);
    let (played, _) = {
        wait_until("the last tag is there", || {
            std::fs::metadata(&output).map_or(0, |file| file.len())
                >= std::fs::metadata(&input).unwrap().len()
        });
        player.signal(Signal::SIGINT);
        player.report()
    };
    drop(publisher);
    let got = read_clip(&output);
    assert_eq!(got.len(), tags.len());
    let named: Vec<u64> = played["padded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame["timestamp_ms"].as_u64().unwrap())
        .collect();
    assert!(!named.is_empty(), "{played}");
    for (got, sent) in got.iter().zip(&tags) {
        assert_eq!((got.kind, got.timestamp, got.data.len()), (sent.kind, sent.timestamp, sent.data.len()));
        let is_whole = got.data == sent.data;
        assert!(is_whole || sent.role() == Role::DeltaFrame, "{:?} at {}", sent.role(), sent.timestamp);
        let is_named = named.contains(&u64::from(sent.timestamp));
        assert!(is_whole || is_named, "{} is not named", sent.timestamp);
    }
}

/// The relay is killed, then the publisher; the player's file goes on each time and its times never go back.
#[test]
fn whoever_dies_the_player_goes_on() {
    let mut relay = Relay::start(&[]);
    let (input, output) = (relay.file("in.flv"), relay.file("out.flv"));
    let tags = clip(60);
    write_clip(&input, &tags);
    let player = relay.start_client("play", &["--output", &output]);
    let publisher = relay.start_client("publish", &["--input", &input]);
    let has_more = |what: &str| {
        let before = std::fs::metadata(&output).map_or(0, |file| file.len());
        wait_until(what, || std::fs::metadata(&output).map_or(0, |file| file.len()) > before + 300_000);
    };
    has_more("the stream begins");
    relay.crash_and_restart();
    has_more("it goes on after the relay was killed");
    publisher.signal(Signal::SIGKILL);
    drop(publisher);
    let publisher = relay.start_client("publish", &["--input", &input]);
    has_more("it goes on after the publisher was killed");
    drop(publisher);
    player.signal(Signal::SIGINT);
    let (played, _) = player.report();
    assert_eq!((&played["encoder_restarts"], &played["padded_frames"]), (&Value::from(1), &Value::from(0)));
    assert_eq!(played["connections"], 2, "{played}");
    let got = read_clip(&output);
    assert!(got.windows(2).all(|pair| pair[0].timestamp <= pair[1].timestamp));
    // What is there is what was sent: of the first publisher and of the second.
    let bodies: std::collections::HashSet<Vec<u8>> = tags.iter().map(|tag| tag.data.to_vec()).collect();
    assert!(got.iter().all(|tag| bodies.contains(&tag.data[..])));
    let headers = got.iter().filter(|tag| tag.role() == Role::VideoHeader).count();
    assert!(headers >= 2, "the second encoder brings its own");
}

/// What the encoder sent last can no longer be handed over: the publisher ends, and says so.
#[test]
fn a_publisher_that_is_done_does_not_wait_for_a_dead_relay() {
    let relay = Relay::start(&[]);
    let input = relay.file("in.flv");
    write_clip(&input, &clip(3));
    let mut command = relay.client("publish", KEY, &["--input", &input, "--once", "-q"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut publisher = Running(command.spawn().unwrap());
    std::thread::sleep(std::time::Duration::from_secs(1));
    relay.process.signal(Signal::SIGKILL);
    let mut words = String::new();
    publisher.0.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(!publisher.0.wait().unwrap().success());
    assert!(words.contains("given up after"), "{words}");
}

/// The video goes on over the other link; with nothing left of any the publisher ends and says so.
#[test]
fn a_publisher_keeps_to_the_caps_of_its_links() {
    let relay = Relay::start(&[]);
    let input = relay.file("in.flv");
    write_clip(&input, &clip(3));
    let publish = ["--input", &input, "--once", "--reliable", "--cap", "127.0.0.2=60kB/1h"];
    let (sent, is_well) = relay.start_client("publish", &publish).report();
    assert!(is_well && sent["frames"] == 75, "{sent}");
    let cap = &sent["caps"][0];
    assert!(cap["resting"] == true && cap["used_bytes"].as_u64().unwrap() < 120_000, "{cap}");
    let publish = [&publish[..], &["--cap", "127.0.0.1=60kB/1h"]].concat();
    let words = run_failing(relay.client("publish", KEY, &publish), 92);
    assert!(words.contains("127.0.0.1 (60kB/1h) is used up, and no other link works"), "{words}");
}

#[test]
fn what_is_wrong_is_said() {
    let relay = Relay::start(&[]);
    for (verb, argument) in [("publish", "--rtmp=127.0.0.1:0"), ("play", "--http=127.0.0.1:0")] {
        let words = run_failing(relay.client(verb, "another", &[argument]), 43);
        assert!(words.contains("no stream has this key"), "{words}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let words = run_failing(relay.client("publish", KEY, &["--rtmp", &address]), 91);
    assert!(words.contains(&address), "{words}");
    // A tag whose size lies.
    let input = relay.file("broken.flv");
    write_clip(&input, &clip(1)[..10]);
    let mut bytes = std::fs::read(&input).unwrap();
    bytes[16] ^= 1;
    std::fs::write(&input, &bytes).unwrap();
    let words = run_failing(relay.client("publish", KEY, &["--input", &input]), 26);
    assert!(words.contains("the tag at byte 13"), "{words}");
    let words = run_failing(hawser(["live", "play", "host", "--key", "a/b"]), 2);
    assert!(words.contains("expected a key"), "{words}");
}

#[test]
fn http_players_are_served_and_others_refused() {
    let relay = Relay::start(&[]);
    let input = relay.file("in.flv");
    let tags = clip(20);
    write_clip(&input, &tags);
    let _publisher = relay.start_client("publish", &["--input", &input]);
    let (process, hello) = spawn_and_read_line({
        let mut command = relay.client("play", KEY, &["--http", "127.0.0.1:0", "-q"]);
        command.stdin(Stdio::null());
        command
    });
    let _player = Running(process);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(hello["http"].as_str().unwrap()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let answer = |request: &str| {
        let mut line = String::new();
        BufReader::new(ask(request)).read_line(&mut line).unwrap();
        line
    };
    assert!(answer("GET /other.flv HTTP/1.1\r\n\r\n").contains("404"));
    assert!(answer("POST /live.flv HTTP/1.1\r\n\r\n").contains("405"));
    assert!(answer("GET /live.flv HTTP/1.1\r\nHost: evil.example\r\n\r\n").contains("404"));
    let mut stream = BufReader::new(ask("GET /live.flv HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).unwrap();
    }
    let (mut reader, mut got) = (FlvReader::default(), Vec::new());
    while got.len() < 60 {
        let block = stream.fill_buf().unwrap().to_vec();
        stream.consume(block.len());
        reader.push(&block);
        got.extend(std::iter::from_fn(|| reader.next_tag().unwrap()));
    }
    assert_eq!(got.iter().find(|tag| !tag.role().is_header()).map(Tag::role), Some(Role::KeyFrame));
    let bodies: Vec<_> = shown(&tags).into_iter().map(|(_, body)| body).collect();
    assert!(shown(&got).iter().all(|(_, body)| bodies.contains(body)));
}

/// Whether ffmpeg and ffprobe are there.
pub(crate) fn has_ffmpeg() -> bool {
    let has = |name: &str| Command::new(name).arg("-version").stdout(Stdio::null()).status().is_ok();
    let is_there = has("ffmpeg") && has("ffprobe");
    if !is_there {
        eprintln!("skipped: no ffmpeg here (apt-get install ffmpeg)");
    }
    is_there
}

/// Digests of the decoded frames of the first video stream: time and digest.
pub(crate) fn frame_digests(input: &Path) -> Vec<String> {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-i"]).arg(input).args(["-map", "0:v", "-f", "framemd5", "-"]);
    let output = run(command);
    let text = String::from_utf8(output.stdout).unwrap();
    let frames = text.lines().filter(|line| !line.starts_with('#'));
    frames.map(|line| line.rsplit(',').next().unwrap().trim().to_owned()).collect()
}

/// A foreign encoder, through RTMP and over two links; decoded, the video is that of the encoder's own file.
#[test]
fn what_ffmpeg_publishes_is_decoded_as_it_was_encoded() {
    if !has_ffmpeg() {
        return;
    }
    let relay = Relay::start(&[]);
    let (direct, output) = (relay.file("direct.flv"), relay.file("out.flv"));
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    let mut publisher = relay.client("publish", KEY, &["--rtmp", "127.0.0.1:0", "--once", "-q"]);
    let mut process = publisher.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    let mut hello = String::new();
    lines.read_line(&mut hello).unwrap();
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let _publisher = Running(process);
    let url = |key: &str| format!("rtmp://{}/live/{key}", hello["rtmp"].as_str().unwrap());
    let encode = |seconds: &str, outputs: &[&str]| {
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-y", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25"]);
        command.args([
            "-f",
            "lavfi",
            "-i",
            "sine=frequency=440",
            "-t",
            seconds,
            "-map",
            "0:v",
            "-map",
            "1:a",
        ]);
        command.args(["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "0", "-c:a", "aac"]);
        command.args(outputs);
        run(command)
    };
    let refused = encode("1", &["-f", "flv", &url("wrong")]);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("wrong stream key"), "{words}");
    let tee = format!("[f=flv]{}|[f=flv]{direct}", url(KEY));
    let encoded = encode("4", &["-flags", "+global_header", "-f", "tee", &tee]);
    assert!(encoded.status.success(), "{}", String::from_utf8_lossy(&encoded.stderr));
    let (played, played_well) = player.report();
    assert!(played_well, "{played}");
    let (sent, got) = (frame_digests(Path::new(&direct)), frame_digests(Path::new(&output)));
    assert_eq!((sent.len(), &sent), (100, &got));
}

/// A process that says in its first line of JSON where it listens.
pub(crate) fn start_listening(mut command: Command, field: &str) -> (Running, String) {
    command.stdin(Stdio::null()).arg("-q");
    let (process, hello) = spawn_and_read_line(command);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    (Running(process), hello[field].as_str().unwrap().to_owned())
}

/// ffmpeg's test picture and a tone, in real time, to this address.
pub(crate) fn transport_stream_to(url: &str, seconds: &str) -> Command {
    let mut command = Command::new("ffmpeg");
    command.args([
        "-v",
        "error",
        "-re",
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=320x240:rate=25",
        "-f",
        "lavfi",
        "-i",
        "sine",
    ]);
    command.args([
        "-t",
        seconds,
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-g",
        "25",
        "-bf",
        "2",
        "-pix_fmt",
        "yuv420p",
    ]);
    command.args(["-c:a", "aac", "-f", "mpegts", url]).stdin(Stdio::null());
    command
}

/// What ffprobe finds in three seconds: codecs, and what it complains of.
pub(crate) fn probed(input: &str) -> (Vec<String>, String) {
    let mut command = Command::new("timeout");
    command.args(["20", "ffprobe", "-v", "warning", "-read_intervals", "%+3", "-count_packets"]);
    command.args(["-show_entries", "stream=codec_name", "-of", "csv=p=0", "-i", input]);
    let output = run(command);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut codecs: Vec<String> =
        text.split_whitespace().map(|line| line.trim_matches(',').to_owned()).collect();
    codecs.sort_unstable();
    codecs.dedup();
    (codecs, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A transport stream over UDP; what is told to the encoder's driver is the most that it may send, since all of it fits.
#[test]
fn a_transport_stream_over_udp_is_published_and_the_bit_rate_is_told() {
    if !has_ffmpeg() {
        return;
    }
    let relay = Relay::start(&[]);
    let output = relay.file("out.ts");
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    let arguments =
        ["--udp", "127.0.0.1:0", "--once", "--bit-rate", "100k-8M", "--rate-socket", "127.0.0.1:0"];
    let mut command = relay.client("publish", KEY, &arguments);
    let mut process = command.args(["-q"]).stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut hello = |field: &str| {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        line[field].as_str().unwrap().to_owned()
    };
    let (udp, rate) = (hello("udp"), hello("rate_socket"));
    let _publisher = Running(process);
    let encoded = run(transport_stream_to(&format!("udp://{udp}?pkt_size=1316"), "4"));
    assert!(encoded.status.success(), "{}", String::from_utf8_lossy(&encoded.stderr));
    let told = BufReader::new(TcpStream::connect(rate).unwrap()).lines().nth(1).unwrap().unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["bit_rate"], 8_000_000, "{told}");
    let (played, played_well) = player.report();
    assert!(played_well, "{played}");
    // UDP over loopback loses nothing, and the last picture is complete when the source has been silent.
    assert_eq!(frame_digests(Path::new(&output)).len(), 100);
    let (codecs, complaints) = probed(&output);
    assert_eq!((codecs.len(), complaints.as_str()), (2, ""));
}

/// Keys that a file hides are in no log and no trace of any end, and those that are wrong neither.
#[test]
fn logs_and_traces_of_live_hold_no_keys() {
    const KEYS: [&str; 3] = ["stream-key-of-somebody", "view-key-of-somebody", "wrong-key-of-nobody"];
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(at("traces")).unwrap();
    std::fs::write(at("keys"), format!("{}={}\n", KEYS[0], KEYS[1])).unwrap();
    let detailed = |mut command: Command, log: &str| {
        command.args(["-vvv", "--qlog", &at("traces")]);
        command.stderr(std::fs::File::create(at(log)).unwrap());
        command
    };
    let relay = hawser(["live", "relay", "--json", "--listen", "127.0.0.1:0", "--keys-file", &at("keys")]);
    let mut relay = detailed(relay, "relay.log");
    let (relay, hello) = spawn_and_read_line({
        relay.args(["--state", &at("state")]);
        relay
    });
    let (relay, hello) = (Running(relay), serde_json::from_str::<Value>(&hello).unwrap());
    let address = format!("127.0.0.1:{}", hello["port"]);
    let client = |verb: &str, key: &str, more: &[&str], log: &str| {
        let mut command = hawser(["live", verb, &address, "--pin", hello["pin"].as_str().unwrap(), "--json"]);
        command.args(more).env("HAWSER_LIVE_KEY", key);
        detailed(command, log)
    };
    write_clip(&at("in.flv"), &clip(1));
    let (input, output) = (["--input", &at("in.flv"), "--once"], ["--output", &at("out.flv"), "--once"]);
    let mut player = client("play", KEYS[1], &output, "player.log");
    let player = Running(player.stdout(Stdio::piped()).spawn().unwrap());
    for (key, log, is_right) in [(KEYS[0], "publisher.log", true), (KEYS[2], "wrong.log", false)] {
        let output = run(client("publish", key, &input, log));
        assert_eq!(output.status.success(), is_right, "{log}");
        std::fs::write(at(log), output.stderr).unwrap();
    }
    assert!(player.report().1);
    drop(relay);
    let logs = ["relay.log", "player.log", "publisher.log", "wrong.log"].map(|name| at(name).into());
    let traces: Vec<_> =
        std::fs::read_dir(at("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(traces.len() >= 6, "traces of both ends: {traces:?}");
    for path in logs.into_iter().chain(traces) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.is_empty(), "{}", path.display());
        assert_eq!(key_in(&text, &KEYS), None, "{}: {text}", path.display());
    }
}
