//! Datagrams one by one, with nothing asked of the kernel: for sockets whose options it refuses.

use std::io;

use hawser_core::FourTuple;
use tokio::io::Interest;

use super::{LinkSocket, Message, SendOutcome};
use crate::receive_buffers::ReceiveBuffers;

impl LinkSocket {
    /// Receives up to `limit` datagrams, each in a message of its own. `WouldBlock` when none waits.
    pub(super) fn receive_plain(
        &self,
        buffers: &mut ReceiveBuffers,
        limit: usize,
        mut deliver: impl FnMut(Message),
    ) -> io::Result<usize> {
        let limit = limit.clamp(1, crate::receive_buffers::SLOTS);
        for index in 0..limit {
            let received = self.io.try_io(Interest::READABLE, |io| io.recv_from(&mut buffers.slots()[index]));
            let (length, remote) = match received {
                Ok(received) => received,
                Err(_) if index > 0 => return Ok(index),
                Err(error) => return Err(error),
            };
            if length > 0 {
                deliver(Message {
                    tuple: self.tuple_of(remote, None),
                    ecn: None,
                    segment_size: length,
                    received_at: None,
                    bytes: buffers.take(index, length),
                });
            }
        }
        Ok(limit)
    }

    /// Sends the datagrams of a batch, starting at byte `from`.
    pub(super) fn send_plain(
        &self,
        tuple: &FourTuple,
        segment_size: usize,
        batch: &[u8],
        from: usize,
    ) -> SendOutcome {
        let mut offset = from;
        let remote = self.destination(tuple.remote);
        for datagram in batch[from..].chunks(segment_size) {
            let socket = socket2::SockRef::from(self.io.get_ref());
            let sent = self.try_twice(|| socket.send_to(datagram, &remote.into()).map(|_| ()));
            match sent {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return SendOutcome::Blocked(offset);
                }
                Err(error) if quinn_udp::is_msg_size_err(&error) => {}
                Err(error) => return SendOutcome::Failed(error),
            }
            offset += datagram.len();
        }
        SendOutcome::Sent
    }
}
