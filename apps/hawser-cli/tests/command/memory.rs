//! What attackers make a server hold, as the system sees it: resident memory of the process for each byte that they sent.

use std::time::Duration;

use hawser::{SendStream, TransportConfig};

use crate::raw::*;
use crate::support::*;

/// What an attacker keeps open while the server is looked at.
struct Attackers {
    clients: Vec<Raw>,
    streams: Vec<SendStream>,
    answers: Vec<hawser::RecvStream>,
}

impl Attackers {
    fn none() -> Self {
        Attackers { clients: Vec::new(), streams: Vec::new(), answers: Vec::new() }
    }

    async fn connect(&mut self, server: &Server, transport: &TransportConfig) -> &Raw {
        self.clients.push(Raw::connect(server, transport.clone()).await);
        self.clients.last().unwrap()
    }

    /// Opens a stream of the last client and leaves it open with these bytes.
    async fn leave_open(&mut self, bytes: &[u8]) {
        let (mut send, answer) = self.clients.last().unwrap().connection.open_bi().await.unwrap();
        // The server may close the connection, or stop the stream, in the middle.
        let _ = tokio::time::timeout(Duration::from_secs(2), send.write_all(bytes)).await;
        self.streams.push(send);
        self.answers.push(answer);
    }

    fn sent(&self) -> u64 {
        self.clients.iter().map(|client| client.connection.stats().bytes_sent).sum()
    }
}

/// Looks at the server for half a second: the most that it held beyond what it had before.
async fn growth(server: &Server, before: u64) -> u64 {
    let mut most = 0;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        most = server.memory().saturating_sub(before).max(most);
    }
    most
}

/// Prints what it cost whom, and asserts the bound: MiB that may be held, whatever was sent.
async fn judge(name: &str, server: &Server, before: u64, attackers: Attackers, mebibytes: u64) {
    let (held, sent) = (growth(server, before).await, attackers.sent());
    println!(
        "{name}: {} connections sent {} KiB, the server holds {} KiB more: {:.2} for each byte",
        attackers.clients.len(),
        sent >> 10,
        held >> 10,
        held as f64 / sent.max(1) as f64
    );
    assert!(held < mebibytes << 20, "{name}: {} MiB", held >> 20);
    drop(attackers);
}

/// A server that has served somebody, so that what it needs once is there.
async fn warm(arguments: &[&str]) -> (Server, u64) {
    let mut command = hawser([]);
    // A fixed threshold, so that what the server drops goes back to the system at once. Otherwise glibc raises it to the largest block
    // that was freed and keeps such blocks in its arenas, up to 36 MiB of them here, by what the threads happen to do.
    command.env("MALLOC_MMAP_THRESHOLD_", "65536");
    let server = Server::start_with(command, &[&["-q"], arguments].concat());
    server.add("small", b"content");
    server.add_sparse("large", 1 << 30);
    for _ in 0..3 {
        let raw = Raw::connect(&server, hawser::default_transport()).await;
        let mut answer = raw.ask(&request(GET, b"/small", &[])).await;
        answer.read_to_end(1 << 16).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = server.memory();
    (server, before)
}

/// HEADERS whose length says 1 GiB, with as much behind it as the server takes.
#[tokio::test]
async fn headers_of_a_gigabyte() {
    let (server, before) = warm(&[]).await;
    let mut attackers = Attackers::none();
    let announced = [&[1][..], &((1_u64 << 30) | (3 << 62)).to_be_bytes(), &[0; 1 << 16]].concat();
    for _ in 0..20 {
        attackers.connect(&server, &hawser::default_transport()).await;
        attackers.leave_open(&announced).await;
    }
    judge("headers of a gigabyte", &server, before, attackers, 16).await;
}

/// Requests whose header never ends, a byte of it on each of all streams.
#[tokio::test]
async fn headers_that_do_not_end() {
    let (server, before) = warm(&[]).await;
    let mut attackers = Attackers::none();
    for _ in 0..10 {
        attackers.connect(&server, &hawser::default_transport()).await;
        for _ in 0..90 {
            attackers.leave_open(&[1, 0x50, 0, 0]).await;
        }
    }
    judge("headers that do not end", &server, before, attackers, 32).await;
}

/// Large files that are asked for and not read, by clients with tiny windows and by such with large ones. A connection may hold 16
/// blocks of 256 KiB, and in its send buffer 32 MiB (`max_send_buffer`), which only those fill that have windows for it.
#[tokio::test]
async fn responses_that_nobody_reads() {
    for (window, mebibytes) in [(2_000, 4 * 8), (4 << 20, 4 * (4 + 32))] {
        let (server, before) = warm(&[]).await;
        let mut attackers = Attackers::none();
        let transport = hawser::default_transport().with(|transport| {
            transport.initial_stream_window = window;
            transport.max_stream_window = window;
            transport.initial_connection_window = window;
            transport.max_connection_window = window;
        });
        for _ in 0..4 {
            attackers.connect(&server, &transport).await;
            for _ in 0..90 {
                let answer = attackers.clients.last().unwrap().ask(&request(GET, b"/large", &[])).await;
                attackers.answers.push(answer);
            }
        }
        judge(&format!("unread responses, windows of {window}"), &server, before, attackers, mebibytes).await;
    }
}

/// Many connections of one address, with windows for what they ask for and do not read: they fill an eighth of what there is for
/// all, and a client that comes then is served at once.
#[tokio::test]
async fn one_address_fills_an_eighth_of_the_send_memory() {
    let (server, before) = warm(&["--send-memory", "256M", "--reply-memory", "64M"]).await;
    let mut attackers = Attackers::none();
    let transport = hawser::default_transport().with(|transport| {
        transport.initial_stream_window = 1 << 20;
        transport.max_stream_window = 1 << 20;
        transport.initial_connection_window = 64 << 20;
        transport.max_connection_window = 64 << 20;
    });
    for _ in 0..40 {
        attackers.connect(&server, &transport).await;
        for _ in 0..16 {
            let answer = attackers.clients.last().unwrap().ask(&request(GET, b"/large", &[])).await;
            attackers.answers.push(answer);
        }
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let started = std::time::Instant::now();
    let raw = Raw::connect(&server, hawser::default_transport()).await;
    let mut answer = raw.ask(&request(GET, b"/small", &[])).await;
    answer.read_to_end(1 << 16).await.unwrap();
    let waited = started.elapsed();
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    // 32 MiB of the send memory, 8 MiB of the reply memory, and what 40 connections need.
    judge("unread responses of one address", &server, before, attackers, 48).await;
}

/// As many uploads as a connection may have and more, each stopped in the middle; and datagrams, which are not taken at all.
#[tokio::test]
async fn uploads_that_stop() {
    let (server, before) = warm(&["--allow-put"]).await;
    let mut attackers = Attackers::none();
    for client in 0..4 {
        attackers.connect(&server, &hawser::default_transport()).await;
        let datagram =
            attackers.clients[client].connection.send_datagram(bytes::Bytes::from_static(b"datagram"));
        assert!(datagram.is_err(), "HTTP connections do not offer DATAGRAM");
        for stream in 0..40 {
            let path = format!("/upload-{client}-{stream}");
            // DATA of 1 MiB is announced, and 128 KiB of it come.
            let body = [&[0][..], &(1_u32 << 20 | 2 << 30).to_be_bytes(), &[7; 128 << 10]].concat();
            attackers.leave_open(&[request(PUT, path.as_bytes(), &[]), body].concat()).await;
        }
    }
    judge("uploads that stop", &server, before, attackers, 64).await;
}

/// Connections of one source, open and silent.
#[tokio::test]
async fn connections_that_do_nothing() {
    let (server, before) = warm(&[]).await;
    let mut attackers = Attackers::none();
    for _ in 0..60 {
        attackers.connect(&server, &hawser::default_transport()).await;
    }
    judge("silent connections", &server, before, attackers, 24).await;
}
