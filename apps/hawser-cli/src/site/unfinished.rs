//! Uploads that broke off, kept for a client that goes on with them.
//!
//! A client learns by HEAD with the `Repr-Digest` of its file how much there is (`Upload-Offset` in the answer, the field of
//! draft-ietf-httpbis-resumable-upload), and sends the rest as a partial PUT (RFC 9110 section 14.5): `Content-Range`, and the same
//! digest of the whole. What is kept is the upload itself with its hash so far, so nothing is read again; it ends with the process.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::CONTENT_RANGE;
use http::{HeaderMap, StatusCode};

use super::reply::{Refusal, Reply};
use super::tree::Location;
use super::upload::{Upload, announced_digest};
use hawser_command::digest::{Digest, UPLOAD_OFFSET};

/// Uploads that are kept; of more the oldest is forgotten. They are files on the disk and three descriptors each.
const MAX_KEPT: usize = 32;
/// Of one source, whose oldest goes first: nobody's are pushed out by one stranger's.
const MAX_KEPT_OF_SOURCE: usize = 4;
/// How long.
const KEPT_FOR: Duration = Duration::from_secs(3600);
/// Less is sent again as quickly as it is asked for.
const LEAST: u64 = 64 << 10;

/// What the uploads are known by: where to, what, and how long in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) location: Location,
    pub(super) digest: Digest,
    pub(super) length: u64,
}

/// The uploads of a site that broke off.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// The oldest first.
    kept: Mutex<VecDeque<(Instant, Identity, Upload)>>,
}

impl Unfinished {
    /// Keeps an upload whose client is gone, if it can be told from others and is worth it.
    pub(super) fn keep(&self, upload: Upload, now: Instant) {
        let Some(identity) = upload.identity().filter(|_| upload.received() >= LEAST) else { return };
        self.with(now, |kept| {
            kept.retain(|(_, other, _)| *other != identity);
            let source = upload.source();
            let mut own = kept.iter().enumerate().filter(|(_, (_, _, other))| other.source() == source);
            let oldest = own.next().map_or(0, |(index, _)| index);
            if own.count() + 1 >= MAX_KEPT_OF_SOURCE {
                kept.remove(oldest);
            } else if kept.len() == MAX_KEPT {
                kept.pop_front();
            }
            kept.push_back((now, identity, upload));
        });
    }

    /// Bytes that there are of a file.
    pub(super) fn offset(&self, location: &Location, digest: Digest, now: Instant) -> Option<u64> {
        self.with(now, |kept| {
            let mut those = kept.iter().filter(|(_, of, _)| of.location == *location && of.digest == digest);
            those.next_back().map(|(_, _, upload)| upload.received())
        })
    }

    /// Takes the upload that a request goes on with; `None` if it begins one, which then replaces what was kept of it.
    ///
    /// # Errors
    /// When none ends where the request goes on.
    pub(super) fn resume(
        &self,
        location: &Location,
        headers: &HeaderMap,
        now: Instant,
    ) -> Result<Option<Upload>, Refusal> {
        let digest = announced_digest(headers);
        let Some(field) = headers.get(CONTENT_RANGE) else {
            let is_new = |of: &Identity| of.location != *location || Some(of.digest) != digest;
            self.with(now, |kept| kept.retain(|(_, of, _)| is_new(of)));
            return Ok(None);
        };
        let range = field.to_str().ok().and_then(rest_of);
        let (Some((first, length)), Some(digest)) = (range, digest) else {
            let text = "a part can only be the rest of an upload that broke off: Content-Range to the end of the file, and \
                        Repr-Digest of all of it; else send the whole file without Content-Range";
            return Err(Reply::text(StatusCode::BAD_REQUEST, text).into());
        };
        let identity = Identity { location: location.clone(), digest, length };
        let found = self.with(now, |kept| {
            let index =
                kept.iter().position(|(_, of, upload)| *of == identity && upload.received() == first)?;
            kept.remove(index)
        });
        if let Some((_, _, upload)) = found {
            return Ok(Some(upload));
        }
        let text = format!("there is no unfinished upload of this file with {first} bytes; send all of it");
        let mut reply = Reply::text(StatusCode::CONFLICT, text);
        reply.set(UPLOAD_OFFSET, &self.offset(location, digest, now).unwrap_or(0).to_string());
        Err(reply.into())
    }

    /// Looks at what is kept, without what is too old.
    fn with<T>(&self, now: Instant, look: impl FnOnce(&mut VecDeque<(Instant, Identity, Upload)>) -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(since, _, _)| now.duration_since(*since) < KEPT_FOR);
        look(&mut kept)
    }
}

/// The first byte and the length of the whole from `bytes FIRST-LAST/LENGTH`, if the last byte is the last of the file.
fn rest_of(field: &str) -> Option<(u64, u64)> {
    let (range, length) = field.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.trim().split_once('-')?;
    let (first, last, length): (u64, u64, u64) =
        (first.parse().ok()?, last.parse().ok()?, length.parse().ok()?);
    (first <= last && last.checked_add(1)? == length).then_some((first, length))
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_LENGTH;

    use super::super::Rights;
    use super::super::tree::Tree;
    use super::*;
    use hawser_command::digest::REPR_DIGEST;

    #[test]
    fn only_a_range_to_the_end_goes_on() {
        assert_eq!(rest_of("bytes 100-999/1000"), Some((100, 1000)));
        for other in
            ["bytes 100-998/1000", "bytes */1000", "bytes 1000-999/1000", "items 0-9/10", "bytes 0-9/*"]
        {
            assert_eq!(rest_of(other), None, "{other}");
        }
        assert_eq!(rest_of(&format!("bytes 0-{0}/{0}", u64::MAX)), None);
    }

    /// The oldest goes first, and none stays for longer than an hour.
    #[test]
    fn so_many_are_kept_for_so_long() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path()).unwrap();
        let rights = Rights { put: true, ..Rights::default() };
        let digest = Digest::of(sha2::Digest::new());
        let headers = HeaderMap::from_iter([
            (REPR_DIGEST, digest.to_field().parse().unwrap()),
            (CONTENT_LENGTH, "1000000".parse().unwrap()),
        ]);
        let location = |n: usize| Location::parse(&format!("/{n}")).unwrap();
        let begin = |n, bytes| {
            let source = [192, 0, 2, u8::try_from(n).unwrap()].into();
            let mut upload = Upload::begin(&tree, source, &location(n), &headers, &rights).unwrap();
            upload.write(&vec![0; bytes]).unwrap();
            upload
        };
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let (unfinished, now) = (Unfinished::default(), Instant::now());
        unfinished.keep(begin(0, 1000), now);
        assert_eq!(files(), 0, "too little to be worth it");
        for n in 0..MAX_KEPT + 2 {
            unfinished.keep(begin(n, LEAST as usize + n), now + Duration::from_secs(n as u64));
        }
        assert_eq!(files(), MAX_KEPT);
        let offset = |n, seconds| unfinished.offset(&location(n), digest, now + Duration::from_secs(seconds));
        assert_eq!((offset(1, 20), offset(2, 20)), (None, Some(LEAST + 2)));
        // Another attempt that broke off as well takes the place of the one before.
        unfinished.keep(begin(2, LEAST as usize), now + Duration::from_secs(20));
        assert_eq!((offset(2, 21), files()), (Some(LEAST), MAX_KEPT));
        assert_eq!((offset(3, 3603), offset(4, 3603)), (None, Some(LEAST + 4)));
        offset(4, 10_000);
        assert_eq!(files(), 0);
    }
}
