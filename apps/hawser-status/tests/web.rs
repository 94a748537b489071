//! The page and the metrics, as a browser and a stranger ask for them.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hawser_status::Hub;
use hawser_status::model::User;
use hawser_status::web::WebServer;

/// What a request is answered with, up to the end or to so many bytes.
fn ask(address: SocketAddr, head: &str, most: usize) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut all = Vec::new();
    let mut block = [0; 4096];
    while all.len() < most {
        match stream.read(&mut block) {
            Ok(0) | Err(_) => break,
            Ok(count) => all.extend_from_slice(&block[..count]),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

struct Page {
    server: WebServer,
    address: SocketAddr,
    /// With a slash at its end.
    path: String,
}

impl Page {
    async fn open() -> Self {
        let hub = Hub::new("test", Box::new(|| {}));
        hub.add(std::sync::Arc::new(|status| {
            status.users.push(User { name: "<script>alert(1)</script>".to_owned(), ..User::default() });
        }));
        let server = WebServer::open(hub, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let url = server.url();
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (address, path) = (host.parse().unwrap(), format!("/{path}"));
        Page { server, address, path }
    }

    async fn get(&self, path: &str, host: &str, most: usize) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let address = self.address;
        tokio::task::spawn_blocking(move || ask(address, &head, most)).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_needs_its_token_and_a_name_of_this_machine() {
    let page = Page::open().await;
    let host = page.address.to_string();
    let good = page.get(&page.path, &host, 1 << 20).await;
    assert!(good.starts_with("HTTP/1.1 200 OK\r\n"), "{good}");
    assert!(good.contains("Content-Security-Policy: default-src 'none'; script-src 'self'"), "{good}");
    assert!(
        !good.contains("http://") && !good.contains("https://"),
        "it asks for nothing from elsewhere: {good}"
    );
    let wrong = format!("/{}/", "0".repeat(32));
    for path in ["/", "/status", &wrong, &page.path[..10], &page.path[..33]] {
        let answer = page.get(path, &host, 1 << 20).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let rebound = page.get(&page.path, "evil.example", 1 << 20).await;
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    let rebound = page.get("/metrics", "evil.example:80", 1 << 20).await;
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    let post = format!("POST {} HTTP/1.1\r\nHost: {host}\r\n\r\n", page.path);
    let address = page.address;
    let posted = tokio::task::spawn_blocking(move || ask(address, &post, 1 << 20)).await.unwrap();
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_are_streamed_and_files_are_there() {
    let page = Page::open().await;
    for (file, kind) in [
        ("page.js", "text/javascript"),
        ("charts.js", "text/javascript"),
        ("plot.js", "text/javascript"),
        ("plot.css", "text/css"),
        ("page.css", "text/css"),
        ("status", "application/json"),
        ("history", "application/json"),
    ] {
        let answer = page.get(&format!("{}{file}", page.path), "localhost", 1 << 20).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(kind), "{file}: {answer}");
    }
    let stream = page.get(&format!("{}stream", page.path), "localhost", 4_000).await;
    assert!(
        stream.contains("Content-Type: text/event-stream") && stream.contains("\n\ndata: {\"status\":"),
        "{stream}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_open_and_complete() {
    let page = Page::open().await;
    let url = page.server.metrics_url();
    assert!(url.ends_with("/metrics"));
    // As Prometheus asks.
    let asking = "127.0.0.1\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.3";
    let text = page.get("/metrics", asking, 1 << 20).await;
    assert!(text.contains("application/openmetrics-text") && text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("hawser_uptime_seconds ") && text.contains("hawser_program{"), "{text}");
    let classic = page.get("/metrics", "127.0.0.1", 1 << 20).await;
    assert!(classic.contains("text/plain; version=0.0.4") && !classic.contains("# EOF"), "{classic}");
    assert!(classic.contains("# TYPE hawser_sent_bytes_total counter"), "{classic}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_left_open_reads_or_is_dropped() {
    let page = Page::open().await;
    let head = format!("GET {}stream HTTP/1.1\r\nHost: localhost\r\n\r\n", page.path);
    // Takes nothing of what it is sent, and others are served.
    let mut idle = TcpStream::connect(page.address).unwrap();
    idle.write_all(head.as_bytes()).unwrap();
    for _ in 0..20 {
        let answer = page.get(&format!("{}status", page.path), "localhost", 1 << 20).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_are_left_open_leave_room_for_metrics() {
    let page = Page::open().await;
    let head = format!("GET {}stream HTTP/1.1\r\nHost: localhost\r\n\r\n", page.path);
    let mut open = Vec::new();
    for _ in 0..70 {
        let mut stream = TcpStream::connect(page.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        open.push(stream);
    }
    let answer = page.get("/metrics", "localhost", 1 << 20).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let one_more = page.get(&format!("{}stream", page.path), "localhost", 1 << 10).await;
    assert!(one_more.starts_with("HTTP/1.1 503"), "{one_more}");
}

/// Text of peers reaches the page as JSON; the script sets it as text.
#[test]
fn the_script_makes_no_markup_of_what_it_is_told() {
    let script = concat!(include_str!("../src/web/page.js"), include_str!("../src/web/charts.js"));
    for dangerous in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
    {
        assert!(!script.contains(dangerous), "{dangerous}");
    }
}
