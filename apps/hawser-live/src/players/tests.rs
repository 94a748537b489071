use tokio::io::AsyncReadExt as _;

use super::*;
use crate::sink::AFTER_END;
use hawser_command::output::Output;
use hawser_command::paths::Flow;

async fn listening() -> (std::net::SocketAddr, Arc<Hub>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hub = Hub::new(Duration::from_secs(1));
    let status = Status::new("relay", Flow::Received, hub.clone(), Output::default());
    let listed = Listed::new("view".to_owned(), hub.clone(), status);
    let access = Access { is_private: true, origin: Origin::Any };
    tokio::spawn(serve_http(listener, vec![listed], access));
    (address, hub)
}

async fn ask(address: std::net::SocketAddr, name: &str, host: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /{name}.flv HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await;
    let words = read.unwrap().map_or(String::new(), |_| String::from_utf8_lossy(&answer).into_owned());
    (stream, words)
}

async fn subscribers_become(hub: &Hub, count: usize) {
    for _ in 0..500 {
        if hub.subscribers() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} subscribers", hub.subscribers());
}

#[tokio::test]
async fn players_that_leave_give_their_place_back_while_nobody_publishes() {
    let (address, hub) = listening().await;
    for _ in 0..MAX_PLAYERS + 10 {
        let (stream, words) = ask(address, "view", "localhost").await;
        assert_eq!(words, "HTTP/1.1 200");
        drop(stream);
    }
    subscribers_become(&hub, 0).await;
}

#[tokio::test]
async fn players_are_closed_when_no_other_source_follows() {
    let (address, hub) = listening().await;
    let (mut stream, _) = ask(address, "view", "127.0.0.1").await;
    subscribers_become(&hub, 1).await;
    tokio::time::pause();
    hub.end();
    let mut rest = Vec::new();
    tokio::time::timeout(AFTER_END * 2, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(hub.subscribers(), 0);
}

/// The head of an answer, in lower case.
async fn head_of(address: std::net::SocketAddr, method: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("{method} /view.flv HTTP/1.1\r\nHost: localhost\r\nOrigin: http://p.example\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 400];
    let count = stream.read(&mut head).await.unwrap();
    String::from_utf8_lossy(&head[..count]).to_ascii_lowercase()
}

#[tokio::test]
async fn a_player_of_another_origin_may_play() {
    let (address, _hub) = listening().await;
    for method in ["GET", "HEAD", "OPTIONS"] {
        let head = head_of(address, method).await;
        assert!(head.contains("access-control-allow-origin: *\r\n"), "{method}: {head}");
    }
    assert!(head_of(address, "OPTIONS").await.starts_with("http/1.1 204"));
    assert!(head_of(address, "POST").await.starts_with("http/1.1 405"));
    let only = Origin::parse("https://player.example").unwrap();
    assert!(only.fields().contains("https://player.example\r\nVary: Origin"));
    assert_eq!((Origin::parse("*"), Origin::parse("none")), (Ok(Origin::Any), Ok(Origin::None)));
    for text in ["", "player.example", "https://", "https://a/b", "https://a\r\nX: y"] {
        assert!(Origin::parse(text).is_err(), "{text}");
    }
}

#[tokio::test]
async fn other_names_of_streams_and_of_this_machine_are_unknown() {
    let (address, _hub) = listening().await;
    assert_eq!(ask(address, "other", "localhost").await.1, "HTTP/1.1 404");
    assert_eq!(ask(address, "view", "evil.example").await.1, "HTTP/1.1 404");
}
