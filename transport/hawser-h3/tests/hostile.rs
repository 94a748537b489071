//! Peers that break HTTP/3, with bytes of their own on streams of the transport.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bytes::{Buf, Bytes};
use hawser_net::{ClientConfig, Connection, ConnectionError, Endpoint, Identity, Links, ServerConfig, Trust};
use http::{Request, Response, StatusCode};

const SETTINGS: &[u8] = b"\x00\x04\x00";

/// Both ends of a connection with the endpoints it stands on; neither speaks HTTP/3 yet.
struct Pair {
    client: Connection,
    server: Connection,
    _endpoints: (Endpoint, Endpoint),
}

async fn pair() -> Pair {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser_h3::ALPN]).build().unwrap();
    let listening = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listening.listening()[0];
    let config = ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]).build().unwrap();
    let connecting = Endpoint::client(config, Links::All).unwrap();
    let (client, server) = tokio::join!(connecting.connect(address, "localhost"), async {
        listening.accept().await.unwrap().await.unwrap()
    });
    Pair { client: client.unwrap(), server, _endpoints: (connecting, listening) }
}

/// A server that reads each body and answers with its length.
async fn serve(connection: Connection) {
    let http = hawser_h3::server_builder().build(hawser_h3::Connection::new(connection)).await;
    let mut http: h3::server::Connection<_, Bytes> = http.unwrap();
    while let Ok(Some(resolver)) = http.accept().await {
        tokio::spawn(async move {
            let Ok((_, mut stream)) = resolver.resolve_request().await else { return };
            let mut length = 0;
            loop {
                match stream.recv_data().await {
                    Ok(Some(data)) => length += data.remaining(),
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            if stream.recv_trailers().await.is_err() || stream.send_response(Response::new(())).await.is_err()
            {
                return;
            }
            let _ = stream.send_data(length.to_string().into()).await;
            let _ = stream.finish().await;
        });
    }
}

fn varint(value: u64) -> Vec<u8> {
    match value {
        0..0x40 => vec![value as u8],
        0x40..0x4000 => (value as u16 | 0x4000).to_be_bytes().into(),
        0x4000..0x4000_0000 => (value as u32 | 0x8000_0000).to_be_bytes().into(),
        _ => (value | 0xc000_0000_0000_0000).to_be_bytes().into(),
    }
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    [varint(kind), varint(payload.len() as u64), payload.to_vec()].concat()
}

/// A field line with literal name and value (RFC 9204 section 4.5.6), both below seven bytes or with a longer name.
fn line(name: &str, value: &str) -> Vec<u8> {
    let mut line = match name.len() {
        short @ 0..7 => vec![0x20 | short as u8],
        long => vec![0x27, (long - 7) as u8],
    };
    line.extend_from_slice(name.as_bytes());
    line.push(value.len() as u8);
    line.extend_from_slice(value.as_bytes());
    line
}

fn headers(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    lines.iter().for_each(|(name, value)| section.extend(line(name, value)));
    frame(1, &section)
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "l"), (":path", "/")];

fn get() -> Vec<u8> {
    headers(&GET)
}

/// How the server reacted to what a client sent.
#[derive(Debug, PartialEq, Eq)]
enum Reaction {
    Closed(u64),
    /// The stream was reset, or its rest refused.
    Stream(u64),
    Answered,
}

/// What a client sends: the control stream (its end, too, with `ends`), another unidirectional stream, a request.
#[derive(Default)]
struct Attack {
    control: Vec<u8>,
    control_ends: bool,
    other: Vec<u8>,
    request: Vec<u8>,
}

async fn react(attack: Attack) -> Reaction {
    let pair = pair().await;
    tokio::spawn(serve(pair.server.clone()));
    let mut control = pair.client.open_uni().await.unwrap();
    control.write_all(&attack.control).await.unwrap();
    if attack.control_ends {
        control.finish().unwrap();
    }
    let mut other = pair.client.open_uni().await.unwrap();
    if !attack.other.is_empty() {
        other.write_all(&attack.other).await.unwrap();
    }
    let (mut send, mut receive) = pair.client.open_bi().await.unwrap();
    if !attack.request.is_empty() {
        let _ = send.write_all(&attack.request).await;
        let _ = send.finish();
    }
    let answered = async {
        match receive.read_to_end(1 << 20).await {
            Ok(_) => Reaction::Answered,
            Err(hawser_net::ReadToEndError::Read(hawser_net::ReadError::Reset(code))) => {
                Reaction::Stream(code)
            }
            Err(_) => std::future::pending().await,
        }
    };
    let patience = Duration::from_secs(10);
    tokio::select! {
        reason = pair.client.closed() => Reaction::Closed(application_code(&reason)),
        reaction = answered => reaction,
        () = tokio::time::sleep(patience) => panic!("no reaction"),
    }
}

fn application_code(reason: &ConnectionError) -> u64 {
    match reason {
        ConnectionError::PeerApplication { code, .. } => *code,
        other => panic!("{other:?}"),
    }
}

async fn react_to_request(request: Vec<u8>) -> Reaction {
    react(Attack { control: SETTINGS.into(), request, ..Attack::default() }).await
}

async fn react_to_stream(other: &[u8]) -> Reaction {
    react(Attack { control: SETTINGS.into(), other: other.into(), ..Attack::default() }).await
}

/// RFC 9114 section 10.5: what is too large is refused by its length, before it has come.
#[tokio::test]
async fn a_field_section_of_a_gigabyte_is_refused_by_its_header() {
    let request = [varint(1), varint(1 << 30), vec![0; 4096]].concat();
    assert_eq!(react_to_request(request).await, Reaction::Closed(0x107));
    // The type of a control stream in as many bytes as a variable-length integer may have.
    for kind in [&[0][..], &[0x40, 0], &[0x80, 0, 0, 0], &[0xc0, 0, 0, 0, 0, 0, 0, 0]] {
        let settings = [kind.to_vec(), varint(4), varint(1 << 30)].concat();
        let attack = Attack { control: settings, request: get(), ..Attack::default() };
        assert_eq!(react(attack).await, Reaction::Closed(0x107), "{kind:x?}");
    }
}

/// One byte of QPACK stands for a field that takes forty (RFC 9114 section 4.2.2).
//= rfc9114-10.5-2
#[tokio::test]
async fn references_that_expand_are_refused() {
    // `age: 0`, sixty thousand times.
    let section = [vec![0, 0], vec![0xc2; 60_000]].concat();
    assert_eq!(react_to_request(frame(1, &section)).await, Reaction::Closed(0x107));
}

/// RFC 9114 section 9: they are read past, whatever their length, and nothing is kept.
//= rfc9114-4.1-9, rfc9114-7.2.8-1, rfc9114-9-1
#[tokio::test]
async fn unknown_frames_are_skipped() {
    let request = [frame(0x21, &vec![7; 3 << 20]), get(), frame(0x40, b"x"), frame(0, b"body")].concat();
    assert_eq!(react_to_request(request).await, Reaction::Answered);
}

/// RFC 9114 section 7.1: a stream that ends within a frame.
//= rfc9114-7.1-2, rfc9114-7.1-4
#[tokio::test]
async fn a_truncated_frame_closes_the_connection() {
    let data = [get(), varint(0), varint(1000), b"0123456789".to_vec()].concat();
    assert_eq!(react_to_request(data).await, Reaction::Closed(0x106));
    let section = get();
    assert_eq!(react_to_request(section[..section.len() - 1].into()).await, Reaction::Closed(0x106));
    assert_eq!(react_to_request([get(), vec![0x40]].concat()).await, Reaction::Closed(0x106));
}

/// RFC 9114 sections 4.1.2 and 4.3.
//= rfc9114-4.1.2-2, rfc9114-4.3-2, rfc9114-4.3-3, rfc9114-4.3-4, rfc9114-4.3-6, rfc9114-4.3.1-6
#[tokio::test]
async fn malformed_pseudo_headers_cost_the_stream() {
    let malformed = Reaction::Stream(0x10e);
    let [method, scheme, authority, path] = GET;
    for lines in [
        vec![method, scheme, authority, path, path],
        vec![method, scheme, authority, path, (":status", "200")],
        vec![method, scheme, authority, ("x", "y"), path],
        vec![method],
        vec![method, scheme, authority, path, (":new", "1")],
    ] {
        assert_eq!(react_to_request(headers(&lines)).await, malformed, "{lines:?}");
    }
    let trailers = [get(), headers(&[("x", "y"), (":path", "/")])].concat();
    assert!(matches!(react_to_request(trailers).await, Reaction::Stream(_)));
}

/// RFC 9114 sections 4.1, 4.2, 4.3.1 and 10.3.
//= rfc9114-4.1-2, rfc9114-4.2-2, rfc9114-4.3.1-7, rfc9114-4.3.1-8, rfc9114-4.3.1-9, rfc9114-10.3-1,
//= rfc9114-10.3-2
#[tokio::test]
async fn malformed_requests_cost_the_stream() {
    let malformed = Reaction::Stream(0x10e);
    let [method, scheme, authority, path] = GET;
    for lines in [
        vec![method, scheme, path],
        vec![method, scheme, (":authority", ""), path],
        vec![method, scheme, path, ("host", "")],
        vec![method, scheme, authority, path, ("host", "other")],
        vec![method, scheme, authority, path, ("Accept", "y")],
        vec![method, scheme, authority, path, ("a b", "y")],
        vec![method, scheme, authority, path, ("x", "a\0b")],
        vec![method, scheme, authority, path, ("x", "a\r\nb: c")],
    ] {
        assert_eq!(react_to_request(headers(&lines)).await, malformed, "{lines:?}");
    }
    let host = headers(&[method, scheme, path, ("host", "l")]);
    assert_eq!(react_to_request(host).await, Reaction::Answered, "Host stands for :authority");
    let second = [get(), get()].concat();
    assert!(matches!(react_to_request(second).await, Reaction::Stream(_)), "a second request on a stream");
}

/// RFC 9114 sections 4.1 and 7.2: frames where they must not be.
//= rfc9114-4.1-3, rfc9114-7.1-2, rfc9114-7.1-3, rfc9114-7.2.1-1, rfc9114-7.2.1-2, rfc9114-7.2.2-1,
//= rfc9114-7.2.3-6, rfc9114-7.2.4-1, rfc9114-7.2.4-2, rfc9114-7.2.4-4, rfc9114-7.2.5-10, rfc9114-7.2.6-2,
//= rfc9114-7.2.7-1, rfc9114-7.2.8-2
#[tokio::test]
async fn frames_out_of_place_close_the_connection() {
    for misplaced in [
        [get(), frame(3, &[0])].concat(),
        [get(), frame(4, &[])].concat(),
        [get(), frame(7, &[0])].concat(),
        [get(), frame(13, &[0])].concat(),
        [get(), frame(5, &[0, 0, 0])].concat(),
        [get(), frame(8, &[0])].concat(),
        [get(), headers(&[("x", "y")]), frame(0, b"late")].concat(),
        frame(0, b"early"),
    ] {
        assert_eq!(react_to_request(misplaced.clone()).await, Reaction::Closed(0x105), "{misplaced:x?}");
    }
    for (control, code) in [
        (frame(0, b"x"), 0x105),
        (get(), 0x105),
        (frame(4, &[]), 0x105),
        (frame(7, &[0; 9]), 0x106),
        (frame(6, &[0; 8]), 0x105),
    ] {
        let attack = Attack { control: [SETTINGS, &control].concat(), ..Attack::default() };
        assert_eq!(react(attack).await, Reaction::Closed(code), "{control:x?}");
    }
}

/// RFC 9114 sections 6.2.1 and 9: whatever stands in its place, what is skipped elsewhere included.
//= rfc9114-6.2.1-2, rfc9114-9-3
#[tokio::test]
async fn a_control_stream_begins_with_settings() {
    for first in [
        frame(0, b"x"),
        get(),
        frame(3, &[0]),
        frame(6, &[0; 8]),
        frame(7, &[0]),
        frame(13, &[1]),
        frame(0x21, b"reserved"),
    ] {
        let control = [vec![0], first.clone(), frame(4, &[])].concat();
        let attack = Attack { control, request: get(), ..Attack::default() };
        assert_eq!(react(attack).await, Reaction::Closed(0x10a), "{first:x?}");
    }
}

/// RFC 9114 sections 7.2.4 and 7.2.4.1. MAX_FIELD_SECTION_SIZE is 6, the settings of QPACK are 1 and 7.
//= rfc9114-7.2.4-5, rfc9114-7.2.4-6, rfc9114-7.2.4.1-2, rfc9114-7.2.4.1-3
#[tokio::test]
async fn settings_of_http_2_and_repeated_ones_close_the_connection() {
    let refused = [
        b"\x06\x40\x64\x06\x40\xc8".as_slice(),
        b"\x07\x40\x64\x01\x50\x00\x06\x80\x00\x80\x00\x07\x40\x64",
        b"\x02\x01",
        b"\x03\x01",
        b"\x04\x01",
        b"\x07\x40\x64\x05\x40\xc8\x01\x50\x00",
    ];
    // Reserved ones (0x1f * N + 0x21) and unknown ones.
    let ignored = [b"\x21\x05\x40\x40\x06".as_slice(), b"\x50\x00\x07\x06\x80\x00\x80\x00", b""];
    let cases = refused.map(|settings| (settings, Reaction::Closed(0x109)));
    for (settings, reaction) in
        cases.into_iter().chain(ignored.map(|settings| (settings, Reaction::Answered)))
    {
        let control = [vec![0], frame(4, settings)].concat();
        let attack = Attack { control, request: get(), ..Attack::default() };
        assert_eq!(react(attack).await, reaction, "{settings:x?}");
    }
}

/// RFC 9204 sections 2.1, 4.3 and 4.4: nothing was announced that could be inserted or acknowledged.
#[tokio::test]
async fn instructions_for_a_table_that_is_not_there_close_the_connection() {
    assert_eq!(react_to_request(frame(1, b"\x00\x00\xff\x64")).await, Reaction::Closed(0x200));
    assert_eq!(react_to_request(frame(1, b"\x02\x00\x80")).await, Reaction::Closed(0x200));
    assert_eq!(react_to_stream(b"\x02\x3f\xe1\xff\x7f").await, Reaction::Closed(0x201));
    assert_eq!(react_to_stream(b"\x02\x41a\x01b").await, Reaction::Closed(0x201));
    assert_eq!(react_to_stream(b"\x40\x02\x41a\x01b").await, Reaction::Closed(0x201));
    assert_eq!(react_to_stream(b"\x03\x00").await, Reaction::Closed(0x202));
    assert_eq!(react_to_stream(b"\x03\x41\x81").await, Reaction::Closed(0x202));
}

/// RFC 9114 section 6.2.
//= rfc9114-6.2.1-3, rfc9114-6.2.1-4, rfc9114-6.2.1-5, rfc9114-6.2.2-1
#[tokio::test]
async fn critical_streams_stay_open_and_alone() {
    let attack = Attack { control: SETTINGS.into(), control_ends: true, ..Attack::default() };
    assert_eq!(react(attack).await, Reaction::Closed(0x104));
    assert_eq!(react_to_stream(SETTINGS).await, Reaction::Closed(0x103));
    assert_eq!(react_to_stream(b"\x01\x00").await, Reaction::Closed(0x103), "a push stream of a client");
    let pair = pair().await;
    tokio::spawn(serve(pair.server.clone()));
    let mut streams = Vec::new();
    for stream in [SETTINGS, b"\x02\x20", b"\x03", b"\x02"] {
        let mut opened = pair.client.open_uni().await.unwrap();
        opened.write_all(stream).await.unwrap();
        streams.push(opened);
    }
    assert_eq!(application_code(&pair.client.closed().await), 0x103);
}

/// RFC 9114 section 4.6: the client sent no MAX_PUSH_ID.
//= rfc9114-4.6-2
#[tokio::test]
async fn a_push_stream_of_a_server_closes_the_connection() {
    let pair = pair().await;
    let mut streams = Vec::new();
    for stream in [SETTINGS, b"\x01\x00"] {
        let mut opened = pair.server.open_uni().await.unwrap();
        opened.write_all(stream).await.unwrap();
        streams.push(opened);
    }
    let http = hawser_h3::client_builder().build(hawser_h3::Connection::new(pair.client.clone())).await;
    let (mut driver, _requests): (_, h3::client::SendRequest<_, Bytes>) = http.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    assert_eq!(application_code(&pair.server.closed().await), 0x108);
}

/// A well-formed client is served, whatever pieces its bytes come in.
//= rfc9114-6.2-4, rfc9114-6.2-6, rfc9114-6.2-9, rfc9114-6.2.3-1, rfc9114-9-1, rfc9114-9-2
#[tokio::test]
async fn a_request_in_single_bytes_is_answered() {
    let pair = pair().await;
    tokio::spawn(serve(pair.server.clone()));
    let mut streams = Vec::new();
    for stream in [SETTINGS, b"\x02\x20", b"\x03\x41", b"\x40\x21grease"] {
        let mut opened = pair.client.open_uni().await.unwrap();
        opened.write_all(stream).await.unwrap();
        streams.push(opened);
    }
    // Those that end before their type.
    for start in [b"".as_slice(), b"\x40"] {
        let mut opened = pair.client.open_uni().await.unwrap();
        opened.write_all(start).await.unwrap();
        opened.finish().unwrap();
    }
    let (mut send, mut receive) = pair.client.open_bi().await.unwrap();
    for byte in [get(), frame(0, b"0123456789"), headers(&[("x", "y")])].concat() {
        send.write_all(&[byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    send.finish().unwrap();
    let answer = receive.read_to_end(1 << 16).await.unwrap();
    // The length of the body, in a DATA frame of its own.
    assert!(answer.windows(4).any(|window| window == b"\x00\x0210"), "{answer:x?}");
}

/// A server that breaks off within a frame is no reason to panic, nor a complete response.
#[tokio::test]
async fn a_truncated_response_is_an_error() {
    let pair = pair().await;
    let server = pair.server.clone();
    tokio::spawn(async move {
        let mut control = server.open_uni().await.unwrap();
        control.write_all(SETTINGS).await.unwrap();
        let (mut send, mut receive) = server.accept_bi().await.unwrap();
        receive.read_to_end(1 << 16).await.unwrap();
        let truncated = [headers(&[(":status", "200")]), varint(0), varint(1000), b"0123456789".to_vec()];
        send.write_all(&truncated.concat()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        send.finish().unwrap();
        server.closed().await;
    });
    let http = hawser_h3::client_builder().build(hawser_h3::Connection::new(pair.client.clone())).await;
    let (mut driver, mut requests): (_, h3::client::SendRequest<_, Bytes>) = http.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let request = Request::get("https://localhost/").body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::OK);
    let mut length = 0;
    let end = loop {
        match stream.recv_data().await {
            Ok(Some(data)) => length += data.remaining(),
            Ok(None) => break stream.recv_trailers().await.map(|_| ()),
            Err(error) => break Err(error),
        }
    };
    assert!(length <= 10, "{length}");
    assert!(end.unwrap_err().to_string().contains("within a frame"), "the error says what was wrong");
}

/// The `h3` crate remembers each of them for as long as the connection lives.
//= rfc9114-10.5-2
#[tokio::test]
async fn requests_without_header_are_counted() {
    let pair = pair().await;
    tokio::spawn(serve(pair.server.clone()));
    let mut control = pair.client.open_uni().await.unwrap();
    control.write_all(SETTINGS).await.unwrap();
    let mut ended = 0;
    let closed = loop {
        let (mut send, mut receive) = match pair.client.open_bi().await {
            Ok(stream) => stream,
            Err(error) => break error,
        };
        match ended % 2 {
            0 => send.finish().unwrap(),
            _ => send.reset(0x10c).unwrap(),
        }
        // Until the server has dealt with it.
        let _ = receive.read_to_end(1 << 10).await;
        ended += 1;
        assert!(ended < 2_000, "no end");
        if ended == 900 {
            let (mut send, mut receive) = pair.client.open_bi().await.unwrap();
            send.write_all(&get()).await.unwrap();
            send.finish().unwrap();
            assert!(!receive.read_to_end(1 << 10).await.unwrap().is_empty(), "the connection serves still");
        }
    };
    let ConnectionError::PeerApplication { code, .. } = closed else { panic!("{closed}") };
    assert_eq!(code, 0x107, "H3_EXCESSIVE_LOAD");
}
