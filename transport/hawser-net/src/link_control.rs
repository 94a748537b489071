//! The controller that attaches links elsewhere at the request of policies.

use std::fmt;
use std::sync::Arc;

use hawser_policy::{AttachReport, AttachRequest, AttachResult, AttachmentPoint, LinkInfo};

use crate::worker::Mailbox;

/// Steers the machine's links: has a WiFi interface join another access point, a modem another cell. Path managers ask for
/// it by [`PathAction::Attach`](hawser_policy::PathAction::Attach), other policies by
/// [`Command::Attach`](hawser_policy::Command::Attach).
///
/// Hawser has none of its own: what to do depends on the machine (`wpa_cli`, ModemManager, a dish's interface). An endpoint
/// without one answers [`AttachResult::Unsupported`].
pub trait LinkController: Send + Sync {
    /// Begins to attach a link to `to`, and returns at once: this is called from the task that drives all connections. The
    /// answer may come from anywhere, any time later; all connections of the endpoint are told. Dropped, it counts as
    /// [`AttachResult::Failed`].
    fn attach(&self, link: &LinkInfo, to: AttachmentPoint, answer: AttachAnswer);
}

/// Takes what became of a request to a [`LinkController`].
#[derive(Debug)]
pub struct AttachAnswer {
    request: AttachRequest,
    result: AttachResult,
    mailbox: Arc<Mailbox>,
}

impl AttachAnswer {
    pub(crate) fn new(request: AttachRequest, mailbox: Arc<Mailbox>) -> Self {
        AttachAnswer { request, result: AttachResult::Failed, mailbox }
    }

    /// What was asked for.
    pub fn request(&self) -> AttachRequest {
        self.request
    }

    /// Tells the connections.
    pub fn finish(mut self, result: AttachResult) {
        self.result = result;
    }
}

impl Drop for AttachAnswer {
    fn drop(&mut self) {
        self.mailbox.report_attachment(AttachReport::new(self.request, self.result));
    }
}

/// The controller of an endpoint, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Controller(pub(crate) Option<Arc<dyn LinkController>>);

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Some(..)" } else { "None" })
    }
}
