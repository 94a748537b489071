//! Replies, without a network.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Barrier;

use http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, TE, TRAILER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use super::quota::FILE_COST;
use super::{Keys, Quota, Rights, Sender, Site, accepts_trailers};

/// Who stores files.
const SOMEBODY: Sender = Sender { source: IpAddr::V4(Ipv4Addr::LOCALHOST), is_certified: false };

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

/// A site for uploads in a folder of its own.
fn site(rights: Rights) -> (tempfile::TempDir, Site) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::open(folder.path(), Rights { put: true, ..rights }).unwrap();
    (folder, site)
}

fn uri(path: &str) -> Uri {
    format!("https://localhost{path}").parse().unwrap()
}

fn put(site: &Site, path: &str, content: &[u8]) -> StatusCode {
    match site.begin_upload(SOMEBODY, &uri(path), &HeaderMap::new()) {
        Ok(mut upload) => match upload.write(content) {
            Ok(()) => upload.finish().status,
            Err(refusal) => refusal.status,
        },
        Err(refusal) => refusal.status,
    }
}

#[test]
fn uploads_need_a_key_where_there_are_keys() {
    let keys = Some(Keys::parse("0123456789abcdef").unwrap());
    let (folder, site) = site(Rights { keys, ..Rights::default() });
    assert_eq!(put(&site, "/x", b"x"), StatusCode::UNAUTHORIZED);
    let wrong = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer 0123456789abcdeg"))]);
    let refusal = site.begin_upload(SOMEBODY, &uri("/x"), &wrong).unwrap_err();
    assert_eq!(refusal.status, StatusCode::UNAUTHORIZED);
    assert_eq!(refusal.headers[WWW_AUTHENTICATE], "Bearer");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let right = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer 0123456789abcdef"))]);
    assert_eq!(site.begin_upload(SOMEBODY, &uri("/x"), &right).unwrap().finish().status, StatusCode::CREATED);
}

#[test]
fn uploads_need_certificate_and_key_where_both_are_asked_for() {
    let (_folder, open) = site(Rights { certificates: true, ..Rights::default() });
    assert_eq!(put(&open, "/x", b"x"), StatusCode::FORBIDDEN);
    let certified = Sender { is_certified: true, ..SOMEBODY };
    let stored = open.begin_upload(certified, &uri("/x"), &HeaderMap::new()).unwrap().finish();
    assert_eq!(stored.status, StatusCode::CREATED);
    let reply = open.reply(&Method::GET, &uri("/x"), &HeaderMap::new());
    assert_eq!(reply.status, StatusCode::OK);
    assert!(!reply.headers.contains_key(CONTENT_SECURITY_POLICY), "no strangers store files here");
    let keys = Some(Keys::parse("0123456789abcdef").unwrap());
    let (_folder, both) = site(Rights { certificates: true, keys, ..Rights::default() });
    let key = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer 0123456789abcdef"))]);
    let status = |sender: Sender, headers: &HeaderMap| match both.begin_upload(sender, &uri("/x"), headers) {
        Ok(upload) => upload.finish().status,
        Err(refusal) => refusal.status,
    };
    assert_eq!(status(SOMEBODY, &key), StatusCode::FORBIDDEN);
    assert_eq!(status(certified, &HeaderMap::new()), StatusCode::UNAUTHORIZED);
    assert_eq!(status(certified, &key), StatusCode::CREATED);
}

#[test]
fn what_is_there_stays_where_nothing_is_replaced() {
    let (folder, site) = site(Rights { replace: false, ..Rights::default() });
    let late = site.begin_upload(SOMEBODY, &uri("/x"), &HeaderMap::new()).unwrap();
    assert_eq!(put(&site, "/x", b"first"), StatusCode::CREATED);
    assert_eq!(put(&site, "/x", b"second"), StatusCode::CONFLICT);
    assert_eq!(late.finish().status, StatusCode::CONFLICT, "it began when there was none");
    assert_eq!(std::fs::read(folder.path().join("x")).unwrap(), b"first");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of the others");
}

#[test]
fn what_strangers_may_have_stored_runs_in_no_browser() {
    let policy_of = |site: &Site, path: &str| {
        let reply = site.reply(&Method::GET, &uri(path), &HeaderMap::new());
        assert_eq!(reply.headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        reply.headers.get(CONTENT_SECURITY_POLICY).map(|value| value.to_str().unwrap().to_owned())
    };
    let (folder, site) = site(Rights::default());
    put(&site, "/page.html", b"<script>alert(1)</script>");
    let policy = policy_of(&site, "/page.html").unwrap();
    assert!(policy.contains("sandbox") && policy.contains("default-src 'none'"), "{policy}");
    let read_only = Site::open(folder.path(), Rights::default()).unwrap();
    assert_eq!(policy_of(&read_only, "/page.html"), None, "it is the owner's");
    assert!(policy_of(&read_only, "/").unwrap().contains("default-src 'none'"), "a listing needs no scripts");
}

#[test]
fn names_with_control_characters_are_not_stored() {
    let (folder, site) = site(Rights::default());
    for path in ["/a%1b%5b2J", "/a%0ab", "/a%7f", "/%c2%9b31m", "/%9b31m"] {
        assert_eq!(put(&site, path, b"x"), StatusCode::BAD_REQUEST, "{path}");
    }
    for path in ["/Z%C3%BCrich%20%26%20Bern", "/Z%FCrich"] {
        assert_eq!(put(&site, path, b"x"), StatusCode::CREATED, "{path}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Uploads that replace the same file at the same time give its bytes back once: what is on the disk stays below the quota.
#[test]
fn a_replaced_file_is_given_back_once() {
    let quota = Quota::new(Some(4 << 20));
    let (folder, site) = site(Rights { upload_quota: quota, ..Rights::default() });
    let mut stored = 0;
    for round in 0..8 {
        if put(&site, &format!("/{round}"), &vec![0; 1 << 20]).is_success() {
            stored += 1;
        }
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let upload = site.begin_upload(SOMEBODY, &uri("/0"), &HeaderMap::new()).ok();
                    let upload = upload.and_then(|mut upload| upload.write(b"x").ok().map(|()| upload));
                    barrier.wait();
                    upload.map(super::Upload::finish)
                });
            }
        });
    }
    let lengths =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let (used, count) = (lengths.sum::<u64>(), std::fs::read_dir(folder.path()).unwrap().count() as u64);
    assert!(used + count * FILE_COST <= 4 << 20, "{used} bytes in {count} files, {stored} uploads");
}

#[test]
fn empty_files_cost_quota() {
    let (folder, site) = site(Rights { upload_quota: Quota::new(Some(1 << 20)), ..Rights::default() });
    let statuses: Vec<_> = (0..300).map(|n| put(&site, &format!("/{n}"), b"")).collect();
    let most = (1 << 20) / FILE_COST;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count() as u64, most);
    assert_eq!(statuses.last(), Some(&StatusCode::INSUFFICIENT_STORAGE));
}
