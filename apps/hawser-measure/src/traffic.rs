//! Bulk data, one way.

use std::future::poll_fn;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::meter::Received;
use super::protocol::broken;
use hawser::{RecvStream, SendStream};
use hawser_command::exit::Failure;

/// Bytes written at a time.
const BLOCK: usize = 128 << 10;

/// Writes until the connection ends.
pub(super) async fn fill(stream: &mut SendStream) -> Result<(), Failure> {
    let block = Bytes::from_static(&[0x68; BLOCK]);
    loop {
        let mut rest = block.clone();
        poll_fn(|cx| stream.poll_write_chunk(cx, &mut rest)).await.map_err(|error| broken(&error))?;
    }
}

/// Reads until the connection or the stream ends.
pub(super) async fn drain(stream: &mut RecvStream, received: &Received) -> Result<(), Failure> {
    while let Some(chunk) = stream.read_chunk(usize::MAX).await.map_err(|error| broken(&error))? {
        received.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}
