//! Workers that serve the same addresses, each on a socket and a thread of its own.
//!
//! The kernel gives each socket (SO_REUSEPORT) the datagrams of some clients. What arrives at the wrong worker, because a
//! connection has paths from several addresses, is handed to the one that owns the connection: batches of datagrams that
//! are slices of the receive buffer, once per pass and receiver. The rule is the core's, see
//! [`EndpointGroup`](hawser_core::EndpointGroup).

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};

use super::{Driver, Mailbox, Worker};
use crate::socket::Message;

/// A worker's place among the others.
#[derive(Debug)]
pub(crate) struct Team {
    index: usize,
    mailboxes: Arc<[Arc<Mailbox>]>,
    /// What each of the others is to get at the end of the pass.
    outboxes: Vec<Vec<Message>>,
    inbox: Vec<Message>,
    kept: Vec<Message>,
}

impl Team {
    pub(crate) fn new(index: usize, mailboxes: Arc<[Arc<Mailbox>]>) -> Self {
        let outboxes = mailboxes.iter().map(|_| Vec::new()).collect();
        Team { index, mailboxes, outboxes, inbox: Vec::new(), kept: Vec::new() }
    }

    /// Hands those of `messages` to others that are not for this worker, and adds what others have handed to it. Returns
    /// how many datagrams went to others.
    pub(super) fn exchange(&mut self, core: &hawser_core::Endpoint, messages: &mut Vec<Message>) -> u64 {
        core.publish_load();
        let mut handed_over = 0;
        for message in messages.drain(..) {
            handed_over += self.sort(core, message, false);
        }
        self.mailboxes[self.index].take_messages(&mut self.inbox);
        let mut inbox = std::mem::take(&mut self.inbox);
        for message in inbox.drain(..) {
            handed_over += self.sort(core, message, true);
        }
        self.inbox = inbox;
        std::mem::swap(messages, &mut self.kept);
        for (mailbox, outbox) in self.mailboxes.iter().zip(&mut self.outboxes) {
            mailbox.hand_over(outbox);
        }
        handed_over
    }

    /// Cuts a message into parts for the same worker. Nearly always there is one.
    fn sort(&mut self, core: &hawser_core::Endpoint, mut message: Message, handed_over: bool) -> u64 {
        let remote = message.tuple.remote;
        let owner = |datagram: &[u8]| core.owner_elsewhere(remote, datagram, handed_over);
        let mut moved = 0;
        while !message.bytes.is_empty() {
            let mut datagrams = message.bytes.chunks(message.segment_size);
            let to = datagrams.next().and_then(owner);
            let more = datagrams.take_while(|datagram| owner(datagram) == to).count();
            let part = message.split_to(1 + more);
            match to.and_then(|member| self.outboxes.get_mut(member)) {
                Some(outbox) => {
                    moved += 1 + more as u64;
                    outbox.push(part);
                }
                None => self.kept.push(part),
            }
        }
        moved
    }

    /// Tells the others that this worker has nothing left to do.
    pub(super) fn wake_others(&self) {
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake());
    }
}

/// Where a worker's task runs.
pub(crate) enum Home {
    /// On the caller's runtime, among the application's tasks: best for one worker, as nothing crosses threads.
    Caller(Handle),
    /// On a thread of its own, so that workers run in parallel whatever the caller's runtime is.
    Thread(OwnRuntime),
}

impl Home {
    pub(crate) fn thread() -> io::Result<Self> {
        Ok(Home::Thread(OwnRuntime(Some(Builder::new_current_thread().enable_all().build()?))))
    }

    /// Whose reactor the worker's sockets belong to.
    pub(crate) fn handle(&self) -> io::Result<Handle> {
        match self {
            Home::Caller(handle) => Ok(handle.clone()),
            Home::Thread(OwnRuntime(Some(runtime))) => Ok(runtime.handle().clone()),
            Home::Thread(OwnRuntime(None)) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Starts the worker's task.
    pub(crate) fn start(self, worker: Arc<Worker>, team: Option<Team>) -> io::Result<()> {
        match self {
            Home::Caller(handle) => {
                let _entered = handle.enter();
                handle.spawn(Driver::new(worker, team));
            }
            Home::Thread(runtime) => {
                let index = team.as_ref().map_or(0, |team| team.index);
                let thread = std::thread::Builder::new().name(format!("hawser-net-{index}"));
                // Nobody waits for the thread: it ends with its last connection, once the endpoint is gone.
                thread.spawn(move || runtime.run(async move { Driver::new(worker, team).await }))?;
            }
        }
        Ok(())
    }
}

/// A runtime that may be dropped anywhere; tokio's own panics inside another one.
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn run(&self, future: impl Future<Output = ()>) {
        if let Some(runtime) = &self.0 {
            runtime.block_on(future);
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
