//! HTTP Datagrams of a connection, each to the tunnel that it belongs to.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use h3::quic::StreamId;
use hawser_h3::{DatagramError, Datagrams, HttpDatagram};
use hawser_net::policy::DatagramInfo;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Datagrams that wait for one tunnel; what comes beyond them is dropped, as a full socket buffer drops it.
const QUEUE: usize = 512;

/// Takes note of a datagram that is dropped.
pub(crate) type Dropped = Box<dyn Fn(&Bytes) + Send + Sync>;

/// Where the datagrams of a tunnel wait.
#[derive(Clone)]
struct Queue {
    sender: mpsc::Sender<HttpDatagram>,
    dropped: Arc<Dropped>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("room", &self.sender.capacity()).finish_non_exhaustive()
    }
}

/// The datagrams of a connection.
#[derive(Debug)]
pub(crate) struct Flows {
    datagrams: Datagrams,
    /// By stream. As many as there are tunnels.
    queues: Mutex<HashMap<u64, Queue>>,
}

impl Flows {
    /// Reads datagrams from now on, until the connection ends.
    pub(crate) fn start(datagrams: Datagrams) -> Arc<Self> {
        let flows = Arc::new(Flows { datagrams: datagrams.clone(), queues: Mutex::default() });
        let weak = Arc::downgrade(&flows);
        tokio::spawn(async move {
            while let Ok(datagram) = datagrams.receive().await {
                let Some(flows) = Weak::upgrade(&weak) else { return };
                flows.deliver(datagram);
            }
        });
        flows
    }

    /// A datagram of a stream that nobody knows is of one that has ended, or not begun (RFC 9297 section 2.1): it is dropped.
    fn deliver(&self, datagram: HttpDatagram) {
        let queue = self.queues.lock().unwrap_or_else(PoisonError::into_inner).get(&datagram.stream).cloned();
        if let Some(Queue { sender, dropped }) = queue
            && let Err(TrySendError::Full(datagram)) = sender.try_send(datagram)
        {
            dropped(&datagram.payload);
        }
    }

    /// Takes part with a stream, until both are dropped. `dropped` hears of datagrams that nobody reads in time.
    pub(crate) fn open(self: &Arc<Self>, stream: StreamId, dropped: Dropped) -> (FlowSender, FlowReceiver) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let queue = Queue { sender, dropped: Arc::new(dropped) };
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).insert(stream.into_inner(), queue);
        let flow = FlowSender { flows: self.clone(), stream };
        (flow.clone(), FlowReceiver { flow, queue: receiver })
    }
}

/// Sends datagrams of one stream.
#[derive(Clone, Debug)]
pub(crate) struct FlowSender {
    flows: Arc<Flows>,
    stream: StreamId,
}

impl FlowSender {
    /// Sends one.
    pub(crate) fn send(&self, datagram: &[u8]) -> Result<(), DatagramError> {
        self.flows.datagrams.send(self.stream, datagram)
    }

    /// Sends one in two parts, with what the scheduler should know of it.
    pub(crate) fn send_with(&self, parts: [&[u8]; 2], info: &DatagramInfo) -> Result<(), DatagramError> {
        self.flows.datagrams.send_with(self.stream, parts, info)
    }

    /// Most bytes of a datagram that fit a packet now; 0 if the peer takes none.
    pub(crate) fn room(&self) -> usize {
        self.flows.datagrams.max_payload(self.stream).unwrap_or(0)
    }
}

/// Receives datagrams of one stream.
#[derive(Debug)]
pub(crate) struct FlowReceiver {
    flow: FlowSender,
    queue: mpsc::Receiver<HttpDatagram>,
}

impl FlowReceiver {
    /// The next one. Waits indefinitely when the connection has ended, which the stream tells.
    pub(crate) async fn receive(&mut self) -> HttpDatagram {
        match self.queue.recv().await {
            Some(datagram) => datagram,
            None => std::future::pending().await,
        }
    }
}

impl Drop for FlowReceiver {
    fn drop(&mut self) {
        let FlowSender { flows, stream } = &self.flow;
        flows.queues.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream.into_inner());
    }
}
