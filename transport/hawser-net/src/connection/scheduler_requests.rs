//! A wish for the scheduler of the other end, as messages of [`FeatureId::SCHEDULER_REQUEST`] (`docs/wire.md`).
//!
//! Which scheduler counts is a matter of the end that sends: a client that downloads and wants to compare schedulers has to ask the
//! server. An end that is asked decides by the names that its endpoint was given.

use std::sync::Arc;

use hawser_core::{ConnectionError, SendMessageError};
use hawser_policy::{FeatureId, Message, PolicyKind, PolicySpec, Registry};

/// Requests of one connection that are followed: a peer that asks more often is refused.
pub const MAX_SCHEDULER_REQUESTS: u32 = 16;
/// Longest text of an answer in bytes; a longer one is cut.
const MAX_TEXT: usize = 900;

/// What the other end says to a request for a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerAnswer {
    /// It uses this scheduler now.
    Accepted(String),
    /// It keeps its scheduler; the reason in its words, without control characters.
    Refused(String),
}

/// Why a request for a scheduler got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerRequestError {
    /// The peer knows no such requests.
    #[error("the peer knows no requests for schedulers")]
    Unsupported,
    /// An earlier request has no answer yet.
    #[error("the peer has not answered the last request yet")]
    InProgress,
    /// It cannot be sent.
    #[error(transparent)]
    Message(#[from] SendMessageError),
    /// The connection ended before the answer came.
    #[error(transparent)]
    ConnectionLost(#[from] ConnectionError),
}

/// The policies of an endpoint, and which of them its peers may choose.
#[derive(Debug)]
pub(crate) struct EndpointPolicies {
    pub(crate) registry: Arc<Registry>,
    /// Schedulers that peers may ask for, by name.
    pub(crate) on_request: Vec<String>,
}

impl EndpointPolicies {
    /// Whether a peer may have this scheduler.
    fn permit(&self, text: &str) -> Result<PolicySpec, String> {
        if self.on_request.is_empty() {
            return Err("schedulers are not chosen by clients here".to_owned());
        }
        let spec: PolicySpec = text.parse().map_err(|error: hawser_policy::SpecError| error.to_string())?;
        let name_of = |name: &str| self.registry.policy(PolicyKind::Scheduler, name).map(|info| &info.name);
        let name = name_of(spec.name());
        if name.is_none() || !self.on_request.iter().any(|allowed| name_of(allowed) == name) {
            return Err(format!("\"{}\" is not among {}", spec.name(), self.on_request.join(", ")));
        }
        // A peer names no files of this machine.
        let checked = self.registry.without_files().check(PolicyKind::Scheduler, &spec);
        checked.map(|()| spec).map_err(|error| error.to_string())
    }
}

/// What is between the ends.
#[derive(Debug, PartialEq, Eq)]
enum Payload {
    Request(String),
    Answer(SchedulerAnswer),
}

impl Payload {
    const REQUEST: u8 = 0;
    const ACCEPTED: u8 = 1;
    const REFUSED: u8 = 2;

    fn message(&self) -> Message {
        let (kind, text) = match self {
            Payload::Request(text) => (Self::REQUEST, text),
            Payload::Answer(SchedulerAnswer::Accepted(text)) => (Self::ACCEPTED, text),
            Payload::Answer(SchedulerAnswer::Refused(text)) => (Self::REFUSED, text),
        };
        let end = (0..=text.len().min(MAX_TEXT)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let payload = std::iter::once(kind).chain(text.bytes().take(end)).collect::<Vec<u8>>();
        Message::reliable(FeatureId::SCHEDULER_REQUEST, payload)
    }

    /// `None` for what is none: a peer may send anything.
    fn read(message: &Message) -> Option<Self> {
        let (kind, text) = message.payload.split_first()?;
        let text = std::str::from_utf8(text).ok()?;
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        match *kind {
            Self::REQUEST => Some(Payload::Request(text)),
            Self::ACCEPTED => Some(Payload::Answer(SchedulerAnswer::Accepted(text))),
            Self::REFUSED => Some(Payload::Answer(SchedulerAnswer::Refused(text))),
            _ => None,
        }
    }
}

/// Where our own request is.
#[derive(Debug, Default)]
enum Asked {
    #[default]
    Nothing,
    Sent,
    Answered(SchedulerAnswer),
}

/// Requests of both ends of a connection.
#[derive(Debug)]
pub(crate) struct SchedulerRequests {
    policies: Arc<EndpointPolicies>,
    asked: Asked,
    /// Requests of the peer.
    received: u32,
}

impl SchedulerRequests {
    pub(crate) fn new(policies: Arc<EndpointPolicies>) -> Self {
        SchedulerRequests { policies, asked: Asked::Nothing, received: 0 }
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.policies.registry.clone()
    }

    /// Asks the peer.
    pub(crate) fn ask(
        &mut self,
        core: &mut hawser_core::Connection,
        spec: &PolicySpec,
    ) -> Result<(), SchedulerRequestError> {
        if !core.is_feature_negotiated(FeatureId::SCHEDULER_REQUEST) {
            return Err(SchedulerRequestError::Unsupported);
        }
        if matches!(self.asked, Asked::Sent) {
            return Err(SchedulerRequestError::InProgress);
        }
        core.send_message(Payload::Request(spec.to_string()).message())?;
        self.asked = Asked::Sent;
        Ok(())
    }

    /// The answer of the peer, once.
    pub(crate) fn take_answer(&mut self) -> Option<SchedulerAnswer> {
        match std::mem::take(&mut self.asked) {
            Asked::Answered(answer) => Some(answer),
            other => {
                self.asked = other;
                None
            }
        }
    }

    /// A message of the peer. Returns whether it is the answer that we wait for.
    pub(crate) fn on_message(&mut self, core: &mut hawser_core::Connection, message: &Message) -> bool {
        match Payload::read(message) {
            Some(Payload::Request(text)) => {
                let answer = self.obey(core, &text);
                // Where the answer cannot be queued, the peer has sent more than it reads.
                let _ = core.send_message(Payload::Answer(answer).message());
                false
            }
            Some(Payload::Answer(answer)) if matches!(self.asked, Asked::Sent) => {
                self.asked = Asked::Answered(answer);
                true
            }
            Some(Payload::Answer(_)) | None => false,
        }
    }

    fn obey(&mut self, core: &mut hawser_core::Connection, text: &str) -> SchedulerAnswer {
        self.received = self.received.saturating_add(1);
        if self.received > MAX_SCHEDULER_REQUESTS {
            return SchedulerAnswer::Refused(format!("more than {MAX_SCHEDULER_REQUESTS} requests"));
        }
        let spec = match self.policies.permit(text) {
            Ok(spec) => spec,
            Err(reason) => return SchedulerAnswer::Refused(reason),
        };
        match core.set_scheduler(&self.policies.registry, spec.clone()) {
            Ok(()) => SchedulerAnswer::Accepted(spec.to_string()),
            Err(error) => SchedulerAnswer::Refused(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(on_request: &[&str], text: &str) -> Result<String, String> {
        let on_request = on_request.iter().map(ToString::to_string).collect();
        let policies = EndpointPolicies { registry: Arc::new(crate::policies()), on_request };
        policies.permit(text).map(|spec| spec.to_string())
    }

    #[test]
    fn only_listed_schedulers_are_permitted() {
        assert_eq!(permit(&["ecf"], "ecf"), Ok("ecf".to_owned()));
        assert_eq!(
            permit(&["round-robin", "ecf"], "RoundRobin,quantum=4"),
            Ok("RoundRobin,quantum=4".to_owned())
        );
        assert_eq!(permit(&["ecf"], "minrtt"), Err("\"minrtt\" is not among ecf".to_owned()));
        assert_eq!(permit(&["ecf"], "none-such"), Err("\"none-such\" is not among ecf".to_owned()));
        assert_eq!(permit(&[], "ecf"), Err("schedulers are not chosen by clients here".to_owned()));
        let wrong = permit(&["round-robin"], "round-robin,quantum=0").unwrap_err();
        assert!(wrong.contains("\"quantum\"") && wrong.contains("found \"0\""), "{wrong}");
    }

    #[test]
    fn payloads_are_read_as_they_were_written() {
        let answer = |text: &str| Payload::Answer(SchedulerAnswer::Refused(text.to_owned()));
        for payload in [Payload::Request("ecf,beta=0.5".to_owned()), answer("no"), answer("")] {
            assert_eq!(Payload::read(&payload.message()), Some(payload));
        }
        // Text of a peer reaches terminals.
        assert_eq!(Payload::read(&answer("a\u{1b}[2Jb").message()), Some(answer("a[2Jb")));
        let long = answer(&"\u{e9}".repeat(1_000)).message();
        assert!(long.payload.len() <= hawser_policy::MAX_MESSAGE_PAYLOAD && Payload::read(&long).is_some());
        for bad in [&b""[..], b"\x07ecf", b"\x00\xff"] {
            assert_eq!(Payload::read(&Message::reliable(FeatureId::SCHEDULER_REQUEST, bad)), None);
        }
    }
}
