//! SRT at both ends of `hawser live`: encoders that call, players that call, and servers that are called.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::live::{KEY, Relay, frame_digests, has_ffmpeg, probed, start_listening, transport_stream_to};
use crate::support::*;

/// Whether ffmpeg is there and has SRT.
pub(crate) fn has_srt() -> bool {
    if !has_ffmpeg() {
        return false;
    }
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-protocols"]);
    let text = String::from_utf8(run(command).stdout).unwrap();
    let has_srt = text.lines().any(|line| line.trim() == "srt");
    if !has_srt {
        eprintln!("skipped: ffmpeg here has no SRT");
    }
    has_srt
}

/// The first packet of a caller over SRT (draft-sharabayko-srt-01 section 3.2.1), or with `cookie` one that answers a listener.
fn srt_handshake(socket: u32, cookie: u32) -> Vec<u8> {
    let (version, kind) = if cookie == 0 { (4_u32, 1_u32) } else { (5, 0xffff_ffff) };
    let words =
        [0x8000_0000, 0, 0, 0, version, 2, 7, 1_500, 8_192, kind, socket, cookie, 0x7f00_0001, 0, 0, 0];
    words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
}

/// Noise, first packets and answers with forged cookies at a port for SRT: little is held for them, and who comes from elsewhere is
/// answered at once.
fn flood(process: u32, srt: &str) {
    const PACKETS: u32 = 20_000;
    let answers = || {
        let caller = UdpSocket::bind("127.0.0.2:0").unwrap();
        caller.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        // As callers do, until somebody answers: what is lost in the kernel's queue is no matter here.
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            caller.send_to(&srt_handshake(9, 0), srt).unwrap();
            let mut answer = [0; 1_500];
            if caller.recv(&mut answer).is_ok() {
                return began.elapsed();
            }
        }
        panic!("no answer");
    };
    answers();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let (before, attacker) = (memory(), UdpSocket::bind("127.0.0.1:0").unwrap());
    for n in 0..PACKETS {
        let datagram = match n % 4 {
            0 => srt_handshake(n, 0),
            1 => srt_handshake(n, n | 1),
            2 => vec![n as u8; 1_316],
            // A control packet of some kind for a socket that is not there.
            _ => [0x8000_0000 | (n % 12) << 16, 0, 0, n].iter().flat_map(|word| word.to_be_bytes()).collect(),
        };
        attacker.send_to(&datagram, srt).unwrap();
        if n.is_multiple_of(64) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let waited = answers();
    let held = memory().saturating_sub(before);
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert!(held < 16 << 10, "{held} KiB");
}

#[test]
fn a_flood_at_the_ports_for_srt_holds_little_and_others_are_answered() {
    let relay = Relay::start(&["--srt", "127.0.0.1:0"]);
    flood(relay.process.0.id(), relay.port("srt"));
    let (publisher, srt) = start_listening(relay.client("publish", KEY, &["--srt", "127.0.0.1:0"]), "srt");
    flood(publisher.0.id(), &srt);
}

/// An encoder that calls over SRT; players take it in every format, a server is called over SRT, and the relay records.
#[test]
fn what_comes_over_srt_goes_out_in_every_format() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recordings = folder.path().join("recordings");
    let relay = Relay::start(&["--record", recordings.to_str().unwrap()]);
    let (publisher, srt) = start_listening(relay.client("publish", KEY, &["--srt", "127.0.0.1:0"]), "srt");
    let wrong = run(transport_stream_to(&format!("srt://{srt}?streamid=wrong"), "1"));
    assert!(!wrong.status.success());
    let mut encoder = transport_stream_to(&format!("srt://{srt}?streamid=publish:live/{KEY}"), "60");
    let encoder = Running(encoder.spawn().unwrap());
    // A server that is called: it writes what comes.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let called = folder.path().join("called.ts");
    let mut server = Command::new("ffmpeg");
    server.args([
        "-v",
        "error",
        "-y",
        "-i",
        &format!("srt://127.0.0.1:{port}?mode=listener"),
        "-c",
        "copy",
        "-t",
        "5",
    ]);
    let server = Running(server.arg(&called).stdin(Stdio::null()).spawn().unwrap());
    let target = format!("srt://127.0.0.1:{port}?streamid=x");
    let (player, http) =
        start_listening(relay.client("play", KEY, &["--http", "127.0.0.1:0", "--srt", &target]), "http");
    let wanted = ["aac", "h264"];
    // A service that takes RTMP.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (url, served) = (format!("rtmp://127.0.0.1:{port}/live/x"), folder.path().join("served.flv"));
    let mut service = Command::new("ffmpeg");
    service.args(["-v", "error", "-y", "-f", "flv", "-listen", "1", "-i", &url, "-c", "copy", "-t", "5"]);
    let mut service = Running(service.arg(&served).stdin(Stdio::null()).spawn().unwrap());
    let _pusher = relay.start_client("play", &["--rtmp", &url]);
    for format in ["flv", "mp4", "ts", "m3u8"] {
        let (codecs, complaints) = probed(&format!("http://{http}/live.{format}"));
        // ffmpeg reads the header of MP4 once more whenever it has loaded the playlist again, and says so.
        let complaints: Vec<&str> =
            complaints.lines().filter(|line| !line.contains("duplicated MOOV")).collect();
        assert_eq!(
            (codecs, complaints.join("\n")),
            (wanted.map(str::to_owned).to_vec(), String::new()),
            "{format}"
        );
    }
    let mut page = TcpStream::connect(&http).unwrap();
    page.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    page.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200") && text.contains("<video") && text.contains("script-src 'self'"),
        "{text}"
    );
    let mut server = server;
    assert!(server.0.wait().unwrap().success() && service.0.wait().unwrap().success());
    for file in [&called, &served] {
        let (codecs, complaints) = probed(file.to_str().unwrap());
        assert_eq!((codecs, complaints.as_str()), (wanted.map(str::to_owned).to_vec(), ""), "{file:?}");
    }
    drop((encoder, publisher, player));
    // Killed at once: what was recorded until then can be read.
    relay.process.signal(Signal::SIGKILL);
    let mut files: Vec<_> =
        std::fs::read_dir(&recordings).unwrap().map(|entry| entry.unwrap().path()).collect();
    // An encoder whose picture comes a second behind its sound begins with a file of sound alone.
    files.sort();
    let file = files.last().unwrap();
    let (codecs, complaints) = probed(file.to_str().unwrap());
    assert_eq!((codecs, complaints.as_str()), (wanted.map(str::to_owned).to_vec(), ""));
    assert!(frame_digests(file).len() > 100);
}

/// A third link, besides those that every client has.
const LINK: [&str; 2] = ["--path", "127.0.0.3"];

/// An encoder that calls a publisher over SRT for a minute, and the publisher.
fn start_encoder(relay: &Relay) -> (Running, Running) {
    let publish = relay.client("publish", KEY, &[&LINK[..], &["--srt", "127.0.0.1:0"]].concat());
    let (publisher, srt) = start_listening(publish, "srt");
    let mut encoder = transport_stream_to(&format!("srt://{srt}?streamid={KEY}"), "60");
    (Running(encoder.spawn().unwrap()), publisher)
}

/// What ffprobe makes of a stream over SRT, with this passphrase: whether it could be opened.
fn opens(url: &str, passphrase: Option<&str>) -> bool {
    let mut command = Command::new("timeout");
    command.args(["20", "ffprobe", "-v", "error", "-read_intervals", "%+1", "-show_entries"]);
    command.args(["stream=codec_name", "-of", "csv=p=0"]);
    command.args(passphrase.map(|words| ["-passphrase", words]).into_iter().flatten());
    command.args(["-i", url]);
    let output = run(command);
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("h264")
}

/// From an encoder over SRT and three links to players over HLS and SRT, at the relay and behind it. Those who come late see a picture,
/// and those with a wrong name are told so.
#[test]
fn srt_goes_over_three_links_to_players_over_hls_and_srt() {
    if !has_srt() {
        return;
    }
    let relay = Relay::start(&["--srt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    let _encoder = start_encoder(&relay);
    let play = relay.client("play", KEY, &[&LINK[..], &["--srt", "127.0.0.1:0"]].concat());
    let (_player, behind) = start_listening(play, "srt");
    let (here, http) = (relay.port("srt"), relay.port("http"));
    let wanted = vec!["aac".to_owned(), "h264".to_owned()];
    for url in [
        format!("srt://{here}?streamid={KEY}"),
        format!("srt://{here}?streamid=#!::r=live/{KEY},m=request"),
        format!("srt://{behind}"),
        format!("http://{http}/{KEY}.m3u8"),
        format!("http://{http}/{KEY}.ts"),
    ] {
        let (codecs, complaints) = probed(&url);
        let complaints: Vec<&str> =
            complaints.lines().filter(|line| !line.contains("duplicated MOOV")).collect();
        assert_eq!((&codecs, complaints.join("\n")), (&wanted, String::new()), "{url}");
    }
    for (id, words) in [
        ("wrong", "no stream has the name in its stream id"),
        ("publish:live/a-key", "encoders call `hawser live publish --srt`"),
    ] {
        assert!(!opens(&format!("srt://{here}?streamid={id}"), None), "{id}");
        assert!(relay.log().contains(words), "{}", relay.log());
        assert!(!relay.log().contains(id), "{}", relay.log());
    }
    assert!(!opens(&format!("srt://{behind}?streamid=other"), None));
    // What is decoded is whole: as many pictures as were asked for, and no complaint.
    let late = relay.file("late.ts");
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "warning", "-y", "-i", &format!("srt://{here}?streamid={KEY}")]);
    command.args(["-c", "copy", "-frames:v", "75", &late]).stdin(Stdio::null());
    let copied = run(command);
    let said = String::from_utf8_lossy(&copied.stderr);
    assert!(copied.status.success() && said.is_empty(), "{said}");
    assert!(frame_digests(std::path::Path::new(&late)).len() >= 70);
}

/// With a passphrase players have to encrypt with it, and are told if they do not.
#[test]
fn players_over_srt_need_the_passphrase() {
    if !has_srt() {
        return;
    }
    let (right, wrong) = ("a-passphrase-of-srt", "another-passphrase");
    let relay = Relay::start_with(&["--srt", "127.0.0.1:0"], &[("HAWSER_SRT_PASSPHRASE", right)]);
    let _encoder = start_encoder(&relay);
    let url = format!("srt://{}?streamid={KEY}", relay.port("srt"));
    assert!(opens(&url, Some(right)));
    assert!(!opens(&url, Some(wrong)));
    assert!(relay.log().contains("another passphrase"), "{}", relay.log());
    assert!(!opens(&url, None));
    assert!(relay.log().contains("the other has none"), "{}", relay.log());
    for secret in [right, wrong] {
        assert!(!relay.log().contains(secret));
    }
}

/// A player that stops to take what it is sent is closed within seconds, and others do not notice.
#[test]
fn player_over_srt_that_takes_nothing_is_closed() {
    if !has_srt() {
        return;
    }
    let relay = Relay::start(&["--srt", "127.0.0.1:0"]);
    let _encoder = start_encoder(&relay);
    let url = format!("srt://{}?streamid={KEY}", relay.port("srt"));
    let player = || {
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "quiet", "-i", &url, "-map", "0", "-c", "copy", "-f", "mpegts", "-"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Running(command.spawn().unwrap())
    };
    let (slow, mut other) = (player(), player());
    wait_until("both play", || relay.log().matches("plays over SRT").count() == 2);
    slow.signal(Signal::SIGSTOP);
    wait_until("one is closed", || relay.log().contains("plays no longer over SRT"));
    let log = relay.log();
    assert!(log.contains("takes less than the stream has") || log.contains("gone without a word"), "{log}");
    assert_eq!(log.matches("plays no longer").count(), 1, "{log}");
    assert!(other.0.try_wait().unwrap().is_none());
}
