//! UDP payloads over a request: in HTTP Datagrams where they fit a packet, else in capsules on the stream (RFC 9298).

use std::sync::Arc;

use bytes::Bytes;
use h3::error::{Code, StreamError};
use hawser_masque::capsule::{self, CapsuleError, Capsules, DATAGRAM};
use hawser_masque::udp::{self, MAX_DATAGRAM};

use crate::flows::{FlowReceiver, FlowSender};
use crate::halves::{Incoming, Outgoing};
use crate::traffic::Flow;

/// Why no more payloads come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PacketError {
    /// The stream, or its connection.
    #[error("{0}")]
    Stream(#[from] StreamError),
    /// The peer sent no capsules.
    #[error(transparent)]
    Capsule(#[from] CapsuleError),
    /// The peer sent no UDP payloads.
    #[error(transparent)]
    Datagram(#[from] udp::DatagramError),
}

/// Sends UDP payloads.
#[derive(Debug)]
pub(crate) struct PacketSender<O> {
    outgoing: O,
    flow: FlowSender,
    counted: Arc<Flow>,
}

impl<O: Outgoing> PacketSender<O> {
    pub(crate) fn new(outgoing: O, flow: FlowSender, counted: Arc<Flow>) -> Self {
        PacketSender { outgoing, flow, counted }
    }

    /// Sends one. Waits only where it fits no packet and the stream is full.
    ///
    /// # Errors
    /// When the stream has ended.
    pub(crate) async fn send(&mut self, payload: &[u8]) -> Result<(), StreamError> {
        let datagram = udp::encode(payload);
        self.counted.sent(payload.len());
        match self.flow.send(&datagram) {
            Ok(()) => Ok(()),
            Err(_) => self.outgoing.send(capsule::encode(DATAGRAM, &datagram)).await,
        }
    }

    /// Ends the tunnel.
    pub(crate) async fn finish(&mut self) {
        let _ = self.outgoing.finish().await;
    }

    /// Breaks it off.
    pub(crate) fn reset(&mut self) {
        self.outgoing.reset(Code::H3_REQUEST_CANCELLED);
    }
}

/// Receives UDP payloads.
#[derive(Debug)]
pub(crate) struct PacketReceiver<I> {
    incoming: I,
    capsules: Capsules,
    flow: FlowReceiver,
    counted: Arc<Flow>,
}

impl<I: Incoming> PacketReceiver<I> {
    pub(crate) fn new(incoming: I, flow: FlowReceiver, counted: Arc<Flow>) -> Self {
        let capsules = Capsules::new(&[DATAGRAM], MAX_DATAGRAM + 8);
        PacketReceiver { incoming, capsules, flow, counted }
    }

    /// The next one; `None` when the peer has ended the tunnel. Nothing is lost when this is not waited for to its end.
    ///
    /// # Errors
    /// [`PacketError`].
    pub(crate) async fn receive(&mut self) -> Result<Option<Bytes>, PacketError> {
        loop {
            while let Some(capsule) = self.capsules.next()? {
                if let Some(payload) = udp::decode(capsule.value)? {
                    self.counted.received(payload.len());
                    return Ok(Some(payload));
                }
            }
            tokio::select! {
                data = self.incoming.receive() => match data? {
                    Some(data) => self.capsules.push(data),
                    None => {
                        self.capsules.end()?;
                        return Ok(None);
                    }
                },
                datagram = self.flow.receive() => {
                    if let Some(payload) = udp::decode(datagram.payload)? {
                        self.counted.received(payload.len());
                        return Ok(Some(payload));
                    }
                }
            }
        }
    }

    /// Wants no more.
    pub(crate) fn stop(&mut self) {
        self.incoming.stop(Code::H3_REQUEST_CANCELLED);
    }
}
