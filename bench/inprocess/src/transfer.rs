//! A long transfer from server to client, looked at after its start.

use std::sync::Arc;
use std::time::Duration;

use bench_harness::Error;
use bytes::Bytes;
use hawser_core::{Connection, Event, StreamEvent};
use hawser_policy::{StreamId, Time};
use serde::Serialize;

use crate::heap::{self, Party};
use crate::host::User;
use crate::sessions::{SessionKind, Sessions};
use crate::watched::Watched;
use crate::world::World;

/// Bytes before anything is counted: windows, tables and buffers have their final size then.
const WARM_UP: u64 = 40_000_000;
/// Bytes that are counted.
const COUNTED: u64 = 100_000_000;
/// Receive window of the stream: 4 MiB per round trip of 20 ms are 1.7 Gbit/s, with whole batches all the time.
const WINDOW: u64 = 4 << 20;
/// Bytes handed to the stack at once.
const CHUNK: usize = 256 * 1024;

/// What one end did while it was looked at.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct End {
    datagrams_sent: u64,
    datagrams_received: u64,
    allocations: u64,
    allocated_bytes: u64,
    /// Allocations / (datagrams sent + received).
    allocations_per_packet: f64,
}

/// A transfer, from the warm-up's end to its own.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Transfer {
    session: SessionKind,
    bytes: u64,
    /// Datagrams per batch that the sender gives to its driver.
    mean_batch: f64,
    sender: End,
    receiver: End,
}

/// Transfers with and without cryptography.
pub(crate) fn allocations() -> Result<Vec<Transfer>, Error> {
    let transfers = [run(COUNTED, SessionKind::Null, false)?, run(COUNTED, SessionKind::Tls, false)?];
    for transfer in &transfers {
        eprintln!(
            "allocations per packet, {:?} session: sender {:.5}, receiver {:.5} (target 0)",
            transfer.session,
            transfer.sender.allocations_per_packet,
            transfer.receiver.allocations_per_packet
        );
    }
    Ok(transfers.into())
}

/// Transfers `bytes` after the warm-up; with policies that ask for every event if it is to be `watched`.
pub(crate) fn run(bytes: u64, session: SessionKind, watched: bool) -> Result<Transfer, Error> {
    let mut transport = hawser_net::default_transport();
    transport.max_stream_window = WINDOW;
    transport.max_connection_window = 2 * WINDOW;
    if watched {
        transport.policies = Arc::new(Watched(transport.policies));
    }
    let total = WARM_UP + bytes;
    let mut world = World::new(&Sessions::new(session)?, transport, Receiver::default(), Sender::new(total));
    world.connect()?;
    let end = world.now + Duration::from_secs(3600);

    world.run_until(end, |world| world.client.user.received >= WARM_UP);
    let before = (Counters::of(&mut world.server), Counters::of(&mut world.client));
    let received_before = world.client.user.received;
    world.run_until(end, |world| world.client.user.received >= total);
    if world.client.user.received != total {
        return Err(format!("{} of {total} bytes came", world.client.user.received).into());
    }
    let sender = Counters::of(&mut world.server);
    let batches = sender.batches_sent - before.0.batches_sent;
    let (sender, receiver) = (sender.since(&before.0), Counters::of(&mut world.client).since(&before.1));
    Ok(Transfer {
        session,
        bytes: total - received_before,
        mean_batch: sender.datagrams_sent as f64 / batches as f64,
        sender,
        receiver,
    })
}

struct Counters {
    datagrams_sent: u64,
    datagrams_received: u64,
    batches_sent: u64,
    allocations: (u64, u64),
}

impl Counters {
    fn of<U: User>(host: &mut crate::host::Host<U>) -> Self {
        let allocations = heap::allocations(host.party);
        let stats = host.connections().next().map(|connection| connection.stats()).unwrap_or_default();
        Counters {
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
            batches_sent: stats.batches_sent,
            allocations,
        }
    }

    fn since(&self, before: &Self) -> End {
        let datagrams_sent = self.datagrams_sent - before.datagrams_sent;
        let datagrams_received = self.datagrams_received - before.datagrams_received;
        let allocations = self.allocations.0 - before.allocations.0;
        End {
            datagrams_sent,
            datagrams_received,
            allocations,
            allocated_bytes: self.allocations.1 - before.allocations.1,
            allocations_per_packet: allocations as f64 / (datagrams_sent + datagrams_received) as f64,
        }
    }
}

/// Opens a stream when connected, and drops what comes.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    stream: Option<StreamId>,
    pub(crate) received: u64,
}

impl User for Receiver {
    fn on_event(&mut self, _: Time, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected => {
                self.stream = connection.open_stream(true);
                if let Some(stream) = self.stream {
                    let _ = connection.write(stream, b"request");
                    let _ = connection.finish(stream);
                }
            }
            Event::Stream(StreamEvent::Readable(stream)) => {
                while let Ok(Some(chunk)) = connection.read_chunk(*stream, usize::MAX) {
                    self.received += chunk.len() as u64;
                }
            }
            _ => {}
        }
    }
}

/// Sends so many bytes on the first stream that is opened.
#[derive(Debug)]
pub(crate) struct Sender {
    content: Bytes,
    left: u64,
}

impl Sender {
    pub(crate) fn new(bytes: u64) -> Self {
        Sender { content: heap::on_behalf_of(Party::Harness, || Bytes::from(vec![0x5a; CHUNK])), left: bytes }
    }

    fn push(&mut self, connection: &mut Connection, stream: StreamId) {
        while self.left > 0 {
            let length = self.left.min(CHUNK as u64) as usize;
            match connection.write_bytes(stream, self.content.slice(..length)) {
                Ok(written) if written > 0 => self.left -= written as u64,
                _ => return,
            }
        }
        let _ = connection.finish(stream);
    }
}

impl User for Sender {
    fn on_event(&mut self, _: Time, connection: &mut Connection, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                while let Some(stream) = connection.accept_stream(true) {
                    self.push(connection, stream);
                }
            }
            Event::Stream(StreamEvent::Readable(stream)) => {
                while let Ok(Some(_)) = connection.read_chunk(*stream, usize::MAX) {}
            }
            Event::Stream(StreamEvent::Writable(stream)) => self.push(connection, *stream),
            _ => {}
        }
    }
}
