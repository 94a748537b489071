//! `hawser vr360`: what a head sees is there in time, over two links, one of which may die.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

const CHUNKS: usize = 40;
const TILES: usize = 72;
/// Ahead of what is shown; far more than what the links take, so that a busy machine does not matter.
const DELAY: &str = "2";

/// A film whose pictures nobody decodes: 40 chunks of 100 ms, 72 tiles each.
fn write_film(folder: &Path, bytes: usize) {
    let noise = noise(bytes + CHUNKS * TILES);
    let pictures = (0..CHUNKS * TILES).flat_map(|at| noise[at..at + bytes].to_vec());
    std::fs::write(folder.join("tiles.mjpeg"), pictures.collect::<Vec<u8>>()).unwrap();
    let description = json!({
        "format": "hawser vr360, version 1",
        "columns": 12, "rows": 6, "width": 480, "height": 240, "rate": 10.0, "chunks": CHUNKS,
        "sizes": vec![bytes; CHUNKS * TILES],
    });
    std::fs::write(folder.join("film.json"), description.to_string()).unwrap();
}

/// A server, and a folder for its film and other files.
struct Vr360 {
    process: Running,
    folder: TempDir,
    address: String,
    pin: String,
}

impl Vr360 {
    fn start(listen: &str, bytes: usize, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_film(folder.path(), bytes);
        std::fs::write(folder.path().join("rest.csv"), "time,yaw,pitch\n0,180,0\n").unwrap();
        let mut command =
            hawser(["vr360", "serve", "--json", "-q", "--listen", &format!("{listen}:0"), "--state"]);
        command.arg(folder.path().join("state")).arg(folder.path()).args(arguments);
        let (process, hello) = spawn_and_read_line(command);
        let hello: Value = serde_json::from_str(&hello).unwrap();
        let pin = hello["pin"].as_str().unwrap().to_owned();
        Vr360 { process: Running(process), address: format!("{listen}:{}", hello["port"]), pin, folder }
    }

    /// A player whose head rests: 16 tiles in view and 20 around them.
    fn play(&self, paths: [&str; 2], arguments: &[&str]) -> Command {
        let motion = self.folder.path().join("rest.csv");
        let mut command = hawser(["vr360", "play", &self.address, "--pin", &self.pin, "-q"]);
        command.args(["--path", paths[0], "--path", paths[1], "--delay", DELAY]);
        command.arg("--motion").arg(motion).args(arguments);
        command
    }
}

const LOOPBACK: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} of {value}"))
}

/// Plays the film; what is seen is there in time. The report.
fn plays_well(policy: &[&str]) -> Value {
    let server = Vr360::start("127.0.0.1", 3_000, policy);
    let report = run_json(server.play(LOOPBACK, &["--no-http"]));
    let expected =
        [("chunks", 40), ("seen", 640), ("in_time", 640), ("late", 0), ("missing", 0), ("unasked", 0)];
    for (name, value) in expected {
        assert_eq!(number(&report, name), value, "{name}: {report}");
    }
    assert_eq!((number(&report, "asked"), number(&report, "bytes")), (36 * 40, 36 * 40 * 3_000));
    report
}

/// Of each path.
fn carried(report: &Value, name: &str) -> Vec<u64> {
    report["paths"].as_array().unwrap().iter().map(|path| number(path, name)).collect()
}

/// Both links carry tiles, and the server tells which one carried which.
#[test]
fn what_is_seen_is_there_in_time() {
    let report = plays_well(&["--scheduler", "round-robin"]);
    let bytes = carried(&report, "tile_bytes");
    assert!(bytes.len() == 2 && bytes.iter().all(|bytes| *bytes > 0), "{report}");
    // Each tile once, with its head of ten bytes.
    assert_eq!(carried(&report, "tiles").iter().sum::<u64>(), 36 * 40, "{report}");
    assert_eq!(bytes.iter().sum::<u64>(), 36 * 40 * 3_010, "{report}");
}

/// RIDE's set gives each tile to one path.
#[test]
fn a_tile_goes_on_one_path_with_ride() {
    let report = plays_well(&["--policy", "ride"]);
    let (tiles, bytes) = (carried(&report, "tiles"), carried(&report, "tile_bytes"));
    for (tiles, bytes) in tiles.iter().zip(&bytes) {
        // A path that was not measured yet was tried with two datagrams.
        assert!(bytes.abs_diff(tiles * 3_010) < 6_000, "{report}");
    }
}

/// In a network namespace: the way back over one of two addresses is taken away, without a word to anybody.
#[test]
fn playing_goes_on_when_a_path_dies() {
    let (reply, played) = mpsc::channel();
    let namespace = std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!("skipped: no network namespaces here ({error}); run as root");
            return;
        }
        let ip = |arguments: &str| {
            let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
            assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        };
        ip("link set lo up");
        for address in ["10.9.1.1", "10.9.1.2", "10.9.1.3"] {
            ip(&format!("addr add {address}/32 dev lo"));
        }
        let server = Vr360::start("10.9.1.1", 3_000, &["--scheduler", "round-robin"]);
        let mut command = server.play(["10.9.1.2", "10.9.1.3"], &["--json", "--http", "10.9.1.2:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let _killed = Running(process);
        let page = hello["http"].as_str().unwrap().to_owned();
        let tiles = |at: usize| {
            let state: Value = serde_json::from_slice(&get(&page, "/state").1).unwrap();
            state["paths"][at]["tiles"].as_u64().unwrap_or(0)
        };
        wait_until("both paths carry tiles", || tiles(0) > 50 && tiles(1) > 50);
        ip("route del local 10.9.1.3 table local");
        reply.send(lines.last().unwrap().unwrap()).unwrap();
    });
    namespace.join().unwrap();
    let Ok(report) = played.recv() else { return };
    let report: Value = serde_json::from_str(&report).unwrap();
    // The last chunk is asked for two seconds after the first: the path died among them.
    for (name, value) in [("chunks", 40), ("seen", 640), ("in_time", 640), ("missing", 0)] {
        assert_eq!(number(&report, name), value, "{name}: {report}");
    }
    let paths = report["paths"].as_array().unwrap();
    let died = paths.iter().find(|path| path["local"].as_str().unwrap().starts_with("10.9.1.3")).unwrap();
    let lived = paths.iter().find(|path| path["local"].as_str().unwrap().starts_with("10.9.1.2")).unwrap();
    assert!(number(lived, "tiles") > number(died, "tiles"), "{report}");
}

/// An answer over HTTP: its first line and its body.
fn get(address: &str, path: &str) -> (String, Vec<u8>) {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
}

fn request(address: &str, text: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    (head.lines().next().unwrap().to_owned(), answer[end + 4..].to_vec())
}

/// The page has what is played: its tiles, their fates, the path of each, and the pictures as they were sent.
#[test]
fn the_page_shows_what_is_played() {
    let server = Vr360::start("127.0.0.1", 500, &[]);
    let command = server.play(LOOPBACK, &["--json", "--repeat", "--http", "127.0.0.1:0"]);
    let (process, hello) = spawn_and_read_line(command);
    let _player = Running(process);
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let page = hello["http"].as_str().unwrap();
    let state = || serde_json::from_slice::<Value>(&get(page, "/state").1).unwrap();
    wait_until("chunks are over", || number(&state()["counts"], "chunks") > 2);
    let state = state();
    let chunks = state["chunks"].as_array().unwrap();
    let over = chunks.iter().find(|chunk| number(chunk, "ends_ms") <= number(&state, "now_ms")).unwrap();
    assert_eq!(over["seen"].as_array().unwrap().len(), 16, "{over}");
    let tiles = over["tiles"].as_array().unwrap();
    assert!(tiles.len() == 36 && tiles.iter().all(|tile| tile["fate"] == "in_time"), "{over}");
    assert!(tiles.iter().all(|tile| tile["path"].is_u64()), "{over}");
    let (status, pictures) = get(page, &format!("/chunk/{}", over["number"]));
    assert_eq!((status.as_str(), pictures.len()), ("HTTP/1.1 200 OK", 36 * 506));
    let tile = usize::from(u16::from_be_bytes([pictures[0], pictures[1]]));
    let at = number(over, "number") as usize % CHUNKS * TILES + tile;
    assert_eq!(pictures[6..506], noise(CHUNKS * TILES + 500)[at..at + 500]);
    let (status, html) = get(page, "/");
    assert!(status.contains("200") && String::from_utf8(html).unwrap().starts_with("<!doctype html>"));
    assert!(get(page, "/film.json").0.contains("404"));
    assert!(request(page, "POST / HTTP/1.1\r\n\r\n").0.contains("405"));
    // The name of a web page that leads to this machine.
    let rebound = request(page, "GET /state HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(rebound.0.contains("421") && !String::from_utf8(rebound.1).unwrap().contains("chunks"));
}

#[test]
fn what_is_wrong_is_said() {
    let server = Vr360::start("127.0.0.1", 500, &[]);
    let file = |name: &str, text: &str| {
        let path = server.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let nonsense = file("nonsense.csv", "time,yaw,pitch\n0,1,2\nup,down,left\n");
    let play = ["vr360", "play", &server.address, "--pin", &server.pin, "--no-http"];
    let words = run_failing(hawser([&play[..], &["--motion", &nonsense]].concat()), 26);
    assert!(words.contains("nonsense.csv: line 3: expected time,yaw,pitch"), "{words}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let words = run_failing(server.play(LOOPBACK, &["--http", &address]), 91);
    assert!(words.contains(&format!("cannot listen on TCP {address}")), "{words}");
    let serve = |source: &str| hawser(["vr360", "serve", "--listen", "127.0.0.1:0", source]);
    let words = run_failing(serve("/nowhere/film.mp4"), 26);
    assert!(words.contains("cannot read /nowhere/film.mp4"), "{words}");
    let empty = tempfile::tempdir().unwrap();
    let words = run_failing(serve(empty.path().to_str().unwrap()), 26);
    assert!(words.contains("film.json"), "{words}");
    let words = run_failing(hawser(["vr360", "serve", "--tiles", "7x3"]), 2);
    assert!(words.contains("cannot be cut into 7x3 tiles"), "{words}");
    if has_ffmpeg() {
        let text = file("film.mp4", "this is no video\n");
        let words = run_failing(serve(&text), 26);
        assert!(words.contains("as a video; ffmpeg says:"), "{words}");
    }
}

/// The server goes in the middle: with a word, and without one.
#[test]
fn a_server_that_goes_is_told_plainly() {
    for (signal, expected) in
        [(Signal::SIGINT, "the other end has stopped"), (Signal::SIGKILL, "the connection was lost")]
    {
        let server = Vr360::start("127.0.0.1", 500, &[]);
        let mut command =
            server.play(LOOPBACK, &["--json", "--repeat", "--http", "127.0.0.1:0", "--timeout", "1"]);
        command.stderr(Stdio::piped());
        let (process, hello) = spawn_and_read_line(command);
        let hello: Value = serde_json::from_str(&hello).unwrap();
        let state =
            || serde_json::from_slice::<Value>(&get(hello["http"].as_str().unwrap(), "/state").1).unwrap();
        let mut player = Running(process);
        wait_until("it plays", || number(&state()["counts"], "bytes") > 0);
        server.process.signal(signal);
        let mut words = String::new();
        player.0.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!(player.0.wait().unwrap().code(), Some(56), "{words}");
        assert!(words.contains(expected), "{words}");
    }
}

fn has_ffmpeg() -> bool {
    let is_there = Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped in part: no ffmpeg here (apt-get install ffmpeg)");
    }
    is_there
}

/// A video is cut into the tiles that it has: each one decodes to its size.
#[test]
fn a_video_is_cut_into_pictures_of_tiles() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (video, film) = (folder.path().join("in.mkv"), folder.path().join("film"));
    let mut encode = Command::new("ffmpeg");
    encode
        .args([
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=640x320:rate=10",
            "-t",
            "2",
            "-c:v",
            "mpeg4",
        ])
        .arg(&video);
    assert!(run(encode).status.success());
    let mut make = hawser(["vr360", "make", "--tiles", "4x2", "--width", "320", "--rate", "5", "-o"]);
    make.arg(&film).arg(&video);
    let shape = run_json(make);
    assert_eq!((number(&shape, "chunks"), number(&shape, "height")), (10, 160), "{shape}");
    let mut probe = Command::new("ffmpeg");
    probe.args(["-v", "error", "-f", "mjpeg", "-i"]).arg(film.join("tiles.mjpeg"));
    let decoded = run({
        probe.args(["-f", "rawvideo", "-pix_fmt", "gray", "-fps_mode", "passthrough", "-"]);
        probe
    });
    // Ten chunks of eight tiles of 80x80 pixels.
    assert_eq!(decoded.stdout.len(), 10 * 8 * 80 * 80, "{}", String::from_utf8_lossy(&decoded.stderr));
}
