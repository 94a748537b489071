//! What the server answers, seen through the client.

use std::fs;
use std::os::unix::fs::symlink;

use bytes::Bytes;
use h3::error::{Code, StreamError};
use hawser::{ClientConfig, Endpoint, Links, Trust};
use http::{Request, StatusCode};

use crate::support::*;

#[test]
fn a_folder_is_listed() {
    let server = Server::start(&[]);
    server.add("a <b>&.txt", b"0123456789");
    server.add(".secret", b"x");
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    let page = run(server.get(&["-q", &server.url("/")]));
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("./a%20%3Cb%3E%26.txt\">a &lt;b&gt;&amp;.txt</a>"), "{page}");
    assert!(page.contains("10 B") && page.contains("./sub/\">sub/"), "{page}");
    assert!(!page.contains("secret"), "{page}");
    let report = run_json(server.get(&["-o", "/dev/null", &server.url("/sub")]));
    assert_eq!(report["status"], 200, "the redirect to /sub/ is followed");
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let server = Server::start(&[]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    symlink(outside.path().join("secret"), server.folder.path().join("file")).unwrap();
    symlink(outside.path(), server.folder.path().join("folder")).unwrap();
    fs::create_dir(server.folder.path().join("sub")).unwrap();
    symlink("../inside", server.folder.path().join("sub/link")).unwrap();
    server.add("inside", b"inside");
    server.add(".hidden", b"hidden");
    for path in ["/file", "/folder/secret", "/folder/"] {
        let words = run_failing(server.get(&[&server.url(path)]), 43);
        assert!(words.contains("out of the served folder"), "{words}");
    }
    for path in ["/../etc/passwd", "/sub/../../x", "/%2e%2e/x", "/..%2fx", "/a%00b", "/%zz"] {
        run_failing(server.get(&[&server.url(path)]), 22);
    }
    for path in ["/none", "/.hidden", "/inside/x", "/inside/"] {
        let words = run_failing(server.get(&[&server.url(path)]), 44);
        assert!(words.contains("404"), "{words}");
    }
    let inside = run(server.get(&["-q", &server.url("/sub/link")]));
    assert_eq!(inside.stdout, b"inside", "links that stay inside are followed");
}

#[tokio::test]
async fn the_rest_of_an_answered_request_is_refused_without_error() {
    let server = Server::start(&[]);
    server.add("file", b"content");
    let trust = Trust::Pins(vec![server.pin.parse().unwrap()]);
    let config = ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let connection = client.connect(([127, 0, 0, 1], server.port).into(), "localhost").await.unwrap();
    let http = h3::client::new(hawser::h3::Connection::new(connection)).await;
    let (mut driver, mut requests) = http.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let request = Request::get(server.url("/file")).body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::OK);
    // RFC 9114 section 4.1: H3_NO_ERROR, and the request has not ended.
    let refusal = loop {
        match stream.send_data(Bytes::from_static(b"more")).await {
            Ok(()) => tokio::task::yield_now().await,
            Err(refusal) => break refusal,
        }
    };
    let StreamError::RemoteTerminate { code, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(code, Code::H3_NO_ERROR);
}
