//! Encoders that call, and which of them is heard.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hawser::LoggedAddress;
use hawser_media::ts::TsReader;
use sapflow_srt::crypto::CryptoConfig;
use sapflow_srt::{CloseReason, Config, ConnId, Event, Listener, RejectCode};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::{BUFFER_PACKETS, at};
use crate::hub::Hub;
use crate::key_digest;
use hawser_command::output::Output;
use hawser_command::sources::{Pool, Taken};

/// Callers at the same time, of which a source has four; those of this machine have as many of their own.
const MAX_CALLERS: usize = 16;
const SHARE: usize = 4;

/// The key in the stream id of a caller: alone, as the last part of a path, or as the resource (`r`) of SRT's access control.
pub(crate) fn key_of(stream_id: &[u8]) -> String {
    let text = String::from_utf8_lossy(stream_id);
    let text = match text.strip_prefix("#!::") {
        Some(fields) => fields.split(',').find_map(|field| field.strip_prefix("r=")).unwrap_or_default(),
        None => text.strip_prefix("publish:").unwrap_or(&text),
    };
    let text = text.split(['?', ':']).next().unwrap_or_default();
    text.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Where encoders call.
pub(crate) struct Callers {
    pub(crate) hub: Arc<Hub>,
    pub(crate) key: String,
    pub(crate) output: Output,
    /// Told when an encoder is done (true), or has gone without a word.
    pub(crate) done: mpsc::Sender<bool>,
    pub(crate) passphrase: Option<CryptoConfig>,
    pub(crate) latency: Duration,
}

/// What is known of those who called.
pub(crate) struct Present {
    near: Pool,
    far: Pool,
    places: HashMap<ConnId, Taken>,
    /// The one whose stream is sent, and what has come of it.
    current: Option<(ConnId, SocketAddr, TsReader)>,
}

impl Default for Present {
    fn default() -> Self {
        Present {
            near: Pool::with_share(MAX_CALLERS, MAX_CALLERS),
            far: Pool::with_share(MAX_CALLERS, SHARE),
            places: HashMap::new(),
            current: None,
        }
    }
}

impl Callers {
    /// What callers may do.
    pub(crate) fn config(&self) -> Config {
        Config {
            latency: self.latency,
            max_connections: MAX_CALLERS,
            buffer_packets: BUFFER_PACKETS,
            require_encryption: self.passphrase.is_some(),
            crypto: self.passphrase.clone(),
            ..Config::default()
        }
    }

    /// Takes callers, the newest in place of the one before.
    pub(crate) async fn listen(self, socket: UdpSocket) -> std::io::Error {
        let mut listener = Listener::new(self.config(), Instant::now());
        let (mut present, mut block) = (Present::default(), [0; 2048]);
        loop {
            while let Some(event) = listener.poll_event() {
                self.handle(&mut listener, &mut present, event, Instant::now());
            }
            while let Some((peer, bytes)) = listener.poll_transmit() {
                // One that cannot be sent is asked for again.
                let _ = socket.send_to(&bytes, peer).await;
            }
            tokio::select! {
                received = socket.recv_from(&mut block) => match received {
                    Ok((count, peer)) => listener.handle_datagram(Instant::now(), peer, &block[..count]),
                    // A caller that has gone, as the kernel tells.
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return error,
                },
                () = at(listener.poll_timeout()) => listener.handle_timeout(Instant::now()),
            }
        }
    }

    pub(crate) fn handle<S: BuildHasher>(
        &self,
        listener: &mut Listener<S>,
        present: &mut Present,
        event: Event,
        now: Instant,
    ) {
        match event {
            Event::Connect { id, peer, stream_id } => {
                self.admit(listener, present, (id, peer, now), &stream_id)
            }
            Event::Data { id, payload } => {
                if let Some((_, _, reader)) = present.current.as_mut().filter(|(current, ..)| *current == id)
                {
                    reader.push_datagram(&payload);
                    std::iter::from_fn(|| reader.next_tag()).for_each(|tag| self.hub.push_tag(tag));
                }
            }
            Event::Closed { id, reason, .. } => {
                present.places.remove(&id);
                let Some((_, _, mut reader)) = present.current.take_if(|(current, ..)| *current == id) else {
                    return;
                };
                reader.end();
                std::iter::from_fn(|| reader.next_tag()).for_each(|tag| self.hub.push_tag(tag));
                let has_said_so = reason == Some(CloseReason::Shutdown);
                let _ = self.done.try_send(has_said_so);
                self.output.remark(match has_said_so {
                    true => "hawser: the encoder is done",
                    false => "hawser: the encoder has gone without a word; another may follow",
                });
            }
        }
    }

    fn admit<S: BuildHasher>(
        &self,
        listener: &mut Listener<S>,
        present: &mut Present,
        (id, peer, now): (ConnId, SocketAddr, Instant),
        stream_id: &[u8],
    ) {
        if key_digest(&key_of(stream_id)) != key_digest(&self.key) {
            listener.reject(id, RejectCode::http(403));
            // The id may have the key of another stream: it belongs on no screen.
            return self.output.remark(format_args!(
                "hawser: encoder at {peer}: refused: no such key in its stream id",
                peer = LoggedAddress(peer)
            ));
        }
        let pool = if peer.ip().to_canonical().is_loopback() { &present.near } else { &present.far };
        let Some(place) = pool.try_take(peer.ip(), 1) else {
            listener.reject(id, RejectCode::BACKLOG);
            return;
        };
        if !listener.accept(id, now) {
            return self.output.remark(format_args!(
                "hawser: encoder at {peer}: refused: another passphrase",
                peer = LoggedAddress(peer)
            ));
        }
        present.places.insert(id, place);
        if let Some((before, ..)) = present.current.replace((id, peer, TsReader::default())) {
            self.output.remark("hawser: another encoder takes over");
            listener.close(before, now);
            present.places.remove(&before);
        }
        self.hub.begin_encoder();
        self.output.remark(format_args!(
            "hawser: an encoder publishes from {peer} over SRT",
            peer = LoggedAddress(peer)
        ));
    }
}
