//! What encoders send besides H.264 with AAC, end to end and decoded: HEVC, AV1, sound alone, variable frame rates, B-frames.

use std::path::Path;
use std::process::{Command, Stdio};

use hawser_media::flv::{Tag, TagKind};

use crate::live::{KEY, Relay, frame_digests, has_ffmpeg, probed, start_listening, write_clip};
use crate::live_srt::has_srt;
use crate::support::*;

/// ffmpeg with a test picture of 25 frames a second, a tone, and these options.
fn ffmpeg(options: &[&str]) -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-y", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25"]);
    command.args(["-re", "-f", "lavfi", "-i", "sine"]).args(options).stdin(Stdio::null());
    command
}

/// Whether this ffmpeg has an encoder.
fn has_encoder(name: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-encoders"]);
    let text = String::from_utf8(run(command).stdout).unwrap();
    let is_there = text.split_whitespace().any(|word| word == name);
    if !is_there {
        eprintln!("skipped: ffmpeg here has no {name}");
    }
    is_there
}

fn names(codecs: &[&str]) -> Vec<String> {
    codecs.iter().map(|&codec| codec.to_owned()).collect()
}

/// When the pictures of a file are shown, in milliseconds after the first one.
fn times_of_pictures(file: &str) -> Vec<i64> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time"]);
    command.args(["-of", "csv=p=0", file]);
    let text = String::from_utf8(run(command).stdout).unwrap();
    let times = text.split_whitespace().filter_map(|line| line.trim_matches(',').parse::<f64>().ok());
    let mut times: Vec<i64> = times.map(|seconds| (seconds * 1e3).round() as i64).collect();
    times.sort_unstable();
    let first = times.first().copied().unwrap_or_default();
    times.iter_mut().for_each(|time| *time -= first);
    times
}

/// What an encoder sends over RTMP and keeps for itself, and what a player that was there first has got of it.
fn through_rtmp(options: &[&str]) -> (String, String, Relay) {
    let relay = Relay::start(&["--reliable"]);
    let (direct, output) = (relay.file("direct.flv"), relay.file("out.flv"));
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    let publish = relay.client("publish", KEY, &["--rtmp", "127.0.0.1:0", "--once", "--reliable"]);
    let (_publisher, rtmp) = start_listening(publish, "rtmp");
    let tee = format!("[f=flv]rtmp://{rtmp}/live/{KEY}|[f=flv]{direct}");
    let encoded = run(ffmpeg(&[options, &["-flags", "+global_header", "-f", "tee", &tee]].concat()));
    assert!(encoded.status.success(), "{}", String::from_utf8_lossy(&encoded.stderr));
    let (played, is_well) = player.report();
    assert!(is_well, "{played}");
    (direct, output, relay)
}

const H264: [&str; 8] = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p"];

#[test]
fn variable_frame_rate_arrives_with_the_times_of_the_encoder() {
    if !has_ffmpeg() {
        return;
    }
    // Two of seven pictures are left out, so that they are 40, 80 and 120 ms apart.
    let selected = ["-vf", "select='gt(mod(n,7),0)*gt(mod(n,7)-1,0)'", "-vsync", "vfr"];
    let options =
        [&["-map", "0:v", "-map", "1:a", "-t", "3"], &selected[..], &H264, &["-c:a", "aac"]].concat();
    let (direct, output, _relay) = through_rtmp(&options);
    let (sent, got) = (times_of_pictures(&direct), times_of_pictures(&output));
    let mut gaps: Vec<i64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    gaps.dedup();
    assert!(gaps.len() > 1 && sent.len() > 40, "{sent:?}");
    assert_eq!(sent, got);
    assert_eq!(frame_digests(Path::new(&direct)), frame_digests(Path::new(&output)));
}

#[test]
fn b_frames_are_decoded_as_they_were_encoded() {
    if !has_ffmpeg() {
        return;
    }
    let b_frames = ["-bf", "3", "-b_strategy", "0", "-c:a", "aac"];
    let options = [&["-map", "0:v", "-map", "1:a", "-t", "3"], &H264[..], &b_frames].concat();
    let (direct, output, _relay) = through_rtmp(&options);
    let sent = frame_digests(Path::new(&direct));
    assert_eq!((sent.len(), &sent), (75, &frame_digests(Path::new(&output))));
    assert_eq!(times_of_pictures(&direct), times_of_pictures(&output));
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "v", "-show_entries", "frame=pict_type"]);
    command.args(["-of", "csv=p=0", &output]);
    let types = String::from_utf8(run(command).stdout).unwrap();
    assert!(types.matches('B').count() > 30, "{types}");
}

/// Sound alone, from an encoder that never sends a picture: every kind of player hears it.
#[test]
fn sound_alone_is_heard_by_every_kind_of_player() {
    if !has_srt() {
        return;
    }
    let relay = Relay::start(&["--http", "127.0.0.1:0", "--srt", "127.0.0.1:0"]);
    let (_publisher, rtmp) =
        start_listening(relay.client("publish", KEY, &["--rtmp", "127.0.0.1:0"]), "rtmp");
    let url = format!("rtmp://{rtmp}/live/{KEY}");
    let mut encoder = ffmpeg(&["-map", "1:a", "-c:a", "aac", "-t", "60", "-f", "flv", &url]);
    let _encoder = Running(encoder.spawn().unwrap());
    let (http, srt) = (relay.port("http"), relay.port("srt"));
    for url in ["flv", "mp4", "ts", "m3u8"]
        .map(|format| format!("http://{http}/{KEY}.{format}"))
        .into_iter()
        .chain([format!("srt://{srt}?streamid={KEY}")])
    {
        let (codecs, complaints) = probed(&url);
        let complaints: Vec<&str> =
            complaints.lines().filter(|line| !line.contains("duplicated MOOV")).collect();
        assert_eq!((codecs, complaints.join("\n")), (names(&["aac"]), String::new()), "{url}");
    }
}

/// HEVC, which old encoders send over SRT only.
#[test]
fn hevc_over_srt_goes_out_over_http_and_srt() {
    if !has_srt() || !has_encoder("libx265") {
        return;
    }
    let relay = Relay::start(&["--http", "127.0.0.1:0", "--srt", "127.0.0.1:0"]);
    let (_publisher, calls) = start_listening(relay.client("publish", KEY, &["--srt", "127.0.0.1:0"]), "srt");
    let url = format!("srt://{calls}?streamid={KEY}");
    let hevc =
        ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "keyint=25:log-level=none:pools=1"];
    let rest = ["-pix_fmt", "yuv420p", "-c:a", "aac", "-t", "60", "-f", "mpegts", &url];
    let _encoder = Running(ffmpeg(&[&hevc[..], &rest].concat()).spawn().unwrap());
    let (http, srt) = (relay.port("http"), relay.port("srt"));
    // A fragmented file that begins before the sound does ends when that comes.
    wait_until("picture and sound are there", || probed(&format!("http://{http}/{KEY}.ts")).0.len() == 2);
    for url in ["mp4", "ts", "m3u8"]
        .map(|format| format!("http://{http}/{KEY}.{format}"))
        .into_iter()
        .chain([format!("srt://{srt}?streamid={KEY}")])
    {
        let (codecs, complaints) = probed(&url);
        let complaints: Vec<&str> =
            complaints.lines().filter(|line| !line.contains("duplicated MOOV")).collect();
        assert_eq!((codecs, complaints.join("\n")), (names(&["aac", "hevc"]), String::new()), "{url}");
    }
}

/// The pictures in a file of the kind IVF: a header of 32 bytes, then each with 12 bytes before it.
fn pictures_of_ivf(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut pictures) = (&bytes[32..], Vec::new());
    while let Some((head, tail)) = rest.split_at_checked(12) {
        let size = u32::from_le_bytes(head[..4].try_into().unwrap()) as usize;
        pictures.push(tail[..size].to_vec());
        rest = &tail[size..];
    }
    pictures
}

/// The units of AV1 in a picture, each with its type, without delimiters (AV1 specification section 5.3; 7.5).
fn units_of_av1(picture: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut at, mut units) = (0, Vec::new());
    while at < picture.len() {
        let (kind, has_extension) = (picture[at] >> 3 & 15, picture[at] & 4 != 0);
        assert!(picture[at] & 2 != 0, "a unit without its size");
        let (mut size, mut digits, mut end) = (0_usize, 0, at + 1 + usize::from(has_extension));
        loop {
            size |= usize::from(picture[end] & 0x7f) << (7 * digits);
            digits += 1;
            end += 1;
            if picture[end - 1] & 0x80 == 0 {
                break;
            }
        }
        if kind != 2 {
            units.push((kind, picture[at..end + size].to_vec()));
        }
        at = end + size;
    }
    units
}

/// AV1 in Enhanced FLV, which the ffmpeg of many systems cannot write: it is encoded by ffmpeg, put into tags here, and decoded by
/// ffmpeg from what players get.
#[test]
fn av1_is_decoded_as_it_was_encoded() {
    if !has_ffmpeg() || !has_encoder("libaom-av1") {
        return;
    }
    let relay = Relay::start(&["--reliable"]);
    let (direct, input, output) = (relay.file("direct.ivf"), relay.file("in.flv"), relay.file("out.mp4"));
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25", "-t", "2"]);
    command.args(["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-g", "25"]);
    let encoded = run({
        command.args(["-pix_fmt", "yuv420p", &direct]);
        command
    });
    assert!(encoded.status.success(), "{}", String::from_utf8_lossy(&encoded.stderr));
    let pictures = pictures_of_ivf(&std::fs::read(&direct).unwrap());
    let tag = |timestamp: u32, first: u8, body: &[u8]| Tag {
        kind: TagKind::Video,
        timestamp,
        data: [&[first][..], b"av01", body].concat().into(),
    };
    let first = units_of_av1(&pictures[0]);
    let (_, sequence) = first.iter().find(|(kind, _)| *kind == 1).unwrap();
    // The record of AV1 in ISO files, section 2.3: main profile, level 2.0, 4:2:0 with 8 bits, then the header of the sequence.
    let mut tags = vec![tag(0, 0x90, &[&[0x81, 0, 0x0c, 0][..], sequence].concat())];
    for (number, picture) in (0_u32..).zip(&pictures) {
        let units = units_of_av1(picture);
        let is_key = units.iter().any(|(kind, _)| *kind == 1);
        let body: Vec<u8> = units.into_iter().flat_map(|(_, unit)| unit).collect();
        tags.push(tag(40 * number, if is_key { 0x91 } else { 0xa1 }, &body));
    }
    write_clip(&input, &tags);
    let player = relay.start_client("play", &["--output", &output, "--once"]);
    let publisher = relay.start_client("publish", &["--input", &input, "--once", "--reliable"]);
    let (sent, played) = (publisher.report(), player.report());
    assert!(sent.1 && played.1, "{sent:?} {played:?}");
    assert_eq!(probed(&output), (names(&["av1"]), String::new()));
    let sent = frame_digests(Path::new(&direct));
    assert_eq!((sent.len(), &sent), (50, &frame_digests(Path::new(&output))));
}
