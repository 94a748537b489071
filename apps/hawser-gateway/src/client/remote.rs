//! Ports of the gateway that lead to this host.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use h3::ext::Protocol;
use hawser_h3::{RecvStream, SendStream};
use hawser_masque::capsule::Capsules;
use http::{Method, Request};

use super::open::{self, TcpTunnel, UdpTunnel};
use super::session::Session;
use super::{GatewayClient, OpenError};
use crate::halves::Incoming as _;
use crate::local::forward::Transport;
use crate::remote::{self, ARRIVAL, ArrivalId, LISTENING, MAX_ARRIVAL};

type Incoming = h3::client::RequestStream<RecvStream, Bytes>;
type Outgoing = h3::client::RequestStream<SendStream<Bytes>, Bytes>;

/// A port of the gateway, which is closed when this is dropped.
pub struct RemotePort {
    /// Where the gateway listens.
    pub address: SocketAddr,
    client: GatewayClient,
    transport: Transport,
    capsules: Capsules,
    incoming: Incoming,
    _outgoing: Outgoing,
    _session: Arc<Session>,
}

/// A connection that has come to a port of the gateway.
pub struct Arrival {
    /// Who connects.
    pub peer: SocketAddr,
    client: GatewayClient,
    id: ArrivalId,
    transport: Transport,
}

impl RemotePort {
    /// The next connection; `None` when the gateway has closed the port.
    ///
    /// # Errors
    /// When the connection to the gateway is lost; in words.
    pub async fn next(&mut self) -> Result<Option<Arrival>, String> {
        loop {
            if let Some(capsule) = self.capsules.next().map_err(|error| error.to_string())? {
                let (id, peer) = remote::decode_arrival(&capsule.value)
                    .ok_or_else(|| "the gateway announced a connection without an address".to_owned())?;
                return Ok(Some(Arrival {
                    peer,
                    client: self.client.clone(),
                    id,
                    transport: self.transport,
                }));
            }
            match self.incoming.receive().await.map_err(|error| error.to_string())? {
                Some(data) => self.capsules.push(data),
                None => return Ok(None),
            }
        }
    }
}

impl Arrival {
    /// Fetches a TCP connection.
    ///
    /// # Errors
    /// [`OpenError`], when it has gone, or is not of TCP.
    pub async fn tcp(self) -> Result<TcpTunnel, OpenError> {
        let request = self.request(Method::POST)?;
        open::fetched_tcp(&self.client, &self.peer, &request).await
    }

    /// Fetches what a host sends by UDP.
    ///
    /// # Errors
    /// [`OpenError`], when it has gone, or is not of UDP.
    pub async fn udp(self) -> Result<UdpTunnel, OpenError> {
        let mut request = self.request(Method::CONNECT)?;
        request.extensions_mut().insert(Protocol::CONNECT_UDP);
        open::fetched_udp(&self.client, &self.peer, &request).await
    }

    /// The same, to be fetched by another client: the gateway lets nobody have it but the user whose port it came to.
    pub fn for_client(&self, client: &GatewayClient) -> Arrival {
        Arrival { client: client.clone(), ..*self }
    }

    /// What it carries.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    fn request(&self, method: Method) -> Result<Request<()>, OpenError> {
        request(&self.client, method, &remote::fetch_path(self.id))
    }
}

/// Has the gateway listen.
pub(super) async fn listen(
    client: &GatewayClient,
    transport: Transport,
    address: SocketAddr,
) -> Result<RemotePort, OpenError> {
    let request = request(client, Method::POST, &remote::listen_path(transport, address))?;
    let (session, answer) = open::open(client, &address, &request, &open::none_dropped).await?;
    let named = answer.response.headers().get(LISTENING).and_then(|value| value.to_str().ok()?.parse().ok());
    let Some(address) = named else {
        return Err(OpenError::Protocol(
            "the gateway has no ports for its users: it is an older one".to_owned(),
        ));
    };
    let (outgoing, incoming) = answer.stream.split();
    Ok(RemotePort {
        address,
        client: client.clone(),
        transport,
        capsules: Capsules::new(&[ARRIVAL], MAX_ARRIVAL),
        incoming,
        _outgoing: outgoing,
        _session: session,
    })
}

fn request(client: &GatewayClient, method: Method, path: &str) -> Result<Request<()>, OpenError> {
    let uri = format!("https://{}{path}", client.0.config.authority);
    let request = Request::builder().method(method).uri(uri).header("capsule-protocol", "?1");
    request.body(()).map_err(|error| OpenError::Protocol(error.to_string()))
}
