//! Client and server configuration.

use std::fmt;
#[cfg(feature = "qlog")]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "qlog")]
use hawser_core::QlogAddresses;
use hawser_core::crypto::{
    ResumableVerifier, RustlsClient, RustlsServer, ServerId, SessionStore, default_provider, default_ticketer,
};
use hawser_core::{EndpointGroup, PreferredAddresses, TransportConfig, Version, VersionPreference, Versions};
use hawser_paths::FastestReturn;
use hawser_policy::{Composed, FeatureId, Registry};
use hawser_sched::{EarliestArrival, EarliestArrivalParameters};
use rustls::KeyLog;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls_pki_types::ServerName;

use crate::sessions::SessionsOf;
use crate::trust::RecordingVerifier;
use crate::{
    CertificateProblem, Cipher, ClientAuthorities, ConfigError, FullMesh, Identity, PathManagerFactory,
    PathManagerInit, Trust,
};

/// Every policy that comes with Hawser, by name.
pub fn policies() -> Registry {
    let mut registry = Registry::new();
    hawser_cc::register(&mut registry);
    hawser_sched::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_sched::register_sets(&mut registry);
    hawser_cc::register_sets(&mut registry);
    registry
}

/// Transport behaviour for general use: each byte goes where it arrives first, Tide on each path, acknowledgements on the
/// quickest path.
//= rfc9114-6.1-1: servers allow streams and flow control credit for requests
//= rfc9114-6.1-2: servers allow at least 100 requests at a time
//= rfc9114-6.2-1: three unidirectional streams are allowed
//= rfc9114-6.2-2: each of the three streams has 1024 bytes of credit
//= rfc9114-6.2.1-6: the control stream has flow control credit
pub fn default_transport() -> TransportConfig {
    TransportConfig::with_policies(Arc::new(Composed::new(
        EarliestArrival::factory(EarliestArrivalParameters::default()),
        hawser_cc::default_controllers(),
        Arc::new(|| Box::<FastestReturn>::default() as Box<_>),
    )))
}

/// What a client needs to connect. Cheap to clone.
#[derive(Clone)]
pub struct ClientConfig {
    pub(crate) core: hawser_core::ClientConfig,
    /// `None` where the application checks certificates by a configuration of its own.
    verifier: Option<Arc<RecordingVerifier>>,
    tls: Arc<RustlsClient>,
    sessions: Option<Arc<dyn SessionStore>>,
    /// Application protocols that are offered.
    pub(crate) alpn: Vec<Vec<u8>>,
    /// Whether 0-RTT is offered.
    pub(crate) early_data: bool,
    pub(crate) handshake_timeout: Duration,
    pub(crate) attempt_delay: Duration,
    /// How long a server has to prove an ICMP error wrong.
    pub(crate) refusal_patience: Duration,
    pub(crate) path_manager: Arc<dyn PathManagerFactory>,
}

impl ClientConfig {
    /// Starts from the defaults.
    pub fn builder() -> ClientConfigBuilder {
        ClientConfigBuilder {
            trust: None,
            identity: None,
            tls: None,
            common: Common::default(),
            handshake_timeout: Duration::from_secs(10),
            attempt_delay: Duration::from_millis(100),
            path_manager: Arc::new(|init: &PathManagerInit| Box::new(FullMesh::new(init)) as Box<_>),
            versions: Versions::default(),
            first_version: None,
            sessions: None,
            early_data: false,
        }
    }

    /// Starts from a rustls configuration: client certificates, own verifiers, roots and suites are those that it says. It has to
    /// speak TLS 1.3. What the builder says of application protocols, key log, resumption and 0-RTT is added to it; that of
    /// [`trust`](ClientConfigBuilder::trust), [`identity`](ClientConfigBuilder::identity),
    /// [`cipher_suites`](ClientConfigBuilder::cipher_suites) and
    /// [`crypto_provider`](ClientConfigBuilder::crypto_provider) would contradict it, and is an error of
    /// [`build`](ClientConfigBuilder::build). A refused certificate is reported as a failed handshake, in the words of rustls, and
    /// a [store of sessions](ClientConfigBuilder::sessions) finds none again. A server that refuses the client's certificate says so
    /// after `connect` has returned: wait for [`Connection::confirmed`](crate::Connection::confirmed).
    pub fn from_rustls(config: rustls::ClientConfig) -> ClientConfigBuilder {
        ClientConfigBuilder { tls: Some(config), ..Self::builder() }
    }

    /// The same configuration with an address token from an earlier connection to the same server, which was of this
    /// version. It serves no other (RFC 9369 section 5).
    #[must_use]
    pub fn with_token(mut self, token: Vec<u8>, version: Version) -> Self {
        self.core.token = Some(token);
        self.core.token_version = version;
        self
    }

    /// Where the sessions of a server are kept, if anywhere.
    pub(crate) fn sessions_of(&self, server: ServerId<'_>) -> Option<SessionsOf> {
        let store = self.sessions.clone()?;
        let keys = Version::ALL.map(|version| (version, self.tls.server_key(version, server)));
        Some(SessionsOf::new(store, keys))
    }

    /// Why the certificate of the server called `name` was last refused.
    pub(crate) fn certificate_problem(&self, name: &str) -> Option<CertificateProblem> {
        let verifier = self.verifier.as_ref()?;
        ServerName::try_from(name).ok().and_then(|name| verifier.problem(&name))
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("transport", &self.core.transport)
            .field("handshake_timeout", &self.handshake_timeout)
            .finish_non_exhaustive()
    }
}

/// Builds a [`ClientConfig`].
pub struct ClientConfigBuilder {
    /// `None`: this machine's authorities.
    trust: Option<Trust>,
    identity: Option<Identity>,
    /// The application's own, in place of one that is made here.
    tls: Option<rustls::ClientConfig>,
    common: Common,
    handshake_timeout: Duration,
    attempt_delay: Duration,
    path_manager: Arc<dyn PathManagerFactory>,
    versions: Versions,
    first_version: Option<Version>,
    sessions: Option<Arc<dyn SessionStore>>,
    early_data: bool,
}

impl ClientConfigBuilder {
    /// Which servers to believe. Default: certificates signed by this machine's authorities.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// The certificate to show to servers that ask for one ([`ServerConfigBuilder::client_authorities`]). A server that refuses it
    /// says so after `connect` has returned: wait for [`Connection::confirmed`](crate::Connection::confirmed). No session is
    /// resumed or [kept](Self::sessions) then: a ticket would stand for the certificate. Default: none.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Application protocols to offer, best first (ALPN, RFC 7301). QUIC servers commonly insist on one.
    #[must_use]
    pub fn alpn<P: AsRef<[u8]>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.common.set_alpn(protocols);
        self
    }

    /// Transport behaviour. Default: [`default_transport`].
    #[must_use]
    pub fn transport(mut self, transport: TransportConfig) -> Self {
        self.common.transport = Arc::new(transport);
        self
    }

    /// Where TLS secrets are written, for packet analysers. Default: nowhere.
    #[must_use]
    pub fn key_log(mut self, log: Arc<dyn KeyLog>) -> Self {
        self.common.key_log = Some(log);
        self
    }

    /// Where each connection leaves a qlog trace, `<original destination connection id>_<client|server>.sqlog`. Created
    /// if need be. Traces hold packet headers and, by names unless [`qlog_addresses`](Self::qlog_addresses) says otherwise,
    /// addresses; no keys and no data. Default: none.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.common.traces.folder = Some(folder.into());
        self
    }

    /// Most bytes of one trace: it ends with the last record that fits. Default: 1 GiB.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_limit(mut self, bytes: u64) -> Self {
        self.common.traces.limit = bytes;
        self
    }

    /// How traces show addresses, also those that begin later ([`Connection::set_qlog`](crate::Connection::set_qlog)). Default:
    /// [`QlogAddresses::Redacted`], whatever the transport configuration says.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_addresses(mut self, shown: QlogAddresses) -> Self {
        self.common.traces.addresses = shown;
        self
    }

    /// Whether sessions may be resumed, which saves certificates and signatures. Default: true.
    #[must_use]
    pub fn session_resumption(mut self, enabled: bool) -> Self {
        self.common.session_resumption = enabled;
        self
    }

    /// Cipher suites of TLS to negotiate, best first; at least one. Default: those of the
    /// [provider](Self::crypto_provider). Initial packets always have AES-128 (RFC 9001 section 5.2).
    #[must_use]
    pub fn cipher_suites(mut self, suites: impl IntoIterator<Item = Cipher>) -> Self {
        self.common.cipher_suites = Some(suites.into_iter().collect());
        self
    }

    /// Cryptography. Default: the library and suites this crate was built with.
    #[must_use]
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.common.provider = Some(provider);
        self
    }

    /// How long the handshake may take over all links together. Default: 10 s.
    #[must_use]
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// How long one link has the handshake for itself before the next link tries as well. Default: 100 ms.
    #[must_use]
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = delay;
        self
    }

    /// Keeps tickets and address tokens of servers here ([`FileSessions`](crate::FileSessions) for the next process), in
    /// place of a small memory of this configuration that keeps tickets only. A ticket is for the same server name, port and
    /// application protocols, and used only if the server that gave it would be trusted today. Anyone who can read the store
    /// can read the 0-RTT data that is sent with its tickets, and servers can tell that two connections are of one client.
    #[must_use]
    pub fn sessions(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(store);
        self
    }

    /// Offers 0-RTT where a ticket allows it, for [`Endpoint::connect_early`](crate::Endpoint::connect_early); at most one
    /// application protocol may be offered then. Default: false.
    //= rfc9001-5.6-1: clients use 0-RTT only if the application asked
    #[must_use]
    pub fn early_data(mut self, enabled: bool) -> Self {
        self.early_data = enabled;
        self
    }

    /// Who decides which paths exist. Default: [`FullMesh`].
    #[must_use]
    pub fn path_manager(mut self, factory: Arc<dyn PathManagerFactory>) -> Self {
        self.path_manager = factory;
        self
    }

    /// QUIC versions to offer, most wanted first. Default: 1, then 2.
    #[must_use]
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// With which of the [`versions`](Self::versions) connections begin. A server that speaks it moves them to another one
    /// without a round trip; one that does not costs a round trip. Default: version 1 if it is offered.
    #[must_use]
    pub fn first_version(mut self, version: Version) -> Self {
        self.first_version = Some(version);
        self
    }

    /// Checks and finishes.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn build(self) -> Result<ClientConfig, ConfigError> {
        let first_version = self.first_version.unwrap_or_else(|| self.versions.first_flight());
        if !self.versions.contains(first_version) {
            return Err(ConfigError::FirstVersion { first: first_version, offered: self.versions });
        }
        let transport = self.common.transport()?;
        let shows_certificate = self.identity.is_some();
        let (mut tls, verifier) = match self.tls {
            Some(tls) => {
                let trust = self.trust.is_some().then_some("trust");
                self.common.check_own(trust.or(shows_certificate.then_some("identity")))?;
                (tls, None)
            }
            None => {
                let trust = self.trust.unwrap_or_default();
                let (tls, verifier) = client_tls(&trust, self.identity, self.common.provider()?)?;
                (tls, Some(verifier))
            }
        };
        if !self.common.alpn.is_empty() {
            tls.alpn_protocols = self.common.alpn;
        }
        if let Some(log) = self.common.key_log {
            tls.key_log = log;
        }
        if !self.common.session_resumption || shows_certificate {
            tls.resumption = Resumption::disabled();
        }
        tls.enable_early_data |= self.early_data;
        let (early_data, alpn) = (tls.enable_early_data, tls.alpn_protocols.clone());
        let sessions = self.sessions.filter(|_| self.common.session_resumption && !shows_certificate);
        let tls = Arc::new(match &sessions {
            Some(store) => RustlsClient::with_sessions(Arc::new(tls), store.clone())?,
            None => RustlsClient::new(Arc::new(tls))?,
        });
        Ok(ClientConfig {
            core: hawser_core::ClientConfig {
                versions: self.versions,
                first_version,
                ..hawser_core::ClientConfig::new(tls.clone(), transport)
            },
            verifier,
            tls,
            sessions,
            alpn,
            early_data,
            handshake_timeout: self.handshake_timeout,
            attempt_delay: self.attempt_delay,
            refusal_patience: REFUSAL_PATIENCE,
            path_manager: self.path_manager,
        })
    }
}

/// TLS that believes whom `trust` says and shows this certificate to servers that ask, and what remembers why it did not believe.
//= rfc9001-4.2-1: clients offer TLS 1.3 only
fn client_tls(
    trust: &Trust,
    identity: Option<Identity>,
    provider: Arc<CryptoProvider>,
) -> Result<(rustls::ClientConfig, Arc<RecordingVerifier>), ConfigError> {
    let verifier = Arc::new(RecordingVerifier::new(trust.verifier(&provider)?));
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| ConfigError::Tls(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ResumableVerifier::new(verifier.clone())));
    let tls = match identity {
        Some(Identity { certificates, key }) => {
            tls.with_client_auth_cert(certificates, key).map_err(ConfigError::Identity)?
        }
        None => tls.with_no_client_auth(),
    };
    Ok((tls, verifier))
}

/// The round trip of a satellite link, and some time for TLS.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// What a server needs to accept connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub(crate) core: Arc<hawser_core::ServerConfig>,
    pub(crate) workers: usize,
}

impl ServerConfig {
    /// Starts from the defaults.
    pub fn builder(identity: Identity) -> ServerConfigBuilder {
        Self::with(ServerTls::Identity(identity))
    }

    /// Starts from a rustls configuration: certificates by the name that a client asks for, client certificates, own verifiers
    /// and suites are those that it says. It has to speak TLS 1.3. What the builder says of application protocols, key log,
    /// resumption and 0-RTT is added to it; that of [`client_authorities`](ServerConfigBuilder::client_authorities),
    /// [`cipher_suites`](ServerConfigBuilder::cipher_suites) and [`crypto_provider`](ServerConfigBuilder::crypto_provider)
    /// would contradict it, and is an error of [`build`](ServerConfigBuilder::build).
    pub fn from_rustls(config: rustls::ServerConfig) -> ServerConfigBuilder {
        Self::with(ServerTls::Own(Box::new(config)))
    }

    fn with(tls: ServerTls) -> ServerConfigBuilder {
        ServerConfigBuilder {
            tls,
            client_authorities: None,
            common: Common::default(),
            token_key: rand::random(),
            accepted_token_keys: Vec::new(),
            max_connections: None,
            retry_above_handshakes: None,
            handshakes_per_source: None,
            workers: 1,
            versions: Versions::default(),
            version_preference: VersionPreference::default(),
            preferred_addresses: PreferredAddresses::default(),
            early_data: false,
        }
    }
}

impl Identity {
    /// Returns a rustls configuration with this certificate and key, for protocols over TCP next to QUIC: all versions of TLS
    /// that rustls is built with, no client certificates, no application protocols.
    ///
    /// # Errors
    /// [`ConfigError::Identity`]: certificate and key do not fit.
    pub fn tls_config(&self) -> Result<rustls::ServerConfig, ConfigError> {
        rustls::ServerConfig::builder_with_provider(default_provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::Tls(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(self.certificates.clone(), self.key.clone_key())
            .map_err(ConfigError::Identity)
    }
}

/// What a server's TLS is made of.
enum ServerTls {
    /// One certificate for all names.
    Identity(Identity),
    /// As the application says.
    Own(Box<rustls::ServerConfig>),
}

/// Builds a [`ServerConfig`].
pub struct ServerConfigBuilder {
    tls: ServerTls,
    /// `None`: clients are asked for no certificate.
    client_authorities: Option<ClientAuthorities>,
    common: Common,
    token_key: [u8; 32],
    accepted_token_keys: Vec<[u8; 32]>,
    max_connections: Option<usize>,
    retry_above_handshakes: Option<usize>,
    handshakes_per_source: Option<u32>,
    workers: usize,
    versions: Versions,
    version_preference: VersionPreference,
    preferred_addresses: PreferredAddresses,
    early_data: bool,
}

impl ServerConfigBuilder {
    /// Asks clients for a certificate that one of these authorities signed. A client that shows one has it in
    /// [`Connection::peer_identity`](crate::Connection::peer_identity); one without a certificate is accepted as well, and what
    /// it may do is up to the application. One that shows another certificate, or one that has expired, is refused.
    ///
    /// Sessions are not resumed then, and no 0-RTT is taken: a ticket could outlive the certificate. Default: no certificate
    /// is asked for.
    #[must_use]
    pub fn client_authorities(mut self, authorities: ClientAuthorities) -> Self {
        self.client_authorities = Some(authorities);
        self
    }

    /// Application protocols to accept, best first (ALPN, RFC 7301). Clients that offer none of them are refused.
    #[must_use]
    pub fn alpn<P: AsRef<[u8]>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.common.set_alpn(protocols);
        self
    }

    /// Transport behaviour. Default: [`default_transport`].
    #[must_use]
    pub fn transport(mut self, transport: TransportConfig) -> Self {
        self.common.transport = Arc::new(transport);
        self
    }

    /// Where TLS secrets are written, for packet analysers. Default: nowhere.
    #[must_use]
    pub fn key_log(mut self, log: Arc<dyn KeyLog>) -> Self {
        self.common.key_log = Some(log);
        self
    }

    /// Where each connection leaves a qlog trace, `<original destination connection id>_<client|server>.sqlog`. Created
    /// if need be. Traces hold packet headers and, by names unless [`qlog_addresses`](Self::qlog_addresses) says otherwise,
    /// addresses; no keys and no data. Default: none.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.common.traces.folder = Some(folder.into());
        self
    }

    /// Most bytes of one trace: it ends with the last record that fits. Default: 1 GiB.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_limit(mut self, bytes: u64) -> Self {
        self.common.traces.limit = bytes;
        self
    }

    /// How traces show addresses, also those that begin later ([`Connection::set_qlog`](crate::Connection::set_qlog)). Default:
    /// [`QlogAddresses::Redacted`], whatever the transport configuration says.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog_addresses(mut self, shown: QlogAddresses) -> Self {
        self.common.traces.addresses = shown;
        self
    }

    /// Whether sessions may be resumed, which saves certificates and signatures. Default: true.
    #[must_use]
    pub fn session_resumption(mut self, enabled: bool) -> Self {
        self.common.session_resumption = enabled;
        self
    }

    /// Cipher suites of TLS to negotiate, best first; at least one. Default: those of the
    /// [provider](Self::crypto_provider). Initial packets always have AES-128 (RFC 9001 section 5.2).
    #[must_use]
    pub fn cipher_suites(mut self, suites: impl IntoIterator<Item = Cipher>) -> Self {
        self.common.cipher_suites = Some(suites.into_iter().collect());
        self
    }

    /// Cryptography. Default: the library and suites this crate was built with.
    #[must_use]
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.common.provider = Some(provider);
        self
    }

    /// The key that seals address tokens. Share it between servers behind one address. Default: random.
    #[must_use]
    pub fn token_key(mut self, key: [u8; 32]) -> Self {
        self.token_key = key;
        self
    }

    /// Further keys whose tokens are accepted, while servers that share keys change them. Default: none.
    #[must_use]
    pub fn accepted_token_keys(mut self, keys: impl IntoIterator<Item = [u8; 32]>) -> Self {
        self.accepted_token_keys = keys.into_iter().collect();
        self
    }

    /// Connections above which new ones are refused. Default: 100,000.
    #[must_use]
    pub fn max_connections(mut self, limit: usize) -> Self {
        self.max_connections = Some(limit);
        self
    }

    /// Bidirectional streams that a client may have open: the requests under way of HTTP/3. Default: that of the transport.
    #[must_use]
    pub fn max_requests(mut self, streams: u64) -> Self {
        Arc::make_mut(&mut self.common.transport).max_bidirectional_streams = streams;
        self
    }

    /// Handshakes that one source (an IPv4 address, an IPv6 /64) may begin per second, and at once. Beyond it clients must
    /// prove their address; those that have are refused beyond the same rate. Default: no limit.
    #[must_use]
    pub fn handshakes_per_source(mut self, limit: u32) -> Self {
        self.handshakes_per_source = Some(limit);
        self
    }

    /// Unfinished handshakes above which new clients must prove their address first. 0: always. Default: 1,000.
    #[must_use]
    pub fn retry_above_handshakes(mut self, limit: usize) -> Self {
        self.retry_above_handshakes = Some(limit);
        self
    }

    /// QUIC versions to speak, and who decides for one where a client offers several. Default: 1 and 2, the client.
    #[must_use]
    pub fn versions(mut self, versions: Versions, preference: VersionPreference) -> Self {
        (self.versions, self.version_preference) = (versions, preference);
        self
    }

    /// Where clients should go after the handshake, as one address of each family (RFC 9000 section 9.6). The endpoint has to
    /// [listen](crate::EndpointBuilder::listen) there, too. Default: nowhere.
    #[must_use]
    pub fn preferred_addresses(mut self, addresses: PreferredAddresses) -> Self {
        self.preferred_addresses = addresses;
        self
    }

    /// Takes data that clients send with their first packets (0-RTT), before it is known who they are. **Anyone who sees these
    /// packets can send them again**, at any time and any number of times, and they may come from somebody else's address.
    ///
    /// Each ticket is good for 0-RTT once, which stops replays at this server while it runs; with several servers behind
    /// one name, each takes a copy. So the application must make sure that what it does for such data does no harm when it
    /// is done again: it asks [`Connection::early_data`](crate::Connection::early_data), and waits with the rest for
    /// [`Connection::handshake_complete`](crate::Connection::handshake_complete). Connections are to be accepted by
    /// [`Connecting::into_early`](crate::Connecting::into_early), else nothing is seen of the data before the handshake is
    /// complete. Default: false.
    #[must_use]
    pub fn early_data(mut self, enabled: bool) -> Self {
        self.early_data = enabled;
        self
    }

    /// The most [`workers`](Self::workers).
    pub const MAX_WORKERS: usize = EndpointGroup::MAX_MEMBERS;

    /// Workers among which the server's connections are divided, 1 to [`MAX_WORKERS`](Self::MAX_WORKERS). Default: 1.
    ///
    /// One worker is a task on the runtime in which the endpoint is bound, and fills one core at most. Several have a
    /// thread and a socket each, whatever that runtime is: they help a server whose many connections together need more
    /// than one core for packets and encryption, on a machine that has the cores to spare. A single connection never
    /// becomes faster: it stays with the worker at which its first packet arrived, which the kernel chooses by the
    /// client's address and port, and what arrives on its paths from other addresses is handed to that worker.
    ///
    /// Counts when an endpoint is bound that listens; changing the configuration of a running one changes nothing about
    /// it. With several workers an address token may count once at each of them.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// Checks and finishes.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn build(self) -> Result<ServerConfig, ConfigError> {
        if !(1..=Self::MAX_WORKERS).contains(&self.workers) {
            return Err(ConfigError::Workers { asked: self.workers, most: Self::MAX_WORKERS });
        }
        let transport = self.common.transport()?;
        let knows_clients = self.client_authorities.is_some();
        let mut tls = match self.tls {
            ServerTls::Own(tls) => {
                self.common.check_own(knows_clients.then_some("client_authorities"))?;
                *tls
            }
            ServerTls::Identity(identity) => {
                let provider = self.common.provider()?;
                let clients = match &self.client_authorities {
                    Some(authorities) => authorities.verifier(&provider)?,
                    None => WebPkiClientVerifier::no_client_auth(),
                };
                rustls::ServerConfig::builder_with_provider(provider)
                    .with_protocol_versions(&[&rustls::version::TLS13])
                    .map_err(|error| ConfigError::Tls(error.to_string()))?
                    .with_client_cert_verifier(clients)
                    .with_single_cert(identity.certificates, identity.key)
                    .map_err(ConfigError::Identity)?
            }
        };
        if !self.common.alpn.is_empty() {
            tls.alpn_protocols = self.common.alpn;
        }
        if let Some(log) = self.common.key_log {
            tls.key_log = log;
        }
        match (self.common.session_resumption && !knows_clients, self.early_data) {
            (false, _) => tls.send_tls13_tickets = 0,
            // The server remembers nothing, so that any number of clients can come back.
            (true, false) => {
                tls.ticketer = default_ticketer().map_err(|error| ConfigError::Tls(error.to_string()))?;
            }
            // It remembers each ticket, so that each is good for 0-RTT once.
            (true, true) => {
                tls.max_early_data_size = u32::MAX;
                tls.session_storage = ServerSessionMemoryCache::new(EARLY_SESSIONS);
            }
        }
        let crypto = Arc::new(RustlsServer::new(Arc::new(tls))?);
        let mut core = hawser_core::ServerConfig::new(crypto, transport, self.token_key);
        core.max_connections = self.max_connections.unwrap_or(core.max_connections);
        core.retry_above_handshakes = self.retry_above_handshakes.unwrap_or(core.retry_above_handshakes);
        core.handshakes_per_source = self.handshakes_per_source;
        (core.versions, core.version_preference) = (self.versions, self.version_preference);
        core.preferred_addresses = self.preferred_addresses;
        core.accepted_token_keys = self.accepted_token_keys;
        Ok(ServerConfig { core: Arc::new(core), workers: self.workers })
    }
}

/// Tickets that a server with 0-RTT remembers, some 300 bytes each; the oldest are forgotten, and their clients make a full
/// handshake.
//= rfc9001-9.2-1: 0-RTT has replay protection
//= rfc9114-7.2.4.2-8: a server that cannot keep the remembered settings rejects 0-RTT
//= rfc9114-7.2.4.2-9: a server that accepts 0-RTT lowers no limit of its settings
const EARLY_SESSIONS: usize = 16_384;

/// What both ends configure.
struct Common {
    alpn: Vec<Vec<u8>>,
    transport: Arc<TransportConfig>,
    key_log: Option<Arc<dyn KeyLog>>,
    #[cfg(feature = "qlog")]
    traces: crate::qlog::Traces,
    session_resumption: bool,
    /// `None`: the default.
    provider: Option<Arc<CryptoProvider>>,
    cipher_suites: Option<Vec<Cipher>>,
}

impl Common {
    /// Fails if something was said that an application's own TLS configuration says already.
    fn check_own(&self, other: Option<&'static str>) -> Result<(), ConfigError> {
        let suites = self.cipher_suites.is_some().then_some("cipher_suites");
        let provider = self.provider.is_some().then_some("crypto_provider");
        other.or(suites).or(provider).map_or(Ok(()), |setting| Err(ConfigError::SaidByRustls { setting }))
    }

    /// The provider, with the suites that were chosen and no others.
    fn provider(&self) -> Result<Arc<CryptoProvider>, ConfigError> {
        let provider = self.provider.clone().unwrap_or_else(default_provider);
        let Some(chosen) = &self.cipher_suites else { return Ok(provider) };
        let find = |cipher: &Cipher| {
            let found = provider.cipher_suites.iter().find(|suite| suite.suite() == cipher.suite());
            found.copied().ok_or(ConfigError::NoCipher(*cipher))
        };
        let cipher_suites = chosen.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(CryptoProvider { cipher_suites, ..(*provider).clone() }))
    }

    /// The transport's behaviour, checked, with traces if they are wanted.
    fn transport(&self) -> Result<Arc<TransportConfig>, ConfigError> {
        self.transport.check()?;
        let mut transport = self.transport.clone();
        // Requests are always answered, if only by a refusal: the peer need not wait and see.
        if !transport.features.contains(FeatureId::SCHEDULER_REQUEST) {
            let transport = Arc::make_mut(&mut transport);
            transport.features = std::mem::take(&mut transport.features).with(FeatureId::SCHEDULER_REQUEST);
        }
        #[cfg(feature = "qlog")]
        self.traces.apply(Arc::make_mut(&mut transport))?;
        Ok(transport)
    }

    //= rfc9000-7-2: an application protocol is negotiated
    //= rfc9001-8.1-1: ALPN is used
    fn set_alpn<P: AsRef<[u8]>>(&mut self, protocols: impl IntoIterator<Item = P>) {
        self.alpn = protocols.into_iter().map(|protocol| protocol.as_ref().to_vec()).collect();
    }
}

impl Default for Common {
    fn default() -> Self {
        Common {
            alpn: Vec::new(),
            transport: Arc::new(default_transport()),
            key_log: None,
            #[cfg(feature = "qlog")]
            traces: crate::qlog::Traces::default(),
            session_resumption: true,
            provider: None,
            cipher_suites: None,
        }
    }
}
