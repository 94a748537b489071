//! One request: who asks, for what, and the tunnel.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use h3::ext::Protocol;
use h3::server::RequestResolver;
use hawser_masque::connect::{self, RequestError, Tunnel};
use hawser_masque::status::{PROXY_STATUS, ProxyError, ProxyStatus};
use hawser_masque::target::Target;
use http::header::{AUTHORIZATION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use super::client::{Client, Stream};
use super::directory::User;
use super::udp::{self, FarEnd};
use super::{Inner, connect as sockets, ip, listen};
use crate::halves::Prefixed;
use crate::ip_relay::takes_numbers;
use crate::named::{BEARER, HELLO_PATH, PROXY_NAME};
use crate::relay::relay;
use crate::remote;
use crate::traffic::Kind;
use crate::users::Key;

/// How long the header of a request may take once its stream has begun.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers a request; returns when its tunnel has ended.
pub(super) async fn respond(
    gateway: &Arc<Inner>,
    client: &Client,
    resolver: RequestResolver<hawser_h3::Connection, Bytes>,
) {
    let (request, mut stream) = match tokio::time::timeout(HEADER_TIMEOUT, resolver.resolve_request()).await {
        Ok(Ok(resolved)) => resolved,
        Ok(Err(error)) => return tracing::debug!(%error, "bad request"),
        Err(_) => return tracing::debug!("a request took too long to say what it wants"),
    };
    let Some(user) = key_of(request.headers()).and_then(|key| gateway.directory.find(&key)) else {
        client.count_unknown();
        return refuse_unknown(&mut stream).await;
    };
    user.note_connection(client.connection.number());
    if request.method() == Method::GET && request.uri().path() == HELLO_PATH {
        return hello(gateway, &user, &mut stream).await;
    }
    let removed = user.clone();
    let served = async move {
        if let Some(asked) = remote::read(&request) {
            return listen::serve(gateway, client, &user, asked, stream).await;
        }
        match tunnel_of(&request) {
            Ok(Tunnel::Tcp(target)) => open_tcp(gateway, &user, &target, stream).await,
            Ok(Tunnel::Udp(target)) => open_udp(gateway, client, &user, &target, stream).await,
            Ok(Tunnel::Ip) => {
                let numbers = takes_numbers(request.headers());
                ip::serve(gateway, client, &user, numbers, stream).await;
            }
            Err(error) => refuse(&mut stream, &error).await,
        }
    };
    tokio::select! {
        // First, since a tunnel knows best how it is broken off.
        biased;
        () = served => {}
        // What is dropped here is reset.
        () = removed.removed() => tracing::info!(user = removed.name, "a tunnel of a removed user ended"),
    }
}

/// The key that a request shows.
pub(crate) fn key_of(headers: &HeaderMap) -> Option<Key> {
    let field = headers.get(PROXY_AUTHORIZATION).or_else(|| headers.get(AUTHORIZATION))?;
    let (scheme, key) = field.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case(BEARER) { key.parse().ok() } else { None }
}

pub(crate) fn tunnel_of(request: &Request<()>) -> Result<Tunnel, ProxyStatus> {
    let protocol = request.extensions().get::<Protocol>().map(hawser_h3::protocol_name);
    connect::read(request, protocol).map_err(|error| {
        let kind = match error {
            RequestError::Protocol(_) | RequestError::Method => ProxyError::HttpRequestDenied,
            _ => ProxyError::HttpRequestError,
        };
        ProxyStatus::new(kind, error)
    })
}

/// The same answer whether there is no key, a wrong one, or one of a user who was removed.
async fn refuse_unknown(stream: &mut Stream) {
    let response = Response::builder()
        .status(StatusCode::PROXY_AUTHENTICATION_REQUIRED)
        .header(PROXY_AUTHENTICATE, BEARER)
        .body(());
    let Ok(response) = response else { return };
    end(stream, response, Bytes::new()).await;
}

pub(super) async fn refuse(stream: &mut Stream, status: &ProxyStatus) {
    let response = Response::builder()
        .status(status.error.status())
        .header(PROXY_STATUS, status.to_field(PROXY_NAME))
        .body(());
    let Ok(response) = response else { return };
    end(stream, response, Bytes::new()).await;
}

/// Who the client is to the gateway.
async fn hello(gateway: &Inner, user: &User, stream: &mut Stream) {
    let protocols: &[&str] =
        if gateway.config.ip.is_some() { &["tcp", "udp", "ip"] } else { &["tcp", "udp"] };
    let body = serde_json::json!({
        "gateway": concat!("hawser/", env!("CARGO_PKG_VERSION")),
        "user": user.name,
        "tunnels": user.most,
        "protocols": protocols,
        "dns": gateway.config.dns,
    });
    let response = Response::builder().header(http::header::CONTENT_TYPE, "application/json").body(());
    let Ok(response) = response else { return };
    end(stream, response, body.to_string().into()).await;
}

/// Sends a response that is no tunnel.
async fn end(stream: &mut Stream, response: Response<()>, body: Bytes) {
    let sent = async {
        stream.send_response(response).await?;
        if !body.is_empty() {
            stream.send_data(body).await?;
        }
        stream.finish().await
    };
    if let Err(error) = sent.await {
        tracing::debug!(%error, "an answer was not sent");
    }
    // All was said: what the request may still bring is not wanted, and that is no error (RFC 9114 section 4.1).
    stream.stop_sending(Code::H3_NO_ERROR);
}

/// The right to one more tunnel; `None` if that is one too many, which is answered.
pub(super) async fn admit(user: &Arc<User>, stream: &mut Stream) -> Option<OwnedSemaphorePermit> {
    if user.meter.is_used_up() {
        let details = format!(
            "{} bytes were sent and received, as many as this user may within 30 days",
            user.meter.used()
        );
        refuse(stream, &ProxyStatus::new(ProxyError::ConnectionLimitReached, details)).await;
        return None;
    }
    let permit = user.tunnel();
    if permit.is_none() {
        let details = format!("{} tunnels are open, as many as one user may have", user.most);
        refuse(stream, &ProxyStatus::new(ProxyError::ConnectionLimitReached, details)).await;
    }
    permit
}

/// Connects and relays.
async fn open_tcp(gateway: &Inner, user: &Arc<User>, target: &Target, mut stream: Stream) {
    let Some(_permit) = admit(user, &mut stream).await else { return };
    let mut first = None;
    match connect_tcp(gateway, target, &mut stream, &mut first).await {
        Some(Ok(tcp)) => {
            let relayed = relay_tcp(gateway, user, target, tcp, stream, first).await;
            note(user, target, relayed);
        }
        Some(Err(status)) => report(user, target, &mut stream, &status).await,
        None => {}
    }
}

/// The same for UDP.
async fn open_udp(gateway: &Inner, client: &Client, user: &Arc<User>, target: &Target, mut stream: Stream) {
    let Some(_permit) = admit(user, &mut stream).await else { return };
    match connect_udp(gateway, target).await {
        Ok(socket) => {
            let (idle, far) = (gateway.config.udp_idle, FarEnd::of(socket));
            note(user, target, udp::relay(client, user, idle, far, stream).await);
        }
        Err(status) => report(user, target, &mut stream, &status).await,
    }
}

pub(super) fn note(user: &User, target: &Target, relayed: Result<(), StreamError>) {
    if let Err(error) = relayed {
        tracing::debug!(user = user.name, %target, %error, "a tunnel was not begun");
    }
}

async fn report(user: &User, target: &Target, stream: &mut Stream, status: &ProxyStatus) {
    tracing::info!(user = user.name, %target, "refused: {}", status.details);
    refuse(stream, status).await;
}

/// Connects, unless the client gives up meanwhile (`None`). What it sends before it is answered is kept in `first`.
async fn connect_tcp(
    gateway: &Inner,
    target: &Target,
    stream: &mut Stream,
    first: &mut Option<Bytes>,
) -> Option<Result<tokio::net::TcpStream, ProxyStatus>> {
    let connecting = async {
        let addresses = gateway.resolver.resolve(target, &gateway.config.egress).await?;
        sockets::tcp(addresses, gateway.config.connect_timeout).await
    };
    tokio::select! {
        connected = connecting => Some(connected),
        () = given_up(stream, first) => None,
    }
}

async fn connect_udp(gateway: &Inner, target: &Target) -> Result<tokio::net::UdpSocket, ProxyStatus> {
    let addresses = gateway.resolver.resolve(target, &gateway.config.egress).await?;
    sockets::udp(addresses).await
}

/// Ends when a client no longer waits for the answer: it has reset the stream.
async fn given_up(stream: &mut Stream, first: &mut Option<Bytes>) {
    match stream.recv_data().await {
        Ok(Some(mut data)) => *first = Some(data.copy_to_bytes(data.remaining())),
        Ok(None) => {}
        Err(error) => return tracing::debug!(%error, "a client gave up"),
    }
    std::future::pending().await
}

pub(super) async fn relay_tcp(
    gateway: &Inner,
    user: &User,
    target: &Target,
    tcp: tokio::net::TcpStream,
    mut stream: Stream,
    first: Option<Bytes>,
) -> Result<(), StreamError> {
    stream.send_response(Response::new(())).await?;
    let (outgoing, rest) = stream.split();
    let incoming = Prefixed { first, rest };
    let removed = async {
        user.removed().await;
        "the user was removed"
    };
    let (flow, idle) = (user.traffic.flow(Kind::Tcp), gateway.config.tcp_idle);
    let relayed = relay(tcp, (outgoing, incoming), &flow, idle, &user.meter, removed).await;
    tracing::info!(
        user = user.name, %target, down = relayed.to_stream, up = relayed.to_tcp,
        broken = relayed.broken.map(|broken| broken.to_string()), "closed"
    );
    Ok(())
}
