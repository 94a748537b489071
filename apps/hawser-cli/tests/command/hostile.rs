//! What strangers may not do to the server, and servers not to the client.

use std::fs;
use std::time::{Duration, Instant};

use hawser::{Endpoint, Identity, ServerConfig};

use crate::raw::*;
use crate::support::*;

/// How long a small file takes from a server that is being attacked.
async fn time_of_small_file(server: &Server) -> Duration {
    let started = Instant::now();
    let raw = Raw::connect(server, hawser::default_transport()).await;
    let mut answer = raw.ask(&request(GET, b"/small", &[])).await;
    let answer = tokio::time::timeout(Duration::from_secs(20), answer.read_to_end(1 << 16)).await;
    let answer = answer.expect("an answer").unwrap();
    assert!(answer.windows(7).any(|window| window == b"content"), "{answer:x?}");
    started.elapsed()
}

/// RFC 9114 section 7.1: half of a body must not be taken for the whole.
#[tokio::test]
async fn a_truncated_upload_is_not_stored() {
    let server = Server::start(&["--allow-put"]);
    for wait in [Duration::ZERO, Duration::from_millis(200)] {
        let raw = Raw::connect(&server, hawser::default_transport()).await;
        let (mut send, mut receive) = raw.connection.open_bi().await.unwrap();
        let body = [b"\x00\x43\xe8".as_slice(), b"0123456789"].concat();
        send.write_all(&[request(PUT, b"/truncated", &[]), body].concat()).await.unwrap();
        tokio::time::sleep(wait).await;
        send.finish().unwrap();
        assert!(receive.read_to_end(1 << 16).await.is_err(), "no response");
        let hawser::ConnectionError::PeerApplication { code, .. } = raw.connection.closed().await else {
            panic!("the server closes");
        };
        assert_eq!(code, 0x106, "H3_FRAME_ERROR");
    }
    assert!(!server.folder.path().join("truncated").exists(), "nothing is stored");
    // The partial file goes after the connection did.
    let left = || fs::read_dir(server.folder.path()).unwrap().count();
    for _ in 0..100 {
        if left() > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_eq!(left(), 0, "nothing is left");
}

/// RFC 9114 section 7.2.3: what follows the header of a request that has no body is looked at as well.
#[tokio::test]
async fn a_frame_out_of_place_behind_a_request_costs_the_connection() {
    let server = Server::start(&[]);
    let raw = Raw::connect(&server, hawser::default_transport()).await;
    let (mut send, _receive) = raw.connection.open_bi().await.unwrap();
    let cancel_push = frame(3, &[0]);
    send.write_all(&[request(GET, b"/", &[]), cancel_push].concat()).await.unwrap();
    send.finish().unwrap();
    let hawser::ConnectionError::PeerApplication { code, .. } = raw.connection.closed().await else {
        panic!("the server closes");
    };
    assert_eq!(code, 0x105, "H3_FRAME_UNEXPECTED");
}

/// A server that answers each request with these bytes, and ends the stream a little later.
fn server_of(answer: Vec<u8>) -> (u16, String) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap().to_string();
    let config = ServerConfig::builder(identity).alpn([hawser::h3::ALPN]).build().unwrap();
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let port = endpoint.listening()[0].port();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let connection = incoming.await.unwrap();
            let mut control = connection.open_uni().await.unwrap();
            control.write_all(SETTINGS).await.unwrap();
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                let _ = receive.read_to_end(1 << 16).await;
                send.write_all(&answer).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
                send.finish().unwrap();
            }
        }
    });
    (port, pin)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_response_is_an_error_and_no_panic() {
    // :status 200 is number 25 of the static table.
    let answer = [frame(1, b"\x00\x00\xd9"), b"\x00\x43\xe8".to_vec(), b"0123456789".to_vec()].concat();
    let (port, pin) = server_of(answer);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let command =
        hawser(["get", "--pin", &pin, "-o", file.to_str().unwrap(), &format!("https://127.0.0.1:{port}/x")]);
    let words = tokio::task::spawn_blocking(move || run_failing(command, 18)).await.unwrap();
    assert!(words.contains("within a frame") && !words.contains("panic"), "{words}");
    assert!(!file.exists());
}

/// Characters that move the cursor, set titles or reverse the text, from a peer.
#[tokio::test]
async fn control_sequences_of_clients_do_not_reach_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let server = Server::start_logging(&log, &["-v"]);
    let raw = Raw::connect(&server, hawser::default_transport()).await;
    for path in ["/\u{9b}31mRED", "/\u{7f}del", "/\u{202e}txt.exe", "/\u{9d}0;title\u{9c}"] {
        let _ = raw.ask(&request(GET, path.as_bytes(), &[])).await.read_to_end(1 << 16).await;
    }
    raw.connection.close(1, b"\x1b]0;title\x07\nforged line 127.0.0.1:1 GET /admin 200");
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.stop();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("31mRED") && log.contains("txt.exe") && log.contains("ended"), "{log:?}");
    let allowed = |c: char| c == '\n' || (!c.is_control() && c != '\u{202e}');
    assert!(log.chars().all(allowed), "{log:?}");
    assert!(!log.lines().any(|line| line.starts_with("forged")), "{log:?}");
}

/// Requests for digests of a large file that wait on a thread each would stop everybody else.
#[tokio::test]
async fn requests_for_digests_do_not_stop_others() {
    let server = Server::start(&[]);
    server.add("small", b"content");
    server.add_sparse("large", 40 << 30);
    let (mut attackers, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let raw = Raw::connect(&server, hawser::default_transport()).await;
        for _ in 0..95 {
            let fields = [("te", "trailers"), ("range", "bytes=0-0")];
            answers.push(raw.ask(&request(GET, b"/large", &fields)).await);
        }
        attackers.push(raw);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let time = time_of_small_file(&server).await;
    assert!(time < Duration::from_secs(5), "{time:?}");
}

/// A few kilobytes of requests must not pin files and memory by the hundred.
#[tokio::test]
async fn responses_that_nobody_reads_pin_little() {
    let server = Server::start(&[]);
    server.add("small", b"content");
    server.add_sparse("large", 1 << 30);
    let before = server.memory();
    let mut transport = hawser::default_transport();
    transport.initial_stream_window = 2_000;
    transport.max_stream_window = 2_000;
    transport.initial_connection_window = 2_000;
    transport.max_connection_window = 2_000;
    let (mut attackers, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let raw = Raw::connect(&server, transport.clone()).await;
        for _ in 0..96 {
            answers.push(raw.ask(&request(GET, b"/large", &[])).await);
        }
        attackers.push(raw);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (descriptors, memory) = (server.descriptors(), server.memory().saturating_sub(before));
    // Per connection: 16 files, and 16 blocks of 256 KiB; the requests themselves take some memory, too.
    assert!(descriptors < 4 * 16 + 40, "{descriptors} descriptors");
    assert!(memory < 4 * (8 << 20), "{} MiB", memory >> 20);
    time_of_small_file(&server).await;
}

/// Pages of a large folder that nobody reads: the memory of their source holds one of them, and the others wait for it with neither a
/// page nor the right to look something up.
#[tokio::test]
async fn listings_that_nobody_reads_stop_nobody() {
    let server = Server::start(&["--reply-memory", "16M"]);
    server.add("small", b"content");
    for n in 0..4000 {
        server.add(&format!("{n:04}{}", "x".repeat(150)), b"");
    }
    let before = server.memory();
    let mut transport = hawser::default_transport();
    (transport.initial_stream_window, transport.max_stream_window) = (2_000, 2_000);
    let (mut attackers, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let raw = Raw::connect(&server, transport.clone()).await;
        for _ in 0..40 {
            answers.push(raw.ask(&request(GET, b"/", &[])).await);
        }
        attackers.push(raw);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    time_of_small_file(&server).await;
    let memory = server.memory().saturating_sub(before);
    assert!(memory < 48 << 20, "{} MiB", memory >> 20);
}

/// RFC 9000 section 21.11: who knows a connection id of one server must not learn its reset token from the other.
//= rfc9000-21.11-2
#[test]
fn two_servers_of_one_state_folder_have_different_reset_tokens() {
    let first = Server::start(&[]);
    let port = first.port;
    let second = first.start_second(&format!("127.0.0.2:{port}"));
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // A connection id of the right length that neither server knows: both answer with the token they have for it.
    let mut datagram = vec![0x45];
    datagram.extend_from_slice(b"somebody's id, cut to length");
    datagram.resize(80, 7);
    let token_of = |address: &str| {
        socket.send_to(&datagram, (address, port)).unwrap();
        let mut answer = [0; 1500];
        let length = socket.recv(&mut answer).unwrap();
        answer[length - 16..length].to_vec()
    };
    let again = token_of("127.0.0.1");
    assert_eq!(token_of("127.0.0.1"), again, "a token belongs to its connection id");
    assert_ne!(token_of("127.0.0.2"), again);
    drop(second);
}

/// A stream without a request must not keep a server from ending when its work is done.
#[tokio::test(flavor = "multi_thread")]
async fn requests_without_header_do_not_delay_the_end() {
    let server = Server::start(&["--grace", "3600"]);
    let raw = Raw::connect(&server, hawser::default_transport()).await;
    let _ = raw.ask(b"").await.read_to_end(1 << 10).await;
    // Returns when the process has ended, not an hour later.
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
}

#[test]
fn a_key_that_everybody_can_read_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let (state, log) = (folder.path().join("state"), folder.path().join("log"));
    Identity::load_or_create(&state, &["localhost"]).unwrap();
    let [cert, key] = ["certificate.pem", "key.pem"].map(|name| state.join(name).display().to_string());
    let arguments = ["--cert", &cert, "--key", &key];
    Server::start_logging(&log, &arguments).stop();
    assert!(!fs::read_to_string(&log).unwrap().contains("chmod"), "it is private");
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    Server::start_logging(&log, &arguments).stop();
    let words = fs::read_to_string(&log).unwrap();
    assert!(words.contains("every user") && words.contains("key.pem"), "{words}");
}

/// A folder for keys that is made under a lax umask.
#[test]
fn the_state_folder_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("new/state");
    let mut shell = clean(std::process::Command::new("sh"));
    shell.arg("-c").arg("umask 0; exec \"$0\" \"$@\"").arg(env!("CARGO_BIN_EXE_hawser"));
    let server = Server::start_with(shell, &["-q", "--state", state.to_str().unwrap()]);
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    drop(server);
}

/// The first datagram of a client that then hears nothing.
async fn client_hello() -> Vec<u8> {
    let trap = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = trap.local_addr().unwrap();
    let trust = hawser::Trust::Pins(Vec::new());
    let config = hawser::ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).build().unwrap();
    let endpoint = Endpoint::client(config, hawser::Links::All).unwrap();
    let connecting = tokio::spawn(async move { endpoint.connect(address, "localhost").await.map(drop) });
    let mut datagram = vec![0; 2048];
    let length = trap.recv(&mut datagram).await.unwrap();
    connecting.abort();
    datagram.truncate(length);
    datagram
}

/// Initial packets whose sender never answers, as forged ones: far more than there are places. A client is served meanwhile, and so
/// is one of another source when the first has its share.
#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_take_no_places() {
    let server = Server::start(&["--max-connections", "16"]);
    server.add("small", b"content");
    server.add("large", &[7; 200_000]);
    for _ in 0..64 {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&client_hello().await, ("127.0.0.1", server.port)).unwrap();
    }
    time_of_small_file(&server).await;
    // An eighth of the places, which are two.
    let first = Raw::connect(&server, hawser::default_transport()).await;
    let second = Raw::connect(&server, hawser::default_transport()).await;
    // A connection that has moved little for a while gives way to the next client from the same address.
    for raw in [&first, &second] {
        let answer = raw.ask(&request(GET, b"/large", &[])).await.read_to_end(1 << 20).await.unwrap();
        assert!(answer.len() > 200_000, "{}", answer.len());
    }
    let trust = hawser::Trust::Pins(vec![server.pin.parse().unwrap()]);
    let config = hawser::ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).build().unwrap();
    let endpoint = Endpoint::client(config, hawser::Links::All).unwrap();
    assert!(endpoint.connect(([127, 0, 0, 1], server.port).into(), "localhost").await.is_err());
    let open = [&first, &second].map(|raw| raw.connection.close_reason().is_none());
    assert_eq!(open, [true, true]);
}

/// A byte of a field that is in a table is a hundred in memory, as long as the request waits.
#[tokio::test]
async fn a_request_with_very_many_fields_is_refused() {
    let server = Server::start(&[]);
    fs::write(server.folder.path().join("small"), b"content").unwrap();
    let raw = Raw::connect(&server, hawser::default_transport()).await;
    let lines = [("x-a", "1"); 101];
    let answer = raw.ask(&request(GET, b"/small", &lines)).await.read_to_end(1 << 16).await.unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("more than 100 header fields"), "{text}");
    assert!(time_of_small_file(&server).await < Duration::from_secs(10));
}

/// However many others are behind the address.
#[tokio::test]
async fn idle_connections_give_their_place_to_who_comes() {
    let server = Server::start(&["--connections-per-source", "3"]);
    fs::write(server.folder.path().join("small"), b"content").unwrap();
    let mut idle = Vec::new();
    for _ in 0..6 {
        idle.push(Raw::connect(&server, hawser::default_transport()).await);
    }
    // What the handshake and its settings moved is no longer recent: they are idle.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(time_of_small_file(&server).await < Duration::from_secs(10));
    let closed = idle.iter().filter(|raw| raw.connection.close_reason().is_some()).count();
    assert!(closed >= 3, "{closed}");
}
