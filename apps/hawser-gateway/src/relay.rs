//! TCP on one side, a stream on the other.
//!
//! Ends travel as what they are (RFC 9114 section 4.4): the end of one half closes the same half on the other side, a reset of
//! the stream becomes a reset of the TCP connection, and an error of the TCP connection resets the stream with
//! H3_CONNECT_ERROR.

use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h3::error::{Code, StreamError};
use socket2::SockRef;
use tokio::net::TcpStream;

use crate::gather::{BLOCK, Gather, Pace, Pieces};
use crate::halves::{Incoming, Outgoing};
use crate::meter::{Direction, Meter, UsedUp};
use crate::traffic::Flow;

/// How often in the idle time it is looked whether anything moved.
const LOOKS: u32 = 4;

/// No more may pass.
const USED_UP: Broken = Broken::Cancelled("the user's volume is used up");

/// What a relay did.
#[derive(Debug)]
pub(crate) struct Relayed {
    /// Bytes from TCP to the stream.
    pub(crate) to_stream: u64,
    /// Bytes from the stream to TCP.
    pub(crate) to_tcp: u64,
    /// Why it ended, if not by both ends.
    pub(crate) broken: Option<Broken>,
}

/// Why a relay broke off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The TCP connection.
    #[error("TCP: {0}")]
    Tcp(io::Error),
    /// The stream, or the connection that carries it.
    #[error("stream: {0}")]
    Stream(StreamError),
    /// Nothing moved for too long.
    #[error("idle")]
    Idle,
    /// Somebody else ended it.
    #[error("{0}")]
    Cancelled(&'static str),
}

/// Relays until both halves have ended or one breaks, as fast as the meter lets it, for which the stream leads to the client.
/// `cancelled` breaks it off when it ends; what moves is counted for `flow`.
pub(crate) async fn relay(
    tcp: TcpStream,
    (mut outgoing, mut incoming): (impl Outgoing, impl Incoming),
    flow: &Flow,
    idle: Duration,
    meter: &Meter,
    cancelled: impl Future<Output = &'static str> + Send,
) -> Relayed {
    let (to_stream, to_tcp) = (AtomicU64::new(0), AtomicU64::new(0));
    let both = async {
        let sent = |bytes| {
            to_stream.fetch_add(bytes as u64, Ordering::Relaxed);
            flow.sent(bytes);
        };
        let received = |bytes| {
            to_tcp.fetch_add(bytes as u64, Ordering::Relaxed);
            flow.received(bytes);
        };
        let out = to_the_stream(&tcp, &mut outgoing, sent, meter);
        let back = to_the_socket(&tcp, &mut incoming, received, meter);
        tokio::try_join!(out, back).err()
    };
    let broken = tokio::select! {
        broken = both => broken,
        () = idle_for(idle, || to_stream.load(Ordering::Relaxed) + to_tcp.load(Ordering::Relaxed)) => Some(Broken::Idle),
        reason = cancelled => Some(Broken::Cancelled(reason)),
    };
    match &broken {
        None => {}
        Some(Broken::Tcp(_)) => {
            outgoing.reset(Code::H3_CONNECT_ERROR);
            incoming.stop(Code::H3_CONNECT_ERROR);
        }
        Some(_) => {
            outgoing.reset(Code::H3_REQUEST_CANCELLED);
            incoming.stop(Code::H3_REQUEST_CANCELLED);
            reset(&tcp);
        }
    }
    Relayed { to_stream: to_stream.into_inner(), to_tcp: to_tcp.into_inner(), broken }
}

async fn to_the_stream(
    tcp: &TcpStream,
    outgoing: &mut impl Outgoing,
    count: impl Fn(usize),
    meter: &Meter,
) -> Result<(), Broken> {
    let (mut pace, mut is_behind) = (Pace::new(), false);
    loop {
        tcp.readable().await.map_err(Broken::Tcp)?;
        if !is_behind {
            pace.step().await;
        }
        // Not before there is something: tunnels that wait hold no buffer.
        let mut buffer = BytesMut::with_capacity(BLOCK);
        match tcp.try_read_buf(&mut buffer) {
            Ok(0) => return outgoing.finish().await.map_err(Broken::Stream),
            Ok(read) => {
                is_behind = read >= BLOCK;
                count(read);
                meter.pass(Direction::Down, read).await.map_err(|UsedUp| USED_UP)?;
                outgoing.send(compact(buffer)).await.map_err(Broken::Stream)?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_behind = true,
            Err(error) => return Err(Broken::Tcp(error)),
        }
    }
}

/// A small piece must not keep a large buffer until it is acknowledged.
fn compact(buffer: BytesMut) -> Bytes {
    if buffer.len() < BLOCK / 8 { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() }
}

async fn to_the_socket(
    tcp: &TcpStream,
    incoming: &mut impl Incoming,
    count: impl Fn(usize),
    meter: &Meter,
) -> Result<(), Broken> {
    let (mut gather, mut pieces) = (Gather::new(incoming), Pieces::default());
    while gather.receive(&mut pieces).await.map_err(Broken::Stream)? {
        meter.pass(Direction::Up, pieces.len()).await.map_err(|UsedUp| USED_UP)?;
        while !pieces.is_empty() {
            tcp.writable().await.map_err(Broken::Tcp)?;
            match tcp.try_write_vectored(&pieces.slices()) {
                Ok(written) => {
                    count(written);
                    pieces.advance(written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(Broken::Tcp(error)),
            }
        }
    }
    match SockRef::from(tcp).shutdown(Shutdown::Write) {
        // The other end has closed both halves.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        result => result.map_err(Broken::Tcp),
    }
}

/// Ends when the count has not changed for so long.
pub(crate) async fn idle_for(idle: Duration, count: impl Fn() -> u64) {
    let (mut before, mut looks) = (count(), 0);
    while looks < LOOKS {
        tokio::time::sleep(idle / LOOKS).await;
        let now = count();
        looks = if now == before { looks + 1 } else { 0 };
        before = now;
    }
}

/// The other end of the TCP connection is to see that it was broken off.
pub(crate) fn reset(tcp: &TcpStream) {
    let _ = SockRef::from(tcp).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn idle_is_what_has_not_moved_for_the_whole_time() {
        let start = tokio::time::Instant::now();
        idle_for(Duration::from_secs(8), || u64::from(start.elapsed() >= Duration::from_secs(5))).await;
        assert_eq!(start.elapsed(), Duration::from_secs(14));
    }
}
