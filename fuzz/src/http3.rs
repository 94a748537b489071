//! HTTP/3 over the bytes of a peer: our guard with `h3` behind it, as a server and as a client.
//!
//! The input is a control byte and streams: a byte that says of which kind and how it ends, a length (16 bits), so many
//! bytes. The control byte chooses the side that we are, and into how small chunks streams are cut.
//!
//! What must hold: no panic, an end; memory stays below what was received plus a constant, whatever lengths are declared;
//! what the guard lets through does not depend on how a stream is cut; it closes with codes of HTTP/3 and QPACK only.

mod transport;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::{Buf, Bytes};
use hawser_h3::fuzzing::{Guard, Kind};
use hawser_wire::Reader;

use self::transport::{Incoming, Transport};
use crate::memory;

/// Streams of one input; what is beyond is not read.
const MAX_STREAMS: usize = 32;
/// Memory of both layers besides what was received, in bytes: field sections of 64 KiB each, decoded and not, and tables.
const MAX_MEMORY: isize = 1 << 20;
/// Polls of one future without which it must come to its end, or wait for more of the peer.
const MAX_POLLS: usize = 100_000;

/// Streams of a peer, as a server has them and as a client.
pub fn http3(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(control) = script.read_u8() else { return };
    let cut = [usize::MAX, 1, 3, 100][usize::from(control >> 1 & 3)];
    let is_server = control & 1 == 0;
    let streams = read_streams(&mut script, cut, is_server);
    streams.iter().for_each(check_cutting);
    let before = memory::live();
    let received: usize = streams.iter().map(|stream| stream.bytes.len()).sum();
    let most = Rc::new(RefCell::new(0));
    let transport = Transport::new(streams.into(), most.clone());
    if is_server {
        run(serve(transport.clone()));
    } else {
        run(request(transport.clone()));
    }
    let most = *most.borrow() - before;
    assert!(most <= MAX_MEMORY + 4 * received as isize, "{most} bytes held for {received} received");
    if let Some(code) = transport.violation() {
        assert!((0x100..=0x110).contains(&code) || (0x200..=0x202).contains(&code), "closed with {code:#x}");
    }
}

fn read_streams(script: &mut Reader<'_>, cut: usize, is_server: bool) -> Vec<Incoming> {
    let mut streams = Vec::new();
    let mut requests = 0;
    while streams.len() < MAX_STREAMS {
        let (Ok(how), Ok(length)) = (script.read_u8(), script.read_u16()) else { break };
        let Ok(bytes) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
        let kind = match how & 3 {
            0 | 1 if is_server => Kind::Request,
            0 | 1 => Kind::Response,
            _ => Kind::Control,
        };
        // A client hears one answer.
        let is_bidirectional = kind != Kind::Control;
        requests += usize::from(is_bidirectional);
        if is_bidirectional && !is_server && requests > 1 {
            continue;
        }
        let reset = (how & 4 == 4).then_some(u64::from(how));
        streams.push(Incoming { kind, bytes: Bytes::copy_from_slice(bytes), cut, reset, ends: how & 8 == 0 });
    }
    streams
}

/// What comes through the guard, or its verdict.
fn guarded(stream: &Incoming, cut: usize) -> (Vec<u8>, Option<u64>) {
    let (mut guard, mut passed) = (Guard::new(stream.kind), Vec::new());
    for chunk in stream.bytes.chunks(cut.max(1)) {
        guard.push(Bytes::copy_from_slice(chunk));
        loop {
            match guard.next() {
                Ok(Some(piece)) => passed.extend_from_slice(&piece),
                Ok(None) => break,
                Err(code) => return (passed, Some(code)),
            }
        }
    }
    (passed, guard.end().err())
}

fn check_cutting(stream: &Incoming) {
    let whole = guarded(stream, usize::MAX);
    for cut in [1, 7] {
        assert_eq!(guarded(stream, cut), whole, "cut into pieces of {cut}");
    }
    // A malformed message is marked by a frame of five bytes; else nothing is added.
    assert!(whole.0.len() <= stream.bytes.len() + 7 * (1 + stream.bytes.len() / 2));
}

/// Polls until it is done, or until it waits for something that will not come.
fn run<T>(future: impl Future<Output = T>) -> Option<T> {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    let mut future = pin!(future);
    for _ in 0..MAX_POLLS {
        if !flag.0.swap(false, Ordering::Relaxed) {
            return None;
        }
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
    }
    panic!("polled without end");
}

/// Answers each request with the length of its body, as `hawser serve` does for files.
async fn serve(transport: Transport) {
    let built = hawser_h3::server_builder().build::<_, Bytes>(transport).await;
    let Ok(mut server) = built else { return };
    while let Ok(Some(resolver)) = server.accept().await {
        let Ok((_, mut stream)) = resolver.resolve_request().await else { continue };
        let Some(length) = length_of(&mut stream).await else { continue };
        let _ = stream.send_response(http::Response::new(())).await;
        let _ = stream.send_data(length.to_string().into()).await;
        let _ = stream.finish().await;
    }
}

type RequestStream = h3::server::RequestStream<transport::Both, Bytes>;

/// The length of a body, with all that follows; `None` if it does not come whole.
async fn length_of(stream: &mut RequestStream) -> Option<usize> {
    let mut length = 0;
    while let Some(data) = stream.recv_data().await.ok()? {
        length += data.remaining();
    }
    stream.recv_trailers().await.ok()?;
    Some(length)
}

/// Asks once and reads what comes.
async fn request(transport: Transport) {
    let built = hawser_h3::client_builder().build::<_, _, Bytes>(transport).await;
    let Ok((mut driver, mut requests)) = built else { return };
    let get = http::Request::get("https://fuzz/").body(()).expect("a valid request");
    if let Ok(mut stream) = requests.send_request(get).await {
        let _ = stream.finish().await;
        // The control stream has its turn before and after.
        let _ = poll_fn(|cx| Poll::Ready(driver.poll_close(cx).is_ready())).await;
        if stream.recv_response().await.is_ok() {
            // To ask for trailers before the end of the body, or after an error, is the caller's mistake.
            while let Ok(data) = stream.recv_data().await {
                let is_over = data.is_none();
                drop(data);
                if is_over {
                    let _ = stream.recv_trailers().await;
                    break;
                }
            }
        }
    }
    let _ = poll_fn(|cx| Poll::Ready(driver.poll_close(cx).is_ready())).await;
}

type Streams = VecDeque<Incoming>;
