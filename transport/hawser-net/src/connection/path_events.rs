//! What happens to the paths of a connection, for those who want to hear of it.

use std::vec;

use hawser_policy::{PathEvent, PathId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// Events kept for a subscriber that is slow to read them.
const KEPT: usize = 64;

/// Why a subscriber received no event of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathEventError {
    /// The subscriber was more than 64 events behind, and this many are lost. The next call returns the oldest that is left.
    #[error("{0} events of paths were missed")]
    Missed(u64),
    /// The connection has ended, and all events before its end were received.
    #[error("the connection has ended")]
    Ended,
}

/// What happens to paths and links, from [`Connection::path_events`](super::Connection::path_events).
#[derive(Debug)]
pub struct PathEvents {
    /// The paths that were open at the time of the subscription.
    open: vec::IntoIter<PathId>,
    news: broadcast::Receiver<PathEvent>,
}

impl PathEvents {
    /// Waits for the next event.
    ///
    /// # Errors
    /// [`Missed`](PathEventError::Missed) if this reader is more than 64 events behind, [`Ended`](PathEventError::Ended) after the
    /// last event of the connection.
    pub async fn recv(&mut self) -> Result<PathEvent, PathEventError> {
        match self.open.next() {
            Some(path) => Ok(PathEvent::Established(path)),
            None => self.news.recv().await.map_err(|error| match error {
                RecvError::Lagged(missed) => PathEventError::Missed(missed),
                RecvError::Closed => PathEventError::Ended,
            }),
        }
    }

    /// Returns the next event, or `None` if none waits.
    ///
    /// # Errors
    /// As [`recv`](PathEvents::recv).
    pub fn try_recv(&mut self) -> Result<Option<PathEvent>, PathEventError> {
        if let Some(path) = self.open.next() {
            return Ok(Some(PathEvent::Established(path)));
        }
        match self.news.try_recv() {
            Ok(event) => Ok(Some(event)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Lagged(missed)) => Err(PathEventError::Missed(missed)),
            Err(TryRecvError::Closed) => Err(PathEventError::Ended),
        }
    }
}

/// The subscribers, and what a new one must be told first.
#[derive(Debug, Default)]
pub(super) struct PathNews {
    /// Paths of which was said that they are open, and not yet that they are closed: as many as the core has at most.
    open: Vec<PathId>,
    sender: Option<broadcast::Sender<PathEvent>>,
    ended: bool,
}

impl PathNews {
    pub(super) fn tell(&mut self, event: PathEvent) {
        match event {
            _ if self.ended => return,
            PathEvent::Established(id) if !self.open.contains(&id) => self.open.push(id),
            PathEvent::Closed(id) => self.open.retain(|open| *open != id),
            _ => {}
        }
        if let Some(sender) = &self.sender {
            // Nobody listening any more is no error.
            let _ = sender.send(event);
        }
    }

    /// A connection has often opened its second path before the task that waited for it runs: a subscriber receives
    /// those that are open as if they had opened now.
    pub(super) fn subscribe(&mut self) -> PathEvents {
        let news = match &self.sender {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, receiver) = broadcast::channel(KEPT);
                self.sender = Some(sender).filter(|_| !self.ended);
                receiver
            }
        };
        PathEvents { open: self.open.clone().into_iter(), news }
    }

    /// The connection is over: nothing more will be told.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.sender = None;
        self.open = Vec::new();
    }
}
