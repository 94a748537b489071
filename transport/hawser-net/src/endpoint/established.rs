//! Clients whose handshakes are complete.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::Endpoint;
use crate::Connection;

/// Handshakes with clients that go on at the same time; more wait in the endpoint.
const MAX_HANDSHAKES: usize = 256;
/// Connections that wait for [`Established::next`]; more keep their handshakes' places.
const MAX_WAITING: usize = 64;

/// Accepts clients, up to 256 handshakes at a time, until it is dropped or the endpoint is closed; see [`Endpoint::established`].
#[derive(Debug)]
pub struct Established {
    ready: Arc<Mutex<mpsc::Receiver<Connection>>>,
    taker: AbortHandle,
}

impl Established {
    /// Waits for the next client whose handshake is complete; `None` once the endpoint is closed or `self` was dropped.
    ///
    /// One that waited for long may be closed already.
    pub fn next(&self) -> impl Future<Output = Option<Connection>> + Send + use<> {
        let ready = self.ready.clone();
        async move { ready.lock().await.recv().await }
    }
}

impl Drop for Established {
    fn drop(&mut self) {
        self.taker.abort();
    }
}

impl Endpoint {
    /// Accepts clients in a task of its own, so that a slow handshake holds up nobody else's. Takes what
    /// [`accept`](Endpoint::accept) would give.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn established(&self) -> Established {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let taker = tokio::spawn(take(self.clone(), sender)).abort_handle();
        Established { ready: Arc::new(Mutex::new(receiver)), taker }
    }
}

/// Shakes hands with clients, several at a time, until the endpoint is closed.
async fn take(endpoint: Endpoint, ready: mpsc::Sender<Connection>) {
    let mut handshakes = JoinSet::new();
    loop {
        tokio::select! {
            incoming = endpoint.accept(), if handshakes.len() < MAX_HANDSHAKES => {
                let Some(incoming) = incoming else { return };
                let ready = ready.clone();
                handshakes.spawn(async move {
                    // A client that races its links gives up all attempts but one.
                    if let Ok(connection) = incoming.await {
                        let _ = ready.send(connection).await;
                    }
                });
            }
            Some(_) = handshakes.join_next() => {}
        }
    }
}
