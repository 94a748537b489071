//! A response before it is sent.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, SERVER, TRAILER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::digests::PendingDigest;
use hawser_command::digest::REPR_DIGEST;

/// How long a reply waits for a digest that is not known yet.
const DIGEST_PATIENCE: Duration = Duration::from_millis(20);

/// What follows the header.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// Nothing.
    Empty,
    /// These bytes.
    Bytes(Bytes),
    /// This part of a file.
    File(Arc<File>, Range<u64>),
}

/// The reply to a request that is not carried out.
pub(crate) type Refusal = Box<Reply>;

/// Status, header and body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// The digest of the file, which may still be being computed.
    pub(crate) digest: Option<PendingDigest>,
    /// Whether it may follow the body.
    pub(super) accepts_trailers: bool,
}

impl Reply {
    /// Without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        let server = HeaderValue::from_static(concat!("hawser/", env!("CARGO_PKG_VERSION")));
        Reply {
            status,
            // Types are by the names of files: browsers are not to find others in what is in them.
            headers: HeaderMap::from_iter([
                (SERVER, server),
                (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ]),
            body: Body::Empty,
            digest: None,
            accepts_trailers: false,
        }
    }

    /// A line of text for people.
    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.push('\n');
        Self::bytes(status, "text/plain; charset=utf-8", text.into())
    }

    /// A body of the given type.
    pub(super) fn bytes(status: StatusCode, kind: &'static str, body: Bytes) -> Self {
        let mut reply = Self::empty(status);
        reply.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        reply.headers.insert(CONTENT_LENGTH, body.len().into());
        reply.body = Body::Bytes(body);
        reply
    }

    /// A part of a file.
    pub(super) fn file(status: StatusCode, file: Arc<File>, range: Range<u64>) -> Self {
        let mut reply = Self::empty(status);
        reply.headers.insert(CONTENT_LENGTH, (range.end - range.start).into());
        reply.body = Body::File(file, range);
        reply
    }

    /// Sets a field; one with characters that HTTP does not allow is left out.
    pub(super) fn set(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }

    /// Puts the digest into the header if it is known, or soon is. Otherwise it is left out, or announced as a trailer to
    /// those who accept trailers: they do not wait.
    pub(crate) async fn settle_digest(&mut self) {
        let Some(pending) = self.digest.take() else { return };
        let patience = if self.accepts_trailers { Duration::ZERO } else { DIGEST_PATIENCE };
        if let Some(digest) = pending.wait(patience).await {
            self.set(REPR_DIGEST, &digest.to_field());
        } else if self.accepts_trailers {
            self.headers.insert(TRAILER, HeaderValue::from_static("Repr-Digest"));
            self.digest = Some(pending);
        }
    }

    /// What HEAD gets. A digest is waited for, but never follows.
    pub(super) fn keep_headers_only(&mut self) {
        self.body = Body::Empty;
        self.accepts_trailers = false;
    }
}
