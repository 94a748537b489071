//! Replies, without a network.

use std::fs::File;

use http::header::{TE, TRAILER};
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::{Rights, Site, accepts_trailers};

fn with_te(value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(TE, HeaderValue::from_static(value))])
}

#[test]
fn trailers_are_for_those_who_ask() {
    for asks in ["trailers", "gzip;q=0.5, Trailers"] {
        assert!(accepts_trailers(&with_te(asks)), "{asks}");
    }
    for silent in ["", "gzip", "no-trailers"] {
        assert!(!accepts_trailers(&with_te(silent)), "{silent}");
    }
    assert!(!accepts_trailers(&HeaderMap::new()));
}

#[tokio::test]
async fn a_digest_that_takes_long_is_a_trailer_only_for_those_who_ask() {
    let folder = tempfile::tempdir().unwrap();
    // Holes are as much work for SHA-256 as data: far more than the patience of a reply.
    File::create(folder.path().join("file")).unwrap().set_len(1 << 29).unwrap();
    let site = Site::open(folder.path(), Rights::default()).unwrap();
    let uri = Uri::from_static("https://localhost/file");
    let mut silent = site.reply(&Method::GET, &uri, &HeaderMap::new());
    silent.settle_digest().await;
    assert!(silent.digest.is_none() && !silent.headers.contains_key(TRAILER));
    let mut asking = site.reply(&Method::GET, &uri, &with_te("trailers"));
    asking.settle_digest().await;
    assert!(asking.digest.is_some() && asking.headers.contains_key(TRAILER));
}
