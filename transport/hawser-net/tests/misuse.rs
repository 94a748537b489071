//! What a program passes that makes no sense, or does in the wrong order: it gets an error, and the endpoint goes on.

use std::sync::Arc;
use std::time::Duration;

use hawser_net::policy::{PathAction, PathEvent, PathManager, PathManagerInit, PathView, Time};
use hawser_net::{
    AcceptError, ClientConfig, ConnectError, Connection, ConnectionError, Endpoint, Identity, Links, Pin,
    ReadError, ReadToEndError, RecvStream, SendStream, ServerConfig, TransportConfig, Trust, WriteError,
    default_transport,
};

use crate::common::*;

/// The first code that is no code: those of applications are variable-length integers (RFC 9000 section 20.2).
const TOO_LARGE: u64 = 1 << 62;

/// A connection as both ends have it: the client's and the server's.
async fn connected(client: &Endpoint, server: &Endpoint) -> (Connection, Connection) {
    let (ours, theirs) = tokio::join!(client.connect(address_of(server), "localhost"), async {
        server.accept().await.expect("the server accepts").await
    });
    (ours.expect("connected"), theirs.expect("accepted"))
}

/// A stream as both ends have it: its first byte was read.
async fn stream(
    ours: &Connection,
    theirs: &Connection,
) -> ((SendStream, RecvStream), (SendStream, RecvStream)) {
    let (mut send, receive) = ours.open_bi().await.unwrap();
    send.write_all(b"?").await.unwrap();
    let (answers, mut asked) = theirs.accept_bi().await.unwrap();
    asked.read_exact(&mut [0]).await.unwrap();
    ((send, receive), (answers, asked))
}

#[tokio::test]
async fn codes_of_streams_that_do_not_fit_are_refused_and_the_stream_goes_on() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    let ((mut send, mut receive), (mut answers, mut asked)) = stream(&ours, &theirs).await;
    for code in [TOO_LARGE, u64::MAX] {
        let refused =
            [send.reset(code).unwrap_err().to_string(), receive.stop(code).unwrap_err().to_string()];
        assert!(refused.iter().all(|words| words.contains("below 2^62")), "{refused:?}");
    }
    send.write_all(b"more").await.unwrap();
    send.finish().unwrap();
    assert_eq!(asked.read_to_end(10).await.unwrap(), b"more");
    answers.write_all(b"answer").await.unwrap();
    answers.finish().unwrap();
    assert_eq!(receive.read_to_end(10).await.unwrap(), b"answer");
}

#[tokio::test]
async fn the_largest_code_reaches_the_peer() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    let ((mut send, mut receive), (mut answers, mut asked)) = stream(&ours, &theirs).await;
    send.reset(TOO_LARGE - 1).unwrap();
    receive.stop(TOO_LARGE - 1).unwrap();
    assert_eq!(asked.read_chunk(1).await, Err(ReadError::Reset(TOO_LARGE - 1)));
    assert_eq!(answers.stopped().await, Ok(Some(TOO_LARGE - 1)));
}

#[tokio::test]
async fn a_code_of_a_close_that_does_not_fit_arrives_as_the_largest() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let largest = |reason: &'static str| ConnectionError::PeerApplication {
        code: TOO_LARGE - 1,
        reason: reason.into(),
    };
    let (ours, theirs) = connected(&client, &server).await;
    ours.close(u64::MAX, b"one");
    assert_eq!(theirs.closed().await, largest("one"));
    // The endpoint still connects.
    let (_ours, theirs) = connected(&client, &server).await;
    client.close(TOO_LARGE, b"all");
    assert_eq!(theirs.closed().await, largest("all"));
    client.wait_idle().await;
}

/// Panics as soon as it is told something.
struct Panics;

impl PathManager for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn on_event(&mut self, _: Time, event: &PathEvent, _: &[PathView], _: &mut Vec<PathAction>) {
        if matches!(event, PathEvent::Established(_)) {
            panic!("a test of what a panic does");
        }
    }
}

#[tokio::test]
async fn a_panic_in_a_worker_is_not_reported_as_a_close_by_this_side() {
    let (server, pin) = server();
    serve(&server, echo);
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        .path_manager(Arc::new(|_: &PathManagerInit| Box::new(Panics) as Box<_>))
        .build()
        .unwrap();
    let client = Endpoint::client(config, Links::Routed).unwrap();
    let error = match client.connect(address_of(&server), "localhost").await {
        Ok(connection) => connection.closed().await,
        Err(ConnectError::Handshake(error)) => error,
        Err(other) => panic!("{other:?}"),
    };
    assert!(error.to_string().contains("panic"), "{error}");
    let again = client.connect(address_of(&server), "localhost").await.unwrap_err();
    assert!(again.to_string().contains("panic"), "{again}");
}

#[tokio::test]
async fn reading_a_stream_that_was_stopped_is_an_error_each_time() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    let ((_send, mut receive), _theirs) = stream(&ours, &theirs).await;
    receive.stop(7).unwrap();
    for _ in 0..2 {
        assert!(matches!(receive.read(&mut [0]).await, Err(ReadError::Closed(_))));
        assert!(matches!(receive.read_chunk(1).await, Err(ReadError::Closed(_))));
        assert!(matches!(receive.next_chunk(1).await, Err(ReadError::Closed(_))));
        let whole = receive.read_to_end(1).await;
        assert!(matches!(whole, Err(ReadToEndError::Read(ReadError::Closed(_)))));
    }
}

#[tokio::test]
async fn reading_a_stream_that_was_reset_says_so_each_time() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    let ((_send, mut receive), (mut answers, _asked)) = stream(&ours, &theirs).await;
    answers.reset(9).unwrap();
    for _ in 0..2 {
        assert_eq!(receive.read_chunk(1).await, Err(ReadError::Reset(9)));
    }
}

#[tokio::test]
async fn writing_to_a_stream_that_the_peer_stopped_says_so_each_time() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    let ((mut send, _receive), (_answers, mut asked)) = stream(&ours, &theirs).await;
    asked.stop(9).unwrap();
    assert_eq!(send.stopped().await, Ok(Some(9)));
    for _ in 0..2 {
        assert_eq!(send.write(b"x").await, Err(WriteError::Stopped(9)));
    }
    // The peer does not care for its end either.
    send.finish().unwrap();
    assert!(send.finish().is_err(), "it is finished");
    assert!(matches!(send.write(b"x").await, Err(WriteError::Closed(_))), "it was finished here");
}

#[tokio::test]
async fn a_server_without_configuration_refuses_at_once() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let (ours, theirs) = connected(&client, &server).await;
    server.set_server_config(None);
    let error = client.connect(address_of(&server), "localhost").await.unwrap_err();
    assert!(error.to_string().contains("CONNECTION_REFUSED: server takes no new connections"), "{error}");
    // Those that exist go on.
    let ((mut send, _receive), (_answers, mut asked)) = stream(&ours, &theirs).await;
    send.finish().unwrap();
    assert_eq!(asked.read_to_end(1).await.unwrap(), b"");
}

#[tokio::test]
async fn a_silent_server_is_the_same_error_whichever_timeout_is_shorter() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for (idle, handshake) in [(200, 200), (200, 5_000), (5_000, 200)] {
        let transport = default_transport().with(|t| t.max_idle_timeout = Some(Duration::from_millis(idle)));
        let config = ClientConfig::builder()
            .trust(Trust::Insecure)
            .transport(transport)
            .handshake_timeout(Duration::from_millis(handshake))
            .build()
            .unwrap();
        let client = Endpoint::client(config, Links::All).unwrap();
        let error = client.connect(silent.local_addr().unwrap(), "localhost").await.unwrap_err();
        assert!(matches!(error, ConnectError::TimedOut { .. }), "{idle} ms, {handshake} ms: {error}");
        assert!(error.to_string().contains(&silent.local_addr().unwrap().to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_server_is_not_told_which_certificate_was_wanted() {
    let (server, _) = server();
    let wanted = Pin::from([9; 32]);
    let client = client(wanted, Links::Routed);
    let (refused, accepted) = tokio::join!(client.connect(address_of(&server), "localhost"), async {
        server.accept().await.unwrap().await
    });
    assert!(matches!(refused, Err(ConnectError::Certificate(_))), "{refused:?}");
    let Err(AcceptError::Handshake(ConnectionError::PeerTransport(error))) = accepted else {
        panic!("{accepted:?}")
    };
    assert_eq!(error.reason, "the server's certificate is not acceptable");
}

#[tokio::test]
async fn transports_that_could_not_work_are_refused_with_field_value_and_range() {
    let transport = || default_transport().with(|t| t.max_batch_segments = 0);
    let words = "transport configuration: `max_batch_segments` is 0: expected 1 to 64";
    let client = ClientConfig::builder().trust(Trust::Insecure).transport(transport()).build().unwrap_err();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let server = ServerConfig::builder(identity).transport(transport()).build().unwrap_err();
    assert_eq!([client.to_string(), server.to_string()], [words, words]);
}

#[tokio::test]
async fn everything_at_its_largest_carries_data() {
    let largest = || {
        default_transport().with(|t| {
            (t.initial_stream_window, t.max_stream_window) = (u64::MAX, u64::MAX);
            (t.initial_connection_window, t.max_connection_window) = (u64::MAX, u64::MAX);
            (t.max_bidirectional_streams, t.max_unidirectional_streams) = (u64::MAX, u64::MAX);
            (t.max_send_buffer, t.datagram_send_buffer) = (u64::MAX, usize::MAX);
            t.datagram_receive_buffer = Some(usize::MAX);
            (t.max_idle_timeout, t.keep_alive_interval) = (Some(Duration::MAX), Some(Duration::MAX));
            (t.max_mtu, t.max_path_id, t.max_concurrent_paths) = (u16::MAX, Some(u32::MAX), u32::MAX);
            (t.suspect_path_timeout, t.initial_rtt) = (Duration::MAX, Duration::from_secs(60));
            (t.receive_timestamps, t.key_update_after) = (Some(u64::MAX), Some(u64::MAX));
        })
    };
    carries_data(largest).await;
}

#[tokio::test]
async fn an_idle_timeout_of_zero_is_none() {
    carries_data(|| default_transport().with(|t| t.max_idle_timeout = Some(Duration::ZERO))).await;
}

async fn carries_data(transport: impl Fn() -> TransportConfig) {
    let (server, pin) = server_with(transport());
    serve(&server, echo);
    let client = Endpoint::client(client_config_with(pin, transport()), Links::All).unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let data = pattern(3_000_000);
    let sending = async {
        send.write_all(&data).await.unwrap();
        send.finish().unwrap();
    };
    let (read, ()) = tokio::join!(receive.read_to_end(data.len()), sending);
    assert!(read.unwrap() == data, "the data came back changed");
}
