//! What servers may not do to `hawser get`: each of these ends soon, with words, and leaves no file that looks complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hawser::{Endpoint, Identity, ServerConfig};

use crate::raw::{SETTINGS, frame};
use crate::support::*;

/// Longest that the command may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// HEADERS of indexed and literal lines (RFC 9204 section 4.5).
fn headers(lines: &[u8]) -> Vec<u8> {
    frame(1, &[b"\x00\x00", lines].concat())
}

/// A line whose name is in the static table.
fn named(index: u8, value: &str) -> Vec<u8> {
    [&[0x50 | index, value.len() as u8], value.as_bytes()].concat()
}

const OK: &[u8] = b"\xd9";
const FOUND: &[u8] = b"\xff\x03";
const NOT_FOUND: &[u8] = b"\xdb";
const PLAIN_TEXT: &[u8] = b"\xf5";
const EARLY_HINTS: &[u8] = b"\xd8";
const CONTENT_LENGTH: u8 = 4;
const LOCATION: u8 = 12;

/// What a server does with every request: it says `first`, and then `more` again and again with this pause.
#[derive(Clone)]
struct Answers {
    first: Vec<u8>,
    more: Vec<u8>,
    pause: Duration,
}

/// Returns the port, the pin, and how many requests came.
fn serve(answers: Answers) -> (u16, String, Arc<AtomicUsize>) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap().to_string();
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).build().unwrap();
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let port = endpoint.listening()[0].port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let (answers, count) = (answers.clone(), count.clone());
            tokio::spawn(async move {
                let connection = incoming.await.unwrap();
                let mut control = connection.open_uni().await.unwrap();
                control.write_all(SETTINGS).await.unwrap();
                while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                    let (answers, count) = (answers.clone(), count.clone());
                    tokio::spawn(async move {
                        let _ = receive.read_to_end(1 << 16).await;
                        count.fetch_add(1, Ordering::Relaxed);
                        let mut wrote = send.write_all(&answers.first).await;
                        if answers.more.is_empty() {
                            let _ = send.finish();
                            // As long as somebody may read.
                            tokio::time::sleep(PATIENCE).await;
                        }
                        while wrote.is_ok() {
                            tokio::time::sleep(answers.pause).await;
                            wrote = send.write_all(&answers.more).await;
                        }
                    });
                }
            });
        }
    });
    (port, pin, asked)
}

/// What `hawser get` says of such a server, and its exit status. How many requests came.
async fn get(first: Vec<u8>, more: Vec<u8>, pause: u64) -> (String, Option<i32>, usize) {
    let (port, pin, asked) = serve(Answers { first, more, pause: Duration::from_millis(pause) });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let mut command = hawser(["get", "--pin", &pin, "--timeout", "2", "--stall-timeout", "2", "-o"]);
    command.arg(&file).arg(format!("https://127.0.0.1:{port}/x"));
    let began = Instant::now();
    let output = tokio::task::spawn_blocking(move || run(command)).await.unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(began.elapsed() < PATIENCE, "{:?}: {words}", began.elapsed());
    assert!(!words.contains("panic") && !file.exists(), "{words}");
    (words, output.status.code(), asked.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_without_end_are_given_up() {
    let (words, code, asked) = get(headers(&[FOUND, &named(LOCATION, "/y")].concat()), Vec::new(), 0).await;
    assert_eq!((code, asked), (Some(22), 10), "{words}");
    assert!(words.contains("redirects more than 10 times"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_answers_without_end_are_given_up() {
    let (words, code, _) = get(headers(EARLY_HINTS), headers(EARLY_HINTS).repeat(50), 10).await;
    assert!(code.is_some_and(|code| code != 0), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_comes_byte_by_byte_is_given_up() {
    let announced = [&[1, 0x7f, 0xff][..], b"\x00\x00"].concat();
    let (words, code, _) = get(announced, OK.to_vec(), 100).await;
    assert_eq!(code, Some(28), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_nobody_knows_are_no_progress() {
    // A type of RFC 9114 section 7.2.8, of four bytes.
    let (words, code, _) = get(headers(OK), frame(0x21, b"none"), 20).await;
    assert_eq!(code, Some(28), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_lie_are_found_out() {
    let header = headers(&[OK, &named(CONTENT_LENGTH, "10")].concat());
    let short = [header.clone(), frame(0, b"four")].concat();
    let (words, code, _) = get(short, Vec::new(), 0).await;
    assert!(code == Some(18) && words.contains("4 of 10 bytes"), "{code:?}: {words}");
    // More than was said, and no end of it.
    let (words, code, _) = get(header, frame(0, &[b'x'; 60]).repeat(100), 1).await;
    assert_eq!(code, Some(18), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_that_does_not_end_is_not_waited_for() {
    let header = headers(&[NOT_FOUND, PLAIN_TEXT].concat());
    let first = [header, frame(0, b"it is gone\n")].concat();
    let (words, code, _) = get(first, frame(0x21, b"none"), 50).await;
    assert!(code == Some(44) && words.contains("404") && words.contains("it is gone"), "{code:?}: {words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_without_end_are_given_up() {
    let body = [headers(&[OK, &named(CONTENT_LENGTH, "4")].concat()), frame(0, b"four")].concat();
    // Announced, and never whole.
    let announced = [&body[..], &[1, 0x7f, 0xff], b"\x00\x00"].concat();
    let (words, code, _) = get(announced, b"\x21a\x00".to_vec(), 100).await;
    assert!(code.is_some_and(|code| code != 0), "{words}");
    // One section after the other.
    let (words, code, _) = get(body, headers(b"\x21a\x00").repeat(20), 10).await;
    assert!(code.is_some_and(|code| code != 0), "{words}");
}
