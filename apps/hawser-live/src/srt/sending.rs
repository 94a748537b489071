//! A stream over one call.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hawser_media::broadcast::Unit;
use hawser_media::ts::TsMuxer;
use sapflow_srt::{CallerCloseReason, CallerEvent};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::at;
use super::line::Line;
use crate::hub::{Hub, Next, Subscription};
use crate::sink::{AFTER_END, Ends};
use crate::status::Status;
use hawser_command::output::Output;

/// Bytes of a message: seven packets of a transport stream.
const MESSAGE: usize = 7 * hawser_media::ts::PACKET;
/// Largest datagram of the other end that is read.
const DATAGRAM: usize = 2048;

/// Where what the other end says comes from.
pub(super) enum Inbox {
    /// The socket is for this call alone.
    Own,
    /// The socket is that of a port; what is for this call is handed on.
    Shared(mpsc::Receiver<Vec<u8>>),
}

/// One call over which a stream is sent.
pub(super) struct Sending {
    line: Line,
    inbox: Inbox,
    /// From when the call is answered.
    subscription: Option<Subscription>,
    muxer: TsMuxer,
    /// Messages of one unit.
    waiting: VecDeque<Bytes>,
    who: String,
    ends: Ends,
    /// When the call is over, since the source was done and no other has followed.
    over_at: Option<Instant>,
}

impl Inbox {
    /// What the other end says next, in `block`, and who that is if it is not known.
    async fn receive(
        &mut self,
        socket: &UdpSocket,
        block: &mut [u8],
    ) -> std::io::Result<(Option<SocketAddr>, usize)> {
        match self {
            Inbox::Own => socket.recv_from(block).await.map(|(count, peer)| (Some(peer), count)),
            Inbox::Shared(inbox) => {
                let Some(bytes) = inbox.recv().await else { return std::future::pending().await };
                let count = bytes.len().min(block.len());
                block[..count].copy_from_slice(&bytes[..count]);
                Ok((None, count))
            }
        }
    }
}

impl Sending {
    /// To a server that is called.
    pub(super) fn calling(line: Line, who: String) -> Self {
        Self::new(line, Inbox::Own, None, who, Ends::Never)
    }

    /// To a player that has called.
    pub(super) fn answering(line: Line, inbox: mpsc::Receiver<Vec<u8>>, hub: &Arc<Hub>, who: String) -> Self {
        Self::new(line, Inbox::Shared(inbox), Some(hub.subscribe()), who, Ends::WithoutSuccessor)
    }

    fn new(line: Line, inbox: Inbox, subscription: Option<Subscription>, who: String, ends: Ends) -> Self {
        let (muxer, waiting) = (TsMuxer::default(), VecDeque::new());
        Sending { line, inbox, subscription, muxer, waiting, who, ends, over_at: None }
    }

    /// Until it ends, or until `until` says so; returns why.
    pub(super) async fn run(
        mut self,
        socket: &UdpSocket,
        hub: &Arc<Hub>,
        (status, output): (&Status, Output),
        until: impl Future<Output = &'static str>,
    ) -> String {
        let (mut until, mut block) = (std::pin::pin!(until), [0; DATAGRAM]);
        let reason = loop {
            if let Some(reason) = self.take_events(hub, output) {
                break reason;
            }
            if self.line.lacks_a_key(Instant::now()) {
                break "it does not agree to a key".to_owned();
            }
            self.enqueue();
            self.transmit(socket).await;
            let has_room = self.waiting.is_empty();
            let subscription = self.subscription.as_mut().filter(|_| has_room);
            let next = async {
                match subscription {
                    Some(subscription) => subscription.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                received = self.inbox.receive(socket, &mut block) => match received {
                    Ok((peer, count)) => {
                        let peer = peer.unwrap_or(self.line.peer());
                        self.line.handle(Instant::now(), peer, &block[..count]);
                    }
                    Err(error) => break error.to_string(),
                },
                next = next => self.take(next, status),
                () = at(self.line.poll_timeout()) => self.line.handle_timeout(Instant::now()),
                () = at(self.over_at) => break "the stream is over".to_owned(),
                words = &mut until => break words.to_owned(),
            }
        };
        self.line.stop(Instant::now());
        self.transmit(socket).await;
        reason
    }

    /// What has become of the call; why it is over, if it is.
    fn take_events(&mut self, hub: &Arc<Hub>, output: Output) -> Option<String> {
        while let Some(event) = self.line.poll_event() {
            match event {
                CallerEvent::Connected { .. } => {
                    output.remark(format_args!("hawser: {} takes the stream", self.who));
                    self.subscription = Some(hub.subscribe());
                }
                CallerEvent::Closed { reason } => return Some(words(reason)),
            }
        }
        None
    }

    /// Sends what is due.
    async fn transmit(&mut self, socket: &UdpSocket) {
        while let Some(bytes) = self.line.poll_transmit(Instant::now()) {
            // One that cannot be sent is asked for again.
            let _ = socket.send_to(&bytes, self.line.peer()).await;
        }
    }

    fn take(&mut self, next: Next, status: &Status) {
        match next {
            Next::Unit(unit) => {
                self.over_at = None;
                self.split(&unit, status);
            }
            Next::End if self.ends == Ends::WithoutSuccessor => {
                self.over_at = Some(Instant::now() + AFTER_END);
            }
            Next::End => {}
        }
    }

    fn split(&mut self, unit: &Unit, status: &Status) {
        if let Some(skipped) = self.subscription.as_mut().and_then(Subscription::newly_skipped) {
            status.note_skipped(&self.who, skipped);
        }
        let bytes = self.muxer.push(&unit.tag);
        let count = bytes.len().div_ceil(MESSAGE);
        let end = |at: usize| ((at + 1) * MESSAGE).min(bytes.len());
        self.waiting.extend((0..count).map(|at| bytes.slice(at * MESSAGE..end(at))));
    }

    /// Hands over what there is room for.
    fn enqueue(&mut self) {
        while self.waiting.front().is_some_and(|message| self.line.enqueue(Instant::now(), message)) {
            self.waiting.pop_front();
        }
    }
}

/// Why a call is over.
fn words(reason: CallerCloseReason) -> String {
    match reason {
        CallerCloseReason::MediaExpired | CallerCloseReason::RetryLimit => {
            "it takes less than the stream has".to_owned()
        }
        CallerCloseReason::PeerIdle => "it has gone without a word".to_owned(),
        CallerCloseReason::PeerClosed => "it has closed the call".to_owned(),
        reason => format!("the call ended: {reason:?}"),
    }
}
