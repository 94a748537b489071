//! HTTP over one connection to the gateway.

use std::any::Any;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::{Code, StreamError};
use h3::ext::Protocol;
use hawser_h3::Peer;
use hawser_net::Connection;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::Notify;

use super::{ClientConfig, Dialed, OpenError};
use crate::flows::{Dropped, FlowReceiver, FlowSender, Flows};
use crate::named::{BEARER, HELLO_PATH};
use crate::users::Key;

pub(super) type Requests = SendRequest<hawser_h3::OpenStreams, Bytes>;
pub(super) type Stream = RequestStream<hawser_h3::BidiStream<Bytes>, Bytes>;

/// Most bytes of the gateway's answer to the first question.
const MAX_HELLO: usize = 4 << 10;

/// How often it is looked whether the gateway's settings have come, and for how long.
const SETTINGS_INTERVAL: Duration = Duration::from_millis(5);
const SETTINGS_PATIENCE: Duration = Duration::from_secs(5);

/// What a gateway says of itself and the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// Its program and version; empty if it is not Hawser's.
    #[serde(default)]
    pub gateway: String,
    /// The name that belongs to the key.
    #[serde(default)]
    pub user: String,
    /// Tunnels that the user may have open; 0: it does not say.
    #[serde(default)]
    pub tunnels: u64,
    /// What it carries: `tcp`, `udp`, `ip`.
    #[serde(default)]
    pub protocols: Vec<String>,
    /// Resolvers for those whose packets it carries.
    #[serde(default)]
    pub dns: Vec<IpAddr>,
}

/// A request that was answered, and is still open.
pub(super) struct Answer {
    pub(super) stream: Stream,
    pub(super) response: Response<()>,
    /// Its datagrams, if it has any: those of extended CONNECT.
    pub(super) flow: Option<(FlowSender, FlowReceiver)>,
}

/// Why a connection takes no new tunnels.
#[derive(Debug)]
enum Retired {
    /// The gateway said so (GOAWAY, RFC 9114 section 5.2).
    ShuttingDown,
    /// It is no more, and why.
    Lost(String),
}

/// A connection with HTTP on it. h3 closes it when the last of its requests goes, so tunnels hold it.
pub(crate) struct Session {
    pub(super) connection: Connection,
    peer: Peer,
    flows: Arc<Flows>,
    requests: Requests,
    /// Why it takes no new tunnels, once it does not.
    retired: OnceLock<Retired>,
    pub(super) retiring: Notify,
    _keep: Box<dyn Any + Send + Sync>,
}

impl Session {
    /// Speaks HTTP/3 over this connection.
    pub(super) async fn begin(dialed: Dialed) -> Result<Self, OpenError> {
        let Dialed { connection, keep } = dialed;
        let http = hawser_h3::Connection::new(connection.clone());
        let (peer, flows) = (http.peer(), Flows::start(http.datagrams()));
        let built = hawser_h3::tunnel_client_builder().build(http).await;
        let (mut driver, requests) = built.map_err(|error| OpenError::GatewayDown(error.to_string()))?;
        tokio::spawn(async move { driver.wait_idle().await });
        Ok(Session {
            connection,
            peer,
            flows,
            requests,
            retired: OnceLock::new(),
            retiring: Notify::new(),
            _keep: keep,
        })
    }

    /// Whether new tunnels may be opened.
    pub(super) fn is_usable(&self) -> bool {
        self.retired.get().is_none() && self.connection.close_reason().is_none()
    }

    /// Why no new tunnels may be opened, in words.
    pub(super) fn why_not_usable(&self) -> String {
        let closed = self.connection.close_reason().map(|reason| reason.to_string());
        why_not_usable(closed, self.retired.get())
    }

    /// Whether the gateway takes extended CONNECT, which it says on a stream of its own (RFC 9220 section 3).
    pub(super) async fn takes_extended_connect(&self) -> bool {
        let known = async {
            while !self.peer.is_known() && self.connection.close_reason().is_none() {
                tokio::time::sleep(SETTINGS_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(SETTINGS_PATIENCE, known).await;
        self.peer.takes_extended_connect()
    }

    /// No new tunnels after this answer to a request: those that run go on, if the gateway is still there.
    pub(super) fn retire(&self, error: &StreamError) {
        let retired = match error {
            StreamError::RemoteClosing { .. } => Retired::ShuttingDown,
            other => Retired::Lost(other.to_string()),
        };
        let _ = self.retired.set(retired);
        self.retiring.notify_one();
    }

    /// Sends a request with the key and waits for the header of the response. The request is left open.
    /// `dropped` hears of datagrams that nobody reads in time.
    pub(super) async fn ask(
        &self,
        mut request: Request<()>,
        key: &Key,
        dropped: Dropped,
    ) -> Result<Answer, StreamError> {
        let takes_datagrams = request.extensions().get::<Protocol>().is_some();
        if let Ok(mut value) = HeaderValue::from_str(&format!("{BEARER} {}", key.secret())) {
            value.set_sensitive(true);
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let stream = self.requests.clone().send_request(request).await?;
        // Before the answer, so that nothing is lost that comes right behind it.
        let flow = takes_datagrams.then(|| self.flows.open(stream.id(), dropped));
        let mut asked = Asked(Some(stream));
        let response = asked.response().await?;
        // Always there: taken here only.
        match asked.0.take() {
            Some(stream) => Ok(Answer { stream, response, flow }),
            None => unreachable!("the stream is taken once"),
        }
    }

    /// Who the user is to the gateway. One that knows no such question is asked nothing more.
    pub(super) async fn hello(&self, config: &ClientConfig) -> Result<Hello, OpenError> {
        let uri = format!("https://{}{HELLO_PATH}", config.authority);
        let request = Request::get(uri).body(()).map_err(|error| OpenError::Protocol(error.to_string()))?;
        let asked = async {
            let Answer { mut stream, response, .. } =
                self.ask(request, &config.key, Box::new(|_| {})).await?;
            let _ = stream.finish().await;
            let mut body = Vec::new();
            while let Some(mut data) = stream.recv_data().await? {
                body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                if body.len() > MAX_HELLO {
                    break;
                }
            }
            Ok::<_, StreamError>((response.status(), body))
        };
        let asked = tokio::time::timeout(config.open_timeout, asked).await;
        let (status, body) = asked
            .map_err(|_| OpenError::NoAnswer("the user's name".to_owned()))?
            .map_err(|error| OpenError::GatewayDown(error.to_string()))?;
        match status {
            StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAUTHORIZED => {
                Err(OpenError::UnknownKey)
            }
            status if status.is_success() => Ok(serde_json::from_slice(&body).unwrap_or_default()),
            _ => Ok(Hello::default()),
        }
    }
}

/// A connection that has ended explains more than what a request on it met: that of a gateway that was killed is lost, and it said
/// nothing of shutting down.
fn why_not_usable(closed: Option<String>, retired: Option<&Retired>) -> String {
    match (closed, retired) {
        (Some(reason), _) => format!("the gateway went away: {reason}"),
        (None, Some(Retired::Lost(reason))) => format!("the gateway went away: {reason}"),
        (None, Some(Retired::ShuttingDown)) => "the gateway is shutting down".to_owned(),
        (None, None) => "the gateway takes no new tunnels".to_owned(),
    }
}

/// A request that waits for its answer. Given up, it is ended rather than reset: a reset could overtake its header, and a
/// gateway that sees many requests without one takes them for an attack.
struct Asked(Option<Stream>);

impl Asked {
    async fn response(&mut self) -> Result<Response<()>, StreamError> {
        match &mut self.0 {
            Some(stream) => stream.recv_response().await,
            None => unreachable!("the stream is there until it is taken"),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(mut stream) = self.0.take() else { return };
        stream.stop_sending(Code::H3_REQUEST_CANCELLED);
        // There is nothing to wait for: the header is written.
        tokio::spawn(async move { stream.finish().await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_that_was_killed_does_not_count_as_shutting_down() {
        let lost = Retired::Lost("reset".to_owned());
        let closed = || Some("nothing was heard".to_owned());
        assert_eq!(why_not_usable(closed(), Some(&lost)), "the gateway went away: nothing was heard");
        assert_eq!(why_not_usable(None, Some(&lost)), "the gateway went away: reset");
        assert_eq!(why_not_usable(None, Some(&Retired::ShuttingDown)), "the gateway is shutting down");
        assert_eq!(
            why_not_usable(closed(), Some(&Retired::ShuttingDown)),
            "the gateway went away: nothing was heard"
        );
    }
}
