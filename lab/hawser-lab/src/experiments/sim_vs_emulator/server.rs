//! The server's end of a session on real sockets: does what [`Request`] asks, as the server of the simulator does.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hawser_net::{Connection, Endpoint, RecvStream, SendStream};
use hawser_sim::pattern_bytes;
use hawser_sim::run::{REQUEST_LENGTH, Request};
use tokio::time::{Instant, sleep_until};

use super::meter::Meter;

/// Serves one connection after the other for as long as the endpoint lives. What comes from clients is counted if the
/// meter is there.
pub(super) async fn serve(endpoint: Endpoint, uploads: Option<Arc<Meter>>) {
    while let Some(incoming) = endpoint.accept().await {
        let uploads = uploads.clone();
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            if let Some(meter) = uploads.clone() {
                tokio::spawn(receive_datagrams(connection.clone(), meter));
            }
            while let Ok((send, receive)) = connection.accept_bi().await {
                tokio::spawn(answer(connection.clone(), send, receive, uploads.clone()));
            }
        });
    }
}

/// Does what is asked on a stream. Streams end early when their connection does.
async fn answer(
    connection: Connection,
    mut send: SendStream,
    mut receive: RecvStream,
    uploads: Option<Arc<Meter>>,
) {
    let mut request = [0; REQUEST_LENGTH];
    if receive.read_exact(&mut request).await.is_err() {
        return;
    }
    match Request::decode(&request) {
        Some(Request::Serve { length }) => {
            drain(&mut receive, None).await;
            let _ = send_pattern(&mut send, length).await;
        }
        Some(Request::Receive) => {
            drain(&mut receive, uploads.as_deref()).await;
            let _ = send_pattern(&mut send, 0).await;
        }
        Some(Request::Datagrams { size, rate }) => send_datagrams(&connection, size, rate).await,
        // Applications are refused before anything runs.
        Some(Request::Application) | None => {}
    }
}

/// Reads a stream to its end, and counts.
pub(super) async fn drain(receive: &mut RecvStream, meter: Option<&Meter>) {
    while let Ok(Some(chunk)) = receive.read_chunk(1 << 16).await {
        if let Some(meter) = meter {
            meter.arrived(chunk.len() as u64);
        }
    }
}

/// Sends so much of the pattern, and then the end of the stream; returns when the peer has it.
pub(super) async fn send_pattern(
    send: &mut SendStream,
    length: u64,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut offset = 0;
    while offset < length {
        let chunk = pattern_bytes(offset, length - offset);
        offset += chunk.len() as u64;
        send.write_chunk(chunk).await?;
    }
    send.finish()?;
    send.stopped().await?;
    Ok(())
}

/// Sends datagrams at an even rate, in bit/s of their `size`, while the connection lasts.
pub(super) async fn send_datagrams(connection: &Connection, size: u32, rate: u64) {
    let interval = Duration::from_nanos(
        u64::try_from(u128::from(size) * 8_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX).max(1),
    );
    let mut next = Instant::now();
    while connection.close_reason().is_none() {
        while next <= Instant::now() {
            // Refused only while the handshake has not told whether the peer takes any.
            let length = connection.max_datagram_size().unwrap_or(0).min(size as usize);
            let _ = connection.send_newest_datagram(filler(length));
            next += interval;
        }
        sleep_until(next).await;
    }
}

fn filler(length: usize) -> Bytes {
    let mut datagram = BytesMut::with_capacity(length);
    datagram.put_bytes(0, length);
    datagram.freeze()
}

/// Counts datagrams while the connection lasts.
pub(super) async fn receive_datagrams(connection: Connection, meter: Arc<Meter>) {
    while let Ok(datagram) = connection.read_datagram().await {
        meter.arrived(datagram.len() as u64);
    }
}
