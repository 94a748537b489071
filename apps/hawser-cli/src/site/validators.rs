//! Whether a client's copy is still good (RFC 9110 sections 8.8 and 13).

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE};
use http::{HeaderMap, HeaderName};

/// What identifies a version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Validators {
    etag: String,
    modified: SystemTime,
}

impl Validators {
    /// From the time of the last change and the size. The kernel's clock for file times ticks every few milliseconds:
    /// good enough for a strong validator as long as nobody rewrites a file in place within one tick.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        Validators { etag: format!("\"{seconds:x}.{nanoseconds:x}-{:x}\"", metadata.size()), modified }
    }

    /// The entity tag, quotes included; strong.
    pub(super) fn etag(&self) -> &str {
        &self.etag
    }

    /// The value of `Last-Modified`.
    pub(super) fn last_modified(&self) -> String {
        httpdate::fmt_http_date(self.modified)
    }

    /// Whether the client has this version already (section 13.2.2: tags before dates).
    pub(super) fn is_unchanged_for(&self, headers: &HeaderMap) -> bool {
        if let Some(tags) = text(headers, &IF_NONE_MATCH) {
            return tags.trim() == "*" || tags.split(',').any(|tag| self.matches_weakly(tag));
        }
        date(headers, &IF_MODIFIED_SINCE).is_some_and(|since| self.modified <= since)
    }

    /// Whether a `Range` counts: not if the client's part is of another version (section 13.1.5).
    pub(super) fn range_applies(&self, headers: &HeaderMap) -> bool {
        match text(headers, &IF_RANGE) {
            None => !headers.contains_key(IF_RANGE),
            Some(tag) if tag.trim_start().starts_with('"') => tag.trim() == self.etag,
            Some(_) => date(headers, &IF_RANGE).is_some_and(|date| date == self.modified),
        }
    }

    fn matches_weakly(&self, tag: &str) -> bool {
        let tag = tag.trim();
        tag.strip_prefix("W/").unwrap_or(tag) == self.etag
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(text(headers, name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn validators() -> Validators {
        Validators { etag: "\"a-1\"".into(), modified: UNIX_EPOCH + Duration::from_secs(1_000_000_000) }
    }

    #[test]
    fn tags_and_dates_tell_whether_a_copy_is_good() {
        let file = validators();
        assert!(!file.is_unchanged_for(&HeaderMap::new()));
        assert!(file.is_unchanged_for(&headers(IF_NONE_MATCH, "\"x\", W/\"a-1\"")));
        assert!(file.is_unchanged_for(&headers(IF_NONE_MATCH, "*")));
        assert!(!file.is_unchanged_for(&headers(IF_NONE_MATCH, "\"a-2\"")));
        assert!(file.is_unchanged_for(&headers(IF_MODIFIED_SINCE, "Sun, 09 Sep 2001 01:46:40 GMT")));
        assert!(!file.is_unchanged_for(&headers(IF_MODIFIED_SINCE, "Sun, 09 Sep 2001 01:46:39 GMT")));
    }

    #[test]
    fn tags_go_before_dates() {
        let mut both = headers(IF_NONE_MATCH, "\"other\"");
        both.insert(IF_MODIFIED_SINCE, "Sun, 09 Sep 2001 01:46:40 GMT".parse().unwrap());
        assert!(!validators().is_unchanged_for(&both));
    }

    #[test]
    fn a_part_of_another_version_is_not_continued() {
        let file = validators();
        assert!(file.range_applies(&HeaderMap::new()));
        assert!(file.range_applies(&headers(IF_RANGE, "\"a-1\"")));
        assert!(!file.range_applies(&headers(IF_RANGE, "W/\"a-1\"")), "weak tags do not count here");
        assert!(!file.range_applies(&headers(IF_RANGE, "\"a-2\"")));
        assert!(file.range_applies(&headers(IF_RANGE, "Sun, 09 Sep 2001 01:46:40 GMT")));
        assert!(!file.range_applies(&headers(IF_RANGE, "Sun, 09 Sep 2001 01:46:41 GMT")));
    }
}
