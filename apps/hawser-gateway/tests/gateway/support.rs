//! A gateway on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_gateway::client::{ClientConfig, Dialed, Dialer, GatewayClient, Hello, OpenError};
use hawser_gateway::egress::EgressRules;
use hawser_gateway::grants::Grants;
use hawser_gateway::local::{TCP_IDLE, UDP_IDLE};
use hawser_gateway::server::{Gateway, GatewayConfig, IpNetwork};
use hawser_gateway::users::{Key, UserFile};
use hawser_net::{Connection, Endpoint, Identity, Links, Pin, ServerConfig, TransportConfig, Trust};

/// A gateway with one user, and this transport at both ends.
pub(crate) struct Setup {
    pub(crate) key: Key,
    pub(crate) other_key: Key,
    address: SocketAddr,
    pin: Pin,
    transport: TransportConfig,
    users: UserFile,
    gateway: Gateway,
    _server: Endpoint,
    _folder: tempfile::TempDir,
}

impl Setup {
    pub(crate) async fn start(transport: TransportConfig) -> Self {
        Setup::start_with(transport, None).await
    }

    /// A gateway with a second user, `bob`, and this network behind it.
    pub(crate) async fn start_with(transport: TransportConfig, ip: Option<IpNetwork>) -> Self {
        Setup::start_limited(transport, ip, 1_000).await
    }

    /// The same, where a user may have so many tunnels.
    pub(crate) async fn start_limited(
        transport: TransportConfig,
        ip: Option<IpNetwork>,
        tunnels_per_user: usize,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let users = UserFile::new(folder.path().join("users.toml"));
        let key = users.add("alice").unwrap();
        let other_key = users.add("bob").unwrap();
        let gateway = GatewayConfig {
            users: users.clone(),
            egress: EgressRules::new(vec!["127.0.0.1/32".parse().unwrap()]),
            tunnels_per_user,
            connect_timeout: Duration::from_secs(2),
            tcp_idle: TCP_IDLE,
            udp_idle: UDP_IDLE,
            ip,
            dns: Vec::new(),
        };
        let gateway = Gateway::start(gateway, Arc::new(|_: &str| {})).unwrap();
        let kept = gateway.clone();
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let pin = identity.pin().unwrap();
        let config = ServerConfig::builder(identity).alpn([hawser_h3::ALPN]).transport(transport.clone());
        let server = Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listening()[0];
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Some(incoming) = accepting.accept().await {
                let gateway = gateway.clone();
                tokio::spawn(async move { gateway.serve(incoming.await.unwrap()).await });
            }
        });
        Setup {
            key,
            other_key,
            address,
            pin,
            transport,
            users,
            gateway: kept,
            _server: server,
            _folder: folder,
        }
    }

    /// Changes what a user may, and waits until the gateway knows.
    pub(crate) async fn grant(&self, name: &str, change: impl FnOnce(&mut Grants)) {
        self.users.grant(name, change).unwrap();
        let wanted = self.users.read().unwrap()[name].grants.clone();
        while self.gateway.grants(name).as_ref() != Some(&wanted) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// A connection to the gateway, and the endpoint that it stands on.
    pub(crate) async fn connect(&self) -> (Connection, Endpoint) {
        let trust = Trust::Pins(vec![self.pin]);
        let config = hawser_net::ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]);
        let config = config.transport(self.transport.clone()).build().unwrap();
        let endpoint = Endpoint::client(config, Links::All).unwrap();
        (endpoint.connect(self.address, "localhost").await.unwrap(), endpoint)
    }

    /// A client with this key.
    pub(crate) async fn client(&self, key: Key) -> Result<(GatewayClient, Hello), OpenError> {
        let (connection, endpoint) = self.connect().await;
        let first = Dialed { connection, keep: Box::new(endpoint) };
        let dialer: Dialer = Box::new(|| Box::pin(async { Err("once is enough".into()) }));
        let config = ClientConfig {
            authority: "localhost:1".to_owned(),
            key,
            patience: Duration::from_secs(5),
            open_timeout: Duration::from_secs(30),
        };
        GatewayClient::start(config, first, dialer, Arc::new(|_: &str| {})).await
    }
}
