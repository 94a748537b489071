//! Sealed datagrams over a UDP socket, in batches.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bench_harness::Error;
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// UDP payload of a datagram: what QUIC stacks find on a path with an Ethernet MTU.
const DATAGRAM: usize = 1452;
/// Number of the datagram, in clear, in front; tag behind.
const HEADER: usize = 8;
const TAG: usize = 16;
const PAYLOAD: usize = DATAGRAM - HEADER - TAG;
/// Datagrams per batch: as many as fit into one UDP send of 64 KiB.
const SEGMENTS: usize = 45;
/// Payload of a batch.
pub(crate) const BATCH_PAYLOAD: usize = SEGMENTS * PAYLOAD;
/// Batches under way: what default socket buffers hold.
pub(crate) const BATCHES_IN_FLIGHT: u64 = 2;
/// A datagram that got lost stops everything: better a failed run than a wrong number.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Channel {
    socket: UdpSocket,
    state: UdpSocketState,
    key: LessSafeKey,
    peer: Option<SocketAddr>,
    next_number: u64,
    buffer: Vec<u8>,
}

impl Channel {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Error> {
        let socket = std::net::UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Both ends know the key: nothing here is secret.
        let key = UnboundKey::new(&AES_128_GCM, &[7; 16]).map_err(|_| "not an AES-128 key")?;
        Ok(Channel {
            socket: UdpSocket::from_std(socket)?,
            state,
            key: LessSafeKey::new(key),
            peer: None,
            next_number: 0,
            buffer: vec![0; 65_536],
        })
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(self.socket.local_addr()?)
    }

    /// Asks the peer for so many bytes.
    pub(crate) async fn request(&mut self, peer: SocketAddr, bytes: u64) -> Result<(), Error> {
        self.peer = Some(peer);
        self.send_number(bytes).await
    }

    /// Waits for a request and returns the wanted number of bytes.
    pub(crate) async fn accept(&mut self) -> Result<u64, Error> {
        let mut number = [0; 8];
        let (_, peer) = self.socket.recv_from(&mut number).await?;
        self.peer = Some(peer);
        Ok(u64::from_be_bytes(number))
    }

    /// Tells the peer how many batches have come so far.
    pub(crate) async fn send_credit(&self, batches: u64) -> Result<(), Error> {
        self.send_number(batches).await
    }

    /// Waits for the next credit.
    pub(crate) async fn receive_credit(&self) -> Result<u64, Error> {
        let mut number = [0; 8];
        tokio::time::timeout(PATIENCE, self.socket.recv_from(&mut number))
            .await
            .map_err(|_| "a credit got lost")??;
        Ok(u64::from_be_bytes(number))
    }

    async fn send_number(&self, number: u64) -> Result<(), Error> {
        self.socket.send_to(&number.to_be_bytes(), self.peer.ok_or("no peer yet")?).await?;
        Ok(())
    }

    /// Seals and sends one batch.
    pub(crate) async fn send_batch(&mut self) -> Result<(), Error> {
        for datagram in self.buffer[..SEGMENTS * DATAGRAM].chunks_exact_mut(DATAGRAM) {
            let (header, rest) = datagram.split_at_mut(HEADER);
            let (payload, tag) = rest.split_at_mut(PAYLOAD);
            header.copy_from_slice(&self.next_number.to_be_bytes());
            // A stack copies the application's bytes into the datagram: so does the reference.
            payload.fill(0x5a);
            let sealed = self
                .key
                .seal_in_place_separate_tag(nonce(self.next_number), Aad::from(&*header), payload)
                .map_err(|_| "sealing failed")?;
            tag.copy_from_slice(sealed.as_ref());
            self.next_number += 1;
        }
        let transmit = Transmit {
            destination: self.peer.ok_or("no peer yet")?,
            ecn: None,
            contents: &self.buffer[..SEGMENTS * DATAGRAM],
            segment_size: Some(DATAGRAM),
            src_ip: None,
        };
        let (socket, state) = (&self.socket, &self.state);
        Ok(socket.async_io(Interest::WRITABLE, || state.try_send(socket.into(), &transmit)).await?)
    }

    /// Receives one batch, opens its datagrams and returns their payload's length.
    pub(crate) async fn receive_batch(&mut self) -> Result<usize, Error> {
        let (socket, state, buffer) = (&self.socket, &self.state, &mut self.buffer);
        let mut meta = [RecvMeta::default()];
        let receiving = socket.async_io(Interest::READABLE, || {
            state.recv(socket.into(), &mut [IoSliceMut::new(buffer)], &mut meta)
        });
        tokio::time::timeout(PATIENCE, receiving).await.map_err(|_| "a datagram got lost")??;
        let [meta] = meta;
        let mut bytes = 0;
        for datagram in self.buffer[..meta.len].chunks_mut(meta.stride) {
            let (header, sealed) = datagram.split_at_mut_checked(HEADER).ok_or("a runt datagram")?;
            let number = u64::from_be_bytes(<[u8; HEADER]>::try_from(&*header)?);
            let opened = self
                .key
                .open_in_place(nonce(number), Aad::from(&*header), sealed)
                .map_err(|_| "a datagram did not open")?;
            bytes += opened.len();
        }
        Ok(bytes)
    }
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}
