use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Wake, Waker};

use futures_util::task::AtomicWaker;
use hawser_core::ConnectionHandle;
use hawser_policy::AttachReport;

use crate::socket::Message;

/// What other workers may leave before it is taken, in bytes: like a socket's receive buffer, beyond it datagrams are
/// lost.
const INBOX_BYTES: usize = 4 << 20;
/// What a message counts beyond its bytes, so that many small ones are limited as well.
const MESSAGE_OVERHEAD: usize = 256;

/// Reports on attachments that wait for the worker.
const MAX_ATTACH_REPORTS: usize = 64;

/// How everybody else gets a worker's attention.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Connections that the application acted on.
    dirty: Mutex<Vec<ConnectionHandle>>,
    /// Datagrams that arrived at other workers.
    inbox: Mutex<Inbox>,
    /// What became of requests to attach links elsewhere.
    attach_reports: Mutex<Vec<AttachReport>>,
    worker: AtomicWaker,
    /// Whether the last handle of the endpoint was dropped.
    abandoned: AtomicBool,
}

/// Asks for a worker's attention for one connection.
struct Attention {
    mailbox: Weak<Mailbox>,
    connection: ConnectionHandle,
}

impl Wake for Attention {
    fn wake(self: Arc<Self>) {
        if let Some(mailbox) = self.mailbox.upgrade() {
            mailbox.push(self.connection);
        }
    }
}

#[derive(Debug, Default)]
struct Inbox {
    messages: Vec<Message>,
    bytes: usize,
    /// Whether the worker is gone and will take nothing any more.
    is_closed: bool,
}

impl Mailbox {
    /// Asks the worker to look after a connection.
    pub(crate) fn push(&self, connection: ConnectionHandle) {
        let mut dirty = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = dirty.is_empty();
        dirty.push(connection);
        drop(dirty);
        // The sender that made it non-empty has woken the worker, which has not emptied it since.
        if was_empty {
            self.worker.wake();
        }
    }

    /// Has the worker look after a connection when it is woken.
    pub(super) fn waker_for(mailbox: &Arc<Self>, connection: ConnectionHandle) -> Waker {
        Arc::new(Attention { mailbox: Arc::downgrade(mailbox), connection }).into()
    }

    /// Gives the worker datagrams that arrived elsewhere. Those that find no room are lost, as on the wire.
    pub(super) fn hand_over(&self, messages: &mut Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = inbox.messages.is_empty();
        for message in messages.drain(..) {
            let cost = message.bytes.len() + MESSAGE_OVERHEAD;
            if !inbox.is_closed && inbox.bytes + cost <= INBOX_BYTES {
                inbox.bytes += cost;
                inbox.messages.push(message);
            }
        }
        drop(inbox);
        if was_empty {
            self.worker.wake();
        }
    }

    /// Moves what other workers handed over to `messages`, which must be empty.
    pub(super) fn take_messages(&self, messages: &mut Vec<Message>) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.bytes = 0;
        // Both keep their memory and change places with each pass.
        std::mem::swap(&mut inbox.messages, messages);
    }

    /// The worker takes no messages any more.
    pub(super) fn close_inbox(&self) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        *inbox = Inbox { is_closed: true, ..Inbox::default() };
    }

    /// Leaves what became of a request to attach a link elsewhere. Beyond [`MAX_ATTACH_REPORTS`] nobody is told.
    pub(crate) fn report_attachment(&self, report: AttachReport) {
        let mut reports = self.attach_reports.lock().unwrap_or_else(PoisonError::into_inner);
        if reports.len() < MAX_ATTACH_REPORTS {
            reports.push(report);
        }
        drop(reports);
        self.worker.wake();
    }

    /// Takes these reports.
    pub(super) fn take_attach_reports(&self) -> Vec<AttachReport> {
        std::mem::take(&mut *self.attach_reports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the worker to look after the endpoint.
    pub(crate) fn wake(&self) {
        self.worker.wake();
    }

    /// Tells the worker that nobody can open or accept connections any more.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.worker.wake();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Where to wake the worker. To be called before [`take`](Self::take).
    pub(crate) fn register(&self, waker: &Waker) {
        self.worker.register(waker);
    }

    /// Moves the connections to `dirty`.
    pub(crate) fn take(&self, dirty: &mut Vec<ConnectionHandle>) {
        dirty.append(&mut self.dirty.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
