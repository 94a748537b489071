//! IP packets over a request (RFC 9484 section 6): in HTTP Datagrams where they fit a packet, else in capsules on the stream, and
//! the capsules that say which addresses and routes there are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use h3::error::{Code, StreamError};
use hawser_h3::{DatagramError, HttpDatagram};
use hawser_masque::capsule::{self, Capsule, CapsuleError, Capsules, DATAGRAM};
use hawser_masque::datagrams;
use hawser_masque::flows::{Class, Verdict};
use hawser_masque::ip::{self, IpCapsuleError, PrefixEntry, Route};
use hawser_masque::order::{self, Reorder};
use hawser_masque::packet;
use hawser_masque::twice::{Seen, Twice};
use hawser_masque::udp::{self, MAX_DATAGRAM};
use hawser_net::Connection;
use hawser_net::policy::{DatagramInfo, PathState, PathStatus};
use http::HeaderMap;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::flows::{Dropped, FlowReceiver, FlowSender};
use crate::halves::{Incoming, Outgoing};
use crate::traffic::{Kind, Traffic, Waiting};

/// Packets too large for a datagram that wait for the stream; what comes beyond them is dropped, as on any full link.
const QUEUE: usize = 64;
/// The context of IP packets (RFC 9484 section 6), as it is on the wire.
const PACKET_CONTEXT: [u8; 1] = [0];
/// Most bytes of a capsule that is read: a packet behind its context, or a list of addresses.
const MAX_CAPSULE: usize = if MAX_DATAGRAM + 8 > ip::MAX_LENGTH { MAX_DATAGRAM + 8 } else { ip::MAX_LENGTH };

/// Why no more comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IpError {
    /// The stream, or its connection.
    #[error("{0}")]
    Stream(#[from] StreamError),
    /// The peer sent no capsules.
    #[error(transparent)]
    Capsule(#[from] CapsuleError),
    /// The peer sent no packets.
    #[error(transparent)]
    Datagram(#[from] udp::DatagramError),
    /// The peer sent no addresses or routes.
    #[error(transparent)]
    Addresses(#[from] IpCapsuleError),
}

/// What comes out of a tunnel.
#[derive(Debug)]
pub(crate) enum IpEvent {
    /// A packet.
    Packet(Bytes),
    /// The addresses of this end, all of them.
    Assigned(Vec<PrefixEntry>),
    /// The peer wants addresses.
    Requested(Vec<PrefixEntry>),
    /// Where the peer leads.
    Routes(Vec<Route>),
}

/// Whether the peer numbers packets, and takes numbered ones.
pub(crate) fn takes_numbers(headers: &HeaderMap) -> bool {
    headers.get(order::FIELD).is_some_and(|value| value == order::FIELD_VALUE)
}

/// Takes note of datagrams that were dropped before they were read.
pub(crate) fn dropped(traffic: &Traffic) -> Dropped {
    let traffic = traffic.clone();
    Box::new(move |datagram| {
        let numbered = order::read(datagram.clone());
        traffic.dropped(numbered.map_or(Kind::Bulk, |numbered| numbered.verdict.class.into()));
    })
}

/// Returns the paths of a connection that real-time packets may take.
fn seen(connection: &Connection) -> Vec<Seen> {
    let active = connection.paths().into_iter().filter(|path| path.state == PathState::Active);
    let seen = active.filter_map(|path| {
        let stats = connection.path_stats(path.id)?;
        Some(Seen {
            id: path.id,
            is_kept_back: path.status != PathStatus::Available,
            smoothed_rtt: stats.smoothed_rtt,
            rtt_variance: stats.rtt_variance,
            delivery_rate: stats.delivery_rate,
            bytes_in_flight: stats.bytes_in_flight,
            heard_at: stats.heard_at,
        })
    });
    seen.collect()
}

/// Sends into a tunnel. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct IpSender {
    flow: FlowSender,
    capsules: mpsc::Sender<Bytes>,
    /// Where real-time packets go, if the peer takes numbered ones.
    twice: Option<Arc<Mutex<Twice>>>,
    connection: Connection,
    traffic: Traffic,
}

impl IpSender {
    /// And what writes its capsules to the stream, which has to be waited for.
    pub(crate) fn new<O: Outgoing>(
        outgoing: O,
        flow: FlowSender,
        connection: Connection,
        numbers: bool,
        traffic: Traffic,
    ) -> (Self, CapsuleWriter<O>) {
        let (capsules, queue) = mpsc::channel(QUEUE);
        let twice = numbers.then(Arc::default);
        (IpSender { flow, capsules, twice, connection, traffic }, CapsuleWriter { outgoing, queue })
    }

    /// Sends a packet, which may be lost.
    pub(crate) fn send(&self, packet: &[u8], verdict: &Verdict) {
        let kind = Kind::from(verdict.class);
        if self.is_sent(packet, verdict) {
            self.traffic.sent(kind, packet.len());
        } else {
            self.traffic.dropped(kind);
        }
    }

    /// Whether there was room for it.
    fn is_sent(&self, packet: &[u8], verdict: &Verdict) -> bool {
        let info = datagrams::info(verdict.class);
        let Some(twice) = &self.twice else {
            return self.is_sent_once([&PACKET_CONTEXT, packet], &info);
        };
        let parts = [&order::header(verdict)[..], packet];
        (verdict.class == Class::RealTime && self.send_twice(twice, parts)) || self.is_sent_once(parts, &info)
    }

    fn is_sent_once(&self, parts: [&[u8]; 2], info: &DatagramInfo) -> bool {
        match self.flow.send_with(parts, info) {
            Ok(()) => true,
            Err(DatagramError::Full) => false,
            Err(_) => {
                let capsule = capsule::encode(DATAGRAM, &udp::encode(parts[1]));
                self.capsules.try_send(capsule).is_ok()
            }
        }
    }

    /// Whether a packet is on its way over two paths, or at least one of them.
    fn send_twice(&self, twice: &Mutex<Twice>, parts: [&[u8]; 2]) -> bool {
        let (now, bytes) = (self.connection.now(), parts[0].len() + parts[1].len());
        let paths = {
            let mut twice = twice.lock().unwrap_or_else(PoisonError::into_inner);
            twice.paths(now, bytes, || seen(&self.connection))
        };
        let sent = |path| self.flow.send_with(parts, &datagrams::copy(now, path)).is_ok();
        // Both, whatever becomes of the first.
        paths.is_some_and(|paths| paths.map(sent).contains(&true))
    }

    /// Sends a capsule of addresses or routes.
    pub(crate) async fn tell(&self, kind: u64, value: &[u8]) {
        // Without the writer the tunnel has ended.
        let _ = self.capsules.send(capsule::encode(kind, value)).await;
    }

    /// Most bytes of a packet that fits a datagram now; 0 if none does.
    pub(crate) fn room(&self) -> usize {
        let header = if self.twice.is_some() { order::HEADER } else { PACKET_CONTEXT.len() };
        self.flow.room().saturating_sub(header)
    }
}

/// Writes capsules to the stream of a tunnel.
#[derive(Debug)]
pub(crate) struct CapsuleWriter<O> {
    outgoing: O,
    queue: mpsc::Receiver<Bytes>,
}

impl<O: Outgoing> CapsuleWriter<O> {
    /// Writes until nobody sends any more.
    ///
    /// # Errors
    /// When the stream has ended.
    pub(crate) async fn run(&mut self) -> Result<(), StreamError> {
        while let Some(capsule) = self.queue.recv().await {
            self.outgoing.send(capsule).await?;
        }
        Ok(())
    }

    /// Ends the tunnel.
    pub(crate) async fn finish(&mut self) {
        let _ = self.outgoing.finish().await;
    }
}

/// Receives from a tunnel.
#[derive(Debug)]
pub(crate) struct IpReceiver<I> {
    incoming: I,
    capsules: Capsules,
    flow: FlowReceiver,
    /// Where numbered packets wait for those before them.
    reorder: Option<Reorder>,
    started: Instant,
    traffic: Traffic,
    waiting: Waiting,
}

impl<I: Incoming> IpReceiver<I> {
    pub(crate) fn new(incoming: I, flow: FlowReceiver, numbers: bool, traffic: Traffic) -> Self {
        let kinds = &[DATAGRAM, ip::ADDRESS_ASSIGN, ip::ADDRESS_REQUEST, ip::ROUTE_ADVERTISEMENT];
        let capsules = Capsules::new(kinds, MAX_CAPSULE);
        IpReceiver {
            incoming,
            capsules,
            flow,
            reorder: numbers.then(Reorder::default),
            started: Instant::now(),
            waiting: traffic.waiting(Kind::Bulk),
            traffic,
        }
    }

    /// What comes next; `None` when the peer has ended the tunnel. Nothing is lost when this is not waited for to its end.
    ///
    /// # Errors
    /// [`IpError`].
    pub(crate) async fn receive(&mut self) -> Result<Option<IpEvent>, IpError> {
        loop {
            while let Some(capsule) = self.capsules.next()? {
                if let Some(event) = Self::read(capsule)? {
                    if let IpEvent::Packet(packet) = &event {
                        self.traffic.received(Kind::Bulk, packet.len());
                    }
                    return Ok(Some(event));
                }
            }
            if let Some(packet) = self.reorder.as_mut().and_then(Reorder::pop) {
                return Ok(Some(IpEvent::Packet(packet)));
            }
            let release =
                self.reorder.as_ref().and_then(|reorder| reorder.next_release(self.started.elapsed()));
            tokio::select! {
                data = self.incoming.receive() => match data? {
                    Some(data) => self.capsules.push(data),
                    None => {
                        self.capsules.end()?;
                        return Ok(None);
                    }
                },
                datagram = self.flow.receive() => {
                    if let Some(packet) = self.arrived(datagram)? {
                        return Ok(Some(IpEvent::Packet(packet)));
                    }
                }
                () = until(self.started, release) => {
                    if let Some(reorder) = &mut self.reorder {
                        reorder.release(self.started.elapsed());
                        self.waiting.set(reorder.held());
                    }
                }
            }
        }
    }

    /// The packet in a datagram, if it waits for nothing.
    fn arrived(&mut self, datagram: HttpDatagram) -> Result<Option<Bytes>, IpError> {
        let HttpDatagram { payload, is_marked, .. } = datagram;
        if let Some(reorder) = &mut self.reorder
            && let Some(mut numbered) = order::read(payload.clone())
        {
            if is_marked {
                numbered.packet = packet::marked(numbered.packet);
            }
            let (class, bytes) = (numbered.verdict.class, numbered.packet.len());
            reorder.push(self.started.elapsed(), numbered);
            self.waiting.set(reorder.held());
            let next = reorder.pop();
            // Of a real-time packet the second copy is none.
            if class == Class::Bulk || next.is_some() {
                self.traffic.received(class.into(), bytes);
            }
            return Ok(next);
        }
        let packet = udp::decode(payload)?;
        let packet = if is_marked { packet.map(packet::marked) } else { packet };
        if let Some(packet) = &packet {
            self.traffic.received(Kind::Bulk, packet.len());
        }
        Ok(packet)
    }

    fn read(Capsule { kind, value }: Capsule) -> Result<Option<IpEvent>, IpError> {
        Ok(match kind {
            DATAGRAM => udp::decode(value)?.map(IpEvent::Packet),
            ip::ADDRESS_ASSIGN => Some(IpEvent::Assigned(ip::read_assignment(&value)?)),
            ip::ADDRESS_REQUEST => Some(IpEvent::Requested(ip::read_request(&value)?)),
            ip::ROUTE_ADVERTISEMENT => Some(IpEvent::Routes(ip::read_routes(&value)?)),
            _ => None,
        })
    }

    /// Wants no more.
    pub(crate) fn stop(&mut self) {
        self.incoming.stop(Code::H3_REQUEST_CANCELLED);
    }
}

/// Waits until so long after the start; indefinitely if that is not said.
async fn until(started: Instant, after: Option<Duration>) {
    match after {
        Some(after) => tokio::time::sleep_until(started + after).await,
        None => std::future::pending().await,
    }
}
