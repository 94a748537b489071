//! What a response says of the file.

use hawser::Printable;
use http::header::{CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, Response, StatusCode};

use super::partial::Version;
use hawser_command::digest::Digest;
use hawser_command::exit::{Exit, Failure};
use hawser_command::http_client::{self, text};

/// What identifies the version of a response. Weak tags do not tell bytes apart.
pub(super) fn version_of(headers: &HeaderMap) -> Version {
    let etag = text(headers, &ETAG).filter(|tag| !tag.starts_with("W/")).map(str::to_owned);
    Version { etag, last_modified: text(headers, &LAST_MODIFIED).map(str::to_owned) }
}

/// Whether the bytes are right.
pub(super) fn check_digest(found: Digest, expected: Option<Digest>) -> Result<(), Failure> {
    match expected {
        Some(expected) if expected != found => {
            let text = format!(
                "the file is damaged: its SHA-256 is {found}, the server says {expected}; get it again"
            );
            Err(Failure::new(Exit::Digest, text))
        }
        _ => Ok(()),
    }
}

pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    // One that is no length was refused with the header.
    http_client::content_length(headers).ok().flatten()
}

/// Where a body begins and how long the whole is.
pub(super) fn extent(response: &Response<()>, have: u64) -> Result<(u64, Option<u64>), Failure> {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return Ok((0, content_length(response.headers())));
    }
    let field = text(response.headers(), &CONTENT_RANGE).unwrap_or_default();
    match parse_content_range(field) {
        Some((first, length)) if first == have => Ok((first, length)),
        _ => {
            let text = format!(
                "asked for the bytes from {have} on, the server sent `Content-Range: {}`",
                Printable::new(field)
            );
            Err(Failure::new(Exit::NotResumable, text))
        }
    }
}

/// `bytes 5-9/10` as `(5, Some(10))`; the length may be `*`.
pub(super) fn parse_content_range(field: &str) -> Option<(u64, Option<u64>)> {
    let (range, length) = field.strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let length = if length == "*" { None } else { Some(length.parse().ok()?) };
    Some((first.parse().ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        assert_eq!(parse_content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(parse_content_range("bytes 5-9/*"), Some((5, None)));
        for text in ["", "bytes */10", "5-9/10", "bytes x-9/10", "bytes 5-9"] {
            assert_eq!(parse_content_range(text), None, "{text}");
        }
    }
}
