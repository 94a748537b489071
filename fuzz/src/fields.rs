//! What browsers, players, clients and servers say in HTTP: heads of requests to pages and streams on this machine, paths and ranges of
//! requests to `hawser serve`, fields of answers to `hawser get`.
//!
//! The first byte chooses one of these. What must hold: no panic, an end; how a stream is cut changes nothing; a path leads nowhere but below
//! its folder, a range nowhere but into its file, a redirect to no other server; names of files are names; what was understood means the
//! same when it is written and read again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use hawser_command::digest::Digest;
use hawser_command::http_client::content_length;
use hawser_command::location::Location;
use hawser_command::percent;
use hawser_command::range::Selection;
use hawser_command::url::Url;
use hawser_status::fuzzing::request;
use http::header::{CONTENT_LENGTH, RANGE};
use http::{HeaderMap, HeaderValue};

/// One of the readers.
pub fn fields(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match (which % 8, std::str::from_utf8(rest)) {
        (0, _) => head(rest),
        (1, Ok(text)) => url(text),
        (2, Ok(text)) => redirect(text),
        (3, Ok(text)) => digest(text),
        (4, _) => length(rest),
        (5, Ok(text)) => escapes(text),
        (6, Ok(text)) => path(text),
        (7, _) => range(rest),
        _ => {}
    }
}

/// The head of a request, and what follows it.
fn head(bytes: &[u8]) {
    let whole = request([bytes]);
    for cut in [1, 3, 100] {
        assert_eq!(request(bytes.chunks(cut)), whole, "cut into pieces of {cut}");
    }
    match whole {
        Ok(Some(request)) => {
            assert!(!request.path.contains([' ', '?']) && !request.query.contains(' '));
            let _ = (request.is_for_this_machine(), request.accepts("text/html"));
        }
        Ok(None) => {}
        Err(error) => assert!(!error.is_empty()),
    }
}

fn url(text: &str) {
    match text.parse::<Url>() {
        Ok(url) => {
            assert_eq!(url.to_string().parse::<Url>().as_ref(), Ok(&url));
            if let Some(name) = url.file_name() {
                let bytes = name.as_bytes();
                assert!(
                    !bytes.is_empty()
                        && bytes != b"."
                        && bytes != b".."
                        && !bytes.contains(&b'/')
                        && !bytes.contains(&0)
                );
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A `Location`: where it leads is the same server, and has no control characters.
fn redirect(location: &str) {
    for from in ["https://h:4433/a/b?c=d", "https://[::1]/"] {
        let from: Url = from.parse().expect("a URL");
        if let Some(to) = from.redirected(location) {
            assert_eq!((&to.host, to.port), (&from.host, from.port));
            assert!(to.path.starts_with('/') && to.path.bytes().all(|byte| byte.is_ascii_graphic()), "{to}");
        }
    }
}

fn digest(text: &str) {
    if let Some(digest) = Digest::from_field(text) {
        assert_eq!(Digest::from_field(&digest.to_field()), Some(digest));
    }
}

/// Fields with a length, one to a line.
fn length(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(CONTENT_LENGTH, value);
        }
    }
    if let Ok(Some(length)) = content_length(&headers) {
        let mut one = HeaderMap::new();
        one.insert(CONTENT_LENGTH, HeaderValue::from(length));
        assert_eq!(content_length(&one), Ok(Some(length)));
    }
}

/// The path of a request, and of a symbolic link in it: what it names lies below the folder.
fn path(text: &str) {
    let (path, link) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(location) = Location::parse(path) else { return };
    let relative = location.to_path();
    assert!(
        relative == Path::new(".") || relative.components().all(|part| matches!(part, Component::Normal(_)))
    );
    assert_eq!(relative.components().count(), location.names().len().max(1));
    let encoded: Vec<String> =
        location.names().iter().map(|name| percent::encode_segment(name.as_bytes())).collect();
    let slash = if location.is_folder() { "/" } else { "" };
    assert_eq!(Location::parse(&format!("/{}{slash}", encoded.join("/"))).as_ref(), Ok(&location));
    assert!(location.is_hidden() || !location.is_temporary());
    if let Some(behind) = location.behind(OsStr::new(link)) {
        assert!(!behind.to_path().is_absolute() && behind.to_path().file_name().is_some());
    }
}

/// The length of a file, and a field `Range`.
fn range(bytes: &[u8]) {
    let Some((length, field)) = bytes.split_first_chunk::<2>() else { return };
    let (length, Ok(field)) = (u64::from(u16::from_be_bytes(*length)), HeaderValue::from_bytes(field)) else {
        return;
    };
    let mut headers = HeaderMap::new();
    headers.insert(RANGE, field);
    if let Selection::Part(part) = Selection::of(&headers, length) {
        assert!(part.start < part.end && part.end <= length);
        let again = format!("bytes={}-{}", part.start, part.end - 1);
        headers.insert(RANGE, again.parse().expect("a field"));
        assert_eq!(Selection::of(&headers, length), Selection::Part(part));
    }
}

fn escapes(text: &str) {
    if let Some(bytes) = percent::decode(text) {
        assert_eq!(percent::decode(&percent::encode_segment(&bytes)), Some(bytes));
    }
    let encoded = percent::encode_url(text);
    assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_eq!(percent::encode_url(&encoded), encoded, "what is encoded stays so");
}
