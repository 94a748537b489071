//! Tunnels.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h3::error::{Code, StreamError};
use h3::ext::Protocol;
use hawser_h3::{RecvStream, SendStream};
use hawser_masque::status::{PROXY_STATUS, ProxyError, ProxyStatus};
use hawser_masque::target::Target;
use hawser_masque::{connect, udp};
use http::{Request, Response, StatusCode};
use tokio::net::TcpStream;

use super::session::{Answer, Session};
use super::{GatewayClient, OpenError};
use crate::flows::Dropped;
use crate::halves::{Incoming, Outgoing};
use crate::meter::Meter;
use crate::relay::{Broken, Relayed, relay};
use crate::traffic::{Flow, Kind};
use crate::udp_relay::{PacketReceiver, PacketSender};

/// Attempts to open a tunnel: the second is for connections that have just ended.
const ATTEMPTS: usize = 2;

type OutgoingStream = h3::client::RequestStream<SendStream<Bytes>, Bytes>;
type IncomingStream = h3::client::RequestStream<RecvStream, Bytes>;

/// A TCP connection of the gateway to a target.
pub struct TcpTunnel {
    session: Arc<Session>,
    outgoing: OutgoingStream,
    incoming: IncomingStream,
    flow: Flow,
}

/// What became of a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Bytes to the target.
    pub up: u64,
    /// Bytes from it.
    pub down: u64,
    /// Why it ended, if not by both ends.
    pub broken: Option<String>,
}

impl TcpTunnel {
    /// Breaks it off: the other end of the TCP connection sees a reset.
    pub fn reset(mut self) {
        Outgoing::reset(&mut self.outgoing, Code::H3_CONNECT_ERROR);
        Incoming::stop(&mut self.incoming, Code::H3_CONNECT_ERROR);
    }

    /// Relays between this TCP connection and the target until both have ended, or one breaks.
    pub async fn relay(self, tcp: TcpStream, idle: Duration) -> Closed {
        let TcpTunnel { session, outgoing, incoming, flow } = self;
        let Relayed { to_stream, to_tcp, broken } =
            relay(tcp, (outgoing, incoming), &flow, idle, &Meter::default(), std::future::pending()).await;
        drop(session);
        Closed { up: to_stream, down: to_tcp, broken: broken.map(|broken: Broken| broken.to_string()) }
    }
}

/// UDP between the gateway and a target.
pub struct UdpTunnel {
    /// Sends payloads to the target.
    pub sender: UdpSender,
    /// Receives them from it.
    pub receiver: UdpReceiver,
}

/// Sends UDP payloads to a target. The tunnel ends when it is dropped.
pub struct UdpSender {
    inner: PacketSender<OutgoingStream>,
    _session: Arc<Session>,
}

impl UdpSender {
    /// Sends one, which may be lost.
    ///
    /// # Errors
    /// When the tunnel has ended; in words.
    pub async fn send(&mut self, payload: &[u8]) -> Result<(), String> {
        self.inner.send(payload).await.map_err(|error| error.to_string())
    }
}

impl Drop for UdpSender {
    fn drop(&mut self) {
        self.inner.reset();
    }
}

/// Receives UDP payloads from a target.
pub struct UdpReceiver {
    inner: PacketReceiver<IncomingStream>,
    _session: Arc<Session>,
}

impl UdpReceiver {
    /// The next one; `None` when the gateway has ended the tunnel, since nothing moved for too long.
    ///
    /// # Errors
    /// When it is lost; in words.
    pub async fn receive(&mut self) -> Result<Option<Bytes>, String> {
        self.inner.receive().await.map_err(|error| error.to_string())
    }
}

impl Drop for UdpReceiver {
    fn drop(&mut self) {
        self.inner.stop();
    }
}

pub(super) async fn tcp(client: &GatewayClient, target: &Target) -> Result<TcpTunnel, OpenError> {
    let request = connect::request(target).map_err(|error| OpenError::Protocol(error.to_string()))?;
    fetched_tcp(client, target, &request).await
}

/// The TCP connection that a request stands for.
pub(super) async fn fetched_tcp(
    client: &GatewayClient,
    target: &(dyn Display + Sync),
    request: &Request<()>,
) -> Result<TcpTunnel, OpenError> {
    let (session, answer) = open(client, target, request, &none_dropped).await?;
    let (outgoing, incoming) = answer.stream.split();
    Ok(TcpTunnel { session, outgoing, incoming, flow: client.0.traffic.flow(Kind::Tcp) })
}

pub(super) async fn udp(client: &GatewayClient, target: &Target) -> Result<UdpTunnel, OpenError> {
    let request = udp::request(&client.0.config.authority, target);
    let mut request = request.map_err(|error| OpenError::Protocol(error.to_string()))?;
    request.extensions_mut().insert(Protocol::CONNECT_UDP);
    fetched_udp(client, target, &request).await
}

/// The UDP that a request stands for.
pub(super) async fn fetched_udp(
    client: &GatewayClient,
    target: &(dyn Display + Sync),
    request: &Request<()>,
) -> Result<UdpTunnel, OpenError> {
    let flow = Arc::new(client.0.traffic.flow(Kind::Udp));
    let dropped = || {
        let flow = flow.clone();
        Box::new(move |_: &Bytes| flow.dropped()) as Dropped
    };
    let (session, Answer { stream, flow: datagrams, .. }) = open(client, target, request, &dropped).await?;
    let (flow_sender, flow_receiver) = datagrams.ok_or(OpenError::NoUdp)?;
    let (outgoing, incoming) = stream.split();
    let sender = PacketSender::new(outgoing, flow_sender, flow.clone());
    let receiver = PacketReceiver::new(incoming, flow_receiver, flow);
    Ok(UdpTunnel {
        sender: UdpSender { inner: sender, _session: session.clone() },
        receiver: UdpReceiver { inner: receiver, _session: session },
    })
}

/// For streams without datagrams.
pub(super) fn none_dropped() -> Dropped {
    Box::new(|_| {})
}

/// Asks for a tunnel, a second time if the connection turns out to have ended. `dropped` hears of its datagrams that nobody reads in time.
pub(super) async fn open(
    client: &GatewayClient,
    target: &(dyn Display + Sync),
    request: &Request<()>,
    dropped: &(dyn Fn() -> Dropped + Sync),
) -> Result<(Arc<Session>, Answer), OpenError> {
    let config = &client.0.config;
    let mut lost = String::new();
    for _ in 0..ATTEMPTS {
        let session = client.session().await?;
        let is_extended = request.extensions().get::<Protocol>().is_some();
        if is_extended && !session.takes_extended_connect().await {
            return Err(OpenError::NoUdp);
        }
        let asked = session.ask(request.clone(), &config.key, dropped());
        match tokio::time::timeout(config.open_timeout, asked).await {
            Err(_) => return Err(OpenError::NoAnswer(target.to_string())),
            Ok(Ok(answer)) => return answered(&answer.response).map(|()| (session, answer)),
            Ok(Err(error @ (StreamError::RemoteClosing { .. } | StreamError::ConnectionError { .. }))) => {
                session.retire(&error);
                lost = error.to_string();
            }
            Ok(Err(error)) => {
                return Err(OpenError::Protocol(format!("the gateway broke off the request: {error}")));
            }
        }
    }
    Err(OpenError::GatewayDown(lost))
}

/// What an answer means.
fn answered(response: &Response<()>) -> Result<(), OpenError> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    if matches!(status, StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAUTHORIZED) {
        return Err(OpenError::UnknownKey);
    }
    let field = response.headers().get(PROXY_STATUS).and_then(|field| field.to_str().ok());
    let said = field.and_then(ProxyStatus::parse).filter(|status| !status.details.is_empty());
    Err(OpenError::Refused(said.unwrap_or_else(|| {
        ProxyStatus::new(ProxyError::of_status(status), format_args!("the gateway answered {status}"))
    })))
}
