//! What uploads to `hawser serve` may take, and what it opens.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use hawser::RecvStream;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Error;
use super::client::{Client, GET, PUT, request, upload};
use super::form::{FORM, Form, H3, HANDSHAKES, Siege};
use super::program::Program;

const UPLOADS: &[&str] = &["serve", "FOLDER", "--allow-put", "--upload-quota", "8M"];
const TIGHT: &[&str] = &["serve", "FOLDER", "--allow-put", "--upload-quota", "20M"];
/// The quota of `TIGHT`, and files of which two fit.
const QUOTA: u64 = 20 << 20;
const LARGE: usize = 8_000_000;
/// How long a file of `LARGE` bytes may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A PUT of a file of a few bytes.
fn short_upload(path: &str, body: &[u8]) -> Vec<u8> {
    [&upload(path, body.len() as u64)[..], body].concat()
}

/// Begins to store a file.
async fn put(client: &Client, path: &str, body: &[u8]) -> Result<RecvStream, Error> {
    let (mut send, answer) = client.connection.open_bi().await?;
    send.write_all(&upload(path, body.len() as u64)).await?;
    // The server says no in the middle.
    if send.write_all(body).await.is_ok() {
        let _ = send.finish();
    }
    Ok(answer)
}

/// Waits for an answer, whichever it is.
async fn finish(mut answer: RecvStream) -> Result<(), Error> {
    // A reset is an answer as well.
    let _ = tokio::time::timeout(PATIENCE, answer.read_to_end(1 << 16)).await?;
    Ok(())
}

/// Bytes of all files in the folder.
fn stored(siege: &Siege<'_>) -> io::Result<u64> {
    fs::read_dir(siege.server.folder())?.map(|entry| Ok(entry?.metadata().map_or(0, |file| file.len()))).sum()
}

/// Again and again a large file is replaced by twelve small ones at the same time, and others are stored in its place. What
/// was replaced may be given back to the quota once.
async fn replace_at_once(siege: &mut Siege<'_>) -> Result<(), Error> {
    siege.connect(1 << 20, 16 << 20).await?;
    let folder = siege.server.folder();
    let body = vec![7; LARGE];
    let is_stored = |name: &str| fs::metadata(folder.join(name)).is_ok_and(|file| file.len() == LARGE as u64);
    let (mut large, mut names) = (Vec::new(), (0..).map(|number| format!("large{number}")));
    let mut rounds = 0;
    let mut most = 0;
    while rounds < 12 {
        // As many as the quota has room for.
        for name in names.by_ref().take(8) {
            finish(put(&siege.clients[0], &format!("/{name}"), &body).await?).await?;
            if !is_stored(&name) {
                break;
            }
            large.push(name);
        }
        most = most.max(stored(siege)?);
        let Some(target) = large.pop() else { break };
        let mut replacing = Vec::new();
        for _ in 0..12 {
            replacing.push(put(&siege.clients[0], &format!("/{target}"), b"z").await?);
        }
        for answer in replacing {
            finish(answer).await?;
        }
        rounds += 1;
    }
    siege.expect(rounds >= 2, || format!("only {rounds} rounds: nothing was stored"));
    siege.expect(most <= QUOTA, || format!("{most} bytes under a quota of {QUOTA}"));
    siege.found = Some(format!("at most {} of {} MiB stored", most >> 20, QUOTA >> 20));
    Ok(())
}

/// Asks for a pipe whose writer waits for a reader, and for what is no file at all.
async fn open_pipe(siege: &mut Siege<'_>) -> Result<(), Error> {
    let folder = siege.server.folder();
    mkfifo(&folder.join("pipe"), Mode::S_IRWXU)?;
    symlink("/dev/zero", folder.join("zero"))?;
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket"))?;
    let mut writer = Command::new("sh");
    // It is let go the moment that somebody opens the pipe to read.
    siege.programs.push(Program::start(writer.args(["-c", "echo data > \"$0\""]).arg(folder.join("pipe")))?);
    siege.connect(1 << 20, 16 << 20).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    for path in ["/pipe", "/zero", "/socket"].repeat(40) {
        let mut answer = siege.clients[0].ask(&request(GET, path, &[])).await?;
        let read = tokio::time::timeout(Duration::from_secs(1), answer.read_to_end(1 << 16)).await;
        siege.expect(read.is_ok(), || format!("{path} is not answered"));
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let has_ended = siege.programs[0].has_ended()?;
    siege.expect(!has_ended, || "the pipe was opened".to_owned());
    siege.found = Some("the writer of the pipe waits on".to_owned()).filter(|_| !has_ended);
    Ok(())
}

pub(crate) const FILES: &[Form] = &[
    Form {
        name: "uploads of a byte",
        attacks: &[8],
        arguments: UPLOADS,
        attack: |siege| {
            Box::pin(async {
                siege.leave_open(16, 16, |n| short_upload(&format!("/slow{n}"), b"x")).await?;
                // A victim of the same address stores a file at once.
                let client = Client::connect(siege.server, H3).await?;
                let mut answer = client.ask(&short_upload("/victim", b"content")).await?;
                tokio::time::timeout(Duration::from_secs(1), answer.read_to_end(1 << 16)).await??;
                Ok(())
            })
        },
        check: |siege| {
            let is_stored =
                fs::read(siege.server.folder().join("victim")).is_ok_and(|content| content == b"content");
            (!is_stored).then(|| "the victim's upload was refused".to_owned())
        },
        micros: HANDSHAKES,
        mebibytes: 64,
        ..FORM
    },
    Form {
        name: "empty uploads",
        attacks: &[9],
        arguments: UPLOADS,
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 16, 1 << 20).await?;
                for n in 0..3_000 {
                    let asked = request(PUT, &format!("/empty{n:05}{}", "x".repeat(100)), &[]);
                    let mut answer = siege.clients[0].ask(&asked).await?;
                    let _ = answer.read_to_end(1 << 16).await;
                }
                Ok(())
            })
        },
        check: |siege| {
            let files = fs::read_dir(siege.server.folder()).map_or(0, Iterator::count);
            // 4 KiB each of 8 MiB, and the small file.
            (files > 2_049).then(|| format!("{files} files"))
        },
        // Each makes a file, renames it and waits for the disk.
        micros: 1_000.0,
        ..FORM
    },
    Form {
        name: "uploads of one file at once",
        attacks: &[7],
        arguments: TIGHT,
        attack: |siege| Box::pin(replace_at_once(siege)),
        mebibytes: 64,
        ..FORM
    },
    Form {
        name: "requests for a pipe",
        attacks: &[13],
        attack: |siege| Box::pin(open_pipe(siege)),
        // Each packet is a request, for which a name is looked up by a thread that may block.
        micros: HANDSHAKES,
        ..FORM
    },
];
